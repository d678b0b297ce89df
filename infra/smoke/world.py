"""What the table must hold, computed from what this script has written, the naive way, with nothing of the product."""

import decimal
import json
import re
import unicodedata

# The template's parameters that say what the table holds, with the template's defaults. Each is an option, too: --partition-key PK.
SETTINGS = {
    "PartitionKey": "PK",
    "SortKey": "SK",
    "NodeSortKey": "NODE",
    "ParentAttribute": "parent",
    "SegmentAttribute": "segment",
    "PathRows": "on",
    "RootRows": "on",
    "CopiedAttributes": "all",
    "NeverCopied": "",
    "OrderAttribute": "",
    "LinkAttributes": "",
    "ApiAuthorization": "",
}
# Whoever meets a node of a run is to know what it is: its name begins so.
NAME = "smoke test: "
# A revision's sort key: its version and its topic.
REVISION = re.compile(r"v([0-9]{3}|a[1-9][0-9]{3}|b[1-9][0-9]{4}|c[1-9][0-9]{5})_(.*)", re.DOTALL)


class World:
    """What a part of the run has written, and what the table must hold then: computed the naive way, with nothing of the product."""

    def __init__(self, prefix, ids, settings):
        self.prefix, self.ids, self.settings = prefix, [prefix + id for id in ids], settings
        self.node, self.parent, self.segment = (settings[name] for name in ("NodeSortKey", "ParentAttribute", "SegmentAttribute"))
        # Both by id, with attributes as DynamoDB spells them; revisions by id and sort key.
        self.nodes, self.revisions = {}, {}
        # The API leaves a trace of these for a while.
        self.removed = set()
        # The keys of rows that stand elsewhere, of now and of before: what is left over must be found, too.
        self.elsewhere = set()

    def parent_of(self, id):
        return self.nodes.get(id, {}).get(self.parent, {}).get("S")

    def segment_of(self, id):
        return self.nodes.get(id, {}).get(self.segment, {}).get("S", id)

    def ancestors(self, id):
        """Nearest first, up to a root or to a node that isn't there."""
        ancestors, at = [], self.parent_of(id)
        while at is not None and at not in ancestors:
            ancestors.append(at)
            at = self.parent_of(at)
        return ancestors

    def below(self, id):
        """The descendants of a node."""
        return [each for each in self.nodes if id in self.ancestors(each)]

    def children(self, id):
        return sorted(each for each in self.nodes if self.parent_of(each) == id)

    def path(self, id):
        """The segments below the farthest ancestor."""
        ancestors = self.ancestors(id)
        return [self.segment_of(each) for each in [*ancestors[::-1][1:], id]] if ancestors else []

    def copies(self, item):
        chosen, never = (split(self.settings[name]) for name in ("CopiedAttributes", "NeverCopied"))
        takes = {"all": lambda name: True, "none": lambda name: False}.get(",".join(chosen), lambda name: name in chosen)
        return {name: value for name, value in item.items() if takes(name) and name not in never and not name.startswith("_")}

    def wanted(self):
        """All items by key, without their key attributes."""
        table = {(id, self.node): item for id, item in self.nodes.items()} | dict(self.revisions)
        for id, item in self.nodes.items():
            table.update(self.rows(id, self.copies(item)))
        newest = {}
        for (id, sort_key), item in self.revisions.items():
            version, topic = REVISION.fullmatch(sort_key).groups()
            number, key = int(version.lstrip("abc")), (id, f"v0_{topic}")
            if number > newest.get(key, (0,))[0]:
                newest[key] = number, {"_version": {"N": str(number)}} | self.copies(item)
        return table | {key: row for key, (_, row) in newest.items()}

    def stray(self):
        """The keys of rows that neither an id's partition nor a prefix leads to: of ordered roots, and of links to ids that aren't ours."""
        ids = set(self.ids)
        return {key for key in self.wanted() if key[0] not in ids and not key[1].startswith(("ROOT#", "ORPHAN#"))}

    def rows(self, id, copies):
        """The rows of a node, and its lineage."""
        parent, ancestors, has_path = self.parent_of(id), self.ancestors(id), self.settings["PathRows"] == "on"
        path = self.path(id) if has_path else []
        root, orphan = parent is None and self.settings["RootRows"] == "on", parent is not None and parent not in self.nodes
        place, links = self.place(id) if root or ancestors else None, self.links(id)
        known = {"orphan": {"BOOL": True}} if orphan else {}
        known |= ({"order": {"S": place}} if place else {}) | ({"links": {"M": {name: texts(ids) for name, ids in links.items()}}} if links else {})
        newer = "4" if place and "!" in place else "2" if place or links else "1"
        lineage = {"format": {"N": newer}, "ancestors": texts(ancestors), "path": texts(path), "root": {"BOOL": root}}
        yield (id, "LINEAGE"), lineage | known
        order = {"_order": {"S": place}} if place else {}
        if root:
            yield ("ROOTS", f"ROOT#{id}"), {"_id": {"S": id}} | copies
            if place:
                yield ("ROOTS", f"ORDERED#{place}#{id}"), {"_id": {"S": id}} | order | copies
        above = {"_parent": {"S": parent}} if parent is not None else {}
        for name, target in [(name, target) for name, ids in links.items() for target in ids]:
            row = {"_id": {"S": id}, "_depth": {"N": str(len(ancestors))}, "_ancestors": texts(ancestors)} | above | copies
            yield (target, f"LINK#{name}#{id}"), row
        if orphan:
            yield (f"ORPHANS#{fnv(parent) % 16:x}", f"ORPHAN#{id}"), {"_id": {"S": id}, "_parent": {"S": parent}}
        for depth, ancestor in enumerate(ancestors, 1):
            row = {"_id": {"S": id}, "_depth": {"N": str(depth)}, "_parent": {"S": parent}} | copies
            yield (ancestor, f"{self.node}#{depth:04}#{id}"), row | order
            if depth == 1 and place:
                yield (ancestor, f"CHILD#{place}#{id}"), row | order
        if ancestors and has_path:
            named = f"!{in_key(id)}" if self.segment_of(id) != id else ""
            yield (ancestors[-1], "PATH#" + "#".join(map(in_key, path)) + named), row

    def place(self, id):
        """The node's place among its siblings, as keys have it; None if siblings are in no order."""
        if not self.settings["OrderAttribute"]:
            return None
        return "!".join(self.part_of_place(id, name) for name in split(self.settings["OrderAttribute"]))

    def part_of_place(self, id, name):
        """What an attribute adds to the node's place. Where there are several, the texts of a smoke test fit their share."""
        value = self.nodes[id].get(name.removesuffix(":caseless"), {})
        if "N" in value:
            return "n" + sortable(value["N"])
        if "S" not in value:
            return "~"
        text = value["S"]
        if name.endswith(":caseless"):
            text = unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())
        return "s" + in_key(text)

    def links(self, id):
        """The ids that the node names, by attribute."""
        found = {}
        for name in split(self.settings["LinkAttributes"]):
            value = self.nodes[id].get(name, {})
            named = [value["S"]] if "S" in value else value.get("SS", [each.get("S") for each in value.get("L", [])])
            if targets := sorted({each for each in named if each}, key=str.encode):
                found[name] = targets
        return found

    def differences(self, found):
        """What differs between the table and what it must hold, a line each."""
        wanted = self.wanted()
        lines = [f"{id} isn't named as a node of a smoke test" for id, node in self.nodes.items() if not self.is_named(node)]
        for key, item in sorted(found.items()):
            if key in wanted:
                lines += difference(key, wanted[key], self.comparable(key, item))
                if key[1] == self.node and "_deleting" in item:
                    lines.append(f"{shown(key)} is still being deleted")
                if key[1] == "LINEAGE" and not item.get("born", {}).get("S"):
                    lines.append(f"{shown(key)} names no life")
            elif not self.is_trace(key, item):
                lines.append(f"left over {shown(key)}: {spelled(item)}")
        return [f"missing {shown(key)}" for key in sorted(wanted.keys() - found.keys())] + lines

    @staticmethod
    def is_named(node):
        return node.get("name", {}).get("S", NAME).startswith(NAME)

    def comparable(self, key, item):
        """An item without what this script can't know: the stamps of base records, and the name of a life."""
        if key[1] == self.node or REVISION.fullmatch(key[1]):
            return {name: value for name, value in item.items() if not name.startswith("_")}
        return {name: value for name, value in item.items() if (key[1], name) != ("LINEAGE", "born")}

    def is_trace(self, key, item):
        """What remains of a node that the API has deleted."""
        return key[0] in self.removed and is_trace(key, item)


def led_to(found, ids, settings):
    """The keys of rows elsewhere, as the records and the lineages that were found name them."""
    world = World("", ids, settings)
    world.nodes = {id: item for (id, sort_key), item in found.items() if sort_key == world.node}
    keys = world.stray()
    for (id, sort_key), item in found.items():
        if sort_key == "LINEAGE":
            order, links = item.get("order", {}).get("S"), item.get("links", {}).get("M", {})
            keys |= {("ROOTS", f"ORDERED#{order}#{id}")} if order and item.get("root", {}).get("BOOL") else set()
            keys |= {(target["S"], f"LINK#{name}#{id}") for name, targets in links.items() for target in targets["L"]}
    return keys - {key for key in keys if key[0] in world.ids}


def is_trace(key, item):
    """What stays for a while of a node that the API has deleted, by the table's documentation."""
    return key[0] == "OPERATIONS" or key[1] == "DELETED" or key[1] == "LINEAGE" and "deleted" in item


def difference(key, wanted, found):
    names = [name for name in sorted(wanted.keys() | found.keys()) if wanted.get(name) != found.get(name)]
    return [f"wrong {shown(key)}: {name} must be {spelled(wanted.get(name))} and is {spelled(found.get(name))}" for name in names]


def spelled(value):
    return "absent" if value is None else json.dumps(value, ensure_ascii=False)


def shown(key):
    return f"{key[0]} / {key[1]}"


def sortable(number):
    """A number as text that sorts as numbers do."""
    sign, digits, exponent = decimal.Decimal(number).as_tuple()
    digits, power = "".join(map(str, digits)).lstrip("0"), exponent + 499
    if not digits:
        return "0"
    text = f"{power + len(digits):03}{digits.rstrip('0')}"
    return "-" + "".join(str(9 - int(digit)) for digit in text) + "~" if sign else "1" + text


def split(names):
    return [name.strip() for name in names.split(",") if name.strip()]


def texts(list):
    return {"L": [{"S": text} for text in list]}


def in_key(segment):
    """A segment as a path row's key has it."""
    return "".join(f"%{ord(c):02X}" if ord(c) <= 0x25 else c for c in segment)


def fnv(text):
    hash = 0x811C9DC5
    for byte in text.encode():
        hash = (hash ^ byte) * 0x01000193 % 2**32
    return hash
