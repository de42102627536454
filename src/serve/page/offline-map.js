// The map of a tree in memory, for an exported file: what the server would send of an area, at the same level of detail.

import { plain } from "./offline-tree.js";

/** @typedef {import("./offline-tree.js").OfflineTree} OfflineTree @typedef {[number, number]} Point */

const MIN_BRANCH_PIXELS = 3;
const MIN_RUN_PIXELS = 1;
const MAX_ITEMS = 4_000;
const MAX_NODES = 1_500;
const NODE_PIXELS = [9, 6];
const TEXT_LENGTH = 80;

/** Shape of a tree: nodes in the order of the outline, so that a branch is a range. */
export class OfflineMap {
  /** @param {OfflineTree} tree */
  constructor(tree) {
    this.tree = tree;
    const count = tree.order.length;
    /** Number of each place. @type {Map<number, number>} */
    this.numbers = new Map(tree.order.map((place, at) => [place, at]));
    this.size = new Uint32Array(count).fill(1);
    this.leaves = new Uint32Array(count);
    this.row = new Uint32Array(count);
    this.depth = Uint32Array.from(tree.order, (place) => tree.depth[place]);
    this.deepest = Uint32Array.from(this.depth);
    let leaves = 0;
    for (let at = 0; at < count; at++) {
      this.row[at] = leaves;
      if (!tree.children[tree.order[at]].length) leaves += 1;
    }
    for (let at = count - 1; at >= 0; at--) {
      this.leaves[at] = Math.max(1, this.leaves[at]);
      const parent = this.parent(at);
      if (parent === null) continue;
      this.size[parent] += this.size[at];
      this.leaves[parent] += this.leaves[at];
      this.deepest[parent] = Math.max(this.deepest[parent], this.deepest[at]);
    }
    /** @type {import("./map-data.js").MapAuthor[]} */
    this.authors = [];
  }

  /** @param {number} at @returns {number | null} */
  parent(at) {
    const { parent } = this.tree.nodes[this.tree.order[at]];
    return parent === undefined ? null : (this.numbers.get(parent) ?? null);
  }

  /** Twice the row of the node's middle. @param {number} at */
  middle(at) {
    return 2 * this.row[at] + this.leaves[at];
  }

  /** @param {number} at */
  runEnd(at) {
    while (this.size[at] > 1 && this.size[at + 1] === this.size[at] - 1) at += 1;
    return at;
  }

  /** Index of the author of a node. @param {number} at */
  author(at) {
    const { author: name, author_type } = this.tree.nodes[this.tree.order[at]];
    const known = this.authors.findIndex((author) => author.name === name && author.author_type === author_type);
    return known >= 0 ? known : this.authors.push({ name, author_type }) - 1;
  }

  /** @param {number | undefined} node @returns {Point[]} */
  point(node) {
    const at = node === undefined ? undefined : this.numbers.get(this.tree.placeOf(node));
    return at === undefined ? [] : [[this.depth[at], this.middle(at)]];
  }

  /** @param {URLSearchParams} query @returns {import("./map-data.js").MapAnswer} */
  answer(query) {
    const { tree } = this;
    const [columns, rows] = [this.deepest[0] + 1, this.leaves[0]];
    const number = (/** @type {string} */ name, /** @type {number} */ other) => Number(query.get(name) ?? other);
    const area = {
      left: number("left", 0), right: number("right", columns), top: number("top", 0), bottom: number("bottom", rows),
      columnPixels: number("width", 800) / columns, rowPixels: number("height", 600) / rows,
    };
    const cursor = tree.index.get(query.get("cursor") ?? "");
    const hits = (query.get("hits") ?? "").split(",").flatMap((id) => this.point(tree.index.get(id)));
    for (let least = MIN_BRANCH_PIXELS; ; least *= 2) {
      const items = this.items(area, least);
      if (items.runs.length + items.clusters.length > MAX_ITEMS && least < 1e6) continue;
      return {
        columns, rows, nodes: tree.order.length, stale: false, authors: this.authors, ...items, drawn: this.drawn(items.runs, area),
        path: this.path(cursor), hits, bookmarks: tree.bookmarks().flatMap((node) => this.point(node)),
      };
    }
  }

  /** @typedef {{left: number, right: number, top: number, bottom: number, columnPixels: number, rowPixels: number}} SizedArea */

  /** @param {SizedArea} area @param {number} least */
  items(area, least) {
    /** @type {number[][]} */
    const runs = [];
    /** @type {number[][]} */
    const clusters = [];
    /** @type {{first: number, from: Point}[]} */
    const open = [{ first: 0, from: [0, this.middle(0)] }];
    for (let next = open.pop(); next; next = open.pop()) {
      const { first, from } = next;
      const last = this.runEnd(first);
      /** @type {Point} */
      const end = [this.depth[last], this.middle(last)];
      const isLeaf = this.size[last] === 1;
      const isHidden = !isLeaf && first > 0 && (end[0] - from[0]) * area.columnPixels < MIN_RUN_PIXELS && (Math.abs(end[1] - from[1]) / 2) * area.rowPixels < MIN_RUN_PIXELS;
      const [upper, lower] = [Math.min(from[1], end[1]) / 2, Math.max(from[1], end[1]) / 2];
      if (!isHidden && end[0] >= area.left && from[0] <= area.right && lower >= area.top && upper <= area.bottom) {
        runs.push([this.depth[first], end[0], this.middle(first), ...from, this.size[first], this.author(first)]);
      }
      if (!isLeaf && end[0] <= area.right) this.branches(last, isHidden ? from : end, { area, least, open, clusters });
      if (runs.length + clusters.length > MAX_ITEMS) break;
    }
    return { runs, clusters };
  }

  /**
   * Visits the branches of a branch point: large ones later, small ones drawn together.
   * @param {number} point @param {Point} from
   * @param {{area: SizedArea, least: number, open: {first: number, from: Point}[], clusters: number[][]}} walk
   */
  branches(point, from, { area, least, open, clusters }) {
    /** @type {{first: number, deepest: number, top: number, bottom: number, nodes: number} | null} */
    let cluster = null;
    const add = () => {
      if (cluster && cluster.deepest >= area.left && from[0] <= area.right) {
        clusters.push([this.depth[cluster.first], cluster.deepest, 2 * cluster.top, 2 * cluster.bottom, ...from, cluster.nodes, this.author(cluster.first)]);
      }
      cluster = null;
    };
    const end = point + this.size[point];
    for (let child = point + 1; child < end; child += this.size[child]) {
      const [top, bottom] = [this.row[child], this.row[child] + this.leaves[child]];
      if (bottom < area.top || top > area.bottom) {
        add();
      } else if ((bottom - top) * area.rowPixels >= least) {
        add();
        open.push({ first: child, from });
      } else {
        cluster ??= { first: child, deepest: 0, top, bottom, nodes: 0 };
        cluster.bottom = bottom;
        cluster.deepest = Math.max(cluster.deepest, this.deepest[child]);
        cluster.nodes += this.size[child];
        if ((bottom - cluster.top) * area.rowPixels >= least) add();
      }
    }
    add();
  }

  /** Nodes one by one, if there is room. @param {number[][]} runs @param {SizedArea} area */
  drawn(runs, area) {
    /** @type {import("./map-data.js").DrawnNode[]} */
    const drawn = [];
    if (area.columnPixels < NODE_PIXELS[0] || area.rowPixels < NODE_PIXELS[1]) return drawn;
    for (const [first, last, y] of runs) {
      if (y / 2 < area.top || y / 2 > area.bottom) continue;
      for (let column = Math.max(first, Math.ceil(area.left)); column <= Math.min(last, area.right) && drawn.length < MAX_NODES; column++) {
        const at = this.at(column, Math.floor(y / 2));
        const node = this.tree.nodes[this.tree.order[at]];
        const isLeaf = this.size[at] === 1;
        drawn.push({ id: node.id, column, y, author: this.author(at), nodes: this.size[at], branches: !isLeaf && this.runEnd(at) === at, text: isLeaf ? plain(node.markdown).replace(/\s+/g, " ").slice(0, TEXT_LENGTH) : undefined });
      }
    }
    return drawn;
  }

  /** @param {number | undefined} cursor */
  path(cursor) {
    /** @type {Point[]} */
    const path = [];
    let at = cursor === undefined ? null : (this.numbers.get(this.tree.placeOf(cursor)) ?? null);
    for (let below = -1; at !== null; below = at, at = this.parent(at)) {
      const isRun = below >= 0 && this.size[at] === this.size[below] + 1;
      if (!isRun || at === 0) path.push([this.depth[at], this.middle(at)]);
    }
    return path.reverse();
  }

  /** Node at a depth in a row, or the deepest one above it. @param {number} column @param {number} row */
  at(column, row) {
    let at = 0;
    while (this.depth[at] < column && this.size[at] > 1) {
      let child = at + 1;
      while (this.row[child] + this.leaves[child] <= row) child += this.size[child];
      at = child;
    }
    return at;
  }

  /** @param {URLSearchParams} query @returns {import("./map-data.js").MapNode} */
  node(query) {
    const at = this.at(Number(query.get("column")), Math.min(this.leaves[0] - 1, Number(query.get("row"))));
    const { id, local_id, author, author_type, markdown } = this.tree.nodes[this.tree.selected(this.tree.order[at], [])];
    return { id, local_id, author, author_type, text: plain(markdown).slice(0, TEXT_LENGTH), column: this.depth[at], y: this.middle(at), nodes: this.size[at], leaves: this.leaves[at] };
  }
}
