"""The event source mapping's filter, as the template has it, against ministack's matcher and a regular expression.

`tests/pure/filter.rs` does the same with the matcher of the local stack, and keys made by the product itself.
"""

import json
import os
import random
import re
import subprocess
import unittest

from templates import Standing, translated

# Base records, lineages and cursors; any revision from v001_ up to vc999999_, never a v0_ copy.
WANTED = re.compile(r"NODE|LINEAGE|CASCADE|v(0[0-9]|[1-9]|[abc][1-9]).*", re.DOTALL)
KINDS = {
    "NODE": True,
    "LINEAGE": True,
    "CASCADE": True,
    "v001_Audit": True,
    "v099_Audit#wheel-2": True,
    "v999_x": True,
    "va1000_x": True,
    "vb10000_x": True,
    "vc999999_x": True,
    "NODE#0001#d": False,
    "NODE#0098#v001_x": False,
    "PATH#NE#OMAHA": False,
    "ROOT#D": False,
    "ORPHAN#d": False,
    "v0_Audit": False,
    "v0_001": False,
    "OPERATION#x": False,
    "DELETED": False,
    "IDEMPOTENCY#0001": False,
    "vacation": False,
    "METADATA": False,
    "node": False,
    "vd1000000_x": False,
    " NODE": False,
    "": False,
}
MATCHER = """
import json, sys
from ministack.services.lambda_svc import _apply_filter_criteria
mapping = {"FilterCriteria": {"Filters": [{"Pattern": pattern} for pattern in json.loads(sys.stdin.readline())]}}
for line in sys.stdin:
    print(len(_apply_filter_criteria([json.loads(line)], mapping)))
"""


def patterns(parameters):
    template = translated(parameters)
    criteria = Standing(template, parameters).resources["TableChanges"]["Properties"]["FilterCriteria"]
    values = {name: parameter.get("Default", "") for name, parameter in template["Parameters"].items()} | parameters
    fill = lambda text: re.sub(r"\$\{(\w+)\}", lambda found: values[found[1]], text)
    return [fill(one["Pattern"]["Fn::Sub"]) for one in criteria["Filters"]]


def passing(patterns, records):
    """Which records pass, to ministack's mind."""
    lines = "\n".join(map(json.dumps, [patterns, *records])) + "\n"
    command = [os.environ["MINISTACK_PYTHON"], "-c", MATCHER]
    done = subprocess.run(command, input=lines, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return [line == "1" for line in done.stdout.split()]


def record(sort_key, names=("PK", "SK"), event="INSERT"):
    keys = {names[0]: {"S": "NODE"}, names[1]: {"S": sort_key}}
    return {"eventName": event, "eventSource": "aws:dynamodb", "dynamodb": {"Keys": keys, "NewImage": keys, "OldImage": keys}}


def random_key(dice):
    beginnings = ["", "v", "v0", "v00", "v1", "va", "va1", "vb", "vc", "vd", "NODE", "LINEAGE", "CASCADE", "PATH#", "v0_", "ROOT#"]
    letters = "v0123456789abcd_#NODELINAGECSPTHRO x\u00e9\U0001f333"
    return dice.choice(beginnings) + "".join(dice.choices(letters, k=dice.randrange(0, 8)))


class Filtering(unittest.TestCase):
    def test_there_are_at_most_five_patterns_of_4096_characters(self):
        longest = {"SortKey": "n" * 255, "NodeSortKey": "n" * 255}
        for parameters in ({}, longest):
            found = patterns(parameters)
            self.assertLessEqual(len(found), 5)
            for pattern in found:
                self.assertLessEqual(len(pattern), 4_096)
                json.loads(pattern)

    def test_every_kind_of_item_passes_or_doesnt(self):
        records = [record(sort_key, event=event) for sort_key in KINDS for event in ("INSERT", "MODIFY", "REMOVE")]
        wanted = [passes for passes in KINDS.values() for _ in range(3)]
        self.assertEqual(passing(patterns({}), records), wanted)
        self.assertEqual([WANTED.fullmatch(sort_key) is not None for sort_key in KINDS], list(KINDS.values()))

    def test_random_keys_pass_or_dont(self):
        seed = int(os.environ.get("REHEARSAL_SEED", random.randrange(2**32)))
        dice = random.Random(seed)
        keys = [random_key(dice) for _ in range(20_000)]
        wanted = [WANTED.fullmatch(key) is not None for key in keys]
        found = passing(patterns({}), map(record, keys))
        wrong = [key for key, *both in zip(keys, wanted, found, strict=True) if both[0] != both[1]]
        self.assertEqual(wrong, [], f"REHEARSAL_SEED={seed}")
        self.assertGreater(min(sum(wanted), len(wanted) - sum(wanted)), 2_000)

    def test_a_sort_key_that_is_no_text_does_not_pass(self):
        odd = [{"dynamodb": {"Keys": {"PK": {"S": "a"}, "SK": key}}} for key in ({"N": "1"}, {"B": "Tk9ERQ=="}, {})]
        self.assertEqual(passing(patterns({}), odd), [False] * 3)

    def test_the_filter_follows_other_names(self):
        other = patterns({"SortKey": "sk", "NodeSortKey": "METADATA"})
        records = [record(key, ("pk", "sk")) for key in ("METADATA", "NODE", "v001_x", "METADATA#0001#x")] + [record("METADATA")]
        self.assertEqual(passing(other, records), [True, False, True, False, False])
