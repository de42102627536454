// The map: the surroundings of the cursor on a canvas, to pan and zoom. Everything in it can be had in the outline.

import { html, createRef, Component, Button } from "./view.js";
import { effect } from "./signals.js";
import * as state from "./state.js";
import { go, surroundings } from "./walk.js";
import { layOut } from "./map-layout.js";
import { paintMap, paintMini } from "./map-paint.js";

/**
 * @typedef {{x: number, y: number, columnPixels: number, rowPixels: number}} View
 * @typedef {{places: import("./map-layout.js").Place[], columns: number, rows: number, cursor: string | null}} MapData
 */

/** Lines on either side of the cursor. */
const REACH = 400;
const MAX_COLUMN_PIXELS = 64;
const MAX_ROW_PIXELS = 46;
const MARGIN = 36;
/** Distance from a node within which a click is meant for it. */
const NEAR_PIXELS = 26;

export class TreeMap extends Component {
  canvas = createRef();
  mini = createRef();
  /** @type {View} */
  view = { x: 0, y: 0, columnPixels: 24, rowPixels: 24 };
  /** @type {MapData | null} */
  data = null;
  /** @type {(() => void)[]} */
  cleanups = [];
  /** @type {Map<number, PointerEvent>} */
  pointers = new Map();
  frame = 0;
  isLoading = false;
  isStale = false;
  hasMoved = false;
  /** Tree that was fitted into the view. @type {string | undefined} */
  fitted;

  componentDidMount() {
    const canvas = this.canvas.current;
    const observer = new ResizeObserver(() => this.resize());
    observer.observe(canvas);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const repaint = () => this.paint();
    scheme.addEventListener("change", repaint);
    canvas.addEventListener("wheel", this.onWheel, { passive: false });
    this.cleanups.push(() => observer.disconnect(), () => scheme.removeEventListener("change", repaint));
    this.cleanups.push(effect(() => {
      // A window is read after each step and each change.
      state.outline.value;
      state.cursor.value;
      state.theme.value;
      queueMicrotask(() => this.load());
    }));
  }

  componentWillUnmount() {
    cancelAnimationFrame(this.frame);
    for (const cleanup of this.cleanups) cleanup();
  }

  resize() {
    const canvas = this.canvas.current;
    canvas.width = canvas.clientWidth * devicePixelRatio;
    canvas.height = canvas.clientHeight * devicePixelRatio;
    if (this.data && !this.fitted) this.fit();
    this.paint();
  }

  async load() {
    this.isStale = true;
    if (this.isLoading || !this.canvas.current) return;
    this.isLoading = true;
    try {
      while (this.isStale) {
        this.isStale = false;
        const tree = state.tree.peek()?.id;
        const window = await surroundings(REACH);
        if (!window || !this.canvas.current) return;
        this.data = { ...layOut(window.lines), cursor: window.node };
        if (this.fitted !== tree) this.fit();
        else this.follow();
        this.fitted = tree;
        this.paint();
      }
    } catch (error) {
      state.fail(error);
    } finally {
      this.isLoading = false;
    }
  }

  /** Shows all that is loaded; of a large part the cursor. */
  fit() {
    const canvas = this.canvas.current;
    if (!this.data || !canvas.clientWidth) return;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    this.view.columnPixels = Math.min(MAX_COLUMN_PIXELS, Math.max(3, (width - 2 * MARGIN) / Math.max(1, this.data.columns - 1)));
    this.view.rowPixels = Math.min(MAX_ROW_PIXELS, Math.max(3, (height - 2 * MARGIN) / Math.max(1, this.data.rows)));
    this.view.x = -MARGIN / this.view.columnPixels;
    this.view.y = (this.data.rows - height / this.view.rowPixels) / 2;
    this.follow();
    this.paint();
  }

  /** Moves the cursor's node into the view, or into its middle. @param {boolean} [toMiddle] */
  follow(toMiddle = false) {
    const place = this.data?.places.find(({ line }) => line.id === this.data?.cursor);
    if (!place) return;
    const { clientWidth, clientHeight } = this.canvas.current;
    const [x, y] = [(place.column - this.view.x) * this.view.columnPixels, (place.row - this.view.y) * this.view.rowPixels];
    if (toMiddle || x < MARGIN || x > clientWidth - MARGIN) this.view.x = place.column - clientWidth / 2 / this.view.columnPixels;
    if (toMiddle || y < MARGIN || y > clientHeight - MARGIN) this.view.y = place.row - clientHeight / 2 / this.view.rowPixels;
    this.paint();
  }

  /** Zooms around a point of the canvas. @param {number} factor @param {number} x @param {number} y */
  zoom(factor, x, y) {
    const { view } = this;
    const [column, row] = [view.x + x / view.columnPixels, view.y + y / view.rowPixels];
    view.columnPixels = Math.max(1, Math.min(MAX_COLUMN_PIXELS * 3, view.columnPixels * factor));
    view.rowPixels = Math.max(1, Math.min(MAX_ROW_PIXELS * 3, view.rowPixels * factor));
    view.x = column - x / view.columnPixels;
    view.y = row - y / view.rowPixels;
    this.paint();
  }

  paint() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      if (!this.data || !this.canvas.current) return;
      paintMap(this.canvas.current, this.data, this.view);
      paintMini(this.mini.current, this.data, this.view, this.canvas.current);
    });
  }

  /** @param {WheelEvent} event */
  onWheel = (event) => {
    event.preventDefault();
    const box = this.canvas.current.getBoundingClientRect();
    const size = event.deltaMode === 1 ? 20 : 1;
    if (!event.shiftKey && (event.deltaX === 0 || event.ctrlKey)) {
      return this.zoom(Math.exp((-event.deltaY * size) / 400), event.clientX - box.left, event.clientY - box.top);
    }
    this.view.x += (event.deltaX * size) / this.view.columnPixels;
    this.view.y += (event.deltaY * size) / this.view.rowPixels;
    this.paint();
  };

  /** @param {PointerEvent} event */
  onPointerDown = (event) => {
    this.canvas.current.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, event);
    if (this.pointers.size === 1) this.hasMoved = false;
  };

  /** @param {PointerEvent} event */
  onPointerMove = (event) => {
    const last = this.pointers.get(event.pointerId);
    if (!last) return;
    if (!this.hasMoved && Math.hypot(event.clientX - last.clientX, event.clientY - last.clientY) < 4) return;
    this.hasMoved = true;
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const box = this.canvas.current.getBoundingClientRect();
      const distance = (/** @type {PointerEvent} */ one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY) || 1;
      this.zoom(distance(event) / distance(last), (event.clientX + other.clientX) / 2 - box.left, (event.clientY + other.clientY) / 2 - box.top);
    } else {
      this.view.x -= (event.clientX - last.clientX) / this.view.columnPixels;
      this.view.y -= (event.clientY - last.clientY) / this.view.rowPixels;
      this.paint();
    }
    this.pointers.set(event.pointerId, event);
  };

  /** @param {PointerEvent} event */
  onPointerUp = (event) => {
    const wasDown = this.pointers.delete(event.pointerId);
    if (!wasDown || this.hasMoved || event.type === "pointercancel") return;
    const box = this.canvas.current.getBoundingClientRect();
    const found = this.nearest(event.clientX - box.left, event.clientY - box.top);
    if (found) go(found.id);
  };

  /** Line of the node nearest to a point. @param {number} x @param {number} y */
  nearest(x, y) {
    const { view } = this;
    let found = null;
    let best = NEAR_PIXELS;
    for (const { line, column, row } of this.data?.places ?? []) {
      const distance = Math.hypot((column - view.x) * view.columnPixels - x, (row - view.y) * view.rowPixels - y);
      if (distance < best) [found, best] = [line, distance];
    }
    return found;
  }

  render() {
    const zoom = (/** @type {number} */ factor) => () => this.zoom(factor, this.canvas.current.clientWidth / 2, this.canvas.current.clientHeight / 2);
    return html`<section class="map" aria-label="Map">
      <canvas ref=${this.canvas} class="map-canvas" aria-hidden="true" onPointerDown=${this.onPointerDown} onPointerMove=${this.onPointerMove}
        onPointerUp=${this.onPointerUp} onPointerCancel=${this.onPointerUp}></canvas>
      <canvas ref=${this.mini} class="map-mini" width="168" height="112" aria-hidden="true"></canvas>
      <div class="map-buttons"><${Button} text="+" label="Zoom in" class="small" onClick=${zoom(1.5)} /><${Button} text="−" label="Zoom out" class="small" onClick=${zoom(1 / 1.5)} />
        <${Button} text="Fit" label="Fit" class="small" onClick=${() => this.fit()} /><${Button} text="Cursor" label="Cursor" class="small" onClick=${() => this.follow(true)} /></div>
    </section>`;
  }
}
