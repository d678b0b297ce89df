/** A knowledge base: pages in a tree, each with the history of its text. */

import { Exists, NotFound, type Sapwood, type Session } from "@sapwood/client";

/** The topic of a page's revisions. */
const TEXT = "Text";

/** A page, as a list shows it. */
export interface Page {
  id: string;
  title: string;
}

/** A page with its subpages. */
export interface Branch extends Page {
  pages: Branch[];
}

/** A page with its newest text. `tag` protects the next edit against lost updates. */
export interface Article extends Page {
  text: string;
  version: number;
  tag: string;
}

/** One version of a page's text. */
export interface Version {
  version: number;
  text: string;
  at: string;
}

interface Node {
  id: string;
  attributes?: Record<string, unknown>;
}

interface Nested extends Node {
  children: Nested[];
}

/** The knowledge base below one root. */
export class KnowledgeBase {
  /** A session: each read shows what this object has written. */
  private readonly api: Session;

  private constructor(client: Sapwood, readonly root: string) {
    this.api = client.session({ wait: 5 });
  }

  /** Opens a knowledge base, and creates it if it isn't there. */
  static async open(client: Sapwood, root = "knowledge-base"): Promise<KnowledgeBase> {
    const base = new KnowledgeBase(client, root);
    await base.api.createNode({ id: root, attributes: { title: "Knowledge base" } }).catch(error => {
      if (!(error instanceof Exists)) throw error;
    });
    return base;
  }

  /** Adds a page with its text, in one transaction. If a sibling has the title, this page's segment gets a number. */
  async add(parent: string, title: string, text: string): Promise<string> {
    const revision = { topic: TEXT, attributes: { text } };
    const made = await this.api.createNode({ parent, segment: segment(title), attributes: { title }, revision, on_conflict: "rename" });
    return made.body.id;
  }

  /** A page with its newest text. */
  async read(id: string): Promise<Article> {
    const { body } = await this.api.getNode(id);
    const newest = await this.api.getLatest(id, TEXT);
    const { version, attributes } = newest.body;
    const { etag = "" } = await this.api.getRevision(id, TEXT, version);
    return { ...page(body), text: String(attributes.text), version, tag: etag };
  }

  /** Saves a new text. With the tag of the text that was read, it fails if someone else has saved since (`PreconditionFailed`). */
  async edit(id: string, text: string, tag?: string): Promise<number> {
    const saved = await this.api.appendRevision(id, TEXT, { attributes: { text } }, { ifMatch: tag });
    return saved.body.version;
  }

  /** Gives a page another title, and another segment of its path. */
  async rename(id: string, title: string): Promise<void> {
    await this.finished(await this.api.patchNode(id, { segment: segment(title), attributes: { title }, on_conflict: "rename" }));
  }

  /** Moves a page with its subpages. It fails for a move below itself (`Cycle`). */
  async move(id: string, parent: string): Promise<void> {
    await this.finished(await this.api.patchNode(id, { parent, on_conflict: "rename" }));
  }

  /** The subpages of a page, nested. */
  async tree(id = this.root): Promise<Branch> {
    return branch((await this.api.getTree(id)).body);
  }

  /** The pages from the root down to this one. */
  async breadcrumbs(id: string): Promise<Page[]> {
    const above = await this.api.listAncestors(id, { fields: "title" }).all();
    return [...above.reverse(), (await this.api.getNode(id)).body].map(page);
  }

  /** The page at a path of titles below the root. */
  async at(...titles: string[]): Promise<Page | undefined> {
    try {
      const found = await this.api.listPaths(this.root, { path: titles.map(segment), limit: 1 }).first();
      return found.body.items.map(page)[0];
    } catch (error) {
      if (error instanceof NotFound) return undefined;
      throw error;
    }
  }

  /** All versions of a page's text, the newest first. */
  async history(id: string): Promise<Version[]> {
    const revisions = await this.api.listTopic(id, TEXT, { order: "desc" }).all();
    return revisions.map(({ version, attributes, created_at }) => ({ version, text: String(attributes.text), at: created_at ?? "" }));
  }

  /** Puts a page into the trash, with its subpages. */
  async trash(id: string): Promise<void> {
    await this.finished(await this.api.trashNode(id));
  }

  /** Takes a page out of the trash, back to where it was. */
  async restore(id: string): Promise<void> {
    await this.finished(await this.api.restoreNode(id, { on_conflict: "rename" }));
  }

  /** The pages in the trash, the newest first. */
  async trashed(): Promise<Page[]> {
    return (await this.api.listTrash().all()).map(page);
  }

  /** Waits until the rows of all subpages have followed a move. */
  private async finished(moved: Awaited<ReturnType<Session["patchNode"]>>): Promise<void> {
    await this.api.done(moved);
  }
}

/** The segment of a path for a title: lower case, words joined by hyphens. */
export function segment(title: string): string {
  const words = title.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ["page"];
  return words.join("-");
}

function page({ id, attributes }: Node): Page {
  return { id, title: String(attributes?.title ?? id) };
}

function branch(node: Nested): Branch {
  return { ...page(node), pages: node.children.map(branch) };
}
