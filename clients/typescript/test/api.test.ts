// The client against a running API, whose URL is SAPWOOD_API and whose table is empty at first; and against a proxy before it that loses answers.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, request as ask, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import {
  type Answer, type CallOptions, inPath, NoAnswer, type OperationName, OutcomeUnknown, Problem, problemOf, PROBLEMS, Sapwood, type SapwoodOptions, TookTooLong,
  values,
} from "../src/index.js";
import * as problems from "../src/problems.js";
import { OPERATIONS } from "../src/generated/operations.js";

const url = process.env["SAPWOOD_API"]!;
const HOSTILE = ["ceo@example.org", "ORDER#98765", "a/b é", "x,y#1", ".", "..", "%41", "~40", "?a=b&c", "😀", "\u0000\n", "v0_", "e\u0301"];
const called = new Set<OperationName>();

class Recording extends Sapwood {
  protected override call<Body>(
    name: OperationName, path: Record<string, string | number>, query: object, body: unknown, options: CallOptions): Promise<Answer<Body>> {
    called.add(name);
    return super.call(name, path, query, body, options);
  }
}

const api = new Recording(url);
const direct = new Sapwood(url);
const ids = (items: { id: string }[]) => items.map(({ id }) => id);
const prefixed = () => crypto.randomUUID().slice(0, 8);
const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

test("the story of a tree, which leaves no call out", async () => {
  const root = await api.createNode({ id: "company", attributes: { owner: "ada", viewers: values.set(["eve", "bob"]) } }, { wait: 5 });
  assert.deepEqual([root.status, root.body.id, root.location], [201, "company", "/nodes/company"]);
  for (const id of HOSTILE) {
    const made = await api.createNode({ id, parent: "company", attributes: { name: id, size: 2 } }, { wait: 5 });
    assert.deepEqual([made.body.id, made.body.parent, made.location], [id, "company", `/nodes/${inPath(id)}`]);
    assert.equal((await api.getNode(id)).body.attributes["name"], id);
  }
  assert.deepEqual(ids(await api.listChildren("company", { limit: 2 }).all()), [...HOSTILE].sort(byBytes));
  let pages = 0;
  for await (const { items } of api.listChildren("company", { limit: 3 }).pages()) pages += items.length > 0 ? 1 : 0;
  assert.equal(pages, Math.ceil(HOSTILE.length / 3));
  const several = (await api.getNodes({ ids: [...HOSTILE, "nobody"] }).first()).body;
  assert.deepEqual([ids(several.items), several.missing], [HOSTILE, ["nobody"]]);
  assert.deepEqual([await api.count("company"), await api.count("company", { min_depth: 2 })], [HOSTILE.length, 0]);
  assert.deepEqual((await api.getTotals("company", { consistent: true })).body.sums, { size: 2 * HOSTILE.length });

  // Two of them move together, and whoever has read the old state is told.
  const [order, odd] = ["ORDER#98765", "a/b é"];
  const { etag } = await api.getNode(odd);
  const moved = await api.patchNode(odd, { parent: order, attributes: { name: null } }, { ifMatch: etag!, wait: 10, below: true });
  assert.deepEqual([moved.status, moved.body.attributes], [200, { size: 2 }]);
  await assert.rejects(api.patchNode(odd, { parent: "company" }, { ifMatch: etag! }), problems.PreconditionFailed);
  await assert.rejects(api.patchNode(order, { parent: odd }), (error: unknown) => {
    assert.ok(error instanceof problems.Cycle && error.name === "Cycle");
    assert.deepEqual([error.status, error.slug, error.field], [409, "cycle", "parent"]);
    return true;
  });
  await api.placed(order, { below: true });
  await api.placed(odd);
  assert.deepEqual(ids(await api.listAncestors(odd).all()), [order, "company"]);
  assert.deepEqual((await api.listDescendants("company", { min_depth: 2 }).all()).map(({ id, depth }) => [id, depth]), [[odd, 2]]);
  assert.ok(ids((await api.getTree("company", { max_depth: 1 })).body.children).includes(order));
  assert.deepEqual(ids(await api.listPaths("company", { path: [order, odd] }).all()), [odd]);
  assert.ok(ids(await api.listRoots({ order: "asc" }).all()).includes("company"));
  const owner = (await api.getInherited(odd, { attributes: "owner" })).body.nearest!["owner"]!;
  assert.deepEqual([owner.value, owner.from, owner.levels_up], ["ada", "company", 2]);
  assert.ok((await api.getGranted(odd, { attribute: "viewers", principal: ["bob"] })).body.allowed);

  // Values without loss, and siblings in an order by hand.
  const written = {
    set: values.set(["a", "b"]), bytes: values.binary(Uint8Array.of(0, 255)), long: values.number(12345678901234567890123456789012345678n),
    list: [null, true, { deep: 0.5 }], text: "é\u0000",
  };
  await api.putNode("values", { parent: "company", attributes: written }, { wait: 5 });
  const exact = await api.getNode("values", {}, { exactNumbers: true });
  assert.deepEqual(exact.body.attributes, written);
  assert.deepEqual([...values.bytes(written.bytes)], [0, 255]);
  await api.batch({ operations: ["one", "two", "three"].map(id => ({ put: { id, parent: "values", position: "last" as const } })) }, { wait: 5 });
  await api.patchNode("three", { position: { before: "two" } }, { wait: 5 });
  assert.deepEqual(ids(await api.listChildren("values", { order: "asc" }).all()), ["one", "three", "two"]);

  // Revisions: appended, with their node, amended, removed.
  const audit = "Audit#wheel/2";
  for (const result of ["passed", "failed"]) await api.appendRevision(odd, audit, { attributes: { result } }, { wait: 5 });
  const saved = await api.patchNode(odd, { revision: { topic: "Text", attributes: { text: "1" } } }, { wait: 5 });
  assert.equal(saved.body.revision!.version, 1);
  assert.equal((await api.getLatest(odd, audit)).body.version, 2);
  assert.deepEqual((await api.listLatest(odd).all()).map(({ topic }) => topic), [audit, "Text"]);
  assert.deepEqual((await api.listTopic(odd, audit, { order: "desc", limit: 1 }).all()).map(({ version }) => version), [2, 1]);
  await api.amendRevision(odd, audit, 1, { attributes: { result: "unclear" } });
  assert.deepEqual((await api.getRevision(odd, audit, 1)).body.attributes, { result: "unclear" });
  assert.equal((await api.removeRevision(odd, audit, 2)).status, 204);
  assert.equal((await api.listRevisions(odd).all()).length, 2);

  // Links, a copy, the trash, and the end.
  await api.createNode({ id: "mouse order", parent: order, attributes: { product: values.set(["P#17", "P#4"]) } }, { wait: 5 });
  assert.deepEqual(ids(await api.listLinks("P#17", "product", { ancestors: true }).all()), ["mouse order"]);
  const copy = await api.copyNode(order, { ids: "copy", segment: "a copy" });
  await api.done(copy);
  assert.equal((await api.getOperation(copy.body.id)).body.copied, 3);
  await api.placed("copy", { below: true });
  assert.equal(await api.count("copy"), 2);
  await api.trashNode("copy", { wait: 5, below: true });
  assert.deepEqual(ids(await api.listTrash().all()), ["copy"]);
  await api.restoreNode("copy", {}, { wait: 5, below: true });
  await assert.rejects(api.deleteNode("copy"), problems.HasChildren);
  const begun = await api.deleteNode("copy", { children: "delete" });
  assert.equal(begun.status, 202);
  await api.done(begun);
  assert.ok(ids(await api.listOperations({ status: "done", limit: 1 }).all()).includes(begun.body.id));
  await api.done(await api.deleteNode("mouse order"));
  await assert.rejects(api.getNode("mouse order"), problems.NotFound);
  assert.equal((await api.getPropagation(odd, { below: true })).body.below!.up_to_date, true);

  // The feed has the tree first, and says what changed lately.
  for await (const { changes } of api.follow("company")) {
    for (const id of [...HOSTILE, "values", "three"]) assert.ok(ids(changes).includes(id), id);
    break;
  }
  assert.ok(ids(await api.listRecent("company").all()).includes(HOSTILE[0]!));
  assert.ok((await api.getIndex()).body && (await api.getHealth()).body.status === "ok");
  await assert.rejects(api.getAudit(), problems.NotFound);
  assert.deepEqual([...called].sort(), Object.keys(OPERATIONS).sort(), "a call that no test makes");
});

test("answers say what headers said", async () => {
  const id = prefixed();
  const named = { minimal: true, idempotencyKey: `"${id}\\` };
  const made = await api.createNode({ id }, named);
  assert.deepEqual([made.status, made.body, made.replayed], [204, undefined, false]);
  const again = await api.createNode({ id }, named);
  assert.ok(again.replayed && again.etag === made.etag && made.written);
  assert.equal((await api.getNode(id, {}, { ifNoneMatch: made.etag! })).status, 304);
  await assert.rejects(api.createNode({ id: `${id}2` }, named), problems.IdempotencyMismatch);
  await assert.rejects(api.createNode({ id }), problems.Exists);
  await assert.rejects(api.listChildren(id, { limit: 0 }).all(), (error: unknown) => error instanceof problems.BadParameter && error.field === "limit");
  await api.putNode(id, { parent: null, segment: `Folder ${id}` });
  await assert.rejects(api.createNode({ segment: `FOLDER ${id}` }), (error: unknown) =>
    error instanceof problems.NameTaken && error.node === id && error.location === `/nodes/${id}`);
  const { results } = (await api.batch({ operations: [{ delete: { id: `${id} nobody` } }, { put: { id: `${id} b`, parent: id } }] })).body;
  assert.deepEqual(results.map(({ status }) => status), [404, 201]);
  assert.ok(problemOf(results[0]!.problem!) instanceof problems.NotFound);
});

test("a session reads what it has written: more writes than a read takes tokens, and in another session", async () => {
  const id = prefixed();
  const session = api.session();
  await session.createNode({ id });
  for (let position = 0; position < 25; position++) {
    await session.createNode({ id: `${id}-${position}`, parent: id });
    if (position % 6 === 0) {
      assert.equal((await session.listChildren(id, { limit: 5 }).all()).length, position + 1);
      assert.deepEqual(session.written, []);
    }
  }
  await session.batch({ operations: Array.from({ length: 25 }, (_, position) => ({ put: { id: `${id}-b${position}`, parent: id } })) });
  await session.patchNode(`${id}-0`, { parent: `${id}-1`, revision: { topic: "T", attributes: {} } });
  assert.equal(session.written.length, 27);
  const other = api.session();
  other.mustShow(...session.written);
  for (const reader of [session, other]) {
    assert.equal(await reader.count(id), 50);
    assert.deepEqual(reader.written, []);
    assert.equal((await reader.getLatest(`${id}-0`, "T")).body.version, 1);
    assert.deepEqual(ids(await reader.listChildren(`${id}-1`).all()), [`${id}-0`]);
  }
  await session.done(await session.deleteNode(id, { children: "delete" }));
  await assert.rejects(session.listChildren(id).all(), problems.NotFound);
});

test("a session writes to what it lists, several writes at once", async () => {
  const [id, session] = [prefixed(), api.session()];
  await session.createNode({ id });
  const shown = Array.from({ length: 20 }, async (_, position) => {
    await session.createNode({ id: `${id}-${position}`, parent: id });
    return ids(await session.listChildren(id).all()).includes(`${id}-${position}`);
  });
  assert.ok((await Promise.all(shown)).every(Boolean));
  for await (const child of session.listChildren(id, { limit: 1 })) await session.patchNode(child.id, { attributes: { seen: true } });
  assert.ok((await session.listChildren(id).all()).every(({ attributes }) => attributes["seen"]));
});

test("a session deletes no parent of what it has created", async () => {
  const session = api.session();
  for (let round = 0; round < 20; round++) {
    const { id } = (await session.createNode({})).body;
    const child = (await session.createNode({ parent: id })).body;
    await assert.rejects(session.deleteNode(id), problems.HasChildren);
    await session.deleteNode(child.id);
    assert.equal((await session.deleteNode(id)).status, 204);
  }
});

const token = (derived: Record<string, unknown>) => Buffer.from(JSON.stringify(derived)).toString("base64url");
const of = (node: string) => token({ node });

/** A session whose next requests have these answers; later ones have 200. It keeps what it has asked. */
class Scripted {
  asked: { method: string; path: string; written: string[]; consistent: string | null }[] = [];
  answers: (() => Response)[] = [];
  readonly session = new Sapwood("http://x", {
    attempts: 2,
    fetch: async (input, init) => {
      const { pathname: path, searchParams } = new URL(String(input));
      this.asked.push({ method: init!.method!, path, written: searchParams.getAll("written"), consistent: searchParams.get("consistent") });
      return (this.answers.shift() ?? (() => new Response('{"items": []}')))();
    },
  }).session();

  async wrote(...tokens: string[]): Promise<void> {
    for (const one of tokens) {
      this.answers.push(() => new Response("{}", { status: 201, headers: { "sapwood-consistency-token": one } }));
      await this.session.createNode({});
    }
    this.asked = [];
  }

  /** The tokens, and whether it is strong, of each request that a read makes. */
  async reads(): Promise<[string[], string | null][]> {
    this.asked = [];
    await this.session.listRoots().all();
    return this.asked.map(({ written, consistent }) => [written, consistent]);
  }
}

const refused = (status: number, slug: string) => () => {
  const body = { type: `urn:sapwood:problem:${slug}`, title: "T", status, detail: "D" };
  return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/problem+json" } });
};

test("a tree is followed from a cursor, until it must be listed again", async () => {
  const asked: (string | null)[][] = [], seen: string[] = [];
  const page = (cursor: string, has_more: boolean) => () => Response.json({ changes: [{ id: `node ${cursor}`, node: null }], cursor, has_more });
  const answers = [page("b", true), page("c", false), refused(410, "list-anew")];
  const api = new Sapwood("http://x", {
    fetch: async (input, init) => {
      asked.push([new URL(String(input)).searchParams.get("cursor"), new Headers(init?.headers).get("prefer")]);
      return answers.shift()!();
    },
  });
  await assert.rejects(async () => {
    for await (const { changes } of api.follow("r", { cursor: "a", wait: 5, every: 1 })) seen.push(changes[0]!.id);
  }, problems.ListAnew);
  assert.deepEqual([seen, asked], [["node b", "node c"], [["a", "wait=5"], ["b", "wait=5"], ["c", "wait=5"]]]);
});

test("tokens go once a read has shown them, and stay after one that was refused or not answered", async () => {
  const scripted = new Scripted();
  const [a, b] = [of("a"), of("b")];
  await scripted.wrote(a, b, a);
  const lost = () => { throw new TypeError("fetch failed"); };
  for (const failed of [refused(409, "not-up-to-date"), refused(404, "not-found"), lost, () => new Response("<html>")]) {
    scripted.answers = [failed, failed];
    await assert.rejects(scripted.reads());
    scripted.answers = [];
    assert.deepEqual(scripted.session.written, [b, a]);
  }
  assert.deepEqual(await scripted.reads(), [[[b, a], "true"]]);
  assert.deepEqual([scripted.session.written, await scripted.reads()], [[], [[[], "true"]]]);
});

test("what is written during a read stays", async () => {
  const scripted = new Scripted();
  await scripted.wrote(of("a"), of("b"));
  scripted.answers.push(() => {
    scripted.session.mustShow(of("a"), of("c"));
    return new Response('{"items": []}');
  });
  assert.deepEqual(await scripted.reads(), [[[of("a"), of("b")], "true"]]);
  assert.deepEqual(scripted.session.written, [of("a"), of("c")]);
});

test("there is one token for a node, a topic and an operation", async () => {
  const { session } = new Scripted();
  const copy = (...of: unknown[]) => token({ copy: of });
  session.mustShow(copy("a", "T", 3), copy("a", "T", 2), copy("a", "U", 1), copy("b", "T", 1), of("é"), "of a later version", of("d"), undefined);
  assert.deepEqual([session.written.length, session.written[0]], [6, copy("a", "T", 3)]);
  // That of an operation is about its node, too, but not the other way round.
  const operation = token({ operation: ["o", "é"] });
  session.mustShow(operation);
  assert.deepEqual([session.written.includes(of("é")), session.written.includes(operation)], [false, true]);
  session.mustShow(of("é"), token({ operation: ["o2", "é"] }));
  assert.equal(session.written.length, 7);
});

test("no token is lost where there are more than a read takes", async () => {
  const scripted = new Scripted();
  const tokens = Array.from({ length: 25 }, (_, number) => of(`${number}`));
  await scripted.wrote(...tokens);
  scripted.answers = [() => new Response('{"items": []}'), refused(409, "not-up-to-date")];
  await assert.rejects(scripted.reads(), problems.NotUpToDate);
  assert.deepEqual(scripted.session.written, tokens.slice(10));
  assert.deepEqual((await scripted.reads()).map(([written]) => written), [tokens.slice(10, 20), tokens.slice(20)]);
  assert.deepEqual(scripted.asked.map(({ path }) => path), ["/nodes", "/roots"]);
  // A URL has room for fewer long ones.
  const long = Array.from({ length: 10 }, (_, number) => of(`${number}`.repeat(1_000)));
  scripted.session.mustShow(...long);
  assert.deepEqual((await scripted.reads()).map(([written]) => written), [long.slice(0, 4), long.slice(4, 8), long.slice(8)]);
});

test("all pages of a list are strong: a cursor is for reads of one strength", async () => {
  const scripted = new Scripted();
  scripted.answers.push(() => new Response('{"items": [], "cursor": "c"}'));
  for await (const _ of scripted.session.listRoots().pages()) if (scripted.asked.length === 1) scripted.session.mustShow(of("a"));
  assert.deepEqual(scripted.asked.map(({ written, consistent }) => [written, consistent]), [[[], "true"], [[of("a")], "true"]]);
});

test("a deletion has tokens, the same in each attempt", async () => {
  const scripted = new Scripted();
  const { session } = scripted;
  await scripted.wrote(of("a"));
  const unknown = () => {
    session.mustShow(of("b"));
    return refused(503, "outcome-unknown")();
  };
  scripted.answers = [unknown, unknown, refused(409, "has-children")];
  await assert.rejects(session.deleteNode("d"), OutcomeUnknown);
  const attempt = { method: "DELETE", path: "/nodes/d", written: [of("a")], consistent: null };
  assert.deepEqual(scripted.asked, [attempt, attempt]);
  await assert.rejects(session.deleteNode("d"), problems.HasChildren);
  assert.deepEqual(session.written, [of("a"), of("b")]);
  // One that was answered has shown them, and has a token of its own.
  scripted.answers = [() => new Response(null, { status: 204, headers: { "sapwood-consistency-token": of("d") } })];
  await session.deleteNode("d");
  assert.deepEqual([scripted.asked.at(-1)!.written, session.written], [[of("a"), of("b")], [of("d")]]);
});

test("what a write has begun is waited for", async () => {
  const id = prefixed();
  await api.done(await api.createNode({ id }));
  for (let at = 0; at < 6; at++) await api.createNode({ id: `${id}-${at}`, parent: at === 0 ? id : `${id}-${at - 1}` }, { wait: 5 });
  await api.createNode({ id: `${id}-to`, parent: id }, { wait: 5 });
  const moved = await api.patchNode(`${id}-0`, { parent: `${id}-to` });
  assert.match(moved.location!, /propagation/);
  await api.done(moved);
  assert.deepEqual((await api.listDescendants(id, { min_depth: 2 }).all()).map(({ depth }) => depth), [2, 3, 4, 5, 6, 7]);
  // What was done at once, and what is named by its operation.
  await api.done(await api.deleteNode(`${id}-5`));
  const begun = await api.deleteNode(id, { children: "delete" });
  await api.done(begun.body.id);
  await api.done(begun);
  assert.equal((await api.getOperation(begun.body.id)).body.status, "done");
});

test("what a write has begun is waited for by an answer without a body, by a batch's, and by a revision's", async () => {
  const asked: string[] = [];
  const noting = new Sapwood(url, {
    fetch: (input, init) => {
      if (init?.method === "GET") asked.push(String(input).slice(url.length));
      return fetch(input, init);
    },
  });
  const id = `a/b ${prefixed()}`;
  await noting.createNode({ id });
  await noting.createNode({ id: `${id}-0`, parent: id }, { wait: 5 });
  await noting.createNode({ id: `${id}-to`, parent: id }, { wait: 5 });
  await noting.done(await noting.patchNode(`${id}-0`, { parent: `${id}-to` }, { minimal: true }));
  assert.ok(asked.pop()!.startsWith(`/nodes/${inPath(`${id}-0`)}/propagation?below=true`));
  // No node has this id, so only the token tells of the revision. An answer is 202 if its wait was too short.
  const appended = await noting.appendRevision(`${id} nobody`, "Audit", { attributes: {} });
  await noting.done({ ...appended, status: 202 });
  assert.ok(asked.pop()!.includes(`written=${appended.written}`));
  await noting.done(await noting.batch({ operations: [{ patch: { id: `${id}-0`, parent: id } }, { delete: { id: `${id}-to` } }] }));
  await noting.done(await noting.batch({ operations: [{ delete: { id, children: "delete" } }] }));
  assert.ok(asked.pop()!.startsWith("/operations/"));
  await assert.rejects(noting.getNode(`${id}-0`), problems.NotFound);
});

test("what takes too long is told, and a caller may end a call", async () => {
  const never = new Sapwood(url, {
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      if (!String(input).includes("/operations/")) return response;
      return new Response((await response.text()).replace('"done"', '"running"'), response);
    },
  });
  const id = prefixed();
  await api.createNode({ id });
  await api.createNode({ parent: id }, { wait: 5 });
  await assert.rejects(never.done(await never.deleteNode(id, { children: "delete" }), { timeout: 200 }), TookTooLong);
  await assert.rejects(api.getNode(id, {}, { signal: AbortSignal.abort(new Error("ended")) }), /ended/);
});

type Order =
  | "pass" | "lose" | "drop" | number
  | { status: number; slug: string; headers?: Record<string, string> } | { status: number; text: string; headers: Record<string, string> };

/**
 * Hands requests on, and does with each answer what the next order says: `lose` closes the connection after the API has answered, `drop` before
 * it was asked, a number or a problem is answered in the API's place, and `pass` hands the answer on, as for all requests after the last.
 */
class Proxy {
  readonly seen: string[] = [];
  orders: Order[] = [];
  private readonly server = createServer((request, response) => void this.handled(request, response));

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  begin = () => new Promise<void>(done => this.server.listen(0, "127.0.0.1", done));

  end(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  given(...orders: Order[]): this {
    this.seen.length = 0;
    this.orders = orders;
    return this;
  }

  private async handled(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.seen.push(`${request.method} ${request.headers["idempotency-key"] ?? "-"}`);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const order = this.orders.shift() ?? "pass";
    if (order === "drop") return void request.socket.destroy();
    if (typeof order === "number") return void response.writeHead(order, { "content-type": "application/json" }).end('{"message": "of the gateway"}');
    if (typeof order === "object" && "text" in order) return void response.writeHead(order.status, order.headers).end(order.text);
    if (typeof order === "object") {
      const body = { type: `urn:sapwood:problem:${order.slug}`, title: "T", status: order.status, detail: "D" };
      return void response.writeHead(order.status, { "content-type": "application/problem+json", ...order.headers }).end(JSON.stringify(body));
    }
    const headers = { ...request.headers, host: new URL(url).host, connection: "close" };
    const upstream = ask(new URL(request.url!, url), { method: request.method!, headers }, answer => {
      const text: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => text.push(chunk)).on("end", () => {
        if (order === "lose") return request.socket.destroy();
        response.writeHead(answer.statusCode!, { ...answer.headers, connection: "keep-alive" }).end(Buffer.concat(text));
      });
    });
    upstream.end(Buffer.concat(chunks));
  }
}

const proxy = new Proxy();
before(() => proxy.begin());
after(() => proxy.end());

/** A client behind the proxy that waits a twentieth of the time, and keeps how long it should have waited. */
class Quick extends Sapwood {
  readonly paused: number[] = [];

  constructor(options: SapwoodOptions = {}) {
    super(proxy.url, options);
    const { pause } = this.sender;
    this.sender.pause = (milliseconds, signal) => {
      this.paused.push(milliseconds);
      return pause(milliseconds / 20, signal);
    };
  }
}
const soon = { headers: { "retry-after": "0" } };

async function made(): Promise<string> {
  const id = prefixed();
  await direct.createNode({ id });
  return id;
}

test("what is named is done once", async () => {
  const id = await made();
  const count = async () =>
    (await direct.listChildren(id, { consistent: true }).all()).length + (await direct.listRevisions(id, { consistent: true }).all()).length;
  const wait = { wait: 5 };
  const calls: [(through: Sapwood) => Promise<Answer<unknown>>, number][] = [
    [through => through.createNode({ parent: id }, wait), 201],
    [through => through.appendRevision(id, "Audit", { attributes: {} }, wait), 201],
    [through => through.putNode(id, { parent: null, revision: { topic: "Text", attributes: {} } }, wait), 200],
    [through => through.batch({ operations: [{ put: { parent: id } }] }, wait), 200],
    [async through => through.deleteNode((await direct.listChildren(id, { consistent: true }).all())[0]!.id, {}, wait), 204],
  ];
  const unknown: Order[] = [{ status: 503, slug: "outcome-unknown" }, { status: 500, slug: "internal", ...soon }];
  for (const lost of ["lose", "drop", 503, 500, ...unknown] as const) {
    for (const [call, wanted] of calls) {
      const earlier = await count();
      proxy.given(lost, lost);
      const answer = await call(new Quick());
      const what = `${JSON.stringify(lost)} ${wanted}`;
      assert.deepEqual([answer.status, proxy.seen.length, new Set(proxy.seen).size, answer.replayed], [wanted, 3, 1, lost === "lose"], what);
      assert.equal(await count() - earlier, wanted === 204 ? -1 : 1, what);
    }
  }
});

test("what has no name isn't done again", async () => {
  const id = await made();
  for (const lost of ["lose", "drop", 503, { status: 503, slug: "outcome-unknown", headers: { location: `/nodes/${id}` } }] as const) {
    proxy.given(lost);
    const call = new Quick({ idempotencyKeys: false }).appendRevision(id, "Log", { attributes: {} });
    await assert.rejects(call, (error: unknown) => error instanceof OutcomeUnknown && error.location!.includes(id));
    assert.equal(proxy.seen.length, 1);
  }
});

test("a PUT is done again, and tells if its condition is gone", async () => {
  const id = await made();
  proxy.given("lose");
  const put = await new Quick().putNode(id, { parent: null, attributes: { a: 1 } });
  assert.deepEqual([put.body.attributes, proxy.seen], [{ a: 1 }, ["PUT -", "PUT -"]]);
  const change = { attributes: { a: 2 } };
  proxy.given("lose");
  await assert.rejects(new Quick().patchNode(id, change, { ifMatch: put.etag! }), OutcomeUnknown);
  proxy.given("drop");
  assert.equal((await new Quick().patchNode(id, change, { ifMatch: (await direct.getNode(id)).etag! })).status, 200);
  // What the API itself doesn't know isn't sent again blindly.
  proxy.given({ status: 503, slug: "outcome-unknown" });
  await assert.rejects(new Quick().patchNode(id, change), OutcomeUnknown);
  assert.equal(proxy.seen.length, 1);
});

test("what was refused for a moment is asked again", async () => {
  const id = await made();
  for (const refusal of [429, { status: 503, slug: "unavailable", ...soon }, { status: 409, slug: "in-progress", ...soon }] as const) {
    for (const idempotencyKeys of [true, false]) {
      proxy.given(refusal, refusal);
      const { status } = await new Quick({ idempotencyKeys }).createNode({ parent: id });
      assert.deepEqual([status, proxy.seen.length], [201, 3]);
    }
  }
});

test("it gives up", async () => {
  const id = await made();
  const asks = async (error: new (...given: never[]) => Error, attempts: number, order: Order, call = (through: Sapwood): Promise<unknown> => through.getNode(id)) => {
    proxy.given(...Array.from({ length: 9 }, () => order));
    await assert.rejects(call(new Quick({ attempts })), (found: unknown) => found instanceof error, JSON.stringify(order));
    assert.equal(proxy.seen.length, attempts);
  };
  await asks(NoAnswer, 3, "drop");
  await asks(problems.Throttled, 2, 429);
  await asks(Problem, 2, 503);
  await asks(OutcomeUnknown, 2, "drop", through => through.createNode({}));
  await asks(problems.Unauthorized, 1, 401);
  await asks(problems.Forbidden, 1, 403);
  await asks(problems.Unavailable, 2, { status: 503, slug: "unavailable", ...soon });
  await asks(problems.NotUpToDate, 1, { status: 409, slug: "not-up-to-date" });
  // Nobody is there, so nothing was done.
  const gone = new Proxy();
  await gone.begin();
  const nobody = new Sapwood(gone.url, { attempts: 2 });
  gone.end();
  await assert.rejects(nobody.createNode({}), NoAnswer);
  await assert.rejects(nobody.getNodes({ ids: ["secret"] }).all(), (error: unknown) => {
    assert.ok(error instanceof NoAnswer);
    assert.match(error.message, new RegExp(`^no answer to GET ${nobody.url}/nodes: fetch failed: connect ECONNREFUSED 127`));
    return true;
  });
  // A name of two addresses: the cause has no message of its own, and is of two errors.
  const { port } = new URL(nobody.url);
  await assert.rejects(new Sapwood(`http://localhost:${port}`, { attempts: 1 }).getHealth(), /localhost:\d+\/health: fetch failed: .*ECONNREFUSED/);
  await assert.rejects(new Sapwood("http://nobody.invalid", { attempts: 1 }).getHealth(), /http:\/\/nobody\.invalid\/health: .*(ENOTFOUND|EAI_AGAIN)/);
  // A `fetch` whose message has the URL: neither the query nor the password is told.
  const telling = new Sapwood("http://me:secret@x", { attempts: 1, fetch: async input => { throw new TypeError(`no such URL ${String(input)}`); } });
  await assert.rejects(telling.getNodes({ ids: ["secret"] }).all(), /^NoAnswer: no answer to GET http:\/\/x\/nodes: no such URL http:\/\/x\/nodes$/);
});

test("an attempt that may have been done isn't forgotten when a later one is refused", async () => {
  const id = await made();
  const create = (through: Sapwood) => through.createNode({ parent: id });
  const inProgress = { status: 409, slug: "in-progress", headers: { "retry-after": "0" } };
  const forbidden = { status: 403, slug: "forbidden" };
  for (const [refusal, attempts] of [[429, 3], [inProgress, 3], [401, 2], [403, 2], [forbidden, 2]] as const) {
    proxy.given("lose", ...Array.from({ length: 9 }, () => refusal));
    await assert.rejects(create(new Quick({ attempts: 3 })), (error: unknown) => error instanceof OutcomeUnknown && error.cause instanceof Problem);
    assert.equal(proxy.seen.length, attempts, JSON.stringify(refusal));
  }
  proxy.given("lose", 401);
  await assert.rejects(new Quick().patchNode(id, { attributes: { a: 1 } }), OutcomeUnknown);
  // The API's own refusal of a request with a key is about all its attempts.
  proxy.given("drop", { status: 409, slug: "deleting" });
  await assert.rejects(create(new Quick()), problems.Deleting);
  // What the API names to read stays named.
  proxy.given({ status: 503, slug: "outcome-unknown", headers: { location: "/nodes/named" } }, 401);
  await assert.rejects(create(new Quick()), (error: unknown) => error instanceof OutcomeUnknown && error.location === "/nodes/named");
});

test("an answer says how long to wait, up to a minute", async () => {
  const id = await made();
  const later = (status: number, seconds: string): Order => ({ status, text: "{}", headers: { "retry-after": seconds } });
  const quick = new Quick();
  for (const status of [429, 503]) {
    proxy.given(later(status, "2"));
    assert.equal((await quick.getNode(id)).status, 200);
    assert.equal(quick.paused.pop(), 2_000);
    proxy.given(later(status, "61"));
    await assert.rejects(quick.getNode(id), (error: unknown) => error instanceof Problem && error.status === status);
    assert.equal(proxy.seen.length, 1);
  }
});

test("answers of others, and of later versions, are understood", async () => {
  const id = await made();
  const problem = { "content-type": "application/problem+json" };
  const mayBeDone: Order[] = [
    { status: 500, slug: "of-a-later-version" },
    { status: 502, text: '{"type": "https://example.org/problem"}', headers: problem },
    { status: 503, text: "no JSON", headers: problem },
    { status: 200, text: "<html>", headers: { "content-type": "text/html" } },
    ...[200, 201].map(status => ({ status, text: "", headers: { "content-type": "application/json" } })),
    { status: 200, text: '{"id": "cut o', headers: { "content-type": "application/json" } },
  ];
  for (const order of mayBeDone) {
    proxy.given(order);
    assert.equal((await new Quick().createNode({ parent: id })).status, 201);
    assert.equal(new Set(proxy.seen).size, 1);
    proxy.given(order);
    await assert.rejects(new Quick({ idempotencyKeys: false }).createNode({ parent: id }), OutcomeUnknown);
    assert.equal(proxy.seen.length, 1);
  }
  for (const text of ["null", "{}", "[]", '{"type": 1}', '{"type": "about:blank"}', "<html>"]) {
    proxy.given({ status: 404, text, headers: problem });
    await assert.rejects(new Quick().getNode(id), problems.NotFound);
  }
  proxy.given(...Array.from({ length: 5 }, () => mayBeDone[3]!));
  await assert.rejects(new Quick().getNode(id), NoAnswer);
});

test("what JSON has no form of is written, or refused before it is sent", async () => {
  const attributes = { tags: new Set(["a", "b"]), long: 12345678901234567890n, deep: [{ bytes: Uint8Array.of(0, 255), buffer: Buffer.from([1]) }] };
  const id = await made();
  await direct.patchNode(id, { attributes });
  assert.deepEqual((await direct.getNode(id, {}, { exactNumbers: true })).body.attributes, {
    tags: values.set(["a", "b"]), long: values.number("12345678901234567890"), deep: [{ bytes: { $binary: "AP8=" }, buffer: { $binary: "AQ==" } }],
  });
  proxy.given();
  for (const wrong of [NaN, Infinity, new Map()]) await assert.rejects(new Quick().patchNode(id, { attributes: { wrong } }), TypeError);
  const cycle: Record<string, unknown> = {};
  cycle["itself"] = cycle;
  await assert.rejects(new Quick().createNode({ attributes: cycle }), TypeError);
  assert.equal(proxy.seen.length, 0);
});

test("a query is in the URL as signatures and older browsers want it", async () => {
  const size = Object.getOwnPropertyDescriptor(URLSearchParams.prototype, "size")!;
  const asked: string[] = [];
  const noting = new Sapwood(url, {
    fetch: (input, init) => {
      asked.push(String(input));
      return fetch(input, init);
    },
  });
  Object.defineProperty(URLSearchParams.prototype, "size", { value: undefined, configurable: true });
  try {
    await noting.getNodes({ ids: ["a b", "a+b"] }).first();
    await noting.getHealth();
  } finally {
    Object.defineProperty(URLSearchParams.prototype, "size", size);
  }
  assert.deepEqual(asked, [`${url}/nodes?ids=a%20b&ids=a%2Bb`, `${url}/health`]);
});

test("reads are asked again, each page by itself, and headers may be asked for", async () => {
  const id = await made();
  proxy.given("drop", 502, "lose", { status: 503, slug: "unavailable", ...soon });
  assert.equal((await new Quick().getNode(id)).body.id, id);
  assert.equal(proxy.seen.length, 5);
  const children = [0, 1, 2, 3].map(position => `${id}-${position}`);
  for (const child of children) await direct.createNode({ id: child, parent: id }, { wait: 5 });
  proxy.given("lose", "pass", "lose", "pass", 503, "drop");
  assert.deepEqual(ids(await new Quick().listChildren(id, { limit: 2 }).all()), children);
  let asked = 0;
  proxy.given("drop");
  await new Quick({ headers: async () => ({ authorization: `Bearer ${++asked}` }) }).getNode(id);
  assert.equal(asked, 2);
});

test("there is a class for each type of problem", () => {
  const kinds = readFileSync(new URL("../../../../shared/api/src/problem/kind.rs", import.meta.url), "utf8");
  const slugs = [...kinds.matchAll(/\w+ => \("([a-z-]+)", "/g)].map(([, slug]) => slug!);
  assert.deepEqual([...Object.keys(PROBLEMS), "outcome-unknown"].sort(), slugs.sort());
  assert.ok(slugs.length > 30);
  for (const [slug, kind] of Object.entries(PROBLEMS)) {
    const found = problemOf({ type: `urn:sapwood:problem:${slug}`, title: "T", status: 409, detail: "D" });
    assert.ok(found.constructor === kind && found instanceof Problem && found.slug === slug);
  }
  for (const slug of ["of-a-later-version", "constructor", "__proto__"]) {
    const later = problemOf({ type: `urn:sapwood:problem:${slug}`, title: "T", status: 409, detail: "D" });
    assert.ok(later.constructor === Problem && later.message === "T: D");
  }
  assert.throws(() => inPath("\ud800"), URIError);
});
