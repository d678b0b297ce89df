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
        """One as the guide says. Many, which are whole trees, as treebeard would have left them, in one request."""
        if len(folders) > 1:
            Folder.objects.bulk_create(laid_out(folders))
            return
        ((folder, parent),) = folders
        try:
            if parent:
                Folder.objects.get(pk=parent).add_child(id=folder)
            else:
                Folder.add_root(id=folder)
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


def laid_out(folders):
    """The records of trees. The path of each is made by treebeard's own function."""
    made, roots = {}, 0
    for folder, parent in folders:
        if parent:
            above = made[parent]
            above.numchild += 1
            path, depth, step = above.path, above.depth + 1, above.numchild
        else:
            roots += 1
            path, depth, step = "", 1, roots
        made[folder] = Folder(id=folder, path=Folder._get_path(path, depth, step), depth=depth, numchild=0)
    return made.values()


class LockingTreebeard(Treebeard):
    setting = "each move with a lock on the table"

    def move_once(self, folder, new):
        with transaction.atomic():
            connections["default"].cursor().execute(f"LOCK TABLE {Folder._meta.db_table} IN SHARE ROW EXCLUSIVE MODE")
            super().move_once(folder, new)
