"""The keys of Sapwood's table (docs/reference/table.md), for programs that query the table with boto3 themselves.

Each helper returns a range of one partition: `pk`, and the first and the last sort key, for `BETWEEN`. The tests hold all of them equal to what
the handler itself makes (`tests/vectors/keys.json`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

# Longest id of a node, longest segment of a path, in bytes of UTF-8.
ID_BYTES_MAX = 1_014
# Longest sort key, in bytes of UTF-8.
SORT_KEY_BYTES_MAX = 1_024
# Deepest level that has rows.
DEPTH_MAX = 98
# Highest version of a revision.
VERSION_MAX = 999_999

_TENANT_BYTES_MAX = 2_048 - ID_BYTES_MAX - len("TENANT##")
_PLACE_BYTES_MAX = 256
_ORPHAN_PARTITIONS = 16
_ORDER_ATTRIBUTES_MAX = 4
_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")
_REVISION = re.compile(r"(v[abc]?[0-9]{3,6})_(.*)", re.DOTALL)
_COMPLEMENT = str.maketrans("0123456789", "9876543210")

# A number as it is, or as its text. A float has 15 to 17 digits of DynamoDB's 38.
Numeric = int | float | Decimal
# A value by which siblings are ordered.
OrderValue = str | Numeric


class InvalidKey(ValueError):
    """A key can't be made of these values. A key is never cut to fit. `kind` says why: `empty`, `too-long`, `no-segments`, `depth`, `version`,
    `separator`, `number`, `text` or `names`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)
        self.kind = kind
        self._message = message

    def __str__(self) -> str:
        return self._message


@dataclass(frozen=True)
class KeyRange:
    """A range of sort keys in one partition, both ends included."""

    pk: str
    low: str
    high: str
    partition_key: str = field(default="PK", repr=False)
    sort_key: str = field(default="SK", repr=False)

    @property
    def is_empty(self) -> bool:
        """True if nothing can be in the range. DynamoDB refuses such a Query."""
        return self.low > self.high

    def __contains__(self, sort_key: str) -> bool:
        # Python compares code points, which is the order of UTF-8's bytes.
        return self.low <= sort_key <= self.high

    def condition(self) -> dict[str, Any]:
        """The condition for a table resource of boto3: `table.query(**range.condition())`."""
        return {
            "KeyConditionExpression": "#pk = :pk AND #sk BETWEEN :low AND :high",
            "ExpressionAttributeNames": {"#pk": self.partition_key, "#sk": self.sort_key},
            "ExpressionAttributeValues": {":pk": self.pk, ":low": self.low, ":high": self.high},
        }

    def typed_condition(self) -> dict[str, Any]:
        """The condition for a client of boto3, whose values have types."""
        condition = self.condition()
        values = condition["ExpressionAttributeValues"]
        return condition | {"ExpressionAttributeValues": {name: {"S": value} for name, value in values.items()}}


class RevisionName(NamedTuple):
    """A revision, as its sort key names it."""

    version: int
    topic: str


class PathName(NamedTuple):
    """A path row, as its sort key names it. `id` is there where the node has a segment of its own."""

    segments: list[str]
    id: str | None


class Keys:
    """The keys of one table, or of one tenant in it. The arguments are the names in the table where they aren't the usual ones: the sort key of
    a node's base record (`NodeSortKey`) and the names of the key attributes (`PartitionKey`, `SortKey`)."""

    def __init__(self, *, node: str = "NODE", tenant: str | None = None, partition_key: str = "PK", sort_key: str = "SK") -> None:
        if not node or "#" in node or "$" in node:
            raise InvalidKey("names", "the sort key of nodes is empty, or has `#` or `$`")
        if tenant is not None:
            _bounded("the tenant", tenant, _TENANT_BYTES_MAX)
            if "#" in tenant:
                raise InvalidKey("separator", "the tenant has `#`, which ends it in keys")
        self.node_sort_key = node
        self._tenant = tenant
        self._names = partition_key, sort_key

    def partition(self, id: str) -> str:
        """The partition key of a node: its id, with the tenant before it."""
        return self._in_tenant(_bounded("the id", id, ID_BYTES_MAX))

    def node(self, id: str) -> KeyRange:
        """A node's base record."""
        return self._one(self.partition(id), self.node_sort_key)

    def lineage(self, id: str) -> KeyRange:
        """A node's lineage, which names its ancestors."""
        return self._one(self.partition(id), "LINEAGE")

    def descendants(self, id: str, min: int = 1, max: int = DEPTH_MAX) -> KeyRange:
        """What is below a node, from level `min` to level `max`. From 0 on the node's own base record comes first."""
        low = self.node_sort_key if _depth(min, 0) == 0 else f"{self.node_sort_key}#{_depth(min, 0):04}#"
        return self._range(self.partition(id), low, f"{self.node_sort_key}#{_depth(max, 0):04}$")

    def level(self, id: str, depth: int, id_prefix: str = "") -> KeyRange:
        """The nodes at one level below a node whose ids begin with a text. The children are level 1."""
        return self._beginning(self.partition(id), f"{self.node_sort_key}#{_depth(depth, 1):04}#{id_prefix}")

    def children(self, id: str, id_prefix: str = "") -> KeyRange:
        """The children of a node, by their ids."""
        return self.level(id, 1, id_prefix)

    def children_in_order(
        self, id: str, *, start: OrderValue | None = None, end: OrderValue | None = None, prefix: str | None = None, attributes: int = 1
    ) -> KeyRange:
        """The children of a node in the order of `OrderAttribute`: all, those from one value to another (both included), or those whose value is
        a text that begins so. `attributes` is how many attributes order siblings: they share a key's room."""
        return self._in_order(self.partition(id), "CHILD#", start, end, prefix, attributes)

    def roots(self) -> KeyRange:
        """All roots, by their ids."""
        return self._range(self._in_tenant("ROOTS"), "ROOT#", "ROOT$")

    def roots_in_order(
        self, *, start: OrderValue | None = None, end: OrderValue | None = None, prefix: str | None = None, attributes: int = 1
    ) -> KeyRange:
        """All roots in the order of `OrderAttribute`, as `children_in_order`."""
        return self._in_order(self._in_tenant("ROOTS"), "ORDERED#", start, end, prefix, attributes)

    def path(self, root: str, segments: Sequence[str]) -> KeyRange:
        """The nodes at a path below a root, and all that is below them, in pre-order."""
        low = _path_key(segments)
        return self._range(self.partition(root), low, _through(low, "$"))

    def path_alone(self, root: str, segments: Sequence[str]) -> KeyRange:
        """The nodes at a path below a root alone."""
        low = _path_key(segments)
        return self._range(self.partition(root), low, _through(low, '"'))

    def path_between(self, root: str, above: Sequence[str], start: str | None = None, end: str | None = None) -> KeyRange:
        """What is below a path and has its next segment from one text to another, both included. Without a path: below the root."""
        below = f"{_write_path(above)}#" if above else "PATH#"
        high = _through(below[:-1] if end is None else _write_path([*above, end]), "$")
        low = below if start is None else _write_path([*above, start])
        return self._range(self.partition(root), _sort_key(low), _sort_key(high))

    def links(self, target: str, attribute: str, id_prefix: str = "") -> KeyRange:
        """The nodes that name this id in an attribute of `LinkAttributes`."""
        return self._beginning(self.partition(target), f"LINK#{attribute}#{id_prefix}")

    def revision(self, id: str, topic: str, version: int) -> KeyRange:
        """One revision."""
        return self._one(self.partition(id), _sort_key(f"{version_prefix(version)}_{topic}"))

    def revisions(self, id: str) -> tuple[KeyRange, KeyRange]:
        """All revisions of an id, of all topics, in the order of versions and without the copies of the newest: they stand among the revisions,
        so these are two ranges. Where versions stay below 100 the first has them all."""
        pk = self.partition(id)
        return self._range(pk, "v00", "v09z"), self._range(pk, "v1", "vcz")

    def latest(self, id: str, topic: str) -> KeyRange:
        """The copy of a topic's newest revision. Its `_version` is the version."""
        return self._one(self.partition(id), _sort_key(f"v0_{topic}"))

    def latest_of(self, id: str, topic_prefix: str = "") -> KeyRange:
        """The copies of the newest revisions of an id whose topics begin with a text."""
        return self._beginning(self.partition(id), f"v0_{topic_prefix}")

    def next_revision(self, id: str, topic: str, newest: int) -> KeyRange:
        """The key of a topic's next revision, after the one that the copy shows (0 without a copy). Put it with `attribute_not_exists(SK)`, and
        if that fails take the next: the copy follows by a moment."""
        return self.revision(id, topic, newest + 1)

    def trash(self, start: str | None = None, end: str | None = None) -> KeyRange:
        """What was put into the trash from one time to another, as `2026-02-03T04:05:06.789Z`, both included. Descending has the newest first."""
        low = "TRASH#" if start is None else f"TRASH#{start}#"
        return self._range(self._in_tenant("TRASH"), low, "TRASH$" if end is None else f"TRASH#{end}$")

    def orphans_of(self, parent: str) -> KeyRange:
        """The part of the register of orphans that has the children of a parent that isn't there. It has those of others, too."""
        hashed = 0x811C9DC5
        for byte in _bounded("the id", parent, ID_BYTES_MAX).encode():
            hashed = (hashed ^ byte) * 0x01000193 & 0xFFFFFFFF
        return self._range(self._in_tenant(f"ORPHANS#{hashed % _ORPHAN_PARTITIONS:x}"), "ORPHAN#", "ORPHAN$")

    def totals(self, id: str) -> KeyRange:
        """The totals of what is below a node: add up the items of the greatest epoch (docs/reference/items.md)."""
        return self._range(self.partition(id), "TOTALS#", "TOTALS$")

    def _in_order(
        self, pk: str, of: str, start: OrderValue | None, end: OrderValue | None, prefix: str | None, attributes: int
    ) -> KeyRange:
        if not 1 <= attributes <= _ORDER_ATTRIBUTES_MAX:
            raise InvalidKey("number", "siblings are ordered by 1 to 4 attributes")
        if prefix is not None:
            text = escape_part(prefix)
            if len(text.encode()) > _share(_PLACE_BYTES_MAX, attributes):
                raise InvalidKey("too-long", "no key has room for this prefix")
            return self._beginning(pk, f"{of}s{text}")
        low = of if start is None else f"{of}{_place(start, attributes)}!"
        return self._range(pk, low, of.replace("#", "$") if end is None else f"{of}{_place(end, attributes)}$")

    def _in_tenant(self, rest: str) -> str:
        return rest if self._tenant is None else f"TENANT#{self._tenant}#{rest}"

    def _one(self, pk: str, sk: str) -> KeyRange:
        return self._range(pk, sk, sk)

    def _range(self, pk: str, low: str, high: str) -> KeyRange:
        return KeyRange(pk, low, high, *self._names)

    def _beginning(self, pk: str, low: str) -> KeyRange:
        """All sort keys that begin with a text, up to the last that has room."""
        high, room = _sort_key(low), SORT_KEY_BYTES_MAX - len(low.encode())
        for last in ("\U0010ffff", "\uffff", "\u07ff", "\u007f"):
            count, room = divmod(room, len(last.encode()))
            high += last * count
        return self._range(pk, low, high)


def parse_revision(sort_key: str) -> RevisionName | None:
    """Reads the sort key of a revision. None for every other sort key, those of the copies (`v0_`) among them."""
    found = _REVISION.fullmatch(sort_key)
    if not found or len(sort_key.encode()) > SORT_KEY_BYTES_MAX:
        return None
    version = int(found[1].lstrip("vabc"))
    return RevisionName(version, found[2]) if version >= 1 and version_prefix(version) == found[1] else None


def parse_path(sort_key: str) -> PathName | None:
    """Reads the sort key of a path row. None for every other sort key."""
    if not sort_key.startswith("PATH#") or len(sort_key.encode()) > SORT_KEY_BYTES_MAX:
        return None
    *parts, last = sort_key.removeprefix("PATH#").split("#")
    last, mark, id = last.partition("!")
    texts = [unescape_part(part) for part in (*parts, last, *([id] if mark else []))]
    read = [text for text in texts if text and len(text.encode()) <= ID_BYTES_MAX]
    if len(read) < len(texts):
        return None
    return PathName(read[:-1], read[-1]) if mark else PathName(read, None)


def escape_part(text: str) -> str:
    """Writes a text as a part of a key that stands between `#` and `#`: bytes up to `$`, and `%`, are written `%XX`."""
    _bytes(text)
    return "".join(f"%{ord(character):02X}" if character <= "%" else character for character in text)


def unescape_part(part: str) -> str | None:
    """Reads what `escape_part` has written. None for a text that it never writes."""
    text = re.sub("%([0-9A-F]{2})", lambda found: chr(int(found[1], 16)), part)
    return text if escape_part(text) == part else None


def number_part(number: Numeric | str) -> str:
    """Writes a number as text that sorts as the numbers do: any number of DynamoDB's, of up to 38 digits. It takes the text of a number, too."""
    text = str(number)
    found = _NUMBER.fullmatch(text)
    sign, whole, fraction, power = (part or "" for part in found.groups()) if found else ("", "", "", "")
    digits_given = whole + fraction
    wrong = InvalidKey("number", f"{text}: a number has at most 38 digits, and is 0 or from 1E-130 to 9.99E+125 on either side of it")
    if not digits_given or len(power.lstrip("+-0")) > 9:
        raise wrong
    significant = digits_given.lstrip("0")
    digits = significant.rstrip("0")
    if not digits:
        return "0"
    exponent = len(whole) - (len(digits_given) - len(significant)) - 1 + int(power or "0")
    if len(digits) > 38 or not -130 <= exponent <= 125:
        raise wrong
    part = f"{exponent + 500:03}{digits}"
    return f"-{part.translate(_COMPLEMENT)}~" if sign == "-" else f"1{part}"


def version_prefix(version: int) -> str:
    """A version as a sort key begins with it: `v003`, `va1000`, `vb10000`, `vc100000`, so that byte order is number order."""
    if not 1 <= version <= VERSION_MAX or version != int(version):
        raise InvalidKey("version", f"a version is from 1 to {VERSION_MAX}")
    # boto3 reads numbers as decimals.
    version = int(version)
    return f"v{version:03}" if version < 1_000 else f"v{'abc'[len(str(version)) - 4]}{version}"


def padded(number: int, digits: int) -> str:
    """A number with zeros in front, so that texts sort as numbers do."""
    text = str(number).rjust(digits, "0")
    if number < 0 or len(text) > digits:
        raise InvalidKey("number", f"{number} isn't a number of at most {digits} digits")
    return text


def _place(value: OrderValue, attributes: int) -> str:
    """The end of a range of places among siblings."""
    return _text_place(value, _share(_PLACE_BYTES_MAX, attributes)) if isinstance(value, str) else f"n{number_part(value)}"


def _text_place(text: str, room: int) -> str:
    """A text as a place, cut as the handler cuts it: cut texts are in the order of the whole ones, or equal."""
    made, length = "s", 0
    for character in text:
        part = escape_part(character)
        width = len(part.encode())
        if length + width > room:
            left = room - length
            return made if part.startswith("%") or not 1 <= left <= 3 else made + ("\u007f", "\u07ff", "\uffff")[left - 1]
        made, length = made + part, length + width
    return made


def _share(room: int, parts: int) -> int:
    """How many bytes each of so many parts has room for besides its first."""
    return (room + 1 - (parts - 1)) // parts - 1


def _path_key(segments: Sequence[str]) -> str:
    return _sort_key(_write_path(segments))


def _write_path(segments: Sequence[str]) -> str:
    if isinstance(segments, str):
        raise TypeError("a path is a list of segments")
    if not segments:
        raise InvalidKey("no-segments", "a path needs at least one segment")
    return "PATH#" + "#".join(escape_part(_bounded("the segment", segment, ID_BYTES_MAX)) for segment in segments)


def _through(path: str, past: str) -> str:
    """The end of the keys that begin with a path. One of the greatest length has nothing after it."""
    return path + past if len(path.encode()) < SORT_KEY_BYTES_MAX else path


def _sort_key(text: str) -> str:
    return _bounded("the sort key", text, SORT_KEY_BYTES_MAX)


def _depth(depth: int, least: int) -> int:
    if not least <= depth <= DEPTH_MAX or depth != int(depth):
        raise InvalidKey("depth", f"a depth is from {least} to {DEPTH_MAX}")
    return int(depth)


def _bounded(part: str, text: str, limit: int) -> str:
    length = len(_bytes(text))
    if length == 0:
        raise InvalidKey("empty", f"{part} is empty; give it at least one character")
    if length > limit:
        raise InvalidKey("too-long", f"{part} has {length} bytes, over its limit of {limit}; shorten it")
    return text


def _bytes(text: str) -> bytes:
    """A text's UTF-8. A half of a surrogate pair has none."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidKey("text", "the text has half of a surrogate pair, which no key can hold") from None
