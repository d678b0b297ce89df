"""The key helpers make what the handler makes (tests/vectors/keys.json), and refuse what it refuses."""

import json
import unittest
from decimal import Decimal
from pathlib import Path
from typing import Any

from sapwood_client import keys
from sapwood_client.keys import InvalidKey, KeyRange, Keys

ROOT = Path(__file__).resolve().parents[3]
VECTORS = json.loads((ROOT / "tests" / "vectors" / "keys.json").read_text())
# A helper's name in the vectors, and its arguments in their order.
HELPERS = {
    "node": ("node", "id"),
    "revision": ("revision", "id", "topic", "version"),
    "latest": ("latest", "id", "topic"),
    "latestOf": ("latest_of", "id", "topicPrefix"),
    "descendants": ("descendants", "id", "min", "max"),
    "level": ("level", "id", "depth", "idPrefix"),
    "path": ("path", "root", "segments"),
    "pathAlone": ("path_alone", "root", "segments"),
    "pathBetween": ("path_between", "root", "above", "from", "to"),
    "links": ("links", "target", "attribute", "idPrefix"),
    "orphansOf": ("orphans_of", "parent"),
    "trash": ("trash", "from", "to"),
    "roots": ("roots",),
    "totals": ("totals", "id"),
}


def read(value: Any) -> str:
    """A text of the vectors: as it is, or in pieces."""
    return value if isinstance(value, str) else "".join(piece * times for piece, times in value)


def argument(value: Any) -> Any:
    if isinstance(value, list) and not all(isinstance(piece, list) and isinstance(piece[1], int) for piece in value):
        return [read(item) for item in value]
    return read(value) if isinstance(value, list) and value else value


def order_value(value: Any) -> Any:
    # A Decimal keeps all digits, and a bare `number_part` the text as it is.
    return Decimal(value["number"]) if isinstance(value, dict) else read(value)


def wrong_type(value: Any) -> Any:
    """What a program without types may give."""
    return value


def asked(vector: dict[str, Any]) -> KeyRange:
    helper, of = vector["helper"], vector["of"]
    of_table = Keys(node=vector.get("node", "NODE"), tenant=vector.get("tenant"))
    if helper in ("childrenInOrder", "rootsInOrder"):
        bounds = of["bounds"]
        given = {name: order_value(bounds[key]) for name, key in (("start", "from"), ("end", "to"), ("prefix", "prefix")) if key in bounds}
        given |= {"attributes": bounds["attributes"]} if "attributes" in bounds else {}
        return of_table.children_in_order(read(of["id"]), **given) if helper == "childrenInOrder" else of_table.roots_in_order(**given)
    method, *names = HELPERS[helper]
    made = getattr(of_table, method)(*(argument(of.get(name)) for name in names))
    assert isinstance(made, KeyRange)
    return made


class KeysTest(unittest.TestCase):
    def test_every_range_is_the_handlers(self) -> None:
        helpers = set()
        for vector in VECTORS["ranges"]:
            helpers.add(vector["helper"])
            with self.subTest(vector=vector):
                if "error" in vector:
                    with self.assertRaises(InvalidKey) as raised:
                        asked(vector)
                    self.assertEqual(raised.exception.kind, vector["error"])
                else:
                    made, low = asked(vector), read(vector["low"])
                    self.assertEqual((made.pk, made.low, made.high), (read(vector["pk"]), low, read(vector.get("high", low))))
        self.assertEqual(helpers, {*HELPERS, "childrenInOrder", "rootsInOrder"})
        self.assertGreater(len(VECTORS["ranges"]), 1_000)

    def test_every_number_and_every_part_is_the_handlers(self) -> None:
        for vector in VECTORS["numbers"]:
            with self.subTest(vector=vector):
                if "error" in vector:
                    with self.assertRaises(InvalidKey):
                        keys.number_part(vector["number"])
                else:
                    self.assertEqual(keys.number_part(vector["number"]), vector["part"])
                    self.assertEqual(keys.number_part(Decimal(vector["number"])), vector["part"])
        for vector in VECTORS["escaped"]:
            text, part = read(vector["text"]), read(vector["part"])
            self.assertEqual((keys.escape_part(text), keys.unescape_part(part)), (part, text))

    def test_every_sort_key_is_read_as_the_handler_reads_it(self) -> None:
        first, second = Keys().revisions("d")
        self.assertEqual([[first.low, first.high], [second.low, second.high]], VECTORS["revisions"])
        for vector in VECTORS["sort_keys"]:
            with self.subTest(vector=vector):
                sort_key, revision, path = read(vector["sk"]), vector.get("revision"), vector.get("path")
                wanted = revision and (revision["version"], read(revision["topic"]))
                self.assertEqual(keys.parse_revision(sort_key), wanted)
                if revision:
                    self.assertEqual((sort_key in first) + (sort_key in second), 1)
                wanted = path and ([read(segment) for segment in path["segments"]], read(path["id"]) if "id" in path else None)
                self.assertEqual(keys.parse_path(sort_key), wanted)

    def test_what_the_handler_would_refuse_is_refused(self) -> None:
        of_table = Keys(tenant="acme")
        for wrong, kind in (
            (lambda: of_table.descendants("d", 0, 99), "depth"),
            (lambda: of_table.descendants("d", -1), "depth"),
            (lambda: of_table.level("d", 0), "depth"),
            (lambda: of_table.revision("d", "Audit", 0), "version"),
            (lambda: of_table.next_revision("d", "Audit", 999_999), "version"),
            (lambda: of_table.next_revision("d", "Audit", wrong_type(0.5)), "version"),
            (lambda: of_table.descendants("d", wrong_type(1.5)), "depth"),
            (lambda: of_table.level("d", wrong_type(1.5)), "depth"),
            (lambda: of_table.children_in_order("d", attributes=5), "number"),
            (lambda: of_table.children_in_order("d", start=float("nan")), "number"),
            (lambda: of_table.node("\ud800"), "text"),
            (lambda: Keys(tenant="a#b"), "separator"),
            (lambda: Keys(tenant=""), "empty"),
            (lambda: Keys(node="A#"), "names"),
            (lambda: keys.padded(-1, 4), "number"),
            (lambda: keys.padded(10_000, 4), "number"),
        ):
            with self.assertRaises(InvalidKey) as raised:
                wrong()
            self.assertEqual(raised.exception.kind, kind)

    def test_numbers_may_be_boto3s(self) -> None:
        self.assertEqual(Keys().next_revision("d", "Audit", wrong_type(Decimal("1.2E+3"))), Keys().revision("d", "Audit", 1_201))
        self.assertEqual(Keys().descendants("d", wrong_type(Decimal("1E+1"))), Keys().descendants("d", 10))

    def test_conditions_are_as_boto3_takes_them(self) -> None:
        made = Keys(node="METADATA", partition_key="pk", sort_key="sk").descendants("D", max=2)
        self.assertEqual(made.condition(), {
            "KeyConditionExpression": "#pk = :pk AND #sk BETWEEN :low AND :high",
            "ExpressionAttributeNames": {"#pk": "pk", "#sk": "sk"},
            "ExpressionAttributeValues": {":pk": "D", ":low": "METADATA#0001#", ":high": "METADATA#0002$"},
        })
        self.assertEqual(made.typed_condition()["ExpressionAttributeValues"][":pk"], {"S": "D"})
        self.assertEqual(keys.padded(7, 4), "0007")
        between = Keys().path_between("D", [], "b", "a")
        self.assertTrue(between.is_empty and not made.is_empty)


if __name__ == "__main__":
    unittest.main()
