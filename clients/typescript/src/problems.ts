/** What goes wrong, as classes. */

import type { components } from "./generated/openapi.js";

type ProblemBody = components["schemas"]["ProblemBody"];

const PREFIX = "urn:sapwood:problem:";

/** Every error of this client is one. */
export class SapwoodError extends Error {
  override get name(): string {
    return this.constructor.name;
  }
}

/** The API gave no answer that can be read, and nothing was written: to a read, or because a request was never sent. */
export class NoAnswer extends SapwoodError {}

/** A write got no answer, and may have been done or not. Read what is there (`location`) before you send it again. */
export class OutcomeUnknown extends SapwoodError {
  constructor(message: string, readonly location?: string, options?: ErrorOptions) {
    super(message, options);
  }
}

/** The API has refused a request. There is a class for each type of problem. */
export class Problem extends SapwoodError {
  /** The problem's type: `urn:sapwood:problem:cycle`; `about:blank` for an answer of API Gateway itself. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  /** What the client can do about it. */
  readonly detail: string;
  /** The field, parameter or header that caused the problem. */
  readonly field?: string;
  /** The node that has the name already (`NameTaken`). */
  readonly node?: string;

  constructor(body: ProblemBody, readonly location?: string) {
    super(`${body.title}: ${body.detail}`);
    this.type = body.type;
    this.title = body.title;
    this.status = body.status;
    this.detail = body.detail;
    this.field = body.field;
    this.node = body.node;
  }

  /** The last part of the type: `cycle`. */
  get slug(): string {
    return this.type.startsWith(PREFIX) ? this.type.slice(PREFIX.length) : "";
  }
}

export class BadPath extends Problem {}
export class BadParameter extends Problem {}
export class BadCursor extends Problem {}
export class BadHeader extends Problem {}
export class BadJson extends Problem {}
export class Forbidden extends Problem {}
export class RevisionsKept extends Problem {}
export class NoTrash extends Problem {}
export class NotFound extends Problem {}
export class MethodNotAllowed extends Problem {}
export class Exists extends Problem {}
export class NameTaken extends Problem {}
export class HasChildren extends Problem {}
export class NotUpToDate extends Problem {}
export class Cycle extends Problem {}
export class Deleting extends Problem {}
export class InTrash extends Problem {}
export class NotInTrash extends Problem {}
export class NoWayBack extends Problem {}
export class NotASibling extends Problem {}
export class NoRoom extends Problem {}
export class Contended extends Problem {}
export class InProgress extends Problem {}
export class TooManyCopies extends Problem {}
export class ChangesOff extends Problem {}
export class FeedNotBegun extends Problem {}
export class NotARoot extends Problem {}
export class ListAnew extends Problem {}
export class PreconditionFailed extends Problem {}
export class BodyTooLarge extends Problem {}
export class UnsupportedMediaType extends Problem {}
export class ParentMissing extends Problem {}
export class TooDeep extends Problem {}
export class ReservedName extends Problem {}
export class BadKey extends Problem {}
export class BadValue extends Problem {}
export class ItemTooLarge extends Problem {}
export class IdempotencyMismatch extends Problem {}
export class Unavailable extends Problem {}
export class Internal extends Problem {}
/** API Gateway knows no caller. */
export class Unauthorized extends Problem {}
/** API Gateway throttles the stage. */
export class Throttled extends Problem {}

/** The classes by the last part of a problem's type. `outcome-unknown` is an `OutcomeUnknown`, as a lost answer is. */
export const PROBLEMS: Readonly<Record<string, new (body: ProblemBody, location?: string) => Problem>> = {
  "bad-path": BadPath,
  "bad-parameter": BadParameter,
  "bad-cursor": BadCursor,
  "bad-header": BadHeader,
  "bad-json": BadJson,
  forbidden: Forbidden,
  "revisions-kept": RevisionsKept,
  "no-trash": NoTrash,
  "not-found": NotFound,
  "method-not-allowed": MethodNotAllowed,
  exists: Exists,
  "name-taken": NameTaken,
  "has-children": HasChildren,
  "not-up-to-date": NotUpToDate,
  cycle: Cycle,
  deleting: Deleting,
  "in-trash": InTrash,
  "not-in-trash": NotInTrash,
  "no-way-back": NoWayBack,
  "not-a-sibling": NotASibling,
  "no-room": NoRoom,
  contended: Contended,
  "too-many-copies": TooManyCopies,
  "in-progress": InProgress,
  "changes-off": ChangesOff,
  "feed-not-begun": FeedNotBegun,
  "not-a-root": NotARoot,
  "list-anew": ListAnew,
  "precondition-failed": PreconditionFailed,
  "body-too-large": BodyTooLarge,
  "unsupported-media-type": UnsupportedMediaType,
  "parent-missing": ParentMissing,
  "too-deep": TooDeep,
  "reserved-name": ReservedName,
  "bad-key": BadKey,
  "bad-value": BadValue,
  "item-too-large": ItemTooLarge,
  "idempotency-mismatch": IdempotencyMismatch,
  unavailable: Unavailable,
  internal: Internal,
};

const OF_THE_GATEWAY: Readonly<Record<number, new (body: ProblemBody, location?: string) => Problem>> = {
  401: Unauthorized,
  403: Forbidden,
  404: NotFound,
  429: Throttled,
};

/** The error of a problem's body: that of a refused request, or of an operation of a batch. */
export function problemOf(body: ProblemBody, location?: string): Problem | OutcomeUnknown {
  const slug = body.type.startsWith(PREFIX) ? body.type.slice(PREFIX.length) : "";
  if (slug === "outcome-unknown") return new OutcomeUnknown(`${body.title}: ${body.detail}`, location);
  const known = Object.hasOwn(PROBLEMS, slug) ? PROBLEMS[slug] : undefined;
  return new (known ?? OF_THE_GATEWAY[body.status] ?? Problem)(body, location);
}
