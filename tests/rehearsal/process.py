"""A program that runs beside the tests, and ends with them, however they end."""

import atexit
import os
import random
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path


class Process:
    """Runs from when it is made until it is stopped, with all that it has started."""

    def __init__(self, command, directory, environment):
        self.log = tempfile.NamedTemporaryFile(prefix="rehearsal-")
        self.command = " ".join(map(str, command))
        # Ctrl-C is ours alone, who end it in order: it isn't in our session.
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

    def kill(self):
        """Ends it in the middle of what it does, with all that it has started."""
        for member in [self.process.pid, *family_of(self.process.pid)]:
            end(member)
        self.process.wait()
        self.stop()

    def stop(self):
        # By their parents: cargo lambda gives each function a session of its own.
        family = family_of(self.process.pid) if self.process.poll() is None else []
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.process.wait()
        for member in family:
            end(member)
        self.log.close()
        atexit.unregister(self.stop)


def family_of(process):
    """All that it has started, and what these have."""
    parents = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(file.parent.name)] = int(file.read_text(errors="replace").rpartition(")")[2].split()[1])
        except OSError:
            continue
    family = [process]
    for member in family:
        family += [child for child, parent in parents.items() if parent == member]
    return family[1:]


def end(process):
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        pass


def free_port():
    """A port on which nobody listens. From 32,768 on, Linux gives ports to outgoing connections: one of these could take it before
    the program listens that it is for."""
    while True:
        port = random.randrange(20_000, 32_768)
        with socket.socket() as free:
            try:
                free.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
