"""What a move costs and how long it takes: units, trips through the stream, and seconds."""

import random
from math import ceil

from lines import GONE
from search import R, S, T
from ways import WAYS, asks
from world import ask, client, start

# A row of 400 bytes, as in docs/reference/costs.md.
ROWS_A_READ_UNIT = 10


def units(request, answer):
    """The write units and read units of a request; items have up to 1 KB."""
    kind = request[0]
    if kind in ("lineage", "touch", "put", "delete"):
        return (len(request[1]) if kind in ("put", "delete") else 1), 0
    if kind in ("below", "orphans"):
        return 0, max(1, ceil(len(answer) / ROWS_A_READ_UNIT))
    return 0, {"node": 2, "number": 0}.get(kind, 1)


def counted(way, parents, todo, chance=None):
    """Carries out writes, each record handled alone and none in the middle of another. Returns write units, read units, and the trips
    through the stream until the last row is right. With `chance`, items come in any order, as where partitions keep some back."""
    world = start(way, parents, (todo,))
    writes, reads, trips, trip = len(todo), 0, 0, 0
    while world.todo[0]:
        world = client(way, world, 0)
    while waiting := [item for item, records in enumerate(world.queue) if records]:
        trip += 1
        for item in waiting if chance is None else [chance.choice(waiting)]:
            records, answers = world.queue[item][:1], ()
            while (request := asks(way, (item, records), answers)) is not None:
                answer, world = ask(way, world, request)
                cost = units(request, answer)
                writes, reads, answers = writes + cost[0], reads + cost[1], (*answers, answer)
                trips = trip if request[0] in ("put", "delete") else trips
            queue = world.queue
            world = world._replace(queue=queue[:item] + (queue[item][1:],) + queue[item + 1 :])
    return writes, reads, trips


def bush(nodes):
    """T below R, so many nodes below T, with ten children each, and S beside."""
    return [None, None, R] + [T + number // 10 for number in range(nodes)]


SHAPES = {
    "a chain of 8 moves": ([None, None, R, *range(T, T + 8)], ((T, S),)),
    "a bush of 1,000 moves": (bush(1000), ((T, S),)),
    "a create at depth 8": ([None, *range(7), GONE], ((8, 7),)),
    "a rename at depth 8": ([None, *range(8)], ((8, 7),)),
}
# Seconds of a trip: Lambda's poll and two requests. Nodes that a new table moves in a second, from docs/decide/large-tables.md.
TRIP, RATE = 0.35, 10_000 / 47


def seconds(arrives, levels, nodes):
    """How long a move of so many nodes in so many levels takes, where a level's touches arrive after so many trips."""
    widths = [1.0] * levels
    low, high = 1.0, float(nodes)
    for _ in range(60):
        ratio = (low + high) / 2
        widths = [ratio**level for level in range(1, levels + 1)]
        low, high = (ratio, high) if sum(widths) < nodes else (low, ratio)
    return max(arrives(level) * TRIP + sum(widths[level - 1 :]) / RATE for level in range(1, levels + 1))


ARRIVES = {"today": lambda level: 2 * level + 1, "inline": lambda level: level + 1, "two hops": lambda level: 2}


def print_tables():
    ways = [way for way in WAYS if not way.wrong_in or way.reaches != "children"]
    for shape, (parents, todo) in SHAPES.items():
        for way in ways:
            writes, reads, trips = counted(way, parents, todo)
            print(f"{shape:22} {way.name:16} {writes:6} write units {reads:6} read units {trips:4} trips")
    for way in ways:
        late = [counted(way, bush(100), ((T, S),), random.Random(seed)) for seed in range(20)]
        writes, reads = (sum(one[which] for one in late) / len(late) for which in (0, 1))
        print(f"{'a bush of 100, late':22} {way.name:16} {writes:6.0f} write units {reads:6.0f} read units")
    print(f"{'levels':>8} {'nodes':>8}" + "".join(f"{name:>12}" for name in ARRIVES))
    for levels in (1, 2, 4, 8, 16):
        for nodes in (10, 100, 1_000, 10_000, 100_000):
            if nodes >= levels:
                print(f"{levels:8} {nodes:8}" + "".join(f"{seconds(arrives, levels, nodes):10.1f} s" for arrives in ARRIVES.values()))
