import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { Cycle, PreconditionFailed, Sapwood } from "@sapwood/client";
import { KnowledgeBase, segment } from "../src/knowledge-base.js";

const client = new Sapwood(process.env.SAPWOOD_API ?? "http://127.0.0.1:3000");
// Each test has a knowledge base of its own.
const open = () => KnowledgeBase.open(client, `kb-${randomUUID()}`);
const titles = (pages: { title: string }[]) => pages.map(({ title }) => title);

test("a tree of pages, with breadcrumbs and paths", async () => {
  const base = await open();
  const guides = await base.add(base.root, "Guides", "All guides.");
  const install = await base.add(guides, "How to install", "Run npm install.");
  const { pages } = await base.tree();
  assert.deepEqual(titles(pages), ["Guides"]);
  assert.deepEqual(titles(pages[0]!.pages), ["How to install"]);
  assert.deepEqual(titles(await base.breadcrumbs(install)), ["Knowledge base", "Guides", "How to install"]);
  assert.equal((await base.at("Guides", "How to install"))?.id, install);
  assert.equal(await base.at("Guides", "missing"), undefined);
});

test("a move takes subpages along, and a cycle is rejected", async () => {
  const base = await open();
  const [guides, archive] = [await base.add(base.root, "Guides", ""), await base.add(base.root, "Archive", "")];
  const install = await base.add(guides, "Install", "");
  const linux = await base.add(install, "Linux", "");
  await base.move(install, archive);
  assert.deepEqual(titles(await base.breadcrumbs(linux)), ["Knowledge base", "Archive", "Install", "Linux"]);
  assert.deepEqual((await base.tree(guides)).pages, []);
  await assert.rejects(base.move(archive, linux), Cycle);
});

test("a renamed page has another path, and so have its subpages", async () => {
  const base = await open();
  const guides = await base.add(base.root, "Guides", "");
  const install = await base.add(guides, "Install", "");
  await base.rename(guides, "Handbook");
  assert.equal((await base.at("Handbook", "Install"))?.id, install);
  assert.equal(await base.at("Guides", "Install"), undefined);
});

test("two siblings may have one title, and have different paths", async () => {
  const base = await open();
  const [first, second] = [await base.add(base.root, "Notes", ""), await base.add(base.root, "Notes", "")];
  assert.notEqual(first, second);
  assert.equal((await base.at("Notes"))?.id, first);
});

test("a page has the history of its text, and no edit is lost", async () => {
  const base = await open();
  const page = await base.add(base.root, "Page", "one");
  const read = await base.read(page);
  assert.deepEqual([read.text, read.version], ["one", 1]);
  assert.equal(await base.edit(page, "two", read.tag), 2);
  await assert.rejects(base.edit(page, "three", read.tag), PreconditionFailed);
  assert.deepEqual((await base.history(page)).map(({ version, text }) => [version, text]), [[2, "two"], [1, "one"]]);
});

test("a page comes back from the trash as it was", async () => {
  const base = await open();
  const guides = await base.add(base.root, "Guides", "");
  const install = await base.add(guides, "Install", "text");
  await base.trash(guides);
  assert.deepEqual((await base.tree()).pages, []);
  assert.ok((await base.trashed()).some(({ id }) => id === guides));
  await base.restore(guides);
  assert.deepEqual(titles((await base.tree(guides)).pages), ["Install"]);
  assert.equal((await base.read(install)).text, "text");
});

test("a segment has letters and digits of any language", () => {
  assert.equal(segment("How to install?"), "how-to-install");
  assert.equal(segment("Über Größe"), "über-größe");
  assert.equal(segment("!"), "page");
});
