// Drawing of the map: lines first, then nodes with their text where there is room, then marks.

/** @typedef {import("./map.js").MapData} MapData @typedef {import("./map.js").View} View */

/** Distance of nodes from which on their text is drawn. */
const TEXT_COLUMN_PIXELS = 30;
const TEXT_ROW_PIXELS = 20;

/** Colours of the theme. A colour with `light-dark()` is resolved by an element that has it. @param {HTMLElement} element @returns {Record<string, string>} */
function colours(element) {
  const probe = document.createElement("span");
  element.parentElement?.append(probe);
  const read = (/** @type {string} */ name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const found = { human: read("--human"), model: read("--model"), tool: read("--tool"), system: read("--dim"), line: read("--line-strong"), path: read("--accent"), mark: read("--mark"), paper: read("--paper"), dim: read("--dim"), ink: read("--ink") };
  probe.remove();
  return found;
}

/** @param {HTMLCanvasElement} canvas @param {MapData} data @param {View} view */
export function paintMap(canvas, data, view) {
  const context = canvas.getContext("2d");
  if (!context) return;
  const colour = colours(canvas);
  const { clientWidth: width, clientHeight: height } = canvas;
  context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  context.clearRect(0, 0, width, height);
  const x = (/** @type {number} */ column) => (column - view.x) * view.columnPixels;
  const y = (/** @type {number} */ row) => (row - view.y) * view.rowPixels;
  for (const isPath of [false, true]) {
    context.beginPath();
    for (const place of data.places) {
      const parent = data.places[place.from];
      if (!parent || (place.isOnPath && parent.isOnPath) !== isPath) continue;
      const [x0, y0, x1, y1] = [x(parent.column), y(parent.row), x(place.column), y(place.row)];
      if (x1 < 0 || x0 > width || Math.max(y0, y1) < 0 || Math.min(y0, y1) > height) continue;
      context.moveTo(x0, y0);
      context.bezierCurveTo((x0 + x1) / 2, y0, (x0 + x1) / 2, y1, x1, y1);
    }
    context.strokeStyle = isPath ? colour.path : colour.line;
    context.lineWidth = isPath ? 2.5 : 1.3;
    context.stroke();
  }
  const radius = Math.max(1.5, Math.min(6, view.rowPixels / 4, view.columnPixels / 3));
  for (const place of data.places) {
    const [at, row] = [x(place.column), y(place.row)];
    if (at < -9 || at > width + 9 || row < -9 || row > height + 9) continue;
    const { line } = place;
    // A branch point is larger.
    const size = line.marks.continuations > 1 ? radius * 1.25 : radius;
    dot(context, at, row, size, colour[line.author_type] ?? colour.system, line.author_type === "human" && size > 2.5 ? colour.paper : "");
    if (line.marks.bookmark !== undefined) ring(context, at, row, size + 3.5, colour.mark);
    if (line.id === data.cursor) ring(context, at, row, size + 5, colour.path);
  }
  if (view.columnPixels >= TEXT_COLUMN_PIXELS && view.rowPixels >= TEXT_ROW_PIXELS) texts(context, data, x, y, colour, width);
}

/** Text beside the leaves and the nodes of the path. @param {CanvasRenderingContext2D} context @param {MapData} data @param {(column: number) => number} x @param {(row: number) => number} y @param {Record<string, string>} colour @param {number} width */
function texts(context, data, x, y, colour, width) {
  context.font = "12px Inter, system-ui, sans-serif";
  context.textBaseline = "middle";
  const hasChild = new Set(data.places.map((place) => place.from));
  data.places.forEach((place, at) => {
    const left = x(place.column) + 12;
    if (hasChild.has(at) || left > width || left < -400) return;
    const room = Math.min(260, Math.max(60, width - left - 12));
    context.fillStyle = place.isOnPath ? colour.ink : colour.dim;
    context.fillText(shorten(place.line.text, room), left, y(place.row));
  });
}

/** Text of about a width. @param {string} text @param {number} pixels */
function shorten(text, pixels) {
  const length = Math.floor(pixels / 6.4);
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

/** @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {number} radius @param {string} fill @param {string} hollow */
function dot(context, x, y, radius, fill, hollow) {
  context.beginPath();
  context.arc(x, y, radius, 0, 7);
  context.fillStyle = fill;
  context.fill();
  if (!hollow) return;
  context.beginPath();
  context.arc(x, y, radius * 0.55, 0, 7);
  context.fillStyle = hollow;
  context.fill();
}

/** @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {number} radius @param {string} stroke */
function ring(context, x, y, radius, stroke) {
  context.beginPath();
  context.arc(x, y, radius, 0, 7);
  context.strokeStyle = stroke;
  context.lineWidth = 2;
  context.stroke();
}

/** All that is loaded in a corner, with a frame around what is visible. @param {HTMLCanvasElement} canvas @param {MapData} data @param {View} view @param {HTMLCanvasElement} main */
export function paintMini(canvas, data, view, main) {
  const context = canvas.getContext("2d");
  if (!context) return;
  const colour = colours(canvas);
  const { width, height } = canvas;
  context.clearRect(0, 0, width, height);
  const [sx, sy] = [(width - 12) / Math.max(1, data.columns), (height - 12) / Math.max(1, data.rows)];
  for (const { line, column, row, isOnPath } of data.places) {
    context.fillStyle = isOnPath ? colour.path : (colour[line.author_type] ?? colour.system);
    context.globalAlpha = isOnPath ? 1 : 0.6;
    context.fillRect(6 + (column + 0.2) * sx, 5 + row * sy, Math.max(2, sx * 0.6), 2);
  }
  context.globalAlpha = 1;
  context.strokeStyle = colour.path;
  context.lineWidth = 1.5;
  const left = Math.max(1, 6 + view.x * sx);
  const top = Math.max(1, 6 + view.y * sy);
  const right = Math.min(width - 1, 6 + (view.x + main.clientWidth / view.columnPixels) * sx);
  const bottom = Math.min(height - 1, 6 + (view.y + main.clientHeight / view.rowPixels) * sy);
  context.strokeRect(left, top, Math.max(2, right - left), Math.max(2, bottom - top));
}
