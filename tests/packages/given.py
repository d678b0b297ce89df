"""What the suites share: where things are, how a program is run, and what a user does first."""

import os
import re
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
DIST = Path(os.environ.get("DIST", ROOT / "target" / "dist"))
SOURCES = ROOT / "infra" / "packages"
PIPES = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
# The processor of this machine, as the packages call it.
HERE_PLATFORM = {"x86_64": "linux-x64", "aarch64": "linux-arm64"}[os.uname().machine]


def made(pattern):
    """The one file of `.ci/packages` with such a name."""
    (path,) = DIST.glob(pattern)
    return path


def ran(*command, code=0, **options):
    """What a program printed, if it ended with this code."""
    done = subprocess.run([str(word) for word in command], **PIPES, **options)
    if done.returncode != code:
        raise AssertionError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def environment(*first, **more):
    """An environment without what tells a program where the sources are, and with these directories first in PATH."""
    kept = {name: value for name, value in os.environ.items() if name not in ("SAPWOOD_BINARY", "PYTHONPATH", "VIRTUAL_ENV")}
    path = ":".join([*map(str, first), kept["PATH"]])
    return kept | {"PATH": path} | {name: str(value) for name, value in more.items()}


class Dev:
    """`sapwood dev --http` as a user starts it: with a command, until Ctrl-C."""

    def __init__(self, *command, **options):
        command = [str(word) for word in command]
        began = time.monotonic()
        # A group of its own, as a terminal makes one.
        self.process = subprocess.Popen(command, **PIPES, **options, start_new_session=True)
        self.said = ""
        while not (found := re.search(r'"http":"([^"]+)"', self.said)):
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError(f"{' '.join(command)} doesn't start: {self.said}")
            self.said += line
        self.api = found[1].replace("0.0.0.0", "127.0.0.1")
        self.dynamodb = re.search(r'"dynamodb":"([^"]+)"', self.said)[1].replace("0.0.0.0", "127.0.0.1")
        self.listened = time.monotonic() - began
        with urllib.request.urlopen(f"{self.api}/health") as answer:
            answer.read()
        self.answered = time.monotonic() - began

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Ctrl-C, unless the test has ended it.
        try:
            os.killpg(self.process.pid, signal.SIGINT)
        except ProcessLookupError:
            pass
        try:
            self.process.communicate(timeout=20)
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)


def scenario(test, api):
    """The quick start over HTTP: nodes are made, one is moved with its subtree, the tree is read, and a cycle is rejected."""
    text = (ROOT / "docs" / "start" / "quick-start.md").read_text()
    commands = re.findall(r"^curl .*\$api/.*", text, re.MULTILINE)
    test.assertEqual(len(commands), 5, commands)
    said = [ran("bash", "-c", command.replace("$api", api).replace("curl ", "curl --silent ", 1)) for command in commands]
    test.assertIn('"id":"2026","parent":"plans","depth":3', said[1], said)
    test.assertIn('"id":"2026","parent":"plans","depth":2', said[3], said)
    test.assertIn("urn:sapwood:problem:cycle", said[4], said)


def demonstrates(test, *command, **options):
    """The demo ends well, and has shown a subtree that has followed its node."""
    said = ran(*command, "dev", "--demo", **options)
    moved = said.split("reads all below III:")[1].split("\n4. ")[0]
    test.assertIn("NODE#0003#ii ", moved)
