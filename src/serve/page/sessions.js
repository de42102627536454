// The collaborator's session in this tree: begin, name, end and reset.

import { get, post, call } from "./api.js";
import * as state from "./state.js";
import { go } from "./navigation.js";
import { attempt } from "./actions.js";

const AGENT = "collaborator";

/** The collaborator's newest session in this tree. */
async function current() {
  const [{ data: agents }, { data }] = await Promise.all([get("/agents"), get(`/sessions?tree=${state.tree.value?.id}&limit=500`)]);
  const agent = agents.find((/** @type {any} */ each) => each.name === AGENT)?.id;
  const found = data.find((/** @type {any} */ session) => session.agent_id === agent);
  if (!found) throw new Error("the collaborator has no session in this tree yet");
  return found;
}

/** Begins a conversation in a new tree and goes there. @param {string} name */
export function begin(name) {
  return attempt(async () => {
    const session = await post("/conversations", { agent: AGENT, workspace: "page", ...(name && { name }) });
    await go(session.position_id);
    state.notify("A conversation begins");
  });
}

/** Asks for the session's name. */
export function askName() {
  return attempt(async () => {
    const session = await current();
    state.dialog.value = { kind: "session_name", session: session.id, name: session.metadata?.name ?? "" };
  });
}

/** @param {string} session @param {string} name */
export function rename(session, name) {
  return attempt(async () => {
    await call("PATCH", `/sessions/${session}`, { name });
    state.notify(name ? "The session is named" : "The session has no name");
  });
}

export function end() {
  return attempt(async () => {
    await call("DELETE", `/sessions/${(await current()).id}`);
    state.notify("The session has ended; its messages stay");
  });
}

/** Begins the session again at a fresh root and goes there. */
export function reset() {
  return attempt(async () => {
    const session = await post(`/sessions/${(await current()).id}/reset`);
    await go(session.position_id);
    state.notify("The session begins again; its messages stay");
  });
}
