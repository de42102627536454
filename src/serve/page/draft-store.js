// Typed text that is not saved yet: stored for this tab over a reload, and for the next tab if this one is closed.

/** Name of the list of stored drafts, the newest last. */
const NAMES = "loom-drafts";
/** Drafts that outlast their tab; older ones are dropped. */
const MAX_DRAFTS = 100;

/** Stores a value, if the browser has room for it. @param {Storage} storage @param {string} name @param {string} value */
function put(storage, name, value) {
  try {
    storage.setItem(name, value);
  } catch {
    // An older text must not come back in place of this one.
    storage.removeItem(name);
  }
}

/** Moves a draft to the end of the list. @param {string} name */
function renew(name) {
  /** @type {string[]} */
  const names = JSON.parse(localStorage.getItem(NAMES) ?? "[]");
  if (names.at(-1) === name) return;
  const others = names.filter((other) => other !== name);
  for (const oldest of others.splice(0, others.length + 1 - MAX_DRAFTS)) localStorage.removeItem(oldest);
  put(localStorage, NAMES, JSON.stringify([...others, name]));
}

/** Returns the draft of this tab, else that of another one. @param {string} name @returns {string | null} */
export const readDraft = (name) => sessionStorage.getItem(name) ?? localStorage.getItem(name);

/** @param {string} name @param {string} value */
export function writeDraft(name, value) {
  put(sessionStorage, name, value);
  put(localStorage, name, value);
  renew(name);
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
