"""The client."""

import base64
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import unquote

from .call import OPTIONS, Answer, CallOptions, Pages, Sender, send, url_of
from .models import ChangesBody, CountBody
from .operations import OPERATIONS, Operations
from .problems import NotUpToDate, TookTooLong
from .transport import Connections, Request, Transport

# Most tokens of a call, and most characters of them in a URL: API Gateway takes 10 KB of URL and headers.
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

    def follow(self, root: str, *, cursor: str | None = None, wait: int | None = None, every: float = 10) -> Iterator[ChangesBody]:
        """The pages of a tree's feed, without an end. Take the changes of a page in, then keep its `cursor`: the next follower goes on there.
        Without a cursor the tree is listed first; `now`: without the listing. It raises `ListAnew` where the mirror must be made anew, without a
        cursor. `wait` is the seconds for which the API may hold an answer without changes, and `every` those between looks while nothing
        changes."""
        while True:
            body: ChangesBody = self._call("list_changes", {"id": root}, {"cursor": cursor, "wait": wait}, None).body
            cursor = body["cursor"]
            yield body
            if not body["has_more"]:
                self._sender.sleep(every)

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
        moved = re.search(r"/nodes/([^/?]+)/propagation\?below=true", location)
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
        except NotUpToDate:
            return False
        return True

    def placed(self, id: str, *, below: bool = False, timeout: float = 60) -> None:
        """Waits until a node's rows are right, and with `below` until all that is below it is placed."""
        cursor: str | None = None

        def look() -> bool:
            nonlocal cursor
            body = self._call("get_propagation", {"id": id}, {"below": True, "cursor": cursor} if below else {}, None).body
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


@dataclass(frozen=True, eq=False)
class _Kept:
    """A token, what it is about, and of a topic's copy the version. Each write has an object of its own, even if its token is the same."""

    token: str
    about: tuple[str, ...]
    version: int = 0

    @classmethod
    def of(cls, token: str) -> "_Kept":
        try:
            derived = json.loads(base64.urlsafe_b64decode(token + "=="))
        except ValueError:
            derived = None
        match derived:
            case {"node": str(id)}:
                return cls(token, ("node", id))
            case {"copy": [str(id), str(topic), int(version)]}:
                return cls(token, ("copy", id, topic), version)
            case {"operation": [str(operation), str(id)]}:
                return cls(token, ("operation", operation, id))
        # A later version of the API may make others.
        return cls(token, (token,))


class Session(Sapwood):
    """A client whose reads show what it has written. Threads may share it.

    It keeps the tokens of its writes until a call has shown them, at most one for each node, topic and operation. A call takes ten tokens; where
    there are more, the oldest ones are waited for first, in reads of their own. All its reads are strong, so that none falls back behind what
    another one has shown.
    """

    def __init__(self, sender: Sender, wait: int) -> None:
        self._sender, self._wait = sender, wait
        self._lock = threading.Lock()
        # By what they are about, the newest at the end.
        self._tokens: dict[tuple[str, ...], _Kept] = {}

    @property
    def written(self) -> list[str]:
        """The tokens that no call has shown yet. Hand them to another session."""
        with self._lock:
            return [kept.token for kept in self._tokens.values()]

    def must_show(self, *tokens: str | None) -> None:
        """Takes tokens of somebody else's writes."""
        for new in map(_Kept.of, filter(None, tokens)):
            with self._lock:
                if new.about[0] == "operation":
                    # The rows of its node are part of what it is about.
                    self._tokens.pop(("node", new.about[-1]), None)
                known = self._tokens.pop(new.about, new)
                # What shows the highest version of a topic shows all.
                self._tokens[new.about] = replace(max(known, new, key=lambda kept: kept.version))

    def _call(self, name: str, path: Mapping[str, str | int], parameters: Mapping[str, Any], body: Any) -> Answer[Any]:
        operation, parts = OPERATIONS[name], list[list[_Kept]]()
        if operation.takes_consistent:
            parameters = {**parameters, "consistent": True}
        if operation.takes_written and parameters.get("written") is None:
            with self._lock:
                parts = _in_parts(list(self._tokens.values()))
        sent = parts.pop() if parts else []
        wait = CallOptions(wait=parameters.get("wait", self._wait))
        for part in parts:
            super()._call("get_nodes", {}, {"ids": ["-"], "written": [kept.token for kept in part], **wait}, None)
            self._forget(part)
        if sent:
            parameters = {**parameters, "written": [kept.token for kept in sent], **wait}
        answer = super()._call(name, path, parameters, body)
        self._forget(sent)
        if operation.method != "GET":
            self._learn(answer)
        return answer

    def _forget(self, tokens: list[_Kept]) -> None:
        with self._lock:
            for shown in tokens:
                # Another write of the same may have come meanwhile.
                if self._tokens.get(shown.about) is shown:
                    del self._tokens[shown.about]

    def _learn(self, answer: Answer[Any]) -> None:
        body = answer.body or {}
        self.must_show(answer.written, (body.get("revision") or {}).get("written"))
        for result in body.get("results", []):
            self.must_show(result.get("written"), ((result.get("body") or {}).get("revision") or {}).get("written"))


def _in_parts(tokens: list[_Kept]) -> list[list[_Kept]]:
    """These tokens, as many in each part as a call takes and a URL has room for."""
    parts, characters = list[list[_Kept]](), 0
    for kept in tokens:
        characters += len(kept.token)
        if not parts or len(parts[-1]) == _TOKENS_MAX or characters > _TOKEN_CHARACTERS_MAX:
            parts.append([])
            characters = len(kept.token)
        parts[-1].append(kept)
    return parts
