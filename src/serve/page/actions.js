// Changes of the tree. Each is one request; the window is read again afterwards, and one undo reverts it.

import { get, post, call } from "./api.js";
import { effect, untracked } from "./signals.js";
import * as state from "./state.js";
import { go, refresh, isAway } from "./navigation.js";

/** Runs a change and shows its failure. Returns false if it failed. @param {() => Promise<any>} run */
export async function attempt(run) {
  try {
    await run();
    return true;
  } catch (error) {
    state.fail(error);
    return false;
  }
}

/** @param {string} text */
function undoable(text) {
  // A later change, such as one of another page, is not what the notice offers to undo.
  const until = state.journal.value;
  state.notify(text, { action: { label: "Undo", run: () => revert("undo", { until: String(until) }) } });
}

/** @param {string} node @param {object} body @returns {Promise<{node: import("./api.js").Node}>} */
export const change = (node, body) => post(`/nodes/${node}/changes`, body);

/** Appends a message after the cursor and goes there, unless a new tree was chosen meanwhile. Returns false if it failed. @param {string} text */
export function say(text) {
  return attempt(async () => {
    const at = state.cursor.value;
    if (!at) {
      const { root } = await post("/trees", { content: text, mode: state.newMode.value });
      return go(root.id);
    }
    const node = await post(`/nodes/${at}/children`, { content: text });
    if (!state.cursor.value) return state.notify("Added to the tree that was left", { action: { label: "Show", run: () => go(node.id) } });
    await go(node.id);
  });
}

/** Session in which arrow lines run, by tree. @type {Map<string, string>} */
const sessions = new Map();

/** Runs arrow lines at the cursor. Returns those that failed. @param {string} text */
export async function runLines(text) {
  let failed = text;
  await attempt(async () => {
    const tree = state.tree.value?.id;
    if (!tree) throw new Error("there is no tree yet");
    // A quoted text may have several lines.
    const lines = text.split(/\n(?=\s*(?:→|->))/).filter((line) => line.trim());
    const begin = async () => (await post("/sessions", { tree, position: state.cursor.value, workspace: "page" })).id;
    const move = (/** @type {string} */ id) => post(`/sessions/${id}/switch`, { node: state.cursor.value });
    let session = sessions.get(tree) ?? (await begin());
    await move(session).catch(async (error) => {
      // Another program may have ended the session.
      if (error.code === "offline" || !sessions.delete(tree)) throw error;
      session = await begin();
      await move(session);
    });
    const answer = await post("/arrow", { lines, session });
    failed = lines.filter((_, at) => !answer.results[at]?.ok).join("\n");
    sessions.set(tree, answer.session);
    const { position_id: position } = await get(`/sessions/${answer.session}`);
    openLate({ kind: "results", results: answer.results }, "The lines have run");
    // A new tree may have been chosen meanwhile.
    if (state.cursor.value) await (position && position !== state.cursor.value ? go(position) : refresh());
  });
  return failed;
}

/** Opens a dialog that the user did not wait for. While another one is open, a notice offers it. @param {{kind: string, [key: string]: any}} dialog @param {string} text */
export function openLate(dialog, text) {
  if (!state.dialog.value) return void (state.dialog.value = dialog);
  let isOpened = false;
  const run = () => {
    isOpened = true;
    state.dialog.value = dialog;
  };
  const offer = () => state.notify(text, { action: { label: "Show", run } });
  offer();
  // The notice ends after a while, so it is shown again when the other dialog closes.
  const stop = effect(() => {
    if (state.dialog.value) return;
    queueMicrotask(() => stop());
    if (!isOpened) untracked(offer);
  });
}

/** Number of the last request for a dialog. */
let asked = 0;

/** Loads a dialog's data, then opens it, unless another dialog was requested or opened meanwhile. @param {() => Promise<{kind: string, [key: string]: any}>} read */
function openAfter(read) {
  const own = ++asked;
  return attempt(async () => {
    const dialog = await read();
    if (own === asked && !state.dialog.value) state.dialog.value = dialog;
  });
}

/** Opens the editor of a node. @param {string} [node] */
export function edit(node = state.cursor.value ?? "") {
  return openAfter(async () => {
    const { content, parent_id } = await get(`/nodes/${node}`);
    return { kind: "edit", node, content, parent: parent_id };
  });
}

/**
 * Saves an edited text: as the tree's mode has it, a version of the node in a buffer, else a branch beside it. With a
 * parent, as a branch in any mode.
 * @param {string} node @param {string} content @param {string | null} parent
 */
export function saveEdit(node, content, parent) {
  return attempt(async () => {
    if (parent) {
      const { role, author_type } = await get(`/nodes/${node}`);
      const sibling = await post(`/nodes/${parent}/children`, { content, author_type: role ?? author_type });
      await go(sibling.id);
      return undoable("Saved as a branch");
    }
    const { node: edited } = await change(node, { op: "edit", content });
    const isVersion = edited.kind === "version";
    if (isVersion) state.versions.value = [...state.versions.value, edited.id];
    await go(edited.id);
    undoable(isVersion ? "Saved as a version" : "Saved as a branch; the original stays");
  });
}

/** Opens the editor of a note. @param {string} [node] */
export function annotate(node = state.cursor.value ?? "") {
  state.dialog.value = { kind: "note", node };
}

/** @param {string} node @param {string} content */
export function saveNote(node, content) {
  return attempt(async () => {
    await change(node, { op: "annotate", content });
    await refresh();
    undoable("Note added");
  });
}

/** Sets a bookmark, or removes it. @param {{id: string, marks: import("./api.js").Marks} | null} [entry] */
export function bookmark(entry = state.current.value) {
  if (!entry) return;
  if (entry.marks.bookmark === undefined) {
    state.dialog.value = { kind: "bookmark", node: entry.id };
    return;
  }
  return attempt(async () => {
    await change(entry.id, { op: "unbookmark" });
    await refresh();
    undoable("Bookmark removed");
  });
}

/** @param {string} node @param {string} label */
export function saveBookmark(node, label) {
  return attempt(async () => {
    await change(node, { op: "bookmark", label });
    await refresh();
    undoable("Bookmarked");
  });
}

/** Hides a branch and goes to its parent. @param {string} [node] */
export function prune(node = state.cursor.value ?? "") {
  return attempt(async () => {
    const { parent_id } = await get(`/nodes/${node}`);
    await change(node, { op: "prune" });
    const isOnPath = state.path.value.entries.some((entry) => entry.id === node);
    await (isOnPath && parent_id ? go(parent_id) : refresh());
    undoable("Pruned; nothing is deleted");
  });
}

/** Shows a pruned branch again. @param {string} node */
export function restore(node) {
  return attempt(async () => {
    await change(node, { op: "restore" });
    await go(node);
    undoable("Restored");
  });
}

/** Excludes a node from what models read, or includes it. @param {{id: string, marks: import("./api.js").Marks} | null} [entry] */
export function exclude(entry = state.current.value) {
  if (!entry) return;
  return attempt(async () => {
    await change(entry.id, { op: entry.marks.excluded ? "include" : "exclude" });
    await refresh();
    undoable(entry.marks.excluded ? "Models read it again" : "Models do not read it");
  });
}

/** Pins a node in the context, or removes the pin. @param {{id: string} | null} [entry] */
export function pin(entry = state.current.value) {
  if (!entry) return;
  const isPinned = state.pins.value.has(entry.id);
  return attempt(async () => {
    await change(entry.id, { op: isPinned ? "unpin" : "pin" });
    await refresh();
    undoable(isPinned ? "Pin removed" : "Pinned: it stays in what your models read");
  });
}

/** Opens the text of a node that merges nodes. @param {string[]} ids */
export function merge(ids) {
  return openAfter(async () => ({ kind: "merge", nodes: await Promise.all(ids.map((id) => get(`/nodes/${id}`))) }));
}

/** @param {string[]} nodes @param {string} content */
export function saveMerge(nodes, content) {
  return attempt(async () => {
    const { node } = await post("/merge", { nodes, content });
    await go(node.id);
    undoable(`Merged ${nodes.length} nodes`);
  });
}

/** Asks for the place at which a node is split. @param {string} [node] */
export function askSplit(node = state.cursor.value ?? "") {
  return openAfter(async () => ({ kind: "split", node, content: (await get(`/nodes/${node}`)).content }));
}

/** Splits a node before a character. The continuations follow the second half. @param {string} node @param {number} at */
export function split(node, at) {
  return attempt(async () => {
    const { node: head } = await change(node, { op: "split", at });
    state.versions.value = state.versions.value.filter((version) => version !== node);
    await go(head.id);
    undoable("Split in two; the original stays as a version");
  });
}

/** @param {"copy" | "move"} op @param {string} node @param {string} to */
export function relocate(op, node, to) {
  return attempt(async () => {
    const { node: moved } = await change(node, { op, to });
    // A move is a copy whose original is pruned.
    await go(moved.id);
    undoable(op === "move" ? "Moved" : "Copied");
  });
}

/** @param {"undo" | "redo"} direction @param {Record<string, string>} [params] */
function revert(direction, params = {}) {
  return attempt(async () => {
    const tree = state.tree.value?.id;
    if (!tree) return;
    const { reverted } = await post(`/trees/${tree}/${direction}?${new URLSearchParams(params)}`);
    await refresh();
    await leaveUndone();
    state.notify(`${direction === "undo" ? "Undone" : "Redone"}: ${reverted.op.replaceAll("_", " ")}`);
  });
}

/** Goes to what a node was made from, or to its parent, if the node at the cursor was undone. */
async function leaveUndone() {
  for (let levels = 0; levels < 8 && state.current.value?.marks.pruned; levels++) {
    const from = state.cursor.value;
    const { edited_from: original, parent_id: parent } = await get(`/nodes/${from}`);
    const to = original ?? parent;
    // The user may have gone elsewhere meanwhile.
    if (!to || state.cursor.value !== from || isAway()) return;
    state.versions.value = state.versions.value.filter((id) => id !== state.cursor.value);
    await go(to);
  }
}

/** Undoes the last change, or that of another agent. @param {string} [agent] */
export const undo = (agent) => revert("undo", agent ? { agent } : {});
export const redo = () => revert("redo");

/** @param {string} title */
export function rename(title) {
  return attempt(async () => {
    await call("PATCH", `/trees/${state.tree.value?.id}`, { title });
    await refresh();
    undoable("Renamed");
  });
}

/** Saves the tree as a file, in Markdown only the path to the cursor. @param {"markdown" | "jsonl" | "html"} format */
export function download(format) {
  return attempt(async () => {
    const tree = state.tree.value?.id;
    if (!tree) return;
    const form = `format=${format}${format === "markdown" ? `&node=${state.cursor.value}` : ""}`;
    const { left_out, text } = await get(`/trees/${tree}/export/report?${form}`);
    const link = document.createElement("a");
    // An exported file has no server that would send the text.
    link.href = text === undefined ? `/api/v1/trees/${tree}/export?${form}` : URL.createObjectURL(new Blob([text], { type: "text/markdown" }));
    link.download = text === undefined ? "" : "path.md";
    link.click();
    const kinds = Object.entries(left_out).map(([kind, number]) => `${number} ${kind}`);
    state.notify(kinds.length ? `Exported; left out: ${kinds.join(", ")}` : "Exported");
  });
}
