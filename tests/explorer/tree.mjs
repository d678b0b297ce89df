// The tree, changes of it, and finding nodes: with ids and names as they are in real tables.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { ALL, api, centre, create, dev, drag, drawn, expand, explore, fill, grab, hold, leave, noDialog, press, put, row, sees, select, stop, submit, text, until, visit, wait } from './stack.mjs';

const uuid = (n) => `${String(n).padStart(8, '0')}-3b1d-4a6f-9c2e-5d8a1b7c0e11`;
const NAME = 'Quarterly figures of all regions, revised by the auditors';
const named = (n) => ({ name: `${NAME}, part ${n}` });
/** Two trees: 1 has 11, which has 111 and 112, and 12; 2 has 21. */
const forest = (more = {}) => [[uuid(1), null], [uuid(2), null], [uuid(11), uuid(1)], [uuid(12), uuid(1)], [uuid(21), uuid(2)], [uuid(111), uuid(11)], [uuid(112), uuid(11)]]
  .map(([id, parent]) => [id, parent, named(Number(id.slice(0, 8))), more]);
/** The ids of the rows, with their levels. */
const ids = (page) => page.evaluate(() => [...document.querySelectorAll('#tree [role=treeitem]')].map((one) => `${one.getAttribute('aria-level')} ${Number(one.nodeId?.slice(0, 8))}`));
const stands = (page, ...expected) => until(expected.join(), async () => assert.deepEqual(await ids(page), expected) ?? true);
const parentOf = async (server, n) => (await api(server, 'GET', `/nodes/${uuid(n)}`)).parent ?? null;
const of = async (page, n, what) => (await row(page, uuid(n)))?.evaluate(what);
const isMoving = (one) => one.classList.contains('moving');
const undo = (page) => page.$eval('#undo button', (one) => one.click());

export function treeTests(test, chromium) {
  test('a moved node stands at its new place at once, open as it was, and comes back with the reason if that is refused', async () => {
    const server = await dev(...ALL, '--parameter', 'PathRows=on');
    await create(server, [...forest({ position: 'last' }), [uuid(3), uuid(2), named(3), { segment: 'same', position: 'last' }], [uuid(4), uuid(1), named(4), { segment: 'same', position: 'last' }]]);
    const page = await visit(chromium(), server.page);
    await expand(page, uuid(1), uuid(11), uuid(2));
    await stands(page, '1 1', '2 11', '3 111', '3 112', '2 12', '2 4', '1 2', '2 21', '2 3');
    await page.evaluate(() => {
      for (const one of document.querySelectorAll('#tree [role=treeitem]')) one.isOfBefore = true;
    });
    const held = await hold(page, '^PATCH');
    await drag(page, uuid(11), uuid(21));
    await held.has();
    await stands(page, '1 1', '2 12', '2 4', '1 2', '2 21', '3 11', '4 111', '4 112', '2 3');
    assert.equal(await of(page, 11, isMoving), true);
    assert.match(await of(page, 11, (one) => one.textContent), /on its way/);
    await held.end();
    await until('it has arrived', async () => !await of(page, 11, isMoving));
    assert.equal(await parentOf(server, 11), uuid(21));
    await wait(1500);
    await stands(page, '1 1', '2 12', '2 4', '1 2', '2 21', '3 11', '4 111', '4 112', '2 3');
    for (const n of [11, 111, 112]) assert.equal(await of(page, n, (one) => one.isOfBefore), true, `the row of ${n} is the same`);
    // Others move it: it stays open as well.
    await api(server, 'PATCH', `/nodes/${uuid(11)}`, { parent: uuid(12) });
    await until('it has followed', async () => (await of(page, 11, (one) => one.isConnected)) === undefined || (await of(page, 12, (one) => one.getAttribute('aria-expanded'))) === 'false');
    await expand(page, uuid(12));
    // It is still open if its new row came before its old one went.
    await until('it is there, and closed', async () => {
      const moved = await row(page, uuid(11));
      if (await moved?.evaluate((one) => one.getAttribute('aria-expanded')) === 'true') await (await moved.$('.twist')).click();
      return moved && await moved.evaluate((one) => one.getAttribute('aria-expanded')) !== 'true';
    });
    await stands(page, '1 1', '2 12', '3 11', '2 4', '1 2', '2 21', '2 3');
    // A refusal: a sibling there has the name.
    await drag(page, uuid(4), uuid(2));
    await until('the reason', async () => /is named same already/.test(await of(page, 2, (one) => one.querySelector('.refusal')?.textContent ?? '')));
    await stands(page, '1 1', '2 12', '3 11', '2 4', '1 2', '2 21', '2 3');
    assert.equal(await of(page, 4, isMoving), false);
    // It goes when it is dismissed, and when something else is done.
    await page.click('#tree .refusal [aria-label=Dismiss]');
    assert.equal(await page.$('.refusal'), null);
    // A circle: the names, and the right subject.
    await drag(page, uuid(1), uuid(12));
    const said = await until('the reason', () => of(page, 12, (one) => one.querySelector('.refusal [role=alert]')?.textContent));
    assert.equal(said, `${NAME}, part 12 is inside ${NAME}, part 1. A folder can't move into itself.`);
    await drag(page, uuid(4), uuid(21));
    assert.equal(await page.$('.refusal'), null);
    await until('the move', async () => (await parentOf(server, 4)) === uuid(21));
    await leave(page);
    await stop(server);
  });

  test('undo takes back a move, a name, a place and the trash', async () => {
    const server = await dev(...ALL);
    await create(server, forest({ position: 'last' }));
    const page = await visit(chromium(), server.page);
    await expand(page, uuid(1), uuid(2));
    const before = ['1 1', '2 11', '2 12', '1 2', '2 21'];
    await stands(page, ...before);
    await drag(page, uuid(11), uuid(2));
    await until('the move', async () => (await parentOf(server, 11)) === uuid(2));
    assert.match(await text(page, '#undo'), /^Moved .*part 11 to .*part 2 · Undo/);
    await undo(page);
    await until('it is back', async () => (await parentOf(server, 11)) === uuid(1));
    await stands(page, ...before);
    // A name.
    await (await row(page, uuid(12))).focus();
    await press(page, 'F2');
    await page.waitForSelector('[role=treeitem] input');
    await page.keyboard.type('Budget');
    await press(page, 'Enter');
    assert.equal(await of(page, 12, (one) => one.querySelector('.label').textContent), 'Budget', 'shown at once');
    await until('the name', async () => (await api(server, 'GET', `/nodes/${uuid(12)}`)).attributes.name === 'Budget');
    await until('the offer', async () => /Renamed/.test(await text(page, '#undo')));
    await press(page, 'Control+z');
    await until('the former name', async () => (await api(server, 'GET', `/nodes/${uuid(12)}`)).attributes.name === named(12).name);
    await until('it is shown', async () => (await drawn(page)).includes(`  ${named(12).name}`));
    // A place among siblings.
    await (await row(page, uuid(12))).focus();
    await press(page, 'Alt+ArrowUp');
    await stands(page, '1 1', '2 12', '2 11', '1 2', '2 21');
    await until('the offer', async () => /Placed/.test(await text(page, '#undo')));
    await undo(page);
    await stands(page, ...before);
    const children = async () => (await api(server, 'GET', `/nodes/${uuid(1)}/children?order=asc`)).items.map((one) => one.id);
    await until('the order', async () => (await children()).join() === [uuid(11), uuid(12)].join());
    // The trash.
    await press(page, 'Shift+F10');
    await page.waitForSelector('[role=menu]');
    await page.evaluate(() => [...document.querySelectorAll('[role=menuitem]')].find((one) => one.textContent === 'Move to trash').click());
    await stands(page, '1 1', '2 11', '1 2', '2 21');
    await until('the offer', async () => /to the trash/.test(await text(page, '#undo')));
    await undo(page);
    await stands(page, ...before);
    await leave(page);
    await stop(server);
  });

  test('while a row is dragged or renamed, nothing is drawn anew below the pointer', async () => {
    const server = await dev(...ALL);
    await create(server, forest({ position: 'last' }));
    const page = await visit(chromium(), server.page);
    await expand(page, uuid(1));
    await of(page, 12, (one) => {
      one.isOfBefore = true;
    });
    await grab(page, uuid(12));
    await until('the drag', () => page.$eval('#root-drop', (one) => !one.hidden));
    await api(server, 'PATCH', `/nodes/${uuid(11)}`, { parent: uuid(2) });
    await wait(1500);
    await stands(page, '1 1', '2 11', '2 12', '1 2');
    assert.equal(await of(page, 12, (one) => one.isOfBefore), true);
    await page.mouse.up();
    await stands(page, '1 1', '2 12', '1 2');
    // The name that is typed stays where the name was, and so does all else.
    await select(page, uuid(12));
    const boxes = () => page.$$eval('#tree [role=treeitem]', (all) => all.map((one) => [one, one.querySelector('.label, input')].map((part) => Math.round(part.getBoundingClientRect().top * 2) / 2)));
    const heights = () => page.$$eval('#tree [role=treeitem]', (all) => all.map((one) => one.getBoundingClientRect().height));
    const left = await of(page, 12, (one) => one.querySelector('.label').getBoundingClientRect().left);
    const [rows, high] = [(await boxes()).map(([top]) => top), await heights()];
    await press(page, 'F2');
    await page.waitForSelector('[role=treeitem] input');
    assert.deepEqual([(await boxes()).map(([top]) => top), await heights()], [rows, high]);
    const padding = await of(page, 12, (one) => one.querySelector('input').getBoundingClientRect().left + parseFloat(getComputedStyle(one.querySelector('input')).paddingLeft) + 1);
    assert.ok(Math.abs(padding - left) < 1, `${padding} and ${left}`);
    await page.keyboard.type('Half');
    await api(server, 'PATCH', `/nodes/${uuid(12)}`, { position: 'first' });
    await wait(1200);
    await page.keyboard.type(' done');
    assert.equal(await page.$eval('[role=treeitem] input', (one) => one.value), 'Half done');
    await press(page, 'Escape');
    await leave(page);
    await stop(server);
  });

  test('one of 5,000 children changes, and at most two requests follow; one is found that isn’t loaded', async () => {
    const server = await dev('--parameter', 'PathRows=off', '--mapping', 'ParallelizationFactor=10', '--mapping', 'BatchSize=1000');
    const child = (n) => `${String(n).padStart(8, '0')}-52d4-4c8e-8a77-e1f0c9d2b311`;
    const wide = uuid(7);
    await put(server, [[wide, null], ...Array.from({ length: 5000 }, (_, n) => [child(n), wide])]);
    await until('all rows', async () => (await api(server, 'GET', `/nodes/${wide}/count`)).count === 5000, 300_000);
    const page = await visit(chromium(), server.page);
    await expand(page, wide);
    // Found by name below a folder, before its row is there: it looks at some, and at more if somebody wants that.
    await press(page, 'Control+k');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'find');
    await page.click('#found input, #find');
    await page.keyboard.type(`Node ${child(4321)}`.slice(0, 13));
    await until('how far it is', async () => /Looked at 2,00\d nodes.*Search on/.test(await text(page, '#found')));
    const held = await hold(page, 'descendants');
    await page.evaluate(() => [...document.querySelectorAll('#found button')].find((one) => one.textContent === 'Search on').click());
    await held.has();
    await until('how far it is', async () => /Looked at.*….*Stop/.test(await text(page, '#found')));
    await held.end();
    await until('it is found', async () => (await text(page, '#found-list')).includes(`Node ${child(4321)}`.slice(0, 13)));
    await press(page, 'Enter');
    await until('it is shown', () => page.evaluate((id) => document.getElementById('node').dataset.of === id, child(4321)));
    await sees(page, child(4321));
    // All rows.
    await select(page, wide);
    await until('all', async () => {
      await page.evaluate(() => [...document.querySelectorAll('[data-more]')].at(-1)?.scrollIntoView());
      return (await drawn(page)).length === 5001;
    }, 240_000);
    await wait(3000);
    const before = page.asked.length;
    await api(server, 'PATCH', `/nodes/${child(2500)}`, { attributes: { name: 'Changed' } });
    await until('the new name', async () => (await drawn(page)).includes('  Changed'));
    await wait(3000);
    // What still lags is Live's question.
    const asked = page.asked.slice(before).map((one) => one.url).filter((url) => !url.endsWith('/data/lag'));
    assert.ok(asked.length <= 2, asked.join('\n'));
    console.log(`  a new name among 5,000 rows: ${asked.length} requests`);
    await api(server, 'POST', '/nodes', { id: '00002500-ffff', parent: wide, attributes: { name: 'Added' } });
    await until('the new row', async () => (await drawn(page))[2502] === '  Added');
    await leave(page);
    await stop(server);
  }, { isLong: true });

  test('the selected node is the tab stop, and a Mac has its own keys', async () => {
    const server = await dev(...ALL);
    await create(server, forest({ position: 'last' }));
    const page = await visit(chromium(), `${server.page}?node=${uuid(12)}`);
    await sees(page, uuid(12));
    const stops = () => page.$$eval('#tree [tabindex="0"]', (all) => all.map((one) => Number(one.nodeId.slice(0, 8))));
    await until('the stop', async () => (await stops()).join() === '12');
    await (await row(page, uuid(12))).focus();
    await press(page, 'ArrowUp');
    assert.deepEqual(await stops(), [11]);
    await press(page, 'Tab');
    await until('the stop is the selected node again', async () => (await stops()).join() === '12');
    await page.evaluateOnNewDocument(() => Object.defineProperty(navigator, 'platform', { value: 'MacIntel' }));
    await page.reload({ waitUntil: 'domcontentloaded' });
    await sees(page, uuid(12));
    assert.deepEqual(await page.$$eval('#tools button', (all) => all.map((one) => one.title.split(' · ')[1])), ['⌘↩', '⌘E', '⌘X', '⌘⌫', '⌘.']);
    assert.match(await page.$eval('#find', (one) => one.placeholder), /⌘K/);
    const asks = async (keys, what) => {
      await (await row(page, uuid(12))).focus();
      await press(page, keys);
      await page.waitForSelector(what);
      await press(page, 'Escape');
      await until(`${keys} is over`, async () => (await page.$(what)) === null);
    };
    await asks('Meta+e', '[role=treeitem] input');
    for (const keys of ['Meta+x', 'Meta+Backspace', 'Meta+Enter']) await asks(keys, 'dialog[open]');
    await asks('Meta+.', '[role=menu]');
    await press(page, 'Meta+k');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'find');
    await leave(page);
    await stop(server);
  });

  test('a node is found by its name, and a move takes its target by name', async () => {
    const server = await dev(...ALL);
    await create(server, [...forest({ position: 'last' }), [uuid(9), uuid(111), { name: 'Résumé of the Äther project' }, { position: 'last' }]]);
    const page = await visit(chromium(), server.page);
    await sees(page, uuid(1));
    // No row of it is loaded, and the case of letters doesn't count.
    await press(page, 'Control+k');
    await page.keyboard.type('äther');
    await until('it is found', async () => /Résumé of the Äther project/.test(await text(page, '#found-list')));
    await press(page, 'ArrowDown', 'Enter');
    await until('it is shown', () => page.evaluate((id) => document.getElementById('node').dataset.of === id, uuid(9)));
    assert.equal(await page.$eval('#found', (one) => one.hidden), true);
    await sees(page, uuid(9));
    // Below a node alone.
    await (await row(page, uuid(1))).focus();
    await press(page, 'Shift+F10');
    await page.waitForSelector('[role=menu]');
    await page.evaluate(() => [...document.querySelectorAll('[role=menuitem]')].find((one) => one.textContent === 'Find below…').click());
    await until('the field has the focus', () => page.evaluate(() => document.activeElement.id === 'find'));
    await press(page, 'Control+a');
    await page.keyboard.type('part 2');
    await until('nothing is found', async () => /No node is called that/.test(await text(page, '#found')));
    assert.match(await text(page, '#found .choice'), /only below .*part 1/);
    await page.click('#found input');
    await until('all trees', async () => (await page.$$('#found-list [role=option]')).length === 2);
    await press(page, 'Escape');
    // A picker.
    await (await row(page, uuid(9))).focus();
    await press(page, 'Control+x');
    await page.waitForSelector('dialog[open]');
    await press(page, 'Control+a');
    await page.keyboard.type('part 21');
    await until('the target', async () => /part 21/.test(await text(page, 'dialog [aria-selected=true]')));
    await press(page, 'ArrowDown', 'ArrowUp', 'Enter');
    await noDialog(page);
    await until('the move', async () => (await parentOf(server, 9)) === uuid(21));
    await until('it is shown there', async () => (await of(page, 9, (one) => one.previousElementSibling.nodeId)) === uuid(21));
    // One that isn't there is refused in the dialog, and a root is chosen by no text.
    await (await row(page, uuid(9))).focus();
    await press(page, 'Control+x');
    await page.waitForSelector('dialog[open]');
    // The list can be before the button.
    const submitted = () => page.$eval('dialog [type=submit]', (one) => one.click());
    await fill(page, 'Below which', 'nowhere at all');
    await submitted();
    await until('the refusal', async () => /Choose one of the nodes/.test(await text(page, 'dialog .wrong')));
    await fill(page, 'Below which', '');
    await press(page, 'Control+a', 'Backspace');
    await submitted();
    await noDialog(page);
    await until('a root', async () => (await parentOf(server, 9)) === null);
    await leave(page);
    await stop(server);
  });

  test('a card has one thing: explanations fold, buttons are smaller than headings, and what is deleted says where it goes', async () => {
    const server = await dev(...ALL);
    await create(server, forest({ position: 'last' }));
    const page = await visit(chromium(), `${server.page}?node=${uuid(12)}`);
    await page.waitForSelector('#node .derived');
    const explained = () => page.$$eval('#node .derived .group', (all) => all.filter((one) => one.querySelector('.question')?.hidden === false).map((one) => one.querySelector('h4').textContent));
    assert.ok((await explained()).includes('Child row'), 'the first time');
    await select(page, uuid(11));
    assert.deepEqual(await explained(), []);
    await page.click('#node .derived .group .why');
    assert.equal((await explained()).length, 1);
    await select(page, uuid(1));
    const groups = await page.$$eval('#node .group h4', (all) => all.map((one) => one.textContent));
    assert.ok(groups.includes('Ordered root row') && groups.includes('Root row') && !groups.includes('Child row'), groups.join());
    await page.reload({ waitUntil: 'domcontentloaded' });
    await page.waitForSelector('#node .derived');
    assert.deepEqual(await explained(), [], 'not again');
    for (const card of await page.$$('#node .card')) {
      const [heading, ...buttons] = await card.$$eval('h3, button:not(.link)', (all) => all.map((one) => parseFloat(getComputedStyle(one).fontSize)));
      assert.ok(buttons.every((size) => size < heading), `${heading} and ${buttons}`);
    }
    await expand(page, uuid(1));
    await select(page, uuid(12));
    const edges = await page.evaluate(() => [...document.querySelectorAll('.crumbs button, .title h2')].map((one) => one.getBoundingClientRect().left).filter((left, at, all) => at === 0 || at === all.length - 1));
    assert.ok(Math.abs(edges[0] - edges[1]) < 1, edges.join());
    const lines = await page.$$eval('.crumbs li', (all) => all.map((one) => [...one.children].at(-1)).map((one) => (one.getBoundingClientRect().top + one.getBoundingClientRect().bottom) / 2));
    assert.ok(Math.max(...lines) - Math.min(...lines) < 1, lines.join());
    // What a deletion is called.
    await (await row(page, uuid(12))).focus();
    await press(page, 'Delete');
    await page.waitForSelector('dialog[open]');
    assert.deepEqual([await text(page, 'dialog h2'), await text(page, 'dialog [type=submit]')], [`Move ${named(12).name} to the trash?`, 'Move to trash']);
    await press(page, 'ArrowDown');
    assert.deepEqual([await text(page, 'dialog h2'), await text(page, 'dialog [type=submit]')], [`Delete ${named(12).name} for good?`, 'Delete for good']);
    await press(page, 'Escape');
    await noDialog(page);
    await leave(page);
    await stop(server);
    const without = await dev();
    await create(without, [[uuid(1), null, named(1)]]);
    const other = await visit(chromium(), without.page);
    await (await sees(other, uuid(1))).focus();
    await press(other, 'Delete');
    await other.waitForSelector('dialog[open]');
    assert.equal(await text(other, 'dialog [type=submit]'), 'Delete for good');
    await leave(other);
    await stop(without);
  });

  test('at 768 and 375 pixels one control leads to all parts, and what it leads to is above the fold', async () => {
    const server = await dev(...ALL);
    await create(server, forest({ position: 'last' }));
    for (const [width, height, most] of [[768, 1024, 170], [375, 700, 190]]) {
      const page = await visit(chromium(), `${server.page}?node=${uuid(12)}`, { width, height });
      await page.waitForSelector('#node .derived');
      assert.equal((await page.$$eval('[role=tablist]', (all) => all.filter((one) => one.offsetParent && !one.closest('#panes')).length)), 0, 'there is one control');
      const top = (selector) => page.$eval(selector, (one) => one.getBoundingClientRect().top);
      await page.click('[data-to=tree]');
      assert.ok(await top('#tree [role=treeitem]') < most, `the tree: ${await top('#tree [role=treeitem]')}`);
      if (width < 640) await page.click('[data-to=node]');
      assert.ok(await top('#node .card') < most + 90, `the node: ${await top('#node .card')}`);
      for (const view of ['live', 'watch', 'ask', 'check', 'trust']) {
        await page.click(`#tab-${view}`);
        assert.equal(await page.$eval(`#panel-${view}`, (one) => one.offsetParent !== null), true);
        assert.ok(await top(`#panel-${view}`) < most, view);
      }
      await page.click('[data-to=tree]');
      assert.equal(await page.$eval('#panel-trust', (one) => one.offsetParent), null);
      await leave(page);
    }
    await stop(server);
  });

  test('what is being loaded can be seen', async () => {
    const server = await dev();
    await create(server, forest());
    const page = await visit(chromium(), server.page);
    await page.waitForSelector('#node .derived');
    const held = await hold(page, 'data/(node|level)');
    await (await row(page, uuid(2))).$('.label').then((label) => label.click());
    await (await row(page, uuid(1))).$('.twist').then((twist) => twist.click());
    await held.has(2);
    assert.equal(await page.$eval('#pane-node', (one) => getComputedStyle(one, '::before').height), '3px');
    assert.equal(await of(page, 1, (one) => getComputedStyle(one.querySelector('.twist'), '::after').borderTopStyle), 'solid');
    await held.end();
    await until('all is there', () => page.evaluate(() => document.querySelector('[aria-busy]') === null));
    await leave(page);
    await stop(server);
  });

  test('without a stream of events, a change reads the page of a level that has it, and a move is followed', async () => {
    const server = await dev('--parameter', 'PathRows=off');
    const child = (n) => `${String(n).padStart(8, '0')}-52d4-4c8e-8a77-e1f0c9d2b311`;
    await create(server, [[uuid(1), null, named(1)], [uuid(2), null, named(2)], ...Array.from({ length: 250 }, (_, n) => [child(n + 100), uuid(1), named(n + 100)])]);
    const writing = await explore('--endpoint', server.dynamodb, '--write');
    const page = await visit(chromium(), writing.page);
    await expand(page, uuid(1));
    await until('all', async () => {
      await page.evaluate(() => [...document.querySelectorAll('[data-more]')].at(-1)?.scrollIntoView());
      return (await drawn(page)).length === 252;
    });
    const levels = () => page.asked.map(({ url }) => url).filter((url) => url.includes('data/level'));
    let before;
    while (before !== levels().length) {
      before = levels().length;
      await wait(1000);
    }
    await (await row(page, child(250))).focus();
    await press(page, 'F2');
    await page.waitForSelector('[role=treeitem] input');
    await page.keyboard.type('Renamed');
    await press(page, 'Enter');
    await until('the name', async () => (await api(server, 'GET', `/nodes/${child(250)}`)).attributes.name === 'Renamed');
    await until('its page is read', () => levels().length > before);
    await wait(1500);
    // It is read once more if its row was late.
    assert.equal(new Set(levels().slice(before)).size, 1);
    assert.ok((await drawn(page)).includes('  Renamed'));
    await drag(page, child(349), uuid(2));
    await until('the move', async () => (await api(server, 'GET', `/nodes/${child(349)}`)).parent === uuid(2));
    await until('it has arrived', async () => (await (await row(page, child(349))).evaluate((one) => !one.classList.contains('moving') && one.previousElementSibling.nodeId)) === uuid(2));
    await leave(page);
    for (const each of [writing, server]) await stop(each);
  });

  test('a link that is copied from `sapwood explore` works in a second tab, and in none of another session', async () => {
    const server = await dev();
    await create(server, forest());
    const [one, two] = await Promise.all([explore('--endpoint', server.dynamodb), explore('--endpoint', server.dynamodb)]);
    const page = await visit(chromium(), one.page);
    await select(page, uuid(2));
    const link = page.url();
    assert.ok(!link.includes(one.token));
    const second = await page.browserContext().newPage();
    await second.goto(link);
    await until('the node', () => second.evaluate((id) => document.getElementById('node').dataset.of === id, uuid(2)));
    assert.deepEqual(await second.evaluate(() => [localStorage.length - Number('sapwood-explained' in localStorage), document.cookie]), [0, ''], 'no disk has the token');
    const third = await page.browserContext().newPage();
    await third.goto(link.replace(new URL(one.page).origin, new URL(two.page).origin));
    await until('it is refused', () => third.$eval('#lost', (box) => /token of the page's address/.test(box.textContent)));
    await leave(page);
    const { stderr } = spawnSync(process.env.SAPWOOD, ['explore', '--table', 'sapwood', '--endpoint', server.dynamodb, '--http', '0.0.0.0:0'], { encoding: 'utf8' });
    assert.match(stderr, /isn't a loopback address/);
    assert.doesNotMatch(stderr, /embedded/);
    for (const each of [one, two, server]) await stop(each);
  });
}
