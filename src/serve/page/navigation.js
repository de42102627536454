// Navigation: each step asks the server for a window around the new node. Steps that are typed faster than the server
// answers are sent together.

import { get, ApiError } from "./api.js";
import { batch } from "./signals.js";
import * as state from "./state.js";

/** Lines that a window has above and below the cursor. */
const ABOVE = 40;
const BELOW = 60;
/** Lines that are kept; farther ones are dropped while scrolling. */
const MAX_LINES = 400;
/** Entries of the path that are loaded at once, and those that a refresh reads again at most. */
const ENTRIES = 12;
const MAX_ENTRIES = 200;
/** Steps that depend on where the user went before. */
const REMEMBERED = ["child", "end"];
/** Step that stays. */
const REFRESH = "refresh";

/** Continuation visited last, in the version that was shown, by the place that it continues. @type {Map<string, {id: string, place: string}>} */
const visited = new Map();
/** Nodes before this one, the newest last. @type {string[]} */
const trail = [];
/** @type {(string | {node: string})[]} */
let queue = [];
let isRunning = false;
/** True while the cursor is on its way to another node. */
let isStepping = false;
/** Aborts the windows that are on their way when a new tree takes the place of the one that is shown. */
let leaving = new AbortController();

/** @param {string} node @param {Record<string, string | number>} more @param {AbortSignal} [signal] @returns {Promise<import("./api.js").Window>} */
function requestWindow(node, more, signal) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(more)) query.set(name, String(value));
  if (state.folds.value.size) query.set("folded", [...state.folds.value].join(","));
  if (state.versions.value.length) query.set("versions", state.versions.value.join(","));
  if (state.hoist.value) query.set("hoist", state.hoist.value);
  return get(`/nodes/${node}/window?${query}`, signal);
}

/** Shows no tree. A window that is on its way is not shown either, since it would bring back the tree that was left. */
export function leaveTree() {
  leaving.abort();
  leaving = new AbortController();
  queue = [];
  batch(() => {
    state.tree.value = null;
    state.cursor.value = null;
    state.hoist.value = null;
    state.outline.value = { lines: [], above: false, below: false, omitted: false };
    state.path.value = { entries: [], more: false };
    state.continuations.value = [];
  });
}

/** Shows a node. @param {string} node */
export function go(node) {
  queue.push({ node });
  return run();
}

/** Returns the node of an id in an address. A short one is looked up in the tree that is shown, then in the newest. @param {string} id */
export async function nodeOf(id) {
  if (id.length === 26) return id;
  const { data } = await get("/trees?limit=20");
  for (const tree of state.tree.value ? [state.tree.value, ...data] : data) {
    try {
      return (await get(`/trees/${tree.id}/nodes/${id}`)).id;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
    }
  }
  throw new ApiError(404, "not_found", `no node ${id}`);
}

/** Takes a step, such as `parent`. @param {string} name */
export function step(name) {
  queue.push(name);
  return run();
}

/** Reads the window at the cursor again. */
export function refresh() {
  if (!state.cursor.value) return Promise.resolve();
  // The node is that at the cursor when the request is sent: a step may be on its way.
  if (!queue.length) queue.push(REFRESH);
  return run();
}

/** Returns to the node before. */
export function back() {
  const node = trail.pop();
  if (!node) return state.notify("this is where you began");
  queue.push({ node });
  run().then(() => trail.pop());
}

/** Takes from the queue what one request can answer. @returns {{node: string, steps: string[]} | null} */
function next() {
  let node = state.cursor.value ?? "";
  const steps = [];
  while (queue.length) {
    const first = queue[0];
    if (typeof first === "object") {
      node = first.node;
      steps.length = 0;
      queue.shift();
      continue;
    }
    if (REMEMBERED.includes(first)) {
      if (steps.length) break;
      queue.shift();
      const known = remembered(first === "end");
      if (known && first === "child") return { node: known, steps: [] };
      return { node: known ?? node, steps: [first] };
    }
    queue.shift();
    if (first !== REFRESH) steps.push(first);
    if (steps.length === 32) break;
  }
  return node ? { node, steps } : null;
}

/** Returns the node visited last below the cursor, one level or all levels deep. @param {boolean} deep */
function remembered(deep) {
  let found = { id: "", place: state.current.value?.place ?? "" };
  for (let levels = deep ? 10_000 : 1; levels > 0; levels--) {
    const child = visited.get(found.place);
    if (!child) break;
    found = child;
  }
  return found.id || null;
}

/** The requests that are on their way. @type {Promise<void>} */
let running = Promise.resolve();

/** What steps wait for: the save of a typed text, whose versions the window then has. @type {Promise<any>} */
let saving = Promise.resolve();

/** Has steps wait for a save. @param {Promise<any>} save */
export function holdSteps(save) {
  saving = save.catch(() => {});
}

/** Has later steps go to a new version of a node that was visited. @param {string} node @param {string} version */
export function visitVersion(node, version) {
  for (const seen of visited.values()) if (seen.id === node) seen.id = version;
}

/** True while steps are on their way. */
export const isAway = () => isStepping || queue.some((each) => each !== REFRESH);

/** Runs what depends on the cursor: at once, or after the steps that are on their way. @param {() => any} act @returns {any} */
export const afterSteps = (act) => (isAway() ? running.then(act) : act());

function run() {
  if (!isRunning) running = answerQueue();
  return running;
}

async function answerQueue() {
  isRunning = true;
  try {
    while (queue.length) {
      await saving;
      const request = next();
      if (!request) break;
      isStepping = request.steps.length > 0 || request.node !== state.cursor.value;
      await answer(request, leaving.signal);
    }
    state.online.value = true;
  } catch (error) {
    queue = [];
    // A failure that the server reports is an answer.
    if (error instanceof ApiError && error.status) state.online.value = true;
    if (error instanceof ApiError && error.status === 404) forget();
    state.fail(error);
  } finally {
    isRunning = false;
    isStepping = false;
  }
}

/** @param {{node: string, steps: string[]}} request @param {AbortSignal} signal */
async function answer({ node, steps }, signal) {
  const size = isStepping ? { above: ABOVE, below: BELOW, path: ENTRIES } : loadedSize();
  try {
    const window = await requestWindow(node, { ...size, ...(steps.length && { steps: steps.join() }) }, signal);
    const far = isStepping ? null : await readFar(signal);
    if (!signal.aborted) show(window, size, far);
  } catch (error) {
    if (signal.aborted) return;
    if (!state.hoist.value || !(error instanceof ApiError) || error.status !== 404) throw error;
    // The node may be in another tree than the branch that is shown alone.
    state.hoist.value = null;
    await answer({ node, steps }, signal);
  }
}

/** Size of a window that has what is loaded around the cursor. Where the end of the tree is loaded, it has room for new lines. */
function loadedSize() {
  const { lines, above, below } = state.outline.value;
  const at = lines.findIndex((line) => line.id === state.cursor.value);
  const side = (/** @type {number} */ loaded, /** @type {boolean} */ more, /** @type {number} */ least) => Math.min(MAX_LINES, Math.max(least, loaded + (more ? 0 : least)));
  return {
    above: at < 0 ? ABOVE : side(at, above, ABOVE),
    below: at < 0 ? BELOW : side(lines.length - at - 1, below, BELOW),
    path: Math.min(MAX_ENTRIES, Math.max(ENTRIES, state.path.value.entries.length)),
  };
}

/** Reads the loaded lines again, if the user has scrolled so far that the cursor's is not among them. @param {AbortSignal} signal */
async function readFar(signal) {
  const { lines } = state.outline.value;
  if (!lines.length || lines.some((line) => line.id === state.cursor.value)) return null;
  const above = lines.length >> 1;
  const below = lines.length - above - 1;
  try {
    const window = await requestWindow(lines[above].id, { above, below, path: 0 }, signal);
    return window.lines[window.cursor]?.marks.pruned ? null : outlineOf(window, { above, below });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/** Forgets where the user went, because a node is gone. */
function forget() {
  visited.clear();
  state.versions.value = [];
  state.hoist.value = null;
}

/** Places on the path to the cursor that the outline has shown, and the line of the first of them. */
const onPath = { places: /** @type {Set<string>} */ (new Set()), top: /** @type {import("./api.js").Line | null} */ (null) };

/**
 * Marks the lines on the path. Its part above the first known line follows from the levels: the parent of a branch is the last
 * line before it of a lower level, that of another node the line before it.
 * @param {import("./api.js").Line[]} lines
 */
function markPath(lines) {
  for (let at = lines.length - 2; at >= 0 && onPath.top; at--) {
    const { top } = onPath;
    if (top.opens_branch ? lines[at].level >= top.level : lines[at + 1].place !== top.place) continue;
    onPath.places.add(lines[at].place);
    onPath.top = lines[at];
  }
  return lines.map((line) => (line.on_path === onPath.places.has(line.place) ? line : { ...line, on_path: !line.on_path }));
}

/** Returns the outline of a window of a size. @param {Window} window @param {{above: number, below: number}} size */
function outlineOf(window, { above, below }) {
  return {
    lines: window.lines,
    above: window.cursor === above && window.lines[0]?.place !== window.tree.root_id,
    below: window.lines.length - window.cursor - 1 === below,
    omitted: window.omitted,
  };
}

/**
 * Shows a window of a size. `far`: lines without that of the cursor, which stay.
 * @param {Window} window @param {{above: number, below: number}} size @param {ReturnType<typeof outlineOf> | null} far
 * @typedef {import("./api.js").Window} Window
 */
function show(window, size, far) {
  const before = state.cursor.value;
  batch(() => {
    if (state.tree.value?.id !== window.tree.id) {
      state.folds.value = new Set();
      state.hoist.value = null;
    }
    state.tree.value = window.tree;
    state.cursor.value = window.node;
    state.versions.value = window.versions;
    const path = window.lines.filter((line) => line.on_path);
    if (!far) {
      onPath.places = new Set(path.map((line) => line.place));
      onPath.top = path[0] ?? null;
    }
    const outline = far ?? outlineOf(window, size);
    state.outline.value = { ...outline, lines: markPath(outline.lines) };
    const kept = before === window.node ? earlier(window) : [];
    state.path.value = { entries: [...kept, ...window.path], more: kept.length ? state.path.value.more : window.more_path };
    state.continuations.value = window.continuations;
    state.others.value = window.others;
    if (window.pins.length || state.pins.value.size) state.pins.value = new Set(window.pins);
    state.journal.value = Math.max(state.journal.value, window.journal);
  });
  for (const entry of window.path) {
    if (entry.parent_id) visited.set(entry.parent_id, { id: entry.id, place: entry.place });
  }
  document.title = `${window.tree.title} · loom`;
  if (before === window.node) return;
  if (before) trail.push(before);
  if (trail.length > 1_000) trail.shift();
  const place = `#/${window.node}`;
  if (location.hash !== place) history.replaceState(null, "", place);
  const line = window.lines[window.cursor];
  if (before && line) state.announcement.value = `${line.author}: ${line.text}`;
}

/** Returns entries that were loaded before the window's path, if it continues them. @param {Window} window */
function earlier(window) {
  const { entries } = state.path.value;
  const at = entries.findIndex((entry) => entry.id === window.path[0]?.id);
  return at > 0 ? entries.slice(0, at) : [];
}

let isExtending = false;

/** Loads more lines above the first or below the last one. @param {boolean} above */
export async function extendOutline(above) {
  const shown = state.outline.value;
  const edge = above ? shown.lines[0] : shown.lines.at(-1);
  if (isExtending || !edge || !(above ? shown.above : shown.below)) return;
  isExtending = true;
  try {
    const window = await requestWindow(edge.id, { above: above ? 80 : 0, below: above ? 0 : 80, path: 0 });
    if (state.outline.value !== shown) return;
    if (above) {
      const added = window.lines.slice(0, window.cursor);
      const all = markPath([...added, ...shown.lines]);
      const isAtTop = added.length < 80 || added[0]?.place === window.tree.root_id;
      state.outline.value = { ...shown, lines: all.slice(0, MAX_LINES), above: !isAtTop, below: shown.below || all.length > MAX_LINES };
    } else {
      const added = window.lines.slice(window.cursor + 1);
      const all = markPath([...shown.lines, ...added]);
      const below = added.length === 80;
      state.outline.value = { ...shown, lines: all.slice(-MAX_LINES), below, above: shown.above || all.length > MAX_LINES };
    }
  } catch (error) {
    state.fail(error);
  } finally {
    isExtending = false;
  }
}

/** Loads earlier entries of the path. */
export async function extendPath() {
  const shown = state.path.value;
  const parent = shown.entries[0]?.parent_id;
  if (isExtending || !shown.more || !parent) return;
  isExtending = true;
  try {
    const window = await requestWindow(parent, { above: 0, below: 0, path: 20 });
    if (state.path.value !== shown) return;
    state.path.value = { entries: [...window.path, ...shown.entries], more: window.more_path };
  } catch (error) {
    state.fail(error);
  } finally {
    isExtending = false;
  }
}

/** Hides or shows the continuations of the node at the cursor. @param {string} [node] */
export function fold(node) {
  const place = node ?? state.current.value?.place;
  if (!place) return;
  const folds = new Set(state.folds.value);
  if (!folds.delete(place)) folds.add(place);
  state.folds.value = folds;
  return refresh();
}

/** Shows the branch at the cursor alone, or all again. */
export function toggleHoist() {
  state.hoist.value = state.hoist.value ? null : (state.current.value?.place ?? null);
  return refresh();
}
