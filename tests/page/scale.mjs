// The page on a large tree: elements, bytes, times, memory and frames. node tests/page/scale.mjs LOOM [NODES] [--check]
//
// With `--check`, a figure beyond its limit fails. The limits are for a release build and 1,000,000 nodes; for a debug build,
// `LOOM_SCALE_SLACK` multiplies the limits of times.

import { existsSync, copyFileSync, writeFileSync } from "node:fs";
import { Bench, until } from "./harness.mjs";

const nodes = Number(process.argv[3] ?? 100_000);
const isChecked = process.argv.includes("--check");
const bench = new Bench();
const STEPS = 1_000;
const slack = Number(process.env.LOOM_SCALE_SLACK ?? 1);
/** Figures with their limits. @type {[string, number, number, string][]} */
const figures = [];

/** @param {string} name @param {number} value @param {number} most @param {string} unit */
function figure(name, value, most, unit) {
  if (unit === "ms") most *= slack;
  figures.push([name, value, most, unit]);
  console.log(`${value > most ? "FAIL" : "ok  "}  ${name}: ${Math.round(value * 10) / 10} ${unit}, at most ${most}`);
}

/** @param {number[]} values @param {number} part */
const quantile = (values, part) => [...values].sort((one, other) => one - other)[Math.min(values.length - 1, Math.floor(values.length * part))];

/** Writes a conversation in the format of ChatGPT's export: chains of 20 messages that branch off each other. */
function write(file) {
  const parts = [];
  for (let at = 0; at < nodes; at++) {
    const id = `node-${at}`;
    const parent = at === 0 ? null : at % 20 ? `node-${at - 1}` : `node-${Math.floor(at / 3)}`;
    const message = { id, author: { role: at % 2 ? "assistant" : "user" }, create_time: 1.7e9 + at, content: { content_type: "text", parts: [`Message ${at} of a large tree, which says nothing that matters.`] } };
    parts.push(`${JSON.stringify(id)}:${JSON.stringify({ id, parent, children: [], message })}`);
  }
  writeFileSync(file, `[{"title":"A large tree","create_time":1.7e9,"update_time":1.7e9,"current_node":"node-${nodes - 1}","conversation_id":"large","mapping":{${parts.join()}}}]`);
}

/** Imports the tree, or takes the file that `LOOM_SCALE_DB` names; an import at 1,000,000 nodes takes minutes. */
function fill() {
  const saved = process.env.LOOM_SCALE_DB;
  if (saved && existsSync(saved)) return copyFileSync(saved, bench.db);
  const file = `${bench.home}/conversations.json`;
  write(file);
  const started = performance.now();
  bench.run("import", file);
  console.log(`import: ${Math.round((performance.now() - started) / 1000)} s`);
  if (saved) bench.run("backup", saved);
}

/** Drags the map to and fro and returns the times of frames. @param {import("playwright-core").Page} page */
const framesOfPanning = (page) => page.evaluate(async () => {
  const canvas = document.querySelector(".map-canvas");
  const box = canvas.getBoundingClientRect();
  canvas.setPointerCapture = () => {};
  const move = (type, x, y) => canvas.dispatchEvent(new PointerEvent(type, { pointerId: 1, clientX: box.left + x, clientY: box.top + y, bubbles: true, buttons: 1 }));
  move("pointerdown", 350, 300);
  const times = [];
  let last = performance.now();
  for (let at = 1; at <= 180; at++) {
    move("pointermove", 350 + 240 * Math.sin(at / 25), 300 + 160 * Math.sin(at / 40));
    await new Promise(requestAnimationFrame);
    times.push(performance.now() - last);
    last = performance.now();
  }
  move("pointercancel", 350, 300);
  return times;
});

try {
  fill();
  const { link } = await bench.serve("open", "--no-browser");
  await bench.browse();
  // The first page starts the browser's processes.
  await (await bench.browser.newPage()).close();
  const page = await bench.tab("about:blank", { scripted: false });
  await page.addInitScript(() => {
    const observer = new MutationObserver(() => {
      if (!document.querySelector(".entry.is-cursor")) return;
      observer.disconnect();
      requestAnimationFrame(() => (globalThis.firstScreen = performance.now()));
    });
    observer.observe(document, { childList: true, subtree: true });
  });
  await page.goto(link);
  await until("text", () => page.evaluate(() => globalThis.firstScreen));
  const first = await page.evaluate(() => ({
    time: globalThis.firstScreen,
    bytes: performance.getEntriesByType("resource").concat(performance.getEntriesByType("navigation")).reduce((sum, entry) => sum + entry.transferSize, 0),
    elements: document.querySelectorAll("*").length,
  }));
  figure("first useful screen", first.time, 300, "ms");
  figure("fetched until then", first.bytes / 1000, 200, "kB");
  figure("elements", first.elements, 2_000, "");

  await page.locator(".outline-scroll").focus();
  // The import ends at the last line of the outline.
  await page.keyboard.press("0");
  await until("the root", () => page.locator(".status", { hasText: "depth 0" }).count());
  // Steps in the page: from the key to the frame that shows the node.
  const session = await page.context().newCDPSession(page);
  const heap = async () => {
    await session.send("HeapProfiler.collectGarbage");
    return (await session.send("Runtime.getHeapUsage")).usedSize / 1e6;
  };
  const walk = (/** @type {number} */ steps) => page.evaluate(async (count) => {
    const shown = () => document.querySelector(".status span")?.textContent;
    const times = [];
    let most = 0;
    for (let at = 0; at < count; at++) {
      const before = shown();
      const start = performance.now();
      document.querySelector(".outline-scroll").dispatchEvent(new KeyboardEvent("keydown", { key: "J", bubbles: true, cancelable: true }));
      while (shown() === before && performance.now() - start < 400) await new Promise(requestAnimationFrame);
      times.push(performance.now() - start);
      if (at % 50 === 0) most = Math.max(most, document.querySelectorAll("*").length);
    }
    return { times, most };
  }, steps);
  await walk(50);
  const before = await heap();
  const { times, most } = await walk(STEPS);
  const after = await heap();
  figure("step, median", quantile(times, 0.5), 50, "ms");
  figure("step, 95 %", quantile(times, 0.95), 100, "ms");
  figure("elements while walking", most, 2_000, "");
  figure(`memory after ${STEPS} steps, of ${Math.round(before)} MB before`, after - before, 2, "MB more");

  const opened = performance.now();
  await page.keyboard.press("w");
  await until("the map", () => page.locator(".map-key").count(), 30_000);
  figure("map of the whole tree, first time", performance.now() - opened, 1_500, "ms");
  for (const [name, presses] of /** @type {const} */ ([["whole", 0], ["near", 8], ["nearest", 20]])) {
    for (let at = 0; at < presses; at++) await page.keyboard.press("+");
    await page.waitForTimeout(500);
    const frames = await framesOfPanning(page);
    figure(`frame while panning, ${name}, median`, quantile(frames, 0.5), 17.5, "ms");
    figure(`frame while panning, ${name}, 95 %`, quantile(frames, 0.95), 34, "ms");
  }
  for (const error of [...bench.errors, ...bench.violations, ...bench.foreign]) console.log(error);
  figure("errors", bench.errors.length + bench.violations.length, 0, "");
  figure("requests to other servers", bench.foreign.length, 0, "");
} finally {
  await bench.close();
}
if (isChecked && figures.some(([, value, most]) => value > most)) process.exitCode = 1;
