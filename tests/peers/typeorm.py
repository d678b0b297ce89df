"""TypeORM's closure table: a row for each pair of a node and an ancestor, which a move deletes and writes anew. Each client is a process of
Node.js."""

import json
import os
import subprocess
import time

from peer import ROOT
from postgresql import Postgresql
from psycopg import DatabaseError
from psycopg.errors import SerializationFailure

PROGRAM = ROOT / "tests/peers/typeorm/typeorm.js"
PACKAGES = ROOT / ".cache/peers/typeorm/node_modules"


class TypeOrm(Postgresql):
    name = "TypeORM's closure table"
    version = "1.1.1"
    node = None

    def create(self):
        self.begin()
        self.asked("create", None)

    def begin(self):
        """Starts the process of this client."""
        isolation = "serializable" if self.setting else "default"
        command = ["node", PROGRAM, self.directory, isolation]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.node = subprocess.Popen(command, env={**os.environ, "NODE_PATH": str(PACKAGES)}, start_new_session=True, **pipes)

    def twin(self):
        twin = type(self)()
        twin.directory = self.directory
        twin.begin()
        twin.below("")
        return twin

    def load(self, folders):
        """One by TypeORM. Many, which are whole trees, as TypeORM would have left them, in two requests."""
        if len(folders) == 1:
            self.asked("create_folder", folders[0])
            return
        above = {}
        for folder, parent in folders:
            above[folder] = [folder, *above.get(parent, [])]
        with self.admin.transaction(), self.admin.cursor() as cursor:
            with cursor.copy('COPY folder (id, "parentId") FROM STDIN') as rows:
                for row in folders:
                    rows.write_row(row)
            with cursor.copy("COPY folder_closure (id_ancestor, id_descendant) FROM STDIN") as rows:
                for folder, ancestors in above.items():
                    for ancestor in ancestors:
                        rows.write_row((ancestor, folder))

    def move_once(self, folder, new):
        self.asked("move", [folder, new])

    def below(self, folder):
        return self.asked("below", folder)

    def children(self, folder):
        return self.asked("children", folder)

    def move_and_kill(self, folder, old, new, seconds):
        twin = self.twin()
        twin.send("move", [folder, new])
        time.sleep(seconds)
        twin.node.kill()
        return bool(twin.node.communicate()[0])

    def send(self, question, given):
        self.requests += 1
        self.node.stdin.write(f"{json.dumps([question, given])}\n")
        self.node.stdin.flush()

    def asked(self, question, given):
        self.send(question, given)
        answer = json.loads(self.node.stdout.readline())
        if answer.get("is_given_up"):
            raise SerializationFailure(answer["error"])
        if "error" in answer:
            raise DatabaseError(answer["error"])
        return answer["answer"]

    def stop(self):
        if self.node:
            self.node.kill()
        super().stop()


class SerializableTypeOrm(TypeOrm):
    setting = "`SERIALIZABLE`, tried again"
