// vitest's `test` with a fixture `sapwood`: a stack for each test that asks for it.
import { test as plain } from 'vitest';
import { start } from './testing.js';

export const test = plain.extend({
  sapwoodOptions: [{}, { injected: false }],
  sapwood: async ({ sapwoodOptions }, use) => {
    const stack = await start(sapwoodOptions);
    try {
      await use(stack);
    } finally {
      await stack.stop();
    }
  },
});
