// Uses the API through the client that openapi-generator makes (`typescript-fetch`). The argument is the API's URL, and its table is empty.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { type ApiResponse, Configuration, type Position, ProblemBodyFromJSON, ReadApi, type ReplaceNode, ResponseError, WriteApi } from "./generated/index.js";
import { inPath } from "./in-path.js";

type Page<Item> = { items: Item[]; cursor?: string };

const configuration = new Configuration({ basePath: process.argv[2]! });
const reads = new ReadApi(configuration);
const writes = new WriteApi(configuration);
const prefer = "wait=5";

/** Returns the body of an answer with one of these status codes. */
async function body<Body>(call: Promise<ApiResponse<Body>>, ...statuses: number[]): Promise<Body> {
  const answer = await call;
  assert.ok(statuses.includes(answer.raw.status), `${answer.raw.status}`);
  return answer.value();
}

/** Checks that a call fails with this status code and this type of problem. */
async function fails(call: Promise<unknown>, status: number, type: string): Promise<void> {
  const error = await call.then(() => undefined, (error: unknown) => error);
  assert.ok(error instanceof ResponseError, `${error}`);
  const problem = ProblemBodyFromJSON(await error.response.json());
  assert.deepEqual([problem.status, problem.type], [status, `urn:sapwood:problem:${type}`]);
}

/** Reads a list to its end, and returns its items and the number of its pages. */
async function all<Item>(read: (cursor?: string) => Promise<Page<Item>>): Promise<[Item[], number]> {
  const items: Item[] = [];
  let cursor: string | undefined;
  let pages = 0;
  do {
    const page = await read(cursor);
    items.push(...page.items);
    cursor = page.cursor;
    pages++;
  } while (cursor);
  return [items, pages];
}

const ids = (items: { id: string }[]) => items.map(item => item.id);
const at = (id: string) => ({ id: inPath(id) });

// Nodes whose ids have characters that a path can't have.
const [ceo, order, odd, listed] = ["ceo@example.org", "ORDER#98765", "a/b é", "x,y#1"] as const;
const created = await writes.createNodeRaw({ prefer, createNode: { id: ceo, attributes: { name: "Ada" } } });
assert.equal((await body(Promise.resolve(created), 201, 202)).id, ceo);
assert.equal(created.raw.headers.get("location"), "/nodes/ceo~40example.org");
for (const [id, parent] of [[order, ceo], [odd, order], [listed, ceo]] as const) {
  const made = await writes.createNode({ prefer, createNode: { id, parent, attributes: { name: id } } });
  // Only a client that asks for `return=minimal` gets nothing.
  assert.equal(made?.parent, parent);
}
await fails(writes.createNode({ createNode: { id: ceo } }), 409, "exists");

// The tree, from both ends.
const node = await reads.getNode(at(odd));
assert.deepEqual([node.id, node.parent, node.attributes], [odd, order, { name: odd }]);
assert.deepEqual(ids((await reads.listChildren(at(ceo))).items), [order, listed]);
const descendants = await reads.listDescendants({ ...at(ceo), minDepth: 2, maxDepth: 2 });
assert.deepEqual(descendants.items.map(item => [item.id, item.parent, item.depth]), [[odd, order, 2]]);
const tree = await reads.getTree(at(ceo));
assert.deepEqual(tree.children.map(child => [child.id, ids(child.children)]), [[order, [odd]], [listed, []]]);
const ancestors = await reads.listAncestors(at(odd));
assert.deepEqual(ancestors.items.map(item => [item.id, item.depth]), [[order, 1], [ceo, 2]]);
assert.equal((await reads.countDescendants(at(ceo))).count, 3);
await fails(reads.getNode(at("nobody")), 404, "not-found");

// A move that fails if somebody else has changed the node since it was read.
const ifMatch = (await reads.getNodeRaw(at(odd))).raw.headers.get("etag")!;
const move = () => writes.patchNodeRaw({ ...at(odd), ifMatch, prefer, patchNode: { parent: listed, attributes: { name: null, size: 2 } } });
const moved = await body(move(), 200, 202);
assert.deepEqual([moved.parent, moved.attributes], [listed, { size: 2 }]);
await fails(move(), 412, "precondition-failed");

// Revisions.
const audit = { id: inPath(order), topic: inPath("Audit#wheel/2") };
for (const result of ["passed", "failed"]) {
  await body(writes.appendRevisionRaw({ ...audit, prefer, createRevision: { attributes: { result } } }), 201, 202);
}
const latest = await reads.getLatest(audit);
assert.deepEqual([latest.topic, latest.version, latest.attributes], ["Audit#wheel/2", 2, { result: "failed" }]);
const history = await reads.listTopic({ ...audit, order: "desc" });
assert.deepEqual(history.items.map(item => [item.version, item.attributes]), [[2, { result: "failed" }], [1, { result: "passed" }]]);
assert.deepEqual((await reads.getRevision({ ...audit, version: 1 })).attributes, { result: "passed" });

// Several nodes, and a node with what is around it.
const several = await reads.getNodes({ ids: new Set([odd, listed, "nobody", order]) });
assert.deepEqual(ids(several.items), [odd, listed, order]);
assert.ok(several.items.every(item => item.etag?.startsWith('"')));
const expanded = await reads.getNode({ ...at(order), expand: "ancestors,latest" });
assert.deepEqual(ids(expanded.ancestors!.items), [ceo]);
assert.deepEqual(expanded.latest!.items.map(item => [item.topic, item.version]), [["Audit#wheel/2", 2]]);

// A path whose segment holds a slash, and a list that is read page by page.
const states = await writes.batch({
  prefer,
  batch: {
    operations: [
      { put: { id: "USA", parent: null } },
      { put: { id: "west", parent: "USA", segment: "NE/West" } },
      ...["OMAHA", "LINCOLN", "YORK"].map(id => ({ put: { id, parent: "west" } })),
    ],
  },
});
assert.deepEqual(states.results.map(result => result.status), [201, 201, 201, 201, 201]);
const omaha = await reads.listPaths({ root: "USA", path: ["NE/West", "OMAHA"] });
assert.deepEqual(omaha.items.map(item => [item.id, item.path]), [["OMAHA", ["NE/West", "OMAHA"]]]);
const [towns, pages] = await all(cursor => reads.listChildren({ ...at("west"), limit: 1, cursor }));
assert.deepEqual(ids(towns), ["LINCOLN", "OMAHA", "YORK"]);
assert.ok(pages >= 3, `${pages} pages`);

// A batch. Each of its operations succeeds or fails on its own.
const tag = states.results[2]!.etag!;
const { results } = await body(writes.batchRaw({
  batch: {
    operations: [
      { put: { id: "spare", parent: ceo, attributes: { name: "Spare" } } },
      { patch: { id: "OMAHA", ifMatch: tag, attributes: { zip: "68102" } } },
      { patch: { id: "OMAHA", ifMatch: tag, attributes: { zip: "0" } } },
      { _delete: { id: "YORK" } },
      { revision: { id: order, topic: "Price", attributes: { euro: 12.5 } } },
    ],
  },
}), 200);
assert.deepEqual(results.map(result => [result.status, result.body?.id, result.problem?.type]), [
  [201, "spare", undefined],
  [200, "OMAHA", undefined],
  [412, undefined, "urn:sapwood:problem:precondition-failed"],
  [204, undefined, undefined],
  [201, order, undefined],
]);
assert.deepEqual([results[1]!.body!.attributes, results[4]!.body!.version], [{ zip: "68102" }, 1]);

// Values that plain JSON can't hold. A set comes back sorted.
const written = {
  sizes: { $set: ["S", "L"] },
  dimensions: { wheels: [{ width: 2.5, spare: null }, true] },
  serial: { $number: "12345678901234567890123456789" },
};
await body(writes.putNodeRaw({ ...at("spare"), replaceNode: { parent: ceo, attributes: written } }), 200);
const spare = await reads.getNode({ ...at("spare"), prefer: "numbers=strings" });
assert.deepEqual(spare.attributes, { ...written, sizes: { $set: ["L", "S"] } });

// Siblings in an order by hand.
const placed = await body(writes.batchRaw({
  prefer,
  batch: { operations: [{ put: { id: "column", parent: null } }, ...["b", "a", "c"].map(id => ({ put: { id, parent: "column", position: "last" as const } }))] },
}), 200);
assert.deepEqual(placed.results.map(result => result.status), [201, 201, 201, 201]);
const place = (id: string, place: Position) => writes.patchNodeRaw({ ...at(id), prefer, patchNode: { position: place } });
await body(place("c", "first"), 200, 202);
await body(place("b", { after: "a" }), 200, 202);
assert.deepEqual(ids((await reads.listChildren({ ...at("column"), order: "asc" })).items), ["c", "a", "b"]);
assert.deepEqual(ids((await reads.listChildren({ ...at("column"), order: "desc", limit: 1 })).items), ["b"]);
await fails(place("b", { before: "nobody" }), 409, "not-a-sibling");

// Who ordered it? All customers, by one request.
const mouse = "PRODUCT#mouse";
const bought = { "ITEM#1": mouse, "ITEM#2": { $set: [mouse, "PRODUCT#mat"] } };
for (const [id, product] of Object.entries(bought)) {
  await body(writes.createNodeRaw({ prefer, createNode: { id, parent: order, attributes: { product } } }), 201, 202);
}
const links = { id: inPath(mouse), attribute: "product" };
assert.deepEqual((await reads.listLinks({ ...links, ancestors: true })).items.map(item => [item.id, item.ancestors]), [["ITEM#1", [order, ceo]], ["ITEM#2", [order, ceo]]]);
assert.deepEqual((await reads.listLinks({ ...links, ancestorPrefix: ceo, distinct: "ancestor" })).items.map(item => item.ancestors), [[ceo]]);

// Into the trash, and back with all that is below.
const below = { prefer: "wait=5, below=true" };
const trashed = await writes.trashNodeRaw({ ...at("column"), ...below });
assert.ok((await body(Promise.resolve(trashed), 200, 202)).trashed);
assert.equal(trashed.raw.headers.get("location"), "/nodes/column/propagation?below=true");
assert.deepEqual((await reads.listTrash()).items.map(item => [item.id, item.trashed.parent]), [["column", undefined]]);
assert.deepEqual(ids((await reads.listChildren({ ...at("column"), order: "asc" })).items), ["c", "a", "b"]);
await fails(writes.createNode({ createNode: { parent: "column" } }), 409, "in-trash");
await fails(writes.restoreNode({ ...at("west"), restoreNode: {} }), 409, "not-in-trash");
const back = await body(writes.restoreNodeRaw({ ...at("column"), ...below, restoreNode: { parent: ceo } }), 200, 202);
assert.deepEqual([back.parent, back.trashed], [ceo, undefined]);
assert.deepEqual((await reads.listTrash({ order: "asc" })).items, []);
assert.deepEqual(ids((await reads.listAncestors(at("b"))).items), ["column", ceo]);
const gone = await body(writes.batchRaw({ prefer, batch: { operations: [{ trash: { id: "a" } }, { restore: { id: "a", parent: null } }] } }), 200);
assert.deepEqual(gone.results.map(result => result.status), [200, 200]);

// A folder with a document, each in one transaction with a revision, and sorted as a caller likes.
const put = (id: string, replaceNode: ReplaceNode) => writes.putNodeRaw({ ...at(id), prefer, replaceNode });
await body(put("folder", { parent: ceo, attributes: { owner: "ada", viewers: { $set: ["GROUP#ops"] } } }), 201, 202);
for (const [id, size] of [["Minutes", 3], ["agenda", 20]] as const) {
  const revision = { topic: "Text", attributes: { bytes: size } };
  const saved = await body(put(id, { parent: "folder", attributes: { size, title: id }, revision }), 201, 202);
  assert.deepEqual([saved!.revision!.topic, saved!.revision!.version], ["Text", 1]);
}
const sorted = async (id: string, query: { orderBy: string; order?: "asc" | "desc"; limit?: number }) =>
  (await reads.listChildren({ ...at(id), ...query, prefer })).items;
assert.deepEqual(ids(await sorted("folder", { orderBy: "title:caseless" })), ["agenda", "Minutes"]);
assert.deepEqual(ids(await sorted("folder", { orderBy: "size", order: "desc", limit: 1 })), ["agenda"]);
await fails(put("notes", { parent: "folder", segment: "MINUTES" }), 409, "name-taken");

// What is inherited, from whom, and who may see it.
const inherited = await reads.getInherited({ ...at("agenda"), attributes: "owner,size" });
const owner = { value: "ada", from: "folder", levelsUp: 1 };
assert.deepEqual(inherited.nearest, { owner, size: { value: 20, from: "agenda", levelsUp: 0 } });
const granted = (...principal: string[]) => reads.getGranted({ ...at("agenda"), attribute: "viewers", principal });
const { allowed, by } = await granted("grace", "GROUP#ops");
assert.deepEqual([allowed, by.map(one => [one.id, one.principals])], [true, [["folder", ["GROUP#ops"]]]]);
assert.equal((await granted("grace")).allowed, false);

/** Waits until an operation is done. */
async function done(id: string): Promise<void> {
  for (let tries = 0; (await reads.getOperation(at(id))).status !== "done"; tries++) {
    assert.ok(tries < 100, "the operation takes more than 10 seconds");
    await sleep(100);
  }
}

// A copy of it all.
const copying = await body(writes.copyNodeRaw({ ...at("folder"), copyNode: { ids: "copied", segment: "a copy" } }), 202);
assert.deepEqual([copying.mode, copying.source, copying.node], ["copy", "folder", "copied"]);
await done(copying.id);
assert.equal((await reads.getOperation(at(copying.id))).copied, 3);
const copies = await sorted("copied", { orderBy: "size" });
assert.deepEqual(copies.map(item => item.attributes), [{ size: 3, title: "Minutes" }, { size: 20, title: "agenda" }]);

// The same request twice makes one node.
const once = () => writes.createNodeRaw({ idempotencyKey: "order-1", createNode: { parent: ceo } });
const made = await body(once(), 201);
const again = await once();
assert.deepEqual(await body(Promise.resolve(again), 201), made);
assert.equal(again.raw.headers.get("idempotency-replayed"), "true");

// A deletion that leaves the children to the node's parent.
await fails(writes.deleteNode(at("west")), 409, "has-children");
const begun = await body(writes.deleteNodeRaw({ ...at("west"), children: "adopt" }), 202);
assert.deepEqual([begun.mode, begun.node], ["adopt", "west"]);
await done(begun.id);
const [operations] = await all(cursor => reads.listOperations({ status: "done", cursor }));
assert.ok(ids(operations).includes(begun.id));
assert.deepEqual(ids((await reads.listChildren(at("USA"))).items), ["LINCOLN", "OMAHA"]);
