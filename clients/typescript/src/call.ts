/** One call of the API: what is asked, what is answered, and what is asked again. */

import type { components } from "./generated/openapi.js";
import { inPath } from "./in-path.js";
import { Forbidden, NoAnswer, OutcomeUnknown, PreconditionFailed, Problem, problemOf, type SapwoodError, Unavailable } from "./problems.js";
import { binary, number, set } from "./values.js";

type ProblemBody = components["schemas"]["ProblemBody"];

/** What the client knows of a call by the document. */
export interface Operation {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  /** True if the call takes an `Idempotency-Key`. */
  takesKey: boolean;
  /** True if the call can wait for what was written (`written`). */
  takesWritten: boolean;
  /** True if the call is a read that can be strong (`consistent`). */
  takesConsistent: boolean;
  /** The media type of its body. */
  content?: string;
}

/** What headers are made of. The types of Node have no name for it. */
export type HeadersGiven = ConstructorParameters<typeof Headers>[0];

/** What can be said with any call. */
export interface CallOptions {
  /** Seconds, at most 10, for which the answer is held: until the rows of a write are right, or an operation has ended (`Prefer: wait`). */
  wait?: number;
  /** With `wait`: until all that is below a moved node is placed. */
  below?: boolean;
  /** True: the answer has no body (`Prefer: return=minimal`). */
  minimal?: boolean;
  /** Numbers that JavaScript would change come as `{"$number": "…"}`. */
  exactNumbers?: boolean;
  /** The entity tag that what exists must have. */
  ifMatch?: string;
  /** `*`: nothing may exist. */
  ifNoneMatch?: string;
  /** The name of this request, under which it is carried out once. By default the client makes one where the call takes one; false: none. */
  idempotencyKey?: string | false;
  /** Ends the call. */
  signal?: AbortSignal;
}

/** An answer of the API. */
export interface Answer<Body> {
  body: Body;
  status: number;
  /** The entity tag of what was read or written, for `ifMatch`. */
  etag?: string;
  /** The token of a write: a call with it (`written`) shows the write. */
  written?: string;
  /** Where to find what was made, or how far a move or an operation is. */
  location?: string;
  /** True if an earlier request with the same key had this answer. */
  replayed: boolean;
  headers: Headers;
}

type Item<Page extends { items: unknown[] }> = Awaited<Page["items"][number]>;

/** A list: iterate over its items, or over `pages()`. Each page is asked for when it is needed. */
export class Pages<Page extends { items: unknown[]; cursor?: string }> implements AsyncIterable<Item<Page>> {
  constructor(private readonly read: (cursor: string | undefined) => Promise<Answer<Page>>) {}

  async *[Symbol.asyncIterator](): AsyncGenerator<Item<Page>, void> {
    for await (const { items } of this.pages()) yield* items as Item<Page>[];
  }

  /** The pages. A page can be empty and have a `cursor`: only the one without is the last. */
  async *pages(): AsyncGenerator<Page, void> {
    let cursor: string | undefined;
    do {
      const { body } = await this.read(cursor);
      yield body;
      cursor = body.cursor;
    } while (cursor !== undefined);
  }

  /** The first page alone, as it was answered. */
  first(): Promise<Answer<Page>> {
    return this.read(undefined);
  }

  /** All items. */
  async all(): Promise<Page["items"]> {
    const items: Page["items"] = [];
    for await (const page of this.pages()) items.push(...page.items);
    return items;
  }
}

/** The longest time that the client waits because an answer asks for it. Past that the caller gets the answer. */
const RETRY_AFTER_SECONDS_MAX = 60;

/** How requests are sent. */
export interface Sender {
  url: string;
  fetch: typeof fetch;
  /** Headers of every attempt, such as a token. */
  headers: () => Promise<HeadersGiven> | HeadersGiven;
  /** Milliseconds after which an attempt counts as lost. */
  timeout: number;
  /** How often a request is sent at most. */
  attempts: number;
  /** True: the client names its requests where the API takes a name. */
  idempotencyKeys: boolean;
  /** Waits for some milliseconds. */
  pause: (milliseconds: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** The URL of a call. */
export function urlOf(base: string, { path }: Operation, parts: Record<string, string | number>, query: object): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => inPath(String(parts[name])));
  const given = Object.entries(query).flatMap(([name, value]) => (Array.isArray(value) ? value : [value]).map(one => [name, one] as const));
  const parameters = new URLSearchParams(given.filter(([, value]) => value !== undefined).map(([name, value]) => [name, String(value)]));
  // Signatures of AWS read a `+` as it stands.
  const asked = String(parameters).replaceAll("+", "%20");
  return `${base.replace(/\/+$/, "")}${filled}${asked && `?${asked}`}`;
}

/** Sends a call until it has an answer that counts. */
export async function send<Body>(
  sender: Sender, operation: Operation, url: string, body: unknown, options: CallOptions): Promise<Answer<Body>> {
  const key = keyOf(sender, operation, body, options);
  const content = body === undefined ? undefined : jsonOf(body);
  const reads = operation.method === "GET";
  // What is named is carried out once. A PUT or a PATCH without a revision does the same if it is done twice.
  const isRepeatable = reads || key !== undefined || ((operation.method === "PUT" || operation.method === "PATCH") && !hasRevision(body));
  let unknown: SapwoodError | undefined;
  for (let attempt = 1; ; attempt++) {
    const found = await attempted<Body>(sender, operation, url, content, options, key);
    if ("answer" in found) return found.answer;
    const { error, retryAfter, mayBeDone } = found;
    if (mayBeDone && !reads) unknown = error;
    const isSentAgain = mayBeDone ? isRepeatable && !(error instanceof OutcomeUnknown && key === undefined) : retryAfter !== undefined;
    if (!isSentAgain || attempt >= sender.attempts || (retryAfter ?? 0) > RETRY_AFTER_SECONDS_MAX) {
      if (unknown === undefined || error instanceof OutcomeUnknown) throw error;
      if (!mayBeDone && retryAfter === undefined && isAboutAll(error, key)) throw error;
      const message = unknown === error ? error.message : `an earlier attempt may have been done (${unknown.message}), and then: ${error.message}`;
      throw new OutcomeUnknown(message, unknown instanceof OutcomeUnknown ? unknown.location : pathOf(url), { cause: error });
    }
    await sender.pause(Math.max((retryAfter ?? 0) * 1_000, Math.random() * Math.min(5_000, 100 * 2 ** attempt)), options.signal);
  }
}

/**
 * True if the refusal of an attempt holds for those before it: the API itself has looked at what is there, and by the
 * key whether the request was carried out. A condition without a key can be broken by the request itself.
 */
function isAboutAll(error: SapwoodError, key: string | undefined): boolean {
  const isOfTheApi = error instanceof Problem && error.slug !== "" && !(error instanceof Forbidden);
  return isOfTheApi && (key !== undefined || !(error instanceof PreconditionFailed));
}

/**
 * The JSON of a body. By itself `JSON.stringify` writes NaN as null, which removes an attribute, and a set as a map
 * without entries; and it refuses a bigint.
 */
function jsonOf(body: unknown): string {
  return JSON.stringify(body, function (this: Record<string, unknown>, name: string, value: unknown) {
    // A Buffer is no longer one in `value`.
    const given = this[name];
    if (typeof given === "bigint") return number(given);
    if (given instanceof Set) return set(given);
    if (given instanceof Uint8Array) return binary(given);
    if (given instanceof Map || (typeof given === "number" && !Number.isFinite(given))) {
      throw new TypeError(`${name}: ${String(given)} has no form in JSON; give an object in the place of a Map, and a number that is finite`);
    }
    return value;
  });
}

type Found<Body> =
  | { answer: Answer<Body> }
  /**
   * `mayBeDone`: nobody knows whether it was done. Otherwise it wasn't, and with `retryAfter` the same request may come
   * out otherwise after so many seconds.
   */
  | { error: SapwoodError; retryAfter?: number; mayBeDone: boolean };

async function attempted<Body>(
  sender: Sender, operation: Operation, url: string, content: string | undefined, options: CallOptions, key: string | undefined): Promise<Found<Body>> {
  let response: Response, text: string;
  const headers = headersOf(await sender.headers(), operation, content, options, key);
  // Without the query, which may have tokens, and without a password.
  const place = url.replace(/\?.*/s, "").replace(/\/\/[^/]*@/, "//"), asked = `${operation.method} ${place}`;
  const late = AbortSignal.timeout(sender.timeout);
  const signal = options.signal ? AbortSignal.any([options.signal, late]) : late;
  try {
    response = await sender.fetch(url, { method: operation.method, headers, signal, redirect: "error", ...(content !== undefined && { body: content }) });
    text = await response.text();
  } catch (cause) {
    options.signal?.throwIfAborted();
    const error = new NoAnswer(`no answer to ${asked}: ${reasonOf(cause).replaceAll(url, place)}`, { cause });
    return isNeverSent(cause) ? { error, retryAfter: 0, mayBeDone: false } : { error, mayBeDone: true };
  }
  const location = response.headers.get("location") ?? undefined;
  if (response.ok || response.status === 304) {
    const read = parsed(text);
    // An answer of 202 or 204 may have no body.
    if (read === undefined && (text !== "" || response.status < 202)) {
      return { error: new NoAnswer(`the answer to ${asked} isn't JSON: ${text.slice(0, 100) || "it is empty"}`), mayBeDone: true };
    }
    return { answer: answerOf<Body>(response, read, location) };
  }
  const told = response.headers.get("retry-after");
  const retryAfter = told !== null && /^[0-9]+$/.test(told) ? Number(told) : undefined;
  const body = parsed(text) as Partial<ProblemBody> | null | undefined;
  if (!response.headers.get("content-type")?.startsWith("application/problem+json") || !String(body?.type).startsWith("urn:sapwood:problem:")) {
    // API Gateway's own answer, or a proxy's. It refuses, or its function has failed or run out of time after it may
    // have written.
    const title = response.statusText || `HTTP ${response.status}`;
    const gateway: ProblemBody = { type: "about:blank", title, status: response.status, detail: messageOf(body) ?? text };
    const mayBeDone = response.status >= 500;
    return { error: problemOf(gateway, location), retryAfter: response.status === 429 ? retryAfter ?? 0 : mayBeDone ? retryAfter : undefined, mayBeDone };
  }
  const error = problemOf(body as ProblemBody, location);
  // Of the types that there are, this holds for `internal` and `outcome-unknown`. A later version may have others.
  return { error, retryAfter, mayBeDone: response.status >= 500 && !(error instanceof Unavailable) };
}

function answerOf<Body>(response: Response, body: unknown, location: string | undefined): Answer<Body> {
  const header = (name: string) => response.headers.get(name) ?? undefined;
  return {
    body: body as Body,
    status: response.status,
    etag: header("etag"),
    written: header("sapwood-consistency-token"),
    location,
    replayed: header("idempotency-replayed") === "true",
    headers: response.headers,
  };
}

function keyOf(sender: Sender, operation: Operation, body: unknown, options: CallOptions): string | undefined {
  // Without a revision a PUT or a PATCH needs no name, and the API keeps none.
  const isKept = operation.takesKey && (operation.method === "POST" || operation.method === "DELETE" || hasRevision(body));
  if (options.idempotencyKey === false || !isKept) return undefined;
  return options.idempotencyKey ?? (sender.idempotencyKeys ? crypto.randomUUID() : undefined);
}

function hasRevision(body: unknown): boolean {
  return typeof body === "object" && body !== null && "revision" in body && body.revision != null;
}

function headersOf(base: HeadersGiven, operation: Operation, content: string | undefined, options: CallOptions, key: string | undefined): Headers {
  const headers = new Headers(base);
  const prefer = [
    ...(options.wait === undefined ? [] : [`wait=${options.wait}`]),
    ...(options.below ? ["below=true"] : []),
    ...(options.minimal ? ["return=minimal"] : []),
    ...(options.exactNumbers ? ["numbers=strings"] : []),
  ];
  if (prefer.length > 0) headers.set("prefer", prefer.join(", "));
  if (options.ifMatch !== undefined) headers.set("if-match", options.ifMatch);
  if (options.ifNoneMatch !== undefined) headers.set("if-none-match", options.ifNoneMatch);
  if (key !== undefined) headers.set("idempotency-key", `"${key.replace(/["\\]/g, "\\$&")}"`);
  if (content !== undefined) headers.set("content-type", operation.content ?? "application/json");
  return headers;
}

/** The value of a JSON text. `undefined` for every other text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What API Gateway says. */
function messageOf(body: unknown): string | undefined {
  const message = typeof body === "object" && body !== null && "message" in body ? body.message : undefined;
  return typeof message === "string" ? message : undefined;
}

/** Why a request has failed: Node's `fetch` says no more than that it has, and keeps why in its cause. */
function reasonOf(failure: unknown): string {
  if (!(failure instanceof Error)) return String(failure);
  const { message, cause, code, errors } = failure as Error & { code?: unknown; errors?: unknown[] };
  const own = [message, typeof code === "string" && !message.includes(code) && code].filter(Boolean).join(" ");
  return [own, ...(errors ?? (cause === undefined ? [] : [cause])).map(reasonOf)].filter(Boolean).join(": ");
}

/** True if there was no connection to send the request on, as Node tells it. */
function isNeverSent(failure: unknown): boolean {
  const cause = failure instanceof Error ? (failure.cause as { code?: unknown } | undefined) : undefined;
  return cause?.code === "ECONNREFUSED" || cause?.code === "ENOTFOUND" || cause?.code === "EAI_AGAIN";
}

function pathOf(url: string): string {
  return new URL(url).pathname;
}

/** Waits for some milliseconds, or until the signal ends the call. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((done, failed) => {
    const ended = () => {
      clearTimeout(timer);
      failed(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", ended);
      done();
    }, milliseconds);
    if (signal?.aborted) ended();
    else signal?.addEventListener("abort", ended, { once: true });
  });
}
