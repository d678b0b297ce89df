"""Lineages, the rows that follow from them, and how the model names things."""

from typing import NamedTuple

GONE = "gone"


class Line(NamedTuple):
    """A lineage: the ancestors, nearest first, for whom the node waits among the orphans, and what is left to do."""

    above: tuple = ()
    waits: int | None = None
    stale: frozenset = frozenset()
    pending: bool = False
    telling: bool = False
    left: bool = False


def with_(values, index, value):
    return values[:index] + (value,) + values[index + 1 :]


def cut(above, node):
    return above[: above.index(node)] if node in above else above


def own(line):
    """What a lineage says that isn't its parent's."""
    return line and (line.above[:1], line.waits)


def rows_of(node, line):
    """A row in each ancestor's collection, one by path in the farthest one's, and one among the orphans."""
    rows = {(holder, depth + 1, node) for depth, holder in enumerate(line.above)}
    if line.above:
        rows.add((line.above[-1], "path", line.above, node))
    if line.waits is not None:
        rows.add(("orphans", line.waits, node))
    return rows


def name(node):
    return "RSTMDXYZ"[node]


def of_item(item):
    return f"{name(item // 2)}'s {'lineage' if item % 2 else 'record'}"


def path(line):
    return "/".join(name(node) for node in reversed(line.above)) or "the top" if line else "nowhere"


def in_words(request, answer):
    kind, node = request[:2]
    if kind == "node":
        return f"reads {name(node)}"
    if kind in ("line", "edge"):
        where = "none" if answer is None else path(Line(answer))
        return f"reads the lineage of {name(node)}: {where}" + " (its parent)" * (kind == "edge")
    if kind == "parent":
        return f"reads the record of {name(node)}: " + ("gone" if answer is None else f"below {name(answer[0])}" if answer else "a root")
    if kind in ("below", "orphans"):
        whom = "the orphans of" if kind == "orphans" else "the children of" if request[2] else "all below"
        return f"lists {whom} {name(node)}: {', '.join(map(name, answer)) or 'nobody'}"
    if kind == "lineage":
        return f"writes the lineage of {name(node)}: {path(request[2])}"
    if kind == "touch":
        return f"touches {name(node)}"
    return {"put": "puts rows", "delete": "deletes rows"}.get(kind, "counts")
