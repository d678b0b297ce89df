"""A table, its stream, handlers and clients: all that there is at a moment, and all that can happen next."""

from typing import NamedTuple

from lines import GONE, Line, cut, in_words, name, of_item, path, rows_of, with_
from ways import asks


class World(NamedTuple):
    """All that there is at a moment. Of each node: (parent, last touch), lineage, the records of both that are to be handled."""

    base: tuple
    line: tuple
    rows: frozenset
    queue: tuple
    numbers: tuple
    flights: tuple
    todo: tuple
    deaths: int
    repeats: int


def start(way, parents, todo, deaths=0, repeats=0):
    """A world at rest with these parents (`gone` for a node that isn't there), and what clients are about to write."""
    base = tuple(None if parent == GONE else (parent, None) for parent in parents)
    lines = tuple(wanted_line(way, base, node) if base[node] else None for node in range(len(base)))
    rows = frozenset().union(*(rows_of(node, line) for node, line in enumerate(lines) if line))
    empty = ((),) * (2 * len(base))
    return World(base, lines, rows, empty, (0,) * len(base), (), todo, deaths, repeats)


def ask(way, world, request):
    """Answers a request. Returns the answer and the world after it."""
    kind, node = request[:2]
    if kind == "node":
        return (world.base[node], world.line[node]), world
    if kind == "line":
        return world.line[node] and world.line[node].above, world
    if kind == "edge":
        return world.line[node] and world.line[node].above[:1], world
    if kind == "parent":
        base = world.base[node]
        return base and (() if base[0] is None else (base[0],)), world
    if kind == "orphans":
        return tuple(sorted(row[2] for row in world.rows if row[:2] == ("orphans", node))), world
    if kind == "below":
        nearest = request[2]
        return tuple(sorted(r[2] for r in world.rows if r[0] == node and len(r) == 3 and (r[1] == 1 or not nearest))), world
    if kind == "number":
        number = world.numbers[node] + 1
        return number, world._replace(numbers=with_(world.numbers, node, number))
    if kind == "put":
        return None, world._replace(rows=world.rows | node)
    if kind == "delete":
        return None, world._replace(rows=world.rows - node)
    if kind == "touch":
        base = world.base[node]
        if base is None or base[1] == request[2]:
            return None, world
        return None, written(way, world, node, (base[0], request[2]), True)
    old, new = world.line[node], request[2]
    world = world._replace(line=with_(world.line, node, new))
    if (old and old[:2]) != (new and new[:2]) or (new and new.left):
        number = world.numbers[node] + 1
        record = (old and Line(*old[:2]), new and Line(*new[:2], left=new.left), number)
        item = 2 * node + 1
        queue = with_(world.queue, item, world.queue[item] + (record,))
        world = world._replace(queue=queue, numbers=with_(world.numbers, node, number))
    return None, world


def written(way, world, node, base, is_touch):
    """The world in which a base record has been written."""
    number = 0
    if way.without == "new number":
        number = world.numbers[node] + 1
        world = world._replace(numbers=with_(world.numbers, node, number))
    queue = with_(world.queue, 2 * node, world.queue[2 * node] + ((is_touch, number),))
    return world._replace(base=with_(world.base, node, base), queue=queue)


def is_above(world, node, parent):
    seen = set()
    while parent is not None and parent not in seen:
        if parent == node:
            return True
        seen.add(parent)
        parent = world.base[parent] and world.base[parent][0]
    return False


def client(way, world, which):
    """The next write of a client: `node` below `parent`, created if it isn't there, or gone. A cycle is refused, as the API does."""
    (node, parent), *rest = world.todo[which]
    world = world._replace(todo=with_(world.todo, which, tuple(rest)))
    base = world.base[node]
    if parent == GONE:
        return written(way, world, node, None, False) if base else world
    if parent is not None and is_above(world, node, parent):
        return world
    return written(way, world, node, (parent, base and base[1]), False)


def choices(world):
    """All that can happen next."""
    found = [("client", which) for which, todo in enumerate(world.todo) if todo]
    busy = {item for item, _, _ in world.flights}
    for item, records in enumerate(world.queue):
        if records and item not in busy:
            found += [("begin", item, count) for count in sorted({1, len(records)})]
    found += [("go", position) for position in range(len(world.flights))]
    return found + [("die", position) for position in range(len(world.flights))] * (world.deaths > 0)


def happen(way, world, choice):
    """What a choice is in words, and the worlds after it: two, where a handler has ended, and its records are done or come again."""
    kind, which = choice[:2]
    if kind == "client":
        node, parent = world.todo[which][0]
        what = f"deletes {name(node)}" if parent == GONE else f"writes {name(node)} below {'nobody' if parent is None else name(parent)}"
        return f"a client {what}", [client(way, world, which)]
    if kind == "die":
        flights = world.flights[:which] + world.flights[which + 1 :]
        return f"the handler of {of_item(world.flights[which][0])} dies", [world._replace(flights=flights, deaths=world.deaths - 1)]
    if kind == "begin":
        item, records, answers = flight = which, world.queue[which][: choice[2]], ()
    else:
        item, records, answers = flight = world.flights[which]
    others = tuple(other for other in world.flights if other is not flight)
    then = world._replace(flights=others)
    if kind == "begin" and asks(way, (item, records), answers) is None:
        what = "has nothing to do"
    else:
        request = asks(way, (item, records), answers)
        answer, then = ask(way, then, request)
        what, answers = in_words(request, answer), (*answers, answer)
    # What nobody else can see is no step of its own, unless the handler could die before it.
    while not world.deaths and (request := asks(way, (item, records), answers)) is not None and is_unseen(then, request):
        answer, then = ask(way, then, request)
        answers += (answer,)
    what = f"the handler of {of_item(item)}" + (f", with {len(records)} records," * (kind == "begin")) + f" {what}"
    if asks(way, (item, records), answers) is not None:
        flights = tuple(sorted((*others, (item, records, answers)), key=lambda other: other[0]))
        return what, [then._replace(flights=flights)]
    again = [then._replace(repeats=then.repeats - 1)] * (then.repeats > 0)
    return what, [then._replace(queue=with_(then.queue, item, then.queue[item][len(records) :])), *again]


def is_unseen(world, request):
    """True if a request changes or reads nothing that others change or read."""
    if request[0] == "lineage":
        old, new = world.line[request[1]], request[2]
        return (old and old[:2]) == (new and new[:2]) and not (new and new.left)
    return request[0] == "number"


def wanted_line(way, base, node):
    """Where a node belongs, by base records alone."""
    path, at = [], base[node][0]
    while at is not None and at not in path and at != node:
        path.append(at)
        if base[at] is None:
            return Line(tuple(path), at if way.placed_by == "always" or len(path) == 1 else None)
        at = base[at][0]
    return Line(tuple(path))


def wrong(way, world):
    """What isn't as base records ask for, in a world in which nothing is left to do."""
    lines = tuple(wanted_line(way, world.base, node) if base else None for node, base in enumerate(world.base))
    rows = frozenset().union(*(rows_of(node, line) for node, line in enumerate(lines) if line))
    pairs = enumerate(zip((line and line._replace(left=False) for line in world.line), lines))
    faults = [f"{name(node)} is at {path(there)} and not at {path(line)}" for node, (there, line) in pairs if there != line]
    return faults + [f"{len(world.rows - rows)} rows too many, {len(rows - world.rows)} missing"] * (world.rows != rows)
