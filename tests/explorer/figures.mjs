// Prints how long things take in the explorer. Times are those of this machine, so docs/internals/explorer.md has them as orders of magnitude.
// NODES says how many nodes the large table has.
import { readFileSync } from 'node:fs';
import { api, browser, create, dev, drawn, expand, leave, put, row, select, stop, stopAll, until, visit, wait } from './stack.mjs';

const NODES = Number(process.env.NODES ?? 100_000);
const WIDE = 1000;
/** Linux counts a process's time in hundredths of a second. */
const TICKS = 100;
const chromium = await browser();

const seconds = (from) => `${((performance.now() - from) / 1000).toFixed(2)} s`;

/** The processor's seconds that a server has used. */
function used(server) {
  const [user, system] = readFileSync(`/proc/${server.process.pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 13);
  return (Number(user) + Number(system)) / TICKS;
}

/** Waits until a server has nothing left to do: it reads the stream of what it has written long after the last row is there. */
async function quiet(server) {
  await until('quiet', async () => {
    const before = used(server);
    await wait(5000);
    return used(server) - before < 1.5;
  }, 3_600_000);
}

/** The time from an address to a node that is shown. */
async function firstView(server, what) {
  const begun = performance.now();
  const before = used(server);
  const page = await visit(chromium, server.page);
  await page.waitForSelector('#node .derived');
  console.log(`${what}: first view ${seconds(begun)}, of these ${(used(server) - before).toFixed(2)} s of the server's processor time, ${page.asked.length} requests`);
  return page;
}

/** Frames while the tree is scrolled, and how long the 95th percentile takes. */
const frames = (page) => page.evaluate(() => new Promise((resolve) => {
  const pane = document.getElementById('pane-tree');
  const times = [];
  let last = performance.now();
  const step = (now) => {
    times.push(now - last);
    last = now;
    pane.scrollTop += 120;
    if (pane.scrollTop + pane.clientHeight >= pane.scrollHeight - 1) pane.scrollTop = 0;
    if (times.length < 120) requestAnimationFrame(step);
    else resolve(times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)]);
  };
  requestAnimationFrame(step);
}));

async function wide() {
  const server = await dev('--mapping', 'ParallelizationFactor=10');
  const empty = await visit(chromium, server.page);
  const without = await frames(empty);
  await leave(empty);
  await create(server, [['from', null], ['to', null], ['wide', 'from'], ...Array.from({ length: WIDE }, (_, n) => [`c${String(n).padStart(4, '0')}`, 'wide'])]);
  const page = await firstView(server, `${WIDE} nodes`);
  await expand(page, 'from');
  let begun = performance.now();
  await expand(page, 'wide');
  console.log(`a level of ${WIDE}: ${seconds(begun)} to its first page`);
  await until('all of it', async () => {
    await page.evaluate(() => [...document.querySelectorAll('[data-more]')].at(-1)?.scrollIntoView());
    return (await drawn(page)).length >= WIDE;
  });
  console.log(`a level of ${WIDE}: ${seconds(begun)} to all of it`);
  const all = await frames(page);
  console.log(`frames with ${WIDE} children in view: the 95th percentile takes ${(all / without).toFixed(2)} times that of an empty list (${all.toFixed(1)} and ${without.toFixed(1)} ms)`);
  await select(page, 'wide');
  begun = performance.now();
  const before = page.asked.length;
  await api(server, 'PATCH', '/nodes/wide', { parent: 'to' });
  await until('the node', () => page.evaluate(() => /Folder|to/.test(document.querySelector('.crumbs').textContent)));
  console.log(`a move of ${WIDE}: ${seconds(begun)} until the node is seen at its place`);
  let cursor = '';
  await until('the last row', async () => {
    const { below } = await api(server, 'GET', `/nodes/wide/propagation?below=true${cursor}`);
    cursor = below.cursor ? `&cursor=${encodeURIComponent(below.cursor)}` : '';
    return below.up_to_date;
  });
  const took = (performance.now() - begun) / 1000;
  console.log(`a move of ${WIDE}: ${took.toFixed(2)} s until all rows are there, ${((page.asked.length - before) / took).toFixed(1)} requests a second meanwhile`);
  await wait(2500);
  const quiet = page.asked.length;
  await wait(5000);
  console.log(`nothing happens: ${(page.asked.length - quiet) / 5} requests a second`);
  await leave(page);
  await stop(server);
}

async function large() {
  const server = await dev('--mapping', 'ParallelizationFactor=10', '--mapping', 'BatchSize=1000', '--parameter', 'PathRows=off');
  let begun = performance.now();
  const records = [['top', null]];
  // A hundred nodes below the top, each with as many below it.
  const groups = Math.ceil(Math.sqrt(NODES / 10));
  for (let group = 0; group < groups; group += 1) {
    records.push([`g${group}`, 'top']);
    for (let leaf = 0; leaf < Math.floor(NODES / groups) - 1; leaf += 1) records.push([`g${group}-${leaf}`, `g${group}`]);
  }
  await put(server, records);
  await until('all are placed', async () => (await api(server, 'GET', `/nodes/${records.at(-1)[0]}/propagation`)).up_to_date, 3_600_000);
  await until('the others', async () => {
    const { count, cursor } = await api(server, 'GET', '/nodes/top/count');
    return cursor || count >= records.length - 1;
  }, 3_600_000);
  console.log(`${records.length} nodes were written and placed in ${seconds(begun)}`);
  await leave(await firstView(server, `${records.length} nodes, while the stream is still read`));
  await quiet(server);
  const page = await firstView(server, `${records.length} nodes`);
  begun = performance.now();
  await expand(page, 'top');
  console.log(`a level among them: ${seconds(begun)}`);
  begun = performance.now();
  await page.type('#find', `g${groups - 1}-7`);
  await page.keyboard.press('Enter');
  await until('it is found', () => row(page, `g${groups - 1}-7`));
  console.log(`one of them found: ${seconds(begun)}`);
  await leave(page);
  await stop(server);
}

try {
  await wide();
  await large();
} finally {
  await chromium.close();
  stopAll();
}
