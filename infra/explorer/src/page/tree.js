// The tree: one list of rows, lazily by level and page. A row knows its level; what is below an open row follows it.
import { $, about, badge, bdi, calmly, count, data, el, get, hear, node, post, say, STATES, sumsOf, tell, visible, wait } from './base.js';

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
/** Longest time for which a row stands where its node was moved to, before its rows are there. */
const PENDING_MAX = 15_000;
/** How long a refusal is shown at a row, unless it is looked at. */
const REFUSAL_SHOWN = 12_000;
/** Most closed nodes that are asked at a time whether they still have children. */
const DOUBTED_MAX = 5;

/** What is below a node, in few words, and in more. */
const brief = ({ count: number, sums }) => [`${number.toLocaleString('en')} below`, ...sumsOf(sums)].join(' · ');
const inWords = (below) => `${count(below.count, 'node')} below it, ${count(below.children, 'child', 'children')} among them${below.count ? '. Their numbers added up: ' : ''}${sumsOf(below.sums).join(', ') || 'nothing'}`;
const sameBelow = (a, b) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);

/** True if a sort key comes after another, by their bytes. */
function isAfter(one, other) {
  const [left, right] = [[...one], [...other]];
  const at = left.findIndex((character, index) => character !== right[index]);
  return at >= 0 && (right[at] === undefined || left[at].codePointAt() > right[at].codePointAt());
}

/** A part of a level that was read at once: the sort keys after which it begins and with which it ends, and the nodes that were listed. */
const pageOf = (after, to) => ({ after, to, ids: [] });
const emptyLevel = () => ({ pages: [pageOf(null, null)], ids: [], next: null, element: null, isLoading: false, late: [] });

/** Has a row stand at a level. */
function indent(element, level) {
  element?.setAttribute('aria-level', level);
  element?.style.setProperty('--level', level);
}

export class Tree {
  constructor(list, roots) {
    this.list = list;
    /** What is known of each node that has a row. */
    this.rows = new Map();
    /** The levels that are open, by the parent's id; the roots by null. */
    this.levels = new Map();
    this.selected = null;
    this.typed = '';
    /** The pages of levels that have changed, by the parent's id. */
    this.stale = new Map();
    /** Sort keys of which the stream has told while a level was being opened. */
    this.late = new Map();
    /** Closed nodes that have lost a child, and maybe their last one. */
    this.doubted = new Set();
    this.readStale = calmly(LEVELS_AFTER, () => this.refreshStale());
    this.readStates = calmly(STATES_AFTER, () => this.refreshStates());
    /** The nodes in view, and those of them whose totals aren't known, or have changed. */
    this.shown = new Set();
    this.uncounted = new Set();
    this.readTotals = calmly(TOTALS_AFTER, () => this.refreshTotals());
    this.rowsInView = new IntersectionObserver((seen) => this.counted(seen));
    this.inView = new IntersectionObserver((seen) => {
      for (const { isIntersecting, target } of seen) if (isIntersecting) this.more(target.moreOf);
    });
    list.addEventListener('keydown', (event) => this.key(event));
    list.addEventListener('click', (event) => this.click(event));
    list.addEventListener('focusin', () => this.oneStop());
    list.addEventListener('focusout', (event) => list.contains(event.relatedTarget) || setTimeout(() => this.oneStop()));
    // A row that is dragged, or is about to be, stays where it is.
    list.addEventListener('pointerdown', (event) => {
      this.isHeld = event.button === 0 && event.target.closest('[role=treeitem]') !== null;
    });
    for (const end of ['pointerup', 'dragend', 'drop']) addEventListener(end, () => this.letGo(), true);
    // A drag cancels the mouse's pointer, and so does a finger that scrolls. While a drag goes on, no pointer moves.
    addEventListener('pointercancel', ({ pointerType }) => pointerType === 'mouse' || this.letGo());
    addEventListener('pointermove', ({ buttons }) => this.isHeld && buttons === 0 && this.letGo());
    list.removeAttribute('aria-busy');
    this.begin(null, roots);
    this.note();
    hear('back', () => this.again());
    hear('seen', (seen) => this.seen(seen));
    hear('event', (event) => event.type === 'read' && this.told(event));
  }

  // ---- What there is ----

  first() {
    return this.levels.get(null).ids[0] ?? null;
  }

  entries() {
    return [...this.rows.values()];
  }

  row(id) {
    return this.rows.get(id);
  }

  siblings(id) {
    return this.levels.get(this.row(id)?.parent ?? null)?.ids ?? [];
  }

  elements() {
    return [...this.list.querySelectorAll('[role=treeitem]')];
  }

  /** True if a node is another, or below it, as far as the rows tell. */
  isWithin(id, other) {
    for (let at = id; at !== null && at !== undefined; at = this.row(at)?.parent) if (at === other) return true;
    return false;
  }

  /** True while rows must stay where they are: one is dragged, or renamed. */
  isStill() {
    return this.isHeld || this.list.querySelector('input') !== null;
  }

  letGo() {
    this.isHeld = false;
    if (this.stale.size) this.readStale();
  }

  // ---- Rows ----

  make(entry, parent, level) {
    const element = el('li', { role: 'treeitem', 'aria-selected': String(entry.id === this.selected), tabindex: '-1', draggable: about.writes ? 'true' : undefined });
    indent(element, level);
    element.nodeId = entry.id;
    const row = { ...entry, parent, level, element, open: false, pending: null, naming: null };
    this.rows.set(entry.id, row);
    this.draw(row);
    if (about.totals) this.rowsInView.observe(element);
    return row;
  }

  /** Draws a row. Its parts stay, and so does what is clicked just now. */
  draw(row) {
    const { element } = row;
    element.classList.toggle('moving', row.pending !== null);
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

  /** Where the rows of a node's children stand. */
  depthBelow(parent) {
    return parent === null ? 1 : this.row(parent).level + 1;
  }

  /** Takes a page of a level as it was read. Which rows it leaves without a place, `settle` finds out. */
  enter(parent, page, { items, next }, isNew = false) {
    const level = this.levels.get(parent);
    const before = new Set(page.ids);
    page.ids = items.map((entry) => entry.id);
    if (page.to === null) {
      page.to = next;
      level.next = next;
    } else if (next !== null && next !== page.to) {
      // It has grown to more than one answer holds.
      const rest = pageOf(next, page.to);
      page.to = next;
      level.pages.splice(level.pages.indexOf(page) + 1, 0, rest);
      this.outdate(parent, rest);
    }
    for (const entry of items) {
      const row = this.row(entry.id);
      if (!row) {
        const made = this.make(entry, parent, this.depthBelow(parent));
        if (isNew) made.element.classList.add('arrived');
        continue;
      }
      if (row.parent !== parent) {
        // Where it was it is listed until its last row has gone. And a circle, which other clients can write, has no place in a tree.
        if (before.has(entry.id) || row.pending?.from === parent || this.isWithin(parent, entry.id)) continue;
        this.adopt(row, parent);
        if (isNew) row.element.classList.add('arrived');
      }
      if (row.pending && (row.pending.from !== parent || row.pending.isTold)) row.pending = null;
      row.isExtra = false;
      if (row.naming?.isTold || row.naming?.label === entry.label) row.naming = null;
      // Whoever opened a node knows better than a page of rows.
      const has = row.open || (entry.has_children ?? row.has_children);
      Object.assign(row, entry, { label: row.naming?.label ?? entry.label, below: entry.below ?? row.below, has_children: has });
      this.asked?.delete(entry.id);
      this.draw(row);
    }
  }

  /** The nodes of a level in their order, and those that have a row there and are listed no more. */
  order(parent) {
    const { pages, ids: before } = this.levels.get(parent);
    const mine = (id) => this.row(id)?.parent === parent;
    const isMoving = (id) => this.row(id).pending?.from === parent;
    const ids = new Set(pages.flatMap((page) => page.ids).filter((id) => mine(id) && !isMoving(id)));
    const others = [...new Set(before)].filter((id) => mine(id) && !ids.has(id));
    const ordered = [...ids];
    for (const id of others) {
      const { pending, isExtra } = this.row(id);
      if (pending) ordered.splice(pending.after === null ? 0 : ordered.indexOf(pending.after) + 1 || ordered.length, 0, id);
      else if (isExtra) ordered.push(id);
    }
    const kept = new Set(ordered);
    return { ids: ordered, gone: others.filter((id) => !kept.has(id)) };
  }

  /** Gives each row of these levels its place. What has left one for another takes along what is open below it. */
  settle(parents) {
    const levels = new Set(parents);
    const gone = [];
    const sort = (parent) => {
      const found = this.order(parent);
      this.levels.get(parent).ids = found.ids;
      return found.gone;
    };
    for (const parent of levels) if (this.levels.has(parent)) gone.push(...sort(parent));
    for (const id of gone) {
      const row = this.row(id);
      const home = row && [...this.levels].find(([parent, { pages }]) => parent !== row.parent && pages.some((page) => page.ids.includes(id)) && !this.isWithin(parent, id));
      if (home) {
        this.adopt(row, home[0]);
        levels.add(home[0]);
        sort(home[0]);
      } else this.forget(id);
    }
    // The deepest first: then each row is followed by what is below it when its own level is arranged.
    const deepest = [...levels].filter((parent) => this.levels.has(parent)).sort((a, b) => this.depthBelow(b) - this.depthBelow(a));
    for (const parent of deepest) {
      const level = this.levels.get(parent);
      if (!level) continue;
      this.arrange(parent, level);
      if (parent !== null && !level.ids.length && level.next === null && !level.pages.some((page) => this.isStale(parent, page))) this.childless(parent);
    }
    this.note();
    this.oneStop();
  }

  /** Puts the rows of a level where they belong. */
  arrange(parent, level) {
    const depth = this.depthBelow(parent);
    let after = parent === null ? null : this.row(parent).element;
    const hadFocus = level.element?.contains(document.activeElement);
    level.element?.remove();
    for (const id of level.ids) {
      const { element } = this.row(id);
      const next = after ? after.nextElementSibling : this.list.firstElementChild;
      const last = this.lastBelow(id);
      if (element !== next) this.moveBlock(element, last, after);
      after = last;
    }
    if (level.next === null) level.element = null;
    else {
      level.element ??= this.moreRow(parent, depth);
      level.element.lastElementChild.textContent = `more than ${level.ids.length}: load the next`;
      if (after) after.after(level.element);
      else this.list.prepend(level.element);
      this.inView.observe(level.element);
      if (hadFocus) level.element.focus({ preventScroll: true });
    }
    const size = level.next === null ? level.ids.length : -1;
    level.ids.forEach((id, index) => {
      const row = this.row(id);
      if (row.place === index + 1 && row.size === size) return;
      Object.assign(row, { place: index + 1, size });
      row.element.setAttribute('aria-posinset', index + 1);
      row.element.setAttribute('aria-setsize', size);
    });
  }

  /** Has a row and what is open below it be the child of another node. */
  adopt(row, parent) {
    const level = this.levels.get(row.parent);
    if (level) level.ids = level.ids.filter((id) => id !== row.id);
    row.parent = parent;
    this.levels.get(parent).ids.push(row.id);
    const by = this.depthBelow(parent) - row.level;
    const shift = (one) => {
      one.level += by;
      indent(one.element, one.level);
      const below = this.levels.get(one.id);
      indent(below?.element, one.level + 1);
      for (const id of below?.ids ?? []) shift(this.row(id));
    };
    if (by) shift(row);
  }

  childless(id) {
    this.close(id);
    const row = this.row(id);
    row.has_children = false;
    this.draw(row);
  }

  moreRow(parent, level) {
    const row = el('li', { role: 'treeitem', tabindex: '-1', 'data-more': '' }, el('span', { class: 'twist', 'aria-hidden': 'true' }, '…'), el('span', { class: 'more' }));
    row.moreOf = parent;
    indent(row, level);
    return row;
  }

  /** The last element of a node with what is open below it. */
  lastBelow(id) {
    const row = this.row(id);
    const level = this.levels.get(id);
    if (!row.open || !level) return row.element;
    if (level.element) return level.element;
    return level.ids.length ? this.lastBelow(level.ids.at(-1)) : row.element;
  }

  moveBlock(first, last, after) {
    const block = [first];
    while (block.at(-1) !== last) block.push(block.at(-1).nextElementSibling);
    const focused = block.find((element) => element.contains(document.activeElement)) && document.activeElement;
    if (after) after.after(...block);
    else this.list.prepend(...block);
    focused?.focus({ preventScroll: true });
  }

  forget(id) {
    const row = this.row(id);
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
    this.stale.delete(id);
  }

  note() {
    const roots = this.levels.get(null);
    const words = !about.root_rows ? 'This table keeps no list of its roots (RootRows=off): find a node by its id.'
      : roots.ids.length ? '' : about.writes ? 'No trees yet. Add a root, or write a base record with any client.' : 'No trees yet.';
    const note = $('tree-note');
    if (!note.querySelector('.refusal') && note.textContent !== words) note.textContent = words;
  }

  // ---- Levels ----

  /** Begins a level with its first page. */
  begin(parent, first) {
    const level = emptyLevel();
    this.levels.set(parent, level);
    this.enter(parent, level.pages[0], first);
    this.settle([parent]);
  }

  /** Opens a node. One that is expected to get a child opens when the child's row is there. */
  async open(id, { expected = false } = {}) {
    const row = this.row(id);
    if (!row || row.open || (row.has_children === false && !expected) || this.late.has(id)) return;
    row.isExpecting = false;
    row.element.setAttribute('aria-busy', 'true');
    this.late.set(id, []);
    try {
      const first = await data('level', { id });
      const late = this.late.get(id);
      this.late.delete(id);
      if (this.row(id) !== row || this.levels.has(id)) return;
      // A child has come since this was read.
      if (!first.items.length && late.length) return await this.open(id, { expected: true });
      row.has_children = first.items.length > 0;
      row.open = row.has_children;
      row.isExpecting = expected && !row.open;
      if (row.open) this.begin(id, first);
      this.draw(row);
      for (const sk of late) this.touch(id, sk);
      say(row.open ? `${row.label}: ${first.items.length}${first.next ? ' and more' : ''} loaded` : `${row.label} has no children`);
    } catch (error) {
      say(error.message);
    } finally {
      this.late.delete(id);
      row.element.removeAttribute('aria-busy');
    }
  }

  close(id) {
    const row = this.row(id);
    if (!row?.open) return;
    this.shut(id);
    row.open = false;
    this.draw(row);
  }

  async more(parent) {
    const level = this.levels.get(parent);
    if (!level?.next || level.isLoading) return;
    level.isLoading = true;
    level.element.setAttribute('aria-busy', 'true');
    try {
      const page = pageOf(level.next, null);
      const found = await data('level', { id: parent, after: page.after });
      // It was closed meanwhile.
      if (this.levels.get(parent) !== level) return;
      const hadFocus = level.element === document.activeElement;
      level.isLoading = false;
      level.pages.push(page);
      this.enter(parent, page, found);
      this.settle([parent]);
      if (hadFocus) this.row(found.items[0]?.id)?.element.focus();
      say(`${found.items.length} more loaded, ${level.ids.length} in all`);
    } catch (error) {
      say(error.message);
      await wait(AGAIN_AFTER);
    } finally {
      level.isLoading = false;
      for (const sk of level.late.splice(0)) this.touch(parent, sk);
      // Who has come into view meanwhile wasn't listened to.
      if (level.element?.isConnected) {
        level.element.removeAttribute('aria-busy');
        this.inView.unobserve(level.element);
        this.inView.observe(level.element);
      }
    }
  }

  isStale(parent, page) {
    return this.stale.get(parent)?.has(page) ?? false;
  }

  /** Has a page of a level read again soon. */
  outdate(parent, page) {
    if (!this.stale.has(parent)) this.stale.set(parent, new Set());
    this.stale.get(parent).add(page);
    this.readStale();
  }

  /** A row of a level has changed: the page that has it is read again, if it was read at all. */
  touch(parent, sk) {
    const level = this.levels.get(parent);
    if (!level) return this.late.get(parent)?.push(sk);
    if (level.next !== null && isAfter(sk, level.next)) return level.isLoading && level.late.push(sk);
    return this.outdate(parent, level.pages.find(({ to }) => to === null || !isAfter(sk, to)) ?? level.pages.at(-1));
  }

  /** Has all that was read of a level read again soon. */
  touchAll(parent) {
    const level = this.levels.get(parent);
    for (const page of level?.pages ?? []) this.outdate(parent, page);
    const row = this.row(parent);
    if (level || !row) return;
    if (row.isExpecting) this.open(parent, { expected: true });
    else if (row.has_children === false) {
      // It may have got its first child.
      row.has_children = null;
      this.draw(row);
    }
  }

  /** Reads the pages that have changed, all before any row goes: one that has gone from here may have come there. */
  async refreshStale() {
    // It is asked for again when the row is let go. A name that is being typed ends without a word.
    if (this.isStill()) return this.isHeld || this.readStale();
    const stale = [...this.stale].flatMap(([parent, pages]) => [...pages].map((page) => ({ parent, page, level: this.levels.get(parent) })));
    this.stale.clear();
    const isThere = ({ parent, page, level }) => level && this.levels.get(parent) === level && level.pages.includes(page);
    const found = [];
    try {
      for (const one of stale) {
        const { parent: id, page: { after, to } } = one;
        if (isThere(one)) found.push({ ...one, found: await data('level', { id, after, to }) });
      }
    } catch (error) {
      for (const { parent, page } of stale.filter(isThere)) this.stale.set(parent, (this.stale.get(parent) ?? new Set()).add(page));
      throw error;
    }
    const read = found.filter(isThere);
    if (this.isStill()) {
      for (const { parent, page } of read) this.outdate(parent, page);
      return undefined;
    }
    for (const one of read) this.enter(one.parent, one.page, one.found, true);
    this.settle(read.map(({ parent }) => parent));
    if (this.selected !== null && !this.rows.has(this.selected)) this.follow();
    return this.doubt();
  }

  /** Asks closed nodes that have lost a child whether they have others. */
  async doubt() {
    const some = [...this.doubted].slice(0, DOUBTED_MAX);
    for (const id of some) {
      this.doubted.delete(id);
      const row = this.row(id);
      if (!row || row.open || row.has_children === false) continue;
      const { items } = await get(node(id, '/children?limit=1&fields=name'));
      if (this.row(id) !== row || row.open || items.length) continue;
      row.has_children = false;
      this.draw(row);
    }
    if (this.doubted.size) this.readStale();
  }

  /** Shows where the selected node has gone, once its rows tell. */
  async follow() {
    const id = this.selected;
    await this.reveal(id, { quiet: true });
    const row = this.row(id);
    if (row) row.element.classList.add('arrived');
  }

  /** True if a row tells of the place of a child or of a root in its level. */
  isPlace(sk) {
    if (about.by_hand || about.order.length) return /^(CHILD|ORDERED)#/.test(sk);
    return sk.startsWith('ROOT#') || sk.startsWith(`${about.keys.node}#0001#`);
  }

  /** Rows of which the stream has told. */
  told({ records }) {
    for (const { sk, in: owner, node: id, what } of records) {
      const [isRoot, isChild] = [sk.startsWith('ROOT#'), sk.startsWith(`${about.keys.node}#0001#`)];
      const isPlace = this.isPlace(sk);
      if (!isRoot && !isChild && !isPlace) continue;
      const parent = isRoot || sk.startsWith('ORDERED#') ? null : owner;
      const row = this.row(id);
      if (isChild) this.childTold(parent, what);
      if (row?.parent === parent && what !== 'REMOVE' && isPlace) for (const hope of [row.pending, row.naming]) if (hope) hope.isTold = true;
      if (row?.parent === parent && row.isExtra && what === 'REMOVE' && (isRoot || isChild)) {
        this.forget(id);
        this.settle([parent]);
      }
      if (isPlace) this.touch(parent, sk);
    }
  }

  /** A node has got a child, or has lost one. */
  childTold(parent, what) {
    const row = this.row(parent);
    if (!row || row.open) return;
    if (what === 'REMOVE' && row.has_children !== false) {
      this.doubted.add(parent);
      this.readStale();
    } else if (what === 'INSERT' && !row.has_children) {
      row.has_children = true;
      this.draw(row);
      if (row.isExpecting) this.open(parent, { expected: true });
    }
  }

  // ---- A node stands where it was moved to, before its rows do ----

  /** Shows a node at another place at once. Returns what puts it back; null if there is nothing to show. */
  place(id, parent, position) {
    const row = this.row(id);
    if (!row || (parent !== null && !this.rows.has(parent)) || this.isWithin(parent, id)) return null;
    const { state, parent: from } = row;
    const siblings = this.siblings(id);
    const previous = siblings[siblings.indexOf(id) - 1] ?? null;
    const pending = { from, after: null };
    const put = (to, after) => {
      this.makeRoom(to);
      const left = row.parent;
      row.pending = pending;
      pending.after = after;
      if (left !== to) this.adopt(row, to);
      this.settle([left, to]);
      this.draw(row);
      row.element.scrollIntoView({ block: 'nearest' });
    };
    this.makeRoom(parent);
    row.state = 'on-its-way';
    put(parent, this.spot(parent, id, position));
    setTimeout(() => row.pending === pending && this.unplace(row), PENDING_MAX);
    return () => {
      if (this.row(id) !== row || row.pending !== pending) return;
      row.state = state;
      if (this.rows.has(from) || from === null) put(from, previous);
      // It stays until a page lists it.
      Object.assign(row, { pending: null, isExtra: true });
      this.draw(row);
      this.touchAll(from);
      this.touchAll(parent);
    };
  }

  /** Shows another name at once. Returns what takes it back. */
  name(id, label) {
    const row = this.row(id);
    if (!row) return () => {};
    const [before, naming] = [row.label, { label }];
    const show = (text, hope) => {
      Object.assign(row, { label: text, naming: hope });
      this.draw(row);
    };
    show(label, naming);
    const isOver = () => row.naming !== naming;
    setTimeout(() => {
      if (isOver()) return;
      row.naming = null;
      this.touchAll(row.parent);
    }, PENDING_MAX);
    return () => isOver() || show(before, null);
  }

  /** Opens a node for a child that it has got. Its others are read. */
  makeRoom(parent) {
    if (this.levels.has(parent)) return;
    const row = this.row(parent);
    const level = emptyLevel();
    this.levels.set(parent, level);
    if (row.has_children !== false) this.outdate(parent, level.pages[0]);
    Object.assign(row, { open: true, has_children: true });
    this.draw(row);
  }

  /** After which of its siblings a node will stand, as far as one can tell. */
  spot(parent, id, position) {
    const ids = this.levels.get(parent).ids.filter((one) => one !== id);
    if (position?.after !== undefined) return position.after;
    if (position === 'first') return null;
    const at = position?.before === undefined ? -1 : ids.indexOf(position.before);
    if (at >= 0) return ids[at - 1] ?? null;
    if (about.by_hand) return ids.at(-1) ?? null;
    const by = (one) => (about.order.length ? this.row(one).label : one);
    return ids.findLast((one) => isAfter(by(id), by(one))) ?? null;
  }

  /** A row stands for nothing but what is read of its node from now on. */
  unplace(row) {
    const { from } = row.pending;
    row.pending = null;
    this.draw(row);
    this.touchAll(from);
    if (row.parent !== from) this.touchAll(row.parent);
  }

  // ---- What has changed ----

  /** A node was written. Where no stream of events tells which pages have changed, its rows do. */
  async wrote(id, from) {
    this.readStates();
    if (about.live) return;
    for (const page of this.levels.get(from)?.pages ?? []) if (page.ids.includes(id)) this.outdate(from, page);
    const { items, parent } = await data('node', { id }).catch(() => ({ items: [] }));
    for (const { sk } of items) if (this.isPlace(sk)) this.touch(parent, sk);
    if (about.totals) setTimeout(() => this.recount(this.rows.keys()), TOTALS_LATER);
  }

  /** Has levels read again soon. The stream of events tells of them by itself. */
  changed(...parents) {
    if (!about.live) for (const parent of parents) this.touchAll(parent ?? null);
    this.readStates();
    if (about.totals && !about.live) setTimeout(() => this.recount(this.rows.keys()), TOTALS_LATER);
  }

  async refreshStates() {
    const shown = this.entries().filter((row) => row.state !== 'right' || this.asked?.has(row.id)).slice(0, STATES_MAX);
    this.asked = null;
    if (!shown.length) return;
    const { states } = await post('states', { ids: shown.map((row) => row.id) });
    let waiting = false;
    shown.forEach((row, index) => {
      if (this.row(row.id) !== row) return;
      if (row.state !== states[index]) {
        row.state = states[index];
        this.draw(row);
      }
      const lags = ['on-its-way', 'arriving', 'deleting', 'copying'].includes(row.state);
      waiting ||= lags;
      // Without a stream of events, nobody else tells that its rows are there.
      if (!lags && row.pending && !about.live) this.unplace(row);
    });
    // Without a stream of events somebody has to look until the rows are there.
    if (waiting && !about.live) setTimeout(() => this.readStates(), 2000);
  }

  // ---- Totals ----

  /** Rows have come into view, or left it. */
  counted(seen) {
    for (const { isIntersecting, target } of seen) {
      const row = this.row(target.nodeId);
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
      const row = this.row(id);
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
      const row = this.row(id);
      if (!row || sameBelow(row.below, totals[index])) return;
      row.below = totals[index];
      this.draw(row);
    });
    if (this.uncounted.size) this.readTotals();
  }

  /** Nodes of which the stream has told. */
  seen({ nodes, totals }) {
    this.recount(totals);
    const inView = nodes.filter((id) => this.rows.has(id));
    if (inView.length) {
      this.asked = new Set([...(this.asked ?? []), ...inView]);
      this.readStates();
    }
  }

  again() {
    for (const parent of this.levels.keys()) this.touchAll(parent);
    this.asked = new Set(this.rows.keys());
    this.readStates();
    if (about.totals) this.recount(this.rows.keys());
    if (this.selected) tell('again', this.selected);
  }

  /** Opens what is above a node, and selects it. */
  async reveal(id, { quiet = false, known = null } = {}) {
    if (!this.rows.has(id)) {
      const found = known?.id === id ? known : await data('node', { id });
      const { ancestors, label, state } = found;
      const isThere = state !== 'gone' && state !== 'in-trash' && (ancestors.length > 0 || !found.parent);
      let parent = null;
      for (const one of [...ancestors, { id, label, state }]) {
        if (!this.rows.has(one.id) && !(isThere && this.levels.has(parent))) break;
        if (!this.rows.has(one.id)) this.extra(one, parent);
        parent = one.id;
        if (parent !== id) await this.open(parent);
      }
    }
    this.select(id, { quiet });
  }

  /** A row for a node that is on a later page of its level. */
  extra({ id, label, state = 'right' }, parent) {
    const row = this.make({ id, label, state, has_children: null }, parent, this.depthBelow(parent));
    row.isExtra = true;
    this.levels.get(parent).ids.push(id);
    this.settle([parent]);
  }

  // ---- Selection and focus ----

  select(id, { quiet = false } = {}) {
    if (this.selected === id && quiet && this.row(id)?.element.getAttribute('aria-selected') === 'true') return;
    const isSame = this.selected === id;
    this.row(this.selected)?.element.setAttribute('aria-selected', 'false');
    this.selected = id;
    const row = this.row(id);
    if (row) {
      row.element.setAttribute('aria-selected', 'true');
      row.element.scrollIntoView({ block: 'nearest' });
    }
    this.oneStop();
    if (!isSame || !quiet) tell('select', id);
  }

  /** The tree is one stop of the tab key: the row that has the focus, or else the one that is selected. */
  oneStop() {
    const focused = this.list.contains(document.activeElement) ? document.activeElement.closest('[role=treeitem]') : null;
    const stop = focused ?? this.row(this.selected)?.element ?? this.list.querySelector('[role=treeitem]');
    if (this.stop && this.stop !== stop) this.stop.tabIndex = -1;
    if (stop) stop.tabIndex = 0;
    this.stop = stop;
  }

  click(event) {
    const element = event.target.closest('[role=treeitem]');
    if (!element || event.target.closest('.refusal, input')) return;
    if (element.dataset.more !== undefined) return this.more(element.moreOf);
    const row = this.row(element.nodeId);
    if (event.target.closest('.twist')) return row.open ? this.close(row.id) : this.open(row.id);
    element.focus();
    this.select(row.id);
  }

  key(event) {
    const element = event.target.closest('[role=treeitem]');
    if (!element || event.target !== element) return;
    const all = this.elements();
    const at = all.indexOf(element);
    const row = this.row(element.nodeId);
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
        else this.row(row ? row.parent : element.moreOf)?.element.focus();
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
      const row = this.row(element.nodeId);
      return row && visible(row.label).toLowerCase().startsWith(sought);
    });
    found?.focus();
  }

  /** Says at a row why something wasn't done there. It goes by itself, when it was read. */
  refuse(id, words) {
    const element = this.row(id)?.element ?? null;
    this.clearRefusals();
    const end = () => {
      if (box.matches(':focus-within')) element?.focus();
      box.remove();
      this.note();
    };
    const box = el('span', { class: 'refusal' }, el('span', { role: 'alert' }, words), el('button', { class: 'link', 'aria-label': 'Dismiss', onclick: end }, '×'));
    const later = () => setTimeout(() => (box.matches(':hover, :focus-within') ? later() : box.isConnected && end()), REFUSAL_SHOWN);
    later();
    if (element) element.append(box);
    else $('tree-note').replaceChildren(box);
    (element ?? box).scrollIntoView({ block: 'nearest' });
  }

  clearRefusals() {
    for (const box of document.querySelectorAll('#pane-tree .refusal')) box.remove();
  }
}
