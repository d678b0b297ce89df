// Twenty tests with Jest's hooks, each with a stack of its own.
'use strict';

const { eachTest } = require('sapwood/testing');
const { below, put } = require('./table.cjs');

const stack = eachTest({ beforeEach, afterEach });

for (let depth = 1; depth <= 20; depth++) {
  test(`a chain of ${depth} has a row for each level`, async () => {
    for (let n = 0; n <= depth; n++) await put(stack, `n${n}`, n > 0 ? { parent: `n${n - 1}` } : {});
    await stack.catchUp();
    expect(await below(stack, 'n0')).toHaveLength(depth);
  });
}
