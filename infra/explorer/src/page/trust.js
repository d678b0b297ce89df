// Check and Break it: the comparison, and what can be done to the handler.
import { about, bdi, cost, count, data, el, get, hear, key, leads, Lost, post, say, tell, visible, wait } from './base.js';
import { lagging, PARTS, said } from './live.js';

/** What the auditor has last said. */
async function auditOf(box) {
  let said;
  try {
    said = await get('/health/audit');
  } catch (error) {
    if (error instanceof Lost) return;
    said = null;
  }
  const at = (time) => (time ? new Date(time).toLocaleString() : 'never');
  box.replaceChildren(el('section', { class: 'card' }, el('h3', {}, 'The auditor'), said === null
    ? el('p', { class: 'question' }, 'No auditor has looked at this table yet. It is a function of the stack; sapwood dev runs it with --audit.')
    : el('div', {}, el('p', {}, said.right_as_of ? `Everything that stood in the table at ${at(said.right_as_of)} has been compared since.` : 'Its first pass over the table goes on.'),
      el('p', { class: 'question' }, `It last ran at ${at(said.last_run_at)}${said.suspects ? `, and has ${count(said.suspects, 'unconfirmed difference')}` : ''}.`))));
}

// ---- The comparison ----

function verdict({ items, wrong, moving, findings, differences, is_whole: isWhole, requests, read_units: read }, repair) {
  const named = differences.slice(0, 40);
  return [el('p', { class: wrong ? 'wrong' : 'right-box' }, wrong ? `${count(wrong, 'difference')} in ${count(items, 'item')}.` : `No difference: ${count(items, 'item')} are as the base records ask.`),
    moving > 0 && el('p', { class: 'question' }, `${count(moving, 'more difference')} changed while it looked: the handler is at work there.`),
    findings > 0 && el('p', { class: 'question' }, `${count(findings, 'finding')} about base records, which only their owner can change.`),
    !isWhole && el('p', { class: 'question' }, 'It was too much for one look: the rest wasn’t compared. sapwood verify compares all.'),
    named.length > 0 && el('ul', { class: 'items' }, named.map((one) => el('li', { class: 'row' }, el('span', { class: one.is_finding ? 'badge plain' : 'badge bad' }, one.kind), key(one.pk, one.sk), 'of ', leads(one.node)))),
    wrong > 0 && repair, el('p', { class: 'question' }, `${cost(requests, read)}.`)].filter(Boolean);
}

export function checkPanel(tree) {
  const result = el('div', { class: 'card', hidden: true, 'aria-live': 'polite' });
  const look = async (id) => {
    result.hidden = false;
    result.replaceChildren(el('p', {}, 'Comparing…'));
    try {
      const found = await data('verify', { id });
      const repair = about.trials && el('button', { type: 'button', class: 'main', onclick: async () => {
        await post('mend', id === undefined ? {} : { id });
        await wait(700);
        look(id);
      } }, 'Repair');
      result.replaceChildren(el('h3', {}, id === undefined ? 'The whole table' : ['From ', bdi(id), ' down']), ...verdict(found, repair));
      say(result.querySelector('p').textContent);
    } catch (error) {
      result.replaceChildren(el('p', { class: 'wrong' }, error.message));
    }
  };
  const audit = el('div', {});
  auditOf(audit);
  return el('div', { class: 'panel' }, el('section', { class: 'card' }, el('h3', {}, 'Compare rows with base records'),
    el('p', { class: 'question' }, 'What sapwood verify does: it reads the base records, works out which rows there have to be, and compares. It writes nothing.'),
    el('div', { class: 'row' }, el('button', { type: 'button', class: 'main', onclick: () => tree.selected !== null && look(tree.selected) }, 'Compare the selected node and all below it'),
      about.live && el('button', { type: 'button', onclick: () => look(undefined) }, 'Compare the whole table'))), result, audit);
}

// ---- What can be done to the handler ----

const TRIALS = [
  ['kill', 'Kill the handler in the middle', 'Its next three invocations die right after a write, like a function that runs out of memory. Lambda delivers the records again.'],
  ['twice', 'Deliver the records twice', 'The next batch is handled, and then delivered again, as Lambda may do at any time.'],
  ['hold-back', 'Hold the stream back for ten seconds', 'Records wait. You see base records that are right, and rows that lag.'],
];

/** How often it happens; to a batch of few writes less often. */
const HAPPENS = { kill: 3, twice: 1, 'hold-back': 1 };

export function trustPanel(tree) {
  const target = el('input', { id: 'trial-target', list: 'trial-nodes', spellcheck: 'false', autocomplete: 'off', placeholder: 'empty: a root' });
  const list = el('datalist', { id: 'trial-nodes' });
  target.addEventListener('focus', () => list.replaceChildren(...tree.entries().slice(0, 300).map((row) => el('option', { value: row.id }, row.label === row.id ? '' : visible(row.label)))));
  const story = el('div', { class: 'card', hidden: true });
  const choice = el('fieldset', {}, el('legend', {}, 'What shall happen meanwhile?'), TRIALS.map(([name, words, more], index) =>
    el('label', { class: 'choice' }, el('input', { type: 'radio', name: 'trial', value: name, checked: index === 0 }), el('span', {}, el('b', {}, words), el('br'), el('span', { class: 'question' }, more)))));
  const button = el('button', { class: 'main', type: 'submit' }, 'Move it, and break that');
  const form = el('form', { class: 'card', onsubmit: async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      await run(tree, form.elements.trial.value, tree.selected, target.value || null, story);
    } catch (error) {
      if (!(error instanceof Lost)) story.append(el('p', { class: 'wrong' }, error.message));
    } finally {
      button.disabled = false;
    }
  } }, el('h3', {}, 'Move a node while something goes wrong'), el('p', { class: 'question' }, 'The selected node is moved: one base record is written. Then the handler is in for trouble, and a scan counts the rows that still lag.'),
  el('div', { class: 'row' }, el('div', { class: 'field wide' }, el('label', { for: 'trial-target' }, 'Move the selected node below'), target, list)), choice, el('div', { class: 'row' }, button));
  const damage = async (deletes) => {
    story.hidden = false;
    try {
      const { damaged } = await post('trial', { trial: 'damage', id: tree.selected, deletes });
      const note = el('p', { class: 'question' }, 'No base record has changed, so no change is under way: the stream will not repair it. A comparison finds it:');
      story.replaceChildren(el('h3', {}, deletes ? 'A row was deleted behind the handler’s back' : 'A row was changed behind the handler’s back'), key(damaged.pk, damaged.sk), note);
      const box = el('div', { 'aria-live': 'polite' });
      story.append(box);
      const look = async () => {
        const found = await data('verify', { id: tree.selected });
        box.replaceChildren(...verdict(found, el('button', { type: 'button', class: 'main', onclick: async () => {
          await post('mend', { id: tree.selected });
          note.textContent = 'The comparison writes the row again, by the handler’s own rules. It compares once more:';
          for (let tries = 0; tries < 20 && (await look()) > 0; tries += 1) await wait(300);
        } }, 'Repair')));
        return found.wrong;
      };
      await look();
      tell('again');
    } catch (error) {
      story.replaceChildren(el('p', { class: 'wrong' }, error.message));
    }
  };
  return el('div', { class: 'panel' }, el('p', { class: 'note' }, 'This table is your own, not a deployed one.'), form,
    el('section', { class: 'card' }, el('h3', {}, 'Damage a row of the selected node'), el('div', { class: 'row' }, el('button', { type: 'button', onclick: () => damage(true) }, 'Delete a row'), el('button', { type: 'button', onclick: () => damage(false) }, 'Change a row'))), story);
}

/** What will happen to the items that lag in each trial. */
const WILL = {
  kill: 'Lambda delivers the records again until the handler has written all of it.', twice: 'The handler writes it once, and finds nothing left to do the second time.',
  'hold-back': 'The records come to the handler when the ten seconds are over, and it writes all of it then.',
};

/** What lags; in a table too large to be scanned each time, what the comparison finds at the node alone. */
async function lagOf(id) {
  const found = await lagging();
  if (found) return found;
  const { wrong, moving } = await data('verify', { id });
  return { all: wrong + moving };
}

function column(found, most, at) {
  const part = (name) => {
    const made = el('i', { class: `lag-${name}` });
    made.style.flexGrow = found[name];
    return made;
  };
  const made = el('span', { class: found.all ? undefined : 'none', title: `${at}: ${said(found)}` }, found.all && found.put !== undefined ? PARTS.map(([name]) => part(name)) : []);
  made.dataset.all = found.all;
  made.style.height = `${most ? Math.max(4, (100 * found.all) / most) : 4}%`;
  return made;
}

let toldOfTrial = null;

/** Runs a trial: arms it, moves the node, and counts the rows that lag until none does. */
async function run(tree, trial, id, parent, story) {
  if (id === null) return;
  story.hidden = false;
  const steps = el('ol', { class: 'steps', 'aria-live': 'polite' });
  const chart = el('div', { class: 'chart', role: 'img', 'aria-label': 'Items that lag, over time' });
  const [top, end] = [el('span', {}), el('span', {})];
  const legend = el('span', { class: 'legend' }, PARTS.map(([name, words]) => el('span', {}, el('i', { class: `lag-${name}` }), words)));
  const axis = el('div', { class: 'axis', 'aria-hidden': 'true' }, el('span', {}, '0 s'), legend, end);
  const now = el('p', {});
  story.replaceChildren(el('h3', {}, TRIALS.find(([name]) => name === trial)[1]), steps, now, el('div', { class: 'axis', 'aria-hidden': 'true' }, top), chart, axis);
  const step = (...words) => steps.append(el('li', {}, words));
  const name = (node) => bdi(tree.row(node)?.label ?? node);
  story.scrollIntoView({ block: 'nearest' });
  let quiet = 0;
  let happened = 0;
  if (!toldOfTrial) hear('event', (one) => toldOfTrial(one));
  toldOfTrial = (one) => {
    if (!steps.isConnected) return;
    if (one.type === 'killed' || one.type === 'held' || one.again) happened += 1;
    if (one.type === 'killed') step(`The handler died after ${count(one.writes, 'write')}.`);
    if (one.type === 'held') step(`${count(one.count, 'record')} held back for ${Math.ceil(one.milliseconds / 1000)} s.`);
    if (one.type === 'handled' && one.again) step(`The same records were delivered again: ${one.rows_put + one.rows_deleted ? `${one.rows_put + one.rows_deleted} rows written once more, as they were` : 'nothing was left to do'}.`);
    if (one.type !== 'read') quiet = 0;
  };
  const changes = await import('./change.js');
  changes.begin(tree);
  await post('trial', { trial });
  if (!(await changes.moveTo(id, parent))) {
    step('The move was refused: nothing has changed. Choose another node to move it below.');
    return;
  }
  step('The base record of ', name(id), ' is written: its parent is ', parent === null ? 'none' : name(parent), '. That is right at once.');
  const begun = performance.now();
  let most = 0;
  for (let looks = 0; looks < 120; looks += 1) {
    const found = await lagOf(id);
    if (!steps.isConnected) return;
    const at = `${((performance.now() - begun) / 1000).toFixed(1)} s`;
    if (found.all > most) {
      for (const one of chart.children) one.style.height = `${Math.max(4, (100 * one.dataset.all) / found.all)}%`;
      most = found.all;
      top.textContent = `at most ${count(most, 'item lags', 'items lag')}`;
    }
    chart.append(column(found, most, at));
    end.textContent = at;
    chart.setAttribute('aria-label', `Items that lag, over time: at most ${most}, now ${found.all}`);
    if (chart.childElementCount === 1) story.scrollIntoView({ block: 'nearest' });
    now.textContent = found.all ? `${said(found)} ${WILL[trial]}` : said(found);
    quiet = found.all ? 0 : quiet + 1;
    // A batch that was killed is tried again after a pause, and one that was handled may be delivered again.
    if (quiet >= (happened >= HAPPENS[trial] ? 6 : 40)) break;
    await wait(250);
  }
  const all = await data('verify');
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  step(`After ${seconds} s the whole table was compared with its base records.`);
  story.append(...verdict(all));
  say(story.querySelector('.right-box, .wrong').textContent);
}
