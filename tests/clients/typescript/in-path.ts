/**
 * Writes an id, a topic or a segment as the API's paths hold it: letters, digits, `-`, `_` and `.` as they are, every other byte of its
 * UTF-8 as `~XX`. `.` and `..` on their own are escaped, too, because they mean something else in a path.
 */
export function inPath(text: string): string {
  const plain = /^\.{1,2}$/.test(text) ? /[\w-]/ : /[\w.-]/;
  return Array.from(Buffer.from(text), byte => {
    const character = String.fromCharCode(byte);
    return plain.test(character) ? character : "~" + byte.toString(16).toUpperCase().padStart(2, "0");
  }).join("");
}
