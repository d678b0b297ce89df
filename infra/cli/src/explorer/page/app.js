// The tree, and what joins the parts: the page begins here.
import { $, about, address, badge, bdi, calmly, count, data, el, get, hear, node, post, Refused, say, showPane, STATES, sumsOf, tell, visible, wait, worded } from './base.js';
import { open as openNode } from './node.js';
import { begin as beginLive } from './live.js';

// ---- The tree: one list of rows, lazily by level and page. A row knows its level; what is below an open row follows it ----

/** How long after a change the levels, the states and the totals in view are read again. All together are six requests a second at most. */
const LEVELS_AFTER = 450;
const STATES_AFTER = 550;
const TOTALS_AFTER = 500;
/** When a page of a level that couldn't be read is read again, if it is still in view. */
const AGAIN_AFTER = 2000;
/** Without a stream of events nobody tells when totals have followed the rows. */
const TOTALS_LATER = 1500;
/** Most nodes whose states one request asks for. */
const STATES_MAX = 200;
/** Most nodes whose totals one request asks for. */
const TOTALS_MAX = 25;
const TYPED_WITHIN = 700;

/** What is below a node, in few words, and in more. */
const brief = ({ count: number, sums }) => [`${number.toLocaleString('en')} below`, ...sumsOf(sums)].join(' · ');
const inWords = (below) => `${count(below.count, 'node')} below it, ${count(below.children, 'child', 'children')} among them${below.count ? '. Their numbers added up: ' : ''}${sumsOf(below.sums).join(', ') || 'nothing'}`;
const sameBelow = (a, b) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);

class Tree {
  constructor(list, roots) {
    this.list = list;
    /** What is known of each node that has a row. */
    this.rows = new Map();
    /** The levels that are open, by the parent's id; the roots by null. */
    this.levels = new Map();
    this.selected = null;
    this.typed = '';
    this.stale = new Set();
    this.readStale = calmly(LEVELS_AFTER, () => this.refreshStale());
    this.readStates = calmly(STATES_AFTER, () => this.refreshStates());
    /** The nodes in view, and those of them whose totals aren't known, or have changed. */
    this.shown = new Set();
    this.uncounted = new Set();
    this.readTotals = calmly(TOTALS_AFTER, () => this.refreshTotals());
    this.rowsInView = new IntersectionObserver((seen) => this.counted(seen));
    this.inView = new IntersectionObserver((seen) => {
      for (const { isIntersecting, target } of seen) if (isIntersecting) this.more(this.parentOf(target));
    });
    list.addEventListener('keydown', (event) => this.key(event));
    list.addEventListener('click', (event) => this.click(event));
    list.addEventListener('focusin', (event) => this.focused(event.target.closest('[role=treeitem]')));
    this.levels.set(null, { ids: [], next: null, element: null });
    this.take(null, roots, []);
    this.note();
    hear('back', () => this.again());
    hear('seen', (seen) => this.seen(seen));
  }

  // ---- What there is ----

  first() {
    return this.levels.get(null).ids[0] ?? null;
  }

  entries() {
    return [...this.rows.values()].filter((row) => row.id !== undefined);
  }

  row(id) {
    return this.rows.get(id);
  }

  parentOf(element) {
    return element.dataset.more !== undefined ? (element.dataset.more === '' ? null : element.moreOf) : this.rows.get(element.nodeId)?.parent ?? null;
  }

  siblings(id) {
    return this.levels.get(this.rows.get(id)?.parent ?? null)?.ids ?? [];
  }

  elements() {
    return [...this.list.querySelectorAll('[role=treeitem]')];
  }

  // ---- Rows ----

  make(entry, parent, level) {
    const element = el('li', { role: 'treeitem', 'aria-level': level, 'aria-selected': 'false', tabindex: '-1', draggable: about.writes ? 'true' : undefined });
    element.style.setProperty('--level', level);
    element.nodeId = entry.id;
    const row = { ...entry, parent, level, element, open: false };
    this.rows.set(entry.id, row);
    this.draw(row);
    if (about.totals) this.rowsInView.observe(element);
    return row;
  }

  /** Draws a row. Its parts stay, and so does what is clicked just now. */
  draw(row) {
    const { element } = row;
    if (row.has_children === false) element.removeAttribute('aria-expanded');
    else element.setAttribute('aria-expanded', String(row.open));
    if (!row.parts) {
      row.parts = { twist: el('span', { 'aria-hidden': 'true' }), label: bdi('', 'label'), id: bdi('', 'id'), mark: el('span', {}), below: el('span', { class: 'below' }) };
      element.append(...Object.values(row.parts));
    }
    const { twist, label, id, mark, below } = row.parts;
    const write = (part, text) => part.textContent === text || (part.textContent = text);
    twist.className = `twist${row.has_children === null ? ' maybe' : ''}`;
    write(twist, row.has_children === false ? '' : row.open ? '▾' : '▸');
    write(label, visible(row.label));
    write(id, visible(row.id));
    id.hidden = row.label === row.id;
    const state = badge(row.state);
    mark.replaceChildren(...(state ? [state] : []));
    mark.hidden = !state;
    write(below, row.below?.count ? brief(row.below) : '');
    below.hidden = !row.below?.count;
    below.title = row.below?.count ? inWords(row.below) : '';
    const meaning = row.state === 'right' ? '' : STATES[row.state]?.[2];
    element.title = [visible(row.label), row.label === row.id ? '' : visible(row.id), meaning].filter(Boolean).join('\n');
  }

  /** Takes a level as it was read: what stays keeps its row, what is new gets one, what has gone loses it. */
  take(parent, level, before) {
    const known = this.levels.get(parent);
    const old = new Set(known.ids);
    const depth = parent === null ? 1 : this.rows.get(parent).level + 1;
    const ids = [...before];
    let after = before.length ? this.lastBelow(before.at(-1)) : parent === null ? null : this.rows.get(parent).element;
    for (const entry of level.items) {
      if (ids.includes(entry.id)) continue;
      ids.push(entry.id);
      let row = this.rows.get(entry.id);
      if (row && (row.parent !== parent || row.level !== depth)) {
        this.forget(entry.id);
        row = null;
      }
      if (row) {
        const [label, state, has, below] = [row.label, row.state, row.has_children, row.below];
        Object.assign(row, entry, { below: entry.below ?? below });
        // Whoever opened a node knows better than a page of rows.
        if (entry.has_children === null) row.has_children = has;
        if (label !== row.label || state !== row.state || has !== row.has_children || !sameBelow(below, row.below)) this.draw(row);
        const last = this.lastBelow(entry.id);
        const next = after ? after.nextElementSibling : this.list.firstElementChild;
        if (row.element !== next) this.moveBlock(row.element, last, after);
        after = last;
      } else {
        row = this.make(entry, parent, depth);
        if (known.isRead) row.element.classList.add('arrived');
        if (after) after.after(row.element);
        else this.list.prepend(row.element);
        after = row.element;
      }
      old.delete(entry.id);
    }
    for (const id of old) if (!ids.includes(id) && this.rows.get(id)?.parent === parent) this.forget(id);
    Object.assign(known, { ids, next: level.next, isRead: true });
    known.element?.remove();
    known.element = null;
    if (level.next) {
      known.element = this.moreRow(parent, depth, ids.length);
      if (after) after.after(known.element);
      else this.list.prepend(known.element);
      this.inView.observe(known.element);
    }
    this.number(known);
    this.oneStop();
  }

  moreRow(parent, level, shown) {
    const row = el('li', { role: 'treeitem', 'aria-level': level, tabindex: '-1', 'data-more': parent === null ? '' : 'of' },
      el('span', { class: 'twist', 'aria-hidden': 'true' }, '…'), el('span', { class: 'more' }, `more than ${shown}: load the next`));
    row.moreOf = parent;
    row.style.setProperty('--level', level);
    return row;
  }

  number({ ids, next }) {
    ids.forEach((id, index) => {
      const { element } = this.rows.get(id);
      element.setAttribute('aria-posinset', index + 1);
      element.setAttribute('aria-setsize', next ? -1 : ids.length);
    });
  }

  /** The last element of a node with what is open below it. */
  lastBelow(id) {
    const row = this.rows.get(id);
    const level = this.levels.get(id);
    if (!row.open || !level) return row.element;
    if (level.element) return level.element;
    return level.ids.length ? this.lastBelow(level.ids.at(-1)) : row.element;
  }

  moveBlock(first, last, after) {
    const block = [first];
    while (block.at(-1) !== last) block.push(block.at(-1).nextElementSibling);
    const focused = block.find((element) => element === document.activeElement);
    if (after) after.after(...block);
    else this.list.prepend(...block);
    focused?.focus({ preventScroll: true });
  }

  forget(id) {
    const row = this.rows.get(id);
    if (!row) return;
    this.shut(id);
    const hadFocus = row.element.contains(document.activeElement);
    const beside = row.element.nextElementSibling ?? row.element.previousElementSibling;
    row.element.remove();
    this.rowsInView.unobserve(row.element);
    this.rows.delete(id);
    this.shown.delete(id);
    const level = this.levels.get(row.parent);
    if (level) level.ids = level.ids.filter((one) => one !== id);
    if (hadFocus) beside?.focus();
  }

  shut(id) {
    const level = this.levels.get(id);
    if (!level) return;
    for (const child of [...level.ids]) this.forget(child);
    level.element?.remove();
    this.levels.delete(id);
  }

  note() {
    const roots = this.levels.get(null);
    document.getElementById('tree-note').textContent = !about.root_rows ? 'This table keeps no list of its roots (RootRows=off): find a node by its id.'
      : roots.ids.length ? '' : about.writes ? 'No trees yet. Add a root, or write a base record with any client.' : 'No trees yet.';
  }

  // ---- Levels ----

  /** Opens a node. One that is expected to get a child opens when the child's row is there. */
  async open(id, { expected = false } = {}) {
    const row = this.rows.get(id);
    if (!row || row.open || (row.has_children === false && !expected)) return;
    row.isExpecting = false;
    row.element.setAttribute('aria-busy', 'true');
    try {
      const level = await data('level', { id });
      if (!this.rows.has(id)) return;
      row.open = true;
      row.has_children = level.items.length > 0;
      this.levels.set(id, { ids: [], next: null, element: null });
      if (row.has_children) this.take(id, level, []);
      else {
        row.open = false;
        row.isExpecting = expected;
        this.levels.delete(id);
      }
      this.draw(row);
      say(row.open ? `${row.label}: ${level.items.length}${level.next ? ' and more' : ''} loaded` : `${row.label} has no children`);
    } catch (error) {
      say(error.message);
    } finally {
      row.element.removeAttribute('aria-busy');
    }
  }

  close(id) {
    const row = this.rows.get(id);
    if (!row?.open) return;
    this.shut(id);
    row.open = false;
    this.draw(row);
  }

  async more(parent) {
    const level = this.levels.get(parent);
    if (!level?.next || level.isLoading) return;
    level.isLoading = true;
    try {
      const after = level.next;
      const next = await data('level', { id: parent ?? undefined, after });
      // Somebody has read the level again meanwhile, and this isn't its next page any more.
      if (this.levels.get(parent) !== level || level.next !== after) return;
      const hadFocus = level.element === document.activeElement;
      const before = level.ids;
      level.isRead = false;
      this.take(parent, next, before);
      if (hadFocus) this.rows.get(next.items[0]?.id)?.element.focus();
      say(`${next.items.length} more loaded, ${level.ids.length} in all`);
    } catch (error) {
      say(error.message);
      await wait(AGAIN_AFTER);
    } finally {
      level.isLoading = false;
      // Who has come into view meanwhile wasn't listened to.
      if (level.element?.isConnected) {
        this.inView.unobserve(level.element);
        this.inView.observe(level.element);
      }
    }
  }

  /** Reads a level again, as far as it was read. */
  async refresh(parent) {
    const level = this.levels.get(parent);
    if (!level) {
      const row = this.rows.get(parent);
      if (row?.isExpecting) return this.open(parent, { expected: true });
      // It may have got its first child.
      if (row && row.has_children === false) {
        row.has_children = null;
        this.draw(row);
      }
      return;
    }
    const all = { items: [], next: null };
    do {
      const page = await data('level', { id: parent ?? undefined, after: all.next ?? undefined });
      all.items.push(...page.items);
      all.next = page.next;
      // More of it may be loaded while this reads.
    } while (all.next && all.items.length < level.ids.length);
    if (this.levels.get(parent) !== level) return;
    this.take(parent, all, []);
    const row = this.rows.get(parent);
    if (row && !all.items.length) {
      this.close(parent);
      row.has_children = false;
      this.draw(row);
    }
    this.note();
    if (this.selected !== null && !this.rows.has(this.selected)) this.follow();
  }

  /** Shows where the selected node has gone, once its rows tell. */
  async follow() {
    const id = this.selected;
    await this.reveal(id, { quiet: true });
    const row = this.rows.get(id);
    if (row) row.element.classList.add('arrived');
  }

  /** Has levels read again soon. */
  changed(...parents) {
    for (const parent of parents) this.stale.add(parent ?? null);
    this.readStale();
    this.readStates();
    if (about.totals && !about.live) setTimeout(() => this.recount(this.rows.keys()), TOTALS_LATER);
  }

  async refreshStale() {
    const parents = [...this.stale];
    this.stale.clear();
    for (const parent of parents) await this.refresh(parent);
  }

  async refreshStates() {
    const shown = this.entries().filter((row) => row.state !== 'right' || this.asked?.has(row.id)).slice(0, STATES_MAX);
    this.asked = null;
    if (!shown.length) return;
    const { states } = await post('states', { ids: shown.map((row) => row.id) });
    let waiting = false;
    shown.forEach((row, index) => {
      if (this.rows.get(row.id) !== row) return;
      if (row.state !== states[index]) {
        row.state = states[index];
        this.draw(row);
      }
      waiting ||= ['on-its-way', 'arriving', 'deleting', 'copying'].includes(row.state);
    });
    // Without a stream of events somebody has to look until the rows are there.
    if (waiting && !about.live) setTimeout(() => this.readStates(), 2000);
  }

  // ---- Totals ----

  /** Rows have come into view, or left it. */
  counted(seen) {
    for (const { isIntersecting, target } of seen) {
      const row = this.rows.get(target.nodeId);
      if (!row || row.element !== target) continue;
      if (isIntersecting) this.shown.add(row.id);
      else this.shown.delete(row.id);
      if (isIntersecting && !row.below && row.has_children !== false) this.uncounted.add(row.id);
    }
    if (this.uncounted.size) this.readTotals();
  }

  /** The totals of these nodes have changed. Those that aren't in view are asked for when they are. */
  recount(ids) {
    for (const id of ids) {
      const row = this.rows.get(id);
      if (this.shown.has(id)) this.uncounted.add(id);
      else if (row) row.below = null;
    }
    if (this.uncounted.size) this.readTotals();
  }

  async refreshTotals() {
    const ids = [...this.uncounted].filter((id) => this.shown.has(id)).slice(0, TOTALS_MAX);
    for (const id of ids) this.uncounted.delete(id);
    if (!ids.length) return this.uncounted.clear();
    const { totals } = await post('totals', { ids });
    ids.forEach((id, index) => {
      const row = this.rows.get(id);
      if (!row || sameBelow(row.below, totals[index])) return;
      row.below = totals[index];
      this.draw(row);
    });
    if (this.uncounted.size) this.readTotals();
  }

  /** Nodes and levels of which the stream has told. */
  seen({ levels, nodes, totals }) {
    this.recount(totals);
    let any = false;
    for (const parent of levels) {
      if (this.levels.has(parent) || this.rows.get(parent)?.has_children === false || this.rows.get(parent)?.isExpecting) {
        this.stale.add(parent);
        any = true;
      }
    }
    if (any) this.readStale();
    const inView = nodes.filter((id) => this.rows.has(id));
    if (inView.length) {
      this.asked = new Set([...(this.asked ?? []), ...inView]);
      this.readStates();
    }
  }

  async again() {
    for (const parent of [...this.levels.keys()]) if (this.levels.has(parent)) await this.refresh(parent);
    this.asked = new Set(this.rows.keys());
    this.readStates();
    if (about.totals) this.recount(this.rows.keys());
    if (this.selected) tell('again', this.selected);
  }

  /** Opens what is above a node, and selects it. */
  async reveal(id, { quiet = false, known = null } = {}) {
    if (!this.rows.has(id)) {
      const found = known?.id === id ? known : await data('node', { id });
      const way = found.ancestors.map((one) => one.id);
      for (const above of way) await this.open(above);
      if (!this.rows.has(id)) {
        const parent = way.at(-1) ?? null;
        const level = this.levels.get(parent);
        const isRoot = parent === null && found.state !== 'gone' && found.state !== 'in-trash' && !found.parent;
        if (level && (parent !== null ? this.rows.has(parent) : isRoot)) {
          // It is on a later page of its level.
          const entry = { id, label: found.label, state: found.state, has_children: null };
          const row = this.make(entry, parent, parent === null ? 1 : this.rows.get(parent).level + 1);
          const last = level.ids.length ? this.lastBelow(level.ids.at(-1)) : parent === null ? null : this.rows.get(parent).element;
          if (last) last.after(row.element);
          else this.list.prepend(row.element);
          level.ids.push(id);
        }
      }
    }
    this.select(id, { quiet });
  }

  // ---- Selection and focus ----

  select(id, { quiet = false } = {}) {
    if (this.selected === id && quiet && this.rows.get(id)?.element.getAttribute('aria-selected') === 'true') return;
    const isSame = this.selected === id;
    this.rows.get(this.selected)?.element.setAttribute('aria-selected', 'false');
    this.selected = id;
    const row = this.rows.get(id);
    if (row) {
      row.element.setAttribute('aria-selected', 'true');
      row.element.scrollIntoView({ block: 'nearest' });
    }
    this.oneStop();
    if (!isSame || !quiet) tell('select', id);
  }

  focused(element) {
    if (!element) return;
    for (const other of this.list.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
    element.tabIndex = 0;
  }

  /** The tree is one stop of the tab key. */
  oneStop() {
    if (this.list.querySelector('[role=treeitem][tabindex="0"]')) return;
    const stop = this.rows.get(this.selected)?.element ?? this.list.firstElementChild;
    if (stop) stop.tabIndex = 0;
  }

  click(event) {
    const element = event.target.closest('[role=treeitem]');
    if (!element || event.target.closest('.refusal')) return;
    if (element.dataset.more !== undefined) return this.more(element.moreOf);
    const row = this.rows.get(element.nodeId);
    if (event.target.closest('.twist')) return row.open ? this.close(row.id) : this.open(row.id);
    element.focus();
    this.select(row.id);
  }

  key(event) {
    const element = event.target.closest('[role=treeitem]');
    if (!element || event.target !== element) return;
    const all = this.elements();
    const at = all.indexOf(element);
    const row = this.rows.get(element.nodeId);
    const to = (index) => all[Math.max(0, Math.min(all.length - 1, index))]?.focus();
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    switch (event.key) {
      case 'ArrowDown': to(at + 1); break;
      case 'ArrowUp': to(at - 1); break;
      case 'Home': to(0); break;
      case 'End': to(all.length - 1); break;
      case 'PageDown': to(at + 10); break;
      case 'PageUp': to(at - 10); break;
      case 'ArrowRight':
        if (!row) break;
        if (row.open) to(at + 1);
        else this.open(row.id);
        break;
      case 'ArrowLeft':
        if (row?.open) this.close(row.id);
        else this.rows.get(row ? row.parent : element.moreOf)?.element.focus();
        break;
      case 'Enter':
      case ' ':
        if (!row) this.more(element.moreOf);
        else this.select(row.id);
        break;
      case '*':
        for (const id of this.siblings(row?.id)) this.open(id);
        break;
      default:
        if (event.key.length !== 1 || event.isComposing) return;
        this.type(event.key, all, at);
    }
    event.preventDefault();
  }

  /** Leads to the next row whose name begins with what is typed. */
  type(letter, all, at) {
    clearTimeout(this.typing);
    this.typing = setTimeout(() => {
      this.typed = '';
    }, TYPED_WITHIN);
    this.typed += letter.toLowerCase();
    const same = [...this.typed].every((one) => one === this.typed[0]);
    const sought = same ? this.typed[0] : this.typed;
    const from = same || this.typed.length === 1 ? at + 1 : at;
    const found = [...all.slice(from), ...all.slice(0, from)].find((element) => {
      const row = this.rows.get(element.nodeId);
      return row && visible(row.label).toLowerCase().startsWith(sought);
    });
    found?.focus();
  }

  /** Says at a row why something wasn't done there. */
  refuse(id, message) {
    const element = this.rows.get(id)?.element ?? null;
    this.clearRefusals();
    const box = el('span', { class: 'refusal', role: 'alert' }, worded(message));
    if (element) element.append(box);
    else document.getElementById('tree-note').replaceChildren(box);
  }

  clearRefusals() {
    for (const box of document.querySelectorAll('#pane-tree .refusal')) box.remove();
  }
}

// ---- The page ----

let tree;

async function begin() {
  let start;
  const wanted = address.get('node');
  try {
    start = await data('start', { node: wanted });
  } catch (error) {
    return cannotBegin(error);
  }
  Object.assign(about, start.about);
  where();
  tree = new Tree($('tree'), start.roots);
  changes();
  beginLive(tree);
  search();
  for (const button of document.querySelectorAll('#panes button')) {
    button.addEventListener('click', () => showPane(button.dataset.to));
  }
  showPane('tree');
  hear('go', (id) => go(id));
  hear('select', (id) => {
    address.set({ node: id }, true);
    document.title = `${id} · Sapwood explorer`;
    openNode(id, start.node?.id === id ? start.node : null);
    start.node = null;
  });
  addEventListener('popstate', () => go(address.get('node') ?? tree.first(), true));
  hear('lost', lost);
  const isTelling = start.node && start.node.id === about.example?.node && start.node.state !== 'gone';
  const first = wanted ?? (isTelling ? start.node.id : tree.first());
  if (first) await go(first, true, start.node);
  else openNode(null);
}

function cannotBegin(error) {
  const refusal = error instanceof Refused;
  $('lost').hidden = false;
  $('lost').textContent = refusal ? error.message : "The server doesn't answer. The page tries again.";
  if (!refusal) setTimeout(() => location.reload(), 2000);
}

/** Leads to a node, wherever it is. */
async function go(id, quiet = false, known = null) {
  if (!id) return;
  try {
    await tree.reveal(id, { quiet, known });
    if (!quiet && matchMedia('(max-width: 639px)').matches) showPane('node');
  } catch (error) {
    say(error.message);
  }
}

function where() {
  const rights = about.writes ? el('span', { class: 'badge base' }, about.live ? 'dev: reads and writes' : 'reads and writes') : el('span', { class: 'badge plain' }, 'reads only');
  $('where').replaceChildren(el('span', {}, 'table ', bdi(about.table)), about.endpoint ? el('span', {}, bdi(about.endpoint)) : '',
    about.tenant ? el('span', {}, 'tenant ', bdi(about.tenant)) : '', rights);
}

// ---- Changes, whose code is read when somebody comes near the tree ----

const TOOLS = [['Add', 'Insert', 'add'], ['Rename', 'F2', 'rename'], ['Move', /Mac/.test(navigator.platform) ? '⌘X' : 'Ctrl+X', 'move'], ['Delete', 'Delete', 'remove'], ['⋯', 'Shift+F10', 'menu', 'More changes']];

let loading = null;
const change = () => (loading ??= import('./change.js').then((all) => {
  all.begin(tree);
  return all;
}));

function changes() {
  hear('edit', async (node) => (await change()).edit(node));
  hear('revise', async (node) => (await change()).revise(node));
  const trash = el('details', {}, el('summary', {}, 'Trash'));
  trash.addEventListener('toggle', async () => (await change()).trash(tree, trash), { once: true });
  $('trash').append(trash);
  if (!about.writes) return;
  for (const [name, shortcut, call, label] of TOOLS) {
    $('tools').append(el('button', { type: 'button', title: shortcut, 'aria-label': label, onclick: async (event) => {
      const box = event.currentTarget.getBoundingClientRect();
      (await change())[call](tree.selected, box);
    } }, name));
  }
  for (const near of ['pointerenter', 'focusin']) $('pane-tree').addEventListener(near, change, { once: true });
  $('tree').addEventListener('contextmenu', async (event) => {
    const id = event.target.closest('[role=treeitem]')?.nodeId;
    if (id === undefined) return;
    event.preventDefault();
    (await change()).menu(id, { left: event.clientX, bottom: event.clientY });
  });
  $('tree').addEventListener('keydown', async (event) => {
    const { target } = event;
    const called = keyed(event);
    if (target.nodeId === undefined || target.getAttribute('role') !== 'treeitem' || !called) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const box = target.getBoundingClientRect();
    (await change())[called](target.nodeId, { left: box.left + 30, bottom: box.bottom });
  }, true);
}

/** The change that a key asks for. */
function keyed({ key, altKey, ctrlKey, metaKey, shiftKey }) {
  if (altKey) return about.by_hand && { ArrowUp: 'before', ArrowDown: 'after' }[key];
  if (ctrlKey || metaKey) return key === 'x' ? 'move' : key === 'Backspace' && 'remove';
  if (key === 'F10') return shiftKey && 'menu';
  return { F2: 'rename', Delete: 'remove', Insert: 'add', ContextMenu: 'menu' }[key];
}

// ---- The server goes, and comes back ----

let isLost = false;
async function lost() {
  if (isLost) return;
  isLost = true;
  $('lost').hidden = false;
  $('lost').textContent = "The server doesn't answer. The page tries again, and goes on when it is back.";
  for (let pause = 500; isLost; pause = Math.min(pause * 1.6, 5000)) {
    await wait(pause);
    if (document.hidden) continue;
    try {
      Object.assign(about, (await data('start')).about);
      isLost = false;
    } catch (error) {
      if (error instanceof Refused) {
        $('lost').textContent = error.message;
        // Another process, with another token.
        if (error.status === 403) return;
      }
    }
  }
  $('lost').hidden = true;
  say('The server is back.');
  where();
  tell('back');
}

// ---- Search ----

function search() {
  const [field, list] = [$('find'), $('found')];
  const close = () => {
    list.hidden = true;
  };
  $('search').addEventListener('submit', (event) => event.preventDefault());
  field.addEventListener('keydown', async (event) => {
    if (event.key === 'Escape') return close();
    if (event.key === 'ArrowDown') list.querySelector('button')?.focus();
    if (event.key !== 'Enter' || !field.value) return;
    const text = field.value;
    const found = await candidates(text).catch((error) => error);
    list.hidden = false;
    if (found instanceof Error || !found.length) {
      list.replaceChildren(el('p', { class: 'note' }, found instanceof Error ? found.message : 'No node has this id, or is at this path.'));
      return say(list.textContent);
    }
    if (found.length === 1) {
      close();
      return tell('go', found[0].id);
    }
    list.replaceChildren(...found.map(({ id, label, how }) => el('button', { type: 'button', onclick: () => {
      close();
      tell('go', id);
    } }, bdi(label), ' ', el('span', { class: 'soft' }, bdi(id === label ? '' : id), ` ${how}`))));
    say(`${found.length} nodes found`);
    list.querySelector('button').focus();
  });
  list.addEventListener('keydown', (event) => {
    const buttons = [...list.querySelectorAll('button')];
    const at = buttons.indexOf(document.activeElement);
    if (event.key === 'ArrowDown') buttons[Math.min(at + 1, buttons.length - 1)]?.focus();
    if (event.key === 'ArrowUp') (buttons[at - 1] ?? field).focus();
    if (event.key === 'Escape') {
      close();
      field.focus();
    }
  });
  document.addEventListener('pointerdown', (event) => {
    if (!$('search').contains(event.target)) close();
  });
}

/** The nodes that a text may mean: an id, a path, or a name that is in view. */
async function candidates(text) {
  const found = new Map();
  const add = (id, label, how) => found.has(id) || found.set(id, { id, label, how });
  try {
    await get(`${node(text)}?fields=name`);
    add(text, text, 'by id');
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
  }
  const [root, ...segments] = text.split('/').filter(Boolean);
  if (about.path_rows && root && segments.length) {
    const query = new URLSearchParams([...segments.map((one) => ['path', one]), ['max_depth', '0'], ['limit', '20']]);
    try {
      for (const one of (await get(`/paths/${segmentOf(root)}?${query}`)).items) add(one.id, one.id, 'by path');
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
  }
  for (const { id, label } of tree.entries()) {
    if (found.size < 30 && label.toLowerCase().includes(text.toLowerCase())) add(id, label, 'by name');
  }
  return [...found.values()];
}

const segmentOf = (id) => node(id).slice('/nodes/'.length);

begin();
