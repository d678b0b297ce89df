"""Every order of a small scope, and random schedules of larger ones."""

import random
from collections import deque

from lines import GONE
from world import choices, happen, start, wrong

R, S, T, M, D = range(5)
# Parents of R, S, T, M, D, and what each client writes. R and S are roots, T is what moves first, and a chain hangs below it.
SCOPES = {
    "there and back": ((None, None, R, T, M), (((T, S), (T, R)),)),
    "a node comes in": ((None, None, R, T, GONE), (((T, S),), ((D, M),))),
    "a node is moved in": ((None, None, R, T, S), (((T, S),), ((D, M),))),
    "a node leaves": ((None, None, R, T, M), (((T, S),), ((D, R),))),
    "the middle leaves": ((None, None, R, T, M), (((T, S),), ((M, R),))),
    "the middle leaves and comes back": ((None, None, R, T, M), (((T, S),), ((M, S), (M, T)))),
    "one move in another": ((None, None, None, T, M), (((T, S),), ((S, R),))),
    "one away, one below": ((None, None, S, T, M), (((T, None),), ((S, R), (T, S)))),
    "there and back, and the middle is written": ((None, None, R, T, M), (((T, S), (T, R)), ((M, T),))),
    "the top goes": ((None, R, S, T, GONE), (((T, R),), ((S, GONE),))),
    "a gap comes and goes": ((None, R, S, None, M), (((M, T),), ((S, GONE), (S, R)))),
}


def exhaustive(way, world, states_max):
    """Goes through all worlds that can come of one, nearest first. Returns how many, the shortest way to a wrong end, and if it saw all."""
    frontier, seen, count = deque([(world, None)]), {hash(world)}, 0
    while frontier and count < states_max:
        at, trail = frontier.popleft()
        count += 1
        found = choices(at)
        for choice in found:
            what, worlds = happen(way, at, choice)
            for then in worlds:
                if (key := hash(then)) not in seen:
                    seen.add(key)
                    frontier.append((then, (what, then, trail)))
        if not found and (faults := wrong(way, at)):
            steps = []
            while trail:
                steps.append(trail[:2])
                trail = trail[2]
            return count, (steps[::-1], faults), False
    return count, None, not frontier


def forest(way, chance):
    """A forest of 4 to 8 nodes, and some writes: half of the clients put back what they have moved."""
    size = chance.randint(4, 8)
    parents = [None, None] + [chance.choice([GONE, None] + [chance.randrange(node)] * 4 + [node - 1] * 8) for node in range(2, size)]
    parents = [None if parent not in (None, GONE) and parents[parent] == GONE else parent for parent in parents]
    todo = []
    for _ in range(chance.randint(1, 4)):
        writes = [(chance.randrange(1, size), chance.choice([GONE, None] + 2 * list(range(size)))) for _ in range(chance.randint(1, 3))]
        writes = [(node, None if parent == node else parent) for node, parent in writes]
        todo.append(tuple(writes + [(writes[0][0], parents[writes[0][0]])] * chance.randint(0, 1)))
    return start(way, parents, tuple(todo), chance.randint(0, 2), chance.randint(0, 2))


def at_random(way, seed, scope=None):
    """One schedule from a seed, of this scope, or of any or of a forest. Returns its steps and what is wrong at its end."""
    chance = random.Random(seed)
    if scope or chance.random() < 0.5:
        scope = scope or chance.choice(list(SCOPES))
        world = start(way, *SCOPES[scope], chance.randint(0, 1), chance.randint(0, 1))
    else:
        world = forest(way, chance)
    steadiness, rank, steps = chance.choice([0.0, 0.5, 0.9, 0.97]), {}, []

    def who(choice):
        return world.flights[choice[1]][0] if choice[0] in ("go", "die") else choice[:2] if choice[0] == "client" else choice[1]

    while found := choices(world):
        choice = chance.choice(found)
        if chance.random() < steadiness:
            # Whoever is ahead goes on, and drops behind all others now and then.
            choice = max(found, key=lambda choice: (rank.setdefault(who(choice), chance.random()), choice[0] != "die"))
            if chance.random() < 0.1:
                rank[who(choice)] = -len(steps)
        what, worlds = happen(way, world, choice)
        world = chance.choice(worlds)
        steps.append((what, world))
    return steps, wrong(way, world)
