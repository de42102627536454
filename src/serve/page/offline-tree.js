// A tree in memory, for an exported file: windows with the lines, path and marks that the server would send.

/**
 * @typedef {import("./api.js").Token} Token @typedef {import("./api.js").Line} Line @typedef {import("./api.js").Entry} Entry
 * @typedef {{id: string, local_id: string, parent?: number, version_of?: number, author: string, author_type: string,
 *   role: string, created_at: number, tokens?: number, bookmark?: string, excluded: boolean, pruned: boolean,
 *   interrupted: boolean, markdown: Token[], left_out: number, thought?: string}} SavedNode
 * @typedef {{place: number, level: number, guides: string, opens: boolean}} Row
 */

const LINE_LENGTH = 140;
const GUIDES = 24;
const MAX_CONTINUATIONS = 24;

/** Text of tokens. @param {Token[]} tokens */
export function plain(tokens) {
  let text = "";
  for (const token of tokens) {
    if (token === "close") text += " ";
    else if (typeof token === "object" && "text" in token) text += token.text;
    else if (typeof token === "object" && "code" in token) text += token.code;
  }
  return text.trim();
}

export class OfflineTree {
  /** @param {{tree: import("./api.js").Tree, nodes: SavedNode[]}} saved */
  constructor({ tree, nodes }) {
    this.tree = tree;
    /** @type {SavedNode[]} */
    this.nodes = nodes;
    /** Places in the order of the outline. @type {number[]} */
    this.order = [];
    /** Continuations of each place. @type {number[][]} */
    this.children = nodes.map(() => []);
    /** Versions of each place after the original. @type {number[][]} */
    this.versions = nodes.map(() => []);
    /** @type {number[][]} */
    this.thoughts = nodes.map(() => []);
    /** @type {Map<string, number>} */
    this.index = new Map();
    const roots = this.read();
    if (roots.length !== 1) this.addRoot(roots);
    this.root = roots.length === 1 ? roots[0] : this.nodes.length - 1;
    this.depth = this.measure();
    const places = this.order.length;
    this.tree = { ...tree, root_id: this.nodes[this.root].id, nodes: places, leaves: this.order.filter((place) => !this.children[place].length).length };
  }

  /** Finds what belongs to each node. Returns the nodes without a parent. */
  read() {
    /** @type {number[]} */
    const roots = [];
    this.nodes.forEach((node, at) => {
      if (node.thought !== undefined) {
        this.thoughts[node.parent ?? 0].push(at);
        return;
      }
      this.index.set(node.id, at);
      if (node.version_of !== undefined) this.versions[node.version_of].push(at);
      else if (node.parent === undefined) roots.push(at);
      else this.children[node.parent].push(at);
    });
    return roots;
  }

  /** Adds a root above several trees, whose own was left out. @param {number[]} roots */
  addRoot(roots) {
    const at = this.nodes.length;
    const { root_id, updated_at } = this.tree;
    this.nodes.push({ id: root_id ?? "root", local_id: "root", author: "system", author_type: "system", role: "system", created_at: updated_at, excluded: false, pruned: false, interrupted: false, markdown: [], left_out: 0 });
    for (const root of roots) this.nodes[root].parent = at;
    this.children.push(roots);
    this.versions.push([]);
    this.thoughts.push([]);
    this.index.set(this.nodes[at].id, at);
  }

  /** Depth of each place; sets the order of the outline. */
  measure() {
    const depth = new Array(this.nodes.length).fill(0);
    const open = [this.root];
    for (let place = open.pop(); place !== undefined; place = open.pop()) {
      this.order.push(place);
      for (let at = this.children[place].length - 1; at >= 0; at--) {
        const child = this.children[place][at];
        depth[child] = depth[place] + 1;
        open.push(child);
      }
    }
    return depth;
  }

  /** Node that all versions share. @param {number} node */
  placeOf(node) {
    return this.nodes[node].version_of ?? node;
  }

  /** Selected version of a place, else the newest. @param {number} place @param {string[]} versions */
  selected(place, versions) {
    const all = [place, ...this.versions[place]];
    return all.find((node) => versions.includes(this.nodes[node].id)) ?? all[all.length - 1];
  }

  /** Places from the root to a place. @param {number} place */
  pathTo(place) {
    const path = [];
    for (let at = /** @type {number | undefined} */ (place); at !== undefined; at = this.nodes[at].parent) path.push(at);
    return path.reverse();
  }

  /** Lines of the outline below a place. @param {number} top @param {Set<number>} folds @returns {Row[]} */
  rows(top, folds) {
    /** @type {Row[]} */
    const rows = [];
    const open = [{ place: top, level: 0, guides: "", opens: false }];
    for (let row = open.pop(); row; row = open.pop()) {
      rows.push(row);
      const children = folds.has(row.place) ? [] : this.children[row.place];
      const { level, guides } = row;
      if (children.length === 1) open.push({ place: children[0], level, guides, opens: false });
      else {
        for (let at = children.length - 1; at >= 0; at--) {
          open.push({ place: children[at], level: level + 1, guides: (guides + (at === children.length - 1 ? "1" : "0")).slice(-GUIDES), opens: true });
        }
      }
    }
    return rows;
  }

  /** @param {number} place @param {number} node */
  marks(place, node) {
    const { bookmark, excluded, pruned, interrupted } = this.nodes[node];
    const versions = this.versions[place].length || undefined;
    return { continuations: this.children[place].length, versions, bookmark, excluded: excluded || undefined, pruned: pruned || undefined, interrupted: interrupted || undefined };
  }

  /** @param {Row} row @param {string[]} versions @param {boolean} onPath @param {boolean} folded @returns {Line} */
  line({ place, level, guides, opens }, versions, onPath, folded) {
    const at = this.selected(place, versions);
    const node = this.nodes[at];
    const text = plain(node.markdown).replace(/\s+/g, " ").slice(0, LINE_LENGTH);
    return { id: node.id, local_id: node.local_id, place: this.nodes[place].id, author: node.author, author_type: node.author_type, text, level, guides, opens_branch: opens, on_path: onPath, folded, marks: this.marks(place, at) };
  }

  /** @param {number} place @param {number} at @returns {Entry} */
  entry(place, at) {
    const node = this.nodes[at];
    const { parent } = this.nodes[place];
    const siblings = parent === undefined ? [place] : this.children[parent];
    const versions = [place, ...this.versions[place]];
    return {
      id: node.id, local_id: node.local_id, parent_id: parent === undefined ? undefined : this.nodes[parent].id, place: this.nodes[place].id,
      author: node.author, author_type: node.author_type, role: node.role, created_at: node.created_at, depth: this.depth[place], tokens: node.tokens,
      marks: this.marks(place, at), branch: { number: siblings.indexOf(place) + 1, count: siblings.length },
      version: { number: versions.indexOf(at) + 1, count: versions.length }, markdown: node.markdown, left_out: node.left_out || undefined,
      attached: this.thoughts[at].map((thought) => ({ id: this.nodes[thought].id, kind: "thought", author: node.author, text: this.nodes[thought].thought ?? "" })),
    };
  }

  /**
   * Takes a step from a place. Versions that it selects are added to the list.
   * @param {number} place @param {string} name @param {string[]} versions @param {Row[]} rows
   */
  step(place, name, versions, rows) {
    const { parent } = this.nodes[place];
    const siblings = parent === undefined ? [place] : this.children[parent];
    const beside = (/** @type {number} */ by) => siblings[(siblings.indexOf(place) + by + siblings.length) % siblings.length];
    const line = rows.findIndex((row) => row.place === place);
    switch (name) {
      case "parent": return parent ?? place;
      case "child": return this.children[place][0] ?? place;
      case "next": return beside(1);
      case "previous": return beside(-1);
      case "line_down": return rows[line + 1]?.place ?? place;
      case "line_up": return rows[line - 1]?.place ?? place;
      case "root": return this.root;
      case "end": {
        let end = place;
        while (this.children[end].length) end = this.children[end][0];
        return end;
      }
      case "bookmark": {
        const marked = this.bookmarks().map((node) => this.placeOf(node));
        return marked.find((node) => node > place) ?? marked[0] ?? place;
      }
      case "version":
      case "version_back": {
        const all = [place, ...this.versions[place]];
        const next = all[all.indexOf(this.selected(place, versions)) + (name === "version" ? 1 : -1)];
        if (next === undefined) return place;
        for (const node of all) if (versions.includes(this.nodes[node].id)) versions.splice(versions.indexOf(this.nodes[node].id), 1);
        versions.push(this.nodes[next].id);
        return place;
      }
      default: return place;
    }
  }

  /** Bookmarked nodes. */
  bookmarks() {
    return [...this.index.values()].filter((node) => this.nodes[node].bookmark !== undefined);
  }

  /** The answer that the server would give. @param {number} node @param {URLSearchParams} query @returns {import("./api.js").Window} */
  window(node, query) {
    const list = (/** @type {string} */ name) => (query.get(name) ?? "").split(",").filter(Boolean);
    const number = (/** @type {string} */ name, /** @type {number} */ other) => Number(query.get(name) ?? other);
    const versions = list("versions");
    const folds = new Set(list("folded").flatMap((id) => this.index.get(id) ?? []));
    let place = this.placeOf(node);
    if (node !== place && !versions.includes(this.nodes[node].id)) versions.push(this.nodes[node].id);
    const hoist = this.index.get(query.get("hoist") ?? "");
    const visible = () => {
      const path = this.pathTo(place);
      const top = hoist !== undefined && path.includes(hoist) ? hoist : this.root;
      return this.rows(top, new Set([...folds].filter((fold) => fold === place || !path.includes(fold))));
    };
    for (const name of list("steps")) place = this.step(place, name, versions, name.startsWith("line") ? visible() : []);
    const rows = visible();
    const at = rows.findIndex((row) => row.place === place);
    const path = this.pathTo(place);
    const onPath = new Set(path);
    const first = Math.max(0, at - number("above", 40));
    const shown = number("path", 12);
    const entries = shown ? path.slice(-shown) : [];
    return {
      tree: this.tree,
      node: this.nodes[this.selected(place, versions)].id,
      lines: rows.slice(first, at + number("below", 60) + 1).map((row) => this.line(row, versions, onPath.has(row.place), folds.has(row.place) && this.children[row.place].length > 0)),
      cursor: at - first,
      omitted: false,
      path: entries.map((each) => this.entry(each, this.selected(each, versions))),
      more_path: entries.length > 0 && entries[0] !== this.root,
      continuations: shown ? this.children[place].slice(0, MAX_CONTINUATIONS).map((child) => this.line({ place: child, level: 0, guides: "", opens: false }, versions, false, false)) : [],
      versions,
      others: [],
      pins: [],
      journal: 0,
    };
  }
}
