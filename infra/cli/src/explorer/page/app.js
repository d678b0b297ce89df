// Begins: reads what the server knows, and joins the parts.
import { $, about, address, bdi, data, el, get, hear, node, Refused, say, showPane, tell, wait } from './base.js';
import { Tree } from './tree.js';
import { open as openNode } from './node.js';
import { begin as beginChanges } from './change.js';
import { begin as beginLive } from './live.js';

let tree;

async function begin() {
  let start;
  try {
    start = await data('start');
  } catch (error) {
    return cannotBegin(error);
  }
  Object.assign(about, start.about);
  where();
  tree = new Tree($('tree'), start.roots);
  beginChanges(tree);
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
    openNode(id);
  });
  addEventListener('popstate', () => go(address.get('node') ?? tree.first(), true));
  hear('lost', lost);
  const wanted = address.get('node');
  if (wanted) await go(wanted, true);
  else if (tree.first()) tree.select(tree.first(), { quiet: true });
  else openNode(null);
}

function cannotBegin(error) {
  const refusal = error instanceof Refused;
  $('lost').hidden = false;
  $('lost').textContent = refusal ? error.message : "The server doesn't answer. The page tries again.";
  if (!refusal) setTimeout(() => location.reload(), 2000);
}

/** Leads to a node, wherever it is. */
async function go(id, quiet = false) {
  if (!id) return;
  try {
    await tree.reveal(id, { quiet });
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
