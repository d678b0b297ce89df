"""Uses the API through the client that openapi-generator makes (`python`). The argument is the API's URL, and its table is empty."""

import re
import sys
import time
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar
from unittest import TestCase

from sapwood import (ApiClient, ApiException, ApiResponse, Batch, BatchOperation, Children, Configuration, CopyNode, CreateNode,
                     CreateRevision, DeleteOperation, NewRevision, OperationStatus, PatchNode, PatchOperation, Position, PositionBeside,
                     PositionEnd, ProblemBody, PutOperation, ReadApi, ReplaceNode, RestoreNode, RestoreOperation, RevisionOperation,
                     TrashOperation, WriteApi)

Body = TypeVar("Body")
Item = TypeVar("Item", covariant=True)

client = ApiClient(Configuration(host=sys.argv[1]))
reads, writes = ReadApi(client), WriteApi(client)
check = TestCase()
check.maxDiff = None
equal = check.assertEqual
wait = "wait=5"


class Page(Protocol[Item]):
    """A page of any list."""

    @property
    def items(self) -> Sequence[Item]: ...

    @property
    def cursor(self) -> str | None: ...


def in_path(text: str) -> str:
    """Writes an id, a topic or a segment as the API's paths hold it: letters, digits, `-`, `_` and `.` as they are, every other byte of its
    UTF-8 as `~XX`. `.` and `..` on their own are escaped, too, because they mean something else in a path."""
    plain = "[A-Za-z0-9_-]" if text in (".", "..") else "[A-Za-z0-9_.-]"
    return "".join(chr(byte) if re.match(plain, chr(byte)) else f"~{byte:02X}" for byte in text.encode())


def body(answer: ApiResponse[Body], *statuses: int) -> Body:
    """Returns the body of an answer with one of these status codes."""
    check.assertIn(answer.status_code, statuses)
    return answer.data


def header(answer: ApiResponse[Body], name: str) -> str:
    """Returns a header of an answer."""
    return (answer.headers or {})[name]


def fails(call: Callable[[], object], status: int, kind: str) -> None:
    """Checks that a call fails with this status code and this type of problem."""
    with check.assertRaises(ApiException) as failure:
        call()
    problem = failure.exception.data
    assert isinstance(problem, ProblemBody), problem
    equal((problem.status, problem.type), (status, f"urn:sapwood:problem:{kind}"))


def every(read: Callable[[str | None], Page[Item]]) -> tuple[list[Item], int]:
    """Reads a list to its end, and returns its items and the number of its pages."""
    page = read(None)
    items, pages = [*page.items], 1
    while page.cursor:
        page = read(page.cursor)
        items, pages = [*items, *page.items], pages + 1
    return items, pages


# Nodes whose ids have characters that a path can't have.
ceo, order, odd, listed = "ceo@example.org", "ORDER#98765", "a/b é", "x,y#1"
created = writes.create_node_with_http_info(CreateNode(id=ceo, attributes={"name": "Ada"}), prefer=wait)
equal(body(created, 201, 202).id, ceo)
equal(header(created, "location"), "/nodes/ceo~40example.org")
for id, parent in ((order, ceo), (odd, order), (listed, ceo)):
    equal(writes.create_node(CreateNode(id=id, parent=parent, attributes={"name": id}), prefer=wait).parent, parent)
fails(lambda: writes.create_node(CreateNode(id=ceo)), 409, "exists")

# The tree, from both ends.
node = reads.get_node(in_path(odd))
equal((node.id, node.parent, node.attributes), (odd, order, {"name": odd}))
equal([item.id for item in reads.list_children(in_path(ceo)).items], [order, listed])
descendants = reads.list_descendants(in_path(ceo), min_depth=2, max_depth=2)
equal([(item.id, item.parent, item.depth) for item in descendants.items], [(odd, order, 2)])
tree = reads.get_tree(in_path(ceo))
equal([(child.id, [below.id for below in child.children]) for child in tree.children], [(order, [odd]), (listed, [])])
equal([(item.id, item.depth) for item in reads.list_ancestors(in_path(odd)).items], [(order, 1), (ceo, 2)])
equal(reads.count_descendants(in_path(ceo)).count, 3)
totals = reads.get_totals(in_path(ceo))
equal((totals.count, totals.children, totals.sums), (3, 2, {"size": 0}))
with_totals = reads.list_children(in_path(ceo), totals=True).items
equal([(item.id, item.totals and item.totals.count) for item in with_totals], [(order, 1), (listed, 0)])
equal([item.totals and item.totals.count for item in reads.list_roots(totals=True).items], [3])
equal(reads.list_children(in_path(ceo)).items[0].totals, None)
fails(lambda: reads.get_node("nobody"), 404, "not-found")

# A move that fails if somebody else has changed the node since it was read.
etag = header(reads.get_node_with_http_info(in_path(odd)), "etag")
patch = PatchNode(parent=listed, attributes={"name": None, "size": 2})
moved = body(writes.patch_node_with_http_info(in_path(odd), patch, if_match=etag, prefer=wait), 200, 202)
equal((moved.parent, moved.attributes), (listed, {"size": 2}))
fails(lambda: writes.patch_node(in_path(odd), patch, if_match=etag), 412, "precondition-failed")

# Revisions.
audit = in_path(order), in_path("Audit#wheel/2")
for result in ("passed", "failed"):
    body(writes.append_revision_with_http_info(*audit, CreateRevision(attributes={"result": result}), prefer=wait), 201, 202)
latest = reads.get_latest(*audit)
equal((latest.topic, latest.version, latest.attributes), ("Audit#wheel/2", 2, {"result": "failed"}))
history = reads.list_topic(*audit, order="desc")
equal([(item.version, item.attributes) for item in history.items], [(2, {"result": "failed"}), (1, {"result": "passed"})])
equal(reads.get_revision(*audit, version=1).attributes, {"result": "passed"})

# Several nodes, and a node with what is around it.
several = reads.get_nodes([odd, listed, "nobody", order]).items
equal([item.id for item in several], [odd, listed, order])
check.assertTrue(all((item.etag or "").startswith('"') for item in several))
expanded = reads.get_node(in_path(order), expand="ancestors,latest")
assert expanded.ancestors and expanded.latest
equal([item.id for item in expanded.ancestors.items], [ceo])
equal([(item.topic, item.version) for item in expanded.latest.items], [("Audit#wheel/2", 2)])

# A path whose segment holds a slash, and a list that is read page by page.
states = writes.batch(Batch(operations=[
    BatchOperation(put=PutOperation(id="USA", parent=None)),
    BatchOperation(put=PutOperation(id="west", parent="USA", segment="NE/West")),
    *(BatchOperation(put=PutOperation(id=id, parent="west")) for id in ("OMAHA", "LINCOLN", "YORK")),
]), prefer=wait).results
equal([result.status for result in states], [201, 201, 201, 201, 201])
omaha = reads.list_paths("USA", path=["NE/West", "OMAHA"])
equal([(item.id, item.path) for item in omaha.items], [("OMAHA", ["NE/West", "OMAHA"])])
towns, pages = every(lambda cursor: reads.list_children("west", limit=1, cursor=cursor))
equal([item.id for item in towns], ["LINCOLN", "OMAHA", "YORK"])
check.assertGreaterEqual(pages, 3)

# A batch. Each of its operations succeeds or fails on its own.
tag = states[2].etag
results = body(writes.batch_with_http_info(Batch(operations=[
    BatchOperation(put=PutOperation(id="spare", parent=ceo, attributes={"name": "Spare"})),
    BatchOperation(patch=PatchOperation(id="OMAHA", if_match=tag, attributes={"zip": "68102"})),
    BatchOperation(patch=PatchOperation(id="OMAHA", if_match=tag, attributes={"zip": "0"})),
    BatchOperation(delete=DeleteOperation(id="YORK")),
    BatchOperation(revision=RevisionOperation(id=order, topic="Price", attributes={"euro": 12.5})),
])), 200).results
equal([(result.status, result.body and result.body.id, result.problem and result.problem.type) for result in results], [
    (201, "spare", None),
    (200, "OMAHA", None),
    (412, None, "urn:sapwood:problem:precondition-failed"),
    (204, None, None),
    (201, order, None),
])
assert results[1].body and results[4].body
equal((results[1].body.attributes, results[4].body.version), ({"zip": "68102"}, 1))

# Values that plain JSON can't hold. A set comes back sorted.
written = {
    "sizes": {"$set": ["S", "L"]},
    "dimensions": {"wheels": [{"width": 2.5, "spare": None}, True]},
    "serial": {"$number": "12345678901234567890123456789"},
}
body(writes.put_node_with_http_info("spare", ReplaceNode(parent=ceo, attributes=written)), 200)
spare = reads.get_node("spare", prefer="numbers=strings")
equal(spare.attributes, {**written, "sizes": {"$set": ["L", "S"]}})

# Siblings in an order by hand.
placed = writes.batch(Batch(operations=[
    BatchOperation(put=PutOperation(id="column", parent=None)),
    *(BatchOperation(put=PutOperation(id=id, parent="column", position=Position(PositionEnd.LAST))) for id in ("b", "a", "c")),
]), prefer=wait).results
equal([result.status for result in placed], [201, 201, 201, 201])
writes.patch_node("c", PatchNode(position=Position(PositionEnd.FIRST)), prefer=wait)
writes.patch_node("b", PatchNode(position=Position(PositionBeside(after="a"))), prefer=wait)
equal([item.id for item in reads.list_children("column", order="asc").items], ["c", "a", "b"])
equal([item.id for item in reads.list_children("column", order="desc", limit=1).items], ["b"])
fails(lambda: writes.patch_node("b", PatchNode(position=Position(PositionBeside(before="nobody")))), 409, "not-a-sibling")

# Who ordered it? All customers, by one request.
mouse, items = "PRODUCT#mouse", ("ITEM#1", "ITEM#2")
for id, products in zip(items, (mouse, {"$set": [mouse, "PRODUCT#mat"]})):
    writes.create_node(CreateNode(id=id, parent=order, attributes={"product": products}), prefer=wait)
links = reads.list_links(in_path(mouse), "product", ancestors=True)
equal([(item.id, item.ancestors) for item in links.items], [(id, [order, ceo]) for id in items])
customers = reads.list_links(in_path(mouse), "product", ancestor_prefix=ceo, distinct="ancestor")
equal([item.ancestors for item in customers.items], [[ceo]])

# Into the trash, and back with all that is below.
trashed = writes.trash_node_with_http_info("column", prefer="wait=5, below=true")
assert body(trashed, 200, 202).trashed
equal(header(trashed, "location"), "/nodes/column/propagation?below=true")
equal([(item.id, item.trashed.parent) for item in reads.list_trash().items], [("column", None)])
equal([item.id for item in reads.list_children("column", order="asc").items], ["c", "a", "b"])
fails(lambda: writes.create_node(CreateNode(parent="column")), 409, "in-trash")
fails(lambda: writes.restore_node("west", restore_node=RestoreNode()), 409, "not-in-trash")
back = writes.restore_node("column", prefer="wait=5, below=true", restore_node=RestoreNode(parent=ceo))
equal((back.parent, back.trashed), (ceo, None))
equal(reads.list_trash(order="asc").items, [])
equal([item.id for item in reads.list_ancestors("b").items], ["column", ceo])
gone = writes.batch(Batch(operations=[
    BatchOperation(trash=TrashOperation(id="a")),
    BatchOperation(restore=RestoreOperation(id="a", parent=None)),
]), prefer=wait).results
equal([result.status for result in gone], [200, 200])

# A folder with a document, each in one transaction with a revision, and sorted as a caller likes.
writes.put_node("folder", ReplaceNode(parent=ceo, attributes={"owner": "ada", "viewers": {"$set": ["GROUP#ops"]}}), prefer=wait)
for id, size in (("Minutes", 3), ("agenda", 20)):
    new = NewRevision(topic="Text", attributes={"bytes": size})
    saved = writes.put_node(id, ReplaceNode(parent="folder", attributes={"size": size, "title": id}, revision=new), prefer=wait)
    assert saved and saved.revision
    equal((saved.revision.topic, saved.revision.version), ("Text", 1))
equal([item.id for item in reads.list_children("folder", order_by="title:caseless").items], ["agenda", "Minutes"])
equal([item.id for item in reads.list_children("folder", order_by="size", order="desc", limit=1).items], ["agenda"])
fails(lambda: writes.put_node("notes", ReplaceNode(parent="folder", segment="MINUTES")), 409, "name-taken")

# What is inherited, from whom, and who may see it.
inherited = reads.get_inherited("agenda", attributes="owner,size")
assert inherited.nearest
equal({name: (value.value, value.var_from, value.levels_up) for name, value in inherited.nearest.items()},
      {"owner": ("ada", "folder", 1), "size": (20, "agenda", 0)})
granted = reads.get_granted("agenda", attribute="viewers", principal=["grace", "GROUP#ops"])
equal((granted.allowed, [(by.id, by.principals) for by in granted.by]), (True, [("folder", ["GROUP#ops"])]))
equal(reads.get_granted("agenda", attribute="viewers", principal=["grace"]).allowed, False)


def done(operation: str) -> None:
    """Waits until an operation is done."""
    deadline = time.monotonic() + 10
    while reads.get_operation(operation).status.value != "done":
        check.assertLess(time.monotonic(), deadline, "the operation takes more than 10 seconds")
        time.sleep(0.1)


# A copy of it all.
copying = body(writes.copy_node_with_http_info("folder", copy_node=CopyNode(ids="copied", segment="a copy")), 202)
equal((copying.mode.value, copying.source, copying.node), ("copy", "folder", "copied"))
done(copying.id)
equal(reads.get_operation(copying.id).copied, 3)
copies = reads.list_children("copied", order_by="size", prefer=wait).items
equal([item.attributes for item in copies], [{"size": 3, "title": "Minutes"}, {"size": 20, "title": "agenda"}])

# The same request twice makes one node.
made, again = (writes.create_node_with_http_info(CreateNode(parent=ceo), idempotency_key="order-1") for _ in range(2))
equal(body(again, 201), body(made, 201))
equal(header(again, "idempotency-replayed"), "true")

# A deletion that leaves the children to the node's parent.
fails(lambda: writes.delete_node("west"), 409, "has-children")
begun = body(writes.delete_node_with_http_info("west", children=Children.ADOPT), 202)
equal((begun.mode.value, begun.node), ("adopt", "west"))
done(begun.id)
operations, _ = every(lambda cursor: reads.list_operations(status=OperationStatus.DONE, cursor=cursor))
check.assertIn(begun.id, [item.id for item in operations])
equal([item.id for item in reads.list_children("USA").items], ["LINCOLN", "OMAHA"])
