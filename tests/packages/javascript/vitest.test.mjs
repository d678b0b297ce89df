// Twenty tests with vitest's fixture, each with a stack of its own.
import { expect } from 'vitest';
import { test as plain } from 'sapwood/vitest';
import { below, put } from './table.cjs';

for (let depth = 1; depth <= 19; depth++) {
  plain(`a chain of ${depth} has a row for each level`, async ({ sapwood }) => {
    for (let n = 0; n <= depth; n++) await put(sapwood, `n${n}`, n > 0 ? { parent: `n${n - 1}` } : {});
    await sapwood.catchUp();
    expect(await below(sapwood, 'n0')).toHaveLength(depth);
  });
}

const ordered = plain.extend({ sapwoodOptions: { parameters: { OrderAttribute: 'rank' } } });

ordered('children come in their order', async ({ sapwood }) => {
  await put(sapwood, 'D');
  await put(sapwood, 'a', { parent: 'D', rank: '2' });
  await put(sapwood, 'b', { parent: 'D', rank: '1' });
  await sapwood.catchUp();
  const { items } = await (await fetch(`${sapwood.api}/nodes/D/children?order=asc`)).json();
  expect(items.map((item) => item.id)).toEqual(['b', 'a']);
});
