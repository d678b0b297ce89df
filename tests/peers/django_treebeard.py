"""django-treebeard's materialized paths (`MP_Node`), with Django's defaults."""

import django
from django.conf import settings
from django.db import DataError, DatabaseError, connections, models, transaction
from peer import Refused
from postgresql import GIVEN_UP, Postgresql

DATABASE = {"ENGINE": "django.db.backends.postgresql", "NAME": "postgres", "USER": "postgres", "HOST": ""}
settings.configure(DATABASES={"default": DATABASE}, INSTALLED_APPS=[])
django.setup()

from treebeard.exceptions import PathOverflow  # noqa: E402  (It asks for the settings.)
from treebeard.mp_tree import MP_Node  # noqa: E402

# Connections of the process that has forked this one, which aren't this one's to close.
FOREIGN = []


class Folder(MP_Node):
    id = models.CharField(primary_key=True, max_length=40)

    class Meta:
        app_label = "peers"


class Treebeard(Postgresql):
    name = "django-treebeard"
    version = "7.0.3"

    def create(self):
        # One server after another, in this one process.
        connections["default"].close()
        connections["default"].settings_dict["HOST"] = self.directory
        with connections["default"].schema_editor() as editor:
            editor.create_model(Folder)

    def twin(self):
        """Django has a connection for each thread."""
        FOREIGN.append(connections["default"].connection)
        connections["default"].connection = None
        return type(self)()

    def load(self, folders):
        made = {}
        try:
            with transaction.atomic():
                for folder, parent in folders:
                    if parent and parent not in made:
                        made[parent] = Folder.objects.get(pk=parent)
                    made[folder] = made[parent].add_child(id=folder) if parent else Folder.add_root(id=folder)
        except (DataError, PathOverflow) as error:
            raise Refused(error) from error

    def move(self, folder, old, new):
        try:
            super().move(folder, old, new)
        except DatabaseError as error:
            raise Refused(error) from error

    def move_once(self, folder, new):
        try:
            Folder.objects.get(pk=folder).move(Folder.objects.get(pk=new), "last-child")
        except DatabaseError as error:
            # Django's error has PostgreSQL's as its cause.
            raise error.__cause__ if isinstance(error.__cause__, GIVEN_UP) else error from error

    def below(self, folder):
        return self.told(Folder.objects.get(pk=folder).get_descendants())

    def children(self, folder):
        return self.told(Folder.objects.get(pk=folder).get_children())

    def told(self, folders):
        # The folder is read first, because its path is the question.
        self.requests += 2
        return [folder.pk for folder in folders]

    def stop(self):
        connections["default"].close()
        super().stop()


class LockingTreebeard(Treebeard):
    setting = "each move with a lock on the table"

    def move_once(self, folder, new):
        with transaction.atomic():
            connections["default"].cursor().execute(f"LOCK TABLE {Folder._meta.db_table} IN SHARE ROW EXCLUSIVE MODE")
            super().move_once(folder, new)
