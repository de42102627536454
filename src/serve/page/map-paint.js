// Drawing of the map: branches as wide as what lies below them, the path above them, then nodes, texts and marks.

/**
 * @typedef {import("./map-data.js").MapWindow} MapWindow
 * @typedef {Record<string, string> & {series: string[]}} Colours
 * @typedef {{x: number, y: number, width: number, height: number, columnPixels: number, rowPixels: number}} Plane Visible part.
 * @typedef {{window: MapWindow, view: Plane, colours: Colours, authorColours: string[], cursor: number[] | null}} Scene
 * @typedef {CanvasRenderingContext2D} Context
 */

const NAMES = ["human", "model", "tool", "line", "line-strong", "accent", "mark", "paper", "panel", "dim", "ink"];
/** Number of colours that tell authors apart. */
export const SERIES = 8;
/** Sizes from which on texts and counts are drawn. */
const TEXT_ROW_PIXELS = 14;
const COUNT_PIXELS = 64;
const FONT = "Inter, system-ui, sans-serif";

/** Colours of the theme. A colour with `light-dark()` is resolved by an element that has it. @param {HTMLElement} element @returns {Colours} */
export function themeColours(element) {
  const probe = document.createElement("span");
  element.parentElement?.append(probe);
  const read = (/** @type {string} */ name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const found = Object.fromEntries(NAMES.map((name) => [name, read(name)]));
  const series = Array.from({ length: SERIES }, (_, at) => read(`series-${at + 1}`));
  probe.remove();
  return /** @type {Colours} */ (Object.assign(found, { system: found.dim, series }));
}

/** Width of a branch in pixels. @param {number} nodes */
const branchWidth = (nodes) => Math.round((1 + Math.log10(nodes) * 1.15) * 2) / 2;

/** @param {Context} context @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 */
function link(context, x0, y0, x1, y1) {
  context.moveTo(x0, y0);
  if (Math.abs(y1 - y0) < 0.75) return context.lineTo(x1, y1);
  const middle = x0 + Math.max((x1 - x0) * 0.55, 1);
  context.bezierCurveTo(middle, y0, Math.min(middle, x1), y1, x1, y1);
}

/** Part of the canvas by which the layer of branches is larger on each side. */
const LAYER_MARGIN = 0.3;

/** Painter of a canvas. Branches are drawn on a larger layer, which is moved while the map is panned. */
export class MapPainter {
  layer = document.createElement("canvas");
  /** Scene of the layer. @type {Scene | null} */
  drawn = null;
  /** Things whose change draws the layer anew. */
  key = "";

  /** @param {HTMLCanvasElement} canvas @param {Scene} scene */
  paint(canvas, scene) {
    const context = canvas.getContext("2d");
    if (!context) return;
    const { view } = scene;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.clearRect(0, 0, view.width, view.height);
    const [column, row] = [view.columnPixels, view.rowPixels];
    const x = (/** @type {number} */ at) => (at - view.x) * column;
    const y = (/** @type {number} */ doubled) => (doubled / 2 - view.y) * row;
    depths(context, scene, x);
    const { view: plane } = this.layerOf(scene);
    context.drawImage(this.layer, Math.round(x(plane.x)), Math.round((plane.y - view.y) * row), plane.width, plane.height);
    nodes(context, scene, x, y);
    for (const [at, doubled] of scene.window.answer.bookmarks) star(context, x(at), y(doubled), scene.colours);
    for (const [at, doubled] of scene.window.answer.hits) hit(context, x(at), y(doubled), scene.colours);
    if (scene.cursor) cursor(context, x(scene.cursor[0]), y(scene.cursor[1]), scene.colours);
    counts(context, scene, x, y);
  }

  /** Returns the scene of the layer, drawn anew if it does not cover the view. @param {Scene} scene @returns {Scene} */
  layerOf(scene) {
    const { view, window } = scene;
    const { columnPixels, rowPixels } = view;
    const key = [columnPixels, rowPixels, view.width, view.height, devicePixelRatio, ...scene.authorColours, scene.colours.paper].join();
    const plane = this.drawn?.view;
    const isCovered = plane && plane.x <= view.x && plane.y <= view.y &&
      plane.x + plane.width / columnPixels >= view.x + view.width / columnPixels && plane.y + plane.height / rowPixels >= view.y + view.height / rowPixels;
    if (this.drawn && isCovered && this.drawn.window === window && this.key === key) return this.drawn;
    const [marginX, marginY] = [Math.round(view.width * LAYER_MARGIN), Math.round(view.height * LAYER_MARGIN)];
    const [width, height] = [Math.round(view.width) + 2 * marginX, Math.round(view.height) + 2 * marginY];
    const larger = { x: view.x - marginX / columnPixels, y: view.y - marginY / rowPixels, width, height, columnPixels, rowPixels };
    this.key = key;
    this.drawn = { ...scene, view: larger };
    [this.layer.width, this.layer.height] = [width * devicePixelRatio, height * devicePixelRatio];
    const context = this.layer.getContext("2d");
    if (!context) return this.drawn;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.lineCap = "round";
    const x = (/** @type {number} */ at) => (at - larger.x) * columnPixels;
    const y = (/** @type {number} */ doubled) => (doubled / 2 - larger.y) * rowPixels;
    clusters(context, this.drawn, x, y);
    branches(context, this.drawn, x, y);
    path(context, this.drawn, x, y);
    return this.drawn;
  }
}

/** Depths as faint lines. @param {Context} context @param {Scene} scene @param {(at: number) => number} x */
function depths(context, { view, colours, window }, x) {
  const [first, last] = [view.x, view.x + view.width / view.columnPixels];
  const step = [1, 2, 5, 10, 20, 50].flatMap((size) => [size, size * 100, size * 10_000]).sort((one, other) => one - other).find((size) => size * view.columnPixels > 90) ?? 1_000_000;
  context.strokeStyle = colours.line;
  context.fillStyle = colours.dim;
  context.lineWidth = 1;
  context.font = `10.5px ${FONT}`;
  context.textBaseline = "bottom";
  context.textAlign = "center";
  context.beginPath();
  for (let at = Math.max(0, Math.ceil(first / step) * step); at <= Math.min(last, window.answer.columns - 1); at += step) {
    const left = Math.round(x(at)) + 0.5;
    context.moveTo(left, 0);
    context.lineTo(left, view.height - 22);
    context.fillText(at.toLocaleString(), left, view.height - 7);
  }
  context.globalAlpha = 0.55;
  context.stroke();
  context.globalAlpha = 1;
  context.textAlign = "start";
}

/** Branches that are drawn as one: tufts. @param {Context} context @param {Scene} scene @param {(at: number) => number} x @param {(at: number) => number} y */
function clusters(context, { window, view, authorColours, colours }, x, y) {
  const links = new Path2D();
  /** @type {Path2D[]} */
  const tufts = [];
  for (const [left, deepest, first, last, fromX, fromY, , author] of window.answer.clusters) {
    const [x0, x1, y0, y1] = [x(left), Math.max(x(deepest), x(left) + 1.5), y(first), y(last)];
    if (x1 < 0 || x(fromX) > view.width || Math.max(y1, y(fromY)) < 0 || Math.min(y0, y(fromY)) > view.height) continue;
    const [half, middle] = [Math.max(1, (y1 - y0) / 2 - 0.35), (y0 + y1) / 2];
    const tuft = (tufts[author] ??= new Path2D());
    tuft.moveTo(x0, middle - half);
    tuft.quadraticCurveTo(x0 + (x1 - x0) * 0.6, middle - half, x1, middle - 0.4);
    tuft.lineTo(x1, middle + 0.4);
    tuft.quadraticCurveTo(x0 + (x1 - x0) * 0.6, middle + half, x0, middle + half);
    link(/** @type {any} */ (links), x(fromX), y(fromY), x0, middle);
  }
  context.lineWidth = 0.8;
  context.strokeStyle = colours["line-strong"];
  context.globalAlpha = 0.5;
  context.stroke(links);
  context.globalAlpha = 0.42;
  tufts.forEach((tuft, author) => {
    context.fillStyle = authorColours[author];
    context.fill(tuft);
  });
  context.globalAlpha = 1;
}

/** Runs of nodes, one stroke for each colour and width. @param {Context} context @param {Scene} scene @param {(at: number) => number} x @param {(at: number) => number} y */
function branches(context, { window, view, authorColours, colours }, x, y) {
  /** @type {Map<string, {path: Path2D, width: number, author: number}>} */
  const strokes = new Map();
  const links = new Path2D();
  for (const [left, right, middle, fromX, fromY, nodes, author] of window.answer.runs) {
    const [x0, x1, y0, from] = [x(left), x(right), y(middle), y(fromY)];
    if (x1 < 0 || x(fromX) > view.width || Math.max(y0, from) < -5 || Math.min(y0, from) > view.height + 5) continue;
    const width = branchWidth(nodes);
    const key = `${author} ${width}`;
    let stroke = strokes.get(key);
    if (!stroke) strokes.set(key, (stroke = { path: new Path2D(), width, author }));
    link(/** @type {any} */ (width > 1.5 ? stroke.path : links), Math.max(-20, x(fromX)), from, Math.max(-20, x0), y0);
    if (right > left && y0 > -5 && y0 < view.height + 5) {
      stroke.path.moveTo(Math.max(-20, x0), y0);
      stroke.path.lineTo(Math.min(view.width + 20, x1), y0);
    }
  }
  context.strokeStyle = colours["line-strong"];
  context.lineWidth = 1.2;
  context.stroke(links);
  // Softer colours without transparency, which would show where two runs meet.
  for (const { path: lines, width, author } of [...strokes.values()].sort((one, other) => one.width - other.width)) {
    context.strokeStyle = mixed(authorColours[author], colours.paper);
    context.lineWidth = width;
    context.stroke(lines);
  }
}

/** Colour between two others, nearer to the first. @param {string} first @param {string} second */
function mixed(first, second) {
  const [one, other] = [first, second].map((colour) => colour.match(/[\d.]+/g)?.map(Number) ?? []);
  return `rgb(${[0, 1, 2].map((at) => Math.round(one[at] * 0.62 + other[at] * 0.38)).join(" ")})`;
}

/** The path to the cursor. @param {Context} context @param {Scene} scene @param {(at: number) => number} x @param {(at: number) => number} y */
function path(context, { window, view, colours }, x, y) {
  const points = window.answer.path;
  context.beginPath();
  for (let at = 1; at < points.length; at++) {
    const [[fromX, fromY], [toX, toY]] = [points[at - 1], points[at]];
    if (x(toX) < 0 || x(fromX) > view.width) continue;
    const begin = toY === fromY ? fromX : fromX + 1;
    link(context, Math.max(-20, x(fromX)), y(fromY), Math.max(-20, x(begin)), y(toY));
    context.lineTo(x(toX), y(toY));
  }
  context.lineJoin = "round";
  context.strokeStyle = colours.paper;
  context.lineWidth = 6;
  context.stroke();
  context.strokeStyle = colours.accent;
  context.lineWidth = 3;
  context.stroke();
}

/** Nodes one by one, and the text of leaves. @param {Context} context @param {Scene} scene @param {(at: number) => number} x @param {(at: number) => number} y */
function nodes(context, { window, view, authorColours, colours, cursor: at }, x, y) {
  const { drawn, authors } = window.answer;
  if (!drawn.length) return;
  const base = Math.max(1.6, Math.min(5, view.rowPixels / 5, view.columnPixels / 6));
  const hasText = view.rowPixels >= TEXT_ROW_PIXELS;
  context.font = `${Math.min(13, Math.max(11, view.rowPixels * 0.62))}px ${FONT}`;
  context.textBaseline = "middle";
  for (const { column, y: doubled, author, nodes: below, branches: isPoint, text } of drawn) {
    const [left, top] = [x(column), y(doubled)];
    if (left < -420 || left > view.width + 9 || top < -9 || top > view.height + 9) continue;
    const radius = isPoint ? base * (1.1 + Math.log10(below) * 0.22) : base;
    dot(context, left, top, radius + 1.4, colours.paper);
    dot(context, left, top, radius, authorColours[author]);
    // People's words are rings, so that colour is not the only difference.
    if (authors[author]?.author_type === "human" && radius > 2) dot(context, left, top, radius * 0.5, colours.paper);
    if (!hasText || !text) continue;
    const room = Math.min(340, view.width - left - radius - 26);
    if (room < 40) continue;
    context.fillStyle = at && at[0] === column && at[1] === doubled ? colours.ink : colours.dim;
    context.fillText(shorten(context, text, room), left + radius + 8, top + 0.5);
  }
}

/** Numbers of nodes beside large branches. @param {Context} context @param {Scene} scene @param {(at: number) => number} x @param {(at: number) => number} y */
function counts(context, { window, view, colours }, x, y) {
  context.font = `600 11px ${FONT}`;
  context.textBaseline = "bottom";
  /** @type {[number, number, number, number][]} */
  const taken = [];
  const large = window.answer.runs.filter(([, , , , , nodes]) => nodes >= 50).sort((one, other) => other[5] - one[5]);
  for (const [left, right, middle, , , nodes] of large.slice(0, 300)) {
    const [x0, y0] = [Math.max(8, x(left) + 5), y(middle) - branchWidth(nodes) / 2 - 3];
    if (x0 < 0 || x(right) < x0 || x0 > view.width - 40 || y0 < 14 || y0 > view.height - 30) continue;
    const text = nodes.toLocaleString();
    const width = context.measureText(text).width;
    if (taken.some(([l, t, r, b]) => x0 < r && x0 + width > l && y0 - 12 < b && y0 > t)) continue;
    taken.push([x0 - 14, y0 - COUNT_PIXELS / 2, x0 + width + 14, y0 + COUNT_PIXELS / 2]);
    context.lineWidth = 3.5;
    context.strokeStyle = colours.paper;
    context.strokeText(text, x0, y0);
    context.fillStyle = colours.dim;
    context.fillText(text, x0, y0);
    if (taken.length > 24) return;
  }
}

/** @param {Context} context @param {string} text @param {number} room */
function shorten(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  const length = Math.max(1, Math.floor((text.length * room) / context.measureText(text).width) - 1);
  return `${[...text].slice(0, length).join("")}…`;
}

/** @param {Context} context @param {number} x @param {number} y @param {number} radius @param {string} fill */
function dot(context, x, y, radius, fill) {
  context.beginPath();
  context.arc(x, y, radius, 0, 7);
  context.fillStyle = fill;
  context.fill();
}

/** @param {Context} context @param {number} x @param {number} y @param {Colours} colours */
function cursor(context, x, y, colours) {
  context.globalAlpha = 0.22;
  dot(context, x, y, 15, colours.accent);
  context.globalAlpha = 1;
  dot(context, x, y, 8.5, colours.paper);
  dot(context, x, y, 6.5, colours.accent);
}

/** @param {Context} context @param {number} x @param {number} y @param {Colours} colours */
function hit(context, x, y, colours) {
  context.globalAlpha = 0.25;
  dot(context, x, y, 11, colours.mark);
  context.globalAlpha = 1;
  context.beginPath();
  context.arc(x, y, 6, 0, 7);
  context.lineWidth = 2.5;
  context.strokeStyle = colours.mark;
  context.stroke();
}

/** @param {Context} context @param {number} x @param {number} y @param {Colours} colours */
function star(context, x, y, colours) {
  context.beginPath();
  for (let at = 0; at < 10; at++) {
    const [radius, angle] = [at % 2 ? 3.1 : 7, (at * Math.PI) / 5 - Math.PI / 2];
    context.lineTo(x + radius * Math.cos(angle), y - 12 + radius * Math.sin(angle));
  }
  context.closePath();
  context.lineWidth = 3;
  context.lineJoin = "round";
  context.strokeStyle = colours.paper;
  context.stroke();
  context.fillStyle = colours.mark;
  context.fill();
}

/** The whole tree in a corner. @param {HTMLCanvasElement} canvas @param {MapWindow} whole @param {Colours} colours @param {string[]} authorColours */
export function paintWhole(canvas, whole, colours, authorColours) {
  const context = canvas.getContext("2d");
  if (!context) return;
  const [width, height, space] = [canvas.width / devicePixelRatio, canvas.height / devicePixelRatio, 6];
  const { columns, rows, runs, clusters: tufts, path: points } = whole.answer;
  const [column, row] = [(width - 2 * space) / Math.max(1, columns), (height - 2 * space) / Math.max(1, rows)];
  const x = (/** @type {number} */ at) => space + at * column;
  const y = (/** @type {number} */ doubled) => space + (doubled / 2) * row;
  context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.globalAlpha = 0.4;
  for (const [left, deepest, first, last, , , , author] of tufts) {
    context.fillStyle = authorColours[author];
    context.fillRect(x(left), y(first), Math.max(1, x(deepest) - x(left)), Math.max(0.8, y(last) - y(first)));
  }
  context.globalAlpha = 0.75;
  context.lineWidth = 1;
  for (const [left, right, middle, fromX, fromY, , author] of runs) {
    context.strokeStyle = authorColours[author];
    context.beginPath();
    link(context, x(fromX), y(fromY), x(left), y(middle));
    context.lineTo(Math.max(x(right), x(left) + 1), y(middle));
    context.stroke();
  }
  context.globalAlpha = 1;
  context.strokeStyle = colours.accent;
  context.lineWidth = 2;
  context.beginPath();
  for (let at = 1; at < points.length; at++) {
    link(context, x(points[at - 1][0]), y(points[at - 1][1]), x(Math.min(points[at - 1][0] + 1, points[at][0])), y(points[at][1]));
    context.lineTo(x(points[at][0]), y(points[at][1]));
  }
  context.stroke();
}
