// What a watcher of the selected node sees: the records of the rows below it, as `sapwood watch` prints them.
import { about, bdi, calmly, count, el, hear, leads, shown } from './base.js';
import { word } from './code.js';

/** Most changes that are shown. */
const SHOWN_MAX = 200;
/** How long after a change the list is drawn. A move of a thousand nodes is drawn a few times. */
const DRAWN_AFTER = 120;

const KINDS = { came: ['right', '+'], changed: ['base', '~'], went: ['bad', '−'] };

/** A value as it is printed: JSON, as far as it goes. */
const value = (json) => (json === null ? 'nothing' : shown(json));

function line({ kind, id, depth, parent, was, attributes, more, at }) {
  const under = parent ?? was;
  const values = attributes.map(([name, before, after]) => el('span', { class: 'soft' }, bdi(name), kind === 'changed' ? [': ', el('bdi', {}, value(before)), ' → ', el('bdi', {}, value(after))] : ['=', el('bdi', {}, value(after ?? before))]));
  return el('li', { class: `change ${kind}` }, el('time', { class: 'soft', datetime: at.toISOString() }, at.toLocaleTimeString()),
    el('span', { class: `badge ${KINDS[kind][0]}` }, el('span', { 'aria-hidden': 'true' }, KINDS[kind][1]), ' ', kind),
    el('span', {}, leads(id), el('span', { class: 'soft' }, ` ${count(depth, 'level')} below`, under && [' under ', bdi(under)], kind === 'changed' && was !== parent && was !== null && [' (was under ', bdi(was), ')'])),
    values, more > 0 && el('span', { class: 'soft' }, `and ${count(more, 'attribute')} more`));
}

export function panel(changes, tree) {
  const title = el('h3', { id: 'watch-title' });
  const command = el('pre', { tabindex: '0', 'aria-label': 'The same in a shell' });
  const list = el('ol', { class: 'changes', 'aria-labelledby': 'watch-title', 'aria-live': 'polite' });
  const note = el('p', { class: 'question' });
  const draw = () => {
    const id = tree.selected;
    title.replaceChildren(...(id === null ? ['Select a node to watch it'] : ['What a watcher of ', bdi(tree.row(id)?.label ?? id), ' sees']));
    command.hidden = id === null;
    if (id === null) return;
    const tenant = about.tenant ? ` --tenant ${word(about.tenant)}` : '';
    const words = `sapwood watch ${word(id)}${tenant} --table ${word(about.table)}${about.endpoint ? ` --endpoint ${word(about.endpoint)}` : ''}`;
    command.replaceChildren(...words.split(/ (?=--)/).flatMap((part, at) => [at ? ' ' : '', el('span', {}, part)]));
    const own = changes.filter((one) => one.of === id);
    list.replaceChildren(...own.slice(-SHOWN_MAX).reverse().map(line));
    note.textContent = own.length > SHOWN_MAX ? `The newest ${SHOWN_MAX} of ${own.length} are shown.` : own.length ? '' : 'Nothing has changed below it since this page was opened. Move a folder below it, rename one, or move it away.';
  };
  hear('watched', calmly(DRAWN_AFTER, async () => draw()));
  hear('select', draw);
  hear('shown', draw);
  draw();
  return el('div', { class: 'panel' }, el('section', { class: 'card' }, title,
    el('p', { class: 'question' }, 'A node has a row under each node above it. So the rows below this one are the feed of all that is below it: one that is put says that a node came, one that changes that it changed. A node has gone when its last row has. The same in a shell:'), command),
  note, list);
}
