"""What a table must hold, computed from its base records alone, the naive way, with nothing of the product.

Items are as DynamoDB spells them, `{"name": {"S": "Folder V"}}`; a table is a dictionary of them by partition key and sort key. What is too
large for DynamoDB is left out of account.
"""

import re
import unicodedata
from dataclasses import dataclass, field
from decimal import Decimal

# What the functions keep for themselves: the handler's settings, the auditor's position. They come and go as they like.
OWN = {("SAPWOOD", "SETTINGS"), ("SAPWOOD", "AUDIT")}


def is_own(pk, sk):
    """Whether an item belongs to the table as a whole. The handlers leave samples of their keys (`TRAIL#`)."""
    return (pk, sk) in OWN or pk == "SAPWOOD" and sk.startswith("TRAIL#")


@dataclass
class Oracle:
    partition_key: str = "PK"
    sort_key: str = "SK"
    node: str = "NODE"
    parent: str = "parent"
    segment: str = "segment"
    never_copied: frozenset = field(default_factory=frozenset)
    order: str = ""
    links: tuple = ()

    def differences(self, found):
        """What differs between a table and what its base records call for, a line each."""
        base = self.base_of(found)
        wanted = self.table(base)
        wanted |= {key: item for key, item in found.items() if key not in wanted and (is_own(*key) or self.is_tombstone(key[1], item))}
        for pk, sk in found.keys() & wanted.keys():
            if sk == "LINEAGE" and "deleted" not in found[pk, sk]:
                # The life that the record names. Where it names none, the handler has made up a name.
                said = self.nodes[pk].get("_born") or found[pk, sk].get("born")
                wanted[pk, sk]["born"] = said or "a name"
        lines = [f"{pk} is still being deleted" for (pk, _), item in base.items() if "operation" in item.get("_deleting", {}).get("M", {})]
        lines += [f"missing {key}" for key in wanted.keys() - found.keys()]
        lines += [f"left over {key}: {found[key]}" for key in found.keys() - wanted.keys()]
        both = wanted.keys() & found.keys()
        lines += [f"wrong {key}: wanted {wanted[key]}, found {found[key]}" for key in both if wanted[key] != found[key]]
        return sorted(lines)

    def base_of(self, table):
        return {key: item for key, item in table.items() if not self.is_derived(*key)}

    def is_derived(self, pk, sk):
        register = pk == "ROOTS" and sk.startswith(("ROOT#", "ORDERED#")) or pk.startswith("ORPHANS#") and sk.startswith("ORPHAN#")
        rows = rf"({re.escape(self.node)}#[0-9]{{4}}#|PATH#|CHILD#|LINK#|v0_)"
        return register or is_own(pk, sk) or sk in ("LINEAGE", "CASCADE") or re.match(rows, sk) is not None

    def is_tombstone(self, sk, item):
        """What a node that the API removed leaves in the place of its lineage, for a while."""
        names = {self.partition_key, self.sort_key, "format", "born", "deleted", "deleting", "_expires"}
        return sk == "LINEAGE" and item.keys() == names and item["deleted"].get("N", "").isdigit()

    def table(self, base):
        """Base records, and all that is derived from them."""
        self.nodes = {pk: item for (pk, sk), item in base.items() if sk == self.node and self.is_node(item)}
        table = dict(base)
        for id, item in self.nodes.items():
            for pk, sk, row in self.rows(id, item):
                table[pk, sk] = {self.partition_key: {"S": pk}, self.sort_key: {"S": sk}} | row
        for (pk, sk), row in self.latest(base).items():
            table[pk, sk] = {self.partition_key: {"S": pk}, self.sort_key: {"S": sk}} | row
        return table

    def is_node(self, item):
        """Whoever says something that can't be understood counts as not there."""
        said = [item[name] for name in (self.parent, self.segment) if name in item]
        return all(value.get("S") for value in said)

    def rows(self, id, item):
        copies = self.copies(item)
        ancestors = self.ancestors(id)
        parent = self.parent_of(id)
        path = [self.segment_of(each) for each in [*ancestors[::-1][1:], id]] if ancestors else []
        orphan = parent is not None and parent not in self.nodes
        lineage = {"format": {"N": "1"}, "ancestors": texts(ancestors), "path": texts(path), "root": {"BOOL": parent is None}}
        lineage |= {"orphan": {"BOOL": True}} if orphan else {}
        order = {}
        if self.order and (ancestors or parent is None):
            names = self.order.split(",")
            order = {"_order": {"S": "!".join(place_by(item, name) for name in names)}}
            lineage |= {"order": order["_order"], "format": {"N": "4" if len(names) > 1 else "2"}}
            key = f"{order['_order']['S']}#{id}"
            above = {"_depth": {"N": "1"}, "_parent": {"S": parent}} if ancestors else {}
            where = (ancestors[0], f"CHILD#{key}") if ancestors else ("ROOTS", f"ORDERED#{key}")
            yield *where, {"_id": {"S": id}} | above | order | copies
        for attribute in self.links:
            targets = sorted(set(targets_of(item.get(attribute))), key=str.encode)
            if targets:
                lineage["format"] = {"N": max("2", lineage["format"]["N"])}
                lineage.setdefault("links", {"M": {}})["M"][attribute] = texts(targets)
            for target in targets:
                own = {"_id": {"S": id}, "_depth": {"N": str(len(ancestors))}, "_ancestors": texts(ancestors)}
                yield target, f"LINK#{attribute}#{id}", own | ({"_parent": {"S": parent}} if parent else {}) | copies
        yield id, "LINEAGE", lineage
        if parent is None:
            yield "ROOTS", f"ROOT#{id}", {"_id": {"S": id}} | copies
        if orphan:
            yield f"ORPHANS#{fnv(parent) % 16:x}", f"ORPHAN#{id}", {"_id": {"S": id}, "_parent": {"S": parent}}
        for depth, ancestor in enumerate(ancestors, 1):
            own = {"_id": {"S": id}, "_depth": {"N": str(depth)}, "_parent": {"S": parent}}
            yield ancestor, f"{self.node}#{depth:04}#{id}", own | order | copies
        if ancestors:
            suffix = f"!{encoded(id)}" if self.segment_of(id) != id else ""
            own = {"_id": {"S": id}, "_depth": {"N": str(len(ancestors))}, "_parent": {"S": parent}}
            yield ancestors[-1], "PATH#" + "#".join(map(encoded, path)) + suffix, own | copies

    def latest(self, base):
        newest = {}
        for (pk, sk), item in base.items():
            if found := re.fullmatch(r"v([0-9]{3}|a[1-9][0-9]{3}|b[1-9][0-9]{4}|c[1-9][0-9]{5})_(.*)", sk, re.DOTALL):
                version = int(found[1].lstrip("abc"))
                if version > newest.get((pk, f"v0_{found[2]}"), (0,))[0]:
                    newest[pk, f"v0_{found[2]}"] = (version, item)
        return {key: {"_version": {"N": str(version)}} | self.copies(item) for key, (version, item) in newest.items()}

    def parent_of(self, id):
        return self.nodes[id].get(self.parent, {}).get("S") if id in self.nodes else None

    def ancestors(self, id):
        """Nearest first, at most 98, cut where they come back to where they have been."""
        ancestors, at = [], self.parent_of(id)
        while at is not None and at != id and at not in ancestors and len(ancestors) < 98:
            ancestors.append(at)
            at = self.parent_of(at)
        return ancestors

    def segment_of(self, id):
        return self.nodes.get(id, {}).get(self.segment, {}).get("S", id)

    def copies(self, item):
        keys = {self.partition_key, self.sort_key} | self.never_copied
        return {name: value for name, value in item.items() if name not in keys and not name.startswith("_")}


def place_by(item, name):
    """The part of a place that an attribute makes. `name:caseless` is without case."""
    value = item.get(name.removesuffix(":caseless"))
    if name.endswith(":caseless") and value and "S" in value:
        decomposed = unicodedata.normalize("NFD", value["S"])
        return place({"S": unicodedata.normalize("NFC", decomposed.casefold())})
    return place(value)


def place(value):
    """A value as the keys of ordered rows have it: numbers in their order, then texts, then all else."""
    match value:
        case {"S": text}:
            return f"s{encoded(text)}"
        case {"N": number} if Decimal(number) == 0:
            return "n0"
        case {"N": number}:
            digits, _, power = f"{abs(Decimal(number)):e}".lower().partition("e")
            shown = f"{int(power) + 500:03}{digits.replace('.', '').rstrip('0')}"
            if Decimal(number) > 0:
                return f"n1{shown}"
            return f"n-{''.join(chr(ord('0') + ord('9') - ord(digit)) for digit in shown)}~"
        case _:
            return "~"


def targets_of(value):
    """The ids that a value names."""
    match value:
        case {"S": target}:
            targets = [target]
        case {"SS": targets}:
            pass
        case {"L": values}:
            targets = [each["S"] for each in values if "S" in each]
        case _:
            targets = []
    return [target for target in targets if target]


def texts(list):
    return {"L": [{"S": text} for text in list]}


def encoded(segment):
    return "".join(f"%{ord(c):02X}" if ord(c) <= 0x25 else c for c in segment)


def fnv(text):
    hash = 0x811C9DC5
    for byte in text.encode():
        hash = (hash ^ byte) * 0x01000193 % 2**32
    return hash
