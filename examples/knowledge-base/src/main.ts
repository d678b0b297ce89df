/** The knowledge base on the command line: `npm start -- tree`. */

import { Problem, Sapwood } from "@sapwood/client";
import { type Branch, KnowledgeBase } from "./knowledge-base.js";

const USAGE = `Usage: npm start -- COMMAND

  add PARENT TITLE TEXT    add a page; PARENT is an id, or "-" for the root
  show ID                  print a page
  edit ID TEXT             save a new text
  rename ID TITLE          change a title
  move ID PARENT           move a page with its subpages
  tree                     print all pages
  path TITLE...            find a page by its titles
  history ID               print all versions
  trash ID                 put a page into the trash
  restore ID               take it out again`;

function print({ id, title, pages }: Branch, indent = ""): void {
  console.log(`${indent}${title}  (${id})`);
  for (const below of pages) print(below, `${indent}  `);
}

async function run(base: KnowledgeBase, command: string, [first = "", ...rest]: string[]): Promise<boolean> {
  const at = (id: string) => (id === "-" ? base.root : id);
  switch (command) {
    case "add":
      console.log(await base.add(at(first), rest[0] ?? "", rest.slice(1).join(" ")));
      return true;
    case "show": {
      const crumbs = await base.breadcrumbs(first);
      console.log(`${crumbs.map(({ title }) => title).join(" › ")}\n\n${(await base.read(first)).text}`);
      return true;
    }
    case "edit":
      console.log(`version ${await base.edit(first, rest.join(" "))}`);
      return true;
    case "rename":
      await base.rename(first, rest.join(" "));
      return true;
    case "move":
      await base.move(first, at(rest[0] ?? "-"));
      return true;
    case "tree":
      print(await base.tree());
      return true;
    case "path":
      console.log((await base.at(first, ...rest))?.id ?? "not found");
      return true;
    case "history":
      for (const { version, at, text } of await base.history(first)) console.log(`${version}  ${at}  ${text}`);
      return true;
    case "trash":
      await base.trash(first);
      return true;
    case "restore":
      await base.restore(first);
      return true;
    default:
      return false;
  }
}

const [command = "", ...words] = process.argv.slice(2);
const base = await KnowledgeBase.open(new Sapwood(process.env.SAPWOOD_API ?? "http://127.0.0.1:3000"));
try {
  if (!(await run(base, command, words))) {
    console.error(USAGE);
    process.exitCode = 2;
  }
} catch (error) {
  if (!(error instanceof Problem)) throw error;
  console.error(error.detail);
  process.exitCode = 1;
}
