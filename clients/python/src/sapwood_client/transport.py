"""How requests are sent: by http.client, on a connection for each thread that is kept open."""

import http.client
import os
import selectors
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Request:
    """A request as it is sent."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None


@dataclass(frozen=True)
class Response:
    """What comes back. The names of the headers are in small letters."""

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes


# Sends a request, and raises OSError or http.client.HTTPException if no answer comes within so many seconds.
Transport = Callable[[Request, float], Response]


class _Kept:
    """A thread's connection. It is closed with the thread."""

    def __init__(self, to: tuple[str, str, int], connection: http.client.HTTPConnection) -> None:
        self.to, self.connection = to, connection

    def __del__(self) -> None:
        self.connection.close()


class Connections:
    """A transport. Threads may share it."""

    def __init__(self) -> None:
        self._of_thread = threading.local()

    def __call__(self, request: Request, timeout: float) -> Response:
        url = urlsplit(request.url)
        connection = self._connection(url.scheme, url.netloc, timeout)
        target = url.path + (f"?{url.query}" if url.query else "")
        try:
            connection.request(request.method, target, body=request.body, headers=dict(request.headers))
            answer = connection.getresponse()
            body = answer.read()
        except BaseException:
            connection.close()
            self.close()
            raise
        if answer.will_close:
            self.close()
        return Response(answer.status, answer.reason, {name.lower(): value for name, value in answer.getheaders()}, body)

    def _connection(self, scheme: str, netloc: str, timeout: float) -> http.client.HTTPConnection:
        kept: _Kept | None = getattr(self._of_thread, "kept", None)
        # A process that was forked has its parent's connection: with both on it each could read the other's answers.
        to = scheme, netloc, os.getpid()
        if kept and kept.to == to and not _is_closed(kept.connection):
            kept.connection.timeout = timeout
            if kept.connection.sock:
                kept.connection.sock.settimeout(timeout)
            return kept.connection
        kind = http.client.HTTPSConnection if scheme == "https" else http.client.HTTPConnection
        made = kind(netloc, timeout=timeout)
        self._of_thread.kept = _Kept(to, made)
        return made

    def close(self) -> None:
        """Closes this thread's connection."""
        self._of_thread.kept = None


def _is_closed(connection: http.client.HTTPConnection) -> bool:
    """True if the server has closed an idle connection: a request on it would look like one whose answer was lost."""
    if connection.sock is None:
        return False
    # `select` itself takes no file past the 1,024th of a process.
    with selectors.DefaultSelector() as selector:
        selector.register(connection.sock, selectors.EVENT_READ)
        return bool(selector.select(0))
