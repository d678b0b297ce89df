// What all parts of the page share: elements, requests, the address, and what is said aloud.
// Text of users gets into the page as text only.

/** What the server says of the table and of itself. */
export const about = {};

/** Events within the page: `select`, `changed`, `seen` and others. */
const bus = new EventTarget();
export const tell = (name, detail) => bus.dispatchEvent(new CustomEvent(name, { detail }));
export const hear = (name, act) => bus.addEventListener(name, (event) => act(event.detail));

export const $ = (id) => document.getElementById(id);

/** Makes an element. Children that are texts become text nodes. */
export function el(name, properties = {}, ...children) {
  const made = document.createElement(name);
  // A button of a form would send it.
  if (name === 'button') made.type = 'button';
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key === 'class') made.className = value;
    else if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (['value', 'checked', 'disabled', 'hidden', 'open'].includes(key)) made[key] = value;
    else made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** A card: its title, what stands beside that, and what is below. */
export const card = (name, title, beside, ...below) => el('section', { class: `card ${name}`, 'aria-labelledby': `${name}-title` },
  el('div', { class: 'bar' }, el('h3', { id: `${name}-title` }, title), beside), below);

/** Characters without a width, or that turn the direction, as a class of a regular expression has them. */
export const UNSEEN = '\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0';
const HIDDEN = new RegExp(`[\\u0000-\\u001f${UNSEEN}\\u{e0000}-\\u{e0fff}]`, 'gu');
/** Where the joiners are part of the writing: between letters of scripts that join, and between emoji. */
const JOINING = `[${['Arab', 'Syrc', 'Mong', 'Deva', 'Beng', 'Guru', 'Gujr', 'Orya', 'Taml', 'Telu', 'Knda', 'Mlym', 'Sinh'].map((script) => `\\p{scx=${script}}`).join('')}]`;
const JOINED = new RegExp(`(?<=${JOINING})[\u200c\u200d](?=${JOINING})|(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\ufe0f])\u200d(?=\\p{Extended_Pictographic})`, 'gu');

/** A text as people can tell it from others: a character without a width, or that turns the direction, is shown by its number. */
export function visible(text) {
  const whole = String(text);
  const joined = new Set([...whole.matchAll(JOINED)].map(({ index }) => index));
  return whole.replace(HIDDEN, (one, at) => (joined.has(at) ? one : `⟨${one.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`));
}

/** A text of a user: its direction doesn't turn that of its neighbours. */
export const bdi = (text, kind) => el('bdi', { class: kind }, visible(text));

/** The key of an item. */
export function key(pk, sk) {
  return el('span', { class: 'key' }, el('bdi', { class: 'pk' }, visible(pk)), el('span', { class: 'bar-sign', 'aria-hidden': 'true' }, '|'),
    el('bdi', { class: 'sk' }, visible(sk)));
}

/** An id as a segment of a path of the API. */
export function segment(id) {
  let text = '';
  for (const byte of new TextEncoder().encode(id)) {
    const character = String.fromCharCode(byte);
    text += /[A-Za-z0-9\-_.]/.test(character) ? character : `~${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return text;
}

/** A node of the API. */
export const node = (id, rest = '') => `/nodes/${segment(id)}${rest}`;

/** What a count is called. */
export const count = (number, one, many = `${one}s`) => `${number.toLocaleString('en')} ${number === 1 ? one : many}`;
export const units = (number) => `${Math.round(number * 10) / 10}`;
/** The sums of totals that aren't nothing. Numbers that JavaScript can't keep are texts. */
export const sumsOf = (sums) => Object.entries(sums).filter(([, sum]) => Number(shown(sum)) !== 0)
  .map(([name, sum]) => `${visible(name)} ${typeof sum === 'number' ? sum.toLocaleString('en', { maximumFractionDigits: 9 }) : shown(sum)}`);
/** What a call took. */
export const cost = (requests, read) => `${count(requests, 'request')}, ${units(read)} read ${units(read) === '1' ? 'unit' : 'units'}`;

/** A request that was refused. Its message says what to do. */
export class Refused extends Error {
  constructor(status, problem) {
    super(problem?.detail ?? `the server answered ${status}`);
    this.status = status;
    this.problem = problem ?? {};
  }
}

/** The server doesn't answer. */
export class Lost extends Error {}

const TOKEN = 'sapwood-explorer-token';
const given = new URLSearchParams(location.hash.slice(1)).get('token');
if (given) {
  sessionStorage.setItem(TOKEN, given);
  // It doesn't stay in the address, which people send to others.
  history.replaceState(history.state, '', location.pathname + location.search);
}

/** Another tab of the same session has the token, which no address and no disk keeps. Long enough for a tab to answer, in milliseconds. */
const TABS_ANSWER = 700;
const tabs = new BroadcastChannel(TOKEN);
tabs.addEventListener('message', ({ data: said }) => {
  const token = sessionStorage.getItem(TOKEN);
  if (said === 'wanted' && token) tabs.postMessage({ token });
});

/** Makes the first request of a tab. One that was opened by a copied link asks the others for the token. */
export async function openTab(ask) {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 403 || sessionStorage.getItem(TOKEN)) throw error;
    const token = await new Promise((resolve) => {
      tabs.addEventListener('message', ({ data: said }) => said.token && resolve(said.token));
      tabs.postMessage('wanted');
      setTimeout(resolve, TABS_ANSWER);
    });
    if (!token) throw error;
    sessionStorage.setItem(TOKEN, token);
    return ask();
  }
}

/** Sends a request. Returns its body and its headers. */
export async function send(method, path, body, headers = {}) {
  const token = sessionStorage.getItem(TOKEN);
  const all = { ...headers };
  if (token) all['x-sapwood-explorer'] = token;
  if (body !== undefined) all['content-type'] ??= 'application/json';
  let response;
  let text;
  try {
    response = await fetch(path, { method, headers: all, body: body === undefined ? undefined : JSON.stringify(body), cache: 'no-store' });
    text = await response.text();
  } catch {
    tell('lost');
    throw new Lost("The server doesn't answer.");
  }
  let read = null;
  try {
    read = text ? JSON.parse(text) : null;
  } catch {
    // An answer that isn't JSON has its status.
  }
  if (!response.ok) throw new Refused(response.status, read);
  return { body: read, headers: response.headers, status: response.status };
}

export const get = async (path) => (await send('GET', path)).body;
export const data = (call, parameters = {}) => {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== ''));
  return get(`/explorer/data/${call}${query.size ? `?${query}` : ''}`);
};
export const post = async (call, body) => (await send('POST', `/explorer/data/${call}`, body)).body;

/** The state that the address holds. */
export const address = {
  get: (name) => new URLSearchParams(location.search).get(name),
  set(values, isStep = false) {
    const query = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(values)) {
      if (value === null || value === undefined || value === '') query.delete(name);
      else query.set(name, value);
    }
    const url = location.pathname + (query.size ? `?${query}` : '') + location.hash;
    if (url === location.pathname + location.search + location.hash) return;
    if (isStep) history.pushState(null, '', url);
    else history.replaceState(null, '', url);
  },
};

let said = 0;
/** Says something to who can't see it. */
export function say(text) {
  // The same words twice are heard twice.
  $('said').textContent = visible(text) + (said++ % 2 ? '\u00a0' : '');
}

/** Shows one of the parts where only one has room. */
export function showPane(name) {
  document.body.dataset.pane = name;
  // From 640 pixels, the tree and the node are side by side.
  const current = name === 'node' && matchMedia('(min-width: 640px)').matches ? 'tree' : name;
  for (const button of document.querySelectorAll('#panes > button')) button.setAttribute('aria-current', String(button.dataset.to === current));
}

const EXPLAINED = 'sapwood-explained';
const explained = new Set(JSON.parse(localStorage.getItem(EXPLAINED) ?? '[]'));
/** What has been explained since the page was opened, and to which it was explained. */
const justNow = new Map();

/** An explanation, which is open the first time, and then behind a button. Of whom it is asked for once more, such as a node, tells `of`. */
export function why(name, words, of = null) {
  const isOpen = !explained.has(name) || justNow.get(name) === of;
  if (!explained.has(name)) {
    explained.add(name);
    justNow.set(name, of);
    localStorage.setItem(EXPLAINED, JSON.stringify([...explained]));
  }
  const text = el('p', { class: 'question', hidden: !isOpen }, words);
  const button = el('button', { class: 'why', 'aria-expanded': String(isOpen), 'aria-label': 'What is this?', 'data-focus': `why-${name}`, onclick: () => {
    text.hidden = !text.hidden;
    button.setAttribute('aria-expanded', String(!text.hidden));
    justNow.set(name, text.hidden ? undefined : of);
  } }, '?');
  return [button, text];
}

export const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Runs at most once in a while, and once more if it was asked for meanwhile. Nothing runs while the tab is hidden. */
export function calmly(milliseconds, act) {
  let timer = null;
  let running = false;
  let again = false;
  const run = async () => {
    timer = null;
    if (document.hidden) return;
    if (running) {
      again = true;
      return;
    }
    running = true;
    try {
      await act();
    } catch (error) {
      if (!(error instanceof Lost || error instanceof Refused)) throw error;
    } finally {
      running = false;
      if (again) {
        again = false;
        ask();
      }
    }
  };
  const ask = () => {
    timer ??= setTimeout(run, milliseconds);
  };
  return ask;
}

/** Records that the stream has read and that the handler hasn't handled, as far as this page has heard, and when it heard of each. */
const waiting = new Map();
/** Longest time for which a record counts as waiting: the stream is held back for ten seconds, and events may be missed. */
const WAITING_MAX = 15_000;
const nameOf = ([pk, sk]) => `${pk}\u0000${sk}`;

export function heardOf(event) {
  if (event.type === 'read') for (const one of event.records) if (one.goes_on) waiting.set(nameOf([one.pk, one.sk]), Date.now());
  if (event.type === 'begun' || event.type === 'held') for (const item of event.items) waiting.set(nameOf(item), Date.now());
  if (event.type === 'handled' && !event.failed) for (const item of event.items) waiting.delete(nameOf(item));
}

/** True while a change is on its way to the handler, as far as this page knows. */
export function isUnderWay() {
  for (const [name, at] of waiting) if (Date.now() - at > WAITING_MAX) waiting.delete(name);
  return waiting.size > 0;
}

/** What each state of a node is called, how it looks, and what it means. */
export const STATES = {
  right: ['', '', 'Its rows are where its record wants them.'],
  gone: ['gone', 'bad', 'It has no base record.'],
  unreadable: ['unreadable', 'bad', "Its base record can't be understood, so it counts as absent."],
  arriving: ['arriving', '', 'It has a base record, and no lineage yet.'],
  'on-its-way': ['on its way', '', 'Its rows still follow its record.'],
  orphan: ['orphan', 'bad', "Its parent isn't there."],
  deleting: ['being deleted', 'bad', 'An operation deletes it.'],
  copying: ['being copied', '', 'The copy of what is below it goes on.'],
  cycle: ['in a cycle', 'bad', 'It is above itself. Other clients than the API can write that.'],
  'in-trash': ['in the trash', 'plain', 'It, or a node above it, is in the trash.'],
};

export function badge(state) {
  const [word, kind, meaning] = STATES[state] ?? [state, 'bad', ''];
  return word ? el('span', { class: `badge ${kind}`, title: meaning }, word) : null;
}

/** A button that leads to a node. */
/** The attributes that may be what a node is called: `node::LABELS`. */
export const LABELS = ['name', 'title'];
export const labelOf = ({ id, attributes }) => LABELS.map((name) => attributes?.[name]).find((text) => typeof text === 'string' && text.trim()) ?? id;
export const leads = (id, label = id) => el('button', { class: 'link', title: visible(label), onclick: () => tell('go', id) }, bdi(label));

/** A value of an attribute, as text. Sets, numbers past a double's and bytes have one key. */
export function shown(value) {
  if (typeof value === 'string') return visible(value);
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
    const [[name, inner] = [], second] = Object.entries(value);
    if (!second && name === '$number') return inner;
    if (!second && name === '$set') return `{ ${inner.map((one) => shown(one)).join(', ')} }`;
  }
  return visible(JSON.stringify(value));
}

/** The attributes of an item as a table. */
export function values(item, without = []) {
  const names = Object.keys(item).filter((name) => !without.includes(name)).sort();
  if (!names.length) return el('p', { class: 'question' }, 'It has no other attributes.');
  return el('div', { class: 'scroll' }, el('table', { class: 'values' }, el('tbody', {}, names.map((name) =>
    el('tr', {}, el('th', { scope: 'row' }, bdi(name)), el('td', {}, el('bdi', {}, shown(item[name]))))))));
}
