// The page begins here: it joins the tree, the node and what happens.
import { $, about, address, bdi, data, el, hear, openTab, Refused, say, showPane, tell, visible, wait } from './base.js';
import { open as openNode } from './node.js';
import { begin as beginLive } from './live.js';
import { Tree } from './tree.js';

// ---- The page ----

let tree;

async function begin() {
  $('logo').src = document.querySelector('[rel=icon]').href;
  let start;
  const wanted = address.get('node');
  try {
    start = await openTab(() => data('start', { node: wanted }));
  } catch (error) {
    return cannotBegin(error);
  }
  Object.assign(about, start.about);
  where();
  tree = new Tree($('tree'), start.roots);
  changes();
  beginLive(tree);
  search();
  panes();
  hear('go', (id) => go(id));
  hear('select', (id) => {
    address.set({ node: id }, true);
    openNode(id, start.node?.id === id ? start.node : null);
    start.node = null;
  });
  addEventListener('popstate', () => go(address.get('node') ?? tree.first(), true));
  hear('shown', ({ label }) => {
    document.title = `${visible(label)} · ${document.title.split(' · ').pop()}`;
  });
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

/** Where one part has room at a time, one row of buttons leads to all of them. */
function panes() {
  for (const button of document.querySelectorAll('#panes > button')) button.addEventListener('click', () => showPane(button.dataset.to));
  $('tabs').addEventListener('click', (event) => event.target.closest('[role=tab]') && showPane('side'));
  const narrow = matchMedia('(max-width: 1000px)');
  const fit = () => (narrow.matches ? $('panes').append($('tabs')) : $('side-title').after($('tabs')));
  narrow.addEventListener('change', fit);
  fit();
  showPane('tree');
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
  const rights = about.writes ? el('span', { class: 'badge base' }, about.playground ? 'yours' : about.live ? 'dev: reads and writes' : 'reads and writes') : el('span', { class: 'badge plain' }, 'reads only');
  $('where').replaceChildren(el('span', {}, 'table ', bdi(about.table)), about.endpoint ? el('span', { class: 'endpoint' }, bdi(about.endpoint)) : '',
    about.tenant ? el('span', {}, 'tenant ', bdi(about.tenant)) : '', rights);
}

// ---- Changes, whose code is read when somebody comes near the tree ----

/** A keyboard of a Mac has no Insert, Delete and menu key, and its F keys do something else. */
const IS_MAC = /Mac/.test(navigator.platform);
const TOOLS = [['Add', 'Insert', '⌘↩', 'add'], ['Rename', 'F2', '⌘E', 'rename'], ['Move', 'Ctrl+X', '⌘X', 'move'], ['Delete', 'Delete', '⌘⌫', 'remove'], ['⋯', 'Shift+F10', '⌘.', 'menu', 'More changes']];

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
  for (const [name, others, mac, call, label] of TOOLS) {
    $('tools').append(el('button', { title: [label ?? name, IS_MAC ? mac : others].join(' · '), 'aria-label': label, onclick: async (event) => {
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
  if (ctrlKey || metaKey) return { x: 'move', e: 'rename', backspace: 'remove', enter: 'add', '.': 'menu' }[key.toLowerCase()];
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

// ---- Find, whose code is read when somebody looks for something ----

let finding = null;
const find = () => (finding ??= import('./find.js').then(({ search }) => search(tree)));

function search() {
  const field = $('find');
  $('search').addEventListener('submit', (event) => event.preventDefault());
  field.placeholder = `Find a name, id or path · ${IS_MAC ? '⌘K' : 'Ctrl+K'}`;
  field.addEventListener('focus', find, { once: true });
  field.addEventListener('input', async () => (await find()).typed());
  field.addEventListener('keydown', async (event) => {
    if (event.isComposing || !['Enter', 'Escape', 'ArrowDown', 'ArrowUp'].includes(event.key)) return;
    event.preventDefault();
    (await find()).key(event.key);
  });
  addEventListener('keydown', (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== 'k' || document.querySelector('dialog[open]')) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
  hear('find below', async (id) => (await find()).below(id));
}

begin();
