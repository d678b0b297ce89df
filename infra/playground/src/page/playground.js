// What the playground has besides the explorer: two clients at once, other trees, and a link to this one.
import { bdi, count, el, get, say } from './base.js';

/** How often two moves are made, and how often in one call. */
const RUNS = 200;
const RUNS_AT_ONCE = 10;

/** The most characters of a link's fragment. */
const LINK_MAX = 8192;

const EXAMPLES = [['folders', 'Folders'], ['locations', 'Locations'], ['orders', 'Orders'], ['audits', 'Audits']];

const WAYS = [['sapwood', 'Sapwood: the handler in this page'], ['blog', 'Code that rewrites copies, as a blog has it']];

const CLIENTS = [['Ann', 'plans', 'archive'], ['Bob', '2026', 'team']];

const card = (title, note, ...below) => el('section', { class: 'card' }, el('h3', {}, title), el('p', { class: 'question' }, note), below);

/** What one way has come to. */
function told(name, words, { right, wrong, lists }, wanted) {
  const lines = Object.keys(wanted).filter((id) => wanted[id].length || lists[id].length).map((id) => {
    const isWrong = String(lists[id]) !== String(wanted[id]);
    return el('li', { class: isWrong && 'wrong' }, 'below ', bdi(id), ': ', bdi(lists[id].join(', ') || 'nothing'), isWrong && [', but the records say ', bdi(wanted[id].join(', ') || 'nothing')]);
  });
  return el('section', { class: `card ${wrong ? '' : 'derived'}`, 'data-way': name, 'data-right': right, 'data-wrong': wrong }, el('h4', {}, words),
    el('p', {}, el('span', { class: 'badge right' }, `${right} right`), ' ', el('span', { class: `badge ${wrong ? 'bad' : 'plain'}` }, `${wrong} wrong`)),
    el('p', { class: 'question' }, wrong ? 'What it lists after a race that went wrong:' : 'What it lists after the last race:'), el('ul', { class: 'items' }, lines));
}

async function run(results) {
  const sums = Object.fromEntries(WAYS.map(([name]) => [name, { right: 0, wrong: 0 }]));
  const seed = Math.floor(Math.random() * 1e9);
  for (let run = 0; run < RUNS; run += RUNS_AT_ONCE) {
    const found = await get(`/playground/race?seed=${seed + run}&runs=${RUNS_AT_ONCE}`);
    for (const [name, sum] of Object.entries(sums)) {
      const { right, wrong, lists } = found[name];
      sum.right += right;
      if (wrong || !sum.wrong) sum.lists = lists;
      sum.wrong += wrong;
    }
    results.replaceChildren(...WAYS.map(([name, words]) => told(name, words, sums[name], found.wanted)));
  }
  say(`${sums.sapwood.right} of ${RUNS} races are right with Sapwood, ${sums.blog.right} with the blog's code.`);
}

function race() {
  const results = el('div', { 'aria-live': 'polite' });
  const button = el('button', { class: 'main', onclick: () => {
    button.disabled = true;
    run(results).finally(() => { button.disabled = false; });
  } }, `Move both at the same moment, ${RUNS} times`);
  return card('Two clients at once', 'drive has team and archive; team has plans, and plans has 2026. Each race begins there. Whose request comes next is drawn anew each time, and the handler’s requests come between.',
    el('div', { class: 'row' }, CLIENTS.map(([who, id, to]) => el('section', { class: 'card', 'aria-label': who }, el('h4', {}, who), el('p', {}, 'moves ', bdi(id), ' → ', bdi(to))))),
    el('div', { class: 'row' }, button), results,
    el('p', { class: 'question' }, 'Each list is compared with the records. On servers, with 13 folders, the same code was right 106 times of 200.'));
}

/** Makes a link with the base records, if they are few enough. */
async function link(found) {
  const records = new Blob([JSON.stringify(await get('/playground/records'))]);
  const packed = await new Response(records.stream().pipeThrough(new CompressionStream('deflate-raw'))).arrayBuffer();
  const text = btoa(Array.from(new Uint8Array(packed), (byte) => String.fromCharCode(byte)).join('')).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  if (text.length > LINK_MAX) {
    found.replaceChildren(el('p', { class: 'wrong' }, `This tree is too large for a link: ${count(text.length, 'character')}, of ${LINK_MAX} at most. Delete nodes first.`));
    return;
  }
  const field = el('input', { readonly: true, value: `${location.href.replace(/[?#].*$/, '')}#tree=${text}`, 'aria-label': 'The link' });
  found.replaceChildren(el('div', { class: 'row' }, el('div', { class: 'field wide' }, field)), el('p', { class: 'question' }, `${count(text.length, 'character')}. Whoever opens it has your records, and the handler writes their rows.`));
  field.select();
  navigator.clipboard?.writeText(field.value).then(() => say('The link is copied.'), () => {});
}

/** Begins anew with an example: the page is loaded again. */
function open(name) {
  const to = `${location.pathname}#example=${name}`;
  if (to === location.pathname + location.search + location.hash) location.reload();
  else location.assign(to);
}

export function panel() {
  const found = el('div', { 'aria-live': 'polite' });
  const examples = EXAMPLES.map(([name, words]) => el('button', { onclick: () => open(name) }, words));
  return el('div', { class: 'panel' }, el('p', { class: 'note' }, 'This page is all there is: the table, its stream and the stream handler run in it, and nothing is sent anywhere. Loading it again begins anew.'), race(),
    card('Another tree', 'This table goes, and another one begins.', el('div', { class: 'row' }, examples)),
    card('Share this tree', 'The link has the base records themselves: a question, or a report, that shows what it is about.', el('div', { class: 'row' }, el('button', { onclick: () => link(found) }, 'Make a link to this tree')), found));
}
