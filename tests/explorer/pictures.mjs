// Takes the pictures of the README and of docs/guides/explorer.md from the real page.
import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { api, browser, dev, expand, keys, leave, root, select, stop, stopAll, text, until, visit, wait } from './stack.mjs';

const folder = path.join(root, 'docs/explorer');
/** The most bytes of a picture. */
const BYTES_MAX = 200_000;
mkdirSync(folder, { recursive: true });
const chromium = await browser();

async function take(page, name, clip) {
  const file = path.join(folder, `${name}.png`);
  // Nothing blinks, and nothing is only just arriving.
  await page.evaluate(() => document.activeElement?.blur());
  await wait(1700);
  await page.screenshot({ path: file, clip });
  const { size } = statSync(file);
  console.log(`${name}.png: ${size} bytes`);
  if (size > BYTES_MAX) throw new Error(`${name}.png is too large`);
}

/** The box of an element, with a margin. */
const box = (page, selector) => page.$eval(selector, (one) => {
  const { x, y, width, height } = one.getBoundingClientRect();
  return { x: Math.max(0, x - 10), y: Math.max(0, y - 10), width: width + 20, height: Math.min(height, innerHeight - y) + 20 };
});

async function folders() {
  const server = await dev('--example', 'folders');
  const page = await visit(chromium, server.page, { width: 1280, height: 760 });
  await expand(page, 'D', 'V', 'd');
  await select(page, 'd');
  await take(page, 'node');
  await select(page, 'V');
  await api(server, 'PATCH', '/nodes/V', { parent: 'III' });
  await until('the move', async () => (await keys(page)).includes('D | PATH#III#V'));
  await until('the story', async () => /\+ III/.test(await text(page, '#panel-live .stories')));
  await wait(800);
  await expand(page, 'V').catch(() => {});
  // The story of the node that was moved is the first of them.
  await page.evaluate(() => document.querySelector('.story:last-child').scrollIntoView({ block: 'end' }));
  await take(page, 'move');
  await page.click('#tab-ask');
  await page.waitForSelector('#panel-ask form');
  await page.click('#panel-ask form [type=submit]');
  await page.waitForSelector('#code');
  await page.click('#code-aws');
  await take(page, 'ask', await box(page, '#pane-side'));
  await page.click('#tab-trust');
  await page.type('#trial-target', 'D');
  await page.click('#panel-trust form [type=submit]');
  await until('it ends right', async () => /No difference/.test(await text(page, '#panel-trust .panel > .card:last-child')), 40_000);
  await page.evaluate(() => document.querySelector('#panel-trust .panel > .card:last-child').scrollIntoView({ block: 'end' }));
  await take(page, 'break', await box(page, '#panel-trust .panel > .card:last-child'));
  await page.click('#tab-watch');
  await page.waitForSelector('#panel-watch pre');
  await select(page, 'IV');
  const seen = (kind, count) => until(`${count} ${kind}`, async () => (await page.$$(`.change.${kind}`)).length === count);
  await api(server, 'PATCH', '/nodes/V', { parent: 'IV' });
  await seen('came', 6);
  await api(server, 'PATCH', '/nodes/i', { attributes: { name: 'Pictures' } });
  await seen('changed', 1);
  await api(server, 'PATCH', '/nodes/d', { parent: 'III' });
  await seen('went', 4);
  await take(page, 'watch', await box(page, '#pane-side'));
  await leave(page);
  await stop(server);
}

async function audits() {
  const server = await dev('--example', 'audits');
  const page = await visit(chromium, `${server.page}?node=Equipment_1`, { width: 1280, height: 900 });
  await page.waitForSelector('.topics button[aria-pressed]');
  await page.click('.topics button[aria-pressed]');
  await page.waitForSelector('.topics tr.changed');
  await page.evaluate(() => document.querySelector('.topics').scrollIntoView());
  await take(page, 'history', await box(page, '.topics'));
  await leave(page);
  await stop(server);
}

async function narrow() {
  const server = await dev('--example', 'orders');
  const page = await visit(chromium, `${server.page}?node=ITEM%23ABC`, { width: 390, height: 760, scheme: 'dark' });
  await page.click('[data-to=node]');
  await page.waitForSelector('#node .derived');
  await take(page, 'narrow');
  await leave(page);
  await stop(server);
}

try {
  await folders();
  await audits();
  await narrow();
} finally {
  await chromium.close();
  stopAll();
}
