// Differences of two texts, word by word: the shortest edit script of Myers.

/** Edits beyond which two texts count as entirely different. */
const MAX_EDITS = 1_500;

/** @typedef {{kind: "same" | "gone" | "added", text: string}} Piece */

/** Words, spaces and signs of a text. @param {string} text */
const words = (text) => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];

/** Number of words in a text. @param {string} text */
export const countWords = (text) => text.match(/[\p{L}\p{N}_]+/gu)?.length ?? 0;

/** Length below which equal text between longer changes is shown as changed: single equal words would scatter them. */
const MAX_ISLAND = 24;

/**
 * Joins changes with little between them. Each change then has what is gone before what was added.
 * @param {Piece[]} pieces @returns {Piece[]}
 */
export function coalesce(pieces) {
  /** @type {{same: string, gone: string, added: string}[]} Equal text, and the change after it. */
  const changes = [{ same: "", gone: "", added: "" }];
  for (const { kind, text } of pieces) {
    const last = changes[changes.length - 1];
    if (kind !== "same") last[kind] += text;
    else if (last.gone || last.added) changes.push({ same: text, gone: "", added: "" });
    else last.same += text;
  }
  /** @type {typeof changes} */
  const joined = [];
  for (const change of changes) {
    const before = joined.at(-1);
    const least = before && Math.min(Math.max(before.gone.length, before.added.length), Math.max(change.gone.length, change.added.length));
    const isShort = !countWords(change.same) || change.same.length < Math.min(least ?? 0, MAX_ISLAND);
    const isIsland = isShort && !change.same.includes("\n\n");
    if (before && isIsland) {
      before.gone += change.same + change.gone;
      before.added += change.same + change.added;
    } else {
      joined.push({ ...change });
    }
  }
  return joined.flatMap(({ same, gone, added }) => /** @type {Piece[]} */ ([{ kind: "same", text: same }, { kind: "gone", text: gone }, { kind: "added", text: added }])).filter((piece) => piece.text);
}

/** Compares two texts. @param {string} before @param {string} after @returns {Piece[]} */
export function compare(before, after) {
  const [from, to] = [words(before), words(after)];
  const trace = edits(from, to);
  if (!trace) return join([{ kind: "gone", text: before }, { kind: "added", text: after }]);
  /** @type {Piece[]} */
  const pieces = [];
  let [x, y] = [from.length, to.length];
  for (let depth = trace.length - 1; depth >= 0; depth--) {
    const row = trace[depth];
    const k = x - y;
    const isDown = k === -depth || (k !== depth && at(row, depth, k - 1) < at(row, depth, k + 1));
    const previous = isDown ? k + 1 : k - 1;
    const startX = depth === 0 ? 0 : at(row, depth, previous);
    const startY = depth === 0 ? 0 : startX - previous;
    while (x > startX && y > startY && from[x - 1] === to[y - 1]) {
      pieces.push({ kind: "same", text: from[--x] });
      y -= 1;
    }
    if (depth === 0) break;
    if (isDown) pieces.push({ kind: "added", text: to[--y] });
    else pieces.push({ kind: "gone", text: from[--x] });
  }
  return join(pieces.reverse());
}

/** Reads the farthest point of a diagonal. @param {Int32Array} row @param {number} depth @param {number} k */
const at = (row, depth, k) => row[k + depth];

/** Farthest points of each number of edits before it; null for too many edits. @param {string[]} from @param {string[]} to */
function edits(from, to) {
  const most = Math.min(from.length + to.length, MAX_EDITS);
  const farthest = new Int32Array(2 * most + 3);
  const offset = most + 1;
  const trace = [];
  for (let depth = 0; depth <= most; depth++) {
    trace.push(farthest.slice(offset - depth, offset + depth + 1));
    for (let k = -depth; k <= depth; k += 2) {
      const isDown = k === -depth || (k !== depth && farthest[offset + k - 1] < farthest[offset + k + 1]);
      let x = depth === 0 ? 0 : isDown ? farthest[offset + k + 1] : farthest[offset + k - 1] + 1;
      let y = x - k;
      while (x < from.length && y < to.length && from[x] === to[y]) {
        x += 1;
        y += 1;
      }
      farthest[offset + k] = x;
      if (x >= from.length && y >= to.length) return trace;
    }
  }
  return null;
}

/** Joins pieces of one kind. @param {Piece[]} pieces */
function join(pieces) {
  /** @type {Piece[]} */
  const joined = [];
  for (const piece of pieces) {
    const last = joined.at(-1);
    if (last?.kind === piece.kind) last.text += piece.text;
    else if (piece.text) joined.push({ ...piece });
  }
  return joined;
}
