// The server of this page: the module, which is called in turns. A turn passes in the requests that are new, and gets parts of answers.
// `fetch` and `EventSource` stand in for the browser's: the page's scripts come after these in the same scope.

/** The pause between two turns when nothing is to be done, in milliseconds. */
const IDLE = 40;

const packed = Uint8Array.from(atob(document.getElementById('module').textContent), (one) => one.charCodeAt(0));
const unpack = (bytes, format) => new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format)));
const { exports: wasm } = (await WebAssembly.instantiate(await (await unpack(packed, 'gzip')).arrayBuffer())).instance;

function turned(passed) {
  const bytes = new TextEncoder().encode(JSON.stringify(passed));
  const at = wasm.room(bytes.length);
  // The memory may have grown, and then it has another buffer.
  new Uint8Array(wasm.memory.buffer, at, bytes.length).set(bytes);
  const length = wasm.turn(Date.now());
  const gets = JSON.parse(new TextDecoder().decode(new Uint8Array(wasm.memory.buffer, wasm.result(), length)));
  if (gets.error) throw new Error(gets.error);
  return gets;
}

/** Who waits for the parts of an answer, by the number of the call. */
const hearers = new Map();
let calls = [];
let timer = null;
let number = 0;

function turn() {
  const passed = calls;
  [calls, timer] = [[], null];
  const { parts, busy } = turned({ calls: passed });
  for (const part of parts) hearers.get(part.id)?.(part);
  soon(busy || calls.length ? 0 : IDLE);
}

function soon(pause) {
  clearTimeout(timer);
  timer = setTimeout(turn, pause);
}

function call(method, path, headers, body, hear) {
  number += 1;
  hearers.set(number, hear);
  calls.push({ id: number, method, path, headers, body: body ?? null });
  soon(0);
  return number;
}

function fetch(path, { method = 'GET', headers = {}, body } = {}) {
  return new Promise((resolve) => {
    let head = null;
    let text = '';
    const id = call(method, path, headers, body, (part) => {
      if (part.status) head = part;
      text += part.data ?? '';
      if (!part.end) return;
      hearers.delete(id);
      resolve(new Response(text || null, { status: head.status, headers: head.headers }));
    });
  });
}

class EventSource extends EventTarget {
  constructor(path) {
    super();
    let text = '';
    this.id = call('GET', path, {}, null, (part) => {
      text += part.data ?? '';
      const events = text.split('\n\n');
      text = events.pop();
      for (const lines of events) this.hear(Object.fromEntries(lines.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)])));
    });
  }

  hear({ event = 'message', data }) {
    if (data !== undefined) this.dispatchEvent(new MessageEvent(event, { data }));
  }

  close() {
    hearers.delete(this.id);
    calls.push({ id: this.id, method: 'CLOSE', path: '/', headers: {}, body: null });
  }
}

/** The fragment of the address says which tree is there: an example, or the records that somebody shares. */
const fragment = new URLSearchParams(location.hash.slice(1));
const shared = fragment.get('tree');
turned({ begin: { seed: Math.floor(Math.random() * Number.MAX_SAFE_INTEGER), example: shared ? null : fragment.get('example') ?? 'folders' } });
if (shared) {
  try {
    const bytes = Uint8Array.from(atob(shared.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0));
    const body = await (await unpack(bytes, 'deflate-raw')).text();
    await fetch('/playground/records', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  } catch {
    // A link that was cut has no records, and the page shows an empty table.
  }
}
addEventListener('hashchange', () => location.reload());
