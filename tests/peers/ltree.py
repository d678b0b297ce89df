"""PostgreSQL's `ltree`: a node has the path of labels from its root, and a move is one statement."""

import psycopg
from peer import Refused
from postgresql import Postgresql

TABLES = """
CREATE EXTENSION ltree;
CREATE TABLE folders (id text PRIMARY KEY, path ltree NOT NULL);
CREATE INDEX ON folders USING gist (path);
"""
CREATE = "INSERT INTO folders SELECT %(id)s, COALESCE((SELECT path FROM folders WHERE id = %(parent)s), '') || %(label)s"
# As ltree's users write it: the end of each path below is set on the new parent's.
MOVE = """
UPDATE folders SET path = parent.path || subpath(folders.path, nlevel(moved.path) - 1)
FROM folders moved, folders parent
WHERE moved.id = %(id)s AND parent.id = %(parent)s AND folders.path <@ moved.path
"""
BELOW = "SELECT folders.id FROM folders, folders top WHERE top.id = %(id)s AND folders.path <@ top.path AND folders.id <> top.id"
CHILDREN = f"{BELOW} AND nlevel(folders.path) = nlevel(top.path) + 1"


def label(folder):
    return folder.replace("-", "_")


class Ltree(Postgresql):
    name = "PostgreSQL's `ltree`"

    def create(self):
        self.admin.execute(TABLES)
        self.connection = self.admin

    def twin(self):
        twin = type(self)()
        twin.connection = psycopg.connect(self.address(), autocommit=True)
        return twin

    def load(self, folders):
        with self.connection.transaction(), self.connection.cursor() as cursor:
            cursor.executemany(CREATE, [{"id": folder, "parent": parent, "label": label(folder)} for folder, parent in folders])

    def move_once(self, folder, new):
        self.connection.execute(MOVE, {"id": folder, "parent": new})

    def below(self, folder):
        return self.asked(BELOW, folder)

    def children(self, folder):
        return self.asked(CHILDREN, folder)

    def asked(self, question, folder):
        self.requests += 1
        return [row[0] for row in self.connection.execute(question, {"id": folder})]


class SerializableLtree(Ltree):
    setting = "`SERIALIZABLE`, tried again"

    def move_once(self, folder, new):
        with self.connection.transaction():
            self.connection.execute("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
            super().move_once(folder, new)
