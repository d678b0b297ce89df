/** What a stack is started with. */
export interface Options {
  /** Parameters of the template, for example `{ OrderAttribute: 'rank' }`. */
  parameters?: Record<string, string | number>;
  /** Further arguments of `sapwood dev`. */
  args?: string[];
}

/** A running stack with an empty table in memory, on free ports. It ends with `stop`, or with this process, however that ends. */
export interface Stack {
  /** The URL of DynamoDB, for clients of AWS. */
  readonly dynamodb: string;
  /** The URL of the HTTP API. */
  readonly api: string;
  /** The URL of a page that shows the table. */
  readonly explorer: string;
  /** The table's name. */
  readonly table: string;
  /** What a client of the AWS SDK needs: `new DynamoDBClient(stack.clientOptions)`. */
  readonly clientOptions: { endpoint: string; region: string; credentials: { accessKeyId: string; secretAccessKey: string } };
  /** The last lines that the process has printed: one for each batch of the stream, as JSON. */
  readonly log: string;
  /** Waits until everything that was written before is handled: then all rows are there. It fails if that takes longer. */
  catchUp(seconds?: number): Promise<void>;
  /** Ends the process. Its table is gone then. */
  stop(): Promise<void>;
}

/** Starts a stack. */
export function start(options?: Options): Promise<Stack>;

/** The hooks of a test runner: those of vitest, Jest, Mocha or `node:test`. */
export interface Hooks {
  beforeEach(hook: () => Promise<void>): unknown;
  afterEach(hook: () => Promise<void>): unknown;
}

/** Starts a stack before each test and ends it afterwards. Returns the stack of the test that runs. */
export function eachTest(hooks: Hooks, options?: Options): Stack;
