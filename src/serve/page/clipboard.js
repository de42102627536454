// The clipboard. A browser offers it to pages over HTTPS or from the own machine; elsewhere, only an old command copies.

import * as state from "./state.js";

/** Copies a text and says so. @param {string} text */
export async function copy(text) {
  try {
    if (navigator.clipboard) await navigator.clipboard.writeText(text);
    else copySelected(text);
    state.notify("Copied");
  } catch {
    state.notify("The browser did not allow to copy. Select the text and copy it by key.", { bad: true });
  }
}

/** @param {string} text */
function copySelected(text) {
  const focus = document.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "only-spoken";
  // Nothing outside an open dialog can be selected.
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (focus instanceof HTMLElement) focus.focus({ preventScroll: true });
  if (!isCopied) throw new Error("not copied");
}
