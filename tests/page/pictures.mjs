// Pictures of the page in docs/pictures, from the running program with the sample tree and a scripted model.
//
// node tests/page/pictures.mjs target/debug/loom [FOLDER]
//
// The fonts Inter and Noto Serif look best (Debian: fonts-inter, fonts-noto-core); pngquant makes the files a third as large.

import { spawnSync } from "node:child_process";
import path from "node:path";
import { Bench, at, until, root } from "./harness.mjs";

const folder = process.argv[3] ?? path.join(root, "docs/pictures");
const bench = new Bench();
try {
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
  await page.keyboard.press("g");
  await until("continuations", async () => (await page.locator(".stream.is-done").count()) === 3);
  await page.locator(".streams").scrollIntoViewIfNeeded();
  await page.waitForTimeout(300);
  await shot("page-streams");
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
