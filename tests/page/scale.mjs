// The page on a large tree: elements, bytes and times. node tests/page/scale.mjs LOOM [NODES]

import { writeFileSync } from "node:fs";
import { Bench, until } from "./harness.mjs";

const nodes = Number(process.argv[3] ?? 100_000);
const bench = new Bench();
/** Writes a conversation in the format of ChatGPT's export: chains of 20 messages that branch off each other. */
function write(file) {
  const mapping = {};
  for (let at = 0; at < nodes; at++) {
    const id = `node-${at}`;
    const parent = at === 0 ? null : at % 20 ? `node-${at - 1}` : `node-${Math.floor(at / 3)}`;
    const message = { id, author: { role: at % 2 ? "assistant" : "user" }, create_time: 1.7e9 + at, content: { content_type: "text", parts: [`Message ${at} of a large tree, which says nothing that matters.`] } };
    mapping[id] = { id, parent, children: [], message };
    if (parent) mapping[parent].children.push(id);
  }
  const conversation = { title: "A large tree", create_time: 1.7e9, update_time: 1.7e9, mapping, current_node: `node-${nodes - 1}`, conversation_id: "large" };
  writeFileSync(file, JSON.stringify([conversation]));
}

try {
  const file = `${bench.home}/conversations.json`;
  write(file);
  const started = performance.now();
  bench.run("import", file);
  console.log(`import: ${Math.round((performance.now() - started) / 1000)} s`);
  const { link } = await bench.serve("open", "--no-browser");
  await bench.browse();
  // The first page starts the browser's processes.
  await (await bench.browser.newPage()).close();
  const begin = performance.now();
  const page = await bench.tab(link);
  await until("text", () => page.locator(".entry.is-cursor").count());
  const sizes = await page.evaluate(() => ({
    screen: Math.round(performance.now()),
    bytes: performance.getEntriesByType("resource").concat(performance.getEntriesByType("navigation")).reduce((sum, entry) => sum + entry.transferSize, 0),
    elements: document.querySelectorAll("*").length,
  }));
  console.log(`first screen: ${Math.round(performance.now() - begin)} ms with the tab, ${sizes.screen} ms in the page, ${sizes.bytes} bytes, ${sizes.elements} elements`);
  await page.locator(".outline-scroll").focus();
  // The import ends at the last line of the outline.
  await page.keyboard.press("0");
  await until("the root", () => page.locator(".status", { hasText: "depth 0" }).count());
  const times = [];
  let most = 0;
  for (let at = 0; at < 200; at++) {
    const before = await page.locator(".entry.is-cursor .id").textContent();
    const start = performance.now();
    await page.keyboard.press(at % 7 === 6 ? "j" : "J");
    await until("a step", async () => (await page.locator(".entry.is-cursor .id").textContent()) !== before || performance.now() - start > 400);
    times.push(performance.now() - start);
    most = Math.max(most, await page.evaluate(() => document.querySelectorAll("*").length));
  }
  times.sort((one, other) => one - other);
  const heap = await page.evaluate(() => Math.round(performance.memory.usedJSHeapSize / 1e6));
  console.log(`200 steps: median ${Math.round(times[100])} ms, 95 % ${Math.round(times[190])} ms, at most ${most} elements, heap ${heap} MB, errors ${bench.errors.length}`);
} finally {
  await bench.close();
}
