"""A program that runs beside the tests, and ends with them, however they end."""

import atexit
import os
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path


class Process:
    """Runs from when it is made until it is stopped, with all that it has started: it has a session of its own."""

    def __init__(self, command, directory, environment):
        self.log = tempfile.NamedTemporaryFile(prefix="rehearsal-")
        self.command = " ".join(map(str, command))
        own = {"stdin": subprocess.DEVNULL, "stdout": self.log, "stderr": self.log, "start_new_session": True}
        self.process = subprocess.Popen(command, cwd=directory, env=environment, **own)
        atexit.register(self.stop)

    def said(self):
        return Path(self.log.name).read_text(errors="replace")

    def wait_until(self, answer, seconds=120):
        """What `answer` gives once it gives something."""
        until = time.monotonic() + seconds
        while not (given := answer()):
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"`{self.command}` isn't ready: {self.said()}")
            time.sleep(0.1)
        return given

    def stop(self):
        session = self.process.pid
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                pass
        while members := members_of(session):
            for member in members:
                kill(member)
            time.sleep(0.05)
        self.process.wait()
        self.log.close()
        atexit.unregister(self.stop)


def kill(process):
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        pass


def members_of(session):
    """The processes of a session that haven't ended, whatever their groups."""
    members = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _parent, _group, its_session = file.read_text(errors="replace").rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(its_session) == session and state != "Z":
            members.append(int(file.parent.name))
    return members


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
