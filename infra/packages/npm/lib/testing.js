// Stacks for tests: DynamoDB with a table, its stream handler and the HTTP API, in one process of its own.
'use strict';

const { spawn } = require('node:child_process');
const { createInterface } = require('node:readline');
const { binary } = require('./binary.js');

// How many lines of the process's output are kept.
const LINES_MAX = 500;
// How long a process may take to end. It has nothing to wait for but its running requests.
const END_MILLISECONDS = 5_000;

/** A running stack. It ends with `stop`, or with this process, however that ends. */
class Stack {
  #child;
  #ended;
  #lines;

  constructor(child, ended, lines, listening) {
    this.#child = child;
    this.#ended = ended;
    this.#lines = lines;
    this.dynamodb = listening.dynamodb;
    this.api = listening.http;
    this.explorer = listening.explorer;
    this.table = listening.table;
  }

  get clientOptions() {
    return { endpoint: this.dynamodb, region: 'us-east-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } };
  }

  get log() {
    return this.#lines.join('\n');
  }

  async catchUp(seconds = 10) {
    const answer = await fetch(`${this.api}/dev/catch-up?seconds=${seconds}`);
    const said = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(`not caught up: ${said.detail ?? answer.status}`);
  }

  async stop() {
    this.#child.stdin.end();
    const late = setTimeout(() => this.#child.kill('SIGKILL'), END_MILLISECONDS);
    await this.#ended;
    clearTimeout(late);
  }

  async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() {
    await this.stop();
  }
}

async function start({ parameters = {}, args = [] } = {}) {
  const given = Object.entries(parameters).map(([name, value]) => `--parameter=${name}=${value}`);
  const ports = ['--dynamodb=127.0.0.1:0', '--http=127.0.0.1:0'];
  // Its input ends with this process, even if that is killed.
  const child = spawn(binary(), ['dev', '--json', '--end-with-input', ...ports, ...given, ...args], { stdio: 'pipe' });
  const ended = new Promise((resolve) => {
    child.once('exit', resolve);
    child.once('error', resolve);
  });
  // A process that has ended takes no end of its input.
  child.stdin.on('error', () => {});
  const lines = [];
  const keep = (line) => {
    lines.push(line);
    if (lines.length > LINES_MAX) lines.shift();
  };
  createInterface({ input: child.stderr }).on('line', keep);
  const listening = await new Promise((resolve, reject) => {
    let isListening = false;
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (isListening) return keep(line);
      isListening = true;
      resolve(JSON.parse(line));
    });
    child.once('error', reject);
    child.once('close', () => reject(new Error(`sapwood dev doesn't start: ${lines.join('\n')}`)));
  });
  // A test that forgets to stop it doesn't keep its process alive.
  child.unref();
  for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.unref();
  return new Stack(child, ended, lines, listening);
}

function eachTest({ beforeEach, afterEach }, options) {
  let running;
  beforeEach(async () => {
    running = await start(options);
  });
  afterEach(async () => {
    const stopped = running;
    running = undefined;
    await stopped?.stop();
  });
  // The stack of the running test. It is another object in each, so it is asked for anew at each use.
  return new Proxy(
    {},
    {
      get(_, name) {
        if (!running) throw new Error('there is a stack only while a test runs');
        const value = running[name];
        return typeof value === 'function' ? value.bind(running) : value;
      },
    },
  );
}

module.exports = { start, eachTest };
