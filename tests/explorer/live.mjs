// Tests of the right side of the explorer: changes and what they cause, rows that lag, questions, and what an example shows first.
import assert from 'node:assert/strict';
import { api, create, dev, drawn, dynamodb, leave, row, stop, text, until, visit, wait } from './stack.mjs';

const id = (n) => `${String(n).padStart(8, '0')}-3b1d-4a6f-9c2e-5d8a1b7c0e11`;
const name = (n) => ({ name: `Quarterly figures of all regions, revised by the auditors, part ${n}` });

/** A root with three nodes: one with five below it, one with two, and one without. */
const TREE = [[0, null], [1, 0], [2, 0], [3, 0], [4, 1], [5, 1], [6, 4], [7, 4], [8, 4], [9, 2], [10, 9]].map(([n, parent]) => [id(n), parent === null ? null : id(parent), name(n)]);
const BELOW = { 1: [1, 4, 5, 6, 7, 8].map(id), 2: [2, 9, 10].map(id) };

const isRow = ({ SK: { S: sk } }) => /^(NODE#|PATH#|CHILD#|ROOT#|ORDERED#|TRASH#|LINK#)/.test(sk);

/** The rows of the table, by key: of which node each is, and all of it. */
async function rows(server) {
  const { Items } = await dynamodb(server, 'Scan', { TableName: 'sapwood', ConsistentRead: true });
  return new Map(Items.filter(isRow).map((item) => [`${item.PK.S}|${item.SK.S}`, { of: item._id?.S, text: JSON.stringify(Object.entries(item).sort()) }]));
}

/** How many rows of nodes came or changed, and how many went. */
function differences(before, after, nodes) {
  const put = [...after].filter(([key, { of, text }]) => nodes.includes(of) && before.get(key)?.text !== text).length;
  const deleted = [...before].filter(([key, { of }]) => nodes.includes(of) && !after.has(key)).length;
  return { put, deleted };
}

const order = async (server, body) => {
  const answer = await fetch(`${server.page}/data/trial`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  assert.equal(answer.status, 200);
};

/** The stories: their headlines, and what they came to. */
const stories = (page) => page.$$eval('.story', (all) => all.map((one) => ({ titles: [...one.querySelectorAll('.headline')].map((line) => line.textContent), sum: one.querySelector('.sum').textContent })));

/** The stories, once no record waits and nothing lags any more. */
async function ended(page, server, count) {
  await until(`${count} stories, ended`, async () => {
    const all = await stories(page);
    const { lag } = await (await fetch(`${server.page}/data/lag`)).json();
    if (all.length === count && lag.put + lag.delete + lag.change === 0 && all.every(({ sum }) => /units/.test(sum) && !/to handle|held back/.test(sum))) return true;
    throw new Error(JSON.stringify(all));
  });
  // The last rows are read after they are written.
  await wait(1000);
  return stories(page);
}

async function listening(page) {
  await until('the stream of events', () => page.asked.some((one) => one.url.endsWith('/data/live')));
  await wait(500);
}

export function liveTests(test, chromium) {
  test('a change has one headline, with what came of it, and unfolds into invocations and keys of one line', async () => {
    const server = await dev();
    await create(server, TREE);
    const page = await visit(chromium(), `${server.page}?node=${id(1)}`);
    await listening(page);
    const before = await rows(server);
    await api(server, 'PATCH', `/nodes/${id(1)}`, { parent: id(3) });
    const [story] = await ended(page, server, 1);
    const { put, deleted } = differences(before, await rows(server), BELOW[1]);
    assert.ok(put > 15 && deleted > 10, `${put}, ${deleted}`);
    assert.deepEqual(story.titles, [`${name(1).name} → ${name(3).name}`]);
    assert.match(story.sum, new RegExp(`^6 nodes, ${put} rows put, ${deleted} deleted, [\\d.]+ units, [\\d.]+\\ss$`));
    // Its units are those of its invocations.
    await page.click('.story > details > summary');
    const steps = () => page.$$eval('.invocations > li', (all) => all.map((one) => one.textContent));
    await until('its invocations', async () => (await steps()).length >= 3);
    assert.match((await steps())[0], new RegExp(`^${id(1)}\\|NODEput its rows where its record wants them:`));
    assert.ok((await steps()).some((one) => /LINEAGE.*hand its lineage down to its children:2 children touched/.test(one)), (await steps()).join('\n'));
    const all = (await steps()).map((one) => Number(one.match(/([\d.]+) units/)[1])).reduce((sum, one) => sum + one, 0);
    assert.ok(Math.abs(all - Number(story.sum.match(/([\d.]+) units/)[1])) < 0.5, `${all}: ${story.sum}`);
    for (const summary of await page.$$('.invocations summary')) await summary.click();
    const keys = await page.$$eval('.invocations details .line', (all) => all.map((one) => one.textContent));
    assert.equal(keys.filter((one) => one.startsWith('+')).length, put, keys.join('\n'));
    assert.equal(keys.filter((one) => one.startsWith('−')).length, deleted, keys.join('\n'));
    assert.ok(keys.includes(`+ ${id(3)}|NODE#0001#${id(1)}`), keys.join('\n'));
    for (const width of [320, 768, 1280]) {
      await page.setViewport({ width, height: 800 });
      if (width < 1000) await page.evaluate(() => import('/explorer/base.js').then(({ showPane }) => showPane('side')));
      const heights = await page.$$eval('.invocations .line, .headline', (some) => some.map((one) => one.getBoundingClientRect().height));
      assert.ok(Math.max(...heights) < 30 && Math.min(...heights) > 8, `${width}: ${heights}`);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width}: wider than the window`);
    }
    // A rename, a new node, and one that is deleted have one each. Nothing is said first that says nothing.
    await api(server, 'PATCH', `/nodes/${id(5)}`, { attributes: { name: 'Renamed' } });
    await ended(page, server, 2);
    await api(server, 'POST', '/nodes', { id: id(20), parent: id(5), attributes: { name: 'Another' } });
    await ended(page, server, 3);
    await api(server, 'DELETE', `/nodes/${id(4)}?children=delete`);
    const found = await ended(page, server, 4);
    assert.deepEqual(found.map(({ titles }) => titles), [[`${name(4).name} deleted`], ['Another added below Renamed'], [`${name(5).name} renamed Renamed`], story.titles]);
    assert.match(found[0].sum, /^4 nodes, \d+ rows deleted, /);
    await leave(page);
    await stop(server);
  }, { isLong: true });

  test('of changes at once each has the rows that it caused, and where that can not be told they are told together', async () => {
    const server = await dev();
    await create(server, TREE);
    const page = await visit(chromium(), server.page);
    await listening(page);
    let before = await rows(server);
    // The records wait together, so that both moves are in one batch, and a rename within one of them.
    await order(server, { trial: 'hold-back' });
    await api(server, 'PATCH', `/nodes/${id(1)}`, { parent: id(3) });
    await api(server, 'PATCH', `/nodes/${id(2)}`, { parent: id(3) });
    await until('both wait', async () => (await stories(page)).length === 2 && (await stories(page)).every(({ sum }) => /held back|to handle/.test(sum)));
    let found = await ended(page, server, 2);
    let after = await rows(server);
    for (const [n, at] of [[1, 1], [2, 0]]) {
      const { put, deleted } = differences(before, after, BELOW[n]);
      assert.deepEqual(found[at].titles, [`${name(n).name} → ${name(3).name}`]);
      assert.match(found[at].sum, new RegExp(`^${BELOW[n].length} nodes, ${put} rows put, ${deleted} deleted, [\\d.]+ units.*`));
    }
    assert.ok(found.some(({ sum }) => /together with other changes/.test(sum)), JSON.stringify(found));
    // One node is moved twice before the handler comes to it: nobody can tell which move a row is of.
    before = after;
    await order(server, { trial: 'hold-back' });
    await api(server, 'PATCH', `/nodes/${id(1)}`, { parent: id(0) });
    await api(server, 'PATCH', `/nodes/${id(1)}`, { parent: id(9) });
    found = await ended(page, server, 3);
    after = await rows(server);
    const { put, deleted } = differences(before, after, BELOW[1]);
    assert.deepEqual(found[0].titles, [`${name(1).name} → ${name(0).name}`, `together with ${name(1).name} → ${name(9).name}`]);
    assert.match(found[0].sum, new RegExp(`^6 nodes, ${put} rows put, ${deleted} deleted, `));
    // Killed in the middle: what was written before counts all the same.
    before = after;
    await order(server, { trial: 'kill' });
    await api(server, 'PATCH', `/nodes/${id(1)}`, { parent: id(3) });
    found = await ended(page, server, 4);
    const killed = differences(before, await rows(server), BELOW[1]);
    assert.match(found[0].sum, new RegExp(`^6 nodes, ${killed.put} rows put, ${killed.deleted} deleted, .*killed 3 times$`));
    await leave(page);
    await stop(server);
  }, { isLong: true });

  test('a bar shows the rows that still lag, as many as a scan counts, and what nothing will repair has a button', async () => {
    const server = await dev();
    await create(server, TREE);
    const page = await visit(chromium(), `${server.page}?node=${id(1)}`);
    await listening(page);
    assert.equal(await page.$eval('.lags', (one) => one.hidden), true, 'nothing has happened yet');
    await order(server, { trial: 'hold-back' });
    await api(server, 'PATCH', `/nodes/${id(1)}`, { parent: id(3) });
    await until('the bar', async () => {
      const { lag } = await (await fetch(`${server.page}/data/lag`)).json();
      const shown = await page.$eval('.lags', (one) => (one.hidden ? '' : one.textContent));
      return lag.put > 0 && shown === `${lag.put + lag.delete + lag.change} items lag: ${lag.put} to put, ${lag.delete} to delete, ${lag.change} to change.`;
    });
    await until('nothing lags', async () => /Nothing lags/.test(await text(page, '.lags')));
    await wait(1500);
    const asked = page.asked.length;
    await wait(3000);
    assert.equal(page.asked.length, asked, 'nothing is under way, and nothing is asked');
    // A row that somebody has deleted is seen with the next change.
    await order(server, { trial: 'damage', id: id(2), deletes: true });
    await api(server, 'PATCH', `/nodes/${id(5)}`, { attributes: { name: 'Renamed' } });
    await until('the damage', async () => /^1 item is missing or changed, and no change is under way/.test(await text(page, '.lags')));
    await page.click('.lags button');
    await until('it is repaired', async () => /Nothing lags/.test(await text(page, '.lags')) || Promise.reject(new Error(await text(page, '.lags'))), 20_000);
    // The chart of a trial has its time and what its colours say.
    await page.click('#tab-trust');
    await page.waitForSelector('#trial-target');
    await page.type('#trial-target', id(0));
    await page.click('#panel-trust input[value=hold-back]');
    await page.click('#panel-trust form [type=submit]');
    await until('what will happen', async () => /items lag: .*The records come to the handler when the ten seconds are over/.test(await text(page, '#panel-trust .panel > .card:last-child')));
    await until('it ends right', async () => /No difference/.test(await text(page, '#panel-trust .panel > .card:last-child')));
    const [top, bottom] = await page.$$eval('#panel-trust .axis', (all) => all.map((one) => one.textContent));
    const columns = await page.$$eval('.chart > span', (all) => all.map((one) => Number(one.dataset.all)));
    assert.equal(top, `at most ${Math.max(...columns)} items lag`);
    assert.match(bottom, /^0 sto putto deleteto change\d+\.\d s$/);
    await leave(page);
    await stop(server);
  }, { isLong: true });

  test('an example opens on the idea: the tree is open, a node is selected, one sentence, one button that does it', async () => {
    for (const [example, node, tree, moved] of [['folders', 'V', /Drive C,Drive D, {2}Folder III, {2}Folder IV, {2}Folder V/, 'III'], ['audits', 'Equipment_1', /Plant 1, {2}Equipment 1, {2}Equipment 2/, 'Equipment_2'],
      ['orders', 'ORDER#98765', / {2}Order of 27 October/, 'CUSTOMER#67890'], ['locations', 'USA#NY', / {2}NY/, 'FRANCE']]) {
      const server = await dev('--example', example);
      const page = await visit(chromium(), server.page);
      await page.waitForSelector('#idea button');
      await wait(500);
      assert.match((await drawn(page)).join(), tree);
      assert.equal(await page.$eval('#node', (one) => one.dataset.of), node);
      assert.equal(await (await row(page, node)).evaluate((one) => one.getAttribute('aria-selected')), 'true');
      assert.ok(page.asked.length <= 10, page.asked.map(({ url }) => url).join('\n'));
      assert.equal(await page.$('#panel-live dd'), null, 'no figures of nothing');
      if (example === 'audits') assert.match(await text(page, '.topics h3'), /^2 topics$/);
      for (const width of [375, 768, 1600]) {
        await page.setViewport({ width, height: 800 });
        const { y, bottom } = await page.$eval('#idea .main', (one) => one.getBoundingClientRect().toJSON());
        assert.ok(y > 0 && bottom < 400, `${width}: ${y}`);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width}: wider than the window`);
      }
      assert.match(await text(page, '#idea'), /^You write one record: .*The stream handler then writes the rows of it.*Move .* below .* and watch its rows follow✕$/);
      await page.click('#idea .main');
      await until('the move', async () => (await api(server, 'GET', `/nodes/${node.replaceAll('#', '~23')}`)).parent === moved);
      const [{ titles }] = await ended(page, server, 1);
      assert.match(titles[0], / → /);
      assert.equal(await page.$('#idea'), null);
      await leave(page);
      await stop(server);
    }
    // Nodes that come when the page is there are shown.
    const server = await dev();
    const page = await visit(chromium(), server.page);
    await listening(page);
    assert.match(await text(page, '#node'), /Nothing here yet/);
    await create(server, TREE);
    await until('a node is shown', async () => (await page.$eval('#node', (one) => one.dataset.of)) === id(0));
    assert.doesNotMatch(await text(page, '#node'), /Nothing here yet/);
    await leave(page);
    await stop(server);
  }, { isLong: true });

  test('a question is answered by a table that can be copied, and an unknown node is said to be one', async () => {
    const server = await dev();
    await create(server, [...TREE, [id(30), id(3), { name: 'with "quotes", and\nlines', size: 12 }]]);
    const page = await visit(chromium(), `${server.page}?node=${id(0)}&view=ask`);
    await page.browserContext().overridePermissions(new URL(server.page).origin, ['clipboard-read', 'clipboard-write', 'clipboard-sanitized-write']);
    await page.bringToFront();
    await page.waitForSelector('#ask-kind');
    const ask = () => page.click('#panel-ask form [type=submit]');
    await page.select('#ask-kind', 'below');
    await ask();
    await page.waitForSelector('.results');
    const table = await page.$$eval('.results tr', (all) => all.map((line) => [...line.children].map((cell) => cell.textContent)));
    assert.deepEqual(table[0].slice(0, 4), ['SK', 'name', 'parent', 'size']);
    assert.equal(table[0].at(-1), 'bytes');
    assert.equal(table.length - 1, 7);
    const one = table.find((line) => line[0] === `▸ NODE#0002#${id(30)}`);
    assert.equal(one[3], '12');
    assert.ok(Number(one.at(-1)) > 100);
    assert.match(await text(page, '.answer .question'), /^One Query: 1 request, [\d.]+ read units?, [\d,]+ bytes\. PK: 00000000-3b1d/);
    const lines = await page.$$eval('.results tbody tr', (all) => all.map((line) => line.getBoundingClientRect().height));
    assert.ok(Math.max(...lines) < 36, `${lines}`);
    await page.click('.results .twist');
    assert.match(await text(page, '.results .whole'), /_parent/);
    const copied = async (label) => {
      await page.evaluate((label) => [...document.querySelectorAll('.answer button')].find((button) => button.textContent === label).click(), label);
      await until('it is copied', async () => (await page.evaluate(() => navigator.clipboard.readText())).length > 0);
      await wait(200);
      return page.evaluate(() => navigator.clipboard.readText());
    };
    const all = JSON.parse(await copied('Copy JSON'));
    assert.equal(all.length, 7);
    assert.equal(all.find(({ SK }) => SK === `NODE#0002#${id(30)}`).size, 12);
    const csv = await copied('Copy CSV');
    assert.ok(csv.startsWith('PK,SK,name,parent,size,'), csv);
    assert.ok(csv.includes(`${id(0)},NODE#0002#${id(30)},"with ""quotes"", and\nlines",${id(3)},12,`), csv);
    // What isn't there.
    for (const [kind, unknown] of [['below', 'nobody'], ['record', 'nobody'], ['history', 'nobody'], ['history', id(0)]]) {
      await page.select('#ask-kind', kind);
      await page.$eval('#ask-id', (field, value) => {
        field.value = value;
      }, unknown);
      await ask();
      await until(`${kind} of ${unknown}`, async () => /No item answers\./.test(await text(page, '.answer')) && (await text(page, '#code')).includes(`"${unknown}"`));
      if (unknown === 'nobody') await until('it is said', async () => /There is no node with the id nobody\./.test(await text(page, '.answer')));
      else assert.doesNotMatch(await text(page, '.answer'), /There is no node/);
    }
    for (const width of [375, 1024]) {
      await page.setViewport({ width, height: 800 });
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width}: wider than the window`);
    }
    await leave(page);
    await stop(server);
  });
}
