// Opens the built site (target/site) in a browser, as a reader would. Its last line counts like that of a cargo suite.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const site = path.join(root, 'target/site');
const puppeteer = createRequire(path.join(root, '.cache/explorer/'))('puppeteer-core');
const TYPES = { '.css': 'text/css', '.html': 'text/html', '.js': 'text/javascript', '.json': 'application/json', '.png': 'image/png', '.svg': 'image/svg+xml', '.txt': 'text/plain' };
/** Searches, and the place that one of the first results leads to. */
const QUESTIONS = [
  ['delete a subtree', /^\/guides\/write\/.*delete/],
  ['delete a subtree cost', /^\/reference\/(call-)?costs\//],
  ['move a folder', /^\/guides\/write\/.*move/],
  ['permissions', /^\/(guides\/permissions-of-your-users|operate\/iam)\//],
  ['read my own write', /^\/guides\/read-your-writes\//],
];
const RESULTS_MAX = 3;
/** Pages that are opened at a time, where all are. */
const PAGES_AT_ONCE = 4;

/** A server that does what a host of pages does, and nothing else. */
const server = http.createServer((request, response) => {
  const asked = decodeURIComponent(new URL(request.url, 'http://127.0.0.1').pathname);
  let file = path.join(site, asked);
  if (existsSync(file) && statSync(file).isDirectory()) file = path.join(file, 'index.html');
  const isThere = file.startsWith(site) && existsSync(file);
  if (!isThere) file = path.join(site, '404.html');
  response.writeHead(isThere ? 200 : 404, { 'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream' });
  response.end(readFileSync(file));
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const origin = `http://127.0.0.1:${server.address().port}`;
const chromium = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', headless: true, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
});

/** Opens a page, lets it be looked at, and fails if it has an error or asks another origin for anything. */
async function visit(address, look, { width = 1280, scheme = 'light', until = 'networkidle0' } = {}) {
  const page = await (await chromium.createBrowserContext()).newPage();
  const faults = [];
  page.on('request', (request) => new RegExp(`^(data:|blob:|${origin}/)`).test(request.url()) || faults.push(`asks for ${request.url()}`));
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  await page.setViewport({ width, height: 800 });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  await page.goto(origin + address, { waitUntil: until });
  await look(page);
  await page.browserContext().close();
  assert.deepEqual(faults, [], address);
}

/** The addresses of all pages. */
const addresses = readdirSync(site, { recursive: true }).filter((name) => path.basename(name) === 'index.html').map((name) => `/${name.slice(0, -'index.html'.length)}`);

/** The results of a search, which is in an element with a tree of its own. */
async function results(page, words) {
  await page.keyboard.press('/');
  await page.waitForFunction(() => [...document.querySelectorAll('*')].some((one) => one.shadowRoot?.querySelector('dialog[open] input')));
  // All at once: what is found for a part of the words isn't meant.
  await page.keyboard.sendCharacter(words);
  const found = await page.waitForFunction(() => {
    const trees = [...document.querySelectorAll('*')].map((one) => one.shadowRoot).filter((tree) => tree?.querySelector('dialog'));
    const links = trees.flatMap((tree) => [...tree.querySelectorAll('[role=option]')]);
    return links.length > 0 && links.map((link) => new URL(link.href).pathname + new URL(link.href).hash);
  });
  return found.jsonValue();
}

const slips = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
const darkness = (page) => page.evaluate(() => Math.max(...getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).map(Number)));

const tests = {
  'a search finds the page, wide and narrow': async () => {
    for (const width of [1280, 320]) {
      await visit('/', async (page) => {
        for (const [words, wanted] of QUESTIONS) {
          const found = await results(page, words);
          assert.ok(found.slice(0, RESULTS_MAX).some((link) => wanted.test(link)), `${words}\n${found.slice(0, 10).join('\n')}`);
          await page.reload({ waitUntil: 'networkidle0' });
        }
      }, { width });
    }
  },
  'a result leads to its section, with the words marked': () => visit('/', async (page) => {
    const [first] = await results(page, 'restore the table');
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
    assert.equal(await page.evaluate(() => location.pathname + location.hash), first);
    await page.waitForSelector('article mark');
  }),
  'every page fits a narrow window, and has one heading and a description': async () => {
    assert.ok(addresses.length > 80, `${addresses.length} pages`);
    const left = [...addresses];
    const look = async () => {
      for (let address = left.pop(); address !== undefined; address = left.pop()) {
        await visit(address, async (page) => {
          assert.ok(await slips(page) <= 0, `${address} is wider than its window`);
          assert.equal(await page.$$eval('h1', (all) => all.length), 1, address);
          assert.ok(await page.$eval('meta[name=description]', (one) => one.content.length > 10), address);
        }, { width: 320, until: 'load' });
      }
    };
    await Promise.all(Array.from({ length: PAGES_AT_ONCE }, look));
  },
  'wide pages show their layers, their neighbours and their headings': () => visit('/guides/write/', async (page) => {
    const layers = await page.$$eval('.md-tabs__link', (all) => all.map((one) => one.textContent.trim()));
    assert.deepEqual(layers, ['Home', 'Start', 'Guides', 'Reference', 'Operate', 'Decide', 'Internals']);
    assert.ok(await page.$$eval('.md-sidebar--primary a', (all) => all.filter((one) => one.checkVisibility()).length > 10));
    assert.ok(await page.$$eval('.md-sidebar--secondary a', (all) => all.filter((one) => one.checkVisibility()).length > 3));
    assert.ok(await slips(page) <= 0);
  }),
  'examples in several languages are tabs, and a choice holds on the next page': () => visit('/guides/write/', async (page) => {
    const chosen = () => page.$eval('.tabbed-set', (set) => [...set.querySelectorAll(':scope > input')].findIndex((one) => one.checked));
    assert.equal(await chosen(), 0);
    await page.evaluate(() => [...document.querySelectorAll('.tabbed-labels a, .tabbed-labels label')].find((one) => one.textContent === 'Python').click());
    await page.waitForFunction(() => document.querySelectorAll('.tabbed-set > input')[1].checked);
    await page.goto(`${origin}/guides/query/`, { waitUntil: 'networkidle0' });
    assert.equal(await chosen(), 1);
  }),
  'a reader who wants it dark gets it dark, and can change it': () => visit('/', async (page) => {
    assert.ok(await darkness(page) < 60);
    // From the system's choice to a light page.
    await page.evaluate(() => document.querySelector('[data-md-component=palette] label:not([hidden])').click());
    await page.waitForFunction(() => document.body.dataset.mdColorScheme === 'default');
    assert.ok(await darkness(page) > 200);
  }, { scheme: 'dark' }),
  'the API page shows the document beside it, and the way back': () => visit('/api.html', async (page) => {
    await page.waitForSelector('#delete_node');
    assert.ok(await slips(page) <= 0);
    const calls = Object.values(JSON.parse(readFileSync(path.join(root, 'docs/openapi.json'))).paths).flatMap(Object.keys).length;
    assert.equal(await page.$$eval('nav li', (all) => all.length), calls);
    await Promise.all([page.waitForNavigation(), page.click('body > p a')]);
    assert.equal(await page.$$eval('article td a', (all) => all.length), calls);
  }, { width: 320 }),
  'the first page leads to the playground': () => visit('/', async (page) => {
    await Promise.all([page.waitForNavigation(), page.click('article a[href="playground.html"]')]);
    assert.equal(await page.title(), 'Sapwood playground');
  }),
  'an address without a page leads on': async () => {
    const answer = await fetch(`${origin}/nothing`);
    assert.equal(answer.status, 404);
    await visit('/404.html', async (page) => {
      await Promise.all([page.waitForNavigation(), page.click('article p a')]);
      assert.equal(await page.$eval('h1', (one) => one.textContent.replace('¶', '')), 'Sapwood documentation');
    });
  },
  'programs get the list of pages and all pages in one': async () => {
    const list = await (await fetch(`${origin}/llms.txt`)).text();
    const links = [...list.matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link);
    assert.ok(links.length > 60 && !list.includes('internals/'));
    for (const link of links) assert.equal((await fetch(new URL(link, `${origin}/`))).status, 200, link);
    assert.match(await (await fetch(`${origin}/llms-full.txt`)).text(), /^## Delete a node or a subtree$/m);
  },
};

let passed = 0;
let failed = 0;
for (const [name, act] of Object.entries(tests)) {
  const begun = Date.now();
  const error = await act().then(() => null, (error) => error);
  error ? failed++ : passed++;
  console.log(`test ${name} ... ${error ? `FAILED\n${error.message}` : `ok (${Date.now() - begun} ms)`}`);
}
await chromium.close();
server.close();
console.log(`test result: site. ${passed} passed; ${failed} failed;`);
process.exit(failed ? 1 : 0);
