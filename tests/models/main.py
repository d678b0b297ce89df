"""A model of how a move is handed down, and of ways to do that in fewer trips (docs/decisions/moves-in-two-hops.md).

    python3 tests/models/main.py                                # whatever holds, holds; whatever doesn't, shows it: some minutes
    python3 tests/models/main.py --random 100000 --states 10000000
    python3 tests/models/main.py --way records --seed 7         # one random schedule again, step by step
    python3 tests/models/main.py --tables                       # units, trips and seconds alone
"""

import argparse
import random
import sys

from search import SCOPES, at_random, exhaustive
from units import ARRIVES, SHAPES, bush, counted, seconds
from ways import WAYS
from world import start


def searched(way, states, schedules, scopes):
    """Searches scopes whole, and random schedules. Returns the first fault."""
    wholes = total = 0
    for scope in scopes:
        for accidents in ((0, 0), (1, 0), (0, 1)):
            count, found, is_whole = exhaustive(way, start(way, *SCOPES[scope], *accidents), states)
            total, wholes = total + count, wholes + is_whole
            if found:
                return f"{scope}, {accidents[0]} deaths and {accidents[1]} repeats, after {total} states", found
    for seed in range(schedules):
        steps, faults = at_random(way, seed)
        if faults:
            return f"--seed {seed}, after {total} states", (steps, faults)
    return f"{wholes} of {3 * len(scopes)} scopes whole, {total} states, {schedules} schedules", None


def tables():
    for shape, (parents, todo) in SHAPES.items():
        for way in WAYS:
            if not way.without or way.holds:
                writes, reads, trips = counted(way, parents, todo)
                print(f"{shape:24} {way.name:16} {writes:6} write units {reads:6} read units {trips:4} trips")
    for way in WAYS:
        if not way.without or way.holds:
            late = [counted(way, bush(100), SHAPES["a bush of 1,000 moves"][1], random.Random(seed)) for seed in range(20)]
            print(f"{'a bush of 100, late':24} {way.name:16} {sum(one[0] for one in late) / 20:6.0f} write units {sum(one[1] for one in late) / 20:6.0f} read units")
    print("levels, nodes:", ", ".join(ARRIVES))
    for levels in (1, 2, 4, 8, 16):
        for nodes in (levels, 10, 100, 1_000, 10_000, 100_000):
            if nodes >= levels:
                print(f"{levels:3} {nodes:7}  " + "  ".join(f"{seconds(arrives, levels, nodes):7.1f} s" for arrives in ARRIVES.values()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--way", choices=[way.name for way in WAYS], help="this way alone")
    parser.add_argument("--scope", choices=SCOPES, help="this scope alone")
    parser.add_argument("--states", type=int, default=20_000, help="most states of a scope")
    parser.add_argument("--random", type=int, default=2_000, help="random schedules of each way")
    parser.add_argument("--seed", type=int, help="this random schedule, step by step")
    parser.add_argument("--tables", action="store_true", help="units, trips and seconds alone")
    given = parser.parse_args()
    if given.tables:
        return tables()
    passed = failed = 0
    for way in WAYS:
        if given.way not in (None, way.name):
            continue
        if given.seed is not None:
            steps, faults = at_random(way, given.seed)
            print("\n".join(what for what, _ in steps), "\n".join(faults) or "right", sep="\n")
            continue
        what, found = searched(way, given.states, given.random, [given.scope] if given.scope else list(SCOPES))
        is_good = (found is None) == way.holds
        passed, failed = passed + is_good, failed + (not is_good)
        print(f"{way.name:18} {'wrong' if found else 'right'} {what}" + (f": {'; '.join(found[1])}" if found else ""), flush=True)
        if found and (way.holds or given.way):
            print("\n".join(f"    {what}" for what, _ in found[0]))
    print(f"test result: {'FAILED' if failed else 'ok'}. {passed} passed; {failed} failed;")
    return 1 if failed else 0


sys.exit(main())
