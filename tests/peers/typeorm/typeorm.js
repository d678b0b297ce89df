// TypeORM's closure table on PostgreSQL. It reads a request a line, and answers each with a line.
"use strict";

require("reflect-metadata");
const readline = require("node:readline");
const { DataSource, EntitySchema } = require("typeorm");

// What PostgreSQL answers to a transaction that it has given up for the sake of another.
const GIVEN_UP = ["40001", "40P01"];

const [host, isSerializable] = [process.argv[2], process.argv[3] === "serializable"];

const Folder = new EntitySchema({
  name: "Folder",
  columns: { id: { type: String, primary: true } },
  relations: {
    parent: { type: "many-to-one", target: "Folder", treeParent: true },
    children: { type: "one-to-many", target: "Folder", treeChildren: true },
  },
  trees: [{ type: "closure-table" }],
});
const database = new DataSource({ type: "postgres", host, username: "postgres", database: "postgres", entities: [Folder] });

async function moveWith(manager, id, parent) {
  const folders = manager.getTreeRepository(Folder);
  const folder = await folders.findOneOrFail({ where: { id }, relations: { parent: true } });
  folder.parent = await folders.findOneByOrFail({ id: parent });
  await folders.save(folder);
}

const answers = {
  create: () => database.synchronize(),
  create_folder: async ([id, parent]) => {
    const folders = database.getTreeRepository(Folder);
    await folders.save(folders.create({ id, parent: parent === null ? null : { id: parent } }));
  },
  move: ([id, parent]) =>
    isSerializable
      ? database.transaction("SERIALIZABLE", (manager) => moveWith(manager, id, parent))
      : moveWith(database.manager, id, parent),
  below: async (id) => {
    const found = await database.getTreeRepository(Folder).findDescendants({ id });
    return found.map((folder) => folder.id).filter((found) => found !== id);
  },
  children: async (id) => {
    const found = await database.getRepository(Folder).find({ where: { parent: { id } } });
    return found.map((folder) => folder.id);
  },
};

async function main() {
  await database.initialize();
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [question, given] = JSON.parse(line);
    let answer;
    try {
      answer = { answer: (await answers[question](given)) ?? null };
    } catch (error) {
      answer = { error: error.message, is_given_up: GIVEN_UP.includes(error.code) };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
}

main();
