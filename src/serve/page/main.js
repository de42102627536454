// Start of the page: login by the link's code, the node of the address, then live changes.

import { html, render } from "./elements.js";
import { effect } from "./signals.js";
import { get, send, ApiError } from "./api.js";
import * as state from "./state.js";
import { go, nodeOf } from "./walk.js";
import { adopt } from "./streams.js";
import { listen } from "./keys.js";
import { follow } from "./live.js";
import { listenForFiles } from "./import.js";
import { Shell } from "./frame.js";

/** Exchanges the code of the address for a cookie, and removes it from the address. */
async function logIn() {
  const code = location.hash.match(/[?&]code=([0-9a-f]+)/)?.[1];
  if (!code) return;
  history.replaceState(null, "", location.hash.replace(/[?&]code=.*/, ""));
  // A link that was used before is no failure if the browser is logged in.
  await send("POST", "/login", { code }).catch(() => {});
}

/** Returns the node to show first: that of the address, else the root of the tree changed last. */
async function firstNode() {
  const named = location.hash.match(/^#\/([0-9A-Za-z]+)/)?.[1];
  const found = named && (await nodeOf(named).catch(state.fail));
  if (found) return found;
  const { data } = await get("/trees?limit=1");
  return data[0]?.root_id ?? null;
}

async function start() {
  try {
    await logIn();
    const [me] = await Promise.all([get("/me"), firstNode().then((node) => node && go(node))]);
    // The stream of changes begins when `me` is known, and continues from the journal's number.
    state.journal.value ||= me.journal;
    state.me.value = me;
    await adopt();
  } catch (error) {
    if (error instanceof ApiError && error.code === "offline") {
      state.online.value = false;
      setTimeout(start, 1_000);
      return;
    }
    state.fail(error);
  }
}

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
