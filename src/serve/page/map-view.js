// Part of the plane that the map shows. A column is a depth, a row is a leaf; one zoom scales both, each between the
// size at which the whole tree fits and the size at which single nodes can be read.

/** @typedef {{columns: number, rows: number}} Extent @typedef {{left: number, right: number, top: number, bottom: number}} Area */

const MAX_COLUMN_PIXELS = 96;
const MAX_ROW_PIXELS = 52;
/** Sizes beyond which the whole of a small tree is not enlarged. */
const FIT_COLUMN_PIXELS = 58;
const FIT_ROW_PIXELS = 34;
const MARGIN = 40;
/** Room on the right for the text of leaves, in maps that show it. */
const TEXT_ROOM = 230;
/** Part of the map's end that stays visible. */
const KEPT_PIXELS = 80;

/** @param {number} value @param {number} least @param {number} most */
const clamp = (value, least, most) => Math.max(least, Math.min(most, value));

export class MapView {
  /** Column at the left edge, row at the upper edge. */
  x = 0;
  y = 0;
  /** 0: the whole tree; 1: the largest. */
  zoom = 0;
  width = 0;
  height = 0;
  /** @type {Extent} */
  extent = { columns: 1, rows: 1 };

  /** Pixels of a column and of a row that show the whole tree. */
  get least() {
    const { columns, rows } = this.extent;
    const row = clamp((this.height - 2 * MARGIN) / rows, 1e-7, FIT_ROW_PIXELS);
    const room = row >= 14 ? Math.min(TEXT_ROOM, this.width * 0.35) : 0;
    return [clamp((this.width - 2 * MARGIN - room) / Math.max(1, columns - 1), 1e-7, FIT_COLUMN_PIXELS), row];
  }

  /** @param {number} least @param {number} most */
  #scale(least, most) {
    return least * (most / least) ** this.zoom;
  }

  get columnPixels() {
    return this.#scale(this.least[0], MAX_COLUMN_PIXELS);
  }

  get rowPixels() {
    return this.#scale(this.least[1], MAX_ROW_PIXELS);
  }

  /** @type {Area} */
  get area() {
    return { left: this.x, right: this.x + this.width / this.columnPixels, top: this.y, bottom: this.y + this.height / this.rowPixels };
  }

  /** Shows the whole tree. */
  fit() {
    this.zoom = 0;
    this.x = -MARGIN / this.columnPixels;
    this.y = (this.extent.rows - this.height / this.rowPixels) / 2;
  }

  /** Zooms around a point of the canvas. @param {number} factor @param {number} x @param {number} y */
  scaleAt(factor, x, y) {
    const [column, row] = [this.x + x / this.columnPixels, this.y + y / this.rowPixels];
    const range = Math.max(Math.log(MAX_COLUMN_PIXELS / this.least[0]), Math.log(MAX_ROW_PIXELS / this.least[1]), 0.1);
    this.zoom = clamp(this.zoom + Math.log(factor) / range, 0, 1);
    this.x = column - x / this.columnPixels;
    this.y = row - y / this.rowPixels;
    this.limit();
  }

  /** @param {number} x @param {number} y Pixels. */
  pan(x, y) {
    this.x += x / this.columnPixels;
    this.y += y / this.rowPixels;
    this.limit();
  }

  /** Keeps a part of the tree in the view. */
  limit() {
    const [column, row] = [this.columnPixels, this.rowPixels];
    this.x = clamp(this.x, (KEPT_PIXELS - this.width) / column, this.extent.columns - KEPT_PIXELS / column);
    this.y = clamp(this.y, (KEPT_PIXELS - this.height) / row, this.extent.rows - KEPT_PIXELS / row);
  }

  /**
   * Returns the position that has a point in view, or in the middle; null if nothing has to move.
   * @param {number} column @param {number} row @param {boolean} toMiddle
   */
  toShow(column, row, toMiddle) {
    const [x, y] = [(column - this.x) * this.columnPixels, (row - this.y) * this.rowPixels];
    const [hasX, hasY] = [x >= MARGIN && x <= this.width - MARGIN, y >= MARGIN && y <= this.height - MARGIN];
    if (!toMiddle && hasX && hasY) return null;
    return {
      x: toMiddle || !hasX ? column - this.width / 2 / this.columnPixels : this.x,
      y: toMiddle || !hasY ? row - this.height / 2 / this.rowPixels : this.y,
    };
  }
}
