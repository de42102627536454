// Pictures of the page in docs/pictures, from the running program with the sample tree and a scripted model.
//
// node tests/page/pictures.mjs target/debug/loom [FOLDER]
//
// The fonts Inter and Noto Serif look best (Debian: fonts-inter, fonts-noto-core); pngquant makes the files a third as large.

import { spawnSync } from "node:child_process";
import path from "node:path";
import { Bench, until, root } from "./harness.mjs";

const folder = process.argv[3] ?? path.join(root, "docs/pictures");
const bench = new Bench();
try {
  bench.run("import", path.join(root, "fixtures/sample.jsonl"));
  bench.run("switch", "9pakc5");
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
  await page.setViewportSize({ width: 400, height: 720 });
  await page.waitForTimeout(300);
  await shot("page-narrow");
} finally {
  await bench.close();
}
