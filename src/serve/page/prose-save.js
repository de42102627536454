// Saves of prose: versions of changed nodes and new ones. Unsaved text is stored under the last node that it was typed at. A
// save that failed because the server is away is repeated when it answers. A draft whose versions are not on the screen is
// offered beside the text, and never overwritten.

import { effect, signal } from "./signals.js";
import { get, post } from "./api.js";
import * as state from "./state.js";
import { go, refresh, isAway, holdSteps, visitVersion } from "./navigation.js";
import { followEdit } from "./generations.js";
import { shownProse } from "./buffer-text.js";
import { readDraft, writeDraft, dropDraft, draftNames, guardClose } from "./draft-store.js";

/**
 * `place`: that of the text's last node.
 * @typedef {import("./buffer-text.js").ProseText} ProseText
 * @typedef {import("./buffer-text.js").ProseChanges & {place?: string}} ProseDraft
 */

/** True while a save is on its way. */
export const isSaving = signal(false);

/** Texts whose save failed because the server was away. @type {Set<ProseText>} */
const failed = new Set();

/** @param {string} node */
const draftOf = (node) => `loom-prose-${node}`;

/** Names of drafts of the place at the end of the shown text that are not in it. @type {import("./signals.js").Signal<string[]>} */
export const otherDrafts = signal([]);

/** Draft that the next text takes, if several fit. @type {string | null} */
let wanted = null;

/** @param {string} name @returns {ProseDraft} */
export const readProse = (name) => JSON.parse(readDraft(name) ?? '{"edits":[],"appended":null}');

/** Node at whose end a draft was typed. @param {string} name */
export const draftNode = (name) => name.split("-")[2];

/** Drops a draft that was saved or discarded. @param {string} name */
export function forgetDraft(name) {
  dropDraft(name);
  for (const text of failed) if (text.draft === name) failed.delete(text);
  otherDrafts.value = otherDrafts.value.filter((other) => readDraft(other) !== null);
}

/** Stores the unsaved changes of a text, and drops those that are saved. @param {ProseText} text */
export function storeDraft(text) {
  const name = draftOf(text.end.id);
  if (text.draft && !(text.isChanged && text.draft.startsWith(name))) {
    dropDraft(text.draft);
    otherDrafts.value = otherDrafts.value.filter((other) => readDraft(other) !== null);
    text.draft = null;
  }
  if (!text.isChanged) return;
  // The name may belong to text that was typed in another version, or in another tab.
  text.draft ??= readDraft(name) === null ? name : `${name}-${Date.now()}`;
  writeDraft(text.draft, JSON.stringify({ ...text.changes(), place: text.end.place }));
}

/** Repeats what was typed at the end of a text before, and is not saved. @param {ProseText} text */
export function restoreDraft(text) {
  const { id, place } = text.end;
  const here = draftNames("prose").filter((name) => draftNode(name) === id || readProse(name).place === place);
  const own = here.filter((name) => draftNode(name) === id).sort((one, other) => Number(other === wanted) - Number(one === wanted));
  wanted = null;
  text.draft = own.find((name) => text.repeat(readProse(name))) ?? null;
  otherDrafts.value = here.filter((name) => name !== text.draft);
  const older = [...failed].find((other) => other.draft && other.draft === text.draft);
  // From now on, this is the text that is saved.
  if (older && text.isChanged && failed.delete(older)) failed.add(text);
}

/** Shows a draft at its place, in the versions in which it was typed. What is typed on the screen is saved before. @param {string} name */
export async function showDraft(name) {
  const shown = shownProse.peek();
  if (shown?.isChanged && (await saveProse(shown)) === null) return;
  const parts = readProse(name).edits.map(({ part }) => part.id);
  try {
    const places = await Promise.all(parts.map((id) => get(`/nodes/${id}/versions`)));
    const others = new Set(places.flatMap(({ data }) => data.map((/** @type {import("./api.js").Node} */ node) => node.id)));
    state.versions.value = [...state.versions.value.filter((id) => !others.has(id)), ...parts];
    wanted = name;
    await go(draftNode(name));
  } catch (error) {
    state.fail(error);
  }
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
  storeDraft(text);
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
