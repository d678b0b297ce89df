// Twenty tests with node's own runner, each with a stack of its own.
'use strict';

const assert = require('node:assert');
const { afterEach, beforeEach, test } = require('node:test');
const { eachTest } = require(`${process.env.SAPWOOD}/lib/testing.js`);
const { below, count, put } = require('./table.cjs');

const stack = eachTest({ beforeEach, afterEach }, { parameters: { OrderAttribute: 'rank' } });

for (let depth = 1; depth <= 19; depth++) {
  test(`a chain of ${depth} has a row for each level`, async () => {
    assert.ok((await count(stack)) <= 1, "the table isn't empty but for the handler's settings");
    for (let n = 0; n <= depth; n++) await put(stack, `n${n}`, n > 0 ? { parent: `n${n - 1}` } : {});
    await stack.catchUp();
    const rows = Array.from({ length: depth }, (_, n) => `NODE#${String(n + 1).padStart(4, '0')}#n${n + 1}`);
    assert.deepStrictEqual(await below(stack, 'n0'), rows);
  });
}

test('children come in their order', async () => {
  await put(stack, 'D');
  await put(stack, 'a', { parent: 'D', rank: '2' });
  await put(stack, 'b', { parent: 'D', rank: '1' });
  await stack.catchUp();
  const { items } = await (await fetch(`${stack.api}/nodes/D/children?order=asc`)).json();
  assert.deepStrictEqual(
    items.map((item) => item.id),
    ['b', 'a'],
  );
});
