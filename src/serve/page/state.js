// State of the page as signals. Views read it; `navigation.js` and `actions.js` change it.

import { signal, computed } from "./signals.js";

/** @typedef {import("./api.js").Window} Window */

// A file in a sandbox has no storage: what would be stored is forgotten with the page.
for (const name of /** @type {const} */ (["localStorage", "sessionStorage"])) {
  try {
    window[name].getItem("");
  } catch {
    const items = new Map();
    const value = { getItem: (/** @type {string} */ key) => items.get(key) ?? null, setItem: (/** @type {string} */ key, /** @type {string} */ text) => void items.set(key, text), removeItem: (/** @type {string} */ key) => void items.delete(key) };
    Object.defineProperty(window, name, { value });
  }
}

/** Time for which nothing is to be said before the next text. */
const SPEECH_PAUSE_MS = 50;

/** Rights and names of the caller. @type {import("./signals.js").Signal<import("./api.js").Me | null>} */
export const me = signal(null);

/** Reason why the page asks for a login, or null. @type {import("./signals.js").Signal<string | null>} */
export const loginReason = signal(null);

/** Tree that is shown. @type {import("./signals.js").Signal<import("./api.js").Tree | null>} */
export const tree = signal(null);

/** Node at the cursor. @type {import("./signals.js").Signal<string | null>} */
export const cursor = signal(null);

/**
 * Loaded lines of the outline. `above` and `below`: more lines may exist there.
 * @type {import("./signals.js").Signal<{lines: import("./api.js").Line[], above: boolean, below: boolean, omitted: boolean}>}
 */
export const outline = signal({ lines: [], above: false, below: false, omitted: false });

/** Loaded end of the path. @type {import("./signals.js").Signal<{entries: import("./api.js").Entry[], more: boolean}>} */
export const path = signal({ entries: [], more: false });

/** Continuations of the node at the cursor. @type {import("./signals.js").Signal<import("./api.js").Line[]>} */
export const continuations = signal([]);

/** Other agents in the tree. @type {import("./signals.js").Signal<import("./api.js").Present[]>} */
export const others = signal([]);

/** Nodes that are pinned in the context. @type {import("./signals.js").Signal<Set<string>>} */
export const pins = signal(new Set());

/** Entry of the node at the cursor. */
export const current = computed(() => path.value.entries.at(-1) ?? null);

/** Nodes whose continuations are hidden. @type {import("./signals.js").Signal<Set<string>>} */
export const folds = signal(new Set());

/** Branch that is shown alone. @type {import("./signals.js").Signal<string | null>} */
export const hoist = signal(null);

/** Versions that were chosen in this tree. @type {import("./signals.js").Signal<string[]>} */
export const versions = signal([]);

/** Nodes that the last search found. @type {import("./signals.js").Signal<string[]>} */
export const hits = signal([]);

/** Visible panes: both, text or tree; on a narrow screen one at a time. */
export const layout = signal("both");

/** Shows the text, if only another pane is visible. */
export function showText() {
  if (layout.value === "tree" || (isNarrow() && layout.value === "map")) layout.value = "both";
}

/** True if one pane is visible at a time. The width is that of the style sheets. */
export const isNarrow = () => matchMedia("(max-width: 760px)").matches;

/** Mode of the tree that the input line starts: a dialogue, or a buffer of prose. @type {import("./signals.js").Signal<"dialogue" | "buffer">} */
export const newMode = signal("dialogue");

/** Text as a conversation or as prose. */
export const reading = signal("conversation");

/** Open dialog. @type {import("./signals.js").Signal<null | {kind: string, [key: string]: any}>} */
export const dialog = signal(null);

/** Short message above the status line. @type {import("./signals.js").Signal<null | {text: string, bad?: boolean, action?: {label: string, run: () => void}}>} */
export const notice = signal(null);

/** Text that screen readers say. @type {import("./signals.js").Signal<string>} */
export const spoken = signal("");

/** @type {number | undefined} */
let speechTimer;

/** Has screen readers say a text, also one that they said before. */
export const announcement = {
  /** @param {string} text */
  set value(text) {
    clearTimeout(speechTimer);
    spoken.value = "";
    // Two changes in one task would be none.
    speechTimer = setTimeout(() => (spoken.value = text), SPEECH_PAUSE_MS);
  },
};

/** False while the server does not answer. */
export const online = signal(true);

/** Number of the newest journal entry that the page knows. */
export const journal = signal(0);

/** Time that ages refer to; it advances once a minute. */
export const now = signal(Date.now());
setInterval(() => (now.value = Date.now()), 60_000);

export const canWrite = computed(() => me.value !== null && me.value.scope !== "read");

/** Theme: light, dark or that of the system. */
export const theme = signal(localStorage.getItem("loom-theme") ?? "system");

/** @type {number | undefined} */
let noticeTimer;

/**
 * Shows a short message.
 * @param {string} text @param {{bad?: boolean, action?: {label: string, run: () => void}}} [more]
 */
export function notify(text, more = {}) {
  clearTimeout(noticeTimer);
  notice.value = { text, ...more };
  // A failure is an alert, which is spoken anyway.
  if (!more.bad) announcement.value = text;
  noticeTimer = setTimeout(() => (notice.value = null), more.bad || more.action ? 10_000 : 5_000);
}

/** Shows an error of a request. @param {any} error */
export function fail(error) {
  if (error?.name === "AbortError") return;
  if (error?.code === "offline") {
    online.value = false;
    return;
  }
  if (error?.status === 401) loginReason.value = error.hint ?? error.message;
  const hint = error?.hint ? ` (${error.hint})` : "";
  notify(`${error?.message ?? error}${hint}`, { bad: true });
}
