// Uses the API through openapi-fetch with the types that openapi-typescript makes. The argument is the API's URL, and its table is empty.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import createClient from "openapi-fetch";
import type { components, paths } from "./generated/openapi.js";
import { inPath } from "./in-path.js";

type Answer<Body, Failed> = { response: Response } & ({ data: Body; error?: never } | { data?: never; error: Failed });
type Failure = components["schemas"]["ProblemBody"] | components["responses"]["TooManyRequests"]["content"]["application/json"];
type Page<Item> = { items: Item[]; cursor?: string };

const api = createClient<paths>({ baseUrl: process.argv[2]! });
const mergePatch = { "Content-Type": "application/merge-patch+json" };
const wait = { Prefer: "wait=5" };

/** Returns the body of an answer with one of these status codes. */
async function body<Body>(call: Promise<Answer<Body, unknown>>, ...statuses: number[]): Promise<NonNullable<Body>> {
  const { data, error, response } = await call;
  assert.ok(statuses.includes(response.status), `${response.status} ${JSON.stringify(error)}`);
  assert.ok(data, "an answer without a body");
  return data;
}

/** Checks that a call fails with this status code and this type of problem. */
async function fails(call: Promise<Answer<unknown, Failure>>, status: number, type: string): Promise<void> {
  const { error } = await call;
  assert.ok(error && "type" in error, "an error that isn't a problem of the API");
  assert.deepEqual([error.status, error.type], [status, `urn:sapwood:problem:${type}`]);
}

/** Reads a list to its end, and returns its items and the number of its pages. */
async function all<Item>(read: (cursor?: string) => Promise<Answer<Page<Item>, unknown>>): Promise<[Item[], number]> {
  const items: Item[] = [];
  let cursor: string | undefined;
  let pages = 0;
  do {
    const page = await body(read(cursor), 200);
    items.push(...page.items);
    cursor = page.cursor;
    pages++;
  } while (cursor);
  return [items, pages];
}

const ids = (items: { id: string }[]) => items.map(item => item.id);
const at = (id: string) => ({ path: { id: inPath(id) } });

// Nodes whose ids have characters that a path can't have.
const [ceo, order, odd, listed] = ["ceo@example.org", "ORDER#98765", "a/b é", "x,y#1"] as const;
const created = await api.POST("/nodes", { params: { header: wait }, body: { id: ceo, attributes: { name: "Ada" } } });
assert.equal((await body(Promise.resolve(created), 201, 202)).id, ceo);
assert.equal(created.response.headers.get("location"), "/nodes/ceo~40example.org");
for (const [id, parent] of [[order, ceo], [odd, order], [listed, ceo]] as const) {
  const made = await body(api.POST("/nodes", { params: { header: wait }, body: { id, parent, attributes: { name: id } } }), 201, 202);
  assert.equal(made.parent, parent);
}
await fails(api.POST("/nodes", { body: { id: ceo } }), 409, "exists");

// The tree, from both ends.
const node = await body(api.GET("/nodes/{id}", { params: at(odd) }), 200);
assert.deepEqual([node.id, node.parent, node.attributes], [odd, order, { name: odd }]);
assert.deepEqual(ids((await body(api.GET("/nodes/{id}/children", { params: at(ceo) }), 200)).items), [order, listed]);
const second = { min_depth: 2, max_depth: 2 };
const descendants = await body(api.GET("/nodes/{id}/descendants", { params: { ...at(ceo), query: second } }), 200);
assert.deepEqual(descendants.items.map(item => [item.id, item.parent, item.depth]), [[odd, order, 2]]);
const tree = await body(api.GET("/nodes/{id}/tree", { params: at(ceo) }), 200);
assert.deepEqual(tree.children.map(child => [child.id, ids(child.children)]), [[order, [odd]], [listed, []]]);
const ancestors = await body(api.GET("/nodes/{id}/ancestors", { params: at(odd) }), 200);
assert.deepEqual(ancestors.items.map(item => [item.id, item.depth]), [[order, 1], [ceo, 2]]);
assert.equal((await body(api.GET("/nodes/{id}/count", { params: at(ceo) }), 200)).count, 3);
await fails(api.GET("/nodes/{id}", { params: at("nobody") }), 404, "not-found");

// A move that fails if somebody else has changed the node since it was read.
const etag = (await api.GET("/nodes/{id}", { params: at(odd) })).response.headers.get("etag")!;
const move = () => api.PATCH("/nodes/{id}", {
  headers: mergePatch,
  params: { ...at(odd), header: { ...wait, "If-Match": etag } },
  body: { parent: listed, attributes: { name: null, size: 2 } },
});
const moved = await body(move(), 200, 202);
assert.deepEqual([moved.parent, moved.attributes], [listed, { size: 2 }]);
await fails(move(), 412, "precondition-failed");

// Revisions.
const audit = { path: { id: inPath(order), topic: inPath("Audit#wheel/2") } };
for (const result of ["passed", "failed"]) {
  await body(api.POST("/nodes/{id}/revisions/{topic}", { params: { ...audit, header: wait }, body: { attributes: { result } } }), 201, 202);
}
const latest = await body(api.GET("/nodes/{id}/latest/{topic}", { params: audit }), 200);
assert.deepEqual([latest.topic, latest.version, latest.attributes], ["Audit#wheel/2", 2, { result: "failed" }]);
const history = await body(api.GET("/nodes/{id}/revisions/{topic}", { params: { ...audit, query: { order: "desc" } } }), 200);
assert.deepEqual(history.items.map(item => [item.version, item.attributes]), [[2, { result: "failed" }], [1, { result: "passed" }]]);
const first = await body(api.GET("/nodes/{id}/revisions/{topic}/{version}", { params: { path: { ...audit.path, version: 1 } } }), 200);
assert.deepEqual(first.attributes, { result: "passed" });

// Several nodes, and a node with what is around it.
const several = await body(api.GET("/nodes", { params: { query: { ids: [odd, listed, "nobody", order] } } }), 200);
assert.deepEqual(ids(several.items), [odd, listed, order]);
assert.ok(several.items.every(item => item.etag?.startsWith('"')));
const expanded = await body(api.GET("/nodes/{id}", { params: { ...at(order), query: { expand: "ancestors,latest" } } }), 200);
assert.deepEqual(ids(expanded.ancestors!.items), [ceo]);
assert.deepEqual(expanded.latest!.items.map(item => [item.topic, item.version]), [["Audit#wheel/2", 2]]);

// A path whose segment holds a slash, and a list that is read page by page.
const states = await body(api.POST("/batch", {
  params: { header: wait },
  body: {
    operations: [
      { put: { id: "USA", parent: null } },
      { put: { id: "west", parent: "USA", segment: "NE/West" } },
      ...["OMAHA", "LINCOLN", "YORK"].map(id => ({ put: { id, parent: "west" } })),
    ],
  },
}), 200);
assert.deepEqual(states.results.map(result => result.status), [201, 201, 201, 201, 201]);
const usa = { path: { root: "USA" } };
const omaha = await body(api.GET("/paths/{root}", { params: { ...usa, query: { path: ["NE/West", "OMAHA"] } } }), 200);
assert.deepEqual(omaha.items.map(item => [item.id, item.path]), [["OMAHA", ["NE/West", "OMAHA"]]]);
const [towns, pages] = await all(cursor => api.GET("/nodes/{id}/children", { params: { ...at("west"), query: { limit: 1, cursor } } }));
assert.deepEqual(ids(towns), ["LINCOLN", "OMAHA", "YORK"]);
assert.ok(pages >= 3, `${pages} pages`);

// A batch. Each of its operations succeeds or fails on its own.
const { results } = await body(api.POST("/batch", {
  body: {
    operations: [
      { put: { id: "spare", parent: ceo, attributes: { name: "Spare" } } },
      { patch: { id: "OMAHA", if_match: states.results[2]!.etag!, attributes: { zip: "68102" } } },
      { patch: { id: "OMAHA", if_match: states.results[2]!.etag!, attributes: { zip: "0" } } },
      { delete: { id: "YORK" } },
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
const exact = { Prefer: "numbers=strings" };
await body(api.PUT("/nodes/{id}", { params: at("spare"), body: { parent: ceo, attributes: written } }), 200);
const spare = await body(api.GET("/nodes/{id}", { params: { ...at("spare"), header: exact } }), 200);
assert.deepEqual(spare.attributes, { ...written, sizes: { $set: ["L", "S"] } });

// Siblings in an order by hand.
const placed = await body(api.POST("/batch", {
  params: { header: wait },
  body: { operations: [{ put: { id: "column", parent: null } }, ...["b", "a", "c"].map(id => ({ put: { id, parent: "column", position: "last" as const } }))] },
}), 200);
assert.deepEqual(placed.results.map(result => result.status), [201, 201, 201, 201]);
const place = (id: string, place: components["schemas"]["Position"]) =>
  api.PATCH("/nodes/{id}", { params: { ...at(id), header: wait }, headers: mergePatch, body: { position: place } });
await body(place("c", "first"), 200, 202);
await body(place("b", { after: "a" }), 200, 202);
const children = (query: { order: "asc" | "desc"; limit?: number }) =>
  body(api.GET("/nodes/{id}/children", { params: { ...at("column"), query } }), 200);
assert.deepEqual(ids((await children({ order: "asc" })).items), ["c", "a", "b"]);
assert.deepEqual(ids((await children({ order: "desc", limit: 1 })).items), ["b"]);
await fails(place("b", { before: "nobody" }), 409, "not-a-sibling");

// Who ordered it? All customers, by one request.
const mouse = "PRODUCT#mouse";
const bought = { "ITEM#1": mouse, "ITEM#2": { $set: [mouse, "PRODUCT#mat"] } };
for (const [id, product] of Object.entries(bought)) {
  await body(api.POST("/nodes", { params: { header: wait }, body: { id, parent: order, attributes: { product } } }), 201, 202);
}
const links = (query: { ancestors?: boolean; ancestor_prefix?: string; distinct?: "ancestor" }) =>
  body(api.GET("/nodes/{id}/links/{attribute}", { params: { path: { id: inPath(mouse), attribute: "product" }, query } }), 200);
assert.deepEqual((await links({ ancestors: true })).items.map(item => [item.id, item.ancestors]), [["ITEM#1", [order, ceo]], ["ITEM#2", [order, ceo]]]);
assert.deepEqual((await links({ ancestor_prefix: ceo, distinct: "ancestor" })).items.map(item => item.ancestors), [[ceo]]);

// Into the trash, and back with all that is below.
const below = { Prefer: "wait=5, below=true" };
const trashed = await api.POST("/nodes/{id}/trash", { params: { ...at("column"), header: below } });
assert.ok((await body(Promise.resolve(trashed), 200, 202)).trashed);
assert.equal(trashed.response.headers.get("location"), "/nodes/column/propagation?below=true");
const trash = async () => (await body(api.GET("/trash", { params: { query: { order: "asc" } } }), 200)).items;
assert.deepEqual((await trash()).map(item => [item.id, item.trashed.parent]), [["column", undefined]]);
assert.deepEqual(ids((await children({ order: "asc" })).items), ["c", "a", "b"]);
await fails(api.POST("/nodes", { body: { parent: "column" } }), 409, "in-trash");
await fails(api.POST("/nodes/{id}/restore", { params: at("west"), body: {} }), 409, "not-in-trash");
const back = await body(api.POST("/nodes/{id}/restore", { params: { ...at("column"), header: below }, body: { parent: ceo } }), 200, 202);
assert.deepEqual([back.parent, back.trashed], [ceo, undefined]);
assert.deepEqual(await trash(), []);
assert.deepEqual(ids((await body(api.GET("/nodes/{id}/ancestors", { params: at("b") }), 200)).items), ["column", ceo]);
const gone = await body(api.POST("/batch", {
  params: { header: wait },
  body: { operations: [{ trash: { id: "a" } }, { restore: { id: "a", parent: null } }] },
}), 200);
assert.deepEqual(gone.results.map(result => result.status), [200, 200]);

// A folder with a document, each in one transaction with a revision, and sorted as a caller likes.
const put = (id: string, body: components["schemas"]["ReplaceNode"]) => api.PUT("/nodes/{id}", { params: { ...at(id), header: wait }, body });
await body(put("folder", { parent: ceo, attributes: { owner: "ada", viewers: { $set: ["GROUP#ops"] } } }), 201, 202);
for (const [id, size] of [["Minutes", 3], ["agenda", 20]] as const) {
  const revision = { topic: "Text", attributes: { bytes: size } };
  const saved = await body(put(id, { parent: "folder", attributes: { size, title: id }, revision }), 201, 202);
  assert.deepEqual([saved.revision!.topic, saved.revision!.version], ["Text", 1]);
}
const sorted = async (id: string, query: { order_by: string; order?: "asc" | "desc"; limit?: number }) =>
  (await body(api.GET("/nodes/{id}/children", { params: { ...at(id), query, header: wait } }), 200)).items;
assert.deepEqual(ids(await sorted("folder", { order_by: "title:caseless" })), ["agenda", "Minutes"]);
assert.deepEqual(ids(await sorted("folder", { order_by: "size", order: "desc", limit: 1 })), ["agenda"]);
await fails(put("notes", { parent: "folder", segment: "MINUTES" }), 409, "name-taken");

// What is inherited, from whom, and who may see it.
const agenda = at("agenda");
const inherited = await body(api.GET("/nodes/{id}/inherited", { params: { ...agenda, query: { attributes: "owner,size" } } }), 200);
const owner = { value: "ada", from: "folder", levels_up: 1 };
assert.deepEqual(inherited.nearest, { owner, size: { value: 20, from: "agenda", levels_up: 0 } });
const granted = (...principal: string[]) =>
  body(api.GET("/nodes/{id}/granted", { params: { ...agenda, query: { attribute: "viewers", principal } } }), 200);
const { allowed, by } = await granted("grace", "GROUP#ops");
assert.deepEqual([allowed, by.map(one => [one.id, one.principals])], [true, [["folder", ["GROUP#ops"]]]]);
assert.equal((await granted("grace")).allowed, false);

const operation = (id: string) => body(api.GET("/operations/{id}", { params: at(id) }), 200);

/** Waits until an operation is done. */
async function done(id: string): Promise<void> {
  for (let tries = 0; (await operation(id)).status !== "done"; tries++) {
    assert.ok(tries < 100, "the operation takes more than 10 seconds");
    await sleep(100);
  }
}

// A copy of it all.
const copying = await body(api.POST("/nodes/{id}/copy", { params: at("folder"), body: { ids: "copied", segment: "a copy" } }), 202);
assert.deepEqual([copying.mode, copying.source, copying.node], ["copy", "folder", "copied"]);
await done(copying.id);
assert.equal((await operation(copying.id)).copied, 3);
const copies = await sorted("copied", { order_by: "size" });
assert.deepEqual(copies.map(item => item.attributes), [{ size: 3, title: "Minutes" }, { size: 20, title: "agenda" }]);

// The same request twice makes one node.
const once = () => api.POST("/nodes", { params: { header: { "Idempotency-Key": "order-1" } }, body: { parent: ceo } });
const made = await body(once(), 201);
const again = await once();
assert.deepEqual(await body(Promise.resolve(again), 201), made);
assert.equal(again.response.headers.get("idempotency-replayed"), "true");

// A deletion that leaves the children to the node's parent.
await fails(api.DELETE("/nodes/{id}", { params: at("west") }), 409, "has-children");
const begun = await body(api.DELETE("/nodes/{id}", { params: { ...at("west"), query: { children: "adopt" } } }), 202);
assert.deepEqual([begun.mode, begun.node], ["adopt", "west"]);
await done(begun.id);
const [operations] = await all(cursor => api.GET("/operations", { params: { query: { status: "done", cursor } } }));
assert.ok(ids(operations).includes(begun.id));
assert.deepEqual(ids((await body(api.GET("/nodes/{id}/children", { params: at("USA") }), 200)).items), ["LINCOLN", "OMAHA"]);
