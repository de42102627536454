// The page under fingers, in two tabs, without motion, with scripts that run from right to left, and as an exported file.

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { Bench, checks, until, equal, truth, loom, here, at } from "./harness.mjs";

const bench = new Bench();
const check = checks(bench, "devices.mjs", () => page);
const view = (id) => bench.run("view", "--tree", sample, id)[0];
const address = (node) => `${bench.started.address}/#/${node.id}`;
/** A tree as an HTML file. */
const exported = (tree) => spawnSync(loom, ["--db", bench.db, "export", tree, "--format", "html"], { env: bench.environment, encoding: "utf8" }).stdout;
/** Opens a further tab with the login of the first. */
const sameBrowser = async (options, node) => {
  const storageState = await page.context().storageState();
  const tab = await bench.tab(address(node), { storageState, ...options });
  await at(node.local_id, tab);
  return tab;
};

let page;
let sample;
try {
  ({ page, sample } = await bench.openSample());

  await check("fingers tap, hold for the menu, and swipe between branches", async () => {
    const phone = await sameBrowser({ hasTouch: true, isMobile: true, viewport: { width: 400, height: 800 } }, view("hj17rx"));
    const touch = await phone.context().newCDPSession(phone);
    const send = (type, ...touchPoints) => touch.send("Input.dispatchTouchEvent", { type, touchPoints: touchPoints.map(([x, y]) => ({ x, y })) });
    const middle = async (of) => {
      const box = await of.boundingBox();
      return [box.x + box.width / 2, box.y + box.height / 2];
    };
    // A swipe to the left goes to the next branch, one to the right back.
    // All events are sent at once: on a busy machine, a pause after the first would be a long press.
    const swipe = (from, to) => Promise.all([
      send("touchStart", [from, 300]),
      ...[1, 2, 3, 4].map((step) => send("touchMove", [from + ((to - from) * step) / 4, 300])),
      send("touchEnd"),
    ]);
    await swipe(320, 90);
    await until("the next branch", async () => (await here(phone)) !== "hj17rx");
    await swipe(90, 320);
    await at("hj17rx", phone);
    // The browser swallows a tap while it still handles the gesture before, so a tap without an effect is repeated.
    const tap = (of, what, effect) => until(what, async () => (await effect()) || (await of.tap(), await new Promise((resolve) => setTimeout(resolve, 100)), effect()));
    await tap(phone.locator(".tab", { hasText: "Tree" }), "the tree", () => phone.locator(".outline").isVisible());
    await tap(phone.locator(".line", { hasText: "The log book. Give" }), "the line", async () => (await here(phone)) === "f5w5k2");
    const line = phone.locator(".line.is-cursor");
    const place = await middle(line);
    await send("touchStart", place);
    await phone.locator(".menu").waitFor();
    await send("touchEnd");
    await until("the menu stays", () => phone.locator(".menu").count());
    await tap(phone.getByRole("menuitem", { name: "Exclude from models" }), "the mark", async () => !(await phone.locator(".menu").count()));
    await until("the mark", () => phone.locator(".line.is-excluded").count());
    equal(view("f5w5k2").state.excluded, true, "excluded");
    await tap(phone.locator(".notice").getByRole("button", { name: "Undo" }), "the undo", async () => !(await phone.locator(".notice", { hasText: "Models do not" }).count()));
    await until("the undo", async () => !(await phone.locator(".line.is-excluded").count()));
    await tap(phone.locator(".tab", { hasText: "Read" }), "the text", () => phone.locator(".reading").isVisible());
    await phone.locator(".composer textarea").tap();
    await phone.keyboard.type("Typed on a phone.");
    await phone.getByRole("button", { name: "Add", exact: true }).tap();
    await until("the node", () => phone.locator(".entry.is-cursor", { hasText: "Typed on a phone." }).count());
    equal(view(await here(phone)).content, "Typed on a phone.", "content");
    equal(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, "no scrolling sideways");
    await phone.context().close();
  });

  await check("two tabs of one browser show each other's changes", async () => {
    await page.goto(address(view("9pakc5")));
    await at("9pakc5", page);
    const second = await page.context().newPage();
    await second.goto(address(view("9pakc5")));
    await at("9pakc5", second);
    for (const [writer, reader, text] of [[page, second, "From the first tab."], [second, page, "From the second tab."]]) {
      await writer.bringToFront();
      await writer.locator(".composer textarea").fill(text);
      await writer.locator(".composer textarea").press("Enter");
      await until("the node", () => writer.locator(".entry.is-cursor", { hasText: text }).count());
      await until("its line in the other tab", () => reader.locator(".line", { hasText: text }).count());
      equal(await here(reader) === (await here(writer)), false, "the other tab's cursor stays");
    }
    // The tabs share no cursor, and text typed in one stays when the other writes.
    await page.bringToFront();
    await page.locator(".composer textarea").fill("Half a sent");
    bench.run("say", "--tree", sample, "--at", "9pakc5", "From a process.");
    for (const tab of [page, second]) await until("the line of a process", () => tab.locator(".line", { hasText: "From a process." }).count());
    equal(await page.locator(".composer textarea").inputValue(), "Half a sent", "typed text");
    await page.locator(".composer textarea").fill("");
    await second.close();
  });

  await check("nothing moves for those who want no motion", async () => {
    const still = await sameBrowser({ reducedMotion: "reduce" }, view("hj17rx"));
    await still.locator(".outline-scroll").focus();
    await still.keyboard.press("g");
    await until("streams", () => still.locator(".stream").count());
    const moving = await still.evaluate(() => document.getAnimations().length);
    equal(moving, 0, "animations");
    await until("their end", async () => (await still.locator(".stream.is-done").count()) === 3);
    await still.keyboard.press("1");
    await until("the choice", async () => (await here(still)) !== "hj17rx");
    await still.context().close();
  });

  await check("text from right to left is set from the right, and the frame stays", async () => {
    const [{ root: first }] = bench.run("new", "היה פעם מגדלור על שפת הים.");
    const tree = bench.run("view", first.id)[0].tree_id;
    const arabic = bench.run("say", "--tree", tree, "--at", first.local_id, "ثم جاء البحر.\n\n- واحد\n- اثنان\n\n| اسم | عدد |\n|---|---|\n| قارب | ٣ |")[0].nodes[0];
    bench.run("say", "--tree", tree, "--at", arabic.local_id, "And in English again.");
    await page.goto(address(arabic));
    await at(arabic.local_id, page);
    const direction = (of) => of.evaluate((element) => getComputedStyle(element).direction);
    for (const of of [".entry.is-cursor .markdown", ".line.is-cursor .line-text", ".title span"]) equal(await direction(page.locator(of)), "rtl", of);
    equal(await direction(page.locator(".branch-text")), "ltr", "an English branch");
    const [text, list] = await Promise.all([".entry.is-cursor .markdown", ".entry.is-cursor .markdown li"].map((of) => page.locator(of).first().boundingBox()));
    truth(list.x + list.width < text.x + text.width - 10, "bullets are on the right");
    await page.locator(".composer textarea").fill("שלום");
    equal(await direction(page.locator(".composer textarea")), "rtl", "the input line");
    await page.locator(".composer textarea").fill("");
    const [{ root: buffer }] = bench.run("new", "--buffer", "המנורה דלקה.");
    await page.goto(address(buffer));
    await at(buffer.local_id, page);
    equal(await direction(page.locator(".prose-text")), "rtl", "prose");
    equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, "no scrolling sideways");
    equal(await bench.findings(page), [], "axe: right to left");
  });

  await check("an exported file shows the tree without a server, and hostile content is text", async () => {
    const written = "**bold** ~~gone~~ `code`\n\n1. one\n   - inner\n1. two\n\n> quoted\n> line\n\n```js\nlet a = 1;\n```\n\n| a | b |\n| --- | --- |\n| c | d |";
    const [{ root: hostile }] = bench.run("new", `<script>document.title = 'bad'</script></script><img src=x onerror=alert(1)>\n\n${written}`);
    const file = path.join(bench.home, "tree.html");
    bench.run("say", "--at", hostile.id, "</script><!-- <svg onload=alert(2)> first branch");
    bench.run("say", "--at", hostile.id, "second branch");
    writeFileSync(file, exported(hostile.tree_id));
    const address = pathToFileURL(file).href;
    const own = await bench.browser.newContext({ viewport: { width: 1280, height: 800 }, offline: true });
    const tab = await own.newPage();
    const failures = [];
    tab.on("request", (request) => request.url() !== address && !request.url().startsWith("data:") && failures.push(request.url()));
    tab.on("console", (message) => message.type() === "error" && failures.push(message.text()));
    tab.on("pageerror", (error) => failures.push(String(error)));
    tab.on("dialog", (dialog) => failures.push(dialog.message()));
    await tab.goto(address);
    await until("the text", () => tab.locator(".entry.is-cursor", { hasText: "<img src=x onerror=alert(1)>" }).count());
    equal(await tab.locator(".entry.is-cursor strong").textContent(), "bold", "Markdown");
    equal(await tab.locator(".line").count(), 3, "lines");
    await tab.keyboard.press("ArrowRight");
    await tab.keyboard.press("ArrowDown");
    await until("the second branch", () => tab.locator(".entry.is-cursor", { hasText: "second branch" }).count());
    await tab.keyboard.press("/");
    await tab.keyboard.type("svg onload");
    await until("the hit", () => tab.locator(".option", { hasText: "first branch" }).count());
    await tab.keyboard.press("Enter");
    await until("the first branch", () => tab.locator(".entry.is-cursor", { hasText: "first branch" }).count());
    await tab.keyboard.press("w");
    await until("the map", async () => (await tab.locator(".map-canvas").getAttribute("aria-label"))?.includes("3 messages in 2 branches"));
    await tab.keyboard.press("h");
    const [download] = await Promise.all([tab.waitForEvent("download"), tab.keyboard.press("W")]);
    const saved = readFileSync(await download.path(), "utf8");
    truth(/^### owner · \w+\n\n<script>/.test(saved) && saved.trimEnd().endsWith(written) && !saved.includes("branch"), `the path in Markdown: ${saved}`);
    equal(await tab.locator(".composer").count(), 0, "input lines");
    truth((await tab.title()) !== "bad", "no script of the content ran");
    equal(failures, [], "requests, errors and dialogs");
    await own.close();
  });

  await check.harmless();
} finally {
  await bench.close();
}
process.exit(check.failed ? 1 : 0);
