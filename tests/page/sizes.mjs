// The page in windows of several sizes: what is current stays in view, dialogs fit, nothing is wider than the window. The last
// checks are of a long tree.

import { writeFileSync } from "node:fs";
import path from "node:path";
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

/** A tab, and a tree in which message 400 of 700 follows message 99 and each other one the message before it. */
const long = async () => {
  if (!long.tree) {
    const parent = (at) => (at ? `n${at === 400 ? 99 : at - 1}` : null);
    const message = (at) => ({ id: `n${at}`, author: { role: at % 2 ? "assistant" : "user" }, create_time: 1.7e9 + at, content: { content_type: "text", parts: [`Message ${at}.`] } });
    const mapping = Object.fromEntries(Array.from({ length: 700 }, (_, at) => [`n${at}`, { id: `n${at}`, parent: parent(at), children: [], message: message(at) }]));
    const file = path.join(bench.home, "long.json");
    writeFileSync(file, JSON.stringify([{ title: "long", create_time: 1.7e9, update_time: 1.7e9, current_node: "n699", conversation_id: "long", mapping }]));
    [long.tree] = bench.run("import", file)[0].trees;
  }
  const address = (node) => `${bench.started.address}/#/${node.id}`;
  return { tab: page, address, message: (at) => bench.run("search", "--tree", long.tree, `"Message ${at}"`)[0] };
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

  await check("every button can be reached in a low window", async () => {
    const reach = (of, what) => of.evaluate((element) => {
      element.scrollIntoView({ block: "nearest" });
      const { top, bottom } = element.getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight + 1;
    }).then((isIn) => truth(isIn, what));
    await page.locator(".composer textarea").fill("A line.\n".repeat(12));
    for (const [width, height] of [[320, 256], [667, 320], [740, 200]]) {
      await size(width, height);
      for (const name of ["Add", "Answer"]) await reach(page.locator(".composer").getByRole("button", { name, exact: true }), `${name} at ${width}×${height}`);
      await reach(page.locator(".composer textarea"), `the input line at ${width}×${height}`);
      await page.locator(".entry.is-cursor").getByRole("button", { name: "More" }).click();
      for (const item of [page.getByRole("menuitem").first(), page.getByRole("menuitem").last()]) await reach(item, `the menu at ${width}×${height}`);
      await page.keyboard.press("Escape");
    }
    await page.locator(".composer textarea").fill("");
    await size(1280);
  });

  await check("an excluded message can be read", async () => {
    await page.locator(".outline-scroll").focus();
    await page.keyboard.press("X");
    await page.locator(".entry.is-excluded").waitFor();
    for (const colorScheme of ["dark", "light"]) {
      await page.emulateMedia({ colorScheme });
      equal(await bench.findings(page), [], `axe: ${colorScheme}`);
    }
  });

  await check("a refresh reads again what is loaded, and keeps the place in the outline", async () => {
    const { message, tab, address } = await long();
    await tab.goto(address(message(699)));
    await waitAt(message(699).local_id, tab);
    await tab.locator(".reading-scroll").evaluate((pane) => (pane.scrollTop = 0));
    const early = tab.locator(`.entry[data-node="${message(680).id}"]`);
    await early.waitFor();
    bench.run("exclude", "--tree", long.tree, message(680).local_id);
    await early.locator(".mark", { hasText: "excluded" }).waitFor();
    // Far above the cursor, whose line is not loaded any more.
    const first = () => tab.evaluate(() => {
      const pane = document.querySelector(".outline-scroll").getBoundingClientRect();
      const [line] = [...document.querySelectorAll(".line")].filter((each) => each.getBoundingClientRect().top >= pane.top).sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top);
      return [Number(line?.textContent.match(/Message (\d+)/)?.[1]), line?.classList.contains("on-path")];
    });
    await until("the beginning", async () => {
      await tab.locator(".outline-scroll").evaluate((pane) => (pane.scrollTop = Math.max(60, pane.scrollTop - 4_000)));
      return (await first())[0] < 90;
    });
    // Lines are drawn in the frame after the scroll, and more of them may be on their way.
    await tab.waitForTimeout(400);
    const before = await first();
    equal(before[1], true, "the line is on the path");
    bench.run("exclude", "--tree", long.tree, message(before[0] + 2).local_id);
    await tab.locator(".line.is-excluded", { hasText: `Message ${before[0] + 2}.` }).waitFor();
    equal(await first(), before, "the first line, and whether it is on the path");
  });

  await check("a comparison finds where long branches parted", async () => {
    const { message, tab, address } = await long();
    await tab.goto(address(message(399)));
    await waitAt(message(399).local_id, tab);
    await tab.locator(".outline-scroll").focus();
    await tab.keyboard.press("x");
    await tab.goto(address(message(699)));
    await waitAt(message(699).local_id, tab);
    await tab.locator(".outline-scroll").focus();
    await tab.keyboard.press("d");
    await tab.locator(".compare-common q", { hasText: "Message 99." }).waitFor();
    await tab.keyboard.press("Escape");
  });

  await check.harmless();
} finally {
  await bench.close();
}
process.exit(check.failed ? 1 : 0);
