// Finds nodes: by id, by path, and by a part of the name, beyond the rows that are loaded.
import { $, about, bdi, count, el, get, LABELS, labelOf, Lost, node as path, Refused, say, segment, tell, visible } from './base.js';

/** Most nodes that are shown, and how many a page of the API's has. */
const SHOWN_MAX = 40;
const PAGE_ITEMS = 1000;
/** How many pages and nodes are read without being asked for. Whoever wants more goes on. */
const PAGES_AT_FIRST = 10;
const NODES_AT_FIRST = 2000;
/** How long nobody types until pages are read, in milliseconds, and how many characters that takes. */
const PAUSE = 350;
const CHARACTERS_MIN = 2;

/** The nodes below a node, or in all trees, page by page. */
async function* walk(top) {
  const query = new URLSearchParams({ fields: LABELS.join(','), limit: PAGE_ITEMS });
  const all = async function* all(address) {
    for (let cursor; cursor !== null;) {
      const page = await get(`${address}?${query}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`);
      yield page.items;
      cursor = page.cursor ?? null;
    }
  };
  if (top !== null) return yield* all(path(top, '/descendants'));
  for await (const roots of all('/roots')) {
    yield roots;
    for (const { id } of roots) yield* all(path(id, '/descendants'));
  }
  return undefined;
}

/** What a text may mean by itself: an id, or a path. */
async function meant(text) {
  const found = [];
  const ask = async (address, take) => {
    try {
      take(await get(address));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
  };
  await ask(`${path(text)}?fields=${LABELS}`, (one) => found.push({ id: text, label: labelOf({ ...one, id: text }), isMeant: true }));
  const [root, ...segments] = text.split('/').filter(Boolean);
  if (about.path_rows && root && segments.length) {
    const query = new URLSearchParams([...segments.map((one) => ['path', one]), ['max_depth', '0'], ['limit', '20'], ['fields', LABELS]]);
    await ask(`/paths/${segment(root)}?${query}`, ({ items }) => found.push(...items.map((one) => ({ id: one.id, label: labelOf(one), isMeant: true }))));
  }
  return found;
}

/** How well a node answers to a text: 0 is best, and 9 is not at all. */
function fit({ id, label, isMeant }, text) {
  const [name, sought] = [visible(label).toLowerCase(), text.toLowerCase()];
  if (id === text || isMeant) return 0;
  if (name === sought) return 1;
  if (name.startsWith(sought)) return 2;
  if (name.includes(sought)) return 3;
  return id.toLowerCase().includes(sought) ? 4 : 9;
}

/** A field, a list below it, and what leads from one to the other. `first` are shown while nothing is typed. */
function finder({ tree, field, box, list, choose, first = () => [], without = null, top = () => null }) {
  const note = el('p', { class: 'note progress', hidden: true });
  box.append(note);
  let options = [];
  let active = -1;
  let hasMoved = false;
  /** The search that goes on: what is sought, what was found, and how far it is. */
  let search = null;
  let timer = null;

  const isOf = (id) => without === null || !tree.isWithin(id, without);
  const loaded = (text) => tree.entries().filter((row) => fit(row, text) < 9 && (top() === null || (row.id !== top() && tree.isWithin(row.id, top()))))
    .map(({ id, label, parent }) => ({ id, label, parent }));
  const close = () => {
    box.hidden = true;
    field.setAttribute('aria-expanded', 'false');
  };
  const stop = () => {
    if (search) search.isStopped = true;
    search = null;
    clearTimeout(timer);
  };
  const mark = (at) => {
    active = at;
    [...list.children].forEach((one, index) => one.setAttribute('aria-selected', String(index === at)));
    const one = list.children[at];
    if (one) field.setAttribute('aria-activedescendant', one.id);
    else field.removeAttribute('aria-activedescendant');
    one?.scrollIntoView({ block: 'nearest' });
  };
  const take = (option) => {
    stop();
    close();
    choose(option);
  };
  const draw = () => {
    const text = field.value.trim();
    const all = new Map();
    const found = text ? [...(search?.found ?? []), ...loaded(text)] : first();
    for (const one of found) if (isOf(one.id)) all.set(one.id, all.get(one.id)?.isMeant ? all.get(one.id) : one);
    const before = hasMoved ? options[active]?.id : undefined;
    options = [...all.values()];
    if (text) options.sort((a, b) => fit(a, text) - fit(b, text));
    options = options.slice(0, SHOWN_MAX);
    list.replaceChildren(...options.map(({ id, label, parent }, at) => {
      const above = parent ? tree.row(parent)?.label ?? parent : '';
      return el('div', { role: 'option', id: `${list.id}-${at}`, 'aria-selected': 'false', onclick: () => take(options[at]) },
        bdi(label, 'name'), id === label || id === null ? '' : bdi(id, 'soft'), above ? el('span', { class: 'soft' }, 'in ', bdi(above)) : '');
    }));
    mark(Math.max(0, options.findIndex(({ id }) => id === before)));
    box.hidden = !options.length && note.hidden;
    field.setAttribute('aria-expanded', String(!box.hidden));
  };
  const tellNote = () => {
    const at = search;
    const looked = at?.looked ? `Looked at ${count(at.looked, 'node')}` : 'Looking';
    const act = (words, does) => el('button', { class: 'link', onpointerdown: (event) => event.preventDefault(), onclick: does }, words);
    note.hidden = !at || (at.isDone && options.length > 0);
    if (note.hidden) return;
    note.replaceChildren(...(at.problem ? [at.problem] : at.isDone ? ['No node is called that.'] : at.isReading
      ? [el('progress', { 'aria-label': 'Looking for nodes' }), `${looked}… `, act('Stop', () => {
        at.isStopped = true;
        tellNote();
      })]
      : [`${looked}. `, act('Search on', () => go(at, Infinity, Infinity))]));
    box.hidden = false;
    field.setAttribute('aria-expanded', 'true');
  };
  /** Reads pages until there are no more, as many as may be, or enough is found. */
  const go = async (at, pages, nodes) => {
    Object.assign(at, { isReading: true, isStopped: false });
    tellNote();
    try {
      const enough = at.found.length + SHOWN_MAX;
      for (let page = 0; page < pages && at.looked < nodes && !at.isStopped && at.found.length < enough; page += 1) {
        const { value, done } = await at.pages.next();
        if (search !== at) return;
        at.isDone = done;
        if (done) break;
        at.looked += value.length;
        at.found.push(...value.map((one) => ({ id: one.id, label: labelOf(one), parent: one.parent })).filter((one) => fit(one, at.text) < 9));
        draw();
        tellNote();
      }
    } catch (error) {
      if (!(error instanceof Refused || error instanceof Lost)) throw error;
      at.problem = error.message;
    }
    if (search !== at) return;
    at.isReading = false;
    draw();
    tellNote();
    say(options.length ? `${count(options.length, 'node')} found` : note.textContent);
  };
  const look = async () => {
    const text = field.value.trim();
    if (!text || search?.text === text) return;
    stop();
    const at = { text, found: [], looked: 0, pages: walk(top()), isReading: true };
    search = at;
    tellNote();
    try {
      at.found.push(...await meant(text));
    } catch (error) {
      at.problem = error.message;
    }
    if (search !== at) return;
    draw();
    // What was meant is found.
    at.isDone = options.some((one) => one.id === text || one.isMeant);
    if (top() === null && !about.root_rows) at.problem = 'This table keeps no list of its roots: select a node, and search below it.';
    if (at.isDone || at.problem) tellNote();
    else await go(at, PAGES_AT_FIRST, NODES_AT_FIRST);
  };
  return {
    /** Another text is there. */
    typed(after = PAUSE) {
      stop();
      hasMoved = false;
      note.hidden = true;
      draw();
      if (field.value.trim().length >= CHARACTERS_MIN) timer = setTimeout(look, after);
    },
    close,
    /** Does what a key means. Says whether a node was chosen. */
    async key(name) {
      const text = field.value.trim();
      if (name === 'Escape') {
        stop();
        close();
      } else if (name === 'ArrowDown' || name === 'ArrowUp') {
        if (box.hidden) draw();
        else if (options.length) mark((active + (name === 'ArrowDown' ? 1 : options.length - 1)) % options.length);
        hasMoved = true;
      } else {
        clearTimeout(timer);
        const isMeant = () => !text || hasMoved || options[0]?.id === text || options[0]?.isMeant;
        // Whoever has seen the list means its first.
        const hasSeen = search?.text === text;
        if (!hasSeen && !(isMeant() && options.length)) {
          draw();
          if (!isMeant()) await look();
          if (field.value.trim() !== text) return false;
          if (!isMeant() && options.length !== 1) return false;
        }
        const option = options[Math.max(0, active)];
        if (!option) return false;
        take(option);
        return true;
      }
      return false;
    },
  };
}

/** The field at the top of the page. */
export function search(tree) {
  const [field, box] = [$('find'), $('found')];
  let below = null;
  const isBelow = el('input', { type: 'checkbox', onchange: () => {
    below = isBelow.checked ? isBelow.of : null;
    field.focus();
    found.typed(0);
  } });
  const words = el('span', {});
  const scope = el('label', { class: 'choice note' }, isBelow, words);
  box.prepend(scope);
  const offer = () => {
    if (!isBelow.checked) isBelow.of = tree.selected;
    scope.hidden = isBelow.of === null;
    words.replaceChildren('only below ', bdi(tree.row(isBelow.of)?.label ?? isBelow.of ?? ''));
  };
  const found = finder({ tree, field, box, list: $('found-list'), choose: ({ id }) => tell('go', id), top: () => below });
  document.addEventListener('pointerdown', (event) => $('search').contains(event.target) || found.close());
  $('search').addEventListener('focusout', (event) => event.relatedTarget && !$('search').contains(event.relatedTarget) && found.close());
  offer();
  return {
    key: found.key,
    typed() {
      offer();
      found.typed();
    },
    /** Searches below a node. */
    below(id) {
      Object.assign(isBelow, { checked: true, of: id });
      below = id;
      offer();
      field.focus();
      field.select();
      found.typed(0);
    },
  };
}

let numbers = 0;

/** What stands for no node. */
const ROOT = { id: null, label: 'No node: it becomes a root' };

/** A field that takes a parent by its name, and not a node itself or one below it. `chosen` gives an id, null for a root, and undefined for another text. */
export function picker(tree, value, without = null) {
  const id = `pick-${numbers += 1}`;
  let picked = value === null ? ROOT : { id: value, label: tree.row(value)?.label ?? value };
  const field = el('input', { id, name: 'parent', role: 'combobox', 'aria-expanded': 'false', 'aria-controls': `${id}-list`, 'aria-autocomplete': 'list', autocomplete: 'off', spellcheck: 'false', placeholder: ROOT.label, value: value === null ? '' : visible(picked.label) });
  const list = el('div', { role: 'listbox', id: `${id}-list`, 'aria-label': 'Nodes found' });
  const box = el('div', { class: 'picks', hidden: true }, list);
  const first = () => [ROOT, ...tree.entries().filter((row) => row.has_children !== false)];
  const found = finder({ tree, field, box, list, first, without, choose: (option) => {
    picked = option;
    field.value = option.id === null ? '' : visible(option.label);
  } });
  field.addEventListener('input', () => {
    picked = undefined;
    found.typed();
  });
  field.addEventListener('keydown', async (event) => {
    if (event.isComposing || !['Enter', 'Escape', 'ArrowDown', 'ArrowUp'].includes(event.key) || (event.key === 'Escape' && box.hidden)) return;
    event.preventDefault();
    // What is there already is meant by Enter, and what the list names otherwise.
    const isChosen = event.key === 'Enter' && picked !== undefined && box.hidden;
    if (isChosen || await found.key(event.key)) field.form.requestSubmit();
  });
  field.addEventListener('focusout', () => setTimeout(() => box.contains(document.activeElement) || found.close()));
  list.addEventListener('pointerdown', (event) => event.preventDefault());
  return { parts: [el('div', { class: 'field wide' }, el('label', { for: id }, 'Below which node? Type a part of its name'), field, box)], chosen: async () => {
    if (picked === undefined && field.value.trim()) await found.key('Enter');
    return picked === undefined ? (field.value.trim() ? undefined : null) : picked.id;
  } };
}
