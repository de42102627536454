// Data of the map: the server sends what an area shows at its level of detail. An area larger than the view is kept, so
// that panning needs no request.

import { get } from "./api.js";

/**
 * @typedef {{name: string, author_type: string, model?: string}} MapAuthor
 * @typedef {{id: string, column: number, y: number, author: number, nodes: number, branches: boolean, text?: string}} DrawnNode
 * @typedef {{columns: number, rows: number, nodes: number, stale: boolean, authors: MapAuthor[], runs: number[][],
 *   clusters: number[][], drawn: DrawnNode[], path: number[][], hits: number[][], bookmarks: number[][]}} MapAnswer
 * @typedef {{id: string, local_id: string, author: string, author_type: string, text: string, column: number, y: number,
 *   nodes: number, leaves: number}} MapNode
 * @typedef {import("./map-view.js").Area} Area
 */

/** Part of the view's size by which an area extends it on each side. */
const AHEAD = 0.6;
/** Change of size from which on the level of detail is another. */
const DETAIL_STEP = 1.7;

/** What is loaded, with the area and the sizes it was loaded for. */
export class MapWindow {
  /** @param {MapAnswer} answer @param {Area} area @param {number} columnPixels @param {number} rowPixels */
  constructor(answer, area, columnPixels, rowPixels) {
    this.answer = answer;
    this.area = area;
    this.columnPixels = columnPixels;
    this.rowPixels = rowPixels;
  }

  /** True if a view can be drawn well. @param {import("./map-view.js").MapView} view */
  holds(view) {
    const { columns, rows } = this.answer;
    const seen = view.area;
    const isInside =
      Math.max(0, seen.left) >= this.area.left && Math.min(columns, seen.right) <= this.area.right &&
      Math.max(0, seen.top) >= this.area.top && Math.min(rows, seen.bottom) <= this.area.bottom;
    const grown = Math.max(view.columnPixels / this.columnPixels, view.rowPixels / this.rowPixels);
    return isInside && grown < DETAIL_STEP && grown > 1 / DETAIL_STEP;
  }
}

/**
 * Loads what a view shows.
 * @param {string} tree @param {import("./map-view.js").MapView | null} view Null: the whole tree.
 * @param {{width: number, height: number, cursor: string | null, hits: string[]}} more @param {AbortSignal} [signal]
 */
export async function loadMap(tree, view, more, signal) {
  const query = new URLSearchParams();
  if (more.cursor) query.set("cursor", more.cursor);
  if (more.hits.length) query.set("hits", more.hits.join());
  let area = { left: 0, right: Infinity, top: 0, bottom: Infinity };
  if (view) {
    const { columns, rows } = view.extent;
    const seen = view.area;
    const [x, y] = [(seen.right - seen.left) * AHEAD, (seen.bottom - seen.top) * AHEAD];
    area = { left: seen.left - x, right: seen.right + x, top: seen.top - y, bottom: seen.bottom + y };
    for (const [name, value] of Object.entries(area)) query.set(name, value.toFixed(2));
    query.set("width", String(Math.max(1, Math.min(1e9, columns * view.columnPixels))));
    query.set("height", String(Math.max(1, Math.min(1e9, rows * view.rowPixels))));
  } else {
    query.set("width", String(more.width));
    query.set("height", String(more.height));
  }
  /** @type {MapAnswer} */
  const answer = await get(`/trees/${tree}/map?${query}`, signal);
  return new MapWindow(answer, area, view?.columnPixels ?? more.width / Math.max(1, answer.columns), view?.rowPixels ?? more.height / Math.max(1, answer.rows));
}

/** Returns the node at a position. @param {string} tree @param {number} column @param {number} row @param {AbortSignal} [signal] @returns {Promise<MapNode>} */
export function nodeAt(tree, column, row, signal) {
  return get(`/trees/${tree}/map/node?column=${column}&row=${row}`, signal);
}
