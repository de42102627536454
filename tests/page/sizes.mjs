// The page in windows of several sizes: what is current stays in view, dialogs fit, nothing is wider than the window.

import { Bench, checks, until, equal, truth, at as waitAt } from "./harness.mjs";

const bench = new Bench();
const check = checks(bench, "sizes.mjs", () => page);
let page;

/** Waits until an element lies within the height of another one. */
const within = (inner, outer, what) => until(what, () => page.evaluate(([inner, outer]) => {
  const [a, b] = [document.querySelector(inner), document.querySelector(outer)].map((element) => element?.getBoundingClientRect());
  return a && b && b.height > 0 && a.bottom > b.top && a.top < b.bottom && a.top >= b.top - a.height && a.bottom <= b.bottom + a.height;
}, [inner, outer]), 5_000);
const size = (width, height = 800) => page.setViewportSize({ width, height });
const tab = (name) => page.locator(".tab", { hasText: name }).click();
const wide = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

/** Opens a node by its address. */
const open = async (id) => {
  await page.goto(`${bench.started.address}/#/${bench.run("view", id)[0].id}`);
  await waitAt(id, page);
};

try {
  ({ page } = await bench.openSample());
  // A long branch beside the sample's, so that outline and path do not fit on a screen.
  const words = "The keeper wrote the hour, the wind and the light into the book, and turned the page. ".repeat(4);
  for (let step = 0; step < 60; step++) bench.run("say", `${step}. ${words}`);
  for (let step = 0; step < 12; step++) bench.run("say", "--at", "hj17rx", `Another line ${step}.`);
  const [tip] = bench.run("view").slice(-1);
  await open(tip.local_id);

  await check("the current line and entry stay in view when the window changes", async () => {
    for (const width of [1280, 800, 3840, 1280]) {
      await size(width);
      await within(".entry.is-cursor", ".reading-scroll", `the entry at ${width} px`);
      await within(".line.is-cursor", ".outline-scroll", `the line at ${width} px`);
    }
    await size(1280, 400);
    await within(".line.is-cursor", ".outline-scroll", "the line in a low window");
    await size(400);
    await within(".entry.is-cursor", ".reading-scroll", "the entry at 400 px");
    await tab("Tree");
    await within(".line.is-cursor", ".outline-scroll", "the line at 400 px");
    await tab("Map");
    await until("the map", () => page.locator("canvas").first().isVisible());
    await tab("Tree");
    await within(".line.is-cursor", ".outline-scroll", "the line after the map");
    await tab("Read");
    await size(1280);
    await within(".entry.is-cursor", ".reading-scroll", "the entry at 1280 px again");
    await within(".line.is-cursor", ".outline-scroll", "the line at 1280 px again");
  });

  await check("a place that the reader scrolled to stays when the window changes", async () => {
    await page.locator(".reading-scroll").evaluate((element) => (element.scrollTop = 600));
    await page.waitForTimeout(100);
    await size(1000);
    await page.waitForTimeout(200);
    truth(await page.locator(".reading-scroll").evaluate((element) => element.scrollTop < element.scrollHeight / 2), "the text is where it was scrolled to");
    await size(1280);
  });

  await check("every group of keys is in the help", async () => {
    for (const width of [1280, 400]) {
      await size(width);
      await page.locator("body").press("?");
      await page.locator("dialog .help section").first().waitFor();
      const outside = await page.evaluate(() => {
        const help = document.querySelector(".help");
        const box = help.getBoundingClientRect();
        const sections = [...help.querySelectorAll("section")].map((section) => section.getBoundingClientRect());
        return sections.filter((section) => section.left < box.left - 1 || section.right > box.right + 1).length;
      });
      equal(outside, 0, `groups beside the dialog at ${width} px`);
      await page.keyboard.press("Escape");
    }
    await size(1280);
  });

  await check("nothing is wider than the window, and axe finds nothing serious", async () => {
    for (const [width, height] of [[3840, 2160], [1280, 800], [400, 800]]) {
      await size(width, height);
      equal(await wide(), 0, `sideways at ${width} px`);
      equal(await bench.findings(page), [], `axe at ${width} px`);
    }
    // Counts of two digits on the cursor's line.
    await size(1280);
    await open("hj17rx");
    truth(await page.locator(".line.is-cursor .count").count(), "a count on the cursor's line");
    equal(await bench.findings(page), [], "axe with a count on the cursor's line");
  });

  await check("axe has no serious finding in light, dark and narrow", async () => {
    await open("9pakc5");
    for (const [colorScheme, width] of [["light", 1280], ["dark", 1280], ["light", 400], ["dark", 400]]) {
      await page.emulateMedia({ colorScheme });
      await size(width);
      equal(await bench.findings(page), [], `axe: ${colorScheme} ${width}`);
    }
    await page.emulateMedia({ colorScheme: "light" });
  });

  await check("400 px are enough", async () => {
    await size(400);
    // A notice that is longer than the screen is wide takes several lines.
    await page.locator(".reading-scroll").press("x");
    await page.locator(".notice").waitFor();
    equal(await page.evaluate(() => [...document.querySelectorAll(".shell > *, .notice")].map((element) => Math.ceil(element.getBoundingClientRect().right)).filter((right) => right > 400)), [], "no element beyond the right edge");
    equal(await wide(), 0, "no scrolling sideways");
    await page.keyboard.press("x");
    await tab("Tree");
    await until("the tree", () => page.locator(".outline").isVisible());
    await page.locator(".line", { hasText: "The log book. Give" }).click();
    await tab("Read");
    await until("the text", () => page.locator(".entry.is-cursor", { hasText: "The log book. Give" }).isVisible());
    await size(1280);
  });

  await check.harmless();
} finally {
  await bench.close();
}
process.exit(check.failed ? 1 : 0);
