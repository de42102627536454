// Saves of prose: versions of changed nodes and new ones. Unsaved text is stored under the last node that it was typed at. A
// save that failed because the server is away is repeated when it answers.

import { effect, signal } from "./signals.js";
import { get, post } from "./api.js";
import * as state from "./state.js";
import { go, refresh, isAway, holdSteps, visitVersion } from "./walk.js";
import { followEdit } from "./streams.js";
import { shownProse } from "./buffer-text.js";
import { readDraft, writeDraft, dropDraft, guardClose } from "./draft-store.js";

/** @typedef {import("./buffer-text.js").ProseText} ProseText */

/** True while a save is on its way. */
export const isSaving = signal(false);

/** Texts whose save failed because the server was away. @type {Set<ProseText>} */
const failed = new Set();

/** @param {string} node */
const draftOf = (node) => `loom-prose-${node}`;

/** Stores the unsaved changes of a text in place of those of a node. @param {string} node @param {ProseText} text */
export function storeDraft(node, text) {
  if (node !== text.end.id || !text.isChanged) dropDraft(draftOf(node));
  if (text.isChanged) writeDraft(draftOf(text.end.id), JSON.stringify(text.changes()));
}

/** Repeats what was typed at the end of a text before, and is not saved. @param {ProseText} text */
export function restoreDraft(text) {
  const draft = readDraft(draftOf(text.end.id));
  if (draft) text.repeat(JSON.parse(draft));
  const older = [...failed].find((other) => other.end.id === text.end.id);
  // From now on, this is the text that is saved.
  if (older && text.isChanged && failed.delete(older)) failed.add(text);
}

guardClose(() => shownProse.peek()?.isChanged ?? false);

/** The last save, or null when none is on its way. @type {Promise<string | null> | null} */
let last = null;

/** Saves a text, after the save that is on its way. Returns the node at the end of the path; null if it failed. @param {ProseText} text */
export function saveProse(text) {
  const own = last ? last.then(() => saveNow(text)) : saveNow(text);
  last = own;
  own.finally(() => {
    if (last === own) last = null;
  });
  return own;
}

/** @param {ProseText} text @returns {Promise<string | null>} */
async function saveNow(text) {
  const at = state.cursor.value;
  let next = text.nextSave();
  if (!next.edits.length && !next.appended) {
    failed.delete(text);
    return at;
  }
  isSaving.value = true;
  let count = 0;
  try {
    do {
      const isLast = next.text === text.text;
      count += await send(text, next);
      // Text that is typed meanwhile is not saved, but a long pasted one needs several nodes.
      if (isLast) break;
      next = text.nextSave();
    } while (next.appended);
    failed.delete(text);
    state.announcement.value = count === 1 ? "Saved" : `Saved, ${count} nodes`;
    // The user may have gone to another node meanwhile, or be on the way.
    if (!isAway()) await (state.cursor.value === at && shownProse.value === text ? go(text.end.id) : refresh());
    return text.end.id;
  } catch (error) {
    state.fail(error);
    if (/** @type {any} */ (error).code === "offline") failed.add(text);
    if (shownProse.value !== text) sayWhere(text);
    return null;
  } finally {
    isSaving.value = false;
  }
}

/** @param {ProseText} text @param {ReturnType<ProseText["nextSave"]>} next */
async function send(text, { edits, appended, text: saved }) {
  const before = text.end.id;
  const bodies = edits.map(({ part, content }) => ({ node: part.id, content }));
  const write = async () => (await post(`/nodes/${before}/text`, { edits: bodies, appended: appended?.content })).nodes;
  const answer = failed.has(text) ? findSaved(before, bodies, appended?.content).then((found) => found ?? write()) : write();
  holdSteps(answer);
  /** @type {string[]} */
  const nodes = await answer;
  const changed = new Set(bodies.map(({ node }) => node));
  state.versions.value = [...state.versions.value.filter((id) => !changed.has(id)), ...nodes.slice(0, edits.length)];
  bodies.forEach(({ node }, at) => visitVersion(node, nodes[at]));
  text.adoptSave(saved, { edits, appended }, nodes);
  storeDraft(before, text);
  if (!appended) followEdit(before, text.end.id);
  return edits.length + Number(appended !== null);
}

/**
 * Returns the nodes of a save whose answer was lost, or null if the server did not get it.
 * @param {string} end @param {{node: string, content: string}[]} edits @param {string | undefined} appended
 */
async function findSaved(end, edits, appended) {
  const versions = await Promise.all(edits.map(({ node }) => get(`/nodes/${node}/versions`)));
  const found = versions.map(({ data }, at) => data.findLast((/** @type {import("./api.js").Node} */ { id, content }) => id > edits[at].node && content === edits[at].content));
  if (appended !== undefined) {
    const { data } = await get(`/nodes/${end}/children?kind=continuation&limit=1000`);
    found.push(data.findLast((/** @type {import("./api.js").Node} */ { content }) => content === appended));
  }
  return found.every(Boolean) ? found.map(({ id }) => id) : null;
}

/** Says where unsaved text is that is not shown. @param {ProseText} text */
function sayWhere(text) {
  state.notify("Text at another node is not saved yet", { bad: true, action: { label: "Show", run: () => go(text.end.id) } });
}

/** Pause between two repetitions, since the server may answer other requests only. */
const RETRY_MS = 5_000;
let nextRetry = 0;

effect(() => {
  if (!state.online.value || !failed.size) return;
  const wait = Math.max(0, nextRetry - Date.now());
  nextRetry = Date.now() + wait + RETRY_MS;
  setTimeout(() => {
    for (const text of failed) if (state.online.value) saveProse(text);
  }, wait);
});
