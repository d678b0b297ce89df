"""What goes wrong, as classes."""

from collections.abc import Mapping
from typing import Any

_PREFIX = "urn:sapwood:problem:"


class SapwoodError(Exception):
    """Every error of this client is one."""


class NoAnswer(SapwoodError):
    """The API gave no answer that can be read, and nothing was written: to a read, or because a request was never sent."""


class OutcomeUnknown(SapwoodError):
    """A write got no answer, and may have been done or not. Read what is there (`location`) before you send it again."""

    def __init__(self, message: str, location: str | None = None) -> None:
        super().__init__(message)
        self.location = location


class TookTooLong(SapwoodError):
    """What was waited for has taken too long. It goes on."""


class Problem(SapwoodError):
    """The API has refused a request. There is a class for each type of problem."""

    def __init__(self, body: Mapping[str, Any], location: str | None = None) -> None:
        # The arguments are kept as they are: by them an error is copied, and comes from one process to another.
        super().__init__(body, location)
        # `urn:sapwood:problem:cycle`; `about:blank` for an answer of API Gateway itself.
        self.type: str = body["type"]
        self.title: str = body["title"]
        self.status: int = body["status"]
        # What the client can do about it.
        self.detail: str = body["detail"]
        # The field, parameter or header that caused the problem.
        self.field: str | None = body.get("field")
        # The node that has the name already (`NameTaken`).
        self.node: str | None = body.get("node")
        self.location = location

    def __str__(self) -> str:
        return f"{self.title}: {self.detail}"

    @property
    def slug(self) -> str:
        """The last part of the type: `cycle`."""
        return self.type.removeprefix(_PREFIX) if self.type.startswith(_PREFIX) else ""


class BadPath(Problem): ...
class BadParameter(Problem): ...
class BadCursor(Problem): ...
class BadHeader(Problem): ...
class BadJson(Problem): ...
class Forbidden(Problem): ...
class RevisionsKept(Problem): ...
class NoTrash(Problem): ...
class NotFound(Problem): ...
class MethodNotAllowed(Problem): ...
class Exists(Problem): ...
class NameTaken(Problem): ...
class HasChildren(Problem): ...
class NotUpToDate(Problem): ...
class Cycle(Problem): ...
class Deleting(Problem): ...
class InTrash(Problem): ...
class NotInTrash(Problem): ...
class NoWayBack(Problem): ...
class NotASibling(Problem): ...
class NoRoom(Problem): ...
class Contended(Problem): ...
class InProgress(Problem): ...
class TooManyCopies(Problem): ...
class ChangesOff(Problem): ...
class FeedNotBegun(Problem): ...
class NotARoot(Problem): ...
class ListAnew(Problem): ...
class PreconditionFailed(Problem): ...
class BodyTooLarge(Problem): ...
class UnsupportedMediaType(Problem): ...
class ParentMissing(Problem): ...
class TooDeep(Problem): ...
class ReservedName(Problem): ...
class BadKey(Problem): ...
class BadValue(Problem): ...
class ItemTooLarge(Problem): ...
class IdempotencyMismatch(Problem): ...
class Unavailable(Problem): ...
class Internal(Problem): ...


class Unauthorized(Problem):
    """API Gateway knows no caller."""


class Throttled(Problem):
    """API Gateway throttles the stage."""


# The classes by the last part of a problem's type. `outcome-unknown` is an `OutcomeUnknown`, as a lost answer is.
PROBLEMS: dict[str, type[Problem]] = {
    "bad-path": BadPath,
    "bad-parameter": BadParameter,
    "bad-cursor": BadCursor,
    "bad-header": BadHeader,
    "bad-json": BadJson,
    "forbidden": Forbidden,
    "revisions-kept": RevisionsKept,
    "no-trash": NoTrash,
    "not-found": NotFound,
    "method-not-allowed": MethodNotAllowed,
    "exists": Exists,
    "name-taken": NameTaken,
    "has-children": HasChildren,
    "not-up-to-date": NotUpToDate,
    "cycle": Cycle,
    "deleting": Deleting,
    "in-trash": InTrash,
    "not-in-trash": NotInTrash,
    "no-way-back": NoWayBack,
    "not-a-sibling": NotASibling,
    "no-room": NoRoom,
    "contended": Contended,
    "too-many-copies": TooManyCopies,
    "in-progress": InProgress,
    "changes-off": ChangesOff,
    "feed-not-begun": FeedNotBegun,
    "not-a-root": NotARoot,
    "list-anew": ListAnew,
    "precondition-failed": PreconditionFailed,
    "body-too-large": BodyTooLarge,
    "unsupported-media-type": UnsupportedMediaType,
    "parent-missing": ParentMissing,
    "too-deep": TooDeep,
    "reserved-name": ReservedName,
    "bad-key": BadKey,
    "bad-value": BadValue,
    "item-too-large": ItemTooLarge,
    "idempotency-mismatch": IdempotencyMismatch,
    "unavailable": Unavailable,
    "internal": Internal,
}
_OF_THE_GATEWAY = {401: Unauthorized, 403: Forbidden, 404: NotFound, 429: Throttled}


def problem_of(body: Mapping[str, Any], location: str | None = None) -> Problem | OutcomeUnknown:
    """The error of a problem's body: that of a refused request, or of an operation of a batch."""
    kind = str(body["type"])
    slug = kind.removeprefix(_PREFIX) if kind.startswith(_PREFIX) else ""
    if slug == "outcome-unknown":
        return OutcomeUnknown(f"{body['title']}: {body['detail']}", location)
    return (PROBLEMS.get(slug) or _OF_THE_GATEWAY.get(body["status"], Problem))(body, location)
