// Start of the page: login by the link's code, the node of the address, then live changes.

import { html, render } from "./elements.js";
import { effect } from "./signals.js";
import { get, send, ApiError } from "./api.js";
import * as state from "./state.js";
import { go, nodeOf } from "./navigation.js";
import { adopt } from "./generations.js";
import { listen } from "./keys.js";
import { follow } from "./live.js";
import { listenForFiles } from "./import.js";
import { offerDrafts } from "./drafts.js";
import { Shell } from "./frame.js";

/** Exchanges the code of the address for a cookie, and removes it from the address. */
async function logIn() {
  const code = location.hash.match(/[?&]code=([0-9a-f]+)/)?.[1];
  if (!code) return;
  history.replaceState(null, "", location.hash.replace(/[?&]code=.*/, ""));
  // A link that was used before is no failure if the browser is logged in.
  await send("POST", "/login", { code }).catch(() => {});
}

/** Shows the node of the address, else the root of the tree changed last. Returns whether a window is still missing. */
async function showFirst() {
  const named = location.hash.match(/^#\/([0-9A-Za-z]+)/)?.[1];
  const found = named && (await nodeOf(named).catch(state.fail));
  if (found) await go(found);
  if (state.cursor.value) return false;
  if (found && !state.online.value) return true;
  const { data } = await get("/trees?limit=1");
  const root = data[0]?.root_id;
  if (root) await go(root);
  return Boolean(root) && !state.cursor.value && !state.online.value;
}

/** Starts again later. */
function retry() {
  state.online.value = false;
  setTimeout(start, 1_000);
}

async function start() {
  try {
    await logIn();
    const [me, isMissing] = await Promise.all([get("/me"), showFirst()]);
    if (isMissing) return retry();
    // The stream of changes begins when `me` is known, and continues from the journal's number.
    state.journal.value ||= me.journal;
    state.me.value = me;
    offerDrafts();
    await adopt();
  } catch (error) {
    if (error instanceof ApiError && error.code === "offline") return retry();
    state.fail(error);
  }
}

// A new link of `loom open` logs in. Typed text is kept over the reload.
window.addEventListener("hashchange", () => {
  if (/[?&]code=/.test(location.hash)) logIn().then(() => location.reload());
});

effect(() => {
  const theme = state.theme.value;
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
});

// The first request is on its way while the empty page is drawn.
start();
render(html`<${Shell} />`, /** @type {Element} */ (document.getElementById("app")));
listen();
listenForFiles();
follow();
