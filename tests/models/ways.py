"""How a move is handed down: as the product does it, with something left out, and in other ways. A handler yields its requests."""

from typing import NamedTuple

from lines import Line, cut, own, rows_of


class Way(NamedTuple):
    """How a move is handed down."""

    name: str
    # What places a node: its parent's lineage (`parent`); or, where it was touched from above, the `records` or the `lineages` from it
    # up to whoever touched it; or the lineages up to the root, `always` or if `touched`. Of one on the way up its parent alone counts.
    placed_by: str = "parent"
    # Whom a lineage's change reaches: the `children`; `all` below, if the node itself was moved; or `both`: all below then, and else the
    # children who aren't right yet.
    reaches: str = "children"
    # True if whoever writes a lineage touches the children as well, and the lineage's own record has nothing to do.
    inline: bool = False
    # What is left out.
    without: str = ""
    # A scope and a seed that end wrong; None if it ends right in every order.
    wrong_in: tuple | None = None


WAYS = [
    Way("today"),
    Way("no-confirm", without="confirm", wrong_in=("a node comes in", 91)),
    Way("net-change", without="any change", wrong_in=("there and back, and the middle is written", 2073)),
    Way("records", placed_by="records", reaches="all", wrong_in=("the middle leaves and comes back", 144)),
    Way("lineages", placed_by="lineages", reaches="all", wrong_in=("a node comes in", 14)),
    Way("accelerator", placed_by="lineages", reaches="both", wrong_in=("one move in another", 33854)),
    Way("root-gaps", placed_by="touched", reaches="both", wrong_in=("a gap comes and goes", 233)),
    Way("root-touched", placed_by="touched", reaches="both", without="gaps"),
    Way("root-always", placed_by="always", reaches="all"),
    Way("inline", inline=True),
    Way("inline-left", inline=True, without="room"),
    Way("inline-unmarked", inline=True, without="mark", wrong_in=("there and back", 1337)),
    Way("inline-old-number", inline=True, without="new number", wrong_in=("there and back", 94)),
    Way("inline-two-hops", placed_by="always", reaches="all", inline=True),
]


def above(way, node, base, touched):
    """Reads where a node belongs. Returns its ancestors, for whom it waits, and what was read for that."""
    parent, touch = base
    used = []

    def see(request):
        used.append((request, (yield request)))
        return used[-1][1]

    if parent is None:
        return (), None, used
    top = touch[0] if touch else None
    if way.placed_by in ("records", "lineages") and top is not None:
        at, path = parent, [parent]
        while at != top:
            edge = yield from see(("parent" if way.placed_by == "records" else "edge", at))
            if not edge or edge[0] in path or edge[0] == node:
                break
            at = edge[0]
            path.append(at)
        line = (yield from see(("line", top))) if at == top else None
        if line is not None:
            return cut(tuple(path) + line, node), None, used
        used.clear()
    if way.placed_by == "always" or (way.placed_by == "touched" and touched):
        at, path = parent, [parent]
        while True:
            edge = yield from see(("edge", at))
            if not edge and (edge is not None or way.without != "gaps"):
                waits = at if edge is None and (at == parent or way.placed_by == "always") else None
                return tuple(path), waits, used
            if edge is None:
                break
            if edge[0] == node or edge[0] in path:
                return tuple(path), None, used
            at = edge[0]
            path.append(at)
        used.clear()
    line = yield from see(("line", parent))
    return cut((parent, *(line or ())), node), parent if line is None else None, used


def place(way, node, touched, number):
    """Handles records of a node: reads, writes the lineage, the rows, and the lineage again, and confirms."""
    while True:
        base, line = yield ("node", node)
        if base is None:
            if line is not None:
                yield ("delete", frozenset(rows_of(node, line) | line.stale))
                yield ("lineage", node, None)
            return
        ancestors, waits, used = yield from above(way, node, base, touched)
        new = Line(ancestors, waits)
        named, wanted = rows_of(node, line) if line else set(), rows_of(node, new)
        stale = frozenset((named | line.stale if line else set()) - wanted)
        settled = line is not None and not line.stale and not line.pending
        puts = frozenset(wanted - named if touched and settled else wanted)
        is_extended = line is not None and not stale and line.above != ancestors
        pending = bool((touched or is_extended) and puts) or (line is not None and line.pending)
        moved = line is not None and (line[:2] != new[:2] if way.reaches == "children" else own(line) != own(new))
        telling = way.inline and (moved or (line is not None and line.telling))
        intent = new._replace(stale=stale, pending=pending, telling=telling and way.without != "mark")
        is_new = line is None or line[:2] != new[:2] or bool(stale)
        if is_new:
            yield ("lineage", node, intent)
        # Where a node has too many children, every other one here, the lineage's record touches them.
        leaves = telling and way.without == "room" and node % 2 == 1
        if telling and not leaves:
            value = number if way.without == "new number" else (yield ("number", node))
            for below in (yield ("below", node, way.reaches == "children")):
                yield ("touch", below, (node, value))
        if puts:
            yield ("put", puts)
        if stale:
            yield ("delete", stale)
        if (intent if is_new else line._replace(left=False)) != new:
            yield ("lineage", node, new._replace(left=leaves))
        if way.without == "confirm" or not (yield from confirms(used)):
            return


def confirms(used):
    """True if what was read for a placement isn't as it was."""
    for request, before in used:
        if (yield request) != before:
            return True
    return False


def hand_down(way, node, records):
    """Handles records of a lineage: touches those whom its changes reach."""
    if way.without == "any change":
        records = ((records[0][0], records[-1][1], records[-1][2]),)
    changed = [(old, new) for old, new, _ in records if (old and old.above) != (new and new.above) or own(old) != own(new)]
    is_inserted = all(old is None for old, _ in changed)
    is_gone = any(new is None for _, new in changed)
    is_moved = any(own(old) != own(new) for old, new in changed)
    if way.reaches == "children":
        changed = [(old, new) for old, new in changed if (old is None) != (new is None) or old.above != new.above]
    is_left = any(new and new.left for _, new, _ in records)
    is_told = way.inline and not is_left and not is_inserted and not is_gone
    if (not changed and not is_left) or is_told or (way.reaches == "all" and not is_moved):
        return
    if is_inserted and not is_left:
        found = yield ("orphans", node)
    else:
        found = yield ("below", node, way.reaches == "children" or not is_moved)
    for below in found:
        if way.reaches == "both" and not is_moved:
            mine, theirs = (yield ("line", node)), (yield ("line", below))
            if mine is not None and theirs == cut((node, *mine), below):
                continue
        yield ("touch", below, (node, records[-1][2]))


memory = {}


def asks(way, job, answers):
    """The next request of a handler that was given these answers; None if it is done."""
    key = (way.name, job, answers)
    if key not in memory:
        if len(memory) > 2_000_000:
            memory.clear()
        item, records = job
        if item % 2:
            script = hand_down(way, item // 2, records)
        else:
            script = place(way, item // 2, all(record[0] for record in records), records[-1][1])
        try:
            memory[key] = next(script)
            for answer in answers:
                memory[key] = script.send(answer)
        except StopIteration:
            memory[key] = None
    return memory[key]
