"""A running stack."""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Iterable, Mapping
from threading import Thread
from types import TracebackType

from .binary import find_binary

# How many lines of the process's output are kept.
LINES_MAX = 500
# How long a process may take to end. It has nothing to wait for but its running requests.
END_SECONDS = 5.0


class NotStarted(Exception):
    """`sapwood dev` doesn't start. The message is its own."""


class NotCaughtUp(Exception):
    """Something that was written isn't handled yet, or can't be."""


class Stack:
    """A process of `sapwood dev` with an empty table in memory, on free ports. It ends with `stop`, with its `with` block, or with this
    process, however that ends."""

    dynamodb: str
    """The URL of DynamoDB, for clients of AWS."""
    api: str
    """The URL of the HTTP API."""
    explorer: str
    """The URL of a page that shows the table."""
    table: str
    """The table's name."""

    def __init__(self, parameters: Mapping[str, object] | None = None, *, arguments: Iterable[str] = ()) -> None:
        """Starts it. `parameters` are those of the template, for example `{"OrderAttribute": "rank"}`; `arguments` are further ones of
        `sapwood dev`."""
        given = [f"--parameter={name}={value}" for name, value in (parameters or {}).items()]
        ports = ["--dynamodb=127.0.0.1:0", "--http=127.0.0.1:0"]
        command = [find_binary(), "dev", "--json", "--end-with-input", *ports, *given, *arguments]
        # Its input ends with this process, even if that is killed.
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8"
        )
        self._lines: deque[str] = deque(maxlen=LINES_MAX)
        assert self._process.stdout is not None
        first = self._process.stdout.readline()
        # A warning may come before.
        while first and not first.startswith('{"'):
            self._lines.append(first)
            first = self._process.stdout.readline()
        if not first:
            self.stop()
            raise NotStarted(self.log.strip())
        listening = json.loads(first)
        self.dynamodb, self.api = listening["dynamodb"], listening["http"]
        self.explorer, self.table = listening["explorer"], listening["table"]
        # A pipe that nobody reads would fill, and hold the process up.
        self._reader = Thread(target=self._lines.extend, args=(self._process.stdout,), daemon=True)
        self._reader.start()

    @property
    def client_options(self) -> dict[str, str]:
        """What a client of boto3 needs: `boto3.client("dynamodb", **stack.client_options)`."""
        return {
            "endpoint_url": self.dynamodb,
            "region_name": "us-east-1",
            "aws_access_key_id": "local",
            "aws_secret_access_key": "local",
        }

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which the AWS SDKs and the AWS CLI find the table."""
        return {
            "AWS_ENDPOINT_URL_DYNAMODB": self.dynamodb,
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
            "TABLE_NAME": self.table,
        }

    @property
    def log(self) -> str:
        """The last lines that the process has printed: one for each batch of the stream, as JSON."""
        return "".join(list(self._lines))

    def catch_up(self, seconds: int = 10) -> None:
        """Waits until everything that was written before is handled: then all rows are there. Raises `NotCaughtUp` if that takes longer."""
        try:
            with _OPENER.open(f"{self.api}/dev/catch-up?seconds={seconds}", timeout=seconds + END_SECONDS):
                return
        except urllib.error.HTTPError as error:
            with error:
                detail = json.loads(error.read() or b"{}").get("detail", str(error))
        except OSError as error:
            detail = f"the stack doesn't answer: {error}"
        raise NotCaughtUp(detail)

    def stop(self) -> None:
        """Ends the process. Its table is gone then."""
        if self._process.stdin and not self._process.stdin.closed:
            self._process.stdin.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if reader := getattr(self, "_reader", None):
            reader.join()
        if self._process.stdout:
            self._process.stdout.close()

    def __enter__(self) -> Stack:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


# A proxy of the environment has no way to this machine.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
