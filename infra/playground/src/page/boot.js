// The server of this page: the module, which is called in turns. A turn passes in the requests that are new, and gets parts of answers.
// `fetch` and `EventSource` stand in for the browser's, and the page's other scripts are served from the page itself.

/** The pause between two turns when nothing is to be done, in milliseconds. */
const IDLE = 40;

/** Says what went wrong, above all else. */
function tell(words) {
  document.body.prepend(Object.assign(document.createElement('p'), { className: 'wrong', role: 'alert', textContent: words }));
}
const stopped = (why) => tell(`The playground has stopped. Load it again. (${why})`);
addEventListener('unhandledrejection', ({ reason }) => stopped(reason?.message));
addEventListener('error', ({ message }) => stopped(message));
addEventListener('hashchange', () => location.reload());
// Where a browser keeps nothing for this page.
for (const name of ['localStorage', 'sessionStorage']) {
  try { globalThis[name]; } catch { Object.defineProperty(globalThis, name, { value: { getItem: () => null, setItem() {} } }); }
}

const bytesOf = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
const unpack = (bytes, format) => new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format)));
const embedded = (id) => document.getElementById(id).textContent;
const { exports: wasm } = (await WebAssembly.instantiate(await unpack(bytesOf(embedded('module')), 'gzip').arrayBuffer())).instance;

function turned(passed) {
  const bytes = new TextEncoder().encode(JSON.stringify(passed));
  const at = wasm.room(bytes.length);
  // The memory may have grown, and then it has another buffer.
  new Uint8Array(wasm.memory.buffer, at, bytes.length).set(bytes);
  // This clock doesn't go back.
  const length = wasm.turn(performance.timeOrigin + performance.now());
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
  calls = [];
  const { parts, busy } = turned({ calls: passed });
  for (const part of parts) hearers.get(part.id)?.(part);
  soon(busy || calls.length ? 0 : IDLE);
}

function soon(pause) {
  clearTimeout(timer);
  timer = setTimeout(turn, pause);
}

function call(id, method, path, headers = {}, body = null) {
  calls.push({ id, method, path, headers, body });
  soon(0);
}

globalThis.fetch = (path, { method = 'GET', headers, body } = {}) => new Promise((resolve) => {
  const id = number += 1;
  let head = null;
  let text = '';
  hearers.set(id, (part) => {
    if (part.status) head = part;
    text += part.data ?? '';
    if (!part.end) return;
    hearers.delete(id);
    resolve(new Response(text || null, { status: head.status, headers: head.headers }));
  });
  call(id, method, path, headers, body);
});

globalThis.EventSource = class extends EventTarget {
  constructor(path) {
    super();
    let text = '';
    this.id = number += 1;
    hearers.set(this.id, (part) => {
      const events = (text + (part.data ?? '')).split('\n\n');
      text = events.pop();
      for (const lines of events) {
        const { event = 'message', data } = Object.fromEntries(lines.split('\n').map((line) => line.split(/: (.*)/s)));
        if (data !== undefined) this.dispatchEvent(new MessageEvent(event, { data }));
      }
    });
    call(this.id, 'GET', path);
  }

  close() {
    hearers.delete(this.id);
    call(this.id, 'CLOSE', '/');
  }
};

/** The fragment of the address says which tree is there: an example, or the records that somebody shares. */
const fragment = new URLSearchParams(location.hash.slice(1));
const packed = fragment.get('tree')?.replaceAll('-', '+').replaceAll('_', '/');
const example = ['folders', 'locations', 'orders', 'audits'].find((one) => one === fragment.get('example')) ?? 'folders';
async function unpacked() {
  try {
    const found = await unpack(bytesOf(packed), 'deflate-raw').json();
    if (Array.isArray(found)) return found;
  } catch {
    // Below.
  }
  tell('This link is damaged or cut, so it has no tree.');
  return [];
}
const records = packed ? await unpacked() : [];
turned({ begin: { seed: Math.floor(Math.random() * Number.MAX_SAFE_INTEGER), example: packed ? null : example, records } });

/** A script imports others by their files: they become addresses within this page. */
const scripts = JSON.parse(embedded('scripts'));
const addresses = {};
const addressOf = (file) => (addresses[file] ??= URL.createObjectURL(new Blob([
  scripts[file].replace(/(?<=^import .* from ')\.\/([^']+)/gm, (_, other) => addressOf(other)).replace(/\bimport\(/g, 'load('),
], { type: 'text/javascript' })));
globalThis.load = (path) => import(addressOf(path.slice(2)));
await load('./app.js');
