// Changes: by menu, by dialog and by dragging. What is changed is shown at once, and comes back if it is refused, with the reason.
import { $, about, bdi, calmly, count, el, get, hear, leads, Lost, node as path, Refused, say, send, tell, visible, wait } from './base.js';
import { picker } from './find.js';

let tree;
const MERGE = { 'content-type': 'application/merge-patch+json' };

/** Without a stream of events, an answer waits until the rows are there. */
const patience = () => (about.live ? {} : { prefer: 'wait=5' });
const patched = (more = {}) => ({ ...MERGE, ...more, ...patience() });

export function begin(of) {
  if (tree) return;
  tree = of;
  if (!about.writes) return;
  drags();
  undos();
}

// ---- Undo ----

/** Most changes that can be undone. */
const UNDOS_MAX = 20;
/** What undoes the last changes, the newest last. */
const done = [];
let bar;

function undos() {
  bar = el('p', { id: 'undo', hidden: true });
  $('pane-tree').append(bar);
  addEventListener('keydown', (event) => {
    const isUndo = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === 'z';
    if (!isUndo || event.target.closest?.('input, textarea, dialog') || !done.length) return;
    event.preventDefault();
    undo();
  });
}

/** Offers to undo a change. `back` does so. */
function undoable(text, back) {
  done.push({ text, back });
  if (done.length > UNDOS_MAX) done.shift();
  offer();
}

function offer() {
  const last = done.at(-1);
  bar.hidden = !last;
  if (!last) return bar.replaceChildren();
  const forget = () => {
    done.length = 0;
    offer();
  };
  return bar.replaceChildren(el('span', {}, bdi(last.text)), ' · ', el('button', { class: 'link', title: /Mac/.test(navigator.platform) ? '⌘Z' : 'Ctrl+Z', onclick: undo }, 'Undo'),
    el('button', { class: 'link away', 'aria-label': 'Dismiss', onclick: forget }, '×'));
}

async function undo() {
  const last = done.pop();
  offer();
  if (last) await last.back(`Undone: ${last.text}`);
}

const labelOf = (id) => tree.row(id)?.label ?? id;
const parentOf = (id) => tree.row(id)?.parent ?? null;
const nameOf = (id) => visible(labelOf(id));

// ---- What is refused ----

/** A text of the API's in which ids stand between backticks: those of nodes that are shown are named. */
function named(text) {
  return text.split('`').map((part, at, all) => {
    if (at % 2 === 0 || at === all.length - 1) return visible(part);
    const row = tree.row(part);
    return row ? el('b', { title: visible(part) }, bdi(row.label)) : el('code', {}, visible(part));
  });
}

/** Why a change of a node was refused, in words for people. */
function reason(error, id, parent) {
  if (error instanceof SyntaxError) return [`That isn't JSON: ${error.message}`];
  const { type, node: other } = error.problem ?? {};
  const [name, above] = [el('b', {}, bdi(labelOf(id))), parent === undefined || parent === null ? 'the parent' : el('b', {}, bdi(labelOf(parent)))];
  const taken = error.message.match(/is named `([^`]*)`/)?.[1];
  const words = {
    cycle: id === parent ? [name, " can't move into itself."] : [above, ' is inside ', name, ". A folder can't move into itself."],
    'name-taken': taken !== undefined && ['A sibling is named ', el('b', {}, bdi(taken)), ' already. Choose another name.'],
    'precondition-failed': ['Somebody has changed ', name, ' meanwhile. Look at it again, and repeat your change.'],
    'in-trash': /^the node is in the trash/.test(error.message) && [name, ' is in the trash. Restore it first.'],
    'not-found': [name, " isn't there any more."],
  }[type?.split(':').at(-1)];
  const show = other && el('button', { class: 'link', onclick: (event) => {
    event.target.closest('dialog')?.close();
    tell('go', other);
  } }, 'Show ', bdi(labelOf(other)), labelOf(other) === other ? '' : [' (', bdi(other), ')']);
  return [...(words || named(error.message)), ...(show ? [' ', show] : [])];
}

// ---- Undo: what puts a node back ----

/** What puts a node back where it is now among its siblings. */
function wayBack(id) {
  const parent = parentOf(id);
  const siblings = tree.siblings(id);
  const previous = siblings[siblings.indexOf(id) - 1];
  const place = about.by_hand ? (previous === undefined ? 'first' : { after: previous }) : undefined;
  return (done) => put(id, parent, place, done);
}

// ---- Menu ----

export function menu(id, at) {
  document.querySelector('.menu')?.remove();
  if (id === null) return;
  const siblings = tree.siblings(id);
  const place = siblings.indexOf(id);
  const choices = [
    ['Add a child…', () => add(id)], ['Add a root…', () => add(null)], ['Rename', () => rename(id)], ['Move to…', () => move(id)],
    about.by_hand && place > 0 && ['Move up', () => step(id, -1)], about.by_hand && place < siblings.length - 1 && ['Move down', () => step(id, 1)],
    about.by_hand && ['Place before or after…', () => beside(id)], ['Copy…', () => copy(id)],
    tree.row(id)?.has_children !== false && ['Find below…', () => tell('find below', id)],
    about.trash && ['Move to trash', () => toTrash(id)], ['Delete for good…', () => remove(id, null, true)],
  ].filter(Boolean);
  const box = el('div', { class: 'menu', role: 'menu', 'aria-label': `Change ${nameOf(id)}` }, choices.map(([name, act]) =>
    el('button', { role: 'menuitem', tabindex: '-1', onclick: () => {
      close();
      act();
    } }, name)));
  const close = (focus = true) => {
    box.remove();
    removeEventListener('pointerdown', outside, true);
    if (focus) tree.row(id)?.element.focus();
  };
  const outside = (event) => box.contains(event.target) || close(false);
  // Within the part of the page to which it belongs.
  $('pane-tree').append(box);
  box.style.left = `${Math.max(4, Math.min(at.left, innerWidth - box.offsetWidth - 4))}px`;
  box.style.top = `${Math.max(4, Math.min(at.bottom, innerHeight - box.offsetHeight - 4))}px`;
  addEventListener('pointerdown', outside, true);
  const items = [...box.children];
  box.addEventListener('keydown', (event) => {
    const now = items.indexOf(document.activeElement);
    const to = { ArrowDown: now + 1, ArrowUp: now - 1 + items.length, Home: 0, End: items.length - 1 }[event.key];
    if (to !== undefined) items[to % items.length].focus();
    else if (event.key === 'Escape' || event.key === 'Tab') close();
    else return;
    event.preventDefault();
  });
  items[0].focus();
}

// ---- Dialogs ----

/** Asks in a dialog. `act` gets the form; its refusal is shown in the dialog, which stays. */
function dialog(title, fields, doing, act, { kind = 'main', id } = {}) {
  const wrong = el('div', { class: 'wrong', role: 'alert', hidden: true });
  const button = el('button', { class: kind, type: 'submit' }, doing);
  const form = el('form', { method: 'dialog' }, el('h2', { id: 'dialog-title' }, title), fields, wrong,
    el('div', { class: 'ends' }, el('button', { onclick: () => box.close() }, 'Cancel'), button));
  const box = el('dialog', { 'aria-labelledby': 'dialog-title' }, form);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    button.disabled = true;
    wrong.hidden = true;
    try {
      await act(form.elements, event);
      box.close();
    } catch (error) {
      if (!(error instanceof Refused || error instanceof Lost || error instanceof SyntaxError)) throw error;
      wrong.hidden = false;
      wrong.replaceChildren(...(error.words ?? reason(error, id)).flat());
    } finally {
      button.disabled = false;
    }
  });
  box.addEventListener('close', () => {
    box.remove();
    // The browser has given the focus back to what opened the dialog, if that is still there. It may have gone on since.
    if (document.activeElement === document.body) tree.row(tree.selected)?.element.focus();
  });
  document.body.append(box);
  box.showModal();
  form.querySelector('input, select, textarea')?.focus();
  return box;
}

let numbers = 0;
function field(label, name, properties = {}, wide = true) {
  const id = `field-${numbers += 1}`;
  const { tag = 'input', ...others } = properties;
  return el('div', { class: wide ? 'field wide' : 'field' }, el('label', { for: id }, label), el(tag, { id, name, autocomplete: 'off', ...others }));
}

/** The node that a picker has, or a refusal. */
async function picked(where) {
  const id = await where.chosen();
  if (id === undefined) throw new Refused(0, { detail: 'Choose one of the nodes that the list shows.' });
  return id;
}

const attributes = (text) => {
  const read = JSON.parse(text || '{}');
  if (read === null || typeof read !== 'object' || Array.isArray(read)) throw new SyntaxError('write an object, {"name": "value"}');
  return read;
};

// ---- Each change ----

export function add(parent) {
  const where = parent === null ? 'a root' : `below ${visible(tree.row(parent)?.label ?? parent)}`;
  const box = dialog(`Add ${where}`, [
    field('Name', 'name'), field('Id (without one the API makes one)', 'id', { spellcheck: 'false' }),
    field(`Segment in paths${about.names === 'off' ? '' : ', which no sibling has'} (without one the id)`, 'segment', { spellcheck: 'false' }),
    el('input', { type: 'hidden', name: 'parent', value: parent ?? '' }),
  ], 'Add', async (form) => {
    const body = { parent: parent ?? null, attributes: form.name.value ? { name: form.name.value } : {} };
    if (form.id.value) body.id = form.id.value;
    if (form.segment.value) body.segment = form.segment.value;
    if (about.by_hand) body.position = 'last';
    const { body: made } = await send('POST', '/nodes', body, patience());
    tree.wrote(made.id, parent);
    say(`${made.id} is added`);
    if (parent !== null) tree.open(parent, { expected: true });
    tell('wrote', { id: made.id, what: 'added' });
  });
  return box;
}

/** Renames in place. The name is the segment, where there is one, and otherwise an attribute. */
export async function rename(id) {
  const row = tree.row(id);
  if (!row) return;
  let known;
  try {
    known = await send('GET', path(id));
  } catch (error) {
    return tree.refuse(id, reason(error, id));
  }
  const { segment, attributes: own } = known.body;
  const name = ['name', 'title'].find((one) => typeof own?.[one] === 'string');
  const label = row.element.querySelector('.label');
  const input = el('input', { 'aria-label': `New name of ${visible(row.label)}`, value: name ? own[name] : segment ?? '', spellcheck: 'false' });
  label.replaceWith(input);
  input.focus();
  input.select();
  let isDone = false;
  const end = (focus) => {
    if (isDone) return;
    isDone = true;
    input.replaceWith(label);
    tree.draw(row);
    if (focus) row.element.focus();
    tree.letGo();
  };
  input.addEventListener('blur', () => end(false));
  for (const kind of ['click', 'pointerdown', 'dragstart']) input.addEventListener(kind, (event) => event.stopPropagation());
  input.addEventListener('keydown', (event) => {
    event.stopPropagation();
    if (event.key === 'Escape') return end(true);
    if (event.key !== 'Enter' || event.isComposing) return undefined;
    const value = input.value;
    end(true);
    const isName = Boolean(name) || segment === undefined || segment === null;
    const bodyOf = (text) => (isName ? { attributes: { [name ?? 'name']: text } } : { segment: text });
    const former = isName ? own?.[name ?? 'name'] ?? null : segment;
    if (value === former) return undefined;
    return rewrite(id, bodyOf(value), value, `Renamed ${visible(former ?? id)} to ${visible(value)}`, {
      etag: known.headers.get('etag'), back: (done) => rewrite(id, bodyOf(former), former ?? id, done) });
  });
}

/** Writes a name, which is shown at once. */
async function rewrite(id, body, label, done, { etag, back } = {}) {
  const answer = await attempt(id, () => send('PATCH', path(id), body, patched(etag ? { 'if-match': etag } : {})), done, { undo: tree.name(id, label || id) });
  tree.wrote(id, parentOf(id));
  if (answer && back) undoable(done, back);
}

/**
 * Does something to a node in the tree. A refusal is said at its row, or at another, and is thrown where a dialog says it. `undo` takes back what is
 * shown already.
 */
async function attempt(id, act, done, { at = id, parent, undo: back, throws = false } = {}) {
  tree.clearRefusals();
  const row = tree.row(id);
  const state = row?.state;
  if (row) {
    row.state = 'on-its-way';
    tree.draw(row);
  }
  try {
    const answer = await act();
    say(done);
    tree.asked = new Set([...(tree.asked ?? []), id]);
    tree.readStates();
    tell('wrote', { id, what: done });
    if (id === tree.selected) tell('again');
    return answer;
  } catch (error) {
    if (!(error instanceof Refused || error instanceof Lost)) throw error;
    back?.();
    if (tree.row(id) === row && row) {
      row.state = state;
      tree.draw(row);
    }
    if (throws) throw error;
    tree.refuse(at, reason(error, id, parent));
    return null;
  }
}

/** Has a node stand elsewhere: at once, and for good if it isn't refused. */
async function put(id, parent, place, done, { at = id, throws } = {}) {
  const before = parentOf(id);
  const body = { parent, ...(place ? { position: place } : {}) };
  const back = tree.place(id, parent, place);
  const answer = await attempt(id, () => send('PATCH', path(id), body, patched()), done, { at, parent, undo: back, throws });
  if (!answer) return false;
  tree.wrote(id, before);
  if (before !== parent) progress(id);
  // It has gone where no row is yet.
  if (!back && id === tree.selected) tree.follow();
  return true;
}

/** Moves a node, offers to undo it, and shows how far the move is. */
export async function moveTo(id, parent, place, { at, throws } = {}) {
  const row = tree.row(id);
  const back = wayBack(id);
  const words = row?.parent === parent ? `Placed ${nameOf(id)}` : `Moved ${nameOf(id)} to ${parent === null ? 'the roots' : nameOf(parent)}`;
  if (!await put(id, parent, place, words, { at, throws })) return false;
  if (row) undoable(words, back);
  return true;
}

export function move(id) {
  if (id === null) return;
  const where = picker(tree, parentOf(id), id);
  dialog(`Move ${nameOf(id)}`, where.parts, 'Move', async () => {
    const parent = await picked(where);
    if (parent === tree.row(id)?.parent) return;
    try {
      await moveTo(id, parent, undefined, { throws: true });
    } catch (error) {
      throw error instanceof Refused ? Object.assign(error, { words: reason(error, id, parent) }) : error;
    }
  }, { id });
}

export const before = (id) => step(id, -1);
export const after = (id) => step(id, 1);

async function step(id, by) {
  const siblings = tree.siblings(id);
  const other = siblings[siblings.indexOf(id) + by];
  if (other !== undefined) await moveTo(id, tree.row(id).parent, by < 0 ? { before: other } : { after: other });
}

function beside(id) {
  const siblings = tree.siblings(id).filter((one) => one !== id);
  const options = siblings.map((one) => el('option', { value: one }, visible(tree.row(one).label)));
  const select = field('Sibling', 'other', { tag: 'select' });
  select.querySelector('select').append(...options);
  const how = field('Where', 'how', { tag: 'select' }, false);
  how.querySelector('select').append(el('option', { value: 'before' }, 'before'), el('option', { value: 'after' }, 'after'), el('option', { value: 'first' }, 'before all'), el('option', { value: 'last' }, 'after all'));
  dialog(`Place ${visible(tree.row(id)?.label ?? id)}`, el('div', { class: 'row' }, how, select), 'Place', async (form) => {
    const where = form.how.value;
    const place = where === 'first' || where === 'last' ? where : { [where]: form.other.value };
    await moveTo(id, tree.row(id).parent, place, { throws: true });
  }, { id });
}

function copy(id) {
  const where = picker(tree, parentOf(id));
  dialog(`Copy ${nameOf(id)} and its subtree`, [where.parts,
    field('Id of the copy, with which the ids below it begin (without one the API makes them)', 'ids', { spellcheck: 'false' }),
    field('Its segment in paths (without one as the node’s)', 'segment', { spellcheck: 'false' })], 'Copy', async (form) => {
    const parent = await picked(where);
    const body = { parent, ...(form.ids.value ? { ids: form.ids.value } : {}), ...(form.segment.value ? { segment: form.segment.value } : {}) };
    const { headers } = await send('POST', path(id, '/copy'), body, patience());
    tree.changed(parent);
    operation(headers.get('location'), 'Copying');
  }, { id });
}

const CHILDREN = [['delete', 'Delete it and its subtree'], ['adopt', 'Delete it; its children go to its parent'], ['detach', 'Delete it; its children become roots']];

export function remove(id, _, isForGood = !about.trash) {
  if (id === null) return;
  const row = tree.row(id);
  const label = nameOf(id);
  const hasChildren = row?.has_children !== false;
  const choice = (value, words, checked) => el('label', { class: 'choice' }, el('input', { type: 'radio', name: 'children', value, checked }), words);
  const forGood = hasChildren ? CHILDREN : [['', 'Delete it']];
  const choices = el('fieldset', { onchange: () => draw() }, el('legend', {}, hasChildren ? 'What should happen to it and its subtree?' : 'What should happen to it?'),
    about.trash && choice('trash', hasChildren ? 'Move it and its subtree to the trash, where they can be restored' : 'Move it to the trash, where it can be restored', !isForGood),
    forGood.map(([value, words], index) => choice(value, `${words}${about.trash ? ', for good' : ''}`, isForGood && index === 0)));
  const amount = el('p', { class: 'note' });
  const box = dialog('', [choices, amount], '', async (form) => {
    const choice = form.children.value;
    if (choice === 'trash') return trashed(id, await send('POST', path(id, '/trash'), undefined, patience()));
    const { headers } = await send('DELETE', path(id, choice ? `?children=${choice}` : ''));
    tree.changed(row?.parent ?? null, null);
    operation(headers.get('location'), `Deleting ${label}`);
    return say(`${label} is being deleted`);
  }, { id });
  const [title, button] = [box.querySelector('h2'), box.querySelector('[type=submit]')];
  const draw = () => {
    const isTrash = box.querySelector('input:checked')?.value === 'trash';
    title.textContent = isTrash ? `Move ${label} to the trash?` : `Delete ${label} for good?`;
    button.textContent = isTrash ? 'Move to trash' : 'Delete for good';
    button.className = isTrash ? 'main' : 'danger';
  };
  draw();
  if (hasChildren) get(path(id, '/count')).then((answer) => {
    amount.textContent = `It has ${count(answer.count, 'descendant')}${answer.cursor ? ' or more' : ''}.`;
  }, () => {});
}

async function toTrash(id) {
  if (await attempt(id, () => send('POST', path(id, '/trash'), undefined, patience()), `${labelOf(id)} is in the trash`)) trashed(id);
}

function trashed(id) {
  const parent = parentOf(id);
  undoable(`Moved ${nameOf(id)} to the trash`, async (done) => {
    await attempt(id, () => send('POST', path(id, '/restore'), {}, patience()), done);
    tree.changed(parent, null);
    tell('trashed');
  });
  tree.changed(parent, null);
  tell('trashed');
  progress(id);
}

export async function edit(node) {
  let known;
  try {
    known = await send('GET', path(node.id));
  } catch (error) {
    return say(error.message);
  }
  const before = known.body.attributes ?? {};
  const text = field('Its attributes, as JSON', 'attributes', { tag: 'textarea', spellcheck: 'false', disabled: node.is_cut });
  text.querySelector('textarea').value = node.is_cut ? 'They are too long to be changed here.' : JSON.stringify(before, null, 2);
  dialog(`Change ${visible(node.label)}`, [text, field('Segment in paths (empty: the id)', 'segment', { value: known.body.segment ?? '', spellcheck: 'false' })], 'Save', async (form) => {
    const body = {};
    if (!node.is_cut) {
      const after = attributes(form.attributes.value);
      // Those that stay aren't sent: their numbers may have more digits than JavaScript keeps.
      const changed = Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]));
      const left = Object.keys(before).filter((name) => !(name in after)).map((name) => [name, null]);
      body.attributes = Object.fromEntries([...changed, ...left]);
    }
    if (form.segment.value !== (known.body.segment ?? '')) body.segment = form.segment.value || null;
    await send('PATCH', path(node.id), body, patched({ 'if-match': known.headers.get('etag') }));
    say('The base record is written. Its rows follow.');
    tree.wrote(node.id, parentOf(node.id));
    tell('wrote', { id: node.id, what: 'changed' });
    tell('again');
  }, { id: node.id });
}

export function revise(node) {
  const text = field('Its attributes, as JSON', 'attributes', { tag: 'textarea', spellcheck: 'false' });
  text.querySelector('textarea').value = '{\n  "auditor": "Rick",\n  "result": "passed"\n}';
  dialog(`Add a revision to ${visible(node.label)}`, [field('Topic', 'topic', { value: 'Audit', spellcheck: 'false' }), text], 'Add', async (form) => {
    const topic = form.topic.value;
    await send('POST', path(node.id, `/revisions/${path(topic).slice('/nodes/'.length)}`), { attributes: attributes(form.attributes.value) }, patience());
    say('The revision is written. Its copy follows.');
    tell('wrote', { id: node.id, what: 'revised' });
    tell('revised', { id: node.id, topic });
  }, { id: node.id });
}

// ---- How far it is ----

function line(words) {
  const bar = el('progress', { 'aria-label': words });
  const text = el('span', {}, words);
  const box = el('div', { class: 'note move' }, text, bar);
  $('tree-note').after(box);
  return { bar, say: (more) => {
    text.textContent = more;
  }, end: (more) => {
    text.textContent = more;
    bar.remove();
    setTimeout(() => box.remove(), 6000);
  } };
}

/** Shows how far a move is: how many of the nodes below have their rows. */
async function progress(id) {
  const label = visible(tree.row(id)?.label ?? id);
  let shown = null;
  try {
    const total = (await get(path(id, '/count'))).count;
    let cursor;
    for (let look = 0; look < 2000; look += 1) {
      const query = new URLSearchParams({ below: 'true', ...(cursor ? { cursor } : {}) });
      const state = await get(path(id, `/propagation?${query}`));
      const below = state.below ?? {};
      if (below.up_to_date && state.up_to_date) {
        shown?.end(below.placed ? `${label}: all ${count(below.placed, 'node')} below it have their rows.` : `${label} has its rows.`);
        if (shown) say(`${label} has arrived, with ${count(below.placed, 'node')}`);
        return;
      }
      shown ??= line(`${label} is on its way`);
      shown.bar.max = Math.max(total, below.placed ?? 0, 1);
      shown.bar.value = below.placed ?? 0;
      shown.say(`${label} is on its way: ${below.placed ?? 0} of ${total} nodes below it have their rows.`);
      cursor = below.cursor ?? undefined;
      await wait(600);
    }
  } catch (error) {
    shown?.end(error.message);
  }
}

/** Shows how far an operation is. */
async function operation(location, words) {
  if (!location) return;
  const shown = line(words);
  try {
    for (let look = 0; look < 2000; look += 1) {
      const state = await get(location);
      if (state.status === 'done') {
        shown.end(`${words}: done${state.copied ? `, ${count(state.copied, 'node')}` : ''}.`);
        return tree.changed(null, ...tree.levels.keys());
      }
      shown.say(`${words}: ${state.status}${state.copied ? `, ${count(state.copied, 'node')}` : ''}`);
      await wait(700);
    }
  } catch (error) {
    shown.end(error.message);
  }
}

// ---- The trash ----

/** When a node was thrown away. */
function thrown(one) {
  const at = new Date(one.trashed?.at ?? one.at ?? '');
  return Number.isNaN(at.getTime()) ? null : [' ', el('time', { class: 'soft', datetime: at.toISOString() }, at.toLocaleString())];
}

/** Shows what is in the trash, as long as the box is open. */
export function trash(_, box) {
  const list = el('div', { 'aria-live': 'polite' });
  let known = null;
  box.append(list);
  // One at a time: an older answer must not come after a newer one.
  const read = calmly(20, async () => {
    if (!box.open) return;
    try {
      const { items } = await get('/trash?limit=50');
      // What is as it was isn't drawn anew: somebody may be about to click.
      const before = known;
      known = JSON.stringify(items);
      if (known === before) return;
      list.replaceChildren(items.length ? el('ul', { class: 'items thrown' }, items.map((one) => el('li', { class: 'row' }, el('span', {}, leads(one.id, one.attributes?.name ?? one.id), thrown(one)),
        about.writes && el('button', { 'aria-label': `Restore ${visible(one.id)}`, onclick: (event) => restore(one.id, event.target.closest('li')) }, 'Restore'),
        about.writes && el('button', { class: 'danger', 'aria-label': `Delete ${visible(one.id)} for good`, onclick: () => destroy(one.id, one.attributes?.name ?? one.id) }, 'Delete for good…')))) : el('p', { class: 'note' }, 'It is empty.'));
    } catch (error) {
      known = null;
      list.replaceChildren(el('p', { class: 'wrong' }, error.message));
    }
  });
  const restore = async (id, at) => {
    try {
      await send('POST', path(id, '/restore'), {}, patience());
      say(`${id} is restored`);
      tell('wrote', { id, what: 'restored' });
      tree.changed(null, ...tree.levels.keys());
      progress(id);
      tell('trashed');
      if (id === tree.selected) tell('again');
    } catch (error) {
      at.querySelector('.refusal')?.remove();
      at.append(el('span', { class: 'refusal', role: 'alert' }, reason(error, id)));
    }
  };
  const destroy = (id, label) => dialog(`Delete ${visible(label)} and its subtree for good?`, [], 'Delete for good', async () => {
    const { headers } = await send('DELETE', path(id, '?children=delete'));
    operation(headers.get('location'), `Deleting ${visible(label)}`);
    tell('trashed');
  }, { kind: 'danger', id });
  box.addEventListener('toggle', read);
  read();
  hear('back', read);
  // The row of the trash follows its record by a moment.
  hear('trashed', () => [150, 900, 2500].forEach((after) => setTimeout(read, after)));
}

// ---- Dragging ----

/** How near to an edge of the pane a drag scrolls it, in pixels, and by how much at a time. */
const EDGE = 36;
const SCROLL = 14;
/** How long a drag rests on a closed node until it opens, in milliseconds. */
const OPENS_AFTER = 700;

function drags() {
  const [list, pane] = [$('tree'), $('pane-tree')];
  const root = el('div', { id: 'root-drop', hidden: true }, 'Drop here to make it a root');
  list.after(root);
  let dragged = null;
  let over = null;
  let opening = null;
  const clear = () => {
    over?.classList.remove('over-in', 'over-before', 'over-after');
    over = null;
    clearTimeout(opening);
    opening = null;
  };
  const end = () => {
    dragged = null;
    root.hidden = true;
    clear();
  };
  const zone = (event, element) => {
    if (element === root) return 'in';
    const box = element.getBoundingClientRect();
    const part = (event.clientY - box.top) / box.height;
    return !about.by_hand || (part > 0.28 && part < 0.72) ? 'in' : part < 0.5 ? 'before' : 'after';
  };
  /** The node, or the target for roots, that a drag is over. Nothing else takes a drop. */
  const target = (event) => {
    // A drag can be over a text.
    const at = event.target.closest ? event.target : event.target.parentElement;
    const element = at?.closest('[role=treeitem], #root-drop');
    return element === root || (element?.nodeId !== undefined && element.nodeId !== dragged) ? element : null;
  };
  const scroll = (event) => {
    const box = pane.getBoundingClientRect();
    if (event.clientY < box.top + EDGE) pane.scrollTop -= SCROLL;
    if (event.clientY > box.bottom - EDGE) pane.scrollTop += SCROLL;
  };
  list.addEventListener('dragstart', (event) => {
    dragged = event.target.closest?.('[role=treeitem]')?.nodeId ?? null;
    if (dragged === null) return;
    event.dataTransfer.effectAllowed = 'move';
    event.dataTransfer.setData('text/plain', dragged);
    // A layout that changes within this event would end the drag.
    setTimeout(() => {
      root.hidden = dragged === null || parentOf(dragged) === null;
    });
  });
  list.addEventListener('dragend', end);
  pane.addEventListener('dragover', (event) => {
    if (dragged === null) return;
    const element = target(event);
    if (element !== root) scroll(event);
    if (element !== over) clear();
    if (!element) return;
    event.preventDefault();
    const where = zone(event, element);
    if (element !== over) {
      const { nodeId } = element;
      opening = nodeId === undefined ? null : setTimeout(() => tree.open(nodeId), OPENS_AFTER);
    }
    over?.classList.remove('over-in', 'over-before', 'over-after');
    over = element;
    over.classList.add(`over-${where}`);
  });
  pane.addEventListener('dragleave', (event) => {
    if (!pane.contains(event.relatedTarget)) clear();
  });
  pane.addEventListener('drop', async (event) => {
    const [id, element] = [dragged, target(event)];
    if (id === null || !element) return undefined;
    event.preventDefault();
    const where = zone(event, element);
    end();
    if (element === root) return moveTo(id, null);
    const other = tree.row(element.nodeId);
    if (where === 'in' && tree.row(id)?.parent === other.id) return undefined;
    if (where === 'in') return moveTo(id, other.id, undefined, { at: other.id });
    return moveTo(id, other.parent, { [where]: other.id }, { at: other.id });
  });
}
