// Actions of agents that only a person may allow: plans of delegations, commands, changes of files.

import { html, Button } from "./view.js";
import { observer, signal } from "./signals.js";
import { get, call } from "./api.js";
import * as state from "./state.js";

const POLL_MS = 1_500;

/** @type {import("./signals.js").Signal<{id: number, tool: string, summary: string, details?: string}[]>} */
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

/** @param {number} id @param {boolean} approve */
async function decide(id, approve) {
  waiting.value = waiting.value.filter((each) => each.id !== id);
  await call("POST", `/approvals/${id}`, { approve }).catch(state.fail);
}

/** Waiting actions above the input line. Each shows exactly what would be done. */
export const Approvals = observer(() => {
  if (!waiting.value.length) return null;
  return html`<aside class="approvals" aria-label="Actions that wait for your decision">${waiting.value.map((each) => html`<div key=${each.id} class="approval">
    <p><b>${each.tool}</b> ${each.summary}</p>${each.details && html`<pre tabindex="0">${each.details}</pre>`}
    <${Button} class="primary" text="Approve once" label="Approve" onClick=${() => decide(each.id, true)} />
    <${Button} text="Refuse" label="Refuse" onClick=${() => decide(each.id, false)} /></div>`)}</aside>`;
});
