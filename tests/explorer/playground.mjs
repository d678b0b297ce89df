// Drives the playground, one file that is opened from the disk or over HTTP, as a person would. Its last line counts like that of a cargo suite.
// Arguments are words of the names of the tests to run.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { axe, browser, drag, drawn, expand, firefox, keys, leave, press, root, row, select, text, until, visit } from './stack.mjs';

const file = path.join(root, 'target/playground/index.html');
const address = pathToFileURL(file).href;
const tests = [];
const test = (name, act) => tests.push({ name, act });
let chromium;

/** The most bytes of the file, and of the same compressed. */
const BYTES_MAX = 3_000_000;
const PACKED_BYTES_MAX = 1_200_000;

const tab = async (page, name) => {
  await page.click(`#tab-${name}`);
  await page.waitForSelector(`#panel-${name} > *`);
};
/** Presses the button of a panel that has these words. */
const push = (page, panel, words) => until(`the button ${words}`, () => page.$$eval(`#panel-${panel} button`, (all, words) => {
  const one = all.find((one) => one.textContent.includes(words) && !one.disabled);
  one?.click();
  return Boolean(one);
}, words));
const post = (page, target) => page.evaluate((target) => fetch(target, { method: 'POST' }).then(({ status }) => status), target);
/** Waits until nothing lags and the comparison finds nothing. */
const settled = (page) => until('all is right', () => page.evaluate(async () => {
  const badges = document.querySelectorAll('[role=treeitem] .badge:not([hidden])');
  return badges.length === 0;
}));

test('the file is small, and asks for nothing', async () => {
  const bytes = readFileSync(file);
  const packed = gzipSync(bytes, { level: 9 }).length;
  console.log(`  the playground: ${bytes.length} bytes, ${packed} gzipped`);
  assert.ok(bytes.length < BYTES_MAX && packed < PACKED_BYTES_MAX, `${bytes.length}, ${packed}`);
  const page = await visit(chromium, address);
  await page.waitForSelector('#node .derived');
  console.log(`  the first tree was there within ${await page.evaluate(() => Math.round(performance.now()))} ms`);
  assert.deepEqual(page.asked.map(({ url }) => url).filter((url) => !/^(file|data|blob):/.test(url)), []);
  assert.deepEqual(await drawn(page), ['Drive C', 'Drive D', '  Folder III', '  Folder IV', '  Folder V']);
  await leave(page);
});

test('the docs site serves it over HTTP: a move’s rows follow, and the page is all that is asked for', async () => {
  const asked = [];
  const server = http.createServer(({ url }, response) => {
    asked.push(url);
    response.writeHead(200, { 'content-type': 'text/html' }).end(readFileSync(file));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const served = `http://127.0.0.1:${server.address().port}/playground.html`;
  try {
    const page = await visit(chromium, served);
    assert.deepEqual(await drawn(page), ['Drive C', 'Drive D', '  Folder III', '  Folder IV', '  Folder V']);
    await select(page, 'V');
    await drag(page, 'V', 'IV');
    await until('its rows', async () => (await keys(page)).includes('D | NODE#0002#V') && !(await keys(page)).includes('D | NODE#0001#V'));
    await settled(page);
    assert.deepEqual(page.asked.map(({ url }) => url).filter((url) => !/^(data|blob):/.test(url)), [served]);
    // Nor did the browser ask for anything else by itself.
    assert.deepEqual(asked, ['/playground.html']);
    await leave(page);
  } finally {
    server.close();
  }
});

test('a move by drag is seen arriving: the record, the story, the rows', async () => {
  const page = await visit(chromium, address);
  await expand(page, 'D', 'IV');
  await select(page, 'V');
  await drag(page, 'V', 'IV');
  await until('the tree', async () => (await drawn(page)).join('\n') === ['Drive C', 'Drive D', '  Folder III', '  Folder IV', '    Folder V', '    Folder c'].join('\n'));
  await until('its rows', async () => (await keys(page)).includes('D | NODE#0002#V') && !(await keys(page)).includes('D | NODE#0001#V'));
  await page.click('.story summary');
  await until('the story', async () => /\+ IV\|NODE#0001#V/.test(await text(page, '#panel-live .stories')));
  // A cycle is refused.
  await expand(page, 'V');
  await drag(page, 'IV', 'V');
  await until('the refusal', async () => (await row(page, 'V')).evaluate((one) => one.querySelector('.refusal [role=alert]')?.textContent.length > 10));
  await settled(page);
  await leave(page);
});

test('it answers questions, compares itself, and has totals, a trash and an undo', async () => {
  const page = await visit(chromium, address);
  await select(page, 'V');
  await tab(page, 'ask');
  await page.click('#panel-ask [type=submit]').catch(() => {});
  await until('an answer', async () => /NODE#0001#d/.test(await text(page, '#panel-ask')));
  await tab(page, 'check');
  await push(page, 'check', 'whole table');
  await until('a verdict', async () => /No difference: \d+ items/.test(await text(page, '#panel-check')));
  await until('totals', async () => /nodes/.test(await text(page, '#node')));
  await (await row(page, 'V')).focus();
  await press(page, 'Delete');
  await page.waitForSelector('dialog [type=submit]');
  await page.click('dialog [type=submit]');
  await until('it is in the trash', async () => !(await drawn(page)).includes('  Folder V'));
  await page.click('#trash summary');
  await until('the trash lists it', async () => /Folder V/.test(await text(page, '#trash')));
  await leave(page);
});

test('an example of revisions has a history', async () => {
  const page = await visit(chromium, `${address}#example=audits`);
  await expand(page, 'Plant_1');
  await select(page, 'Equipment_1');
  await page.click('.topics button[aria-pressed]');
  await until('the history', async () => /version 3.*v0_Audit.*version 2.*version 1/s.test(await text(page, '.topics')));
  await leave(page);
});

for (const [trial, told] of [['kill', /The handler died after/], ['twice', /delivered again/], ['hold-back', /held back/]]) {
  test(`Break it: ${trial}, and the rows end up right`, async () => {
    const page = await visit(chromium, address);
    await select(page, 'V');
    await tab(page, 'trust');
    await page.click(`#panel-trust [value=${trial}]`);
    await page.type('#trial-target', 'III');
    await page.click('#panel-trust [type=submit]');
    await until('it happened', async () => told.test(await text(page, '#panel-trust .steps')));
    await until('the end', async () => /compared with its base records/.test(await text(page, '#panel-trust .steps')));
    assert.equal(await page.$('#panel-trust .wrong'), null, await text(page, '#panel-trust'));
    await leave(page);
  });
}

test('Break it: a row that was damaged is found by Check, and Repair makes it right', async () => {
  const page = await visit(chromium, address);
  const says = (panel, told) => until(`${panel} says ${told}`, async () => told.test(await text(page, `#panel-${panel}`)));
  await select(page, 'V');
  await tab(page, 'trust');
  await push(page, 'trust', 'Delete a row');
  await says('trust', /was deleted behind.*1 difference in \d+ items/s);
  await page.waitForSelector('#node .missing');
  await tab(page, 'check');
  await push(page, 'check', 'Compare the selected node');
  await says('check', /1 difference in \d+ items/);
  await push(page, 'check', 'Repair');
  await says('check', /No difference: \d+ items/);
  await until('the row is there', async () => await page.$('#node .missing') === null);
  // So it is with a row that was changed, and with the button beside the damage.
  await tab(page, 'trust');
  await push(page, 'trust', 'Change a row');
  await says('trust', /was changed behind.*1 difference in \d+ items/s);
  await push(page, 'trust', 'Repair');
  await says('trust', /No difference: \d+ items/);
  await settled(page);
  await leave(page);
});

test('a race of two clients is right 200 times, and the blog’s code is not', async () => {
  const page = await visit(chromium, address);
  await tab(page, 'playground');
  await page.click('#panel-playground .main');
  const sums = () => page.$$eval('[data-way]', (all) => Object.fromEntries(all.map((one) => [one.dataset.way, [Number(one.dataset.right), Number(one.dataset.wrong)]])));
  const found = await until('200 races', async () => {
    const found = await sums();
    return found.sapwood?.[0] + found.sapwood?.[1] === 200 && found;
  });
  console.log(`  races: Sapwood ${found.sapwood[0]} right, the blog's code ${found.blog[0]} right`);
  assert.deepEqual(found.sapwood, [200, 0]);
  assert.ok(found.blog[1] > 20, `${found.blog}`);
  assert.match(await text(page, '[data-way=blog]'), /but the records say/);
  await leave(page);
});

test('a link has the tree, and whoever opens it sees the same', async () => {
  const page = await visit(chromium, address);
  await expand(page, 'D');
  await settled(page);
  await drag(page, 'V', 'III');
  await until('the move', async () => (await keys(page)).includes('D | NODE#0002#V'));
  assert.ok((await post(page, '/nodes/e/trash')) < 300);
  await tab(page, 'playground');
  await push(page, 'playground', 'link');
  const link = await until('the link', () => page.$eval('#panel-playground input', (one) => one.value));
  assert.ok(link.startsWith(`${address}#tree=`) && link.length < 8192 + address.length, link);
  await leave(page);
  const other = await visit(chromium, link);
  await expand(other, 'D', 'III');
  await until('the tree', async () => (await drawn(other)).includes('    Folder V'));
  await settled(other);
  // What was in the trash comes back there.
  assert.ok((await post(other, '/nodes/e/restore')) < 300);
  await expand(other, 'V');
  await until('e is back', async () => (await drawn(other)).includes('      Folder e'));
  await leave(other);
  const example = await visit(chromium, `${address}#example=orders`);
  await until('the orders', async () => (await drawn(example)).includes('Ada'));
  await leave(example);
});

test('a tree that is too large for a link says so, and has one when it is smaller', async () => {
  const page = await visit(chromium, address);
  // Nothing packs random digits to less than two fifths of their length.
  const note = (digits) => page.evaluate((digits) => {
    const attributes = { note: digits && Array.from({ length: digits }, () => Math.floor(10 * Math.random())).join('') };
    const headers = { 'content-type': 'application/merge-patch+json' };
    return fetch('/nodes/V', { method: 'PATCH', headers, body: JSON.stringify({ attributes }) }).then(({ status }) => status);
  }, digits);
  await tab(page, 'playground');
  assert.equal(await note(20_000), 200);
  await push(page, 'playground', 'link');
  await until('it says so', async () => /too large for a link: [\d,]+ characters, of 8192 at most/.test(await text(page, '#panel-playground')));
  assert.equal(await page.$('#panel-playground input'), null);
  assert.equal(await note(null), 200);
  await push(page, 'playground', 'link');
  await page.waitForSelector('#panel-playground input');
  await leave(page);
});

test('a link that was cut says so, and so does a page that has stopped', async () => {
  const said = (page) => page.$eval('body > [role=alert]', (one) => one.textContent).catch(() => '');
  for (const cut of ['%%%', 'AAAA', 'abcde']) {
    const page = await visit(chromium, `${address}#tree=${cut}`);
    await until('it says so', async () => /damaged or cut/.test(await said(page)));
    await leave(page);
  }
  const page = await visit(chromium, address);
  await page.waitForSelector('#node .derived');
  assert.equal(await page.evaluate(() => fetch(`/nodes/${'a'.repeat(70_000)}`).then(({ status }) => status)), 400);
  assert.equal(await page.evaluate(() => fetch('/nodes/V').then(({ status }) => status)), 200);
  await page.evaluate(() => {
    performance.now = () => {
      throw new Error('unreachable');
    };
  });
  await until('it says so', async () => /has stopped/.test(await said(page)));
  page.faults.length = 0;
  await leave(page);
});

test('Firefox opens it, too: a move’s rows follow, and a race is right', async () => {
  const other = await firefox();
  try {
    const page = await other.newPage();
    const faults = [];
    page.on('pageerror', (error) => faults.push(error.message));
    await page.goto(address);
    await page.waitForSelector('#node .derived');
    await page.waitForSelector('#idea .main');
    await page.evaluate(() => document.querySelector('#idea .main').click());
    await until('its rows', async () => (await keys(page)).includes('III | NODE#0001#V') && !(await keys(page)).includes('D | NODE#0001#V'));
    await page.evaluate(() => document.getElementById('tab-playground').click());
    await page.waitForSelector('#panel-playground .main');
    await page.evaluate(() => document.querySelector('#panel-playground .main').click());
    await until('200 races', () => page.evaluate(() => document.querySelector('[data-way=sapwood]')?.dataset.right === '200'));
    assert.deepEqual(faults, []);
  } finally {
    await other.close();
  }
});

for (const width of [320, 768, 1440]) {
  test(`axe finds nothing, and nothing is wider than ${width} pixels`, async () => {
    for (const scheme of ['light', 'dark']) {
      const page = await visit(chromium, address, { width, scheme });
      await tab(page, 'playground');
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${wide}`);
      // What has just come is lit up for a moment.
      await settled(page);
      await until('no animation', () => page.evaluate(() => document.getAnimations().every(({ playState }) => playState !== 'running')));
      // The page's policy lets no script in. The debugger may.
      await page.evaluate(readFileSync(axe, 'utf8'));
      const { violations } = await page.evaluate(() => globalThis.axe.run());
      assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`), []);
      await leave(page);
    }
  });
}

const words = process.argv.slice(2);
const wanted = tests.filter(({ name }) => words.every((word) => name.includes(word)));
const begun = Date.now();
let failed = 0;
chromium = await browser();
for (const one of wanted) {
  const from = Date.now();
  try {
    await one.act();
    console.log(`ok      ${one.name} (${((Date.now() - from) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${one.name}\n${error.stack}`);
  }
}
await chromium.close();
console.log(`test result: ${failed ? 'FAILED' : 'ok'}. ${wanted.length - failed} passed; ${failed} failed; finished in ${((Date.now() - begun) / 1000).toFixed(1)}s`);
process.exit(failed ? 1 : 0);
