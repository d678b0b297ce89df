"""Sapwood, as docs/guides/permissions-of-your-users.md has it: a grant is the attribute `viewers` of a folder."""

import json
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import quote, urlencode

from dynamodb import OLDEST, Stream, command
from peer import PATIENCE_SECONDS, Peer, Refused, chunks

# The status of an operation that the API asks for again, because the table was busy.
BUSY = 503

# Most operations of a batch, and most items of a page.
OPERATIONS_MAX = 100
PAGE_ITEMS_MAX = 1000

# The handler is at rest if it handles nothing for so long. A batch takes much less.
REST_SECONDS = 5

PARAMETERS = ("LinkAttributes=viewers", "NeverCopied=viewers")


class Sapwood(Peer):
    name = "Sapwood"
    written_things = ("item", "items")
    settled = "its rows have followed"

    def start(self, options=()):
        self.options = options
        self.open()
        self.table = Stream(self.listening["dynamodb"], self.listening["table"], OLDEST)
        self.count = 0

    def open(self):
        """Starts the server."""
        parameters = [word for parameter in PARAMETERS for word in ("--parameter", parameter)]
        self.run([*command(), "dev", "--dynamodb", "127.0.0.1:0", "--http", "127.0.0.1:0", "--json", *parameters, *self.options])
        self.listening = json.loads(self.wait_until(lambda: next(filter(lambda line: line.startswith("{"), self.lines()), None)))
        self.connect(self.listening["http"].rpartition(":")[2])

    def load(self, folders):
        for some in chunks(folders, OPERATIONS_MAX):
            operations = [{"put": {"id": folder, "parent": parent}} for folder, parent in some]
            until = time.monotonic() + PATIENCE_SECONDS
            while operations and time.monotonic() < until:
                results = self.send("POST", "/batch", {"operations": operations})["results"]
                for result in results:
                    if result.get("problem", {}).get("type") == "urn:sapwood:problem:too-deep":
                        raise Refused(result)
                    if result["status"] not in (200, 201, BUSY):
                        raise RuntimeError(result)
                operations = [operation for operation, result in zip(operations, results) if result["status"] == BUSY]
            if operations:
                raise RuntimeError(f"the table is busy: {results}")

    def grant(self, folder, principal):
        self.send("PATCH", f"/nodes/{folder}", {"attributes": {"viewers": [principal]}})

    def move(self, folder, old, new):
        self.send("PATCH", f"/nodes/{folder}", {"parent": new})

    def check(self, folder, principal, fresh=False):
        # Every answer is as new as can be.
        return self.send("GET", f"/nodes/{folder}/granted?{urlencode({'attribute': 'viewers', 'principal': principal})}")["allowed"]

    def list(self, principal, fresh=False):
        """The grants of the principal, each checked before it is opened; then what is below each that isn't below another."""
        granted = {entry["id"]: entry["ancestors"] for entry in self.pages(f"/nodes/{quote(principal)}/links/viewers?ancestors=true")}
        tops = [folder for folder, ancestors in granted.items() if not granted.keys() & set(ancestors)]
        folders = []
        for top in filter(lambda top: self.check(top, principal), tops):
            folders += [top] + [entry["id"] for entry in self.pages(f"/nodes/{top}/descendants?")]
        return folders

    ways = {"": list}

    def settle(self):
        """Until the stream handler has nothing to do any more."""
        before, until = None, time.monotonic() + PATIENCE_SECONDS
        while before != (before := len(self.lines())):
            if time.monotonic() > until:
                raise RuntimeError("the stream handler doesn't come to rest")
            time.sleep(REST_SECONDS)

    def lines(self):
        """What the server has said: one line for each batch of records that the handler has handled."""
        return self.process.said().split("\n")[:-1]

    def written(self):
        """The client's and the handler's."""
        self.count += sum(1 for _ in self.table.records())
        return self.count

    def pages(self, path):
        cursor = {}
        while True:
            page = self.send("GET", f"{path}&{urlencode({'limit': PAGE_ITEMS_MAX, **cursor})}")
            yield from page["items"]
            if "cursor" not in page:
                return
            cursor = {"cursor": page["cursor"]}

    def send(self, method, path, body=None):
        patch = {"content-type": "application/merge-patch+json"} if method == "PATCH" else {}
        status, text = self.ask(method, path, body, patch)
        if status != 200:
            raise RuntimeError(f"{method} {path}: {status} {text}")
        return json.loads(text)


class SapwoodOnDisk(Sapwood):
    """The same as a tree, with its data on disk, and with as many batches at once as a new table's four shards give."""

    goes_on = True
    mapping = ("ParallelizationFactor=4",)
    # Where nothing overlaps, one batch after another does the same sooner: the engine has one thread.
    counted = ("--mapping", "ParallelizationFactor=1")

    def start(self, options=()):
        self.directory = Path(tempfile.mkdtemp(prefix="peers-"))
        super().start((*self.told(), *options))

    def told(self):
        settings = [word for setting in self.mapping for word in ("--mapping", setting)]
        return ("--data", str(self.directory), *settings)

    def below(self, folder):
        return [entry["id"] for entry in self.pages(f"/nodes/{folder}/descendants?")]

    def children(self, folder):
        return [entry["id"] for entry in self.pages(f"/nodes/{folder}/children?")]

    def trips(self):
        # The client's. The handler's requests are behind it.
        return self.requests

    def move_and_kill(self, folder, old, new, seconds):
        """Kills the server, which has the API, the handler and the table."""
        acknowledged = []

        def move():
            try:
                twin.move(folder, old, new)
                acknowledged.append(True)
            except OSError:
                pass

        twin = self.twin()
        mover = threading.Thread(target=move)
        mover.start()
        time.sleep(seconds)
        self.process.kill()
        mover.join()
        self.open()
        return bool(acknowledged)

    def deliver_again(self):
        """Every event of the table comes once more."""
        self.restart(lambda: self.position().unlink())

    def lose(self, act):
        """Does something of which no event arrives: the handler is away, and its position is then set behind the events."""
        kept = self.options
        self.options = ("--data", str(self.directory), "--no-handler")
        self.restart()
        act()
        stream = Stream(self.listening["dynamodb"], self.listening["table"], OLDEST)
        list(stream.records())
        position = {"stream": stream.shard["StreamArn"], "shards": {stream.shard["ShardId"]: {"after": stream.newest["SequenceNumber"]}}}
        self.options = kept
        self.restart(lambda: self.position().write_text(json.dumps(position)))

    def position(self):
        return next(self.directory.glob("*position*"))

    def restart(self, meanwhile=lambda: None):
        self.process.stop()
        meanwhile()
        self.open()

    def compare(self):
        """True if `sapwood verify` finds nothing."""
        return self.tool("verify") == 0

    def mend(self):
        """True if `sapwood repair` leaves nothing."""
        return self.tool("repair", "--yes", "--max-differences", "100000") == 0

    def tool(self, *words):
        at = ("--table", self.listening["table"], "--endpoint", self.listening["dynamodb"], "--confirmation-window", "5")
        return subprocess.run([*command(), *words, *at], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode

    def stop(self):
        super().stop()
        if self.process:
            shutil.rmtree(self.directory)
