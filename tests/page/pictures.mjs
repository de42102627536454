// Pictures of the page in docs/pictures, from the running program with the sample tree, a model whose replies are here, and a
// scripted one.
//
// node tests/page/pictures.mjs target/debug/loom [FOLDER]
//
// The fonts Inter and Noto Serif look best (Debian: fonts-inter, fonts-noto-core); pngquant makes the files a third as large.

import { spawnSync } from "node:child_process";
import { appendFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Bench, at, until, root } from "./harness.mjs";

const folder = process.argv[3] ?? path.join(root, "docs/pictures");
const bench = new Bench();
const replies = [
  "Ingrid turned the page. The ink of the last entry had not dried, and under it, in the same hand as thirty years before, stood one word more than she remembered.",
  "There was no one on the stairs. The wind had dropped, and in the stillness she heard the mechanism above her run down, tooth by tooth, until the light stood still.",
  "She took the pen and answered it. Three long lines, and a short one; then she carried the book up to the lamp, opened it at the window, and waited for the sea to read.",
];
try {
  await bench.model(...replies);
  const base = `http://127.0.0.1:${bench.modelServer.address().port}/v1`;
  appendFileSync(bench.environment.LOOM_CONFIG, `models:\n${["small", "medium", "large"].map((name) => `  ${name}:\n    base_url: ${base}\n    model: ${name}\n`).join("")}`);
  bench.run("import", path.join(root, "fixtures/sample.jsonl"));
  bench.run("switch", "9pakc5");
  const sample = bench.run("view")[0].tree_id;
  const { link } = await bench.serve("open", "--no-browser");
  await bench.browse();
  const page = await bench.tab(link, { viewport: { width: 1200, height: 720 } });
  const shot = async (name) => {
    const file = path.join(folder, `${name}.png`);
    await page.screenshot({ path: file });
    spawnSync("pngquant", ["--force", "--output", file, "64", file]);
  };
  await until("the text", () => page.locator(".entry.is-cursor").count());
  await page.waitForTimeout(300);
  await shot("page-light");
  await page.emulateMedia({ colorScheme: "dark" });
  await page.locator(".outline-scroll").focus();
  await page.keyboard.press("w");
  await page.waitForTimeout(500);
  await shot("page-map");
  for (const key of ["w", "w", "w", "l", "l"]) await page.keyboard.press(key);
  await until("the end", () => page.locator(".entry.is-cursor", { hasText: "thirty years" }).count());
  // Three models write at the same time; the picture is taken while they do.
  await page.evaluate(() => localStorage.setItem("loom-models", JSON.stringify(["small", "medium", "large"])));
  const end = await page.evaluate(() => location.hash);
  await page.reload();
  await until("the end", () => page.locator(".entry.is-cursor", { hasText: "thirty years" }).count());
  await page.locator(".outline-scroll").focus();
  let goOn = () => {};
  bench.pause = new Promise((resolve) => (goOn = resolve));
  await page.keyboard.press("1");
  await page.keyboard.press("g");
  await until("half of each", async () => (await page.locator(".stream").allTextContents()).filter((text) => /\w{3} /.test(text)).length === 3);
  await page.locator(".streams").scrollIntoViewIfNeeded();
  await page.waitForTimeout(300);
  await shot("page-streams");
  bench.pause = undefined;
  goOn();
  await until("continuations", async () => (await page.locator(".stream.is-done").count()) === 3);
  await page.evaluate(() => localStorage.setItem("loom-models", JSON.stringify(["scripted:words"])));
  await page.goto(`${bench.started.address}/${end}`);
  await page.reload();
  await until("the end", () => page.locator(".entry.is-cursor", { hasText: "thirty years" }).count());
  await page.emulateMedia({ colorScheme: "light" });
  await page.keyboard.press("Escape");
  // The same passage in two wordings, compared.
  const [edited] = bench.run("edit", "jb8jw9", "Every night at ten Ingrid wrote down the wind, the visibility and the ships. On the fourth of March she wrote down the wind, left the rest of the line empty, and sat for a long time with the pen in her hand.")[0].nodes;
  await page.goto(`${bench.started.address}/#/${bench.run("view", "jb8jw9")[0].id}`);
  await at("jb8jw9", page);
  await page.locator(".outline-scroll").focus();
  await page.keyboard.press("x");
  await page.goto(`${bench.started.address}/#/${edited.id}`);
  await at(edited.local_id, page);
  await page.locator(".outline-scroll").focus();
  await page.keyboard.press("d");
  await page.locator(".compare ins").first().waitFor();
  await shot("page-compare");
  await page.keyboard.press("Escape");
  // A buffer: prose of a person and of models, with the caret after it.
  const [{ root: prose }] = bench.run("new", "--buffer", "The lamp was lit at dusk, as on every evening, and Ingrid climbed the last stairs with a can of oil in each hand. She counted the steps, although she knew their number.\n\n");
  await page.goto(`${bench.started.address}/#/${prose.id}`);
  await page.reload();
  await at(prose.local_id, page);
  await page.locator(".outline-scroll").focus();
  await page.keyboard.press("3");
  await page.keyboard.press("g");
  await until("continuations", async () => (await page.locator(".stream.is-done").count()) === 3);
  await page.keyboard.press("3");
  await page.locator(".prose-mirror .is-model").waitFor();
  await page.keyboard.press("e");
  await page.keyboard.type(" There she put the cans down and listened.");
  await page.keyboard.press("Control+Enter");
  await until("continuations", async () => (await page.locator(".stream.is-done").count()) === 3);
  await page.locator(".prose-text").focus();
  await page.waitForTimeout(300);
  await shot("page-prose");
  await page.goto(`${bench.started.address}/#/${bench.run("view", "--tree", sample, "9pakc5")[0].id}`);
  await page.reload();
  await at("9pakc5", page);
  await page.setViewportSize({ width: 400, height: 720 });
  await page.waitForTimeout(300);
  await shot("page-narrow");
} finally {
  await bench.close();
}

/** Writes a conversation of 40,000 messages whose branches are of many sizes, in the format of ChatGPT's export. */
function writeLarge(file) {
  let seed = 7;
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  const mapping = {};
  for (let at = 0; at < 40_000; at++) {
    // A message continues the one before, or branches off an earlier one: mostly a recent one, sometimes any.
    const isBranch = random() < 0.06;
    const back = random() < 0.5 ? Math.floor(random() * Math.min(at, 400)) : Math.floor(random() * at);
    const parent = at === 0 ? null : `node-${isBranch ? at - 1 - back : at - 1}`;
    const role = parent && mapping[parent].message.author.role === "user" ? "assistant" : "user";
    mapping[`node-${at}`] = { id: `node-${at}`, parent, children: [], message: { id: `node-${at}`, author: { role }, create_time: 1.7e9 + at, content: { content_type: "text", parts: [`Chapter ${Math.floor(at / 40) + 1}, part ${(at % 40) + 1}: the light goes round once more.`] } } };
    if (parent) mapping[parent].children.push(`node-${at}`);
  }
  writeFileSync(file, JSON.stringify([{ title: "A year at the lighthouse", create_time: 1.7e9, update_time: 1.7e9, mapping, current_node: "node-23456", conversation_id: "large" }]));
}

const large = new Bench();
try {
  const file = path.join(large.home, "large.json");
  writeLarge(file);
  large.run("import", file);
  const { link } = await large.serve("open", "--no-browser");
  await large.browse();
  const page = await large.tab(link, { viewport: { width: 1200, height: 720 } });
  await until("the text", () => page.locator(".entry.is-cursor").count());
  await page.locator(".outline-scroll").focus();
  await page.keyboard.press("w");
  await until("the map", () => page.locator(".map-key").count());
  for (const scheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.waitForTimeout(600);
    const picture = path.join(folder, `map-${scheme}.png`);
    await page.screenshot({ path: picture });
    spawnSync("pngquant", ["--force", "--output", picture, "64", picture]);
  }
} finally {
  await large.close();
}
