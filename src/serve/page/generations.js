// Generations: continuations that stream side by side under the cursor. The reader chooses one; all are kept.

import { html, classes, Button } from "./elements.js";
import { observer, signal } from "./signals.js";
import { get, send, readEvents, call } from "./api.js";
import * as state from "./state.js";
import { go, refresh } from "./navigation.js";
import { shownProse } from "./buffer-text.js";

/**
 * @typedef {{text: string, node: string | null, error: string, lines: string[], model: string}} Stream
 * @typedef {{id: string, isStopped: boolean, hasEnded: boolean}} Request `id` is empty until the server answers.
 * @typedef {{from: string, request: Request, streams: Stream[], isRunning: boolean}} Generation
 */

/** Generation that is shown. @type {import("./signals.js").Signal<Generation | null>} */
export const generation = signal(null);

/** Generations that this page began and that run, also those that are not shown. @type {Set<Generation>} */
const runs = new Set();

/** True if a generation is the one that is shown, of which the signal has a copy. @param {Generation} running */
const isShown = (running) => generation.peek()?.request === running.request;

/** Keeps the streams below a node that was edited. @param {string} before @param {string} after */
export function followEdit(before, after) {
  for (const running of runs) if (running.from === before) running.from = after;
  const shown = generation.peek();
  if (shown?.from === before) generation.value = { ...shown, from: after };
}

/** Number of continuations. */
export const count = signal(Number(localStorage.getItem("loom-count")) || 3);

/** References of models; none: the agent's own. @type {import("./signals.js").Signal<string[]>} */
export const models = signal(JSON.parse(localStorage.getItem("loom-models") ?? "[]"));

/** @param {number} value */
export function setCount(value) {
  count.value = Math.max(1, Math.min(12, value));
  localStorage.setItem("loom-count", String(count.value));
}

/** @param {string[]} value */
export function setModels(value) {
  models.value = value;
  localStorage.setItem("loom-models", JSON.stringify(value));
}

/** @type {number | null} */
let frame = null;

/** Shows the streams at most once a frame. @param {Generation} running */
function paint(running) {
  frame ??= requestAnimationFrame(() => {
    frame = null;
    if (isShown(running)) generation.value = { ...running };
  });
}

/** Scrolls the streams into view. */
function reveal() {
  requestAnimationFrame(() => document.querySelector(".streams")?.scrollIntoView({ block: "nearest" }));
}

/** Has models continue the node at the cursor. */
export function generate() {
  return start({ n: count.value, models: models.value });
}

/** Has the collaborator answer: a whole turn, in which it may run commands. */
export function answer() {
  return start({ agent: "collaborator", n: 1, models: models.value.slice(0, 1), workspace: "page" });
}

/** @param {{n: number, models: string[], agent?: string, workspace?: string}} body */
async function start(body) {
  const from = state.cursor.value;
  if (!from || !state.canWrite.value) return;
  if (generation.value?.isRunning) return state.notify("a generation is running; Esc stops it");
  // The streams of a model follow each other. A single model is not named.
  const names = body.models.length > 1 ? body.models : [""];
  const streams = names.flatMap((model) => Array.from({ length: body.n }, () => ({ text: "", node: null, error: "", lines: [], model })));
  /** @type {Generation} */
  const running = { from, request: { id: "", isStopped: false, hasEnded: false }, streams, isRunning: true };
  const { request } = running;
  runs.add(running);
  generation.value = running;
  state.showText();
  reveal();
  try {
    const response = await send("POST", `/api/v1/nodes/${from}/continuations`, { ...body, stream: true });
    request.id = response.headers.get("x-loom-generation") ?? "";
    if (request.isStopped) cancel(request);
    await readEvents(response, (event, data) => receive(running, event, data));
    if (!request.hasEnded) await ended(request.id);
    const failed = streams.find((stream) => stream.error)?.error;
    if (failed) state.notify(failed, { bad: true });
  } catch (error) {
    if (request.id && /** @type {any} */ (error).code === "offline") {
      // The connection broke. The server writes on, and saves what it wrote.
      state.online.value = false;
      await ended(request.id);
    } else {
      for (const stream of streams) if (!stream.node) stream.error ||= String(/** @type {any} */ (error).message);
      state.fail(error);
    }
  }
  running.isRunning = false;
  runs.delete(running);
  await finish(running);
}

/** Pause between two looks at a generation that another page began. */
const LOOK_MS = 1_000;

/** Waits until the server has ended a generation, also while it does not answer. @param {string} id */
async function ended(id) {
  for (;;) {
    try {
      const { data } = await get("/generations");
      if (!data.some((/** @type {any} */ each) => each.id === id)) return;
    } catch (error) {
      if (/** @type {any} */ (error).code !== "offline") return;
    }
    await new Promise((done) => setTimeout(done, LOOK_MS));
  }
}

/** Shows a generation at the cursor that runs already, such as one that began before the page was loaded again. */
export async function adopt() {
  const from = state.cursor.value;
  if (!from || generation.value) return;
  const { data } = await get("/generations").catch(() => ({ data: [] }));
  const found = data.find((/** @type {any} */ each) => each.from === from);
  if (!found) return;
  const stream = { text: "This began before the page was loaded.", node: null, error: "", lines: [], model: "" };
  const request = { id: found.id, isStopped: false, hasEnded: false };
  generation.value = { from, request, streams: [stream], isRunning: true };
  ended(found.id).then(() => {
    if (generation.value?.request === request) generation.value = null;
    return refresh();
  });
}

/** @param {Generation} running @param {string} event @param {any} data */
function receive(running, event, data) {
  const stream = running.streams[data.index ?? 0];
  if (event === "end" || event === "error") running.request.hasEnded = true;
  if (event === "error") {
    for (const each of running.streams) if (!each.node) each.error ||= data.message;
  } else if (!stream) {
    return;
  } else if (event === "text") {
    stream.text += data.text;
  } else if (event === "saved") {
    stream.node = data.node.id;
    stream.text = data.node.content || stream.text;
  } else if (event === "ran") {
    stream.lines.push(data.line);
  } else if (event === "round") {
    stream.text += "\n\n";
  } else if (event === "failed") {
    stream.error = data.error;
    stream.node = data.saved?.id ?? null;
  }
  paint(running);
}

/** @param {Generation} running */
async function finish(running) {
  const saved = running.streams.filter((stream) => stream.node);
  if (isShown(running)) generation.value = { ...running };
  else if (running.request.isStopped) return refresh();
  if (state.cursor.value !== running.from) {
    if (saved.length) state.notify("Generated", { action: { label: "Show", run: () => go(running.from) } });
    return refresh();
  }
  if (!isShown(running)) return refresh();
  const only = running.streams.length === 1 ? saved[0]?.node : null;
  // Text that is being typed stays on the screen.
  if (only && shownProse.value?.isChanged) state.notify("Generated", { action: { label: "Show", run: () => (isShown(running) ? void choose(0) : go(only)) } });
  else if (only) {
    generation.value = null;
    return go(only);
  } else if (saved.length) state.announcement.value = `${saved.length} continuations are ready. Press 1 to ${saved.length} to choose one.`;
  if (!saved.length) generation.value = null;
  await refresh();
  if (!shownProse.value?.isChanged) reveal();
}

/** @param {Request} request */
const cancel = (request) => call("DELETE", `/generations/${request.id}`).catch(state.fail);

/** Stops the running generation. Partial replies are saved. Returns false if none runs. */
export function stop() {
  const running = generation.value;
  if (!running) return false;
  const { request, isRunning } = running;
  if (isRunning && request.id) cancel(request);
  else {
    // Without an answer it has no id yet; it is cancelled when the id arrives.
    request.isStopped = true;
    generation.value = null;
    if (isRunning) state.announcement.value = "Stopped";
  }
  return true;
}

/** Goes to a finished continuation. Returns false if there is none. @param {number} index */
export function choose(index) {
  const node = generation.value?.streams[index]?.node;
  if (!node || generation.value?.from !== state.cursor.value) return false;
  generation.value = null;
  go(node);
  return true;
}

/** Streams under the cursor. */
export const Streams = observer(() => {
  const shown = generation.value;
  if (!shown || shown.from !== state.cursor.value) return null;
  return html`<section class="streams" aria-label="Continuations that are being written" aria-busy=${shown.isRunning}>
    <header><h2>${shown.isRunning ? "Writing…" : "Choose one. All are kept."}</h2>
      <${Button} icon=${shown.isRunning ? "stop" : "close"} label=${shown.isRunning ? "Stop" : "Close"} keys="Esc" onClick=${stop} /></header>
    <div class="stream-grid">
      ${shown.streams.map((stream, index) => html`<button type="button" key=${index} disabled=${!stream.node}
        class=${classes("stream", stream.node && "is-done", stream.error && "is-failed")} onClick=${() => choose(index)}>
        <span class="stream-number">${index + 1}${stream.model && ` · ${stream.model}`}</span>
        ${stream.lines.map((line) => html`<code class="stream-command">${line}</code>`)}
        <span class="stream-text" dir="auto">${stream.text}${shown.isRunning && !stream.node && !stream.error && html`<span class="caret"></span>`}</span>
        ${stream.error && html`<span class="stream-error">${stream.error}</span>`}
      </button>`)}
    </div>
  </section>`;
});
