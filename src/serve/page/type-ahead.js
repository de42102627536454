// Keys typed while a command waits for the cursor or for its dialog: they act afterwards, on what it opened.

import * as state from "./state.js";
import { afterSteps } from "./navigation.js";

/** Held keys, and whether those typed in a field are held too. @typedef {{keys: KeyboardEvent[], inFields: boolean}} Hold */

/** @type {Hold | null} */
let held = null;
// A function, since TypeScript does not know that other functions assign it.
const current = () => held;

const nextFrame = () => new Promise(requestAnimationFrame);

/** Holds keys until the result is released. @returns {Hold} */
export function hold() {
  return (held = { keys: [], inFields: true });
}

/** Lets held keys act, one after the other. Those after a key that opens something wait for it. @param {Hold | null} own */
export async function release(own) {
  while (own && current() === own) {
    const typed = own.keys.shift();
    held = null;
    if (!typed) return;
    const before = state.dialog.value;
    replay(typed);
    // A command that the key began releases the rest.
    const other = current();
    if (other) return void other.keys.push(...own.keys);
    held = own;
    if (before !== state.dialog.value) await nextFrame();
  }
}

/**
 * Runs a command after the steps before it. Keys typed until it has opened its field act there.
 * @param {() => any} run @param {Hold | null} own what the caller holds
 */
export async function runHolding(run, own = null) {
  try {
    const done = afterSteps(run);
    if (!(done instanceof Promise)) return;
    if (!held) own = held = { keys: [], inFields: false };
    await done;
  } finally {
    if (own) {
      own.inFields = true;
      // A dialog has the focus in the next frame.
      await nextFrame();
      await release(own);
    }
  }
}

/** @param {KeyboardEvent} typed */
function replay(typed) {
  const { key, code, ctrlKey, metaKey, shiftKey, repeat } = typed;
  const target = document.activeElement ?? document.body;
  const isUnhandled = target.dispatchEvent(new KeyboardEvent("keydown", { key, code, ctrlKey, metaKey, shiftKey, repeat, bubbles: true, cancelable: true }));
  // Unlike a value that is set, this can be undone in the field, and tells it that it changed.
  if (!isUnhandled || !isTyping(target) || ctrlKey || metaKey) return;
  if (key.length === 1) document.execCommand("insertText", false, key);
  else if (key === "Enter" && target instanceof HTMLTextAreaElement) document.execCommand("insertText", false, "\n");
  else if (key === "Backspace") document.execCommand("delete");
  else if (/^Arrow(Left|Right)$/.test(key) && (target instanceof HTMLTextAreaElement || target instanceof HTMLInputElement)) {
    const at = Math.max(0, (target.selectionStart ?? 0) + (key === "ArrowRight" ? 1 : -1));
    target.setSelectionRange(at, at);
  }
}

/** True if keys are text here. @param {EventTarget | null} target */
export function isTyping(target) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/** True for a key that can be replayed: no key of the browser, such as that which reloads the page. @param {KeyboardEvent} event */
function isReplayable({ key, ctrlKey, metaKey, altKey, isComposing }) {
  if (altKey || isComposing) return false;
  return ctrlKey || metaKey ? /^(Enter|s)$/.test(key) : /^(.|Enter|Backspace|Delete|Home|End|Arrow.*|Page.*)$/u.test(key);
}

/** Holds keys before anything else sees them. Escape lets go. */
export function listenHeld() {
  const listener = (/** @type {KeyboardEvent} */ event) => {
    if (!held || !event.isTrusted || (!held.inFields && isTyping(event.target))) return;
    if (event.key === "Escape") held = null;
    if (!held || !isReplayable(event)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    // Enter that is pressed for long confirms only once.
    if (event.key !== "Enter" || !event.repeat) held.keys.push(event);
  };
  document.addEventListener("keydown", listener, { capture: true });
}
