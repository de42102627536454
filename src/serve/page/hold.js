// Keys typed while a command waits for the cursor or for its dialog: they act afterwards, on what it opened.

import * as state from "./state.js";
import { afterSteps } from "./walk.js";

/** @type {KeyboardEvent[] | null} */
let held = null;
/** True if keys typed in a field are held too. */
let holdsFields = false;

/** Holds all keys until `runHolding` or `release`. */
export function hold() {
  held ??= [];
  holdsFields = true;
}

const nextFrame = () => new Promise(requestAnimationFrame);

/** Lets the held keys act, one after the other. Those after a key that opens something wait for it. @returns {Promise<void>} */
export async function release() {
  const keys = held ?? [];
  [held, holdsFields] = [null, false];
  while (keys.length) {
    const before = state.dialog.value;
    replay(/** @type {KeyboardEvent} */ (keys.shift()));
    const waiting = current();
    if (waiting) return void waiting.push(...keys);
    if (before === state.dialog.value) continue;
    [held, holdsFields] = [keys, true];
    await nextFrame();
    return release();
  }
}

const current = () => held;

/** Runs a command after the steps before it. Keys typed until it has opened its field act there. @param {() => any} run */
export async function runHolding(run) {
  const done = afterSteps(run);
  if (!held && !(done instanceof Promise)) return;
  held ??= [];
  await done;
  holdsFields = true;
  // A dialog has the focus in the next frame.
  await nextFrame();
  await release();
}

/** @param {KeyboardEvent} typed */
function replay(typed) {
  const { key, code, ctrlKey, metaKey, shiftKey } = typed;
  const target = document.activeElement ?? document.body;
  const isUnhandled = target.dispatchEvent(new KeyboardEvent("keydown", { key, code, ctrlKey, metaKey, shiftKey, bubbles: true, cancelable: true }));
  // Unlike a value that is set, this can be undone in the field, and tells it that it changed.
  if (!isUnhandled || !isTyping(target) || ctrlKey || metaKey) return;
  if (key.length === 1) document.execCommand("insertText", false, key);
  else if (key === "Enter" && target instanceof HTMLTextAreaElement) document.execCommand("insertText", false, "\n");
  else if (key === "Backspace") document.execCommand("delete");
}

/** True if keys are text here. @param {EventTarget | null} target */
export function isTyping(target) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/** Holds keys before anything else sees them. */
export function listenHeld() {
  const listener = (/** @type {KeyboardEvent} */ event) => {
    if (!held || !event.isTrusted || event.isComposing || event.altKey || (!holdsFields && isTyping(event.target))) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    held.push(event);
  };
  document.addEventListener("keydown", listener, { capture: true });
}
