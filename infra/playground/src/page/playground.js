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

/** What one way has come to. */
function told(name, words, { right, wrong, lists }, wanted) {
  const lines = Object.keys(wanted).filter((id) => wanted[id].length || lists?.[id]?.length).map((id) => {
    const found = lists?.[id] ?? [];
    const isWrong = lists && String(found) !== String(wanted[id]);
    return el('li', { class: isWrong ? 'wrong' : undefined }, 'below ', bdi(id), ': ', found.length ? bdi(found.join(', ')) : 'nothing', isWrong && [', but the records say ', bdi(wanted[id].join(', ') || 'nothing')]);
  });
  return el('section', { class: `card ${wrong ? '' : 'derived'}`, 'data-way': name, 'data-right': right, 'data-wrong': wrong }, el('h4', {}, words),
    el('p', {}, el('span', { class: 'badge right' }, `${right} right`), ' ', el('span', { class: `badge ${wrong ? 'bad' : 'plain'}` }, `${wrong} wrong`)),
    lists && el('p', { class: 'question' }, wrong ? 'What it lists after a race that went wrong:' : 'What it lists after the last race:'), el('ul', {}, lines));
}

function race() {
  const results = el('div', { 'aria-live': 'polite' });
  const button = el('button', { class: 'main', onclick: async () => {
    button.disabled = true;
    const sums = Object.fromEntries(WAYS.map(([name]) => [name, { right: 0, wrong: 0, lists: null }]));
    const seed = Math.floor(Math.random() * 1e9);
    try {
      for (let run = 0; run < RUNS; run += RUNS_AT_ONCE) {
        const found = await get(`/playground/race?seed=${seed + run}&runs=${RUNS_AT_ONCE}`);
        for (const [name, sum] of Object.entries(sums)) {
          const { right, wrong, last, last_wrong: lastWrong } = found[name];
          sum.right += right;
          if (lastWrong || !sum.wrong) sum.lists = lastWrong ?? last;
          sum.wrong += wrong;
        }
        results.replaceChildren(...WAYS.map(([name, words]) => told(name, words, sums[name], found.wanted)));
      }
      say(`${sums.sapwood.right} of ${RUNS} races are right with Sapwood, ${sums.blog.right} with the blog's code.`);
    } finally {
      button.disabled = false;
    }
  } }, `Move both at the same moment, ${RUNS} times`);
  return el('section', { class: 'card' }, el('h3', {}, 'Two clients at once'),
    el('p', { class: 'question' }, 'drive has team and archive; team has plans, and plans has 2026. Each race begins there. Whose request comes next is drawn anew each time, and the handler’s requests come between.'),
    el('div', { class: 'row' }, CLIENTS.map(([who, id, to]) => el('section', { class: 'card', 'aria-label': who }, el('h4', {}, who), el('p', {}, 'moves ', bdi(id), ' → ', bdi(to))))),
    el('div', { class: 'row' }, button), results,
    el('p', { class: 'question' }, 'Each list is compared with the records. On servers, with 13 folders, the same code was right 106 times of 200.'));
}

/** A link with the base records, if they are few enough. */
async function link() {
  const records = JSON.stringify(await get('/playground/records'));
  const packed = new Uint8Array(await new Response(new Blob([records]).stream().pipeThrough(new CompressionStream('deflate-raw'))).arrayBuffer());
  const text = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join('')).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  return { href: `${location.href.replace(/[?#].*$/, '')}#tree=${text}`, length: text.length };
}

function share() {
  const found = el('div', { 'aria-live': 'polite' });
  const button = el('button', { onclick: async () => {
    const { href, length } = await link();
    if (length > LINK_MAX) {
      found.replaceChildren(el('p', { class: 'wrong' }, `This tree is too large for a link: ${count(length, 'character')}, of ${LINK_MAX} at most. Delete nodes first.`));
      return;
    }
    const field = el('input', { readonly: true, value: href, 'aria-label': 'The link' });
    found.replaceChildren(el('div', { class: 'row' }, el('div', { class: 'field wide' }, field)), el('p', { class: 'question' }, `${count(length, 'character')}. Whoever opens it has your records, and the handler writes their rows.`));
    field.select();
    navigator.clipboard?.writeText(href).then(() => say('The link is copied.'), () => {});
  } }, 'Make a link to this tree');
  return el('section', { class: 'card' }, el('h3', {}, 'Share this tree'), el('p', { class: 'question' }, 'The link has the base records themselves: a question, or a report, that shows what it is about.'), el('div', { class: 'row' }, button), found);
}

const examples = () => el('section', { class: 'card' }, el('h3', {}, 'Another tree'), el('p', { class: 'question' }, 'This table goes, and another one begins.'),
  el('div', { class: 'row' }, EXAMPLES.map(([name, words]) => el('button', { onclick: () => {
    location.hash = `example=${name}`;
  } }, words))));

export function panel() {
  return el('div', { class: 'panel' }, el('p', { class: 'note' }, 'This page is all there is: the table, its stream and the stream handler run in it, and nothing is sent anywhere.'), race(), examples(), share());
}
