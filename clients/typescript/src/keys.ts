/**
 * The keys of Sapwood's table (docs/reference/table.md), for programs that query the table with an AWS SDK of their own.
 *
 * Each helper returns a range of one partition: `pk`, and the first and the last sort key, for `BETWEEN`. The tests hold all of them equal to
 * what the handler itself makes (`tests/vectors/keys.json`).
 */

/** Longest id of a node, longest segment of a path, in bytes of UTF-8. */
export const ID_BYTES_MAX = 1_014;
/** Longest sort key, in bytes of UTF-8. */
export const SORT_KEY_BYTES_MAX = 1_024;
/** Deepest level that has rows. */
export const DEPTH_MAX = 98;
/** Highest version of a revision. */
export const VERSION_MAX = 999_999;

const TENANT_BYTES_MAX = 2_048 - ID_BYTES_MAX - "TENANT##".length;
const PLACE_BYTES_MAX = 256;
const ORPHAN_PARTITIONS = 16;
const ORDER_ATTRIBUTES_MAX = 4;

/** Why a key can't be made. A key is never cut to fit. */
export type InvalidKeyKind = "empty" | "too-long" | "no-segments" | "depth" | "version" | "separator" | "number" | "text" | "names";

/** A key can't be made of these values. */
export class InvalidKey extends Error {
  override readonly name = "InvalidKey";
  constructor(readonly kind: InvalidKeyKind, message: string) {
    super(message);
  }
}

/** A number without loss: DynamoDB's have 38 digits, and JavaScript's 15 to 17. */
export type Numeric = number | bigint | { number: string };

/** A value by which siblings are ordered. */
export type OrderValue = string | Numeric;

/** The names in the table, where they aren't the usual ones, and the tenant. */
export interface KeyOptions {
  /** The sort key of a node's base record; `NODE` by default (`NodeSortKey`). */
  node?: string;
  /** The tenant whose items are meant, where the table has tenants. */
  tenant?: string;
  /** The name of the partition key's attribute; `PK` by default (`PartitionKey`). */
  partitionKey?: string;
  /** The name of the sort key's attribute; `SK` by default (`SortKey`). */
  sortKey?: string;
}

/** The condition of a Query, as the AWS SDKs take it. */
export interface KeyCondition {
  KeyConditionExpression: string;
  ExpressionAttributeNames: Record<string, string>;
  ExpressionAttributeValues: Record<string, string>;
}

/** The same for clients without a marshaller (`DynamoDBClient`). */
export interface TypedKeyCondition extends Omit<KeyCondition, "ExpressionAttributeValues"> {
  ExpressionAttributeValues: Record<string, { S: string }>;
}

/** A range of sort keys in one partition, both ends included. */
export class KeyRange {
  constructor(
    readonly pk: string,
    readonly low: string,
    readonly high: string,
    private readonly names: { partitionKey: string; sortKey: string } = { partitionKey: "PK", sortKey: "SK" },
  ) {}

  /** True if nothing can be in the range. DynamoDB refuses such a Query. */
  get isEmpty(): boolean {
    return compareBytes(this.low, this.high) > 0;
  }

  /** True if a sort key is in the range. */
  contains(sortKey: string): boolean {
    return compareBytes(this.low, sortKey) <= 0 && compareBytes(sortKey, this.high) <= 0;
  }

  /** The condition for the document client: `new QueryCommand({ TableName, ...range.condition() })`. */
  condition(): KeyCondition {
    return {
      KeyConditionExpression: "#pk = :pk AND #sk BETWEEN :low AND :high",
      ExpressionAttributeNames: { "#pk": this.names.partitionKey, "#sk": this.names.sortKey },
      ExpressionAttributeValues: { ":pk": this.pk, ":low": this.low, ":high": this.high },
    };
  }

  /** The condition for the plain client, whose values have types. */
  typedCondition(): TypedKeyCondition {
    const { ExpressionAttributeValues: values, ...rest } = this.condition();
    return { ...rest, ExpressionAttributeValues: Object.fromEntries(Object.entries(values).map(([name, S]) => [name, { S }])) };
  }
}

/** Which part of a list in the order of siblings is meant. `from` and `to` are included. */
export interface OrderBounds {
  from?: OrderValue;
  to?: OrderValue;
  /** Only siblings whose value is a text that begins so. It stands alone. */
  prefix?: string;
  /** How many attributes order siblings (`OrderAttribute=rank,name` are 2): they share a key's room. 1 by default. */
  attributes?: number;
}

/** A revision, as its sort key names it. */
export interface RevisionName {
  version: number;
  topic: string;
}

/** The keys of one table, or of one tenant in it. */
export class Keys {
  /** The sort key of a node's base record. */
  readonly nodeSortKey: string;
  private readonly tenant: string | undefined;
  private readonly names: { partitionKey: string; sortKey: string };

  constructor(options: KeyOptions = {}) {
    this.nodeSortKey = options.node ?? "NODE";
    this.names = { partitionKey: options.partitionKey ?? "PK", sortKey: options.sortKey ?? "SK" };
    this.tenant = options.tenant;
    if (this.nodeSortKey === "" || /[#$]/.test(this.nodeSortKey)) throw new InvalidKey("names", "the sort key of nodes is empty, or has `#` or `$`");
    if (this.tenant !== undefined) {
      bounded("the tenant", this.tenant, TENANT_BYTES_MAX);
      if (this.tenant.includes("#")) throw new InvalidKey("separator", "the tenant has `#`, which ends it in keys");
    }
  }

  /** The partition key of a node: its id, with the tenant before it. */
  partition(id: string): string {
    return this.inTenant(checkedId(id));
  }

  /** A node's base record. */
  node(id: string): KeyRange {
    return this.one(this.partition(id), this.nodeSortKey);
  }

  /** A node's lineage, which names its ancestors. */
  lineage(id: string): KeyRange {
    return this.one(this.partition(id), "LINEAGE");
  }

  /** What is below a node, from level `min` to level `max`. From 0 on the node's own base record comes first. */
  descendants(id: string, depth: { min?: number; max?: number } = {}): KeyRange {
    const { min = 1, max = DEPTH_MAX } = depth;
    const low = checkedDepth(min, 0) === 0 ? this.nodeSortKey : `${this.nodeSortKey}#${padded(min, 4)}#`;
    return this.range(this.partition(id), low, `${this.nodeSortKey}#${padded(checkedDepth(max, 0), 4)}$`);
  }

  /** The nodes at one level below a node whose ids begin with a text. The children are level 1. */
  level(id: string, depth: number, idPrefix = ""): KeyRange {
    return this.beginning(this.partition(id), `${this.nodeSortKey}#${padded(checkedDepth(depth, 1), 4)}#${idPrefix}`);
  }

  /** The children of a node, by their ids. */
  children(id: string, idPrefix = ""): KeyRange {
    return this.level(id, 1, idPrefix);
  }

  /** The children of a node in the order of `OrderAttribute`. */
  childrenInOrder(id: string, bounds: OrderBounds = {}): KeyRange {
    return this.inOrder(this.partition(id), "CHILD#", bounds);
  }

  /** All roots, by their ids. */
  roots(): KeyRange {
    return this.range(this.inTenant("ROOTS"), "ROOT#", "ROOT$");
  }

  /** All roots in the order of `OrderAttribute`. */
  rootsInOrder(bounds: OrderBounds = {}): KeyRange {
    return this.inOrder(this.inTenant("ROOTS"), "ORDERED#", bounds);
  }

  /** The nodes at a path below a root, and all that is below them, in pre-order. */
  path(root: string, segments: readonly string[]): KeyRange {
    const low = pathKey(segments);
    return this.range(this.partition(root), low, through(low, "$"));
  }

  /** The nodes at a path below a root alone. */
  pathAlone(root: string, segments: readonly string[]): KeyRange {
    const low = pathKey(segments);
    return this.range(this.partition(root), low, through(low, '"'));
  }

  /** What is below a path and has its next segment from one text to another, both included. Without a path: below the root. */
  pathBetween(root: string, above: readonly string[], bounds: { from?: string; to?: string } = {}): KeyRange {
    const at = (next: string) => writePath([...above, next]);
    const below = above.length === 0 ? "PATH#" : `${writePath(above)}#`;
    const high = bounds.to === undefined ? through(below.slice(0, -1), "$") : through(at(bounds.to), "$");
    const low = bounds.from === undefined ? below : at(bounds.from);
    bounded("the sort key", low, SORT_KEY_BYTES_MAX);
    bounded("the sort key", high, SORT_KEY_BYTES_MAX);
    return this.range(this.partition(root), low, high);
  }

  /** The nodes that name this id in an attribute of `LinkAttributes`. */
  links(target: string, attribute: string, idPrefix = ""): KeyRange {
    return this.beginning(this.partition(target), `LINK#${attribute}#${idPrefix}`);
  }

  /** One revision. */
  revision(id: string, topic: string, version: number): KeyRange {
    return this.one(this.partition(id), bounded("the sort key", `${versionPrefix(version)}_${topic}`, SORT_KEY_BYTES_MAX));
  }

  /**
   * All revisions of an id, of all topics, in the order of versions and without the copies of the newest: they stand among the revisions, so
   * these are two ranges. Where versions stay below 100 the first has them all.
   */
  revisions(id: string): [KeyRange, KeyRange] {
    const pk = this.partition(id);
    return [this.range(pk, "v00", "v09z"), this.range(pk, "v1", "vcz")];
  }

  /** The copy of a topic's newest revision. Its `_version` is the version. */
  latest(id: string, topic: string): KeyRange {
    return this.one(this.partition(id), bounded("the sort key", `v0_${topic}`, SORT_KEY_BYTES_MAX));
  }

  /** The copies of the newest revisions of an id whose topics begin with a text. */
  latestOf(id: string, topicPrefix = ""): KeyRange {
    return this.beginning(this.partition(id), `v0_${topicPrefix}`);
  }

  /**
   * The key of a topic's next revision, after the one that the copy shows (0 without a copy). Put it with
   * `attribute_not_exists(SK)`, and if that fails take the next: the copy follows by a moment.
   */
  nextRevision(id: string, topic: string, newest: number): KeyRange {
    return this.revision(id, topic, newest + 1);
  }

  /** What was put into the trash from one time to another, as `2026-02-03T04:05:06.789Z`, both included. Descending has the newest first. */
  trash(bounds: { from?: string; to?: string } = {}): KeyRange {
    const low = bounds.from === undefined ? "TRASH#" : `TRASH#${bounds.from}#`;
    return this.range(this.inTenant("TRASH"), low, bounds.to === undefined ? "TRASH$" : `TRASH#${bounds.to}$`);
  }

  /** The part of the register of orphans that has the children of a parent that isn't there. It has those of others, too. */
  orphansOf(parent: string): KeyRange {
    let hash = 0x811c9dc5;
    for (const byte of bytes(checkedId(parent))) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
    return this.range(this.inTenant(`ORPHANS#${(hash % ORPHAN_PARTITIONS).toString(16)}`), "ORPHAN#", "ORPHAN$");
  }

  /** The totals of what is below a node: add up the items of the greatest epoch (docs/reference/items.md). */
  totals(id: string): KeyRange {
    return this.range(this.partition(id), "TOTALS#", "TOTALS$");
  }

  private inOrder(pk: string, list: string, bounds: OrderBounds): KeyRange {
    const { from, to, prefix, attributes = 1 } = bounds;
    if (!Number.isInteger(attributes) || attributes < 1 || attributes > ORDER_ATTRIBUTES_MAX) {
      throw new InvalidKey("number", "siblings are ordered by 1 to 4 attributes");
    }
    if (prefix !== undefined) {
      const text = escapePart(prefix);
      if (byteLength(text) > share(PLACE_BYTES_MAX, attributes)) throw new InvalidKey("too-long", "no key has room for this prefix");
      return this.beginning(pk, `${list}s${text}`);
    }
    const low = from === undefined ? list : `${list}${place(from, attributes)}!`;
    return this.range(pk, low, to === undefined ? list.replace("#", "$") : `${list}${place(to, attributes)}$`);
  }

  private inTenant(rest: string): string {
    return this.tenant === undefined ? rest : `TENANT#${this.tenant}#${rest}`;
  }

  private one(pk: string, sk: string): KeyRange {
    return this.range(pk, sk, sk);
  }

  private range(pk: string, low: string, high: string): KeyRange {
    return new KeyRange(pk, low, high, this.names);
  }

  /** All sort keys that begin with a text, up to the last that has room. */
  private beginning(pk: string, low: string): KeyRange {
    let room = SORT_KEY_BYTES_MAX - byteLength(bounded("the sort key", low, SORT_KEY_BYTES_MAX));
    let high = low;
    for (const [last, width] of [["\u{10ffff}", 4], ["\uffff", 3], ["\u07ff", 2], ["\u007f", 1]] as const) {
      high += last.repeat(Math.floor(room / width));
      room %= width;
    }
    return this.range(pk, low, high);
  }
}

/** Reads the sort key of a revision. `undefined` for every other sort key, those of the copies (`v0_`) among them. */
export function parseRevision(sortKey: string): RevisionName | undefined {
  const found = /^(v[abc]?[0-9]{3,6})_([^]*)$/.exec(sortKey);
  if (!found || byteLength(sortKey) > SORT_KEY_BYTES_MAX) return undefined;
  const version = Number(found[1]!.replace(/^v[abc]?/, ""));
  return version >= 1 && versionPrefix(version) === found[1] ? { version, topic: found[2]! } : undefined;
}

/** Reads the sort key of a path row: the segments, and the id where the node has a segment of its own. `undefined` for every other sort key. */
export function parsePath(sortKey: string): { segments: string[]; id?: string } | undefined {
  if (!sortKey.startsWith("PATH#") || byteLength(sortKey) > SORT_KEY_BYTES_MAX) return undefined;
  const parts = sortKey.slice("PATH#".length).split("#");
  const last = parts.pop()!;
  const mark = last.indexOf("!");
  const texts = [...parts, mark < 0 ? last : last.slice(0, mark)].map(unescapePart);
  const id = mark < 0 ? undefined : unescapePart(last.slice(mark + 1));
  const fits = (text: string | undefined) => text !== undefined && text !== "" && byteLength(text) <= ID_BYTES_MAX;
  if (!texts.every(fits) || (mark >= 0 && !fits(id))) return undefined;
  return { segments: texts as string[], ...(id !== undefined && { id }) };
}

/** Writes a text as a part of a key that stands between `#` and `#`: bytes up to `$`, and `%`, are written `%XX`. */
export function escapePart(text: string): string {
  bytes(text);
  return text.replace(/[\u0000-%]/g, character => "%" + character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0"));
}

/** Reads what `escapePart` has written. `undefined` for a text that it never writes. */
export function unescapePart(part: string): string | undefined {
  const text = part.replace(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return isWellFormed(text) && escapePart(text) === part ? text : undefined;
}

/**
 * Writes a number as text that sorts as the numbers do: any number of DynamoDB's, of up to 38 digits. Give long ones as `{ number: "…" }` or as
 * a bigint.
 */
export function numberPart(number: Numeric): string {
  const text = typeof number === "object" ? number.number : String(number);
  const found = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?$/.exec(text);
  const [, sign, whole = "", fraction = "", power = "0"] = found ?? [];
  const all = whole + fraction;
  const wrong = new InvalidKey("number", `${text}: a number has at most 38 digits, and is 0 or from 1E-130 to 9.99E+125 on either side of it`);
  if (!found || all === "" || power.replace(/^[+-]?0*/, "").length > 9) throw wrong;
  const significant = all.replace(/^0+/, "");
  const digits = significant.replace(/0+$/, "");
  if (digits === "") return "0";
  const exponent = whole.length - (all.length - significant.length) - 1 + Number(power);
  if (digits.length > 38 || exponent < -130 || exponent > 125) throw wrong;
  const part = padded(exponent + 500, 3) + digits;
  return sign === "-" ? `-${part.replace(/[0-9]/g, digit => String(9 - Number(digit)))}~` : `1${part}`;
}

/** A version as a sort key begins with it: `v003`, `va1000`, `vb10000`, `vc100000`, so that byte order is number order. */
export function versionPrefix(version: number): string {
  if (!Number.isInteger(version) || version < 1 || version > VERSION_MAX) throw new InvalidKey("version", `a version is from 1 to ${VERSION_MAX}`);
  if (version < 1_000) return `v${padded(version, 3)}`;
  return `v${"abc"[String(version).length - 4]}${version}`;
}

/** A number with zeros in front, so that texts sort as numbers do. */
export function padded(number: number | bigint, digits: number): string {
  const text = String(number);
  if (!/^[0-9]+$/.test(text) || text.length > digits) throw new InvalidKey("number", `${text} isn't a number of at most ${digits} digits`);
  return text.padStart(digits, "0");
}

/** The end of a range of places among siblings. */
function place(value: OrderValue, attributes: number): string {
  return typeof value === "string" ? textPlace(value, share(PLACE_BYTES_MAX, attributes)) : `n${numberPart(value)}`;
}

/** A text as a place, cut as the handler cuts it: cut texts are in the order of the whole ones, or equal. */
function textPlace(text: string, room: number): string {
  let length = 0;
  let made = "s";
  bytes(text);
  for (const character of text) {
    const part = escapePart(character);
    const width = byteLength(part);
    if (length + width > room) {
      const last = ["\u007f", "\u07ff", "\uffff"][room - length - 1];
      return part.startsWith("%") || last === undefined ? made : made + last;
    }
    made += part;
    length += width;
  }
  return made;
}

/** How many bytes each of so many parts has room for besides its first. */
function share(room: number, parts: number): number {
  return Math.floor((room + 1 - (parts - 1)) / parts) - 1;
}

function pathKey(segments: readonly string[]): string {
  return bounded("the sort key", writePath(segments), SORT_KEY_BYTES_MAX);
}

function writePath(segments: readonly string[]): string {
  if (segments.length === 0) throw new InvalidKey("no-segments", "a path needs at least one segment");
  return `PATH#${segments.map(segment => escapePart(bounded("the segment", segment, ID_BYTES_MAX))).join("#")}`;
}

/** The end of the keys that begin with a path. One of the greatest length has nothing after it. */
function through(path: string, past: string): string {
  return byteLength(path) < SORT_KEY_BYTES_MAX ? path + past : path;
}

function checkedId(id: string): string {
  return bounded("the id", id, ID_BYTES_MAX);
}

function checkedDepth(depth: number, least: number): number {
  if (!Number.isInteger(depth) || depth < least || depth > DEPTH_MAX) throw new InvalidKey("depth", `a depth is from ${least} to ${DEPTH_MAX}`);
  return depth;
}

function bounded(part: string, text: string, limit: number): string {
  const length = byteLength(text);
  if (length === 0) throw new InvalidKey("empty", `${part} is empty; give it at least one character`);
  if (length > limit) throw new InvalidKey("too-long", `${part} has ${length} bytes, over its limit of ${limit}; shorten it`);
  return text;
}

function byteLength(text: string): number {
  return bytes(text).length;
}

const encoder = new TextEncoder();

/** A text's UTF-8. A half of a surrogate pair has none: it would become another text. */
function bytes(text: string): Uint8Array {
  if (!isWellFormed(text)) throw new InvalidKey("text", "the text has half of a surrogate pair, which no key can hold");
  return encoder.encode(text);
}

function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

/** Compares as DynamoDB does: by the bytes of UTF-8, which `<` doesn't (it compares UTF-16). */
export function compareBytes(left: string, right: string): number {
  const [a, b] = [bytes(left), bytes(right)];
  for (let at = 0; at < Math.min(a.length, b.length); at++) {
    if (a[at] !== b[at]) return a[at]! - b[at]!;
  }
  return a.length - b.length;
}
