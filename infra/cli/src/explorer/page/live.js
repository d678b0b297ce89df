// The right side: what the stream handler does, questions, the comparison, and what can be done to the handler.
import { $, about, address, bdi, cost, count, data, el, get, hear, heardOf, key, leads, Lost, node as path, post, say, tell, units, visible, wait } from './base.js';
import { last } from './node.js';

/** Most stories that are kept, and most rows that one names. */
const STORIES_MAX = 60;
const ROWS_MAX = 12;
/** Most changes below nodes that are kept. */
const CHANGES_MAX = 2000;

let tree;
let panels;

export function begin(of) {
  tree = of;
  panels = [
    about.live ? ['live', 'Live', livePanel] : ['state', 'State', statePanel],
    about.live && ['watch', 'Watch', watchPanel], ['ask', 'Ask', askPanel], ['check', 'Check', checkPanel], about.trials && ['trust', 'Break it', trustPanel],
  ].filter(Boolean);
  const tabs = $('tabs');
  for (const [name, words] of panels) {
    tabs.append(el('button', { type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': `panel-${name}`, onclick: () => show(name) }, words));
    $('tab-panels').append(el('div', { role: 'tabpanel', id: `panel-${name}`, 'aria-labelledby': `tab-${name}`, hidden: true }));
  }
  tabs.addEventListener('keydown', (event) => {
    const all = [...tabs.children];
    const at = all.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1 + all.length, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    all[to % all.length].focus();
    all[to % all.length].click();
  });
  const wanted = address.get('view');
  show(panels.some(([name]) => name === wanted) ? wanted : panels[0][0]);
  if (about.live) listen();
}

function watchPanel() {
  const box = el('div', {});
  import('./watch.js').then(({ panel }) => box.append(panel(changes, tree)));
  return box;
}

/** Questions are read when somebody has one. */
function askPanel() {
  const box = el('div', {});
  import('./ask.js').then(({ panel }) => box.append(panel()));
  return box;
}

function show(name) {
  for (const [one, , make] of panels) {
    const is = one === name;
    const tab = $(`tab-${one}`);
    const box = $(`panel-${one}`);
    tab.setAttribute('aria-selected', String(is));
    tab.tabIndex = is ? 0 : -1;
    box.hidden = !is;
    // A panel is made when it is first looked at.
    if (is && !box.firstChild) box.append(make());
  }
  address.set({ view: name === panels[0][0] ? null : name });
}

// ---- The stream of events ----

/** What became of nodes below others, the newest last: what watchers of those are told. */
const changes = [];

function listen() {
  let source = null;
  let hadError = false;
  const open = () => {
    source?.close();
    source = new EventSource('/explorer/data/live');
    source.addEventListener('begin', () => {
      if (hadError) tell('back');
      hadError = false;
    });
    source.addEventListener('cut', () => {
      // The page was too slow. What it missed it reads anew.
      tell('back');
    });
    source.addEventListener('error', () => {
      hadError = true;
      tell('lost');
    });
    source.addEventListener('message', (event) => heard(JSON.parse(event.data)));
  };
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) {
      source?.close();
      source = null;
    } else if (!source) {
      open();
      tell('back');
    }
  });
  if (!document.hidden) open();
}

const ROOT_ROWS = ['ROOT#', 'ORDERED#'];
/** Rows of depth 1 are a level, and those of depth 2 tell which nodes of it have children. */
const isChildRow = (sk) => sk.startsWith(`${about.keys.node}#0001#`) || sk.startsWith(`${about.keys.node}#0002#`) || sk.startsWith('CHILD#');

/** What an event means for the tree and for the node that is shown. */
function heard(event) {
  heardOf(event);
  tell('event', event);
  const [levels, nodes, totals] = [new Set(), new Set(), new Set()];
  let isWatched = false;
  for (const one of event.records ?? []) {
    if (one.is_total) totals.add(one.in);
    if (one.below) {
      changes.push({ ...one.below, of: one.in, at: new Date() });
      isWatched = true;
    }
    if (one.node !== null) nodes.add(one.node);
    if (one.goes_on || one.sk === 'LINEAGE') nodes.add(one.in);
    if (isChildRow(one.sk)) levels.add(one.in);
    if (ROOT_ROWS.some((beginning) => one.sk.startsWith(beginning))) levels.add(null);
    if (one.sk.startsWith('TRASH#')) tell('trashed');
  }
  if (event.count > (event.records?.length ?? 0)) for (const level of tree.levels.keys()) levels.add(level);
  if (levels.size || nodes.size || totals.size) tell('seen', { levels: [...levels], nodes: [...nodes], totals: [...totals] });
  if (changes.length > CHANGES_MAX) changes.splice(0, changes.length - CHANGES_MAX);
  if (isWatched) tell('watched');
}

// ---- Live ----

/** What the handler makes of a record, by its sort key. */
function plan(sk) {
  if (sk === about.keys.node) return 'put its rows where its record wants them';
  if (sk === 'LINEAGE') return 'hand its place down to its children';
  if (sk === 'CASCADE') return 'go on with its other children';
  return 'copy the newest revision of its topic';
}

function livePanel() {
  const figures = { records: 0, batches: 0, put: 0, deleted: 0, units: 0, lag: null };
  const shown = Object.fromEntries(Object.keys(figures).map((name) => [name, el('dd', {}, name === 'lag' ? '–' : '0')]));
  const names = { records: 'base records', batches: 'batches', put: 'rows put', deleted: 'rows deleted', units: 'write units', lag: 'last lag' };
  const head = el('dl', { class: 'figures' }, Object.keys(figures).map((name) => el('div', {}, el('dt', {}, names[name]), shown[name])));
  const list = el('ol', { class: 'stories', 'aria-label': 'What the stream handler has done, the newest first' });
  const hint = el('div', { class: 'card' }, el('h3', {}, 'Change something, and watch'), el('p', {}, 'You write one base record. The table’s stream carries it to the stream handler, which plans, and writes the rows.'),
    about.writes && el('p', { class: 'question' }, 'Drag a folder onto another, rename one, or write with any client: what happens appears here.'));
  const clear = el('button', { type: 'button', onclick: () => {
    list.replaceChildren();
    stories.length = 0;
    for (const name of Object.keys(figures)) figures[name] = name === 'lag' ? null : 0;
    draw();
  } }, 'Clear');
  const stories = [];
  const readAt = new Map();
  const draw = () => {
    for (const [name, value] of Object.entries(figures)) shown[name].textContent = name === 'lag' ? (value === null ? '–' : `${value} ms`) : name === 'units' ? units(value) : value.toLocaleString('en');
  };
  const name = ([pk, sk]) => `${pk}\u0000${sk}`;
  const story = (event) => {
    const made = { nodes: new Set(), items: new Set(event.items.map(name)), rows: [], count: 0, element: el('li', { class: 'story' }) };
    for (const [pk] of event.items) made.nodes.add(pk);
    const first = event.items.slice(0, 3);
    const others = event.count - first.length;
    made.element.append(el('span', { class: 'step' }, event.count === 1 ? 'record' : 'records'), el('div', {}, first.map(([pk, sk]) => el('div', {}, key(pk, sk))), others > 0 && el('div', { class: 'soft' }, `and ${others} more`)));
    const plans = [...new Set(event.items.map(([, sk]) => plan(sk)))];
    made.element.append(el('span', { class: 'step' }, 'plan'), el('div', {}, plans.join('; ')));
    made.result = el('div', {}, el('span', { class: 'soft' }, 'at work…'));
    made.element.append(el('span', { class: 'step' }, 'rows'), made.result);
    stories.unshift(made);
    list.prepend(made.element);
    hint.hidden = true;
    while (stories.length > STORIES_MAX) stories.pop().element.remove();
    return made;
  };
  const of = (event) => stories.find((one) => !one.isDone && event.items.every((item) => one.items.has(name(item)))) ?? story(event);
  hear('event', (event) => {
    if (event.type === 'read') {
      for (const one of event.records) {
        if (one.goes_on) {
          figures.records += one.sk === about.keys.node || /^v/.test(one.sk) ? 1 : 0;
          readAt.set(name([one.pk, one.sk]), event.at);
        } else if (one.node !== null || one.sk.startsWith('v0_')) row(one);
      }
      if (readAt.size > 5000) readAt.clear();
    } else if (event.type === 'begun') of(event);
    else if (event.type === 'held') {
      const told = of(event);
      told.element.classList.add('held');
      told.result.replaceChildren(el('span', { class: 'badge' }, `held back for ${Math.ceil(event.milliseconds / 1000)} s`));
    } else if (event.type === 'killed') {
      const told = of(event);
      told.isDone = true;
      told.element.classList.add('killed');
      told.result.replaceChildren(el('span', { class: 'badge bad' }, `killed after ${count(event.writes, 'write')}`), ' It gets the records again.');
    } else if (event.type === 'handled') {
      const told = of(event);
      told.isDone = true;
      const since = event.items.map((item) => readAt.get(name(item))).filter((at) => at !== undefined);
      if (since.length) figures.lag = event.at - Math.min(...since);
      figures.batches += 1;
      figures.put += event.rows_put;
      figures.deleted += event.rows_deleted;
      figures.units += event.write_units;
      const did = [event.rows_put && count(event.rows_put, 'row put', 'rows put'), event.rows_deleted && count(event.rows_deleted, 'row deleted', 'rows deleted'),
        event.touches && count(event.touches, 'child touched', 'children touched'), event.copies && count(event.copies, 'copy written', 'copies written'),
        event.child_actions && count(event.child_actions, 'child changed', 'children changed'), event.nodes_deleted && count(event.nodes_deleted, 'node deleted', 'nodes deleted'),
        event.nodes_copied && count(event.nodes_copied, 'node copied', 'nodes copied'), event.failed && `${count(event.failed, 'record')} to be handled again`].filter(Boolean);
      told.result.replaceChildren(el('b', {}, did.length ? did.join(', ') : 'nothing left to do: all is as it should be'), event.again ? el('span', { class: 'badge' }, 'delivered again') : '',
        el('span', { class: 'soft' }, ` ${units(event.write_units)} units, ${event.milliseconds} ms${since.length ? `, ${figures.lag} ms after the record was read` : ''}`),
        ...event.problems.map((one) => el('div', { class: 'wrong' }, key(one.pk, one.sk), ` ${visible(one.reason)}`)));
      told.result.append(...told.rows);
    }
    draw();
  });
  const row = (one) => {
    const id = one.node ?? one.in;
    const told = stories.find((story) => story.nodes.has(id)) ?? stories.find((story) => story.nodes.has(one.in));
    if (!told) return;
    told.count += 1;
    if (told.count > ROWS_MAX + 1) {
      told.rows.at(-1).textContent = `and ${told.count - ROWS_MAX} more`;
      return;
    }
    const gone = one.what === 'REMOVE';
    const line = told.count > ROWS_MAX ? el('div', { class: 'soft' }, 'and 1 more') : el('div', { class: gone ? 'del' : 'put' }, gone ? '− ' : '+ ', key(one.pk, one.sk));
    told.rows.push(line);
    if (told.isDone) told.result.append(line);
  };
  return el('div', { class: 'panel' }, head, el('div', { class: 'row' }, clear), hint, list);
}

// ---- The state of a node of a deployed table ----

function statePanel() {
  const box = el('div', { 'aria-live': 'polite' });
  const draw = (found) => {
    const behind = found.items.filter((item) => item.wrong).length;
    box.replaceChildren(el('section', { class: 'card' }, el('h3', {}, 'The stream handler and ', bdi(found.label)),
      el('p', { class: behind ? 'wrong' : 'right-box' }, behind ? `${count(behind, 'item')} still to follow the base record.` : 'Its rows are as its record asks.'),
      el('p', { class: 'question' }, `It was looked at just now (${new Date().toLocaleTimeString()}).`)));
  };
  hear('shown', draw);
  hear('wrote', () => tell('again'));
  if (last) draw(last);
  return el('div', { class: 'panel' }, box);
}

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
      el('p', { class: 'question' }, `It last ran at ${at(said.last_run_at)}${said.suspects ? `, and has ${count(said.suspects, 'suspect')}` : ''}.`))));
}

// ---- The comparison ----

function verdict({ items, wrong, moving, findings, differences, is_whole: isWhole, requests, read_units: read }, mend) {
  const named = differences.slice(0, 40);
  return [el('p', { class: wrong ? 'wrong' : 'right-box' }, wrong ? `${count(wrong, 'difference')} in ${count(items, 'item')}.` : `No difference: ${count(items, 'item')} are as the base records ask.`),
    moving > 0 && el('p', { class: 'question' }, `${count(moving, 'more difference')} changed while it looked: the handler is at work there.`),
    findings > 0 && el('p', { class: 'question' }, `${count(findings, 'finding')} about base records, which only their owner can mend.`),
    !isWhole && el('p', { class: 'question' }, 'It was too much for one look: the rest wasn’t compared. sapwood verify compares all.'),
    named.length > 0 && el('ul', { class: 'items' }, named.map((one) => el('li', { class: 'row' }, el('span', { class: one.is_finding ? 'badge plain' : 'badge bad' }, one.kind), key(one.pk, one.sk), 'of ', leads(one.node)))),
    wrong > 0 && mend, el('p', { class: 'question' }, `${cost(requests, read)}.`)].filter(Boolean);
}

function checkPanel() {
  const result = el('div', { class: 'card', hidden: true, 'aria-live': 'polite' });
  const look = async (id) => {
    result.hidden = false;
    result.replaceChildren(el('p', {}, 'Comparing…'));
    try {
      const found = await data('verify', { id });
      const mend = about.trials && el('button', { type: 'button', class: 'main', onclick: async () => {
        await post('mend', id === undefined ? {} : { id });
        await wait(700);
        look(id);
      } }, 'Have it mended');
      result.replaceChildren(el('h3', {}, id === undefined ? 'The whole table' : ['From ', bdi(id), ' down']), ...verdict(found, mend));
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

function trustPanel() {
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
      await run(form.elements.trial.value, tree.selected, target.value || null, story);
    } catch (error) {
      if (!(error instanceof Lost)) story.append(el('p', { class: 'wrong' }, error.message));
    } finally {
      button.disabled = false;
    }
  } }, el('h3', {}, 'Move a node while something goes wrong'), el('p', { class: 'question' }, 'The selected node is moved: one base record is written. Then the handler is in for trouble, and a comparison counts which rows still lag.'),
  el('div', { class: 'row' }, el('div', { class: 'field wide' }, el('label', { for: 'trial-target' }, 'Move the selected node below'), target, list)), choice, el('div', { class: 'row' }, button));
  const damage = async (deletes) => {
    story.hidden = false;
    try {
      const { damaged } = await post('trial', { trial: 'damage', id: tree.selected, deletes });
      const note = el('p', { class: 'question' }, 'No base record has changed, so nothing tells the handler. A comparison finds it:');
      story.replaceChildren(el('h3', {}, deletes ? 'A row was deleted behind the handler’s back' : 'A row was changed behind the handler’s back'), key(damaged.pk, damaged.sk), note);
      const box = el('div', { 'aria-live': 'polite' });
      story.append(box);
      const look = async () => {
        const found = await data('verify', { id: tree.selected });
        box.replaceChildren(...verdict(found, el('button', { type: 'button', class: 'main', onclick: async () => {
          await post('mend', { id: tree.selected });
          note.textContent = 'The comparison has the row written anew, by the rules that the handler goes by. It compares once more:';
          for (let tries = 0; tries < 20 && (await look()) > 0; tries += 1) await wait(300);
        } }, 'Have it mended')));
        return found.wrong;
      };
      await look();
      tell('again');
    } catch (error) {
      story.replaceChildren(el('p', { class: 'wrong' }, error.message));
    }
  };
  return el('div', { class: 'panel' }, el('p', { class: 'note' }, 'Only sapwood dev can do this: it is your own copy of the table, on this machine.'), form,
    el('section', { class: 'card' }, el('h3', {}, 'Damage a row of the selected node'), el('div', { class: 'row' }, el('button', { type: 'button', onclick: () => damage(true) }, 'Delete a row'), el('button', { type: 'button', onclick: () => damage(false) }, 'Change a row'))), story);
}

/** What will happen to the items that lag in each trial. */
const WILL = {
  kill: 'Lambda delivers the records again until the handler has written all of it.', twice: 'The handler writes it once, and finds nothing left to do the second time.',
  'hold-back': 'The records come to the handler when the ten seconds are over, and it writes all of it then.',
};

/** Counts the items that lag: what a scan of the table finds to be otherwise than the base records ask. */
async function lagging(id) {
  const { lag } = await data('lag');
  if (lag) return { ...lag, all: lag.put + lag.delete + lag.change };
  // The table is too large to be scanned each time: the comparison sees the node alone.
  const { wrong, moving } = await data('verify', { id });
  return { all: wrong + moving };
}

/** How high each part of what lags is, and what it says. */
const PARTS = [['put', 'to put'], ['delete', 'to delete'], ['change', 'to change']];

function bar(found, most) {
  const part = (name) => {
    const made = el('i', { class: `lag-${name}` });
    made.style.flexGrow = found[name];
    return made;
  };
  const made = el('span', { class: found.all ? undefined : 'none', title: said(found) }, found.all && found.put !== undefined ? PARTS.map(([name]) => part(name)) : []);
  made.dataset.all = found.all;
  made.style.height = `${most ? Math.max(4, (100 * found.all) / most) : 4}%`;
  return made;
}

function said(found) {
  if (!found.all) return 'Nothing lags: all rows are as the base records ask.';
  const parts = PARTS.filter(([name]) => found[name]).map(([name, words]) => `${found[name].toLocaleString('en')} ${words}`);
  return `${count(found.all, 'item lags', 'items lag')}${parts.length ? `: ${parts.join(', ')}` : ''}.`;
}

let toldOfTrial = null;

/** Runs a trial: arms it, moves the node, and counts the rows that lag until none does. */
async function run(trial, id, parent, story) {
  if (id === null) return;
  story.hidden = false;
  const steps = el('ol', { class: 'steps', 'aria-live': 'polite' });
  const chart = el('div', { class: 'chart', role: 'img', 'aria-label': 'Rows that lag, over time' });
  const now = el('p', {});
  story.replaceChildren(el('h3', {}, TRIALS.find(([name]) => name === trial)[1]), steps, now, chart);
  const step = (words) => steps.append(el('li', {}, words));
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
  step(`The base record of ${visible(id)} is written: its parent is ${parent === null ? 'none' : visible(parent)}. That is right at once.`);
  const begun = performance.now();
  let most = 0;
  for (let looks = 0; looks < 120; looks += 1) {
    const found = await lagging(id);
    if (!steps.isConnected) return;
    if (found.all > most) {
      for (const one of chart.children) one.style.height = `${Math.max(4, (100 * one.dataset.all) / found.all)}%`;
      most = found.all;
    }
    chart.append(bar(found, most));
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
