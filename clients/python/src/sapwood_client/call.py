"""One call of the API: what is asked, what is answered, and what is asked again."""

import asyncio
import http.client
import random
import re
import socket
import ssl
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, NamedTuple, TypedDict, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from . import values
from .problems import Forbidden, NoAnswer, OutcomeUnknown, PreconditionFailed, Problem, SapwoodError, Unavailable, problem_of
from .transport import Request, Response, Transport

# The longest time that the client waits because an answer asks for it. Past that the caller gets the answer.
_RETRY_AFTER_SECONDS_MAX = 60

Body = TypeVar("Body", covariant=True)
Page = TypeVar("Page", bound=Mapping[str, Any])
Item = TypeVar("Item")


class Operation(NamedTuple):
    """What the client knows of a call by the document."""

    method: str
    path: str
    takes_key: bool
    takes_written: bool
    takes_consistent: bool
    content: str | None


class CallOptions(TypedDict, total=False):
    """What can be said with any call."""

    wait: int
    """Seconds, at most 10, for which the answer is held: until the rows of a write are right, or an operation has ended (`Prefer: wait`)."""
    wait_below: bool
    """With `wait`: until all that is below a moved node is placed."""
    minimal: bool
    """True: the answer has no body (`Prefer: return=minimal`)."""
    if_match: str
    """The entity tag that what exists must have."""
    if_none_match: str
    """`*`: nothing may exist."""
    idempotency_key: str | Literal[False]
    """The name of this request, under which it is carried out once. By default the client makes one where the call takes one; False: none."""


OPTIONS = frozenset(CallOptions.__annotations__)


@dataclass(frozen=True)
class Answer(Generic[Body]):
    """An answer of the API."""

    body: Body
    status: int
    # The entity tag of what was read or written, for `if_match`.
    etag: str | None = None
    # The token of a write: a call with it (`written`) shows the write.
    written: str | None = None
    # Where to find what was made, or how far a move or an operation is.
    location: str | None = None
    # True if an earlier request with the same key had this answer.
    replayed: bool = False
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


class Pages(Generic[Page, Item]):
    """A list: iterate over its items, or over `pages()`. Each page is asked for when it is needed."""

    def __init__(self, read: Callable[[str | None], Answer[Page]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[Item]:
        for page in self.pages():
            yield from page["items"]

    def pages(self) -> Iterator[Page]:
        """The pages. A page can be empty and have a `cursor`: only the one without is the last."""
        cursor = None
        while True:
            page = self._read(cursor).body
            yield page
            cursor = page.get("cursor")
            if cursor is None:
                return

    def first(self) -> Answer[Page]:
        """The first page alone, as it was answered."""
        return self._read(None)


class AsyncPages(Generic[Page, Item]):
    """A list of the asynchronous client: iterate over its items, or over `pages()`."""

    def __init__(self, pages: Pages[Page, Item]) -> None:
        self._pages = pages

    async def __aiter__(self) -> AsyncIterator[Item]:
        async for page in self.pages():
            for item in page["items"]:
                yield item

    async def pages(self) -> AsyncIterator[Page]:
        """The pages. A page can be empty and have a `cursor`: only the one without is the last."""
        pages = self._pages.pages()
        while (page := await asyncio.to_thread(next, pages, None)) is not None:
            yield page

    async def first(self) -> Answer[Page]:
        """The first page alone, as it was answered."""
        return await asyncio.to_thread(self._pages.first)


@dataclass
class Sender:
    """How requests are sent."""

    url: str
    transport: Transport
    # The headers of an attempt, such as a token or a signature.
    headers: Callable[[Request], Mapping[str, str]]
    # Seconds after which an attempt counts as lost.
    timeout: float
    # How often a request is sent at most.
    attempts: int
    # True: the client names its requests where the API takes a name.
    idempotency_keys: bool
    sleep: Callable[[float], None]


@dataclass(frozen=True)
class _Failed:
    error: SapwoodError
    # After so many seconds the same request may come out otherwise.
    retry_after: float | None
    # True: nobody knows whether it was done. False: it wasn't.
    may_be_done: bool


def in_path(text: str) -> str:
    """Writes an id, a topic or a segment as the API's paths hold it: letters, digits, `-`, `_` and `.` as they are, every other byte of its
    UTF-8 as `~XX`. `.` and `..` on their own are escaped, too, because they mean something else in a path."""
    plain = re.compile("[0-9A-Za-z_-]" if text in (".", "..") else "[0-9A-Za-z_.-]")
    return "".join(chr(byte) if plain.match(chr(byte)) else f"~{byte:02X}" for byte in text.encode())


def url_of(base: str, operation: Operation, path: Mapping[str, str | int], query: Mapping[str, Any]) -> str:
    """The URL of a call."""
    filled = re.sub(r"\{(\w+)\}", lambda found: in_path(str(path[found[1]])), operation.path)
    texts = {name.rstrip("_"): _texts(value) for name, value in query.items() if value is not None}
    # Signatures of AWS read a `+` as it stands, so a space is `%20`.
    asked = urlencode([(name, text) for name, given in texts.items() for text in given], quote_via=quote)
    return base.rstrip("/") + filled + (f"?{asked}" if asked else "")


def _texts(value: Any) -> list[str]:
    if isinstance(value, bool):
        return ["true" if value else "false"]
    return [str(one) for one in value] if not isinstance(value, (str, int)) else [str(value)]


def send(sender: Sender, operation: Operation, url: str, body: Any, options: Mapping[str, Any]) -> Answer[Any]:
    """Sends a call until it has an answer that counts."""
    key = _key(sender, operation, body, options)
    reads = operation.method == "GET"
    # What is named is carried out once. A PUT or a PATCH without a revision does the same if it is done twice.
    is_repeatable = reads or key is not None or (operation.method in ("PUT", "PATCH") and not _has_revision(body))
    unknown: SapwoodError | None = None
    place = urlsplit(url).path
    attempt = 0
    while True:
        attempt += 1
        found = _attempted(sender, operation, url, body, options, key)
        if isinstance(found, Answer):
            return found
        error, retry_after = found.error, found.retry_after
        if found.may_be_done and not reads:
            unknown = error
        if found.may_be_done:
            is_sent_again = is_repeatable and not (isinstance(error, OutcomeUnknown) and key is None)
        else:
            is_sent_again = retry_after is not None
        if not is_sent_again or attempt >= sender.attempts or (retry_after or 0) > _RETRY_AFTER_SECONDS_MAX:
            if unknown is None or isinstance(error, OutcomeUnknown):
                raise error
            if not found.may_be_done and retry_after is None and _is_about_all(error, key):
                raise error
            message = str(error) if unknown is error else f"an earlier attempt may have been done ({unknown}), and then: {error}"
            raise OutcomeUnknown(message, unknown.location if isinstance(unknown, OutcomeUnknown) else place) from error
        sender.sleep(max(retry_after or 0, random.uniform(0, min(5, 0.1 * 2**attempt))))


def _is_about_all(error: SapwoodError, key: str | None) -> bool:
    """True if the refusal of an attempt holds for those before it: the API itself has looked at what is there, and by
    the key whether the request was carried out. A condition without a key can be broken by the request itself."""
    is_of_the_api = isinstance(error, Problem) and error.slug != "" and not isinstance(error, Forbidden)
    return is_of_the_api and (key is not None or not isinstance(error, PreconditionFailed))


def _attempted(
    sender: Sender, operation: Operation, url: str, body: Any, options: Mapping[str, Any], key: str | None
) -> Answer[Any] | _Failed:
    content = None if body is None else values.dumps(body)
    request = Request(operation.method, url, _headers(operation, content, options, key), content)
    request = Request(request.method, request.url, {**request.headers, **sender.headers(request)}, content)
    at = urlsplit(url)
    # Without the query, which may have tokens, and without a password.
    asked = f"{operation.method} {at.scheme}://{at.netloc.rpartition('@')[2]}{at.path}"
    try:
        response = sender.transport(request, sender.timeout)
    except (OSError, http.client.HTTPException) as error:
        never_sent = isinstance(error, (ConnectionRefusedError, socket.gaierror, ssl.SSLCertVerificationError))
        none = NoAnswer(f"no answer to {asked}: {error or type(error).__name__}")
        none.__cause__ = error
        return _Failed(none, 0 if never_sent else None, not never_sent)
    body = _parsed(response.body)
    if 200 <= response.status < 300 or response.status == 304:
        # An answer of 202 or 204 may have no body.
        if body is None and (response.body or response.status < 202):
            said = response.body[:100].decode(errors="replace")
            return _Failed(NoAnswer(f"the answer to {asked} isn't JSON: {said or 'it is empty'}"), None, True)
        return _answer(response, body)
    location, told = response.headers.get("location"), response.headers.get("retry-after", "")
    retry_after = float(told) if told.isdecimal() else None
    is_problem = response.headers.get("content-type", "").startswith("application/problem+json") and isinstance(body, dict)
    if not is_problem or not str(body.get("type")).startswith("urn:sapwood:problem:"):
        # API Gateway's own answer, or a proxy's. It refuses, or its function has failed or run out of time after it may
        # have written.
        title = response.reason or f"HTTP {response.status}"
        detail = body.get("message") if isinstance(body, dict) else None
        detail = detail if isinstance(detail, str) else response.body.decode(errors="replace")
        gateway = {"type": "about:blank", "title": title, "status": response.status, "detail": detail}
        may_be_done = response.status >= 500
        wait = (retry_after or 0) if response.status == 429 else retry_after if may_be_done else None
        return _Failed(problem_of(gateway, location), wait, may_be_done)
    problem = problem_of(body, location)
    # Of the types that there are, this holds for `internal` and `outcome-unknown`. A later version may have others.
    return _Failed(problem, retry_after, response.status >= 500 and not isinstance(problem, Unavailable))


def _answer(response: Response, body: Any) -> Answer[Any]:
    headers = response.headers
    return Answer(
        body,
        response.status,
        headers.get("etag"),
        headers.get("sapwood-consistency-token"),
        headers.get("location"),
        headers.get("idempotency-replayed") == "true",
        headers,
    )


def _key(sender: Sender, operation: Operation, body: Any, options: Mapping[str, Any]) -> str | None:
    # Without a revision a PUT or a PATCH needs no name, and the API keeps none.
    is_kept = operation.takes_key and (operation.method in ("POST", "DELETE") or _has_revision(body))
    given = options.get("idempotency_key")
    if given is False or not is_kept:
        return None
    return given or (str(uuid.uuid4()) if sender.idempotency_keys else None)


def _has_revision(body: Any) -> bool:
    return isinstance(body, dict) and body.get("revision") is not None


def _headers(operation: Operation, content: bytes | None, options: Mapping[str, Any], key: str | None) -> dict[str, str]:
    prefer = [f"wait={options['wait']}"] if options.get("wait") is not None else []
    prefer += ["below=true"] if options.get("wait_below") else []
    prefer += ["return=minimal"] if options.get("minimal") else []
    given = {
        "prefer": ", ".join(prefer) or None,
        "if-match": options.get("if_match"),
        "if-none-match": options.get("if_none_match"),
        "idempotency-key": None if key is None else '"' + re.sub(r'(["\\])', r"\\\1", key) + '"',
        "content-type": None if content is None else operation.content or "application/json",
    }
    return {name: value for name, value in given.items() if value is not None}


def _parsed(text: bytes) -> Any:
    """The value of a JSON text. None for every other text."""
    try:
        return values.loads(text)
    # A form of ours with something else in it isn't one of our answers, either.
    except (ValueError, TypeError, ArithmeticError, RecursionError):
        return None
