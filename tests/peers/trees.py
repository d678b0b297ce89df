"""The tables at the beginning of docs/decide/benchmarks.md: what each peer does with its tree when two moves overlap, and what else was asked."""

import re

import races
from blog import Blog, BlogByStream
from django_treebeard import LockingTreebeard, Treebeard
from ltree import Ltree, SerializableLtree
from openfga import OpenFga
from permissions import measured, table
from sapwood import SapwoodOnDisk
from spicedb import SpiceDb
from typeorm import SerializableTypeOrm, TypeOrm

# Each with its defaults first, and then with the best setting that we know.
IN_POSTGRESQL = (Treebeard, LockingTreebeard, Ltree, SerializableLtree, TypeOrm, SerializableTypeOrm)
PEERS = (SapwoodOnDisk, *IN_POSTGRESQL, Blog, BlogByStream, OpenFga, SpiceDb)
# A setting is about moves alone.
BY_DEFAULT = [kind for kind in PEERS if not kind.setting]
# Peers with events have a case of their own.
WITH_EVENTS = (SapwoodOnDisk, BlogByStream)


def name(kind):
    return f"{kind.name} {kind.version}".strip() + (f", {kind.setting}" if kind.setting else "")


def parts():
    """The lines of each table, by the name of its part of the page."""
    return {"races": table(races_of(kind) for kind in PEERS), "trees": table(tree_of(kind) for kind in BY_DEFAULT)}


def races_of(kind):
    found, writes = measured(kind, races.nested), measured(kind, races.writes, kind.counted)
    one, several = kind.written_things
    return {
        "": name(kind),
        "right": f"{found.right} of {races.RUNS}",
        "**silently wrong**": f"{found.wrong}",
        "refused, with an error": f"{found.refused}",
        "tried again": f"{found.retries}",
        "a move of 1,000 writes": f"{writes.items:,} {several}",
        "round trips of its client": f"{writes.trips:,}",
    }


def tree_of(kind):
    killed, deepest = measured(kind, races.kills), measured(kind, races.depth)
    found = measured(kind, races.events) if kind in WITH_EVENTS else None
    return {
        "": name(kind),
        "killed in the middle of a move: whole": f"{killed.whole} of {races.KILLS}",
        "every event came twice: right": f"{found.twice} of {races.EVENTS}" if found else "no events",
        "events were lost": lost(found) if found else "no events",
        "deepest folder": told_depth(deepest),
        "10,000 children": told_requests(measured(kind, races.children, kind.counted)),
    }


def lost(found):
    if not found.sees:
        return f"{found.lost} of {races.EVENTS} right, and nothing says so"
    return f"{found.lost} of {races.EVENTS} right; `verify` finds it, and after `repair` {found.mended} of {races.EVENTS} are"


def told_depth(found):
    below = {"refused": f"{found.levels}; questions are refused below", "not made": f"{found.levels}; it makes none deeper"}
    return below.get(found.then, f"{found.levels}, the deepest that was tried")


def told_requests(requests):
    return f"{requests} {'request' if requests == 1 else 'requests'}"


def alike(line):
    """A line without what differs from run to run: how many, where some were right and some weren't; and how often something was tried again.
    Where moves can go wrong silently, chance decides whether some are refused."""
    if not (cells := re.fullmatch(r"\| (.*) \|\n", line)):
        return line
    cells = [re.sub(r"(\d+) of (\d+)", share, cell) for cell in cells[1].split(" | ")]
    if cells[0] == name(BlogByStream) and len(cells) == 6:
        # Nearly all of them are right, or all.
        cells[2] = "by chance"
    if len(cells) == 7 and cells[2].isdigit():
        wrong, refused, retries = (int(cell) > 0 for cell in cells[2:5])
        cells[2:5] = [f"wrong: {wrong}", f"refused: {'by chance' if wrong else refused}", f"tried again: {retries}"]
    return " | ".join(cells)


def share(found):
    part, whole = map(int, found.groups())
    return "all" if part == whole else "some" if part else "none"
