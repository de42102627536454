// Gestures on the map: drag, wheel, pinch, click, double click, and the corner with the whole tree.

/** Time that the mouse rests before the node under it is shown, in milliseconds. */
const REST_MS = 140;
/** Distance from which on a press is a drag. */
const DRAG_PIXELS = 4;

export class MapGestures {
  /** @type {Map<number, {x: number, y: number}>} */
  pointers = new Map();
  hasMoved = false;
  restTimer = 0;

  /** @param {import("./map.js").TreeMap} map @param {HTMLCanvasElement} canvas @param {HTMLCanvasElement} corner */
  constructor(map, canvas, corner) {
    this.map = map;
    this.canvas = canvas;
    this.corner = corner;
    const listener = new AbortController();
    const { signal } = listener;
    this.stop = () => {
      clearTimeout(this.restTimer);
      listener.abort();
    };
    canvas.addEventListener("wheel", (event) => this.onWheel(event), { passive: false, signal });
    canvas.addEventListener("pointerdown", (event) => this.onDown(event), { signal });
    canvas.addEventListener("pointermove", (event) => this.onMove(event), { signal });
    canvas.addEventListener("pointerup", (event) => this.onUp(event, true), { signal });
    canvas.addEventListener("pointercancel", (event) => this.onUp(event, false), { signal });
    canvas.addEventListener("pointerleave", () => this.rest(null), { signal });
    canvas.addEventListener("dblclick", (event) => this.map.move(() => this.map.view.scaleAt(2.5, event.offsetX, event.offsetY)), { signal });
    corner.addEventListener("pointerdown", (event) => this.onCorner(event), { signal });
    corner.addEventListener("pointermove", (event) => event.buttons && this.onCorner(event), { signal });
  }

  /** @param {WheelEvent} event */
  onWheel(event) {
    event.preventDefault();
    const size = event.deltaMode === 1 ? 20 : 1;
    // A wheel zooms; a touchpad, which also scrolls sideways, pans. A pinch on it is a wheel with ctrl.
    const isPan = event.shiftKey || (event.deltaX !== 0 && !event.ctrlKey);
    const [x, y] = event.shiftKey && !event.deltaX ? [event.deltaY, 0] : [event.deltaX, event.deltaY];
    this.map.move(() => {
      if (isPan) this.map.view.pan(x * size, y * size);
      else this.map.view.scaleAt(Math.exp((-event.deltaY * size) / (event.ctrlKey ? 120 : 320)), event.offsetX, event.offsetY);
    });
  }

  /** @param {PointerEvent} event */
  onDown(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    if (this.pointers.size === 1) this.hasMoved = event.button !== 0;
    else this.hasMoved = true;
    this.rest(null);
  }

  /** @param {PointerEvent} event */
  onMove(event) {
    const last = this.pointers.get(event.pointerId);
    const now = { x: event.offsetX, y: event.offsetY };
    if (!last) return this.rest(event.pointerType === "mouse" ? now : null);
    if (!this.hasMoved && Math.hypot(now.x - last.x, now.y - last.y) < DRAG_PIXELS) return;
    this.hasMoved = true;
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.pointers.set(event.pointerId, now);
    this.map.move(() => {
      const { view } = this.map;
      if (!other) return view.pan(last.x - now.x, last.y - now.y);
      const distance = (/** @type {{x: number, y: number}} */ one) => Math.hypot(one.x - other.x, one.y - other.y) || 1;
      view.pan((last.x - now.x) / 2, (last.y - now.y) / 2);
      view.scaleAt(distance(now) / distance(last), (now.x + other.x) / 2, (now.y + other.y) / 2);
    });
  }

  /** @param {PointerEvent} event @param {boolean} isClick */
  onUp(event, isClick) {
    if (!this.pointers.delete(event.pointerId) || this.hasMoved || !isClick) return;
    this.map.choose(event.offsetX, event.offsetY);
  }

  /** Shows a node after the mouse rests. @param {{x: number, y: number} | null} at */
  rest(at) {
    clearTimeout(this.restTimer);
    this.map.hideTip();
    if (at) this.restTimer = setTimeout(() => this.map.showTip(at.x, at.y), REST_MS);
  }

  /** Moves the view to a point of the corner. @param {PointerEvent} event */
  onCorner(event) {
    event.preventDefault();
    this.corner.setPointerCapture(event.pointerId);
    const { view } = this.map;
    const { columns, rows } = view.extent;
    const column = ((event.offsetX - 6) / (this.corner.clientWidth - 12)) * columns;
    const row = ((event.offsetY - 6) / (this.corner.clientHeight - 12)) * rows;
    this.map.move(() => {
      view.x = column - view.width / 2 / view.columnPixels;
      view.y = row - view.height / 2 / view.rowPixels;
      view.limit();
    });
  }
}
