"""What is measured of trees: whether a peer is right when two moves overlap, when it is killed, and when its events come twice or never; and what a
move writes, how deep a tree may be, and how many requests 10,000 children take. Every answer is judged by a model."""

import random
import threading
import time
from dataclasses import dataclass

from peer import PATIENCE_SECONDS, Refused

# How often two moves are made at once, how often something is killed, and how many moves have events that come twice or never.
RUNS = 200
KILLS = 40
EVENTS = 20

# The levels of the places from which and to which a subtree moves.
ABOVE = 4
# The nodes of a subtree that moves with another, and of one that moves alone: 3 children each.
SUBTREE = 13
MOVED = 1000
# A chain is longer than any peer with a limit makes one.
CHAIN = 120
CHILDREN = 10_000
SEED = 1


class Place:
    """A subtree below one chain, and two other chains, with names of its own."""

    def __init__(self, name, size=SUBTREE):
        self.old, self.outer, self.inner = ([f"{name}-{kind}{level}" for level in range(ABOVE)] for kind in ("from", "outer", "inner"))
        self.subtree = [f"{name}-{node}" for node in range(size)]
        chains = [pair for chain in (self.old, self.outer, self.inner) for pair in zip(chain, [None, *chain])]
        below = [(node, self.subtree[(at - 1) // 3] if at else self.old[-1]) for at, node in enumerate(self.subtree)]
        self.folders = [*chains, *below]
        self.model = dict(self.folders)
        # The two moves: of the subtree, and of a child of its top.
        self.moves = ((self.subtree[0], self.old[-1], self.outer[-1]), (self.subtree[1], self.subtree[0], self.inner[-1]))
        # What is asked for: enough to see each node at each place.
        self.points = [*self.old, *self.outer, *self.inner, *self.subtree[:2]]

    def moved(self, moves):
        """The model after these moves."""
        return {**self.model, **{folder: new for folder, _, new in moves}}

    def is_right(self, peer, model):
        expected = {point: [] for point in self.points}
        for node in model:
            above = model[node]
            while above:
                if above in expected:
                    expected[above].append(node)
                above = model[above]
        return all(sorted(peer.below(point)) == sorted(nodes) for point, nodes in expected.items())


def places(peer, count, size=SUBTREE):
    made = [Place(f"p{number}", size) for number in range(count)]
    peer.load([folder for place in made for folder in place.folders])
    for place in made:
        peer.show(place.points)
    peer.settle()
    return made


@dataclass
class Races:
    """How often two nested moves at once ended in which way, and how often one had to be tried again."""

    right: int
    wrong: int
    refused: int
    retries: int


def nested(peer):
    """A subtree moves, and at the same time a part of it moves elsewhere. One of the two begins later, at most by what a move takes alone."""
    *runs, alone = places(peer, RUNS + 1)
    apart = seconds_of_a_move(peer, alone)
    draw = random.Random(SEED)
    starts, ends = threading.Barrier(3), threading.Barrier(3)
    delays = [draw.uniform(-apart, apart) for _ in runs]
    refused = [[], []]
    retries = [0, 0]

    def mover(which):
        twin = peer.twin()
        for run, delay in zip(runs, delays):
            starts.wait()
            time.sleep(max(0, delay if which else -delay))
            try:
                twin.move(*run.moves[which])
            except Refused:
                refused[which].append(run)
            finally:
                ends.wait()
        retries[which] = twin.retries
        twin.stop()

    threads = [threading.Thread(target=mover, args=(which,), daemon=True) for which in range(2)]
    for thread in threads:
        thread.start()
    for _ in runs:
        starts.wait(PATIENCE_SECONDS)
        ends.wait(PATIENCE_SECONDS)
    for thread in threads:
        thread.join()
    peer.settle()
    found = Races(0, 0, 0, sum(retries))
    for run in runs:
        made = [move for which, move in enumerate(run.moves) if run not in refused[which]]
        if not run.is_right(peer, run.moved(made)):
            found.wrong += 1
        elif len(made) < 2:
            found.refused += 1
        else:
            found.right += 1
    return found


def seconds_of_a_move(peer, place):
    """How long the outer move takes, with what the peer does after its answer."""
    begun = time.monotonic()
    peer.move(*place.moves[0])
    model = place.moved(place.moves[:1])
    while peer.goes_on and not place.is_right(peer, model):
        if time.monotonic() > begun + PATIENCE_SECONDS:
            raise RuntimeError(f"{peer.name} doesn't get a move right")
    return time.monotonic() - begun


@dataclass
class Kills:
    """How often everything was as before the move or as after it, and how often it wasn't, after a kill in the middle."""

    whole: int
    broken: int


def kills(peer):
    *runs, alone = places(peer, KILLS + 1)
    lasts = seconds_of_a_move(peer, alone)
    draw = random.Random(SEED)
    acknowledged = [peer.move_and_kill(*run.moves[0], draw.uniform(0, lasts)) for run in runs]
    peer.settle()
    found = Kills(0, 0)
    for run, must in zip(runs, acknowledged):
        is_right = run.is_right(peer, run.moved(run.moves[:1])) or (not must and run.is_right(peer, run.model))
        found.whole += is_right
        found.broken += not is_right
    return found


@dataclass
class Events:
    """How many subtrees were right after every event had come twice; and after the events of their moves had been lost, before and after the peer
    was told to look. `sees` is true if it finds that something is wrong."""

    twice: int
    lost: int
    sees: bool
    mended: int


def events(peer):
    runs = places(peer, EVENTS)
    for run in runs:
        for move in run.moves:
            peer.move(*move)
    peer.settle()
    peer.deliver_again()
    peer.settle()
    twice = sum(run.is_right(peer, run.moved(run.moves)) for run in runs)
    # Back with the subtree, and no event tells of it.
    back = [(run.subtree[0], run.outer[-1], run.old[-1]) for run in runs]

    def right():
        return sum(run.is_right(peer, {**run.moved(run.moves), **{move[0]: move[2]}}) for run, move in zip(runs, back))

    peer.lose(lambda: [peer.move(*move) for move in back])
    peer.settle()
    lost = right()
    sees = hasattr(peer, "compare") and not peer.compare()
    if sees:
        peer.mend()
        peer.settle()
    return Events(twice, lost, sees, right())


@dataclass
class Written:
    """What a move of 1,000 nodes from below four others to below four others writes, and in how many round trips."""

    items: int
    trips: int


def writes(peer):
    (place,) = places(peer, 1, MOVED)
    items, trips = peer.written(), peer.trips()
    peer.move(*place.moves[0])
    trips = peer.trips() - trips
    peer.settle()
    items = peer.written() - items
    if not place.is_right(peer, place.moved(place.moves[:1])):
        raise RuntimeError(f"{peer.name} doesn't get a move right")
    return Written(items, trips)


@dataclass
class Depth:
    """To which depth below the top each folder of a chain is found, and what comes below: "refused" questions, folders that are "not made", or
    nothing."""

    levels: int
    then: str | None


def depth(peer):
    chain = [f"c{level}" for level in range(CHAIN + 1)]
    peer.load([(chain[0], None)])
    made = CHAIN
    for level in range(CHAIN):
        try:
            peer.load([(chain[level + 1], chain[level])])
        except Refused:
            made = level
            break
    peer.show(chain[:1])
    peer.settle()
    for level in range(1, made + 1):
        try:
            if not peer.is_below(chain[level], chain[0]):
                raise RuntimeError(f"{peer.name} doesn't find level {level}")
        except Refused:
            return Depth(level - 1, "refused")
    return Depth(made, "not made" if made < CHAIN else None)


def children(peer):
    """The requests that list 10,000 children."""
    names = [f"child{number}" for number in range(CHILDREN)]
    peer.load([("top", None), *[(name, "top") for name in names]])
    peer.settle()
    before = peer.trips()
    if sorted(peer.children("top")) != sorted(names):
        raise RuntimeError(f"{peer.name} doesn't list all")
    return peer.trips() - before
