// Ask: a question, the one request that answers it, the answer, and the same as code.
import { about, address, bdi, card, cost, count, data, el, get, hear, Lost, node as path, say, shown, values, visible } from './base.js';
import { LANGUAGES } from './code.js';

/** The questions: what each is called, and what it takes besides a node. */
const QUESTIONS = [
  ['below', 'What is below it?', ['from', 'to']], ['children', 'Which children has it, in their order?', ['descending']], ['path', 'What is at this path below it?', ['path']],
  ['ancestors', 'What is above it?', []], ['record', 'What does its base record say?', []],
  ['newest', 'What is the newest revision of a topic?', ['topic']], ['latest', 'What is the newest of each topic?', []], ['history', 'What is its history?', ['descending']],
  ['links', 'Who names it?', ['attribute']], ['roots', 'Which trees are there?', []], ['trash', 'What is in the trash?', ['descending']],
];
const WITHOUT_NODE = ['roots', 'trash'];
const FIELDS = {
  from: ['from level', { type: 'number', min: 0, max: 98, value: 1 }], to: ['to level', { type: 'number', min: 0, max: 98, value: 2 }],
  path: ['path, its segments with / between', { placeholder: 'V/d' }], topic: ['topic', { value: 'Audit' }], attribute: ['attribute', {}],
};

/** The attributes of items: the user's own first, and of these those that most items have. */
function columns(items) {
  const counts = new Map();
  for (const { item } of items) for (const name of Object.keys(item)) if (name !== about.keys.pk && name !== about.keys.sk) counts.set(name, (counts.get(name) ?? 0) + 1);
  const isOurs = (name) => name.startsWith('_');
  return [...counts.keys()].sort((a, b) => isOurs(a) - isOurs(b) || counts.get(b) - counts.get(a) || (a < b ? -1 : 1));
}

/** The items as lines of CSV (RFC 4180). What isn't a text is JSON. */
function csv(head, items, names) {
  const text = (value) => (value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value));
  const cell = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const line = (cells) => cells.map((value) => cell(text(value))).join(',');
  return [line(head), ...items.map(({ pk, sk, item, bytes }) => line([pk, sk, ...names.map((name) => item[name]), bytes]))].join('\r\n') + '\r\n';
}

/** The items as a table. A row unfolds into all attributes of its item. */
function table(head, rows, items) {
  const isNumber = (index) => index === head.length - 1;
  const body = rows.map((cells, at) => {
    const twist = el('button', { type: 'button', class: 'twist', 'aria-expanded': 'false', 'aria-label': `All of ${visible(items[at].sk)}`, onclick: () => {
      const open = twist.getAttribute('aria-expanded') === 'false';
      twist.setAttribute('aria-expanded', String(open));
      twist.textContent = open ? '▾' : '▸';
      if (open) row.after(el('tr', { class: 'whole' }, el('td', { colspan: head.length }, values(items[at].item))));
      else row.nextElementSibling.remove();
    } }, '▸');
    const row = el('tr', {}, cells.map((cell, index) => (index === 0 ? el('th', { scope: 'row', title: cell }, twist, ' ', bdi(cell, 'sk'))
      : el('td', { class: isNumber(index) ? 'number' : undefined, title: cell }, isNumber(index) ? cell.toLocaleString('en') : bdi(cell)))));
    return row;
  });
  return el('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Items' }, el('table', { class: 'results' },
    el('thead', {}, el('tr', {}, head.map((name, index) => el('th', { scope: 'col', class: isNumber(index) ? 'number' : undefined }, bdi(name))))), el('tbody', {}, body)));
}

/** A button that copies a text. */
function copies(label, make) {
  const button = el('button', { type: 'button', onclick: async () => {
    try {
      await navigator.clipboard.writeText(make());
      say('Copied');
      button.textContent = 'Copied';
      setTimeout(() => {
        button.textContent = label;
      }, 1500);
    } catch {
      const code = document.getElementById('code');
      if (label === 'Copy') getSelection().selectAllChildren(code);
      say(label === 'Copy' ? 'Selected: copy it yourself, the browser doesn’t let a page do it' : 'The browser doesn’t let a page copy');
    }
  } }, label);
  return button;
}

/** Says that there is no such node, if that is why nothing answers. */
async function said(id, note) {
  try {
    await get(`${path(id)}?fields=name`);
  } catch (error) {
    if (error.status === 404) note.replaceChildren('No item answers. There is no node with the id ', bdi(id), '.');
  }
}

export function panel() {
  const box = el('div', { class: 'panel' });
  const kind = el('select', { id: 'ask-kind', onchange: () => fields() }, QUESTIONS.filter(([name]) => (name !== 'links' || about.links.length) && (name !== 'path' || about.path_rows))
    .map(([name, words]) => el('option', { value: name }, words)));
  kind.value = address.get('ask') ?? 'below';
  if (!kind.value) kind.value = 'below';
  const node = el('input', { id: 'ask-id', spellcheck: 'false', autocomplete: 'off', value: address.get('node') ?? '' });
  const nodeField = el('div', { class: 'field wide' }, el('label', { for: 'ask-id' }, 'Node'), node);
  const extra = el('div', { class: 'row' });
  const strong = el('input', { type: 'checkbox', id: 'ask-strong' });
  const result = el('div', { class: 'answer' });
  let language = 'key';

  const fields = () => {
    const [, , names] = QUESTIONS.find(([name]) => name === kind.value);
    nodeField.hidden = WITHOUT_NODE.includes(kind.value);
    extra.replaceChildren(...names.map((name) => {
      const id = `ask-${name}`;
      if (name === 'descending') return el('label', { class: 'choice', for: id }, el('input', { type: 'checkbox', id, name }), 'the last first');
      const [label, properties] = FIELDS[name];
      const input = el('input', { id, name, spellcheck: 'false', autocomplete: 'off', ...properties });
      if (name === 'attribute') input.value = about.links[0] ?? '';
      return el('div', { class: name === 'path' || name === 'topic' || name === 'attribute' ? 'field wide' : 'field' }, el('label', { for: id }, label), input);
    }));
    address.set({ ask: kind.value === 'below' ? null : kind.value });
  };

  const ask = async (event) => {
    event?.preventDefault();
    const question = { kind: kind.value };
    if (!nodeField.hidden) question.id = node.value;
    for (const input of extra.querySelectorAll('input')) question[input.name] = input.type === 'checkbox' ? String(input.checked) : input.value;
    if (strong.checked) question.strong = 'true';
    try {
      show(question, await data('ask', question));
    } catch (error) {
      if (error instanceof Lost) return;
      result.replaceChildren(el('p', { class: 'wrong', role: 'alert' }, error.message));
    }
  };

  const show = (question, { asked, items, more, requests, read_units: read }) => {
    const code = el('pre', { tabindex: '0', id: 'code', role: 'tabpanel', 'aria-labelledby': `code-${language}` });
    const pick = (name) => {
      language = name;
      const [, , make] = LANGUAGES.find(([one]) => one === name);
      code.textContent = make(asked, about, question);
      code.setAttribute('aria-labelledby', `code-${name}`);
      for (const tab of tabs.children) {
        tab.setAttribute('aria-selected', String(tab.dataset.language === name));
        tab.tabIndex = tab.dataset.language === name ? 0 : -1;
      }
    };
    const tabs = el('div', { role: 'tablist', class: 'codes', 'aria-label': 'The same as code' }, LANGUAGES.map(([name, words]) =>
      el('button', { type: 'button', role: 'tab', id: `code-${name}`, 'data-language': name, 'aria-controls': 'code', onclick: () => pick(name) }, words)));
    tabs.addEventListener('keydown', (event) => {
      const all = [...tabs.children];
      const to = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!to) return;
      const next = all[(all.indexOf(document.activeElement) + to + all.length) % all.length];
      next.focus();
      next.click();
    });
    const took = cost(requests, read);
    const all = columns(items);
    // What Sapwood keeps in a row is below it.
    const names = all.filter((name) => !name.startsWith('_'));
    // The items of a Query have one partition key, which is said once.
    const isOne = new Set(items.map(({ pk }) => pk)).size < 2;
    const keysOf = (item) => (isOne ? [item.sk] : [item.sk, item.pk]);
    const rows = items.map((item) => [...keysOf(item), ...names.map((name) => (name in item.item ? shown(item.item[name]) : '')), item.bytes]);
    const head = [about.keys.sk, ...(isOne ? [] : [about.keys.pk]), ...names, 'bytes'];
    const bytes = items.reduce((sum, item) => sum + item.bytes, 0);
    const none = el('p', { class: 'question' }, 'No item answers.');
    if (!items.length && question.id) said(question.id, none);
    result.replaceChildren(
      card('found', `${count(items.length, 'item')}${more ? ' on the first page' : ''}`,
        items.length > 0 && [copies('Copy CSV', () => csv([about.keys.pk, about.keys.sk, ...all, 'bytes'], items, all)), copies('Copy JSON', () => JSON.stringify(items.map(({ item }) => item), null, 2))],
      el('p', { class: 'question' }, `One ${asked.call}: ${took}${items.length ? `, ${bytes.toLocaleString('en')} bytes` : ''}.`, items.length > 0 && isOne && [` ${about.keys.pk}: `, bdi(items[0].pk, 'pk')]),
      items.length ? table(head, rows, items) : none),
      card('same', 'The same as code', copies('Copy', () => code.textContent), tabs, code));
    pick(language);
    say(`${count(items.length, 'item')}, ${took}`);
  };

  hear('select', (id) => {
    node.value = id;
    result.replaceChildren();
  });
  box.append(el('form', { class: 'card', onsubmit: ask }, el('div', { class: 'field' }, el('label', { for: 'ask-kind' }, 'Question'), kind), nodeField, extra,
    el('div', { class: 'row' }, el('label', { class: 'choice', for: 'ask-strong' }, strong, 'strongly consistent'), el('button', { class: 'main', type: 'submit' }, 'Ask'))), result);
  fields();
  return box;
}
