// Walking: each step asks the server for a window around the new node. Steps that are typed faster than the server
// answers are sent together.

import { get, ApiError } from "./api.js";
import { batch } from "./signals.js";
import * as state from "./state.js";

/** Lines that a window has above and below the cursor. */
const ABOVE = 40;
const BELOW = 60;
/** Lines that are kept; farther ones are dropped while scrolling. */
const MAX_LINES = 400;
/** Entries of the path that are loaded at once. */
const ENTRIES = 12;
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

/** @param {string} node @param {Record<string, string | number>} more @returns {Promise<import("./api.js").Window>} */
function requestWindow(node, more) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(more)) query.set(name, String(value));
  if (state.folds.value.size) query.set("folded", [...state.folds.value].join(","));
  if (state.versions.value.length) query.set("versions", state.versions.value.join(","));
  if (state.hoist.value) query.set("hoist", state.hoist.value);
  return get(`/nodes/${node}/window?${query}`);
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
      const more = { above: ABOVE, below: BELOW, path: ENTRIES, ...(request.steps.length && { steps: request.steps.join() }) };
      show(await requestWindow(request.node, more));
    }
    state.online.value = true;
  } catch (error) {
    queue = [];
    if (error instanceof ApiError && error.status === 404) forget();
    state.fail(error);
  } finally {
    isRunning = false;
    isStepping = false;
  }
}

/** Forgets where the user went, because a node is gone. */
function forget() {
  visited.clear();
  state.versions.value = [];
}

/** Shows a window. @param {Window} window @typedef {import("./api.js").Window} Window */
function show(window) {
  const before = state.cursor.value;
  batch(() => {
    if (state.tree.value?.id !== window.tree.id) {
      state.folds.value = new Set();
      state.hoist.value = null;
    }
    state.tree.value = window.tree;
    state.cursor.value = window.node;
    state.versions.value = window.versions;
    const first = window.lines[0];
    state.outline.value = {
      lines: window.lines,
      above: window.cursor === ABOVE && first?.place !== window.tree.root_id,
      below: window.lines.length - window.cursor - 1 === BELOW,
      omitted: window.omitted,
    };
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
    const onPath = new Set(shown.lines.filter((line) => line.on_path).map((line) => line.id));
    const lines = window.lines.map((line) => ({ ...line, on_path: onPath.has(line.id) }));
    if (above) {
      const added = lines.slice(0, window.cursor);
      const all = [...added, ...shown.lines];
      const isAtTop = added.length < 80 || added[0]?.place === window.tree.root_id;
      state.outline.value = { ...shown, lines: all.slice(0, MAX_LINES), above: !isAtTop, below: shown.below || all.length > MAX_LINES };
    } else {
      const added = lines.slice(window.cursor + 1);
      const all = [...shown.lines, ...added];
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
