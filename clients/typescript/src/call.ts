/** One call of the API: what is asked, what is answered, and what is asked again. */

import type { components } from "./generated/openapi.js";
import { inPath } from "./in-path.js";
import { NoAnswer, OutcomeUnknown, PreconditionFailed, Problem, problemOf, type SapwoodError } from "./problems.js";

type ProblemBody = components["schemas"]["ProblemBody"];

/** What the client knows of a call by the document. */
export interface Operation {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  /** True if the call takes an `Idempotency-Key`. */
  takesKey: boolean;
  /** True if the call can wait for what was written (`written`). */
  takesWritten: boolean;
  /** The media type of its body. */
  content?: string;
}

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
  /** The token of a write: a read with it (`written`) shows the write. */
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

/** How requests are sent. */
export interface Sender {
  url: string;
  fetch: typeof fetch;
  /** Headers of every attempt, such as a token. */
  headers: () => Promise<HeadersInit> | HeadersInit;
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
  return `${base.replace(/\/+$/, "")}${filled}${parameters.size > 0 ? `?${parameters}` : ""}`;
}

/** Sends a call until it has an answer that counts. */
export async function send<Body>(
  sender: Sender, operation: Operation, url: string, body: unknown, options: CallOptions): Promise<Answer<Body>> {
  const key = keyOf(sender, operation, body, options);
  const reads = operation.method === "GET";
  // What is named is carried out once. A PUT or a PATCH without a revision does the same if it is done twice.
  const isRepeatable = reads || key !== undefined || ((operation.method === "PUT" || operation.method === "PATCH") && !hasRevision(body));
  let unknown: SapwoodError | undefined;
  for (let attempt = 1; ; attempt++) {
    const found = await attempted<Body>(sender, operation, url, body, options, key);
    if ("answer" in found) return found.answer;
    const { error, retryAfter, mayBeDone } = found;
    // Of an earlier attempt that was done, this is what the same condition says now.
    if (unknown && key === undefined && error instanceof PreconditionFailed) {
      throw new OutcomeUnknown("an earlier attempt got no answer, and its condition doesn't hold any more", pathOf(url), { cause: error });
    }
    if (mayBeDone && !reads) unknown = error;
    const goesOn = mayBeDone ? isRepeatable && !(error instanceof OutcomeUnknown && key === undefined) : retryAfter !== undefined;
    if (!goesOn || attempt >= sender.attempts) {
      throw !mayBeDone || reads || error instanceof OutcomeUnknown ? error : new OutcomeUnknown(error.message, pathOf(url), { cause: error });
    }
    await sender.pause(Math.max((retryAfter ?? 0) * 1_000, Math.random() * Math.min(5_000, 100 * 2 ** attempt)), options.signal);
  }
}

type Found<Body> =
  | { answer: Answer<Body> }
  /** `retryAfter`: nothing was done, and the same request may come out otherwise. `mayBeDone`: nobody knows. */
  | { error: SapwoodError; retryAfter?: number; mayBeDone: boolean };

async function attempted<Body>(
  sender: Sender, operation: Operation, url: string, body: unknown, options: CallOptions, key: string | undefined): Promise<Found<Body>> {
  let response: Response, text: string;
  const headers = headersOf(await sender.headers(), operation, body, options, key);
  const late = AbortSignal.timeout(sender.timeout);
  const signal = options.signal ? AbortSignal.any([options.signal, late]) : late;
  try {
    response = await sender.fetch(url, { method: operation.method, headers, signal, redirect: "error", ...(body !== undefined && { body: JSON.stringify(body) }) });
    text = await response.text();
  } catch (cause) {
    options.signal?.throwIfAborted();
    const reason = cause instanceof Error ? cause.message : String(cause);
    const error = new NoAnswer(`no answer to ${operation.method} ${pathOf(url)}: ${reason}`, { cause });
    return isNeverSent(cause) ? { error, retryAfter: 0, mayBeDone: false } : { error, mayBeDone: true };
  }
  const location = response.headers.get("location") ?? undefined;
  if (response.ok || response.status === 304) {
    const read = text === "" ? undefined : JSON.parse(text);
    return { answer: answerOf<Body>(response, read, location) };
  }
  const told = response.headers.get("retry-after");
  const retryAfter = told !== null && /^[0-9]+$/.test(told) ? Number(told) : undefined;
  if (!response.headers.get("content-type")?.startsWith("application/problem+json")) {
    // API Gateway's own answer. It refuses, or its function has failed or run out of time after it may have written.
    const title = response.statusText || `HTTP ${response.status}`;
    const gateway: ProblemBody = { type: "about:blank", title, status: response.status, detail: messageOf(text) };
    const error = problemOf(gateway, location);
    return { error, retryAfter: response.status === 429 ? retryAfter ?? 0 : undefined, mayBeDone: response.status >= 500 };
  }
  const error = problemOf(JSON.parse(text) as ProblemBody, location);
  const mayBeDone = error instanceof OutcomeUnknown || (error instanceof Problem && error.slug === "internal");
  return { error, retryAfter, mayBeDone };
}

function answerOf<Body>(response: Response, body: unknown, location: string | undefined): Answer<Body> {
  const header = (name: string) => response.headers.get(name) ?? undefined;
  return {
    body: body as Body,
    status: response.status,
    etag: header("etag"),
    written: header("sapwood-written"),
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

function headersOf(base: HeadersInit, operation: Operation, body: unknown, options: CallOptions, key: string | undefined): Headers {
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
  if (body !== undefined) headers.set("content-type", operation.content ?? "application/json");
  return headers;
}

function messageOf(text: string): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    return typeof message === "string" ? message : text;
  } catch {
    return text;
  }
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
