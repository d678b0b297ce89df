import type { TestAPI } from 'vitest';
import type { Options, Stack } from './testing.js';

/** vitest's `test` with a stack for each test that asks for it. `test.extend({ sapwoodOptions: … })` sets what it is started with. */
export const test: TestAPI<{ sapwoodOptions: Options; sapwood: Stack }>;
