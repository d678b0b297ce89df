"""A PostgreSQL server with Debian's defaults, on a socket in a directory of its own, and what peers share that keep their trees there."""

import getpass
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg
from peer import PATIENCE_SECONDS, Peer, Refused
from psycopg import errors

# Where Debian keeps its versions.
VERSIONS = Path("/usr/lib/postgresql")

# What PostgreSQL answers to a transaction that it has given up for the sake of another.
GIVEN_UP = (errors.SerializationFailure, errors.DeadlockDetected)
# A move is tried so often.
TRIES_MAX = 100

# Rows of tables, not of indexes.
WRITTEN = "SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables"
OTHERS = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND state <> 'idle' AND pid <> pg_backend_pid()"


class Postgresql(Peer):
    """A peer that keeps its tree in PostgreSQL. Its settings are the server's: `-c NAME=VALUE`."""

    written_things = ("row", "rows")
    counted = ("-c", "log_statement=all")

    def start(self, options=()):
        programs = max(VERSIONS.iterdir()) / "bin"
        self.directory = tempfile.mkdtemp(prefix="peers-")
        # The server refuses to run as root.
        user = ["runuser", "-u", "postgres", "--"] if getpass.getuser() == "root" else []
        if user:
            shutil.chown(self.directory, "postgres")
        data = f"{self.directory}/data"
        initdb = [*user, programs / "initdb", "-D", data, "-A", "trust", "-U", "postgres"]
        subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, cwd="/")
        self.run([*user, programs / "postgres", "-D", data, "-k", self.directory, "-c", "listen_addresses=", *options])
        self.admin = self.wait_until(self.connected)
        self.create()

    def connected(self):
        try:
            return psycopg.connect(self.address(), autocommit=True)
        except psycopg.OperationalError:
            return None

    def address(self):
        return f"host={self.directory} user=postgres dbname=postgres"

    def create(self):
        """Makes the tables."""
        raise NotImplementedError

    def move(self, folder, old, new):
        for _ in range(TRIES_MAX if self.setting else 1):
            try:
                return self.move_once(folder, new)
            except GIVEN_UP as error:
                refused = Refused(error)
                self.retries += 1
            except psycopg.Error as error:
                raise Refused(error) from error
        self.retries -= 1
        raise refused

    def move_once(self, folder, new):
        raise NotImplementedError

    def settle(self):
        """Until the server has noticed that a client has gone."""
        until = time.monotonic() + PATIENCE_SECONDS
        while self.admin.execute(OTHERS).fetchone()[0]:
            if time.monotonic() > until:
                raise RuntimeError("a transaction doesn't end")
            time.sleep(0.05)

    def written(self):
        # A session that rests tells what it has written within 10 seconds.
        time.sleep(11)
        return int(self.admin.execute(WRITTEN).fetchone()[0] or 0)

    def trips(self):
        """The statements that were logged: each waits for its answer."""
        return sum("LOG:  statement:" in line or "LOG:  execute " in line for line in self.process.said().splitlines())

    def stop(self):
        if self.process:
            super().stop()
            shutil.rmtree(self.directory, ignore_errors=True)
