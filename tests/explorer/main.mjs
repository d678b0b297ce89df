// Drives the explorer in a browser, as a person would. Its last line counts like that of a cargo suite.
// Arguments are words of the names of the tests to run.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { liveTests } from './live.mjs';
import {
  ALL, api, axe, browser, create, dev, drag, drawn, dynamodb, expand, explore, fill, keys, leave, noDialog, press, printed, put, raw, root, row, sees, select, settled, stop, stopAll, submit, text, until, visit, wait, watch,
} from './stack.mjs';
import { treeTests } from './tree.mjs';

const tests = [];
/** Those that take long begin first, so that nothing is left to wait for at the end. */
const test = (name, act, { isLong = false } = {}) => tests.push({ name, act, isLong });
let chromium;
/** A server that nobody writes to: tests that run at the same time look at it, and some count requests. */
let folders;

treeTests(test, () => chromium);

/** The first view: the page's own files, what it shows, and the stream of events. */
const FIRST_REQUESTS_MAX = 10;
const FIRST_BYTES_MAX = 150_000;

test('the first view takes few requests, all of its own origin, and shows a tree', async () => {
  const page = await visit(chromium, folders.page);
  await page.waitForSelector('#node .derived');
  await wait(700);
  assert.deepEqual(await drawn(page), ['Drive C', 'Drive D', '  Folder III', '  Folder IV', '  Folder V']);
  const own = new URL(folders.page).origin;
  assert.deepEqual(page.asked.filter((one) => !one.url.startsWith(own)), []);
  assert.ok(page.asked.length <= FIRST_REQUESTS_MAX, page.asked.map((one) => one.url).join('\n'));
  const files = page.asked.map((one) => one.url).filter((url) => !url.includes('/data/'));
  let bytes = 0;
  for (const url of new Set(files)) {
    const answer = await fetch(url);
    bytes += (await answer.arrayBuffer()).byteLength;
    assert.match(answer.headers.get('content-security-policy'), /^default-src 'self';/);
  }
  assert.ok(bytes < FIRST_BYTES_MAX, `${bytes} bytes`);
  console.log(`  first view: ${page.asked.length} requests, ${bytes} bytes of files`);
  await leave(page);
});

test('nothing happens, and the page asks for nothing; hidden, it holds no connection', async () => {
  const server = await dev('--example', 'folders');
  const page = await visit(chromium, server.page);
  await page.waitForSelector('#node .derived');
  await until('the stream of events', () => page.asked.some((one) => one.url.endsWith('/data/live')));
  // A page that asked now and then would never be quiet for so long.
  let before = -1;
  await until('a page that is left alone', async () => {
    before = page.asked.length;
    await wait(2000);
    return page.asked.length === before;
  });
  const hide = (hidden) => page.evaluate((hidden) => {
    Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
  await hide(true);
  await api(server, 'PATCH', '/nodes/C', { attributes: { seen: 1 } });
  await wait(800);
  assert.equal(page.asked.length, before, 'a page that nobody sees');
  await hide(false);
  await until('what was missed', () => page.asked.length > before);
  await leave(page);
  await stop(server);
});

test('every item that is derived from a node is shown, each with its key and as the table has it', async () => {
  const page = await visit(chromium, folders.page);
  await expand(page, 'D', 'V', 'd');
  assert.deepEqual((await drawn(page)).slice(0, 9), ['Drive C', 'Drive D', '  Folder III', '  Folder IV', '  Folder V', '    Folder d', '      Folder i', '      Folder ii', '      Folder iii']);
  await select(page, 'i');
  assert.deepEqual((await keys(page)).sort(), ['D | NODE#0003#i', 'D | PATH#V#d#i', 'V | NODE#0002#i', 'd | CHILD#sFolder%20i#i', 'd | NODE#0001#i', 'i | COUNTED', 'i | LINEAGE']);
  assert.match(await text(page, '#node .card.base'), /i\|NODE/);
  assert.match(await text(page, '.crumbs'), /Drive D.*Folder V.*Folder d/);
  // All are asked of the table itself.
  const query = async (pk) => (await dynamodb(folders, 'Query', { TableName: 'sapwood', KeyConditionExpression: 'PK = :pk', ExpressionAttributeValues: { ':pk': { S: pk } } })).Items;
  const found = [];
  for (const pk of ['C', 'D', 'III', 'IV', 'V', 'd', 'i', 'ROOTS']) for (const item of await query(pk)) if (item._id?.S === 'i' || (pk === 'i' && item.SK.S !== 'NODE')) found.push(`${pk} | ${item.SK.S}`);
  assert.deepEqual((await keys(page)).sort(), found.sort());
  await page.evaluate(() => [...document.querySelectorAll('.crumbs button')].find((one) => one.textContent === 'Folder V').click());
  await until('the ancestor is shown', () => page.evaluate(() => document.getElementById('node').dataset.of === 'V'));
  assert.equal(new URL(page.url()).searchParams.get('node'), 'V', 'the address has the state');
  await page.goBack();
  await until('the node before', () => page.evaluate(() => document.getElementById('node').dataset.of === 'i'));
  await leave(page);
});

test('a move is seen arriving: the record, the plan, the rows, and the tree', async () => {
  const server = await dev('--example', 'folders');
  const page = await visit(chromium, server.page);
  await expand(page, 'D', 'IV');
  await select(page, 'V');
  // Dragged with the mouse onto another folder.
  await drag(page, 'V', 'IV');
  await until('the tree', async () => (await drawn(page)).join('\n') === ['Drive C', 'Drive D', '  Folder III', '  Folder IV', '    Folder V', '    Folder c'].join('\n'));
  await until('its rows', async () => (await keys(page)).includes('D | NODE#0002#V') && !(await keys(page)).includes('D | NODE#0001#V'));
  await page.click('.story summary');
  await until('the story', async () => {
    const story = await text(page, '#panel-live .stories');
    return /V\|NODE/.test(story) && /put its rows where its record wants them/.test(story) && /\+ IV\|NODE#0001#V/.test(story) && /− D\|PATH#V/.test(story);
  });
  assert.equal((await api(server, 'GET', '/nodes/V')).parent, 'IV');
  // A cycle is refused, and that is said where it was dropped.
  await expand(page, 'V');
  await drag(page, 'IV', 'V');
  await until('the refusal', async () => (await row(page, 'V')).evaluate((one) => one.querySelector('.refusal [role=alert]')?.textContent.length > 10));
  assert.equal((await api(server, 'GET', '/nodes/IV')).parent, 'D');
  await leave(page);
  await stop(server);
});

test('names and ids of any length stand in one line, and a drag can only end where it is shown', async () => {
  const server = await dev('--parameter', 'Totals=count');
  const name = 'Quarterly figures of all regions, revised, with the notes of the auditors';
  const [top, other] = ['7f9c24e8-3b1d-4a6f-9c2e-5d8a1b7c0e11', '0b6c1f3a-52d4-4c8e-8a77-e1f0c9d2b311'];
  const inside = 'd94e0c55-8f0b-4f6e-b1a3-6c7d8e9f0a12';
  await create(server, [[top, null, { name }], [other, null, { name: `${name}, again` }], [inside, top, { name: `${name}, inside` }]]);
  const many = Array.from({ length: 130 }, (_, at) => [`e${String(at).padStart(4, '0')}-52d4-4c8e-8a77-e1f0c9d2b311`, other, { name: `${name} ${at}` }]);
  await create(server, many.slice(0, 65));
  await create(server, many.slice(65));
  const page = await visit(chromium, server.page);
  await expand(page, top, other);
  for (const width of [320, 768, 1280]) {
    await page.setViewport({ width, height: 700 });
    const heights = await page.$$eval('#tree [role=treeitem]', (all) => all.map((one) => one.getBoundingClientRect().height).filter((height) => height > 0));
    assert.ok(heights.length > 4 && Math.max(...heights) < 34, `${width}: ${Math.max(...heights)}`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width}: wider than the window`);
  }
  const centre = async (one) => {
    const box = await one.boundingBox();
    return [box.x + box.width / 2, box.y + box.height / 2];
  };
  const drag = async (id, onto) => {
    // A row that is drawn anew while the button goes down isn't dragged: a person takes it again.
    for (let isDragged = false; !isDragged;) {
      await (await row(page, id)).evaluate((one) => one.scrollIntoView({ block: 'center' }));
      const from = await until('the row is in view', async () => centre(await row(page, id)));
      await page.mouse.move(...from);
      await page.mouse.down();
      await page.mouse.move(from[0] + 5, from[1] + 5);
      isDragged = await until('the target for roots', () => page.$eval('#root-drop', (one) => !one.hidden), 5_000).catch(() => false);
      if (!isDragged) await page.mouse.up();
    }
    const [x, y] = await onto();
    await page.mouse.move(x, y, { steps: 6 });
    // A drop counts where the page has seen the drag.
    await wait(200);
    await page.mouse.move(x + 1, y);
    await wait(200);
    await page.mouse.up();
    await wait(300);
  };
  // The row that stands for those that aren't loaded takes nothing, and neither does the empty part of the pane.
  assert.equal(await page.$eval('#root-drop', (one) => one.hidden), true);
  await page.setViewport({ width: 1280, height: 6000 });
  await until('all rows are in view', async () => (await drawn(page)).length === 133);
  const empty = await page.$eval('#pane-tree', (one) => {
    const [pane, last] = [one.getBoundingClientRect(), [...one.querySelectorAll('[role=treeitem]')].at(-1).getBoundingClientRect()];
    return [pane.left + pane.width / 2, (last.bottom + pane.bottom) / 2, pane.bottom - last.bottom];
  });
  assert.ok(empty[2] > 200, 'the pane has an empty part');
  await drag(inside, async () => empty.slice(0, 2));
  await page.setViewport({ width: 1280, height: 700 });
  assert.equal((await api(server, 'GET', `/nodes/${inside}`)).parent, top);
  await drag(inside, async () => centre(await page.$('#root-drop')));
  await until('a root', async () => !(await api(server, 'GET', `/nodes/${inside}`)).parent);
  // It is undone by a button, and by keys.
  const isThere = (id, parent) => until(`${id} below ${parent}`, async () => ((await api(server, 'GET', `/nodes/${id}`)).parent ?? null) === parent);
  await page.$eval('#undo button', (one) => one.click());
  await isThere(inside, top);
  assert.equal(await page.$eval('#undo', (one) => one.hidden), true);
  await until('the row is back', async () => (await row(page, inside)).evaluate((one) => one.getAttribute('aria-level') === '2'));
  await drag(inside, async () => centre(await page.$('#root-drop')));
  await isThere(inside, null);
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.down('Control');
  await page.keyboard.press('z');
  await page.keyboard.up('Control');
  await isThere(inside, top);
  await leave(page);
  await stop(server);
});

test('characters that nobody sees are shown, and those that belong to a script or to an emoji are not', async () => {
  const page = await visit(chromium, folders.page);
  const seen = (text) => page.evaluate(async (text) => (await import('/explorer/base.js')).visible(text), text);
  for (const hidden of ['\u3164', '\u034f', '\u115f', '\u180e', '\u{e0041}', '\u202e', '\u200b']) {
    assert.match(await seen(`a${hidden}b`), /^a⟨[0-9A-F]{4,5}⟩b$/);
  }
  for (const whole of ['می‌خواهم', '👨‍👩‍👧', '👩🏽‍💻', 'क्‍ष']) assert.equal(await seen(whole), whole);
  assert.equal(await seen('pay\u200dment'), 'pay⟨200D⟩ment');
  await leave(page);
});

test('folders have their totals beside them, and a move changes them', async () => {
  const server = await dev('--example', 'folders');
  const page = await visit(chromium, server.page);
  const below = (id) => row(page, id).then((one) => one.evaluate((it) => it.querySelector('.below')?.textContent ?? ''));
  await expand(page, 'C', 'D', 'V');
  const found = async () => Object.fromEntries(await Promise.all(['C', 'I', 'D', 'III', 'V', 'd', 'e'].map(async (id) => [id, await below(id)])));
  const become = (expected) => until(JSON.stringify(expected), async () => assert.deepEqual(await found(), expected) ?? true);
  await become({ C: '2 below · size 200', I: '', D: '11 below · size 700', III: '2 below · size 65', V: '5 below · size 575', d: '3 below · size 540', e: '' });
  await select(page, 'I');
  assert.match(await text(page, '#node .totals'), /nodes below0children0/);
  await api(server, 'PATCH', '/nodes/d', { parent: 'I' });
  await expand(page, 'I');
  await become({ C: '6 below · size 740', I: '4 below · size 540', D: '7 below · size 160', III: '2 below · size 65', V: '1 below · size 35', d: '3 below · size 540', e: '' });
  await until('those of the node', async () => /nodes below4children1size below540/.test(await text(page, '#node .totals')));
  await api(server, 'PATCH', '/nodes/ii', { attributes: { size: 1150.5 } });
  await until('a size', async () => (await below('C')) === '6 below · size 1,740.5');
  await leave(page);
  await stop(server);
});

test('what a watcher of a node sees is what `sapwood watch` prints', async () => {
  const server = await dev('--example', 'folders');
  const watching = await watch(server, 'III');
  const page = await visit(chromium, `${server.page}?node=III&view=watch`);
  await until('the command', async () => (await text(page, '#panel-watch pre')) === `sapwood watch III --table sapwood --endpoint ${server.dynamodb}`);
  await until('the stream of events', () => page.asked.some((one) => one.url.endsWith('/data/live')));
  const seen = () => page.$$eval('.change', (all) => all.map((one) => [one.querySelector('.badge').textContent.slice(2), ...[...one.querySelectorAll(':scope > span:not(.badge)')].map((part) => part.textContent)].join(', ')));
  const said = async (kind, count) => until(`${count} of ${kind}`, async () => (await seen()).filter((one) => one.startsWith(kind)).length === count && watching.lines.filter((one) => one.kind === kind).length === count);
  await api(server, 'PATCH', '/nodes/V', { parent: 'III' });
  await said('came', 6);
  await api(server, 'PATCH', '/nodes/i', { attributes: { name: 'First' } });
  await said('changed', 1);
  assert.match((await seen())[0], /^changed, i 3 levels below under d, name: "Folder i" → "First"$/);
  await api(server, 'PATCH', '/nodes/d', { parent: 'D' });
  await said('went', 4);
  assert.ok((await seen()).includes('went, i 3 levels below under d, name="First", size=300'), (await seen()).join('\n'));
  // The same, one by one.
  const told = watching.lines.filter(({ kind }) => kind !== 'position').map(({ kind, id, depth }) => `${kind} ${id} ${depth}`).sort();
  assert.deepEqual((await seen()).map((one) => one.replace(/^(\w+), (\w+) (\d) .*$/, '$1 $2 $3')).sort(), told);
  await select(page, 'D');
  await until('what another sees', async () => (await seen()).some((one) => one.startsWith('changed, d 1 level below under D (was under V)') || one.startsWith('came, d 1 level below under D')));
  await leave(page);
  await stop(watching);
  await stop(server);
});

test('with the keyboard alone: walk, find by typing, rename, move, order, add, delete', async () => {
  const server = await dev(...ALL);
  await create(server, [['top', null, { name: 'Top' }, { position: 'last' }], ['alpha', 'top', { name: 'Alpha' }, { position: 'last' }], ['beta', 'top', { name: 'Beta' }, { position: 'last' }], ['gamma', 'top', { name: 'Gamma' }, { position: 'last' }]]);
  const page = await visit(chromium, server.page);
  const focused = () => page.evaluate(() => document.activeElement.nodeId ?? document.activeElement.textContent);
  await page.waitForSelector('#node .derived');
  let stops = 0;
  for (; stops < 30 && (await focused()) !== 'top'; stops += 1) await press(page, 'Tab');
  assert.equal(await focused(), 'top');
  await press(page, 'Tab');
  assert.equal(await page.evaluate(() => document.activeElement.closest('[role=tree]')), null, 'the tree is one stop');
  await press(page, 'Shift+Tab', 'ArrowRight');
  await sees(page, 'gamma');
  await press(page, 'ArrowRight', 'End');
  assert.equal(await focused(), 'gamma');
  await press(page, 'Home', 'b');
  assert.equal(await focused(), 'beta');
  await press(page, 'ArrowUp', 'ArrowLeft', 'ArrowDown');
  assert.equal(await focused(), 'alpha');
  await press(page, 'Enter');
  await until('it is selected', () => row(page, 'alpha').then((one) => one.evaluate((it) => it.getAttribute('aria-selected') === 'true')));
  // In place.
  await press(page, 'F2');
  await page.waitForSelector('[role=treeitem] input');
  await page.keyboard.type('Aleph');
  await press(page, 'Enter');
  await until('the new name', async () => (await drawn(page)).includes('  Aleph'));
  await until('it is written', async () => (await api(server, 'GET', '/nodes/alpha')).attributes.name === 'Aleph');
  // The order by hand, without a mouse.
  await until('the focus is back', async () => (await focused()) === 'alpha');
  await press(page, 'Alt+ArrowDown');
  await until('the order', async () => (await drawn(page)).join() === ['Top', '  Beta', '  Aleph', '  Gamma'].join());
  assert.equal(await focused(), 'alpha', 'the focus stays on the node');
  // A dialog takes the place of dragging.
  await press(page, 'Shift+F10');
  await page.waitForSelector('[role=menu]');
  for (let at = 0; at < 12 && (await focused()) !== 'Move to…'; at += 1) await press(page, 'ArrowDown');
  await press(page, 'Enter');
  await page.waitForSelector('dialog[open]');
  await press(page, 'Control+a');
  await page.keyboard.type('gamma');
  await press(page, 'Enter');
  await noDialog(page);
  await until('the move', async () => (await api(server, 'GET', '/nodes/alpha')).parent === 'gamma');
  await until('it is followed', async () => (await drawn(page)).join() === ['Top', '  Beta', '  Gamma', '    Aleph'].join());
  // Add below it, then delete it with its child.
  await (await row(page, 'alpha')).focus();
  await press(page, 'Insert');
  await page.waitForSelector('dialog[open]');
  await page.keyboard.type('Child');
  await press(page, 'Enter');
  await noDialog(page);
  await until('the child', async () => (await drawn(page)).includes('      Child'));
  // The focus may go on before the page hears that its dialog is closed.
  await press(page, 'Insert');
  await page.waitForSelector('dialog[open]');
  assert.equal(await page.evaluate(async () => {
    const box = document.querySelector('dialog');
    const closed = new Promise((resolve) => box.addEventListener('close', resolve));
    box.close();
    document.querySelector('#tools button').focus();
    await closed;
    return document.activeElement.textContent;
  }), 'Add');
  await (await row(page, 'alpha')).focus();
  await press(page, 'Delete');
  await page.waitForSelector('dialog[open]');
  await press(page, 'ArrowDown', 'ArrowDown');
  assert.equal(await page.$eval('dialog input:checked', (one) => one.value), 'adopt');
  await press(page, 'Enter');
  await noDialog(page);
  await until('its parent has the child', async () => (await drawn(page)).join() === ['Top', '  Beta', '  Gamma', '    Child'].join());
  await leave(page);
  await stop(server);
}, { isLong: true });

test('refusals are said where they happen: a taken name, a record that others have changed, a cycle', async () => {
  const server = await dev(...ALL);
  await create(server, [['D', null, {}, { segment: 'Drive' }], ['one', 'D', {}, { segment: 'same' }], ['two', 'D', {}, { segment: 'other' }]]);
  const page = await visit(chromium, server.page);
  await expand(page, 'D');
  await select(page, 'D');
  await page.click('#tools button');
  await page.waitForSelector('dialog[open]');
  await fill(page, 'Segment', 'SAME');
  await submit(page);
  await page.waitForSelector('dialog .wrong:not([hidden])');
  assert.match(await text(page, 'dialog .wrong'), /is named same already.*one/);
  await page.click('dialog .wrong button');
  await until('the node that has it', () => page.evaluate(() => document.getElementById('node').dataset.of === 'one'));
  await noDialog(page);
  // Renamed in place, onto the name of a sibling.
  await (await row(page, 'two')).focus();
  await press(page, 'F2');
  await page.waitForSelector('[role=treeitem] input');
  await page.keyboard.type('same');
  await press(page, 'Enter');
  await until('the refusal', async () => /is named/.test(await (await row(page, 'two')).evaluate((one) => one.querySelector('.refusal')?.textContent ?? '')));
  // Somebody else writes while the dialog is open.
  await select(page, 'two');
  await page.click('[data-focus=edit]');
  await page.waitForSelector('dialog[open]');
  await api(server, 'PATCH', '/nodes/two', { attributes: { theirs: 1 } });
  await fill(page, 'Its attributes', '{"mine": 1}');
  await submit(page);
  await page.waitForSelector('dialog .wrong:not([hidden])');
  assert.equal((await api(server, 'GET', '/nodes/two')).attributes.mine, undefined);
  await press(page, 'Escape');
  await noDialog(page);
  await leave(page);
  await stop(server);
});

test('a node goes into the trash, comes back, and is deleted for good', async () => {
  const server = await dev('--example', 'folders');
  const page = await visit(chromium, server.page);
  await expand(page, 'D');
  await select(page, 'V');
  await page.click('#tools button:nth-child(4)');
  await page.waitForSelector('dialog[open]');
  assert.equal(await page.$eval('dialog input:checked', (one) => one.value), 'trash');
  await until('how many', async () => /5 descendants/.test(await text(page, 'dialog')));
  await submit(page);
  await noDialog(page);
  await until('it has left', async () => !(await drawn(page)).includes('  Folder V'));
  // The tree above it has become shorter, maybe under the click.
  await until('the trash is open', async () => await page.$eval('#trash details', (box) => box.open) || page.click('#trash summary'));
  await until('it is in the trash', async () => /Folder V/.test(await text(page, '#trash')));
  const isBack = async () => (await drawn(page)).includes('  Folder V') || Promise.reject(new Error(await text(page, '#trash')));
  await page.click('#trash [aria-label="Restore V"]');
  await until('it is back', isBack, 20_000).catch(async (error) => {
    // The list may be drawn anew under a click. A person clicks again.
    console.log(`  once more: ${error.message}`);
    await page.click('#trash [aria-label="Restore V"]');
    await until('it is back', isBack);
  });
  await until('the trash is empty', async () => /empty/.test(await text(page, '#trash')));
  await until('what is below it is back', async () => (await row(page, 'V')).evaluate((one) => one.hasAttribute('aria-expanded')));
  await select(page, 'V');
  await page.click('#tools button:nth-child(4)');
  await page.waitForSelector('dialog[open]');
  await page.click('dialog input[value=delete]');
  await submit(page);
  await noDialog(page);
  await until('it is gone', async () => !(await drawn(page)).includes('  Folder V'));
  await until('all below it is gone', async () => raw(`${server.http}/nodes/ii`).then((answer) => answer.status === 404));
  await leave(page);
  await stop(server);
});

test('a tree says what changed lately, the newest first', async () => {
  const server = await dev('--parameter', 'Changes=on');
  await create(server, [['r', null], ['s', null], ['a', 'r'], ['b', 'r']].map(([id, parent]) => [id, parent, { name: `Name of ${id}` }]));
  await until('its rows', () => settled(server));
  await api(server, 'PATCH', '/nodes/a', { attributes: { name: 'Renamed' } });
  await api(server, 'PATCH', '/nodes/b', { parent: 's' });
  await until('its rows', () => settled(server));
  const page = await visit(chromium, `${server.page}?node=r`);
  await page.waitForSelector('.lately button');
  await page.click('.lately button');
  await until('what changed', async () => /b.*has left the tree.*Renamed.*Name of r/s.test(await text(page, '.lately')));
  await page.click('.lately .items button');
  await until('another node', () => page.evaluate(() => document.getElementById('node').dataset.of === 'b'));
  assert.equal(await page.$('.lately'), null, 'a feed is of a whole tree');
  await leave(page);
  await stop(server);
});

test('revisions stand side by side, the newest is at v0_, and values from above name their ancestor', async () => {
  const server = await dev('--example', 'audits');
  await api(server, 'PATCH', '/nodes/Plant_1', { attributes: { owner: 'Ada' } });
  const page = await visit(chromium, `${server.page}?node=Part_1`);
  await page.waitForSelector('#inherit');
  await page.type('#inherit', 'owner');
  await page.click('.inherits [type=submit]');
  await until('the value', async () => /owner.*Ada.*from.*Plant 1/.test(await text(page, '.inherits')));
  await page.evaluate(() => [...document.querySelectorAll('.crumbs button')].at(-1).click());
  await until('the equipment', () => page.evaluate(() => document.getElementById('node').dataset.of === 'Equipment_1'));
  assert.ok((await keys(page)).includes('Equipment_1 | v0_Audit'));
  await page.click('.topics button[aria-pressed]');
  await until('the history', async () => /version 3.*v0_Audit.*version 2.*version 1/s.test(await text(page, '.topics')));
  const changed = () => page.$$eval('.topics tr.changed', (all) => all.map((one) => one.textContent));
  assert.deepEqual(await changed(), ['auditorPadmaLin']);
  await page.select('[aria-label="the older revision"]', '1');
  assert.deepEqual(await changed(), ['auditorRickLin', 'resultfailedpassed']);
  await leave(page);
  await stop(server);
});

/** Names of people who don't mean well, and of people who do. */
const HOSTILE = [
  '<script>globalThis.hacked=1</script>', '<img src=x onerror="globalThis.hacked=1">', '\u202egnp.exe', 'שלום עולם', "it's \"quoted\" `here` $(touch x) \\ %s {{1}}", 'zero\u200bwidth', 'tab\tand\u0007bell\nline', '👩‍👩‍👧 é é', 'a/b#c?d&e=f~20%20+ ',
];

test('hostile names are text: markup, directions, control characters, and 400 KB', async () => {
  const server = await dev(...ALL);
  await create(server, [['host', null, { name: 'Hosts' }], ...HOSTILE.map((name) => [name, 'host', { name, [name.slice(0, 40)]: name }]), ['long', 'host', { name: 'x'.repeat(395_000) }]]);
  const page = await visit(chromium, `${server.page}?node=host`);
  await expand(page, 'host');
  await until('all rows', async () => (await drawn(page)).length === HOSTILE.length + 2);
  for (const id of [...HOSTILE, 'long']) {
    await select(page, id);
    assert.ok((await keys(page)).some((one) => one.startsWith('host | ')), id);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `${id}: ${overflow} px too wide`);
  }
  assert.equal(await page.evaluate(() => globalThis.hacked), undefined);
  assert.match(await text(page, '#node .title'), /x{100}/);
  await select(page, HOSTILE[2]);
  assert.match(await text(page, '#node h2'), /⟨202E⟩/);
  // Found by its id, and renamed.
  await page.type('#find', HOSTILE[3]);
  await press(page, 'Enter');
  await until('it is found', () => page.evaluate((id) => document.getElementById('node').dataset.of === id, HOSTILE[3]));
  await leave(page);
  await stop(server);
});

test('each question is one request, and its code gives the same items: shell, Python, JavaScript, HTTP, and Rust is what was compiled', async () => {
  const server = await dev(...ALL);
  const odd = HOSTILE[4];
  await create(server, [['D', null, { name: 'Drive' }], ['V', 'D', { name: 'V' }], [odd, 'V', { name: 'odd', product: 'mouse' }], ['mouse', null]]);
  for (const auditor of ['Rick', 'Padma']) await api(server, 'POST', '/nodes/D/revisions/Audit', { attributes: { auditor } }, { prefer: 'wait=10' });
  const page = await visit(chromium, `${server.page}?node=D&view=ask`);
  await page.waitForSelector('#ask-kind');
  const answer = async (kind, fields = {}) => {
    await page.select('#ask-kind', kind);
    for (const [name, value] of Object.entries(fields)) {
      await page.$eval(`#ask-${name}`, (one, value) => {
        if (one.type === 'checkbox') one.checked = value;
        else one.value = value;
      }, value);
    }
    await page.click('#panel-ask form [type=submit]');
    await page.waitForSelector('#code');
    // What is shown is read at once, and goes before the next question.
    return page.evaluate(() => {
      const shown = [...document.querySelectorAll('.results .sk')].map((one) => one.textContent);
      const codes = Object.fromEntries([...document.querySelectorAll('.codes [role=tab]')].map((tab) => {
        tab.click();
        return [tab.dataset.language, document.getElementById('code').textContent];
      }));
      document.querySelector('.answer').replaceChildren();
      return { shown, codes };
    });
  };
  const questions = [
    ['below', { id: 'D', from: '1', to: '98' }], ['below', { id: 'D', from: '2', to: '2', strong: true }], ['children', { id: 'V', descending: true, strong: false }], ['path', { id: 'D', path: 'V' }],
    ['ancestors', { id: odd }], ['record', { id: odd, strong: true }], ['newest', { id: 'D', topic: 'Audit', strong: false }], ['latest', { id: 'D' }],
    ['history', { id: 'D', descending: false }], ['links', { id: 'mouse', attribute: 'product' }], ['roots'], ['trash'],
  ];
  const asked = [];
  for (const question of questions) asked.push(await answer(...question));
  for (const { codes } of asked) {
    assert.deepEqual(Object.keys(codes), ['key', 'aws', 'boto3', 'js', 'rust', 'curl']);
    for (const [language, code] of Object.entries(codes)) assert.ok(code.length > 20, language);
  }
  assert.deepEqual(asked.map(({ shown }) => shown.length), [2, 1, 1, 2, 1, 1, 1, 1, 2, 1, 2, 0]);
  const env = { ...process.env, AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local', AWS_PAGER: '' };
  const code = (language) => asked.map(({ codes }) => codes[language]);
  /** What each program has found must be what the page shows. */
  const same = (language, found) => assert.deepEqual(found, asked.map(({ shown }) => shown), `${language}\n${code(language).join('\n')}`);
  const [cli, python, javascript, called] = await Promise.all([awsCli(code('aws'), env), boto3(code('boto3'), env), nodeModules(code('js'), env),
    Promise.all(code('curl').map((line) => printed('bash', ['-c', `${line} --silent --fail-with-body`], { env })))]);
  same('aws', cli.map((found) => (found.Items ?? [found.Item].filter(Boolean)).map((item) => item.SK.S)));
  same('boto3', python);
  same('js', javascript);
  assert.deepEqual(called.map((text) => JSON.parse(text)).map((body) => body.items?.length ?? 1), [2, 1, 1, 2, 2, 1, 1, 1, 2, 1, 2, 0]);
  // The compiler has seen the code for Rust: infra/cli/tests/cli/asked.rs includes this file.
  const names = questions.map(([kind], at) => `${kind}_${at}`);
  const file = path.join(root, 'tests/explorer/asked.rs');
  const rust = `// What the explorer's Ask panel shows for Rust, of every form of question.\n// \`SAPWOOD_WRITE=1 .ci/explorer question\` writes it anew.\n${
    code('rust').map((one, at) => `\nasync fn ${names[at]}() -> Result<(), Box<dyn std::error::Error>> {\n${one.replaceAll(server.dynamodb, 'http://127.0.0.1:8000')}Ok(())\n}\n`).join('')}`;
  if (process.env.SAPWOOD_WRITE) writeFileSync(file, rust);
  assert.equal(readFileSync(file, 'utf8'), rust, 'tests/explorer/asked.rs has other code than the page shows');
  await leave(page);
  await stop(server);
}, { isLong: true });

/** What the AWS CLI finds: a shell takes the lines apart, and the CLI carries them out in one process, because each takes a second to begin. */
async function awsCli(lines, env) {
  const words = (await printed('bash', ['-c', `aws() { printf '%s\\0' "$@"; printf '\\n\\0'; }\n${lines.join('\n')}`], { env })).split('\n\0').slice(0, -1).map((one) => one.split('\0').slice(0, -1));
  const program = `import json, sys
from awscli.clidriver import create_clidriver
driver = create_clidriver()
for words in json.loads(sys.argv[1]):
    assert driver.main(words + ["--output", "json"]) == 0, words
    print("----", flush=True)
`;
  const out = await printed(`${root}/.cache/awscli/bin/python`, ['-c', program, JSON.stringify(words)], { env });
  return out.split('----\n').slice(0, -1).map((text) => (text.trim() ? JSON.parse(text) : {}));
}

/** The sort keys that the code for boto3 prints. */
async function boto3(codes, env) {
  const program = codes.map((code) => `exec(${JSON.stringify(code)})\nprint("----")\n`).join('');
  const out = await printed(`${root}/.cache/ministack/bin/python`, ['-c', program], { env });
  return out.split('----\n').slice(0, -1).map((text) => [...text.matchAll(/'SK': ('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")/g)].map(([, literal]) => unquoted(literal)));
}

/** A literal of Python's that has only escapes that JavaScript has, too. */
const unquoted = (literal) => JSON.parse(`"${literal.slice(1, -1).replace(/\\(.)|"/g, (all, escaped) => (escaped === "'" ? "'" : all === '"' ? '\\"' : all))}"`);

/** The sort keys that the code for JavaScript prints, each a module of its own in one process. */
async function nodeModules(codes, env) {
  // Beside the SDK, where a module's imports are looked for.
  const directory = mkdtempSync(path.join(root, '.cache/explorer/asked-'));
  try {
    codes.forEach((code, at) => writeFileSync(path.join(directory, `${at}.mjs`), code));
    const program = `console.log = (found) => process.stdout.write(JSON.stringify([found].flat().filter(Boolean).map((item) => item.SK)) + '\\n');
for (let at = 0; at < ${codes.length}; at += 1) await import('./' + at + '.mjs');`;
    writeFileSync(path.join(directory, 'all.mjs'), program);
    return (await printed(process.execPath, [path.join(directory, 'all.mjs')], { env })).trim().split('\n').map((line) => JSON.parse(line));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test('a server that goes and comes back is waited for, and what changed meanwhile is shown', async () => {
  const data = mkdtempSync(path.join(tmpdir(), 'explorer-'));
  const first = await dev('--data', data);
  await create(first, [['stays', null, { name: 'Stays' }]]);
  const page = await visit(chromium, first.page);
  await page.waitForSelector('#node .derived');
  await stop(first, 'SIGKILL');
  await until('it is said', () => page.$eval('#lost', (one) => !one.hidden && /doesn't answer/.test(one.textContent)));
  const again = await dev('--data', data, '--http', new URL(first.page).host);
  await create(again, [['new', null, { name: 'New' }]]);
  await until('it is back', () => page.$eval('#lost', (one) => one.hidden));
  await until('what is new', async () => (await drawn(page)).join() === 'New,Stays');
  await api(again, 'PATCH', '/nodes/stays', { attributes: { name: 'Renamed' } });
  await until('events come again', async () => (await drawn(page)).join() === 'New,Renamed');
  await leave(page);
  assert.equal(await stop(again), 0, 'an open page holds nobody up who stops the server');
  rmSync(data, { recursive: true });
});

test('the handler is killed, gets records twice and late, rows are damaged, and all ends right', async () => {
  const server = await dev('--example', 'folders');
  const page = await visit(chromium, `${server.page}?node=V&view=trust`);
  await page.waitForSelector('#node .derived');
  const trial = async (name, target) => {
    await page.click(`#panel-trust input[value=${name}]`);
    await page.$eval('#trial-target', (one, value) => {
      one.value = value;
    }, target);
    await page.click('#panel-trust form [type=submit]');
    await until(`${name} ends right`, async () => /whole table was compared.*No difference: \d+ items/s.test(await text(page, '#panel-trust .panel > .card:last-child')));
    return text(page, '#panel-trust .panel > .card:last-child');
  };
  assert.match(await trial('kill', 'III'), /died after 1 write.*died after 2 writes.*died after 3 writes/s);
  assert.match(await trial('twice', 'IV'), /delivered again/);
  // On a slow machine a page may look at the node too late, so it gets more than one chance.
  let lags = false;
  for (const target of ['D', 'C', 'D']) {
    const held = trial('hold-back', target);
    lags = await until('rows lag', async () => /of an earlier place/.test(await text(page, '#node')), 12_000).then(() => true, () => false);
    if (lags) assert.match(await text(page, '#node .card.base'), new RegExp(`parent${target}`), 'the base record is right at once');
    assert.match(await held, /held back/);
    if (lags) break;
  }
  assert.ok(lags, 'rows of an earlier place were shown');
  // Rows that come at once, as those of a node whose handler dies, may have come between two looks.
  const lagging = await page.$$eval('.chart span:not(.none)', (all) => all.length);
  assert.ok(lagging > 0, 'rows were seen to lag');
  for (const button of ['Delete a row', 'Change a row']) {
    await page.evaluate((button) => [...document.querySelectorAll('#panel-trust button')].find((one) => one.textContent === button).click(), button);
    await until('it is found', async () => /1 difference in.*row-(missing|wrong)/s.test(await text(page, '#panel-trust .panel > .card:last-child')));
    await page.evaluate(() => [...document.querySelectorAll('#panel-trust button')].find((one) => one.textContent === 'Repair').click());
    await until('it is mended', async () => /No difference/.test(await text(page, '#panel-trust .panel > .card:last-child')));
  }
  await page.click('#tab-check');
  await page.waitForSelector('#panel-check button');
  await page.evaluate(() => [...document.querySelectorAll('#panel-check button')].find((one) => /whole table/.test(one.textContent)).click());
  await until('the comparison', async () => /No difference: \d+ items/.test(await text(page, '#panel-check')));
  await leave(page);
  await stop(server);
}, { isLong: true });

/** The rows and lineages of a table, as far as they say where nodes stand. */
async function standing(server) {
  const { Items } = await dynamodb(server, 'Scan', { TableName: 'sapwood', ConsistentRead: true });
  const isRow = ({ SK: { S: sk } }) => /^(NODE#|PATH#|CHILD#|ROOT#|ORDERED#)/.test(sk);
  const place = ({ ancestors, path }) => ({ ancestors, path });
  const rows = Items.filter((item) => isRow(item) || item.SK.S === 'LINEAGE').map((item) => [`${item.PK.S}|${item.SK.S}`, JSON.stringify(isRow(item) ? Object.entries(item).sort() : place(item))]);
  return { rows: new Map(rows.sort()), records: Items.filter((item) => item.SK.S === 'NODE').sort((a, b) => (a.PK.S < b.PK.S ? -1 : 1)) };
}

test('as many items lag as a scan counts while a move of 40 nodes waits, damage has a button, and the page then asks for nothing', async () => {
  const id = (n) => `${String(n).padStart(8, '0')}-3b1d-4a6f-9c2e-5d8a1b7c0e11`;
  const name = (n) => ({ name: `Quarterly figures of all regions, revised by the auditors, part ${n}` });
  const server = await dev();
  // A root, another, and a node with 39 below it, in three levels.
  await create(server, [[id(0), null, name(0)], [id(1), null, name(1)], [id(2), id(0), name(2)], ...Array.from({ length: 39 }, (_, n) => [id(n + 3), id(n < 6 ? 2 : 3 + (n % 6)), name(n + 3)])]);
  const page = await visit(chromium, `${server.page}?node=${id(2)}&view=trust`);
  await page.waitForSelector('#node .derived');
  await page.click('#panel-trust input[value=hold-back]');
  await page.type('#trial-target', id(1));
  await page.click('#panel-trust form [type=submit]');
  const bars = () => page.$$eval('.chart > span', (all) => all.map((one) => Number(one.dataset.all)));
  const hasEnded = async () => /whole table was compared.*No difference: \d+ items/s.test(await text(page, '#panel-trust .panel > .card:last-child'));
  // A record has its attributes in any order.
  const ofMoment = ({ rows, records }) => JSON.stringify([...rows, ...records.map(({ PK, parent, name }) => [PK.S, parent?.S, name?.S])]);
  const moments = [];
  const moment = async () => {
    await until('a moment at which nothing moves', async () => {
      const before = await standing(server);
      // A look that has begun by then is over, and so is the next.
      const first = (await bars()).length;
      await until('two looks, or the last', async () => (await bars()).length >= first + 2 || hasEnded());
      const shown = { all: (await bars()).at(-1), words: await text(page, '#panel-trust .panel > .card:last-child > p') };
      const after = await standing(server);
      const isSame = ofMoment(before) === ofMoment(after);
      return isSame && moments.push({ ...before, shown });
    });
  };
  await until('the move is written', async () => /is written/.test(await text(page, '.steps')));
  await moment();
  await api(server, 'PATCH', `/nodes/${id(9)}`, { attributes: { name: 'Renamed while the stream waits' } });
  await moment();
  await api(server, 'PATCH', `/nodes/${id(4)}`, { parent: id(0) });
  await moment();
  await until('it ends right', hasEnded);
  assert.equal((await bars()).at(-1), 0);
  // What the base records of each moment ask for is what another table makes of them.
  for (const { rows, records, shown } of moments) {
    const other = await dev();
    for (let at = 0; at < records.length; at += 25) await dynamodb(other, 'BatchWriteItem', { RequestItems: { sapwood: records.slice(at, at + 25).map((Item) => ({ PutRequest: { Item } })) } });
    const wanted = await until('the rows', async () => {
      const { items, wrong, moving } = await (await fetch(`${other.page}/data/verify`)).json();
      const { rows } = await standing(other);
      return items > 0 && wrong + moving === 0 && rows.size > records.length * 3 && rows;
    });
    const put = [...wanted.keys()].filter((key) => !rows.has(key)).length;
    const gone = [...rows.keys()].filter((key) => !wanted.has(key)).length;
    const change = [...wanted].filter(([key, item]) => rows.has(key) && rows.get(key) !== item).length;
    assert.equal(shown.all, put + gone + change, shown.words);
    const parts = [[put, 'to put'], [gone, 'to delete'], [change, 'to change']].filter(([number]) => number).map(([number, words]) => `${number} ${words}`);
    if (shown.all) assert.ok(shown.words.startsWith(`${shown.all} items lag: ${parts.join(', ')}. The records come`), shown.words);
    console.log(`  ${shown.words}`);
    await stop(other);
  }
  assert.ok(moments[0].shown.all > 100, moments[0].shown.words);
  // Nothing tells the handler of a row that somebody has deleted: no lag, but damage.
  await page.evaluate(() => [...document.querySelectorAll('#panel-trust button')].find((one) => one.textContent === 'Delete a row').click());
  await until('the damage', async () => /no change is under way/.test(await text(page, '#damage')), 40_000);
  for (const other of [0, 2, 1, 2, 0, 2]) await page.evaluate((id) => document.querySelector('#node') && import('/explorer/base.js').then(({ tell }) => tell('go', id)), id(other));
  await until('the damage again', async () => /no change is under way/.test(await text(page, '#damage')), 40_000);
  await until('nothing is under way, and nothing is asked', async () => {
    const before = page.asked.length;
    await wait(12_000);
    return page.asked.length === before;
  });
  await page.click('#damage button');
  await until('it is mended', async () => (await page.$('#damage')) === null && (await page.$('#behind')) === null);
  await leave(page);
  await stop(server);
}, { isLong: true });

test('from 320 to 1,600 pixels, light and dark, nothing is cut off, and axe-core finds nothing', async () => {
  const server = await dev('--example', 'audits');
  for (const scheme of ['light', 'dark']) {
    const page = await visit(chromium, `${server.page}?node=Equipment_1`, { scheme });
    await page.waitForSelector('#node .derived');
    await page.setBypassCSP(true);
    await page.reload({ waitUntil: 'domcontentloaded' });
    await page.waitForSelector('#node .derived');
    await page.click('.topics button[aria-pressed]');
    await page.waitForSelector('.topics tr.changed');
    await page.addScriptTag({ path: axe });
    // What isn't a matter of colours is the same in the dark.
    const rules = scheme === 'dark' ? { runOnly: { type: 'rule', values: ['color-contrast'] } } : {};
    const judge = async (what) => {
      const found = await page.evaluate((rules) => globalThis.axe.run(document, { resultTypes: ['violations'], ...rules }), rules);
      assert.deepEqual(found.violations.map((one) => `${what}: ${one.id}: ${one.nodes.map((node) => `${node.html} ${node.failureSummary}`).join(' | ')}`), []);
    };
    for (const width of [320, 700, 1600]) {
      await page.setViewport({ width, height: 800 });
      for (const pane of ['tree', 'node', 'side']) {
        if (width < 1000 && pane !== 'side' && (pane !== 'node' || width < 640)) await page.click(`[data-to=${pane}]`);
        for (const view of pane === 'side' ? ['live', 'watch', 'ask', 'check', 'trust'] : ['']) {
          if (view) await page.click(`#tab-${view}`);
          if (view === 'watch') await page.waitForSelector('#panel-watch pre');
          if (view === 'ask') {
            await page.waitForSelector('#panel-ask form');
            await page.click('#panel-ask form [type=submit]');
            await page.waitForSelector('#code');
          }
          const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          assert.ok(wide <= 0, `${scheme}, ${width} px, ${pane} ${view}: ${wide} px too wide`);
          if (width !== 700) await judge(`${scheme}, ${width} px, ${pane} ${view}`);
        }
      }
    }
    await page.click('#tools button:nth-child(4)');
    await page.waitForSelector('dialog[open]');
    await judge(`${scheme}, a dialog`);
    await press(page, 'Escape');
    await (await row(page, 'Equipment_1')).focus();
    await press(page, 'Shift+F10');
    await page.waitForSelector('[role=menu]');
    await judge(`${scheme}, the menu`);
    await press(page, 'Escape');
    await press(page, 'Control+x');
    await page.waitForSelector('dialog[open]');
    await press(page, 'Control+a');
    await page.keyboard.type('Plant');
    await page.waitForSelector('dialog [role=option]');
    await judge(`${scheme}, a picker`);
    await press(page, 'Escape', 'Escape');
    await noDialog(page);
    await press(page, 'Control+k');
    await page.keyboard.type('Plant');
    await page.waitForSelector('#found [role=option]');
    await judge(`${scheme}, what is found`);
    await page.browserContext().close();
  }
  await stop(server);
}, { isLong: true });

test('`sapwood explore` reads with its token, writes with --write alone, and answers nobody else', async () => {
  const server = await dev('--example', 'folders');
  const [reading, writing] = await Promise.all([explore('--endpoint', server.dynamodb), explore('--endpoint', server.dynamodb, '--write')]);
  const call = (server, target, options = {}) => raw(server.http + target, { ...options, headers: { 'x-sapwood-explorer': server.token, ...options.headers } });
  assert.equal((await raw(`${reading.http}/nodes/D`)).status, 403, 'without a token');
  assert.equal((await raw(`${reading.http}/explorer/data/start`)).status, 403);
  assert.equal((await raw(`${reading.http}/nodes/D`, { headers: { 'x-sapwood-explorer': writing.token } })).status, 403, "with another's");
  assert.equal((await call(reading, '/nodes/D')).status, 200);
  assert.equal((await call(reading, '/nodes/D', { headers: { host: 'evil.example' } })).status, 403);
  assert.equal((await call(reading, '/explorer', { headers: { host: 'evil.example' } })).status, 403);
  assert.equal((await call(reading, '/explorer/data/start', { headers: { origin: 'http://evil.example' } })).status, 403);
  const write = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"id": "made"}' };
  const refused = await call(reading, '/nodes', write);
  assert.equal(refused.status, 403);
  assert.match(refused.text, /--write/);
  for (const target of ['trial', 'mend']) assert.equal((await call(writing, `/explorer/data/${target}`, { ...write, body: '{"trial": "kill"}' })).status, 404);
  const page = await visit(chromium, reading.page);
  await page.waitForSelector('#node .derived');
  assert.equal(new URL(page.url()).hash, '', 'the token has left the address');
  assert.equal(await page.$('#tools button'), null);
  assert.match(await text(page, '#where'), /reads only/);
  await until('its state', async () => /rows are as its record asks/.test(await text(page, '#panel-state')));
  await leave(page);
  const other = await visit(chromium, writing.page);
  await expand(other, 'C');
  await (await row(other, 'II')).focus();
  await press(other, 'F2');
  await other.waitForSelector('[role=treeitem] input');
  await other.keyboard.type('Folder 2');
  await press(other, 'Enter');
  await until('the name', async () => (await drawn(other)).includes('  Folder 2'));
  await leave(other);
  assert.equal(await stop(reading), 0);
  assert.equal(await stop(writing), 0);
  await stop(server);
});

test('pages of other origins, and other hosts, get nothing from `sapwood dev`', async () => {
  const server = await dev('--parameter', 'CorsOrigins=*');
  for (const headers of [{ host: 'evil.example' }, { origin: 'http://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
    for (const target of ['', '/app.js', '/data/start', '/data/live']) {
      assert.equal((await raw(`${server.page}${target}`, { headers })).status, 403, `${JSON.stringify(headers)} ${target}`);
    }
  }
  const order = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{"trial": "kill"}' };
  assert.equal((await raw(`${server.page}/data/trial`, order)).status, 415, 'a form sends no JSON');
  assert.equal((await raw(`${server.page}/nothing`)).status, 404);
  await stop(server);
});

test('a level of 1,000 children comes in pages, and all of it can be in view', async () => {
  const server = await dev('--parameter', 'PathRows=off', '--mapping', 'ParallelizationFactor=4');
  await put(server, [['wide', null], ...Array.from({ length: 1000 }, (_, n) => [`c${String(n).padStart(4, '0')}`, 'wide'])]);
  await until('all rows', async () => (await api(server, 'GET', '/nodes/wide/count')).count === 1000);
  const page = await visit(chromium, server.page);
  const begun = Date.now();
  await expand(page, 'wide');
  const first = Date.now() - begun;
  assert.ok((await drawn(page)).length <= 102, 'nothing is loaded before it is looked at');
  // The level is read again, because a child has changed, while its next pages are on their way: nothing is lost.
  await page.evaluate(() => {
    const [real, held] = [globalThis.fetch, []];
    Object.assign(globalThis, { held, holds: /^$/, fetch: async (url, options) => {
      const answer = await real(url, options);
      if (globalThis.holds.test(url)) await new Promise((go) => held.push(go));
      return answer;
    } });
  });
  const hold = (pattern) => page.evaluate((pattern) => {
    globalThis.holds = new RegExp(pattern);
  }, pattern);
  const held = (count, meanwhile) => until(`${count} held`, async () => {
    await meanwhile?.();
    return page.evaluate((count) => globalThis.held.length === count, count);
  });
  const release = (at) => page.evaluate((at) => globalThis.held[at](), at);
  const scroll = () => page.evaluate(() => [...document.querySelectorAll('[data-more]')].at(-1)?.scrollIntoView());
  await hold('level\\?id=wide&to=');
  await api(server, 'PATCH', '/nodes/c0000', { attributes: { name: 'First' } });
  await held(1);
  await hold('^$');
  await until('the second page', async () => {
    await scroll();
    return (await drawn(page)).length > 200;
  });
  await hold('after=');
  // The next page may be on its way already.
  await held(2, scroll);
  await hold('^$');
  await release(0);
  await until('what has changed', async () => (await drawn(page)).includes('  First'));
  await release(1);
  await until('all', async () => {
    await scroll();
    const { length } = await drawn(page);
    if (length !== 1001) throw new Error(`${length} rows, and said: ${await text(page, '#said')}`);
    return true;
  });
  console.log(`  a level of 1,000: ${first} ms to its first page, ${Date.now() - begun} ms to all`);
  await page.type('#find', 'c0500');
  await press(page, 'Enter');
  await until('it is found', () => page.evaluate(() => document.getElementById('node').dataset.of === 'c0500'));
  await leave(page);
  await stop(server);
}, { isLong: true });

liveTests(test, () => chromium);

// ---- Running them ----

const words = process.argv.slice(2);
const wanted = tests.filter(({ name }) => words.every((word) => name.includes(word)));
const begun = Date.now();
let failed = 0;
chromium = await browser();
folders = await dev('--example', 'folders');

/** Tests that run at a time. Most of their time they wait. */
const AT_ONCE = 3;
const queue = [...wanted.filter((one) => one.isLong), ...wanted.filter((one) => !one.isLong)];
await Promise.all(Array.from({ length: AT_ONCE }, async () => {
  for (let one = queue.shift(); one; one = queue.shift()) {
    const from = Date.now();
    try {
      await one.act();
      console.log(`ok      ${one.name} (${((Date.now() - from) / 1000).toFixed(1)} s)`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED  ${one.name}\n${error.stack}`);
    }
  }
}));
await chromium.close();
stopAll();
console.log(`test result: ${failed ? 'FAILED' : 'ok'}. ${wanted.length - failed} passed; ${failed} failed; finished in ${((Date.now() - begun) / 1000).toFixed(1)}s`);
process.exit(failed ? 1 : 0);
