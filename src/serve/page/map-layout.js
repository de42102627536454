// Layout of the map: lines of the outline as places on a plane. A node's column is its depth in the loaded part; each leaf
// has a row, and a node is in the middle of the rows of its leaves.

/**
 * @typedef {import("./api.js").Line} Line
 * @typedef {{line: Line, column: number, row: number, from: number, isOnPath: boolean}} Place
 */

/** Returns the index of each line's parent; -1 if it was not loaded. @param {Line[]} lines */
function parents(lines) {
  /** Branch points by the level of their branches. @type {number[]} */
  const points = [];
  return lines.map((line, at) => {
    // A node without siblings follows its parent directly.
    const parent = at === 0 ? -1 : line.opens_branch ? (points[line.level] ?? -1) : at - 1;
    if (line.marks.continuations > 1 && !line.folded) points[line.level + 1] = at;
    points.length = Math.min(points.length, line.level + 2);
    return parent;
  });
}

/** Lays out lines, which are in the order of the outline. @param {Line[]} lines @returns {{places: Place[], columns: number, rows: number}} */
export function layOut(lines) {
  const from = parents(lines);
  const children = new Array(lines.length).fill(0);
  for (const parent of from) if (parent >= 0) children[parent] += 1;
  /** @type {number[]} */
  const found = [];
  /** Column of the branch before, for a branch whose parent was not loaded. @type {number[]} */
  const known = [];
  let columns = 0;
  let rows = 0;
  const places = lines.map((line, at) => {
    const parent = from[at];
    const column = parent >= 0 ? found[parent] + 1 : Math.max(0, known[line.level] ?? 0);
    found[at] = column;
    if (line.opens_branch) known[line.level] = column;
    columns = Math.max(columns, column + 1);
    const row = children[at] === 0 ? rows++ + 0.5 : -1;
    return { line, column, row, from: parent, isOnPath: line.on_path };
  });
  place(places, from);
  return { places, columns, rows };
}

/** Puts every parent in the middle of its first and its last child. @param {Place[]} places @param {number[]} from */
function place(places, from) {
  const first = new Array(places.length).fill(Infinity);
  const last = new Array(places.length).fill(-Infinity);
  for (let at = places.length - 1; at >= 0; at--) {
    if (places[at].row < 0) places[at].row = (first[at] + last[at]) / 2;
    const parent = from[at];
    if (parent < 0) continue;
    first[parent] = Math.min(first[parent], places[at].row);
    last[parent] = Math.max(last[parent], places[at].row);
  }
}
