#!/usr/bin/env node
// Runs the binary, and ends as it ends.
'use strict';

const { spawn } = require('node:child_process');
const { constants } = require('node:os');
const { binary } = require('../lib/binary.js');

let program;
try {
  program = binary();
} catch (error) {
  console.error(`sapwood: ${error.message}`);
  process.exit(4);
}
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
// A terminal sends its signals to both, and others to this process alone. The binary decides what comes of them.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => child.kill(signal));
}
child.on('error', (error) => {
  console.error(`sapwood: ${program} can't be run: ${error.message}`);
  process.exitCode = 4;
});
child.on('exit', (code, signal) => {
  process.exitCode = signal ? 128 + constants.signals[signal] : code;
});
