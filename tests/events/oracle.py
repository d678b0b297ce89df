"""What a table must hold, by its base records alone, the naive way: for clients in Python. Items are as boto3's low-level client
has them, and settings as the template's defaults. It shares no code with what it judges."""


def differences(items):
    """What differs between a table and what its base records call for, a line each."""
    found = {key(item): plain(item) for item in items}
    wanted = table({at: item for at, item in found.items() if is_base(*at)})
    lines = [f"missing {at}" for at in wanted.keys() - found.keys()]
    lines += [f"left over {at}" for at in found.keys() - wanted.keys()]
    both = sorted(wanted.keys() & found.keys())
    lines += [f"wrong {at}: wanted {wanted[at]}, found {found[at]}" for at in both if wanted[at] != found[at]]
    return sorted(lines)


def key(item):
    return item["PK"]["S"], item["SK"]["S"]


def plain(item):
    """Sets have no order."""
    sets = ("SS", "NS", "BS")
    return {name: {kind: sorted(v) if kind in sets else v} for name, value in item.items() for kind, v in value.items()}


def is_base(pk, sk):
    derived = ("NODE#", "PATH#", "ROOT#", "ORPHAN#", "v0_")
    return not (sk.startswith(derived) or sk in ("LINEAGE", "CASCADE"))


def table(base):
    wanted = dict(base)
    nodes = {pk: item for (pk, sk), item in base.items() if sk == "NODE" and set(item.get("parent", {"S": 0})) == {"S"}}
    for pk, item in nodes.items():
        for row in rows(nodes, pk, item):
            wanted[key(row)] = row
    newest = {}
    for (pk, sk), item in base.items():
        version, _, topic = sk.partition("_")
        if len(version) == 4 and version[0] == "v" and version[1:].isdigit() and int(version[1:]):
            newest[pk, topic] = max(newest.get((pk, topic), (0, {})), (int(version[1:]), item), key=lambda one: one[0])
    for (pk, topic), (version, item) in newest.items():
        copy = {**copies(item), "PK": {"S": pk}, "SK": {"S": "v0_" + topic}, "_version": {"N": str(version)}}
        wanted[key(copy)] = copy
    return wanted


def rows(nodes, pk, item):
    ancestors, parent = [], item.get("parent", {}).get("S")
    while parent and parent != pk and parent not in ancestors:
        ancestors.append(parent)
        parent = nodes.get(parent, {}).get("parent", {}).get("S")
    own_segment = item.get("segment", {}).get("S", pk)
    path = [nodes.get(above, {}).get("segment", {}).get("S", above) for above in reversed(ancestors[:-1])]
    path += [own_segment] if ancestors else []
    is_root = "parent" not in item
    texts = lambda values: {"L": [{"S": value} for value in values]}
    lineage = {"ancestors": texts(ancestors), "path": texts(path), "root": {"BOOL": is_root}}
    at = lambda pk, sk, own: {**own, "PK": {"S": pk}, "SK": {"S": sk}}
    below = lambda depth: {**copies(item), "_id": {"S": pk}, "_depth": {"N": str(depth)}, "_parent": item["parent"]}
    if is_root:
        yield at("ROOTS", "ROOT#" + pk, {**copies(item), "_id": {"S": pk}})
    for depth, ancestor in enumerate(ancestors, 1):
        yield at(ancestor, f"NODE#{depth:04}#{pk}", below(depth))
    if ancestors:
        encoded = lambda text: "".join(f"%{ord(c):02X}" if ord(c) <= 0x25 else c for c in text)
        sk = "PATH#" + "#".join(map(encoded, path)) + ("!" + encoded(pk) if own_segment != pk else "")
        yield at(ancestors[-1], sk, below(len(ancestors)))
        if ancestors[0] not in nodes:
            lineage["orphan"] = {"BOOL": True}
            partition = 0x811C9DC5
            for byte in ancestors[0].encode():
                partition = (partition ^ byte) * 0x01000193 % 2**32
            own = {"_id": {"S": pk}, "_parent": {"S": ancestors[0]}}
            yield at(f"ORPHANS#{partition % 16:x}", "ORPHAN#" + pk, own)
    yield at(pk, "LINEAGE", lineage)


def copies(item):
    return {name: value for name, value in item.items() if not name.startswith("_") and name not in ("PK", "SK")}
