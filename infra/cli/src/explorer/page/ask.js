// Ask: a question, the one request that answers it, the answer, and the same as code.
import { about, address, bdi, cost, count, data, el, hear, key, Lost, say, values } from './base.js';
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
    const copied = el('button', { type: 'button', onclick: async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        say('Copied');
        copied.textContent = 'Copied';
        setTimeout(() => {
          copied.textContent = 'Copy';
        }, 1500);
      } catch {
        getSelection().selectAllChildren(code);
        say('Selected: copy it yourself, the browser doesn’t let a page do it');
      }
    } }, 'Copy');
    const took = cost(requests, read);
    result.replaceChildren(
      el('section', { class: 'card', 'aria-labelledby': 'answer-title' }, el('h3', { id: 'answer-title' }, `${count(items.length, 'item')}${more ? ' on the first page' : ''}`),
        el('p', { class: 'question' }, `One ${asked.call}: ${took}.`),
        el('ul', { class: 'items' }, items.map((item) => el('li', {}, el('details', {}, el('summary', {}, key(item.pk, item.sk), item.item.name && bdi(item.item.name, 'soft')),
          values(item.item, [about.keys.pk, about.keys.sk])))))),
      el('section', { class: 'card', 'aria-labelledby': 'code-title' }, el('div', { class: 'bar' }, el('h3', { id: 'code-title' }, 'The same as code'), copied), tabs, code));
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
