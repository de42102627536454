// Live changes: the journal as a stream of events. A lost connection is resumed from the last known number, so nothing
// is missed. A hidden tab closes its stream, because browsers allow few connections to one server.

import { send, readEvents, ApiError } from "./api.js";
import { effect, untracked } from "./signals.js";
import * as state from "./state.js";
import { refresh, go, nodeOf } from "./navigation.js";

/** Pause before the window is read again, so that a burst of changes costs one request. */
const PAUSE_MS = 40;

/** @type {AbortController | null} */
let connection = null;
/** @type {number | undefined} */
let timer;
/** @type {number | undefined} */
let retry;
let delay = 250;

function refreshSoon() {
  timer ??= window.setTimeout(() => {
    timer = undefined;
    refresh();
  }, PAUSE_MS);
}

/** @param {string} event @param {any} data @param {string} id */
function receive(event, data, id) {
  if (id) state.journal.value = Math.max(state.journal.value, Number(id));
  if (event === "bye") return;
  if (event === "resync") return refreshSoon();
  if (event !== "change") return;
  for (const listener of listeners) listener(data);
  if (data.tree_id === state.tree.value?.id) refreshSoon();
}

/** Functions that get every change. @type {Set<(entry: any) => void>} */
export const listeners = new Set();

async function connect() {
  clearTimeout(retry);
  connection?.abort();
  if (document.hidden || !state.me.value || state.loginReason.value !== null) return;
  const own = new AbortController();
  connection = own;
  try {
    const response = await send("GET", `/api/v1/events?after=${state.journal.value}`, undefined, own.signal);
    if (!state.online.value) {
      state.online.value = true;
      state.notify("Connected again");
      refreshSoon();
    }
    delay = 250;
    await readEvents(response, receive);
  } catch (error) {
    // The server does not know the login any more. Other failures are tried again below.
    if (error instanceof ApiError && error.status === 401) return state.fail(error);
  }
  if (own.signal.aborted) return;
  state.online.value = false;
  reconnectSoon();
}

function reconnectSoon() {
  clearTimeout(retry);
  retry = window.setTimeout(connect, delay);
  delay = Math.min(delay * 2, 5_000);
}

/** Starts to follow changes, and addresses that the user types. */
export function follow() {
  document.addEventListener("visibilitychange", connect);
  window.addEventListener("online", connect);
  window.addEventListener("hashchange", () => {
    const id = location.hash.match(/^#\/([0-9A-Za-z]+)/)?.[1];
    if (id && id !== state.cursor.value) nodeOf(id).then(go, state.fail);
  });
  effect(() => {
    if (state.me.value) untracked(connect);
  });
  // A request can fail after the stream was resumed. Only a new connection shows again that the server answers, and it
  // reads the window that the failed request did not.
  effect(() => {
    if (state.online.value) return;
    state.announcement.value = "The server does not answer. Typed text is kept.";
    untracked(reconnectSoon);
  });
}
