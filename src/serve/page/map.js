// The map: the whole tree on a canvas, to pan and zoom. Everything in it can be had in the outline.

import { html, classes, createRef, Component, Button } from "./elements.js";
import { effect, signal } from "./signals.js";
import * as state from "./state.js";
import { go } from "./navigation.js";
import { loadMap, nodeAt } from "./map-data.js";
import { MapView } from "./map-view.js";
import { MapPainter, paintWhole, themeColours, SERIES } from "./map-paint.js";
import { MapGestures } from "./map-gestures.js";

/** @typedef {import("./map-data.js").MapWindow} MapWindow @typedef {import("./map-data.js").MapNode} MapNode */

/** Time after which a map that is out of date is read again, in milliseconds. */
const STALE_MS = 1_200;
const GLIDE_MS = 200;
const PAN_PIXELS = 90;
const ZOOM_STEP = 1.6;

/** Name of an author, with the model. @param {import("./map-data.js").MapAuthor} author */
const authorLabel = ({ name, model }) => (model ? `${name} · ${model}` : name);

/** Colours by kind of author, or by author and model. */
const colouring = signal(localStorage.getItem("loom-map-colours") ?? "kind");

/** The visible map. @type {TreeMap | null} */
let shown = null;

/** Zooms the visible map; 0 shows the whole tree. @param {number} factor */
export function zoomMap(factor) {
  if (!shown) return state.notify("w shows the map");
  if (factor) shown.zoom(factor);
  else shown.fit();
}

/** Moves the visible map. @param {number} x @param {number} y Pages of a few rows. */
export function panMap(x, y) {
  shown?.move(() => shown?.view.pan(x * PAN_PIXELS, y * PAN_PIXELS));
}

export class TreeMap extends Component {
  canvas = createRef();
  mini = createRef();
  frameBox = createRef();
  tip = createRef();
  view = new MapView();
  painter = new MapPainter();
  /** @type {MapWindow | null} */
  window = null;
  /** The whole tree, for the corner. @type {MapWindow | null} */
  whole = null;
  /** @type {import("./map-paint.js").Colours | null} */
  colours = null;
  /** Index of the colour of each author, by name. @type {Map<string, number>} */
  series = new Map();
  /** @type {(() => void)[]} */
  cleanups = [];
  frame = 0;
  glideFrame = 0;
  staleTimer = 0;
  isLoading = false;
  isWanted = false;
  /** True if the tree changed since it was loaded. */
  isChanged = false;
  /** Tree and cursor that the map followed last. */
  followed = { tree: "", cursor: "" };
  /** @type {AbortController | null} */
  hover = null;

  componentDidMount() {
    shown = this;
    const canvas = this.canvas.current;
    const observer = new ResizeObserver(() => this.resize());
    observer.observe(canvas);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const recolour = () => {
      this.colours = null;
      this.paint();
    };
    scheme.addEventListener("change", recolour);
    const gestures = new MapGestures(this, canvas, this.mini.current);
    this.cleanups.push(() => observer.disconnect(), () => scheme.removeEventListener("change", recolour), () => gestures.stop());
    this.cleanups.push(effect(() => {
      // After each step, each change and each search.
      state.outline.value;
      state.cursor.value;
      state.hits.value;
      queueMicrotask(() => this.load(true));
    }));
    this.cleanups.push(effect(() => {
      state.theme.value;
      colouring.value;
      queueMicrotask(recolour);
    }));
  }

  componentWillUnmount() {
    if (shown === this) shown = null;
    cancelAnimationFrame(this.frame);
    cancelAnimationFrame(this.glideFrame);
    clearTimeout(this.staleTimer);
    this.hover?.abort();
    for (const cleanup of this.cleanups) cleanup();
  }

  resize() {
    const { canvas, mini } = { canvas: this.canvas.current, mini: this.mini.current };
    for (const one of [canvas, mini]) [one.width, one.height] = [one.clientWidth * devicePixelRatio, one.clientHeight * devicePixelRatio];
    const isWhole = this.view.zoom === 0;
    [this.view.width, this.view.height] = [canvas.clientWidth, canvas.clientHeight];
    if (isWhole) this.view.fit();
    this.paint();
    this.load();
  }

  /** Loads what the view shows, if it is not loaded or out of date. @param {boolean} [isChanged] */
  async load(isChanged = false) {
    this.isChanged ||= isChanged;
    this.isWanted ||= isChanged || !this.window?.holds(this.view);
    if (this.isLoading || !this.canvas.current) return;
    this.isLoading = true;
    try {
      while (this.isWanted && this.canvas.current && this.view.width) {
        [this.isWanted, isChanged, this.isChanged] = [false, this.isChanged, false];
        await this.loadOnce(isChanged);
      }
    } catch (error) {
      state.fail(error);
    } finally {
      this.isLoading = false;
    }
  }

  /** @param {boolean} isChanged */
  async loadOnce(isChanged) {
    const [tree, cursor] = [state.tree.peek()?.id, state.cursor.peek()];
    if (!tree || !cursor) return;
    const isNew = this.followed.tree !== tree;
    const more = { cursor, hits: state.hits.peek(), width: this.mini.current.clientWidth, height: this.mini.current.clientHeight };
    if (isNew || isChanged || this.whole?.answer.stale) {
      this.whole = await loadMap(tree, null, more);
      if (isNew) this.series.clear();
      this.view.extent = { columns: Math.max(1, this.whole.answer.columns), rows: Math.max(1, this.whole.answer.rows) };
      if (isNew || this.view.zoom === 0) this.view.fit();
      this.paintCorner();
    }
    this.window = await loadMap(tree, this.view, more);
    if (!this.canvas.current) return;
    clearTimeout(this.staleTimer);
    if (this.window.answer.stale) this.staleTimer = setTimeout(() => this.load(true), STALE_MS);
    if (this.followed.cursor !== cursor && !isNew) this.follow();
    this.followed = { tree, cursor };
    this.setState({});
    this.paint();
  }

  /** Moves the cursor's node into the view, or into its middle. @param {boolean} [toMiddle] */
  follow(toMiddle = false) {
    const point = this.window?.answer.path.at(-1);
    const to = point && this.view.toShow(point[0], point[1] / 2, toMiddle);
    if (to) this.glide(to);
  }

  /** Moves the view smoothly. @param {{x: number, y: number}} to */
  glide(to) {
    cancelAnimationFrame(this.glideFrame);
    const { x, y } = this.view;
    const begin = performance.now();
    const length = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : GLIDE_MS;
    const step = () => {
      const part = length ? Math.min(1, (performance.now() - begin) / length) : 1;
      const eased = 1 - (1 - part) ** 3;
      this.move(() => Object.assign(this.view, { x: x + (to.x - x) * eased, y: y + (to.y - y) * eased }));
      if (part < 1) this.glideFrame = requestAnimationFrame(step);
    };
    step();
  }

  /** Changes the view. @param {() => any} change */
  move(change) {
    change();
    this.hideTip();
    this.paint();
    this.load();
  }

  fit() {
    cancelAnimationFrame(this.glideFrame);
    this.move(() => this.view.fit());
  }

  /** @param {number} factor */
  zoom(factor) {
    const point = this.window?.answer.path.at(-1);
    const { view } = this;
    let [x, y] = [view.width / 2, view.height / 2];
    // Around the cursor if it is visible, so that keys alone reach every node.
    if (point) {
      const [left, top] = [(point[0] - view.x) * view.columnPixels, (point[1] / 2 - view.y) * view.rowPixels];
      if (left >= 0 && left <= view.width && top >= 0 && top <= view.height) [x, y] = [left, top];
    }
    this.move(() => view.scaleAt(factor, x, y));
  }

  /** Colours of the authors of an answer. @param {MapWindow} window */
  authorColours(window) {
    const colours = (this.colours ??= themeColours(this.canvas.current));
    return window.answer.authors.map((author) => {
      if (colouring.peek() === "kind") return colours[author.author_type] ?? colours.system;
      const label = authorLabel(author);
      if (!this.series.has(label)) this.series.set(label, this.series.size % SERIES);
      return colours.series[this.series.get(label) ?? 0];
    });
  }

  paint() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      const [canvas, window] = [this.canvas.current, this.window];
      if (!window || !canvas) return;
      const authorColours = this.authorColours(window);
      if (!this.colours) return;
      this.painter.paint(canvas, { window, view: this.view, colours: this.colours, authorColours, cursor: window.answer.path.at(-1) ?? null });
      this.paintFrame();
    });
    this.paintCorner();
  }

  paintCorner() {
    if (!this.whole || !this.mini.current || this.painted === this.whole && this.colours) return;
    const authorColours = this.authorColours(this.whole);
    if (this.colours) paintWhole(this.mini.current, this.whole, this.colours, authorColours);
    this.painted = this.whole;
  }

  /** @type {MapWindow | null} */
  painted = null;

  /** Shows the visible part in the corner. */
  paintFrame() {
    const [mini, box, { extent, area }] = [this.mini.current, this.frameBox.current, this.view];
    const [column, row] = [(mini.clientWidth - 12) / extent.columns, (mini.clientHeight - 12) / extent.rows];
    const clamp = (/** @type {number} */ value, /** @type {number} */ most) => Math.max(0, Math.min(most, value));
    const [left, right] = [clamp(6 + area.left * column, mini.clientWidth - 5), clamp(6 + area.right * column, mini.clientWidth)];
    const [top, bottom] = [clamp(6 + area.top * row, mini.clientHeight - 5), clamp(6 + area.bottom * row, mini.clientHeight)];
    Object.assign(box.style, { transform: `translate(${left}px, ${top}px)`, width: `${Math.max(5, right - left)}px`, height: `${Math.max(5, bottom - top)}px` });
  }

  /** Position on the map of a point of the canvas. @param {number} x @param {number} y */
  position(x, y) {
    const { view } = this;
    return { column: view.x + x / view.columnPixels, row: view.y + y / view.rowPixels };
  }

  /** Returns the node at a point of the canvas. @param {number} x @param {number} y @param {AbortSignal} [signal] @returns {Promise<MapNode | null>} */
  async at(x, y, signal) {
    const tree = state.tree.peek()?.id;
    const { column, row } = this.position(x, y);
    const { columns, rows } = this.view.extent;
    const slack = 30 / this.view.rowPixels;
    if (!tree || column < -1 || column > columns + 3 || row < -slack || row > rows + slack) return null;
    return nodeAt(tree, Math.max(0, Math.round(column)), Math.floor(Math.max(0, Math.min(rows - 1e-6, row))), signal);
  }

  /** Goes to the node at a point. @param {number} x @param {number} y */
  async choose(x, y) {
    try {
      const node = await this.at(x, y);
      if (node) await go(node.id);
    } catch (error) {
      state.fail(error);
    }
  }

  /** Shows what is at a point. @param {number} x @param {number} y */
  async showTip(x, y) {
    this.hover?.abort();
    this.hover = new AbortController();
    const { signal } = this.hover;
    const node = await this.at(x, y, signal).catch(() => null);
    if (signal.aborted || !this.tip.current) return;
    this.setState({ tip: node }, () => {
      const tip = this.tip.current;
      if (!tip || !node) return;
      tip.style.left = `${Math.max(8, Math.min(x + 14, this.view.width - tip.offsetWidth - 8))}px`;
      tip.style.top = `${y + 20 + tip.offsetHeight > this.view.height ? Math.max(8, y - tip.offsetHeight - 12) : y + 18}px`;
    });
  }

  hideTip() {
    this.hover?.abort();
    if (this.state.tip) this.setState({ tip: null });
  }

  toggleColours() {
    colouring.value = colouring.value === "kind" ? "author" : "kind";
    localStorage.setItem("loom-map-colours", colouring.value);
    this.setState({});
  }

  /** Names of the visible authors with their colours. */
  legend() {
    if (!this.window) return [];
    const byKind = colouring.peek() === "kind";
    const entries = this.window.answer.authors.map((author) => {
      const label = byKind ? author.author_type : authorLabel(author);
      return { label, style: `key-${byKind ? label : (this.series.get(label) ?? 0) + 1}` };
    });
    return entries.filter(({ label }, at) => entries.findIndex((entry) => entry.label === label) === at).slice(0, SERIES);
  }

  render() {
    const { tip } = /** @type {{tip?: MapNode | null}} */ (this.state ?? {});
    const answer = this.whole?.answer;
    const depth = this.window?.answer.path.at(-1)?.[0];
    const label = answer ? `Map of ${answer.nodes.toLocaleString()} messages in ${answer.rows.toLocaleString()} branches, ${answer.columns.toLocaleString()} levels deep. The cursor is at depth ${depth ?? 0}. Arrow keys walk, plus and minus zoom; the outline lists the same nodes.` : "Map";
    return html`<section class="map" aria-label="Map">
      <canvas ref=${this.canvas} class="map-canvas" tabindex="0" role="img" aria-label=${label}></canvas>
      <div class="map-corner" aria-hidden="true"><canvas ref=${this.mini} class="map-mini"></canvas><span ref=${this.frameBox} class="map-frame"></span></div>
      <div class="map-legend"><${Button} text=${colouring.peek() === "kind" ? "By kind" : "By author"} label="Colours" class="small" onClick=${() => this.toggleColours()} />
        ${this.legend().map(({ label: name, style }) => html`<span key=${name} class="map-key"><i class=${style}></i><span dir="auto">${name}</span></span>`)}</div>
      <div class="map-buttons" role="group" aria-label="Zoom"><${Button} text="+" label="Zoom in" class="small" onClick=${() => this.zoom(ZOOM_STEP)} /><${Button} text="−" label="Zoom out" class="small" onClick=${() => this.zoom(1 / ZOOM_STEP)} />
        <${Button} text="Whole tree" label="Whole tree" class="small" onClick=${() => this.fit()} /><${Button} text="Cursor" label="Cursor" class="small" onClick=${() => this.follow(true)} /></div>
      <div ref=${this.tip} class=${classes("map-tip", !tip && "is-empty")} aria-hidden="true">${tip && html`<b>${tip.author}</b> <span class="dim">${tip.local_id} · depth ${tip.column}${tip.nodes > 1 ? ` · ${(tip.nodes - 1).toLocaleString()} below` : ""}</span><p dir="auto">${tip.text}</p>`}</div>
    </section>`;
  }
}
