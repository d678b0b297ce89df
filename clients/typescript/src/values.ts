/** Values that JSON has no form of (docs/reference/http-conventions.md, "Values"). */

/** A set of texts, of numbers or of binary. */
export const set = <Value>(values: Iterable<Value>): { $set: Value[] } => ({ $set: [...values] });

/** A number of more digits than JavaScript keeps. */
export const number = (digits: string | bigint): { $number: string } => ({ $number: String(digits) });

/** Bytes. */
export function binary(bytes: Uint8Array): { $binary: string } {
  return { $binary: btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join("")) };
}

/** The bytes of a `$binary`. */
export function bytes({ $binary }: { $binary: string }): Uint8Array {
  return Uint8Array.from(atob($binary), character => character.charCodeAt(0));
}
