"""The table of docs/decide/openfga-spicedb.md: what each peer is asked, and how the page says what came of it."""

import cases
from openfga import OpenFga
from sapwood import Sapwood
from spicedb import SpiceDb

PEERS = (Sapwood, OpenFga, SpiceDb)

def alike(line):
    """Only events are counted, so a line is the same on every machine."""
    return line


# What is below the deepest right answer.
BELOW = {
    "not made": "; no folder is deeper",
    "refused": ", refused below",
    "wrong": ", **wrong** below",
    None: ", the deepest that was asked for",
}


def parts():
    """The lines of the table, by the name of its part of the page."""
    columns = [column(peer) for peer in PEERS]
    names = [f"{peer.name} {peer.version}".strip() for peer in PEERS]
    return {"peers": table({"": asked, **dict(zip(names, (column[asked] for column in columns)))} for asked in columns[0])}


def table(rows):
    """The lines of a table, of rows that are cells by the name of their column."""
    rows = list(rows)
    cells = [list(rows[0]), *(list(row.values()) for row in rows)]
    lines = [f"| {' | '.join(line)} |\n" for line in cells]
    return [lines[0], "|---" * len(cells[0]) + "|\n", *lines[1:]]


def column(kind):
    """The cells of a peer, by what was asked."""
    moved = measured(kind, cases.moves, tuple(kind.lifted.values()))
    return {
        "may Ada see a folder, *d* levels below the grant?": depth(kind),
        "which folders may Ada see? 10,000, by one grant": lists(kind),
        "to share a folder with 1,000 below it writes": written(kind, moved.share_writes),
        "to move it writes": written(kind, moved.move_writes),
        "checks right after the move": since(kind, moved.checks, moved.checks_fresh),
        "lists right after the move": since(kind, moved.lists, moved.lists_fresh),
    }


def measured(kind, case, options=(), *arguments):
    """What a case gives with a new server."""
    print(f"{kind.name}, {case.__name__}, {' '.join(options) or 'defaults'}:", flush=True)
    peer = kind()
    try:
        peer.start(options)
        result = case(peer, *arguments)
    finally:
        peer.stop()
    print(f"  {result}", flush=True)
    return result


def depth(kind):
    def told(found):
        but = f" ({found.yes} where it is granted)" if found.yes != found.no else ""
        return f"right to depth {found.no}{but}{BELOW[found.then]}"

    cell = told(measured(kind, cases.depth))
    if option := kind.lifted.get("depth"):
        cell += f". With `{option}` {told(measured(kind, cases.depth, (option,)))}"
    return cell


def lists(kind):
    """A peer that has several ways to list, or a limit of a list, has a cell of several sentences."""

    def told(way, found):
        name = f"`{way}`: " if way else ""
        if found.named == found.of:
            return f"{name}all, in {found.requests} {'request' if found.requests == 1 else 'requests'}"
        # The number that comes before the limit differs by a few from run to run.
        return f"{name}at most {-(-found.named // 100) * 100:,}, and it doesn't say that there are more"

    found = measured(kind, cases.lists, (), kind.ways)
    cells = [told(way, found[way]) for way in kind.ways]
    cut = {way: ask for way, ask in kind.ways.items() if found[way].named < found[way].of}
    if cut and (option := kind.lifted.get("list")):
        again = measured(kind, cases.lists, (option,), cut)
        cells += [f"with `{option}` {told('', again[way])}" for way in cut]
    return ". ".join(cell[0].upper() + cell[1:] if at else cell for at, cell in enumerate(cells))


def written(kind, count):
    one, several = kind.written_things
    return f"{count:,} {one if count == 1 else several}"


def since(kind, plain, fresh):
    if plain:
        return "right"
    if fresh:
        return f"right {kind.fresh}; without, some aren't"
    return f"not right until {kind.settled}"
