// Writes src/generated/operations.ts: a method for each call of docs/openapi.json. What the document says of a call is the method's comment.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const document = JSON.parse(readFileSync(new URL("../../docs/openapi.json", import.meta.url), "utf8"));
// The page for people, the document itself, and a call whose path has any number of segments: `list_paths` does the same.
const LEFT_OUT = new Set(["get_docs", "get_openapi", "list_paths_by_url"]);

const camel = name => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
const calls = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, call]) => ({ path, method: method.toUpperCase(), ...call })));

function answer(call) {
  const bodies = Object.entries(call.responses).filter(([status]) => status.startsWith("2")).map(([, { content }]) => content?.["application/json"]?.schema.$ref);
  return bodies.find(Boolean)?.split("/").at(-1);
}

function comment(call) {
  const width = 110, lines = [];
  for (const paragraph of [call.summary, call.description].filter(Boolean).flatMap(text => text.split("\n"))) {
    let line = "";
    for (const word of paragraph.split(" ")) {
      if (line && line.length + word.length >= width) {
        lines.push(line);
        line = "";
      }
      line += line ? ` ${word}` : word;
    }
    lines.push(line, "");
  }
  return ["  /**", ...lines.slice(0, -1).map(line => `   * ${line}`.trimEnd().replaceAll("*/", "*\\/")), "   */"].join("\n");
}

const table = [], methods = [];
for (const call of calls.filter(call => !LEFT_OUT.has(call.operationId))) {
  const { operationId: id, path, method, parameters = [], requestBody } = call;
  const inPath = parameters.filter(parameter => parameter.in === "path");
  const query = parameters.filter(parameter => parameter.in === "query");
  const has = name => parameters.some(parameter => parameter.name === name);
  const content = requestBody && Object.keys(requestBody.content)[0];
  const body = answer(call);
  const listed = body && (body.startsWith("Page_") || body === "NodesBody");
  table.push(`  ${id}: { method: "${method}", path: "${path}", takesKey: ${has("Idempotency-Key")}, takesWritten: ${has("written")}, `
    + `takesConsistent: ${has("consistent")}${content ? `, content: "${content}"` : ""} },`);
  const given = [
    ...inPath.map(({ name, schema }) => `${name}: ${schema.type === "integer" ? "number" : "string"}`),
    ...(requestBody ? [requestBody.required ? `body: Body<"${id}">` : `body: Body<"${id}"> = {}`] : []),
    ...(query.length ? [`query: Query<"${id}">${query.some(parameter => parameter.required) ? "" : " = {}"}`] : []),
    "options: CallOptions = {}",
  ];
  const named = `{ ${[...inPath.map(({ name }) => name)].join(", ")} }`.replace("{  }", "{}");
  const passed = `"${id}", ${named}, ${query.length ? "query" : "{}"}, ${requestBody ? "body" : "undefined"}, options`;
  const type = listed ? `Pages<Schemas["${body}"]>` : `Promise<Answer<${body ? `Schemas["${body}"]` : "undefined"}>>`;
  methods.push(`${comment(call)}\n  ${camel(id)}(${given.join(", ")}): ${type} {\n    return this.${listed ? "list" : "call"}(${passed});\n  }`);
}

const text = `// Made of docs/openapi.json by generate.mjs.
import type { Answer, CallOptions, Operation, Pages } from "../call.js";
import type { components, operations } from "./openapi.js";

export type Schemas = components["schemas"];
type Query<Call extends keyof operations> = NonNullable<operations[Call]["parameters"]["query"]>;
type BodyOf<Call> = Call extends { requestBody?: { content: infer Content } } ? Content[keyof Content] : never;
type Body<Call extends keyof operations> = BodyOf<operations[Call]>;
type Parameters = Record<string, string | number>;

export const OPERATIONS = {
${table.join("\n")}
} as const satisfies Record<string, Operation>;

/** The name of a call in the document. */
export type OperationName = keyof typeof OPERATIONS;

/** A method for each call of the API. */
export abstract class Operations {
  protected abstract call<Body>(name: OperationName, path: Parameters, query: object, body: unknown, options: CallOptions): Promise<Answer<Body>>;
  protected abstract list<Page extends { items: unknown[]; cursor?: string }>(
    name: OperationName, path: Parameters, query: object, body: undefined, options: CallOptions): Pages<Page>;

${methods.join("\n\n")}
}
`;
mkdirSync(new URL("src/generated/", import.meta.url), { recursive: true });
writeFileSync(new URL("src/generated/operations.ts", import.meta.url), text);
