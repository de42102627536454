// Actions of agents that only a person may allow: plans of delegations, commands, changes of files.

import { html, Button } from "./elements.js";
import { observer, signal } from "./signals.js";
import { get, call } from "./api.js";
import * as state from "./state.js";

const POLL_MS = 1_500;

/** @type {import("./signals.js").Signal<{id: number, tool: string, summary: string, details?: string, always?: string}[]>} */
const waiting = signal([]);

async function poll() {
  if (document.hidden || !state.online.peek() || state.me.peek()?.scope !== "admin" || state.me.peek()?.project) return;
  try {
    const { data } = await get("/approvals");
    if (data.length || waiting.peek().length) waiting.value = data;
    if (data.length) state.announcement.value = "An agent asks for your approval.";
  } catch {
    // The connection state is shown elsewhere.
  }
}

setInterval(poll, POLL_MS);

/** Characters that a text hides or that change the order of others. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;

/** Text with hidden characters as escapes, so that what is approved is what is seen. @param {string} text */
const literal = (text) => text.replace(HIDDEN, (found) => `\\u{${found.codePointAt(0)?.toString(16)}}`);

/** Moves the focus to the first waiting action. */
export function focusApproval() {
  const first = /** @type {HTMLElement | null} */ (document.querySelector(".approval"));
  if (first) first.focus();
  else state.notify("nothing waits for your decision");
}

/** @param {number} id @param {boolean} approve @param {boolean} [always] */
async function decide(id, approve, always = false) {
  waiting.value = waiting.value.filter((each) => each.id !== id);
  await call("POST", `/approvals/${id}`, { approve, always }).catch(state.fail);
}

/** Waiting actions above the input line. Each shows exactly what would be done. */
export const Approvals = observer(() => {
  if (!waiting.value.length) return null;
  return html`<aside class="approvals" aria-label="Actions that wait for your decision">${waiting.value.map((each) => html`<div key=${each.id} class="approval" role="group" tabindex="-1" aria-label=${`${each.tool} asks for your approval`}>
    <p><b>${each.tool}</b> ${literal(each.summary)}</p>${each.details && html`<pre tabindex="0">${literal(each.details)}</pre>`}
    <div class="form-row"><${Button} class="primary" text="Approve once" label="Approve" onClick=${() => decide(each.id, true)} />
      ${each.always && html`<${Button} text="Approve always" label=${`Approve ${each.always}, until the server ends`} onClick=${() => decide(each.id, true, true)} />`}
      <${Button} text="Refuse" label="Refuse" onClick=${() => decide(each.id, false)} /></div></div>`)}</aside>`;
});
