"""A model of how a move is handed down, and of ways to do that in fewer trips (docs/internals/decisions.md).

    python3 tests/models/main.py                              # what holds ends right, and what doesn't shows it
    python3 tests/models/main.py --random 100000 --states 1000000 --accidents
    python3 tests/models/main.py --way records                # the recorded schedule of what doesn't hold, step by step
    python3 tests/models/main.py --way inline --seed 7        # any random schedule; `--scope` names what it is of
    python3 tests/models/main.py --way accelerator --hunt 60000 --scope 'one move in another'
    python3 tests/models/main.py --tables                     # units, trips and seconds
"""

import argparse
import sys

from search import SCOPES, at_random, exhaustive
from units import print_tables
from ways import WAYS
from world import start


def searched(way, given):
    """Searches scopes in every order, and random schedules. Returns what was done, and the first steps that end wrong."""
    wholes = states = 0
    accidents = [(0, 0), (1, 0), (0, 1)] if given.accidents else [(0, 0)]
    worlds = [(scope, start(way, *SCOPES[scope], *some)) for scope in SCOPES for some in accidents]
    for scope, world in worlds:
        count, found, is_whole = exhaustive(way, world, given.states)
        states, wholes = states + count, wholes + is_whole
        if found:
            return f"wrong in {scope}", found
    for seed in range(given.random):
        steps, faults = at_random(way, seed)
        if faults:
            return f"wrong with --seed {seed}", (steps, faults)
    return f"right: {states} states, {wholes} of {len(worlds)} scopes whole, {given.random} schedules", None


def hunt(way, given):
    """Prints the shortest of so many random schedules that end wrong."""
    found = []
    for seed in range(given.hunt):
        steps, faults = at_random(way, seed, given.scope)
        if faults:
            found.append((len(steps), seed))
    print(f"{len(found)} of {given.hunt} end wrong" + (f", the shortest has --seed {min(found)[1]}" if found else ""))


def show(steps, faults):
    print("\n".join(f"    {what}" for what, _ in steps), "\n".join(faults) or "right", sep="\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--way", choices=[way.name for way in WAYS], help="this way alone")
    parser.add_argument("--scope", choices=SCOPES, help="schedules of this scope alone")
    parser.add_argument("--states", type=int, default=10_000, help="most states of a scope")
    parser.add_argument("--random", type=int, default=2_000, help="random schedules of each way")
    parser.add_argument("--accidents", action="store_true", help="scopes with a death, and with records that come again, as well")
    parser.add_argument("--seed", type=int, help="this random schedule, step by step")
    parser.add_argument("--hunt", type=int, help="look through so many random schedules")
    parser.add_argument("--tables", action="store_true", help="units, trips and seconds")
    given = parser.parse_args()
    if given.tables:
        return print_tables()
    passed = failed = 0
    for way in [way for way in WAYS if given.way in (None, way.name)]:
        if given.hunt is not None:
            hunt(way, given)
        elif given.seed is not None:
            show(*at_random(way, given.seed, given.scope))
        elif way.wrong_in:
            scope, seed = way.wrong_in
            steps, faults = at_random(way, seed, scope)
            passed, failed = passed + bool(faults), failed + (not faults)
            print(f"{way.name:18} {'wrong' if faults else 'RIGHT'} in {scope}, --seed {seed}: {'; '.join(faults)}", flush=True)
            if given.way:
                show(steps, faults)
        else:
            what, found = searched(way, given)
            passed, failed = passed + (not found), failed + bool(found)
            print(f"{way.name:18} {what}", flush=True)
            if found:
                show(*found)
    print(f"test result: {'FAILED' if failed else 'ok'}. {passed} passed; {failed} failed;")
    return 1 if failed else 0


sys.exit(main())
