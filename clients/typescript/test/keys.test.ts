// The key helpers make what the handler makes (tests/vectors/keys.json), and refuse what it refuses.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as keys from "../src/keys.js";
import { InvalidKey, KeyRange, Keys, type OrderValue } from "../src/keys.js";

type Text = string | [string, number][];
interface Vector { helper: string; of: Record<string, any>; tenant?: string; node?: string; pk: Text; low: Text; high?: Text; error?: string }
const vectors = JSON.parse(readFileSync(new URL("../../../../tests/vectors/keys.json", import.meta.url), "utf8"));

const read = (text: Text) => typeof text === "string" ? text : text.map(([piece, times]) => piece.repeat(times)).join("");
const optional = (text: Text | undefined) => text === undefined ? undefined : read(text);
const orderValue = (value: Text | { number: string } | undefined): OrderValue | undefined =>
  value === undefined || (typeof value === "object" && "number" in value) ? value : read(value);

const HELPERS: Record<string, (table: Keys, of: Vector["of"]) => KeyRange> = {
  node: (table, of) => table.node(read(of.id)),
  revision: (table, of) => table.revision(read(of.id), read(of.topic), of.version),
  latest: (table, of) => table.latest(read(of.id), read(of.topic)),
  latestOf: (table, of) => table.latestOf(read(of.id), read(of.topicPrefix)),
  descendants: (table, of) => table.descendants(read(of.id), of),
  level: (table, of) => table.level(read(of.id), of.depth, read(of.idPrefix)),
  path: (table, of) => table.path(read(of.root), of.segments.map(read)),
  pathAlone: (table, of) => table.pathAlone(read(of.root), of.segments.map(read)),
  pathBetween: (table, of) => table.pathBetween(read(of.root), of.above.map(read), { from: optional(of.from), to: optional(of.to) }),
  links: (table, of) => table.links(read(of.target), of.attribute, read(of.idPrefix)),
  orphansOf: (table, of) => table.orphansOf(read(of.parent)),
  trash: (table, of) => table.trash(of),
  roots: table => table.roots(),
  totals: (table, of) => table.totals(of.id),
  childrenInOrder: (table, of) => table.childrenInOrder(read(of.id), bounds(of.bounds)),
  rootsInOrder: (table, of) => table.rootsInOrder(bounds(of.bounds)),
};
const bounds = (of: Record<string, any>) =>
  ({ from: orderValue(of.from), to: orderValue(of.to), prefix: optional(of.prefix), attributes: of.attributes });
const refused = (make: () => unknown, kind: string) =>
  assert.throws(make, (error: unknown) => error instanceof InvalidKey && error.kind === kind, kind);

test("every range is the handler's", () => {
  const helpers = new Set<string>();
  for (const vector of vectors.ranges as Vector[]) {
    helpers.add(vector.helper);
    const make = () => HELPERS[vector.helper]!(new Keys(vector), vector.of);
    if (vector.error) {
      refused(make, vector.error);
      continue;
    }
    const made = make();
    assert.deepEqual([made.pk, made.low, made.high], [vector.pk, vector.low, vector.high ?? vector.low].map(read), JSON.stringify(vector));
  }
  assert.deepEqual([...helpers].sort(), Object.keys(HELPERS).sort());
  assert.ok(vectors.ranges.length > 1_000);
});

test("every number and every part is the handler's", () => {
  for (const { number, part, error } of vectors.numbers) {
    if (error) refused(() => keys.numberPart({ number }), "number");
    else assert.equal(keys.numberPart({ number }), part);
    // JavaScript's own numbers, where they say the same.
    if (!error && String(Number(number)) === number) assert.equal(keys.numberPart(Number(number)), part);
    if (!error && /^-?[0-9]+$/.test(number)) assert.equal(keys.numberPart(BigInt(number)), part);
  }
  for (const vector of vectors.escaped) {
    const [text, part] = [read(vector.text), read(vector.part)];
    assert.deepEqual([keys.escapePart(text), keys.unescapePart(part)], [part, text]);
  }
});

test("every sort key is read as the handler reads it", () => {
  const ranges = new Keys().revisions("d");
  assert.deepEqual(ranges.map(({ low, high }) => [low, high]), vectors.revisions);
  for (const { sk, revision, path } of vectors.sort_keys) {
    const sortKey = read(sk);
    assert.deepEqual(keys.parseRevision(sortKey), revision && { version: revision.version, topic: read(revision.topic) });
    if (revision) assert.equal(ranges.filter(range => range.contains(sortKey)).length, 1);
    else if (sortKey.startsWith("v0_")) assert.ok(!ranges.some(range => range.contains(sortKey)), sortKey);
    const wanted = path && { segments: path.segments.map(read), ...(path.id && { id: read(path.id) }) };
    assert.deepEqual(keys.parsePath(sortKey), wanted, sortKey);
  }
});

test("what the handler would refuse is refused", () => {
  const table = new Keys({ tenant: "acme" });
  refused(() => table.descendants("d", { max: 99 }), "depth");
  refused(() => table.descendants("d", { min: 1.5 }), "depth");
  refused(() => table.level("d", 0), "depth");
  refused(() => table.revision("d", "Audit", 0), "version");
  refused(() => table.nextRevision("d", "Audit", 999_999), "version");
  refused(() => table.childrenInOrder("d", { attributes: 5 }), "number");
  refused(() => table.childrenInOrder("d", { from: NaN }), "number");
  refused(() => table.node("\ud800"), "text");
  refused(() => table.path("d", ["a\udc00"]), "text");
  refused(() => new Keys({ tenant: "a#b" }), "separator");
  refused(() => new Keys({ tenant: "" }), "empty");
  refused(() => new Keys({ node: "A#" }), "names");
  refused(() => keys.padded(-1, 4), "number");
  refused(() => keys.padded(10_000, 4), "number");
});

test("conditions are as the AWS SDKs take them", () => {
  const range = new Keys({ node: "METADATA", partitionKey: "pk", sortKey: "sk" }).descendants("D", { max: 2 });
  assert.deepEqual(range.condition(), {
    KeyConditionExpression: "#pk = :pk AND #sk BETWEEN :low AND :high",
    ExpressionAttributeNames: { "#pk": "pk", "#sk": "sk" },
    ExpressionAttributeValues: { ":pk": "D", ":low": "METADATA#0001#", ":high": "METADATA#0002$" },
  });
  assert.deepEqual(range.typedCondition().ExpressionAttributeValues[":pk"], { S: "D" });
  assert.equal(keys.padded(7, 4), "0007");
  // By UTF-8, and not by UTF-16.
  assert.ok(keys.compareBytes("\uffff", "\u{10000}") < 0);
  assert.ok(new Keys().pathBetween("D", [], { from: "b", to: "a" }).isEmpty && !range.isEmpty);
});
