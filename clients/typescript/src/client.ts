/** The client. */

import { type Answer, type CallOptions, type HeadersGiven, Pages, pause, send, type Sender, urlOf } from "./call.js";
import { OPERATIONS, type OperationName, Operations, type Schemas } from "./generated/operations.js";
import { NotUpToDate, SapwoodError } from "./problems.js";

/** How the client reaches the API. */
export interface SapwoodOptions {
  /** Sends a request. Give one that signs, where the API wants signatures (`ApiAuthorization=AWS_IAM`). */
  fetch?: typeof fetch;
  /** Headers of every request, such as `{ authorization: "Bearer …" }`, or a function that gives them. */
  headers?: HeadersGiven | (() => HeadersGiven | Promise<HeadersGiven>);
  /** Milliseconds after which an attempt counts as lost; 35,000 by default. The API answers within 30 seconds. */
  timeout?: number;
  /** How often a request is sent at most; 5 by default. */
  attempts?: number;
  /** False: requests have no `Idempotency-Key` but yours, and one that may have been done isn't sent again. */
  idempotencyKeys?: boolean;
}

/** How long to wait for what the stream carries out. */
export interface WaitOptions {
  /** Milliseconds; a minute by default. */
  timeout?: number;
  signal?: AbortSignal;
}

/** How a tree is followed. */
export interface FollowOptions {
  /** Where to go on: the `cursor` of the last page that was taken in. Without one the tree is listed first; `now`: without the listing. */
  cursor?: string;
  /** Seconds for which the API may hold an answer without changes; at most 10. By default it doesn't. */
  wait?: number;
  /** Milliseconds between looks while nothing changes; 10,000 by default. */
  every?: number;
  signal?: AbortSignal;
}

/** What was waited for has taken too long. It goes on. */
export class TookTooLong extends SapwoodError {}

/** Most tokens of a call, and most characters of them in a URL: API Gateway takes 10 KB of URL and headers. */
const TOKENS_MAX = 10;
const TOKEN_CHARACTERS_MAX = 6_000;

/** Sapwood's HTTP API: a method for each call, and what takes more than one. */
export class Sapwood extends Operations {
  protected readonly sender: Sender;

  constructor(readonly url: string, options: SapwoodOptions = {}) {
    super();
    const { headers = {}, timeout = 35_000, attempts = 5, idempotencyKeys = true } = options;
    this.sender = {
      url,
      fetch: options.fetch ?? ((...request) => fetch(...request)),
      headers: typeof headers === "function" ? headers : () => headers,
      timeout,
      attempts,
      idempotencyKeys,
      pause,
    };
  }

  /** A client whose reads show what it has written, however far behind the rows are. */
  session(options: { wait?: number } = {}): Session {
    return new Session(this.url, this.sender, options.wait ?? 5);
  }

  /** The number of nodes below a node, between two levels, however many pages the count takes. */
  async count(id: string, query: { min_depth?: number; max_depth?: number; consistent?: boolean } = {}, options: CallOptions = {}): Promise<number> {
    let sum = 0;
    let cursor: string | undefined;
    do {
      const { body } = await this.countDescendants(id, { ...query, cursor }, options);
      sum += body.count;
      cursor = body.cursor;
    } while (cursor !== undefined);
    return sum;
  }

  /**
   * The pages of a tree's feed, without an end. Take the changes of a page in, then keep its `cursor`: the next follower goes on there. It throws
   * `ListAnew` where the mirror must be made anew, without a cursor.
   */
  async *follow(root: string, options: FollowOptions = {}): AsyncGenerator<Schemas["ChangesBody"], never> {
    const { wait, every = 10_000, signal } = options;
    for (let { cursor } = options; ;) {
      const { body } = await this.listChanges(root, { cursor }, { wait, signal });
      cursor = body.cursor;
      yield body;
      if (!body.has_more) await this.sender.pause(every, signal);
    }
  }

  /**
   * Waits until what a write has begun is done: a deletion, a copy, a move with all that is below, the rows of a write
   * that wasn't waited for long enough (202), and all that of each operation of a batch. Give its answer, or the id of
   * an operation.
   */
  async done(begun: string | Answer<unknown>, options: WaitOptions = {}): Promise<void> {
    if (typeof begun === "string") return this.ended(begun, options);
    const { location = "", status, written, body } = begun;
    const operation = status === 202 ? /\/operations\/([^/?]+)$/.exec(location)?.[1] : undefined;
    const moved = /\/nodes\/([^/?]+)\/propagation\?below=true/.exec(location)?.[1];
    if (operation !== undefined) await this.ended(operation, options);
    else if (moved !== undefined) await this.placed(decodeURIComponent(moved.replaceAll("~", "%")), { ...options, below: true });
    else if (status === 202 && written !== undefined) await this.shown(written, options);
    for (const result of (body as Written)?.results ?? []) await this.done(result as Answer<unknown>, options);
  }

  /** Waits until a node's rows are right, and with `below` until all that is below it is placed. */
  async placed(id: string, options: WaitOptions & { below?: boolean } = {}): Promise<void> {
    let cursor: string | undefined;
    await this.until(`${id} isn't placed`, options, async call => {
      const { body } = await this.getPropagation(id, options.below ? { below: true, cursor } : {}, call);
      // The next look goes on where this one has stopped.
      cursor = body.below?.cursor;
      return options.below ? body.below?.up_to_date === true : body.up_to_date;
    });
  }

  private async ended(operation: string, options: WaitOptions): Promise<void> {
    const look = async (call: CallOptions) => (await this.getOperation(operation, call)).body.status === "done";
    await this.until(`the operation ${operation} isn't done`, options, look);
  }

  private async shown(written: string, options: WaitOptions): Promise<void> {
    await this.until("the rows of the write aren't there", options, async call => {
      try {
        await this.getNodes({ ids: ["-"], written: [written] }, call).first();
        return true;
      } catch (error) {
        if (error instanceof NotUpToDate) return false;
        throw error;
      }
    });
  }

  private async until(what: string, options: WaitOptions, look: (call: CallOptions) => Promise<boolean>): Promise<void> {
    const { timeout = 60_000, signal } = options;
    const end = Date.now() + timeout;
    for (let wait = 50; !(await look({ signal })); wait = Math.min(wait * 1.5, 2_000)) {
      if (Date.now() + wait > end) throw new TookTooLong(`${what} after ${timeout} ms`);
      await this.sender.pause(wait, signal);
    }
  }

  protected call<Body>(
    name: OperationName, path: Record<string, string | number>, query: object, body: unknown, options: CallOptions): Promise<Answer<Body>> {
    const operation = OPERATIONS[name];
    return send(this.sender, operation, urlOf(this.sender.url, operation, path, query), body, options);
  }

  protected list<Page extends { items: unknown[]; cursor?: string }>(
    name: OperationName, path: Record<string, string | number>, query: object, body: undefined, options: CallOptions): Pages<Page> {
    return new Pages<Page>(cursor => this.call<Page>(name, path, cursor === undefined ? query : { ...query, cursor }, body, options));
  }
}

type Appended = { revision?: Schemas["AppendedBody"] };
type Written = (Appended & { results?: (Schemas["BatchResult"] & { body?: Appended })[] }) | undefined;

/** A token, what it is about, and of a topic's copy the version. Each write has an object of its own, even if its token is the same. */
interface Kept {
  token: string;
  about: string;
  version: number;
}

/**
 * A client whose reads show what it has written.
 *
 * It keeps the tokens of its writes until a call has shown them, at most one for each node, topic and operation. A call takes ten tokens; where
 * there are more, the oldest ones are waited for first, in reads of their own. All its reads are strong, so that none falls back behind what
 * another one has shown.
 */
export class Session extends Sapwood {
  /** By what they are about, the newest at the end. */
  private readonly tokens = new Map<string, Kept>();

  constructor(url: string, sender: Sender, private readonly wait: number) {
    super(url);
    Object.assign(this.sender, sender);
  }

  /** The tokens that no call has shown yet. Hand them to another session. */
  get written(): string[] {
    return Array.from(this.tokens.values(), ({ token }) => token);
  }

  /** Takes tokens of somebody else's writes. */
  mustShow(...tokens: (string | undefined)[]): void {
    for (const token of tokens) {
      if (token === undefined) continue;
      const { about, version, node } = read(token);
      // The rows of its node are part of what an operation's token is about.
      if (node !== undefined) this.tokens.delete(node);
      const known = this.tokens.get(about);
      this.tokens.delete(about);
      // What shows the highest version of a topic shows all.
      this.tokens.set(about, known !== undefined && known.version > version ? { ...known } : { token, about, version });
    }
  }

  protected override async call<Body>(
    name: OperationName, path: Record<string, string | number>, query: { written?: string[] }, body: unknown, options: CallOptions): Promise<Answer<Body>> {
    const { method, takesWritten, takesConsistent } = OPERATIONS[name];
    const asked = takesConsistent ? { ...query, consistent: true } : query;
    const parts = takesWritten && query.written === undefined ? inParts([...this.tokens.values()]) : [];
    const sent = parts.pop();
    const wait = options.wait ?? this.wait;
    for (const part of parts) {
      await super.call("get_nodes", {}, { ids: ["-"], written: part.map(({ token }) => token) }, undefined, { wait, signal: options.signal });
      this.forget(part);
    }
    const answer = sent === undefined
      ? await super.call<Body>(name, path, asked, body, options)
      : await super.call<Body>(name, path, { ...asked, written: sent.map(({ token }) => token) }, body, { ...options, wait });
    this.forget(sent ?? []);
    if (method !== "GET") {
      const made = answer.body as Written;
      this.mustShow(answer.written, made?.revision?.written);
      for (const result of made?.results ?? []) this.mustShow(result.written, result.body?.revision?.written);
    }
    return answer;
  }

  private forget(tokens: Kept[]): void {
    // Another write of the same may have come meanwhile.
    for (const kept of tokens) if (this.tokens.get(kept.about) === kept) this.tokens.delete(kept.about);
  }
}

/** What a token is about: the rows of a node, the copy of a topic's newest revision, or an operation and the rows of its `node`. */
function read(token: string): { about: string; version: number; node?: string } {
  const about = (...parts: unknown[]) => JSON.stringify(parts);
  try {
    const derived = JSON.parse(atob(token.replaceAll("-", "+").replaceAll("_", "/"))) as Record<string, unknown>;
    const { node, copy, operation } = derived;
    if (typeof node === "string") return { about: about("node", node), version: 0 };
    if (Array.isArray(copy)) return { about: about("copy", copy[0], copy[1]), version: Number(copy[2]) };
    if (Array.isArray(operation)) return { about: about("operation", ...operation), version: 0, node: about("node", operation[1]) };
  } catch {
    // A later version of the API may make others.
  }
  return { about: token, version: 0 };
}

/** These tokens, as many in each part as a call takes and a URL has room for. */
function inParts(tokens: Kept[]): Kept[][] {
  const parts: Kept[][] = [];
  let part: Kept[] = [], characters = Infinity;
  for (const kept of tokens) {
    characters += kept.token.length;
    if (characters > TOKEN_CHARACTERS_MAX || part.length === TOKENS_MAX) {
      parts.push(part = []);
      characters = kept.token.length;
    }
    part.push(kept);
  }
  return parts;
}
