/**
 * Writes an id, a topic or a segment as the API's paths hold it: letters, digits, `-`, `_` and `.` as they are, every other byte of its
 * UTF-8 as `~XX`. `.` and `..` on their own are escaped, too, because they mean something else in a path.
 */
export function inPath(text: string): string {
  // `encodeURIComponent` refuses half of a surrogate pair, which would become another id.
  encodeURIComponent(text);
  const plain = /^\.{1,2}$/.test(text) ? /[0-9A-Za-z_-]/ : /[0-9A-Za-z_.-]/;
  return Array.from(new TextEncoder().encode(text), byte => {
    const character = String.fromCharCode(byte);
    return plain.test(character) ? character : "~" + byte.toString(16).toUpperCase().padStart(2, "0");
  }).join("");
}
