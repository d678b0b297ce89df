import type { TestAPI } from 'vitest';
import type { Options, Stack } from './testing.js';

/** vitest's `test` with a stack for each test that asks for it. `test.extend({ sapwoodOptions: { parameters: … } })` sets its parameters. */
export const test: TestAPI<{ sapwoodOptions: Options; sapwood: Stack }>;
