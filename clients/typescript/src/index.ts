export type { Answer, CallOptions } from "./call.js";
export { Pages } from "./call.js";
export { type FollowOptions, Sapwood, type SapwoodOptions, Session, TookTooLong, type WaitOptions } from "./client.js";
export type { OperationName, Schemas } from "./generated/operations.js";
export { inPath } from "./in-path.js";
export * as keys from "./keys.js";
export { InvalidKey, type KeyOptions, KeyRange, Keys } from "./keys.js";
export * from "./problems.js";
export * as values from "./values.js";
