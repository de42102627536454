// Completion of arrow lines while they are typed. The server knows verbs, words, options, ids, labels and names.

import { html, classes } from "./elements.js";
import { observer, signal } from "./signals.js";
import { call } from "./api.js";
import * as state from "./state.js";

/** Pause of typing before the server is asked. */
const PAUSE_MS = 50;

/** @typedef {{text: string, detail: string, kind: string}} Option */

/** Offered completions; `at` is -1 until one is selected. @type {import("./signals.js").Signal<{token: string, options: Option[], at: number} | null>} */
export const completion = signal(null);

/** @type {number | undefined} */
let timer;
/** @type {AbortController | null} */
let request = null;

/** Id of the selected option's element. */
export const selectedId = () => (completion.value && completion.value.at >= 0 ? `completion-${completion.value.at}` : undefined);

export function closeCompletion() {
  clearTimeout(timer);
  request?.abort();
  completion.value = null;
}

/** Asks for what can follow a line. @param {string} line The line up to the caret. */
export function offer(line) {
  clearTimeout(timer);
  request?.abort();
  const node = state.cursor.value;
  if (!node || !/^\s*(→|->)/.test(line)) return closeCompletion();
  timer = window.setTimeout(async () => {
    const own = new AbortController();
    request = own;
    try {
      const { token, options } = await call("POST", "/arrow/completions", { line, node }, own.signal);
      if (own.signal.aborted) return;
      completion.value = options.length ? { token, options, at: -1 } : null;
      if (options.length) state.announcement.value = `${options.length} completions, such as ${options[0].text}`;
    } catch {
      // Without completions, the line can still be typed.
      if (!own.signal.aborted) completion.value = null;
    }
  }, PAUSE_MS);
}

/** Selects the next or the previous completion. @param {number} by */
function move(by) {
  const shown = completion.value;
  if (!shown) return;
  const count = shown.options.length;
  // Before the first one is the line itself.
  const at = ((shown.at + 1 + by + count + 1) % (count + 1)) - 1;
  completion.value = { ...shown, at };
  requestAnimationFrame(() => document.getElementById(`completion-${at}`)?.scrollIntoView({ block: "nearest" }));
}

/**
 * Handles a key while completions are shown. Returns false if the key is not for them.
 * @param {KeyboardEvent} event @param {(token: string, text: string) => void} accept
 */
export function onCompletionKey(event, accept) {
  const shown = completion.value;
  if (!shown) return false;
  if (event.key === "ArrowDown") move(1);
  else if (event.key === "ArrowUp") move(-1);
  else if (event.key === "Escape") closeCompletion();
  else if ((event.key === "Tab" && !event.shiftKey) || (event.key === "Enter" && shown.at >= 0)) accept(shown.token, shown.options[Math.max(0, shown.at)].text);
  else return false;
  event.preventDefault();
  return true;
}

/** The list above the input line. */
export const Completions = observer((/** @type {{accept: (token: string, text: string) => void}} */ { accept }) => {
  const shown = completion.value;
  if (!shown) return null;
  return html`<div class="completions" id="completions" role="listbox" aria-label="Completions">
    ${shown.options.map((option, at) => html`<div key=${option.text} id=${`completion-${at}`} role="option" aria-selected=${at === shown.at}
      class=${classes("completion", `is-${option.kind}`, at === shown.at && "is-selected")}
      onPointerDown=${(/** @type {Event} */ event) => event.preventDefault()} onClick=${() => accept(shown.token, option.text)}>
      <code dir="auto">${option.text.trim()}</code><span class="completion-detail" dir="auto">${option.detail}</span></div>`)}
    <p class="completions-hint" aria-hidden="true"><kbd>Tab</kbd> takes it · <kbd>↑</kbd><kbd>↓</kbd> choose · <kbd>Esc</kbd> closes</p>
  </div>`;
});
