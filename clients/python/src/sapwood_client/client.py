"""The client."""

import re
import time
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Any, Self
from urllib.parse import unquote

from .call import OPTIONS, Answer, CallOptions, Pages, Sender, send, url_of
from .models import CountBody
from .operations import OPERATIONS, Operations
from .problems import NotYetPlaced, TookTooLong
from .transport import Connections, Request, Transport

# Most tokens of a read, and most characters of them in a URL: API Gateway takes 10 KB of URL and headers.
_TOKENS_MAX = 10
_TOKEN_CHARACTERS_MAX = 6_000


class Sapwood(Operations):
    """Sapwood's HTTP API: a method for each call, and what takes more than one. Threads may share it.

    `headers` are those of every request, such as a token, or a function of the request that gives them, such as a signature. `timeout` is the
    seconds after which an attempt counts as lost: the API answers within 30. `attempts` is how often a request is sent at most. Without
    `idempotency_keys` requests have no `Idempotency-Key` but yours, and one that may have been done isn't sent again.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | Callable[[Request], Mapping[str, str]] | None = None,
        timeout: float = 35,
        attempts: int = 5,
        idempotency_keys: bool = True,
        transport: Transport | None = None,
    ) -> None:
        def fixed(_: Request) -> Mapping[str, str]:
            return given

        given: Mapping[str, str] = {} if headers is None or callable(headers) else headers
        of_request = headers if callable(headers) else fixed
        self._sender = Sender(url, transport or Connections(), of_request, timeout, attempts, idempotency_keys, time.sleep)

    def session(self, wait: int = 5) -> "Session":
        """A client whose reads show what it has written, however far behind the rows are."""
        return Session(self._sender, wait)

    def close(self) -> None:
        """Closes this thread's connection. The next request opens another one."""
        if isinstance(self._sender.transport, Connections):
            self._sender.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def count(self, id: str, *, min_depth: int | None = None, max_depth: int | None = None) -> int:
        """The number of nodes below a node, between two levels, however many pages the count takes."""
        depth = {name: value for name, value in (("min_depth", min_depth), ("max_depth", max_depth)) if value is not None}
        counted, cursor = 0, None
        while True:
            body: CountBody = self._call("count_descendants", {"id": id}, {**depth, "cursor": cursor}, None).body
            counted, cursor = counted + body["count"], body.get("cursor")
            if cursor is None:
                return counted

    def done(self, begun: str | Answer[Any], timeout: float = 60) -> None:
        """Waits until what a write has begun is done: a deletion, a copy, a move with all that is below, the rows of a
        write that wasn't waited for long enough (202), and all that of each operation of a batch. Give its answer, or
        the id of an operation."""
        if isinstance(begun, str):
            return self._ended(begun, timeout)
        self._done(begun.location or "", begun.status, begun.written, timeout)
        for result in (begun.body or {}).get("results", []):
            self._done(result.get("location", ""), result["status"], result.get("written"), timeout)

    def _done(self, location: str, status: int, written: str | None, timeout: float) -> None:
        operation = re.search("/operations/([^/?]+)$", location) if status == 202 else None
        moved = re.search(r"/nodes/([^/?]+)/fanout\?below=true", location)
        if operation:
            self._ended(operation[1], timeout)
        elif moved:
            self.placed(unquote(moved[1].replace("~", "%")), below=True, timeout=timeout)
        elif status == 202 and written:
            self._until("the rows of the write aren't there", timeout, lambda: self._shows(written))

    def _ended(self, operation: str, timeout: float) -> None:
        self._until(f"the operation {operation} isn't done", timeout, lambda: self.get_operation(operation).body["status"] == "done")

    def _shows(self, written: str) -> bool:
        try:
            self._call("get_nodes", {}, {"ids": ["-"], "written": [written]}, None)
        except NotYetPlaced:
            return False
        return True

    def placed(self, id: str, *, below: bool = False, timeout: float = 60) -> None:
        """Waits until a node's rows are right, and with `below` until all that is below it is placed."""
        cursor: str | None = None

        def look() -> bool:
            nonlocal cursor
            body = self._call("get_fanout", {"id": id}, {"below": True, "cursor": cursor} if below else {}, None).body
            if not below:
                return bool(body["up_to_date"])
            # The next look goes on where this one has stopped.
            cursor = body["below"].get("cursor")
            return bool(body["below"]["up_to_date"])

        self._until(f"{id} isn't placed", timeout, look)

    def _until(self, what: str, timeout: float, look: Callable[[], bool]) -> None:
        end, wait = time.monotonic() + timeout, 0.05
        while not look():
            if time.monotonic() + wait > end:
                raise TookTooLong(f"{what} after {timeout} seconds")
            self._sender.sleep(wait)
            wait = min(wait * 1.5, 2)

    def _call(self, name: str, path: Mapping[str, str | int], parameters: Mapping[str, Any], body: Any) -> Answer[Any]:
        query = {name: value for name, value in parameters.items() if name not in OPTIONS}
        options = {name: value for name, value in parameters.items() if name in OPTIONS}
        operation = OPERATIONS[name]
        return send(self._sender, operation, url_of(self._sender.url, operation, path, query), body, options)

    def _list(self, name: str, path: Mapping[str, str | int], parameters: Mapping[str, Any], body: Any) -> Pages[Any, Any]:
        def read(cursor: str | None) -> Answer[Any]:
            return self._call(name, path, parameters if cursor is None else {**parameters, "cursor": cursor}, body)

        return Pages(read)


class Session(Sapwood):
    """A client that keeps the tokens of its writes, and hands them on with its reads. All writes of one node have one token.

    A read takes ten tokens. Where there are more, the session first has the oldest ones waited for, in reads of their own, and then forgets them:
    reads with a token are strong, so they can't fall back behind what a read has shown. One thread uses a session.
    """

    def __init__(self, sender: Sender, wait: int) -> None:
        self._sender, self._wait = sender, wait
        # The newest are at the end.
        self._tokens: dict[str, None] = {}

    @property
    def written(self) -> list[str]:
        """The tokens that reads are sent with. Hand them to another session, or with a link."""
        return list(self._tokens)

    def must_show(self, *tokens: str | None) -> None:
        """Takes tokens of somebody else's writes."""
        for token in filter(None, tokens):
            self._tokens.pop(token, None)
            self._tokens[token] = None

    def _call(self, name: str, path: Mapping[str, str | int], parameters: Mapping[str, Any], body: Any) -> Answer[Any]:
        if not OPERATIONS[name].takes_written or not self._tokens or "written" in parameters:
            answer = super()._call(name, path, parameters, body)
            if OPERATIONS[name].method != "GET":
                self._learn(answer)
            return answer
        wait = CallOptions(wait=parameters.get("wait", self._wait))
        while len(newest := _fitting(self.written[::-1])) < len(self._tokens):
            oldest = _fitting(self.written[: len(self._tokens) - len(newest)])
            super()._call("get_nodes", {}, {"ids": ["-"], "written": oldest, **wait}, None)
            for token in oldest:
                del self._tokens[token]
        return super()._call(name, path, {**parameters, "written": newest, **wait}, body)

    def _learn(self, answer: Answer[Any]) -> None:
        body = answer.body or {}
        self.must_show(answer.written, (body.get("revision") or {}).get("written"))
        for result in body.get("results", []):
            self.must_show(result.get("written"), ((result.get("body") or {}).get("revision") or {}).get("written"))


def _fitting(tokens: list[str]) -> list[str]:
    """As many of these tokens as a URL has room for."""
    characters = list(accumulate(map(len, tokens)))
    return [token for position, token in enumerate(tokens[:_TOKENS_MAX]) if characters[position] <= _TOKEN_CHARACTERS_MAX or position == 0]
