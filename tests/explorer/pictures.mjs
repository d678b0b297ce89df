// Takes the pictures of the README and of docs/guides/explorer.md from the real page.
import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { api, browser, create, dev, expand, keys, leave, root, row, stop, stopAll, text, until, visit, wait } from './stack.mjs';

const folder = path.join(root, 'docs/explorer');
/** The most bytes of a picture. */
const BYTES_MAX = 280_000;
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

/** A company, by its units: the id, parent and name of each, who leads it, and its seats. */
const COMPANY = [
  ['aur', null, 'Aurora Robotics', 'Ines Okafor', 6], ['eng', 'aur', 'Engineering', 'Mara Lindqvist', 4], ['plat', 'eng', 'Platform', 'Tomás Rivera', 5],
  ['stor', 'plat', 'Storage', 'Aiko Tanaka', 9], ['net', 'plat', 'Networking', 'Samuel Osei', 7], ['rel', 'plat', 'Reliability', 'Lena Fischer', 8], ['fw', 'eng', 'Firmware', 'Priya Raman', 14],
  ['motion', 'fw', 'Motion control', 'Jonas Weber', 6], ['design', 'eng', 'Product design', 'Chloé Martin', 11], ['ops', 'aur', 'Operations', 'Daniel Kim', 3], ['mfg', 'ops', 'Manufacturing', 'Rosa Silva', 42],
  ['log', 'ops', 'Logistics', 'Omar Haddad', 19], ['sales', 'aur', 'Sales', 'Grace Mbeki', 12],
];

/** A catalogue: the id, parent and name of each, and the price of a product. */
const CATALOGUE = [
  ['catalogue', null, 'Catalogue'], ['audio', 'catalogue', 'Home audio'], ['speakers', 'audio', 'Speakers'], ['sp-201', 'speakers', 'Bookshelf speaker A2', 249], ['sp-340', 'speakers', 'Floor speaker F40', 899], ['sp-115', 'speakers', 'Outdoor speaker O15', 179],
  ['turntables', 'audio', 'Turntables'], ['tt-070', 'turntables', 'Turntable T7', 429], ['lighting', 'catalogue', 'Lighting'], ['lamps', 'lighting', 'Desk lamps'], ['lp-022', 'lamps', 'Desk lamp Arc', 89], ['lp-031', 'lamps', 'Clamp lamp Pivot', 74],
];

const company = (server) => create(server, COMPANY.map(([id, parent, name, lead, seats]) => [id, parent, { name, lead, seats }]));
const catalogue = (server) => create(server, CATALOGUE.map(([id, parent, name, price]) => [id, parent, { name, ...(price ? { price } : {}) }]));
const parameters = (...all) => all.flatMap((one) => ['--parameter', one]);

/** What a panel of the right side shows, and no more. */
const panel = (page, name) => page.$eval(`#panel-${name} .panel`, (one) => {
  const { x, y, width } = one.getBoundingClientRect();
  const bottom = Math.max(...[...one.querySelectorAll('*')].map((inner) => inner.getBoundingClientRect().bottom));
  return { x, y, width, height: Math.min(bottom, innerHeight) - y + 10 };
});

async function listening(page) {
  await until('the stream of events', () => page.asked.some((one) => one.url.endsWith('/data/live')));
  await wait(500);
}

/** A unit of a company moves, in the light and in the dark. The README shows it at 800 pixels. */
async function moves() {
  for (const [scheme, name] of [['light', 'move'], ['dark', 'move-dark']]) {
    const server = await dev(...parameters('Totals=count', 'OrderAttribute=name'));
    await company(server);
    const page = await visit(chromium, `${server.page}?node=plat`, { width: 1080, height: 690, sharpness: 1.25, scheme });
    await page.waitForSelector('#node .derived');
    await listening(page);
    await api(server, 'PATCH', '/nodes/log', { attributes: { name: 'Supply chain' } });
    await until('a story', async () => (await page.$$('.story')).length === 1 && /units/.test(await text(page, '.story .sum')));
    await api(server, 'PATCH', '/nodes/plat', { parent: 'ops' });
    await until('the move', async () => (await keys(page)).includes('aur | NODE#0002#plat') && (await page.$$('.story')).length === 2);
    await until('it ends', async () => /units/.test(await text(page, '.story .sum')) && !/to handle/.test(await text(page, '.story .sum')));
    await until('its row', async () => (await row(page, 'plat'))?.evaluate((one) => one.getAttribute('aria-level') === '3'));
    await wait(1000);
    await expand(page, 'plat');
    await page.click('.story summary');
    await page.waitForSelector('.invocations details');
    await page.click('.invocations details summary');
    await take(page, name);
    await leave(page);
    await stop(server);
  }
}

async function catalogues() {
  const server = await dev(...parameters('Totals=count', 'OrderAttribute=name'));
  await catalogue(server);
  for (const [price, by] of [[279, 'Ada Lovelace'], [259, 'Ada Lovelace'], [249, 'Noor Rahman']]) await api(server, 'POST', '/nodes/sp-201/revisions/Price', { attributes: { price, currency: 'EUR', approved_by: by } }, { prefer: 'wait=10' });
  const page = await visit(chromium, `${server.page}?node=sp-201`, { width: 1600, height: 1150, sharpness: 1.25 });
  await page.waitForSelector('.topics button[aria-pressed]');
  await listening(page);
  await page.click('.topics button[aria-pressed]');
  await page.waitForSelector('.topics tr.changed');
  await page.evaluate(() => document.querySelector('.topics').scrollIntoView());
  await take(page, 'history', await box(page, '.topics'));
  await page.click('#tab-ask');
  await page.waitForSelector('#panel-ask form');
  await page.$eval('#ask-id', (one) => {
    one.value = 'audio';
  });
  await page.click('#panel-ask form [type=submit]');
  await page.waitForSelector('#code');
  await page.click('#code-aws');
  await take(page, 'ask', await panel(page, 'ask'));
  await page.click('#tab-watch');
  await page.waitForSelector('#panel-watch pre');
  await page.evaluate(() => import('/explorer/base.js').then(({ tell }) => tell('go', 'catalogue')));
  const seen = (kind, count) => until(`${count} ${kind}`, async () => (await page.$$(`.change.${kind}`)).length >= count);
  await api(server, 'POST', '/nodes', { id: 'sp-410', parent: 'speakers', attributes: { name: 'Soundbar S41', price: 349 } });
  await seen('came', 1);
  await api(server, 'PATCH', '/nodes/tt-070', { attributes: { price: 399 } });
  await seen('changed', 1);
  await api(server, 'PATCH', '/nodes/lamps', { parent: 'audio' });
  await seen('changed', 2);
  await api(server, 'DELETE', '/nodes/lp-031');
  await seen('went', 1);
  await take(page, 'watch', await panel(page, 'watch'));
  await leave(page);
  await stop(server);
}

/** The stream is held back while a unit moves. */
async function trial() {
  const server = await dev(...parameters('Totals=count'));
  await company(server);
  const page = await visit(chromium, `${server.page}?node=eng&view=trust`, { width: 1280, height: 1150, sharpness: 1.25 });
  await page.waitForSelector('#trial-target');
  await page.click('#panel-trust input[value=hold-back]');
  await page.type('#trial-target', 'ops');
  await page.click('#panel-trust form [type=submit]');
  await until('it ends right', async () => /No difference/.test(await text(page, '#panel-trust .panel > .card:last-child')));
  await page.evaluate(() => document.querySelector('#panel-trust .panel > .card:last-child').scrollIntoView({ block: 'end' }));
  await take(page, 'break', await box(page, '#panel-trust .panel > .card:last-child'));
  await leave(page);
  await stop(server);
}

async function narrow() {
  const server = await dev(...parameters('OrderAttribute=name'));
  await catalogue(server);
  const page = await visit(chromium, `${server.page}?node=sp-201`, { width: 390, height: 760, scheme: 'dark', sharpness: 1.25 });
  await page.click('[data-to=node]');
  await page.waitForSelector('#node .derived');
  await take(page, 'narrow');
  await leave(page);
  await stop(server);
}

try {
  await moves();
  await catalogues();
  await trial();
  await narrow();
} finally {
  await chromium.close();
  stopAll();
}
