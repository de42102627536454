// Typed text that is not saved yet: stored for this tab over a reload, and for the next tab if this one is closed. A draft stays
// until it is saved or discarded.

import * as state from "./state.js";

/** Stores a value. Returns false if the browser has no room for it. @param {Storage} storage @param {string} name @param {string} value */
function put(storage, name, value) {
  try {
    storage.setItem(name, value);
    return true;
  } catch {
    // An older text must not come back in place of this one.
    storage.removeItem(name);
    return false;
  }
}

/** Names of the stored drafts that begin with one of these words, those of newer nodes first. @param {string[]} kinds */
export function draftNames(...kinds) {
  const names = new Set([...Object.keys(sessionStorage), ...Object.keys(localStorage)]);
  return [...names].filter((name) => kinds.some((kind) => name.startsWith(`loom-${kind}-`))).sort().reverse();
}

/** Returns the draft of this tab, else that of another one. @param {string} name @returns {string | null} */
export const readDraft = (name) => sessionStorage.getItem(name) ?? localStorage.getItem(name);

/** @param {string} name @param {string} value */
export function writeDraft(name, value) {
  const stored = [put(sessionStorage, name, value), put(localStorage, name, value)];
  if (!stored.includes(true)) state.notify("The browser has no room for unsaved text. Save it, or discard drafts", { bad: true });
}

/** Drops a draft after its text was saved. Another tab may have stored its own since. @param {string} name */
export function dropDraft(name) {
  const own = readDraft(name);
  sessionStorage.removeItem(name);
  if (own !== null && localStorage.getItem(name) === own) localStorage.removeItem(name);
}

/** Functions that return whether a text on the screen is not saved. @type {Set<() => boolean>} */
const guards = new Set();

/** Has the browser ask before the page is closed while a text is not saved. Returns a function that ends this. @param {() => boolean} isUnsaved */
export function guardClose(isUnsaved) {
  guards.add(isUnsaved);
  return () => void guards.delete(isUnsaved);
}

window.addEventListener("beforeunload", (event) => {
  if ([...guards].some((isUnsaved) => isUnsaved())) event.preventDefault();
});
