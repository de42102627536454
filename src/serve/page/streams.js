// Generations: continuations that stream side by side under the cursor. The reader chooses one; all are kept.

import { html, classes, Button } from "./elements.js";
import { observer, signal } from "./signals.js";
import { get, send, readEvents, call } from "./api.js";
import * as state from "./state.js";
import { go, refresh } from "./walk.js";

/**
 * @typedef {{text: string, node: string | null, error: string, lines: string[], model: string}} Stream
 * @typedef {{from: string, id: string, streams: Stream[], isRunning: boolean}} Generation
 */

/** Generation that is shown. @type {import("./signals.js").Signal<Generation | null>} */
export const generation = signal(null);

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
    if (generation.peek()?.from === running.from) generation.value = { ...running };
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
  const running = { from, id: "", streams, isRunning: true };
  generation.value = running;
  state.showText();
  reveal();
  try {
    const response = await send("POST", `/api/v1/nodes/${from}/continuations`, { ...body, stream: true });
    running.id = response.headers.get("x-loom-generation") ?? "";
    await readEvents(response, (event, data) => receive(running, event, data));
    const failed = streams.find((stream) => stream.error)?.error;
    if (failed) state.notify(failed, { bad: true });
  } catch (error) {
    for (const stream of streams) if (!stream.node) stream.error ||= String(/** @type {any} */ (error).message);
    state.fail(error);
  }
  running.isRunning = false;
  await finish(running);
}

/** Pause between two looks at a generation that another page began. */
const LOOK_MS = 1_000;

/** Shows a generation at the cursor that runs already, such as one that began before the page was loaded again. */
export async function adopt() {
  const from = state.cursor.value;
  /** @type {() => Promise<{id: string, from: string} | undefined>} */
  const find = async () => (await get("/generations")).data.find((/** @type {any} */ each) => each.from === from);
  const found = from && !generation.value && (await find().catch(() => undefined));
  if (!found) return;
  const stream = { text: "This began before the page was loaded.", node: null, error: "", lines: [], model: "" };
  generation.value = { from, id: found.id, streams: [stream], isRunning: true };
  (async () => {
    while (generation.value?.id === found.id && (await find().catch(() => undefined))) await new Promise((done) => setTimeout(done, LOOK_MS));
    if (generation.value?.id === found.id) generation.value = null;
    await refresh();
  })();
}

/** @param {Generation} running @param {string} event @param {any} data */
function receive(running, event, data) {
  const stream = running.streams[data.index ?? 0];
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
  if (generation.peek()?.from === running.from) generation.value = { ...running };
  if (state.cursor.value !== running.from) {
    if (saved.length) state.notify("Generated", { action: { label: "Show", run: () => go(running.from) } });
    return refresh();
  }
  if (running.streams.length === 1 && saved.length) {
    generation.value = null;
    return go(/** @type {string} */ (saved[0].node));
  }
  if (saved.length) state.announcement.value = `${saved.length} continuations are ready. Press 1 to ${saved.length} to choose one.`;
  if (!saved.length) generation.value = null;
  await refresh();
  reveal();
}

/** Stops the running generation. Partial replies are saved. Returns false if none runs. */
export function stop() {
  const running = generation.value;
  if (!running) return false;
  if (!running.isRunning || !running.id) {
    generation.value = null;
    return !!running;
  }
  call("DELETE", `/generations/${running.id}`).catch(state.fail);
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
