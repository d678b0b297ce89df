"""What every peer has to do, and what they share: a server of their own, and a client that counts its requests."""

import copy
import http.client
import json
import os
import signal
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests/rehearsal"))

from process import Process, free_port  # noqa: E402  (The rehearsal's: it ends what it has started, however we end.)

# A server has this long until it answers, and to catch up with what was written.
PATIENCE_SECONDS = 300
# A server may close a connection that has rested for so long, so a new one is made.
REST_SECONDS = 5


class Refused(Exception):
    """The peer doesn't answer a question, or doesn't take a folder, because of one of its limits, or doesn't move it, and says so."""


class Client:
    """A client of one server, which counts what it sends."""

    def __init__(self):
        self.requests = self.used_at = 0
        self.connection = None

    def connect(self, port):
        self.port = port
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)

    def ask(self, method, path, body=None, headers=None):
        """The status and the text of an answer."""
        self.requests += 1
        if self.used_at + REST_SECONDS < time.monotonic():
            self.connection.close()
        self.used_at = time.monotonic()
        self.connection.request(method, path, None if body is None else json.dumps(body), {"content-type": "application/json", **(headers or {})})
        answer = self.connection.getresponse()
        return answer.status, answer.read().decode()


class Peer(Client):
    """A program that keeps folders and grants, and tells who may see what. Each measurement starts a new one, without data.

    A grant is for a folder and all that is below it. All of a peer's data is in memory."""

    name = version = ""
    # The option that lifts a limit of its defaults, by the case that meets the limit: "depth", "list".
    lifted = {}
    # What it writes, for one and for several.
    written_things = ()
    # Its functions that list, by their names. One alone needs no name.
    ways = {}
    # The words for what makes an answer fresh, and for what makes an answer right that can't be made fresh.
    fresh = settled = ""
    # How it is set among the trees, if not by its defaults.
    setting = ""
    # The options of the cases that count what is written, and in how many round trips.
    counted = ()
    # True if the peer works on a move after it has acknowledged it.
    goes_on = False

    process = None
    # How often moves had to be tried again.
    retries = 0

    def start(self, options=()):
        """Starts the server, with these options besides its defaults."""
        raise NotImplementedError

    def load(self, folders):
        """Makes folders, each (id, parent or None), parents first. It raises Refused at the first that the peer doesn't take."""
        raise NotImplementedError

    def grant(self, folder, principal):
        """Shares the folder, with one principal at most. It returns once the peer has acknowledged that."""
        raise NotImplementedError

    def check(self, folder, principal, fresh=False):
        """True if the principal may see the folder. `fresh` asks as the peer's guide says for an answer that has every acknowledged write."""
        raise NotImplementedError

    def list(self, principal, fresh=False):
        """The ids of all folders that the principal may see, as far as the peer tells them."""
        raise NotImplementedError

    def move(self, folder, old, new):
        """Moves the folder, with all that is below it, from one parent to another. It returns once the peer has acknowledged that."""
        raise NotImplementedError

    def twin(self):
        """Another client of the same server, for another thread or process. It is made there."""
        twin = copy.copy(self)
        twin.process, twin.requests, twin.retries = None, 0, 0
        twin.connect(self.port)
        return twin

    def show(self, folders):
        """Prepares questions about what is below these folders, if the peer needs that."""

    def below(self, folder):
        """The ids of all folders below this one, twice if the peer tells them twice."""
        raise NotImplementedError

    def is_below(self, folder, top):
        return folder in self.below(top)

    def children(self, folder):
        """The ids of the folders directly below this one."""
        raise NotImplementedError

    def trips(self):
        """How many requests had to wait for the answer before, up to now. What the peer does after its answer doesn't count."""
        return self.requests

    def move_and_kill(self, folder, old, new, seconds):
        """Moves a folder, and kills what does the work after so many seconds. It returns once everything that was killed runs again.
        True if the move was acknowledged."""
        reader, writer = os.pipe()
        mover = os.fork()
        if not mover:
            try:
                self.twin().move(folder, old, new)
                os.write(writer, b"moved")
            finally:
                os._exit(0)
        os.close(writer)
        time.sleep(seconds)
        os.kill(mover, signal.SIGKILL)
        os.waitpid(mover, 0)
        with os.fdopen(reader, "rb") as said:
            return said.read() == b"moved"

    def settle(self):
        """Waits until everything that was written is in every answer."""

    def written(self):
        """How many items, or relations, have been written or deleted up to now, by the client and by the peer itself."""
        raise NotImplementedError

    def stop(self):
        if self.process:
            self.process.stop()

    def run(self, command):
        self.process = Process(command, ROOT, os.environ)

    def wait_until(self, answer):
        """What `answer` gives once it gives something. It may fail to connect: the server isn't up yet."""
        return self.process.wait_until(answer, PATIENCE_SECONDS)

    def answers(self, *request):
        """True if this request is answered with 200."""
        try:
            return self.ask(*request)[0] == 200
        except OSError:
            self.connection.close()
            return False


def chunks(items, size):
    return (items[at : at + size] for at in range(0, len(items), size))


class AuthorizationService(Peer):
    """A peer that is asked who may see what. So who is below a folder is asked as who may see it: each folder has a viewer of its own name."""

    def show(self, folders):
        for folder in folders:
            self.grant(folder, folder)

    def below(self, folder):
        return [found for found in self.list(folder, fresh=True) if found != folder]

    def is_below(self, folder, top):
        return self.check(folder, top, fresh=True)
