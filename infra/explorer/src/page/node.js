// The node: its base record, and every item that is derived from it.
import { $, about, badge, bdi, calmly, card, cost, count, data, el, get, hear, isUnderWay, key, labelOf, leads, Lost, node as path, post, say, shown, sumsOf, tell, values, visible, why } from './base.js';

/** The kinds of derived items: what each is called, and which question it answers of a node. */
const KINDS = [
  ['ancestor', 'Ancestor rows', 'One under each node above it. They answer “what is below?”, for any window of levels, with one Query.'],
  ['path', 'Path row', 'In the partition of the root. It answers “what is at this path, and below it?”'],
  ['child', 'Child row', 'In the partition of the parent, by its place among its siblings. It answers “which children are there, in their order?”'],
  ['place', 'Ordered root row', 'In the list of all trees, by its place among them. It answers “which trees are there, in their order?”'],
  ['root', 'Root row', 'In the list of all trees, by its id. It answers “is this a tree, and which trees are there?”'],
  ['link', 'Link rows', 'In the partition of each node that this one names. They answer “who names it, and below whom is that?”'],
  ['trash', 'Trash row', 'In the list of the trash. It answers “what was thrown away, when, and from where?”'],
  ['orphan', 'Orphan', 'In the register of orphans. It answers “which nodes have a parent that isn’t there?”'],
  ['copy', 'Newest revisions', 'A copy of the newest revision of each topic, at v0_. It answers “how do things stand now?” with one read.'],
  ['lineage', 'Lineage', 'Where the node stands: it names every row that the node has. It answers “what is above it?”'],
  ['tombstone', 'Tombstone', 'What a deleted node leaves in the place of its lineage, for children that come late.'],
  ['cursor', 'Cursor', 'How far the stream handler is with the children of a wide node.'],
  ['name', 'Claim of a name', 'No two siblings get one name: it answers “is this name taken here?”'],
  ['total', 'Totals', 'What is below it, counted and added up, and what it is counted as itself. They answer “how much is below?”'],
  ['deleted', 'Deleted', 'The API has deleted this id.'],
  ['other', 'Others', 'Items that the comparison names.'],
];

/** What the comparison says of an item, in words. */
const WRONG = {
  'row-missing': 'missing', 'row-wrong': 'not as its record says', 'row-surplus': 'nothing asks for it', 'lineage-missing': 'not written yet',
  'lineage-wrong': 'of an earlier place', 'lineage-rows': 'rows are on their way', 'lineage-surplus': 'its node is gone', 'copy-missing': 'not copied yet',
  'copy-wrong': 'of an earlier revision', 'copy-surplus': 'its topic is gone',
};

const quiet = (...words) => el('p', { class: 'question' }, words);
const wrong = (error) => el('p', { class: 'wrong' }, error.message);

let current = null;
/** What was shown last. */
export let last = null;
/** The same as text, without what it took, as long as it is drawn. */
let drawn = null;
let isOpen = new Set();
let topic = null;

/** When a node with differences is looked at again, in milliseconds. After as many looks that found the same, nobody asks any more. */
const LOOK_AGAIN = [2000, 2000, 4000, 8000];
let lookAgain = null;
/** How many looks have found the same differences. */
let looks = 0;
let differed = '';

/** The differences of a node, as text. */
const differences = (found) => found.items.filter((item) => item.wrong || item.is_stale).map((item) => `${item.pk}|${item.sk}|${item.wrong}`).join('\n');

/** True if what is wrong is no lag: the node stands where its record says, and no change has been under way for a while. */
function isDamaged(found) {
  return found.state === 'right' && differed !== '' && !isUnderWay() && looks >= (about.live ? 1 : LOOK_AGAIN.length);
}

/** Has a node that is behind looked at again, once, however often it is drawn. */
function watch(found) {
  clearTimeout(lookAgain);
  const now = differences(found) && `${found.id}\n${differences(found)}`;
  looks = now === differed ? looks + 1 : 0;
  differed = now;
  if (now && !isDamaged(found) && looks < LOOK_AGAIN.length) lookAgain = setTimeout(again, LOOK_AGAIN[looks]);
}

hear('seen', ({ nodes, totals }) => {
  if (current !== null && (nodes.includes(current) || totals.includes(current))) again();
});
hear('again', () => again());
hear('back', () => again());

const again = calmly(500, () => current !== null && show(current));

/** Shows a node, which may be known already. */
export async function open(id, known = null) {
  const before = current;
  current = id;
  if (before !== id) {
    isOpen = new Set();
    topic = null;
  }
  if (id === null) return $('node').replaceChildren(welcome());
  $('pane-node').setAttribute('aria-busy', 'true');
  try {
    await show(id, known);
  } catch (error) {
    drawn = null;
    if (!(error instanceof Lost)) $('node').replaceChildren(wrong(error));
  } finally {
    if (current === id) $('pane-node').removeAttribute('aria-busy');
  }
}

async function show(id, known = null) {
  const found = known ?? await data('node', { id });
  if (current !== id) return;
  watch(found);
  const focus = focused();
  const isNew = $('node').dataset.of !== id;
  // What is as it was isn't drawn anew: somebody may be about to click.
  const text = JSON.stringify({ ...found, requests: 0, read_units: 0, damaged: isDamaged(found) });
  if (!isNew && text === drawn) return tell('shown', found);
  drawn = text;
  $('node').dataset.of = id;
  const kept = (name) => (isNew ? null : $('node').querySelector(`.${name}`));
  $('node').replaceChildren(...parts(found, kept));
  if (isNew) {
    $('pane-node').scrollTop = 0;
    say(`${found.label} shown: ${count(derived(found).length, 'derived item')}`);
  }
  focus?.();
  last = found;
  tell('shown', found);
}

/** Remembers which part has the focus, which a new drawing would lose. */
function focused() {
  const has = document.activeElement;
  if (!$('node').contains(has)) return null;
  const name = has.dataset.focus ?? has.closest('[data-focus]')?.dataset.focus;
  return name && (() => [...$('node').querySelectorAll('[data-focus]')].find((one) => one.dataset.focus === name)?.focus());
}

/** A root has its place among all trees in the same kind of row as a child has its place among its siblings. */
const derived = (found) => found.items.filter((item) => item.kind !== 'node')
  .map((item) => (item.kind === 'child' && item.sk.startsWith('ORDERED#') ? { ...item, kind: 'place' } : item));

function parts(found, kept) {
  const { id, label, state } = found;
  const crumbs = found.ancestors.length > 0 && el('nav', { 'aria-label': 'Above this node' }, el('ul', { class: 'crumbs' },
    found.ancestors.map((one) => el('li', {}, leads(one.id, one.label))), el('li', { 'aria-current': 'true' }, bdi(label))));
  const title = el('div', { class: 'title' }, el('h2', {}, bdi(label)), label === id ? '' : bdi(id, 'soft'), badge(state));
  if (state === 'gone' && !found.items.length) {
    return [title, el('p', { class: 'note' }, 'There is no such node, and nothing is left of one.')];
  }
  const own = found.items.find((item) => item.kind === 'node');
  return [crumbs, title, record(found, own), totals(found), rows(found), kept('topics') ?? topicsOf(found), kept('lately') ?? lately(found), kept('inherits') ?? inherited(found), linked(found)].filter(Boolean);
}

function record(found, own) {
  const edit = own && about.writes && el('button', { class: 'quiet', 'data-focus': 'edit', onclick: () => tell('edit', found) }, 'Change…');
  return card('base', 'Base record', [el('span', { class: 'badge base' }, 'you write this'), edit],
    own?.item ? [key(own.pk, own.sk), values(own.item, [about.keys.pk, about.keys.sk, ...ours(own.item)]), keptByApi(own.item)]
      : quiet('There is none. What is left below is still to be deleted, or waits for its node.'),
    found.findings.length > 0 && quiet('What sapwood verify finds about it: ', [...new Set(found.findings)].map((one) => el('span', { class: 'badge plain' }, one))));
}

/** What is below it, where the table keeps totals. */
function totals({ below }) {
  if (!below) return null;
  const figure = (name, value) => el('div', {}, el('dt', {}, name), el('dd', {}, value));
  return el('dl', { class: 'figures totals', 'aria-label': 'What is below it' }, figure('nodes below', below.count.toLocaleString('en')), figure('children', below.children.toLocaleString('en')),
    sumsOf(below.sums).map((one) => one.split(/ (?=[^ ]+$)/)).map(([name, sum]) => figure(`${name} below`, sum)));
}

const ours = (item) => Object.keys(item).filter((name) => name.startsWith('_'));

/** What the API keeps in a record about itself. Records of other clients have none of it. */
function keptByApi(item) {
  const names = ours(item);
  if (!names.length) return null;
  const others = Object.keys(item).filter((name) => !names.includes(name));
  const inside = el('details', { open: isOpen.has('ours') }, el('summary', { 'data-focus': 'ours', class: 'question' }, `and ${count(names.length, 'attribute')} that Sapwood keeps there`), values(item, others));
  inside.addEventListener('toggle', () => (inside.open ? isOpen.add('ours') : isOpen.delete('ours')));
  return inside;
}

/** The kinds of rows, which follow the lineage. */
const ROWS = ['ancestor', 'path', 'child', 'place', 'root', 'link', 'trash', 'orphan'];

function rows(found) {
  const all = derived(found);
  // What a lineage of an earlier place names is of that place as well.
  if (all.some((item) => item.wrong === 'lineage-wrong')) {
    for (const item of all) if (ROWS.includes(item.kind) && !item.wrong) item.wrong = 'lineage-wrong';
  }
  const wrong = all.filter((item) => item.wrong || item.is_stale).length;
  const groups = KINDS.map(([kind, name, question]) => [kind, name, question, all.filter((item) => item.kind === kind)]).filter(([, , , items]) => items.length);
  return card('derived', count(all.length, 'derived item'), [el('span', { class: 'badge right' }, 'the stream handler writes these'),
      wrong > 0 && el('span', { class: isDamaged(found) ? 'badge bad' : 'badge', id: 'behind' }, isDamaged(found) ? `${wrong} damaged` : `${wrong} still to follow`)],
    wrong > 0 && isDamaged(found) && repair(found, wrong),
    groups.map(([kind, name, question, items]) => {
      const [more, words] = why(kind, question, found.id);
      more.setAttribute('aria-label', `What is this: ${name}?`);
      return el('div', { class: 'group' }, el('div', { class: 'bar' }, el('h4', {}, name, items.length > 1 ? ` (${items.length})` : ''), more), words,
        el('ul', { class: 'items' }, items.map((item) => one(kind, item))));
    }),
    !all.length && quiet('None yet: the stream handler hasn’t come to it.'),
    quiet(`Read and compared with ${cost(found.requests, found.read_units)}.`));
}

/** What nothing will mend by itself. */
function repair(found, wrong) {
  const words = `${count(wrong, 'item is', 'items are')} missing or changed, and no change is under way: the stream will not mend ${wrong === 1 ? 'it' : 'them'}.`;
  if (!about.trials) return el('p', { class: 'wrong', id: 'damage' }, words, ' The auditor does, and so does ', el('code', {}, 'sapwood repair'), '.');
  const button = el('button', { class: 'main', 'data-focus': 'repair', onclick: async () => {
    button.disabled = true;
    try {
      await post('mend', { id: found.id });
      again();
    } catch (error) {
      box.append(el('span', {}, ` ${error.message}`));
      button.disabled = false;
    }
  } }, 'Repair');
  const box = el('p', { class: 'wrong', id: 'damage' }, words, ' ', button);
  return box;
}

function one(kind, item) {
  const name = `${item.pk}|${item.sk}`;
  const marks = [];
  if (item.depth) marks.push(el('span', { class: 'soft' }, item.depth === 1 ? 'directly below' : `${item.depth} levels below`));
  if (item.wrong) marks.push(el('span', { class: 'badge bad', title: item.wrong }, WRONG[item.wrong] ?? item.wrong));
  else if (item.is_stale) marks.push(el('span', { class: 'badge' }, 'about to be deleted'));
  if (!item.item) return el('li', { class: 'one missing' }, key(item.pk, item.sk), marks);
  const inside = el('details', { open: isOpen.has(name) }, el('summary', { 'data-focus': name }, key(item.pk, item.sk), marks),
    values(item.item, [about.keys.pk, about.keys.sk]), quiet(`${item.bytes.toLocaleString('en')} bytes`));
  inside.addEventListener('toggle', () => (inside.open ? isOpen.add(name) : isOpen.delete(name)));
  return el('li', {}, inside);
}

// ---- Topics and revisions ----

function topicsOf(found) {
  const copies = found.items.filter((item) => item.kind === 'copy' && item.item);
  const body = el('div', {});
  const names = copies.map((item) => item.sk.replace(/^v0_/, ''));
  const add = about.writes && el('button', { class: 'quiet', onclick: () => tell('revise', found) }, 'Add a revision…');
  const [more, words] = why('topics', 'Revisions of a topic are numbered. The newest of each topic is copied to v0_, so that one read finds it.', found.id);
  return card('topics', names.length ? count(names.length, 'topic') : 'History', [more, add], words, names.length ? el('div', { class: 'row' }, names.map((name) => el('button', { 'aria-pressed': String(topic === name), onclick: (event) => {
    topic = name;
    for (const other of event.target.closest('.row').children) other.setAttribute('aria-pressed', String(other === event.target.closest('button')));
    history(found.id, name, body);
  } }, bdi(name)))) : quiet('No revisions yet.'), body);
}

hear('revised', ({ id, topic: name }) => {
  if (id !== current) return;
  $('node').querySelector('.topics')?.remove();
  drawn = null;
  topic = name;
  again();
});

async function history(id, name, body) {
  let list;
  try {
    list = await get(path(id, `/revisions/${path(name).slice('/nodes/'.length)}?order=desc&limit=50`));
  } catch (error) {
    return body.replaceChildren(wrong(error));
  }
  const difference = el('div', { 'aria-live': 'polite' });
  const versions = list.items.map((item) => item.version);
  const choice = (label, at) => {
    const select = el('select', { 'aria-label': label, onchange: () => compare() }, versions.map((version) => el('option', { value: version }, `version ${version}`)));
    select.selectedIndex = Math.min(at, versions.length - 1);
    return select;
  };
  const [older, newer] = [choice('the older revision', 1), choice('the newer revision', 0)];
  const compare = () => {
    const [a, b] = [older, newer].map((select) => list.items.find((item) => String(item.version) === select.value)?.attributes ?? {});
    const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
    difference.replaceChildren(el('div', { class: 'scroll' }, el('table', { class: 'values' },
      el('caption', { class: 'unseen' }, 'Differences'),
      el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'attribute'), el('th', { scope: 'col' }, `version ${older.value}`), el('th', { scope: 'col' }, `version ${newer.value}`))),
      el('tbody', {}, names.map((one) => {
        const [left, right] = [a, b].map((side) => (one in side ? shown(side[one]) : '—'));
        return el('tr', { class: left === right ? undefined : 'changed' }, el('th', { scope: 'row' }, bdi(one)), el('td', {}, el('bdi', {}, left)), el('td', {}, el('bdi', {}, right)));
      })))));
  };
  body.replaceChildren(
    el('ul', { class: 'items' }, list.items.map((item, index) => el('li', {}, el('details', {}, el('summary', {}, el('b', {}, `version ${item.version}`),
      index === 0 && el('span', { class: 'badge right' }, 'the newest: copied to ', el('code', {}, 'v0_'), bdi(name)), el('span', { class: 'soft' }, bdi([item.created_at, item.created_by].filter(Boolean).join(', ')))),
    values(item.attributes))))),
    list.cursor ? el('p', { class: 'note' }, 'The newest 50 are shown.') : '',
    versions.length > 1 ? el('div', { class: 'row' }, 'Compare ', older, ' with ', newer) : '', difference);
  if (versions.length > 1) compare();
}

// ---- What it has from above, and who names it ----

function inherited(found) {
  const id = found.id;
  const field = el('input', { id: 'inherit', placeholder: 'for example: owner, quota', autocomplete: 'off' });
  const result = el('div', { 'aria-live': 'polite' });
  const ask = async (event) => {
    event.preventDefault();
    const wanted = field.value.split(',').map((name) => name.trim()).filter(Boolean);
    if (!wanted.length) return;
    try {
      const answer = await get(path(id, `/inherited?${new URLSearchParams({ attributes: wanted.join(',') })}`));
      const all = answer.nearest ?? {};
      result.replaceChildren(el('div', { class: 'scroll' }, el('table', { class: 'values' }, el('tbody', {}, wanted.map((name) => {
        const value = all[name];
        const from = value?.from;
        return el('tr', {}, el('th', { scope: 'row' }, bdi(name)), el('td', {}, value ? el('bdi', {}, shown(value.value)) : 'nobody above has it'),
          el('td', {}, from ? ['from ', from === id ? 'the node itself' : leads(from, found.ancestors.find((one) => one.id === from)?.label ?? from)] : ''));
      })))));
    } catch (error) {
      result.replaceChildren(wrong(error));
    }
  };
  const [more, words] = why('inherit', 'A node has a value by itself, or from the nearest node above that has it.', id);
  return card('inherits', 'Values from above', more, words,
    el('form', { class: 'row', onsubmit: ask }, el('div', { class: 'field wide' }, el('label', { for: 'inherit' }, 'Which attributes?'), field),
      el('button', { type: 'submit' }, 'Look')), result);
}

/** The feed of a tree, for its root. */
function lately(found) {
  if (!about.changes || found.ancestors.length) return null;
  const result = el('div', { 'aria-live': 'polite' });
  const look = async () => {
    try {
      const { items } = await get(path(found.id, '/recent?limit=20'));
      result.replaceChildren(items.length ? el('ul', { class: 'items' }, items.map(({ id, at, node }) => el('li', { class: 'row' },
        el('time', { class: 'soft', datetime: at }, new Date(at).toLocaleString()), leads(id, node ? labelOf(node) : id), node ? '' : 'has left the tree'))) : quiet('Nothing within 30 days.'));
    } catch (error) {
      result.replaceChildren(wrong(error));
    }
  };
  return card('lately', 'Changed lately', el('button', { class: 'quiet', onclick: look }, 'Look'), result);
}

function linked(found) {
  if (!about.links.length) return null;
  const result = el('div', { 'aria-live': 'polite' });
  const ask = async (attribute) => {
    try {
      const answer = await get(path(found.id, `/links/${path(attribute).slice('/nodes/'.length)}?ancestors=true&limit=50`));
      result.replaceChildren(answer.items.length ? el('ul', { class: 'items' }, answer.items.map((one) => el('li', { class: 'row' }, leads(one.id),
        one.ancestors?.length ? ['below ', one.ancestors.map((above) => leads(above))] : ''))) : quiet('Nobody names it.'));
    } catch (error) {
      result.replaceChildren(quiet(error.status === 404 ? 'Nobody names it.' : error.message));
    }
  };
  return card('links', 'Who names this node?', null,
    el('div', { class: 'row' }, about.links.map((attribute) => el('button', { onclick: () => ask(attribute) }, 'In ', bdi(attribute)))), result);
}

function welcome() {
  return el('section', { class: 'card' }, el('h2', {}, 'Nothing here yet'),
    el('p', {}, 'You write base records: an id, a parent, attributes of your own. The stream handler writes the rows that answer questions with one Query each. Here you see both.'));
}
