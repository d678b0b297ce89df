// The right side: its tabs, the stream of events, and what the stream handler does about each change.
import { $, about, address, bdi, calmly, count, data, el, get, hear, heardOf, isUnderWay, key, Lost, node as path, post, showPane, shown, tell, units, visible, wait } from './base.js';
import { last } from './node.js';

/** Most changes below nodes that are kept. */
const CHANGES_MAX = 2000;

/** When a node is shown after the first of all nodes has come, in milliseconds. */
const FIRST_AFTER = 900;

let tree;
let panels;

export function begin(of) {
  tree = of;
  panels = [
    about.live ? ['live', 'Live', livePanel] : ['state', 'State', statePanel],
    about.live && ['watch', 'Watch', later('watch', ({ panel }) => panel(changes, tree))], ['ask', 'Ask', later('ask', ({ panel }) => panel())],
    ['check', 'Check', later('trust', ({ checkPanel }) => checkPanel(tree))], about.trials && ['trust', 'Break it', later('trust', ({ trustPanel }) => trustPanel(tree))],
    about.playground && ['playground', 'Playground', later('playground', (all) => all.panel())],
  ].filter(Boolean);
  const tabs = $('tabs');
  for (const [name, words] of panels) {
    tabs.append(el('button', { type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': `panel-${name}`, onclick: () => show(name) }, words));
    $('tab-panels').append(el('div', { role: 'tabpanel', id: `panel-${name}`, 'aria-labelledby': `tab-${name}`, hidden: true }));
  }
  tabs.addEventListener('keydown', (event) => {
    const all = [...tabs.children];
    const at = all.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1 + all.length, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    all[to % all.length].focus();
    all[to % all.length].click();
  });
  const wanted = address.get('view');
  show(panels.some(([name]) => name === wanted) ? wanted : panels[0][0]);
  if (about.live) listen();
  if (about.example) idea(about.example);
  // The first nodes come when the page is there: one of them is shown.
  hear('seen', ({ levels }) => tree.selected === null && levels.includes(null) && first());
}

const first = calmly(FIRST_AFTER, async () => {
  for (let tries = 0; tries < 20 && !tree.first(); tries += 1) await wait(300);
  if (tree.selected === null && tree.first()) tell('go', about.example?.node ?? tree.first());
});

/** What an example shows first: a sentence, and a button that does what it says. */
function idea({ node, to }) {
  const box = el('section', { id: 'idea', 'aria-label': 'Where to begin' });
  hear('shown', (found) => {
    if (found.id !== node || found.state !== 'right' || box.childElementCount) return;
    const parent = to.find((one) => one !== found.parent);
    const below = found.below?.count ? ` and of the ${count(found.below.count, 'node')} below it` : '';
    const button = el('button', { type: 'button', class: 'main', onclick: async () => {
      button.disabled = true;
      show('live');
      if (matchMedia('(max-width: 1000px)').matches) showPane('side');
      const changes = await import('./change.js');
      changes.begin(tree);
      if (await changes.moveTo(node, parent)) box.remove();
      else button.disabled = false;
    } }, 'Move ', bdi(found.label), ' below ', bdi(tree.row(parent)?.label ?? parent), ' and watch its rows follow');
    box.append(el('p', {}, 'You write one record: the new parent of ', bdi(found.label), `. The stream handler then writes the rows of it${below}.`), button,
      el('button', { type: 'button', class: 'link', 'aria-label': 'Hide this', onclick: () => box.remove() }, '✕'));
    $('lost').after(box);
  });
}

/** A panel whose code is read when somebody looks at it. */
const later = (name, make) => () => {
  const box = el('div', {});
  import(`./${name}.js`).then((all) => box.append(make(all)));
  return box;
};

export function show(name) {
  for (const [one, , make] of panels) {
    const is = one === name;
    const tab = $(`tab-${one}`);
    const box = $(`panel-${one}`);
    tab.setAttribute('aria-selected', String(is));
    tab.tabIndex = is ? 0 : -1;
    box.hidden = !is;
    // A panel is made when it is first looked at.
    if (is && !box.firstChild) box.append(make());
  }
  address.set({ view: name === panels[0][0] ? null : name });
}

// ---- The stream of events ----

/** What became of nodes below others, the newest last: what watchers of those are told. */
const changes = [];

function listen() {
  let source = null;
  let hadError = false;
  const open = () => {
    source?.close();
    source = new EventSource('/explorer/data/live');
    source.addEventListener('begin', () => {
      if (hadError) tell('back');
      hadError = false;
    });
    source.addEventListener('cut', () => {
      // The page was too slow. What it missed it reads anew.
      tell('back');
    });
    source.addEventListener('error', () => {
      hadError = true;
      tell('lost');
    });
    source.addEventListener('message', (event) => heard(JSON.parse(event.data)));
  };
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) {
      source?.close();
      source = null;
    } else if (!source) {
      open();
      tell('back');
    }
  });
  if (!document.hidden) open();
}

const ROOT_ROWS = ['ROOT#', 'ORDERED#'];
/** Rows of depth 1 are a level, and those of depth 2 tell which nodes of it have children. */
const isChildRow = (sk) => sk.startsWith(`${about.keys.node}#0001#`) || sk.startsWith(`${about.keys.node}#0002#`) || sk.startsWith('CHILD#');

/** What an event means for the tree and for the node that is shown. */
function heard(event) {
  heardOf(event);
  tell('event', event);
  const [levels, nodes, totals] = [new Set(), new Set(), new Set()];
  let isWatched = false;
  for (const one of event.records ?? []) {
    if (one.sk.startsWith('TOTALS#')) totals.add(one.in);
    if (one.below) {
      changes.push({ ...one.below, of: one.in, at: new Date() });
      isWatched = true;
    }
    if (one.node !== null) nodes.add(one.node);
    if (one.goes_on || one.sk === 'LINEAGE') nodes.add(one.in);
    if (isChildRow(one.sk)) levels.add(one.in);
    if (ROOT_ROWS.some((beginning) => one.sk.startsWith(beginning))) levels.add(null);
    if (one.sk.startsWith('TRASH#')) tell('trashed');
  }
  if (levels.size || nodes.size || totals.size) tell('seen', { levels: [...levels], nodes: [...nodes], totals: [...totals] });
  if (changes.length > CHANGES_MAX) changes.splice(0, changes.length - CHANGES_MAX);
  if (isWatched) tell('watched');
}

// ---- Causes: which change of a base record an invocation, and each row, belongs to ----

/** Most changes that are kept, and most keys that one invocation names. */
const STORIES_MAX = 60;
const ROWS_MAX = 60;
/** How long after its last sign a change still takes what may follow from it, in milliseconds: the stream is read at once. */
const FOLLOWS_WITHIN = 2000;
/** Most keys that are remembered. */
const KEYS_MAX = 20_000;

/** The story that a story has become part of. */
function whole(story) {
  let at = story;
  while (at?.into) at = at.into;
  return at;
}

const nameOf = ([pk, sk]) => `${pk}\u0000${sk}`;

/**
 * What happened, by the change that caused it. A node's rows and its lineage are written only while its record is handled, its
 * children are touched only while its lineage or its checkpoint is, and the stream has them in their order. So each record leads to
 * the change behind it. Where two changes are handled at once, or one was written while the other was handled, they are told together.
 */
class Causes {
  constructor() {
    /** The newest last. */
    this.stories = [];
    /** The stories of the records that are read and not begun, by item, in their order. */
    this.waiting = new Map();
    /** The story of an item's last invocation, and how many of its records aren't handled. */
    this.begun = new Map();
    /** The last invocations that place a node, and that hand its lineage down, by node. */
    this.ofNode = new Map();
    this.ofLineage = new Map();
    this.ofHistory = new Map();
    this.running = [];
    this.ids = new Map();
    this.labels = new Map();
  }

  hear(event) {
    this.now = event.at;
    if (event.type === 'read') for (const one of event.records) this.read(one);
    else if (event.type === 'held') for (const item of event.items) for (const one of this.waiting.get(nameOf(item)) ?? []) this.sign(whole(one)).held = event.at + event.milliseconds;
    else if (event.type === 'begun') this.begin(event.items);
    else this.end(event);
    for (const map of [this.waiting, this.begun, this.ofNode, this.ofLineage, this.ofHistory, this.ids, this.labels]) if (map.size > KEYS_MAX) map.clear();
  }

  /** A story, if it still goes on. */
  alive(story) {
    const of = whole(story);
    return of && (of.open > 0 || this.now - of.seen < FOLLOWS_WITHIN) ? of : null;
  }

  sign(story) {
    story.seen = this.now;
    story.isDirty = true;
    return story;
  }

  tell(change) {
    const last = this.stories.at(-1);
    // Nodes that are added at once are one story, and so are the versions of one node.
    if (last?.changes[0].kind === change.kind && ['added', 'revision'].includes(change.kind) && last.from === this.now) last.changes.push(change);
    else {
      this.stories.push({ changes: [change], from: this.now, seen: this.now, until: null, open: 0, nodes: new Set(), put: 0, deleted: 0, copies: 0, units: 0, shared: 0, others: new Set(), invocations: [], isDirty: true });
      if (this.stories.length > STORIES_MAX) this.stories.shift().element?.remove();
    }
    return this.stories.at(-1);
  }

  /** Tells two stories together. The older one takes the younger one. */
  join(one, other) {
    let [a, b] = [whole(one), whole(other)];
    if (a === b) return a;
    if (a.from > b.from) [a, b] = [b, a];
    a.changes.push(...b.changes);
    for (const name of ['open', 'put', 'deleted', 'copies', 'units', 'shared']) a[name] += b[name];
    for (const name of ['nodes', 'others']) for (const item of b[name]) a[name].add(item);
    a.until = a.until === null ? b.until : Math.max(a.until, b.until ?? 0);
    a.held = Math.max(a.held ?? 0, b.held ?? 0);
    a.invocations = [...new Set([...a.invocations, ...b.invocations])].sort((x, y) => x.at - y.at);
    b.into = a;
    b.element?.remove();
    this.stories = this.stories.filter((story) => story !== b);
    return this.sign(a);
  }

  read(one) {
    const id = one.in ?? one.pk;
    this.ids.set(one.pk, id);
    if (one.base) this.labels.set(id, one.base.label ?? id);
    if (one.goes_on) {
      const story = this.sign(this.cause(one, id));
      story.open += 1;
      const name = nameOf([one.pk, one.sk]);
      if (!this.waiting.has(name)) this.waiting.set(name, []);
      this.waiting.get(name).push(story);
    } else if (one.node !== null) this.row(one, this.placed(one.node), one.node);
    else if (one.sk.startsWith('v0_')) this.row(one, this.ofHistory.get(id), id);
  }

  /** Who has placed a node just now. What was written before these rows were may be in them, too. */
  placed(id) {
    let story = this.ofNode.get(id)?.story;
    if (story) for (const one of this.waiting.get(this.ofNode.get(id).name) ?? []) story = this.join(story, one);
    return story && { ...this.ofNode.get(id), story };
  }

  row(one, by, id) {
    const story = whole(by?.story);
    if (!story) return;
    this.sign(story).nodes.add(id);
    const gone = one.what === 'REMOVE';
    if (one.node === null) story.copies += 1;
    else story[gone ? 'deleted' : 'put'] += 1;
    by.invocation.count += 1;
    by.invocation[gone ? 'deleted' : 'put'] += 1;
    if (by.invocation.rows.length < ROWS_MAX) by.invocation.rows.push({ gone, pk: one.pk, sk: one.sk });
  }

  /** The story of a record that goes to the handler. */
  cause(one, id) {
    if (one.sk === 'LINEAGE') return this.alive(this.placed(id)?.story) ?? this.tell({ kind: 'lineage', id });
    if (one.sk === 'CASCADE') return this.alive(this.ofLineage.get(id)?.story) ?? this.tell({ kind: 'lineage', id });
    if (one.sk !== about.keys.node) return this.tell({ kind: 'revision', id, sk: one.sk, gone: one.what === 'REMOVE' });
    const { parent = null, trashed = [], deleting = [], copying = [] } = one.base ?? {};
    const does = (story, ...kinds) => story?.changes.some(({ kind }) => kinds.includes(kind)) && story;
    const above = (node) => this.alive(this.ofLineage.get(node)?.story) ?? this.alive(this.ofNode.get(node)?.story);
    const own = this.alive(this.ofNode.get(id)?.story);
    const { kind, was = null, attributes = [], more = 0 } = one.below ?? {};
    if (trashed[1] && !trashed[0]) return this.tell({ kind: 'trashed', id });
    if (trashed[0] && !trashed[1] && kind !== 'went') return this.tell({ kind: 'restored', id, to: parent });
    if (kind === 'went' || (deleting[1] && !deleting[0])) return does(own, 'deleted') || does(above(was ?? parent), 'deleted') || this.tell({ kind: 'deleted', id });
    if (kind === 'came') return does(above(parent), 'copied') || this.tell({ kind: copying[1] ? 'copied' : 'added', id, to: parent });
    if (kind === 'changed' && was !== parent) return does(above(was), 'deleted') || this.tell({ kind: 'moved', id, to: parent, attributes });
    if (kind === 'changed') return this.tell({ kind: 'changed', id, attributes, more });
    return above(parent) ?? own ?? this.tell({ kind: 'requeued', id });
  }

  begin(items) {
    const counts = new Map();
    for (const item of items) counts.set(nameOf(item), (counts.get(nameOf(item)) ?? 0) + 1);
    const taken = [];
    for (const [name, number] of counts) {
      const queue = this.waiting.get(name) ?? [];
      const stories = queue.splice(0, number);
      if (!queue.length) this.waiting.delete(name);
      const before = this.begun.get(name);
      const [pk, sk] = name.split('\u0000');
      const known = before && (before.open || !stories.length) ? [before.story, ...stories] : stories;
      const story = known.length ? known.reduce((a, b) => this.join(a, b)) : this.tell({ kind: 'unseen', id: this.ids.get(pk) ?? pk });
      this.begun.set(name, { story, open: (before?.open ?? 0) + stories.length });
      taken.push([name, pk, sk, story]);
    }
    const batch = { text: JSON.stringify(items), stories: [...new Set(taken.map(([, , , story]) => whole(story)))] };
    for (const story of batch.stories) {
      const invocation = { at: this.now, items: [], rows: [], count: 0, put: 0, deleted: 0, state: 'working', batch };
      for (const [name, pk, sk, of] of taken) {
        if (whole(of) !== story) continue;
        invocation.items.push([pk, sk]);
        const id = this.ids.get(pk) ?? pk;
        const [map, isPlaced] = sk === about.keys.node ? [this.ofNode, true] : sk === 'LINEAGE' || sk === 'CASCADE' ? [this.ofLineage, false] : [this.ofHistory, true];
        map.set(id, { story, invocation, name });
        if (isPlaced) story.nodes.add(id);
      }
      story.invocations.push(invocation);
      this.sign(story).held = 0;
    }
    this.running.push(batch);
  }

  end(event) {
    const text = JSON.stringify(event.items);
    const at = this.running.findIndex((batch) => batch.text === text);
    const [batch] = at < 0 ? [] : this.running.splice(at, 1);
    if (!batch) return;
    const stories = [...new Set(batch.stories.map((story) => whole(story)))];
    for (const story of stories) {
      for (const one of story.invocations) if (one.batch === batch) Object.assign(one, { state: event.type, event });
      story[stories.length > 1 ? 'shared' : 'units'] += event.write_units ?? 0;
      for (const other of stories) if (other !== story) story.others.add(other);
      this.sign(story).until = event.at;
    }
    // A record that came while its item was handled may have been seen by the handler already.
    for (const item of event.items) {
      const name = nameOf(item);
      if (item[1] === about.keys.node) for (const other of this.waiting.get(name) ?? []) this.join(this.begun.get(name).story, other);
    }
    if (event.type !== 'handled' || event.failed) return;
    for (const item of event.items) {
      const begun = this.begun.get(nameOf(item));
      if (!begun) continue;
      whole(begun.story).open -= begun.open;
      begun.open = 0;
    }
    // Of a batch that failed in part nobody tells which records are delivered again.
    if (!this.running.length && !this.waiting.size) for (const story of this.stories) story.open = 0;
  }
}

// ---- Live ----

/** How long after an event the list is drawn, and how often the rows that lag are counted, in milliseconds. */
const DRAWN_AFTER = 120;
const COUNTED_EVERY = 400;
/** After so many counts at rest, what still lags is damage. */
const RESTS = 4;
/** Most titles that a headline names. */
const TITLES_MAX = 3;

/** What the handler makes of a record, by its sort key. */
function plan(sk) {
  if (sk === about.keys.node) return 'put its rows where its record wants them';
  if (sk === 'LINEAGE') return 'hand its lineage down to its children';
  if (sk === 'CASCADE') return 'go on with its other children';
  return 'copy the newest revision of its topic';
}

/** A change in a few words. Names are elements, so that long ones are cut and not those beside them. */
function title({ kind, id, to, attributes = [], more, sk, gone }, labels) {
  const name = (of) => bdi(labels.get(of) ?? tree.row(of)?.label ?? of);
  const word = (text) => el('span', {}, text);
  const below = to === null || to === undefined ? [word(' as a root')] : [word(' below '), name(to)];
  const label = attributes.find(([one]) => one === 'name' || one === 'title');
  const unquoted = (text) => (text === null || text === undefined ? '' : shown(text.startsWith('"') && text.endsWith('"') ? JSON.parse(text) : text));
  switch (kind) {
    case 'moved': return [name(id), word(' → '), to === null ? word('the roots') : name(to), attributes.length > 0 && word(', and changed')];
    case 'added': return [name(id), word(' added'), ...below];
    case 'copied': return [word('Copy '), name(id), ...below];
    case 'deleted': return [name(id), word(' deleted')];
    case 'trashed': return [name(id), word(' → the trash')];
    case 'restored': return [name(id), word(' restored'), ...below];
    case 'requeued': return [name(id), word(' requeued')];
    case 'revision': return [name(id), word(`: version ${Number(sk.match(/^v(\d+)/)?.[1])}${gone ? ' deleted,' : ''} of `), bdi(sk.replace(/^v\d+_/, ''))];
    case 'changed': if (label) return [bdi(unquoted(label[1])), word(' renamed '), bdi(unquoted(label[2]))];
      return [name(id), word(attributes.length ? `: ${attributes.map(([one]) => visible(one)).join(', ')}${more ? ` and ${more} more` : ''} changed` : ' changed')];
    default: return [name(id), word(': an earlier change')];
  }
}

/** The changes of a story, as lines: the first, and those with it. */
function titles({ changes }, labels) {
  const [first] = changes;
  const line = (change, before) => {
    const made = el('span', { class: 'headline' }, before, title(change, labels));
    made.title = made.textContent;
    return made;
  };
  if (changes.length > 1 && ['added', 'revision'].includes(first.kind) && changes.every(({ kind }) => kind === first.kind)) {
    const names = changes.slice(0, TITLES_MAX).flatMap(({ id }, index) => [index ? el('span', {}, ', ') : '', bdi(labels.get(id) ?? id)]);
    const what = first.kind === 'added' ? count(changes.length, 'node') : count(changes.length, 'revision');
    return [el('span', { class: 'headline' }, el('span', {}, `${what} added: `), names, changes.length > TITLES_MAX && el('span', {}, ', …'))];
  }
  const others = changes.slice(1, TITLES_MAX).map((change) => line(change, el('span', { class: 'soft' }, 'together with ')));
  return [line(first), others, changes.length > TITLES_MAX && el('span', { class: 'soft' }, `and with ${changes.length - TITLES_MAX} more`)];
}

const seconds = (milliseconds) => `${(milliseconds / 1000).toFixed(milliseconds < 95 ? 2 : 1)}\u00a0s`;

/** What a story came to, in one line. */
function summary(story) {
  const { nodes, put, deleted, copies, units: own, shared, from, until } = story;
  const rows = [put && count(put, 'row put', 'rows put'), deleted && (put ? `${deleted.toLocaleString('en')} deleted` : count(deleted, 'row deleted', 'rows deleted')), copies && count(copies, 'copy written', 'copies written')].filter(Boolean);
  const cost = own + shared ? `${units(own + shared)} ${units(own + shared) === '1' ? 'unit' : 'units'}${shared ? ` (${own ? `${units(shared)} of them ` : ''}together with other changes)` : ''}` : 'no units';
  return [...(nodes.size ? [count(nodes.size, 'node')] : []), ...(rows.length || story.open ? rows : ['no row to write']), ...(until === null ? [] : [cost, seconds(until - from)])].join(', ');
}

/** A key in one line. */
function keyLine(pk, sk, sign) {
  return el('div', { class: `line${sign ? (sign === '−' ? ' del' : ' put') : ''}`, title: `${visible(pk)} | ${visible(sk)}` }, sign && el('span', {}, `${sign} `), key(pk, sk));
}

function invocation(one, labels, isOpen, toggled) {
  const { items, rows, count: number, put, deleted, state, event, batch, at } = one;
  const others = new Set(batch.stories.map(whole)).size - 1;
  const did = event && [put && count(put, 'row put', 'rows put'), deleted && (put ? `${deleted} deleted` : count(deleted, 'row deleted', 'rows deleted')), event.touches && count(event.touches, 'child touched', 'children touched'),
    event.copies && !put && count(event.copies, 'copy written', 'copies written'), event.child_actions && count(event.child_actions, 'child changed', 'children changed'), event.nodes_deleted && count(event.nodes_deleted, 'node deleted', 'nodes deleted'),
    event.nodes_copied && count(event.nodes_copied, 'node copied', 'nodes copied'), event.failed && `${count(event.failed, 'record')} to be handled again`].filter(Boolean);
  const result = { working: () => [el('span', { class: 'soft' }, 'at work…')], killed: () => [el('span', { class: 'badge bad' }, `killed after ${count(event.writes, 'write')}`), ' It gets the records again.'],
    handled: () => [el('b', {}, did.length ? did.join(', ') : 'nothing left to do'), event.again && el('span', { class: 'badge' }, 'delivered again'),
      el('span', { class: 'soft' }, ` ${units(event.write_units)} units${others > 0 ? ` in one batch with ${count(others, 'other change')}` : ''}, ${event.milliseconds} ms`),
      event.problems.map((problem) => el('div', { class: 'wrong' }, key(problem.pk, problem.sk), ` ${visible(problem.reason)}`))] }[state]();
  const keys = number > 0 && el('details', { open: isOpen(`keys ${at}`) }, el('summary', { 'data-focus': `keys ${at}` }, count(number, 'key')), rows.map(({ gone, pk, sk }) => keyLine(pk, sk, gone ? '−' : '+')), number > rows.length && el('div', { class: 'soft' }, `and ${number - rows.length} more`));
  if (keys) keys.addEventListener('toggle', () => toggled(`keys ${at}`, keys.open));
  return el('li', { class: state }, items.slice(0, 3).map(([pk, sk]) => keyLine(pk, sk)), items.length > 3 && el('div', { class: 'soft' }, `and ${items.length - 3} more`),
    el('div', { class: 'soft' }, `${[...new Set(items.map(([, sk]) => plan(sk)))].join('; ')}:`), el('div', {}, result), keys);
}

function livePanel() {
  const causes = new Causes();
  const list = el('ol', { class: 'stories', 'aria-label': 'What was changed, the newest first, and what the stream handler did about it' });
  const hint = el('div', { class: 'card' }, el('h3', {}, 'Change something, and watch'), el('p', {}, 'You write one base record. The table’s stream carries it to the stream handler, which plans, and writes the rows.'),
    about.writes && el('p', { class: 'question' }, 'Drag a folder onto another, rename one, or write with any client: what happens appears here.'));
  const clear = el('button', { type: 'button', onclick: () => {
    causes.stories = [];
    list.replaceChildren();
    bar.hidden = clear.hidden = true;
  }, hidden: true }, 'Clear');
  const bar = about.trials ? lagBar() : el('div', { hidden: true });
  /** Nodes whose names were asked for: those that no record of the stream, and no row of the tree, has named. */
  const asked = new Set();
  const learn = async (id, story) => {
    if (!id || asked.has(id) || causes.labels.has(id) || tree.row(id)) return;
    asked.add(id);
    const { attributes } = await get(`${path(id)}?fields=name,title`).catch(() => ({}));
    causes.labels.set(id, attributes?.name ?? attributes?.title ?? id);
    story.isDirty = true;
    draw();
  };
  const draw = calmly(DRAWN_AFTER, async () => {
    hint.hidden = true;
    clear.hidden = false;
    for (const story of causes.stories) if (story.isDirty) {
      for (const { to } of story.changes.slice(0, TITLES_MAX)) learn(to, story);
      drawStory(story, causes.labels);
    }
    const elements = causes.stories.map(({ element }) => element).reverse();
    elements.forEach((element, index) => list.children[index] === element || list.insertBefore(element, list.children[index] ?? null));
  });
  hear('event', (event) => {
    if (!['read', 'held', 'begun', 'killed', 'handled'].includes(event.type)) return;
    causes.hear(event);
    if (causes.stories.length) draw();
    if (causes.stories.some(({ open }) => open > 0)) bar.look?.();
  });
  return el('div', { class: 'panel' }, bar, hint, list, el('div', { class: 'row' }, clear));
}

/** Draws a story. What is below its headline is made when it is unfolded. */
function drawStory(story, labels) {
  story.isDirty = false;
  story.opened ??= new Set();
  const toggled = (name, is) => (is ? story.opened.add(name) : story.opened.delete(name));
  if (!story.element) {
    story.head = el('summary', { 'data-focus': 'story' });
    story.body = el('ol', { class: 'invocations' });
    const box = el('details', {}, story.head, story.body);
    box.addEventListener('toggle', () => {
      toggled('all', box.open);
      drawStory(story, labels);
    });
    story.element = el('li', { class: 'story' }, box);
  }
  const killed = story.invocations.filter(({ state }) => state === 'killed').length;
  story.element.classList.toggle('killed', killed > 0 && story.open > 0);
  story.element.classList.toggle('held', story.held > 0);
  story.head.replaceChildren(...titles(story, labels).flat().filter(Boolean), el('span', { class: 'sum' }, summary(story), story.held > 0 && el('span', { class: 'badge' }, 'held back'),
    story.open > 0 && !story.held && el('span', { class: 'badge' }, `${count(story.open, 'record')} to handle`), killed > 0 && el('span', { class: 'badge bad' }, `killed ${count(killed, 'time')}`)));
  if (!story.opened.has('all')) return story.body.replaceChildren();
  const { activeElement } = document;
  const focus = story.body.contains(activeElement) && activeElement.dataset.focus;
  story.body.replaceChildren(...story.invocations.map((one) => invocation(one, labels, (name) => story.opened.has(name), toggled)));
  if (focus) story.body.querySelector(`[data-focus="${focus}"]`)?.focus();
}

/** How high each part of what lags is, and what it says. */
export const PARTS = [['put', 'to put'], ['delete', 'to delete'], ['change', 'to change']];

/** Counts the items that lag: what a scan of the table finds to be otherwise than the base records ask. Null in a table too large to scan. */
export async function lagging() {
  const { lag } = await data('lag');
  return lag && { ...lag, all: lag.put + lag.delete + lag.change };
}

export function said(found) {
  if (!found.all) return 'Nothing lags: all rows are as the base records ask.';
  const parts = PARTS.filter(([name]) => found[name]).map(([name, words]) => `${found[name].toLocaleString('en')} ${words}`);
  return `${count(found.all, 'item lags', 'items lag')}${parts.length ? `: ${parts.join(', ')}` : ''}.`;
}

/** What to say of items that lag though no change is under way, with the button that has them repaired. */
export function damaged(number, repaired, id) {
  const button = el('button', { type: 'button', class: 'main', onclick: async () => {
    button.disabled = true;
    try {
      await post('mend', id === undefined ? {} : { id });
      repaired();
    } catch (error) {
      box.append(` ${error.message}`);
      button.disabled = false;
    }
  } }, 'Repair');
  const box = el('p', { class: 'wrong' }, `${count(number, 'item is', 'items are')} missing or changed, and no change is under way: the stream will not repair ${number === 1 ? 'it' : 'them'}. `, button);
  return box;
}

/** The rows that still lag, as a bar. It counts while a change is under way, and then once more. */
function lagBar() {
  const words = el('div', { class: 'question' });
  const parts = el('div', { class: 'lag', 'aria-hidden': 'true' });
  const box = el('div', { class: 'lags', hidden: true }, parts, words);
  let most = 0;
  let rests = 0;
  let isLooking = false;
  let isTooLarge = false;
  box.look = async () => {
    rests = 0;
    if (isLooking || isTooLarge || $('panel-live').hidden || document.hidden) return;
    isLooking = true;
    most = 0;
    try {
      while (rests < RESTS) {
        const begun = performance.now();
        const found = await lagging();
        isTooLarge = found === null;
        if (isTooLarge) return;
        most = Math.max(most, found.all);
        parts.replaceChildren(...[...PARTS.map(([name]) => [name, found[name]]), ['rest', most - found.all]].map(([name, number]) => {
          const made = el('i', { class: `lag-${name}` });
          made.style.flexGrow = number;
          return made;
        }));
        box.hidden = most === 0;
        parts.hidden = found.all === 0;
        box.dataset.all = found.all;
        words.replaceChildren(said(found));
        rests = isUnderWay() ? 0 : rests + 1;
        if (rests === RESTS && found.all) words.replaceChildren(damaged(found.all, box.look));
        if (rests === RESTS || (!found.all && rests) || document.hidden) break;
        await wait(Math.max(COUNTED_EVERY, 3 * (performance.now() - begun)));
      }
    } catch (error) {
      if (!(error instanceof Lost)) words.textContent = error.message;
    } finally {
      isLooking = false;
    }
  };
  return box;
}

// ---- The state of a node of a deployed table ----

function statePanel() {
  const box = el('div', { 'aria-live': 'polite' });
  const draw = (found) => {
    const behind = found.items.filter((item) => item.wrong).length;
    box.replaceChildren(el('section', { class: 'card' }, el('h3', {}, 'The stream handler and ', bdi(found.label)),
      el('p', { class: behind ? 'wrong' : 'right-box' }, behind ? `${count(behind, 'item')} still to follow the base record.` : 'Its rows are as its record asks.'),
      el('p', { class: 'question' }, `It was looked at just now (${new Date().toLocaleTimeString()}).`)));
  };
  hear('shown', draw);
  hear('wrote', () => tell('again'));
  if (last) draw(last);
  return el('div', { class: 'panel' }, box);
}

