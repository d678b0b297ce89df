// Servers, the browser, and requests, for the tests of the explorer.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const require = createRequire(path.join(root, '.cache/explorer/'));
const puppeteer = require('puppeteer-core');
export const axe = require.resolve('axe-core/axe.min.js');

const sapwood = process.env.SAPWOOD;
const running = new Set();

/** The parameters with which everything can be seen. */
export const ALL = ['OrderAttribute=rank', 'OrderByHand=on', 'UniqueNames=caseless', 'Trash=on', 'LinkAttributes=product'].flatMap((one) => ['--parameter', one]);

async function begun(words, isFirst) {
  const process = spawn(sapwood, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(process);
  process.once('exit', () => running.delete(process));
  let errors = '';
  process.stderr.on('data', (text) => {
    errors += text;
  });
  const lines = createInterface({ input: process.stdout });
  for await (const line of lines) {
    const found = isFirst(line);
    if (!found) continue;
    // What else it prints is read, or it would stop.
    process.stdout.resume();
    return { process, ...found };
  }
  throw new Error(`sapwood ${words.join(' ')} ended: ${errors}`);
}

/** Starts `sapwood dev`. */
export function dev(...words) {
  const address = words.includes('--http') ? [] : ['--http', '127.0.0.1:0'];
  let server = null;
  return begun(['dev', '--json', '--dynamodb', '127.0.0.1:0', ...address, ...words], (line) => {
    const said = JSON.parse(line);
    if (said.event === 'listening') server = { http: said.http, page: said.explorer, dynamodb: said.dynamodb };
    return (said.event === 'filled' || !words.includes('--example')) && server;
  }).then(async (server) => {
    // The rows of an example follow its records.
    if (words.includes('--example')) await until('the example', async () => (await settled(server)) && settled(server));
    return server;
  });
}

/** True if nothing lags. */
export async function settled(server) {
  const { items, wrong, moving } = await (await fetch(`${server.page}/data/verify`)).json();
  return items > 0 && wrong + moving === 0;
}

/** Starts `sapwood explore`. */
export function explore(...words) {
  return begun(['explore', '--json', '--table', 'sapwood', ...words], (line) => {
    const page = JSON.parse(line).explorer;
    return { page, http: new URL(page).origin, token: new URLSearchParams(new URL(page).hash.slice(1)).get('token') };
  });
}

/** Runs `sapwood watch`, and gathers what it prints. */
export async function watch(server, id) {
  const process = spawn(sapwood, ['watch', id, '--json', '--table', 'sapwood', '--endpoint', server.dynamodb], { stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(process);
  process.once('exit', () => running.delete(process));
  const watching = { process, lines: [] };
  createInterface({ input: process.stdout }).on('line', (line) => watching.lines.push(JSON.parse(line)));
  // Then it is at its place in the stream.
  await once(process.stderr, 'data');
  return watching;
}

export async function stop(server, signal = 'SIGINT') {
  const ended = once(server.process, 'exit');
  server.process.kill(signal);
  return (await ended)[0];
}

export function stopAll() {
  for (const process of running) process.kill('SIGKILL');
}

/** Runs a program, and returns what it prints. */
export function printed(program, words, options = {}) {
  return new Promise((resolve, reject) => {
    execFile(program, words, { maxBuffer: 64 << 20, ...options }, (error, out, errors) => (error ? reject(new Error(`${error.message}${errors}`)) : resolve(out)));
  });
}

/** Sends a request as no browser does: with any headers. */
export function raw(url, { method = 'GET', headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part) => {
        text += part;
      });
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }));
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** Sends a request to the API. */
export async function api(server, method, target, body, headers = {}) {
  const kind = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const answer = await fetch(server.http + target, { method, headers: { ...(body === undefined ? {} : { 'content-type': kind }), ...headers }, body: body && JSON.stringify(body) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${target}: ${answer.status} ${text}`);
  return text ? JSON.parse(text) : null;
}

/** Creates nodes: `[id, parent, attributes, more]` each. Waits until they have their rows. */
export async function create(server, nodes) {
  for (let at = 0; at < nodes.length; at += 100) {
    const operations = nodes.slice(at, at + 100).map(([id, parent, attributes = {}, more = {}]) => ({ put: { id, parent, attributes, ...more } }));
    const isLast = at + 100 >= nodes.length;
    const { results } = await api(server, 'POST', '/batch', { operations }, isLast ? { prefer: 'wait=20' } : {});
    const bad = results?.find((one) => one.status >= 400);
    if (bad) throw new Error(JSON.stringify(bad));
  }
}

/** Calls the table itself, as any client does. */
export async function dynamodb(server, call, body) {
  const { status, text } = await raw(server.dynamodb, { method: 'POST', headers: { 'x-amz-target': `DynamoDB_20120810.${call}`, 'content-type': 'application/x-amz-json-1.0', 'x-amz-date': '20260101T000000Z',
    authorization: 'AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0' }, body: JSON.stringify(body) });
  if (status !== 200) throw new Error(`${call}: ${text}`);
  return JSON.parse(text);
}

/** Puts base records, `[id, parent]` each, without the API. It waits for no rows. */
export async function put(server, records) {
  const queue = [];
  for (let at = 0; at < records.length; at += 25) queue.push(records.slice(at, at + 25));
  await Promise.all(Array.from({ length: 8 }, async () => {
    for (let some = queue.pop(); some; some = queue.pop()) {
      const requests = some.map(([id, parent]) => ({ PutRequest: { Item: { PK: { S: id }, SK: { S: 'NODE' }, name: { S: `Node ${id}` }, ...(parent ? { parent: { S: parent } } : {}) } } }));
      await dynamodb(server, 'BatchWriteItem', { RequestItems: { sapwood: requests } });
    }
  }));
}

export const browser = () => puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', headless: true,
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--force-color-profile=srgb', '--font-render-hinting=none'],
});

export const firefox = () => puppeteer.launch({ browser: 'firefox', executablePath: process.env.FIREFOX ?? ['/usr/bin/firefox-esr', '/usr/bin/firefox'].find(fs.existsSync), headless: true });

export const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** How long a test waits for what comes sooner or later, in milliseconds. A busy machine takes long. */
const PATIENCE = 180_000;

/** Waits until something holds. */
export async function until(what, holds, within = PATIENCE) {
  const end = Date.now() + within;
  let last;
  for (;;) {
    try {
      last = await holds();
      if (last) return last;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`never: ${what} (${last?.message ?? JSON.stringify(last)})`);
    await wait(60);
  }
}

/** Answers with the page's files of a directory instead of those in the binary. So a change of the page needs no compiler. */
async function fromDisk(page, directory) {
  await page.setRequestInterception(true);
  page.on('request', (request) => {
    const [, name] = new URL(request.url()).pathname.match(/^\/explorer\/?([\w.]*)$/) ?? [];
    const file = name === undefined ? null : path.join(directory, name || 'index.html');
    if (!file || !fs.existsSync(file)) return request.continue();
    const type = { '.js': 'text/javascript', '.css': 'text/css', '.html': 'text/html' }[path.extname(file)];
    return request.respond({ contentType: `${type}; charset=utf-8`, body: fs.readFileSync(file) });
  });
}

/** Opens a page, and remembers what it asks for and what goes wrong in it. */
export async function visit(browser, url, { width = 1440, height = 900, scheme = 'light', sharpness = 1 } = {}) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  await page.setViewport({ width, height, deviceScaleFactor: sharpness });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  page.faults = [];
  page.asked = [];
  page.on('response', (response) => {
    if (response.fromCache()) page.asked = page.asked.filter(({ request }) => request !== response.request());
  });
  page.on('request', (request) => page.asked.push({ url: request.url(), request }));
  page.on('pageerror', (error) => page.faults.push(`error: ${error.message}`));
  page.on('console', (message) => {
    // A refusal is no fault of the page, and neither is a server that was stopped.
    const text = message.text();
    if (message.type() === 'error' && !/Failed to load resource|ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY/.test(text)) page.faults.push(`console: ${text}`);
  });
  page.on('dialog', (dialog) => {
    page.faults.push(`a dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.evaluateOnNewDocument(() => {
    globalThis.violations = [];
    document.addEventListener('securitypolicyviolation', (event) => globalThis.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
  });
  if (process.env.SAPWOOD_PAGE) await fromDisk(page, process.env.SAPWOOD_PAGE);
  await page.goto(url, { waitUntil: 'domcontentloaded' });
  await page.waitForSelector('[role=treeitem], #tree-note:not(:empty)');
  // An example opens what is above the node that it shows first.
  await page.waitForSelector('#node > *');
  return page;
}

/** Closes a page, and says what was wrong in it. */
export async function leave(page) {
  const violations = await page.evaluate(() => globalThis.violations).catch(() => []);
  await page.browserContext().close();
  const faults = [...page.faults, ...violations.map((one) => `policy: ${one}`)];
  if (faults.length) throw new Error(faults.join('\n'));
}

// ---- What a person does ----

/** The row of a node. */
export const row = (page, id) => page.evaluateHandle((id) => [...document.querySelectorAll('[role=treeitem]')].find((one) => one.nodeId === id) ?? null, id).then((handle) => handle.asElement());

export const sees = (page, id) => until(`a row of ${id}`, () => row(page, id));

export async function expand(page, ...ids) {
  for (const id of ids) {
    const expanded = async () => (await row(page, id))?.evaluate((one) => one.getAttribute('aria-expanded'));
    await until(`${id} has children`, async () => (await expanded()) !== null && (await expanded()) !== undefined);
    if ((await expanded()) === 'true') continue;
    await (await row(page, id)).$('.twist').then((twist) => twist.click());
    await until(`${id} is open`, async () => (await expanded()) === 'true');
  }
}

export async function select(page, id) {
  const element = await sees(page, id);
  await element.$('.label').then((label) => label.click());
  await until(`${id} is shown`, () => page.evaluate((id) => document.getElementById('node').dataset.of === id, id));
}

/** The rows of the tree, as their levels and names. */
export const drawn = (page) => page.evaluate(() => [...document.querySelectorAll('[role=treeitem]')].map((one) =>
  `${'  '.repeat(Number(one.getAttribute('aria-level')) - 1)}${one.querySelector('.label, .more').textContent}`));

export const text = (page, selector) => page.$eval(selector, (one) => one.textContent);

/** The keys of the items that the node shows. */
export const keys = (page) => page.evaluate(() => [...document.querySelectorAll('#node .derived .key')].map((one) =>
  [one.querySelector('.pk').textContent, one.querySelector('.sk').textContent].join(' | ')));

export async function press(page, ...names) {
  for (const name of names) {
    const parts = name.split('+');
    const last = parts.pop();
    for (const one of parts) await page.keyboard.down(one);
    await page.keyboard.press(last);
    for (const one of parts) await page.keyboard.up(one);
  }
}

/** Fills the field of a label in the open dialog. */
export async function fill(page, label, value) {
  const found = await page.evaluateHandle((label) => {
    const of = [...document.querySelectorAll('dialog label')].find((one) => one.textContent.startsWith(label));
    return document.getElementById(of.htmlFor);
  }, label);
  await found.asElement().evaluate((one) => {
    one.value = '';
  });
  await found.asElement().type(value);
}

/** The middle of an element's box. */
export async function centre(one) {
  const box = await one.boundingBox();
  return [box.x + box.width / 2, box.y + box.height / 2];
}

/** Takes a row with the mouse, as for a drag. */
export async function grab(page, id) {
  await page.evaluate(() => {
    globalThis.isDragged = false;
    document.addEventListener('dragstart', () => {
      globalThis.isDragged = true;
    }, { once: true });
  });
  // A drag that doesn't begin is begun again.
  for (let isDragged = false; !isDragged;) {
    await (await row(page, id)).evaluate((one) => one.scrollIntoView({ block: 'center' }));
    const [x, y] = await until('the row is in view', async () => centre(await row(page, id)));
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + 5, y + 5);
    isDragged = await until('the drag', () => page.evaluate(() => globalThis.isDragged), 3_000).catch(() => false);
    if (!isDragged) await page.mouse.up();
  }
}

/** Drags a row onto another. A drag that the page has ended, because it drew the row anew, is begun again. */
export async function drag(page, id, onto) {
  for (let isOver = false; !isOver;) {
    await grab(page, id);
    await page.mouse.move(...await centre(await row(page, onto)), { steps: 6 });
    let by = 0;
    isOver = await until('the target is shown', async () => {
      // What is above may have grown meanwhile.
      const [x, y] = await centre(await row(page, onto));
      await page.mouse.move(x + (by = 1 - by), y);
      return (await row(page, onto)).evaluate((one) => /over-/.test(one.className));
    }, 5_000).catch(() => false);
    await page.mouse.up();
  }
}

/** Has the page's requests whose method and address have this form wait. Returns what lets them go. */
export async function hold(page, pattern) {
  await page.evaluate((pattern) => {
    globalThis.asIs ??= globalThis.fetch;
    globalThis.waiting = [];
    globalThis.fetch = async (url, options) => {
      if (new RegExp(pattern).test(`${options?.method ?? 'GET'} ${url}`)) await new Promise((go) => globalThis.waiting.push(go));
      return globalThis.asIs(url, options);
    };
  }, pattern);
  return {
    has: (many = 1) => until(`${many} of ${pattern}`, () => page.evaluate((many) => globalThis.waiting.length >= many, many)),
    end: () => page.evaluate(() => {
      globalThis.fetch = globalThis.asIs;
      for (const go of globalThis.waiting.splice(0)) go();
    }),
  };
}

export const submit = (page) => page.click('dialog [type=submit]');
export const noDialog = (page) => until('the dialog is closed', () => page.$('dialog').then((one) => one === null));
