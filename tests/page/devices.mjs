// The page under fingers, in two tabs, without motion, with scripts that run from right to left, as an exported file, with
// long lists, and with a server that is slow, hangs or knows the login no more.

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

/** Holds the requests of a tab to a path until the returned function is called, whose `count` is their number. */
const held = async (tab, pattern) => {
  let open;
  const opened = new Promise((resolve) => (open = resolve));
  const release = () => open();
  release.count = 0;
  await tab.route(pattern, async (route) => {
    release.count++;
    await opened;
    await route.continue().catch(() => {});
  });
  return release;
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
    // In a sandbox, such as the preview of a mail program, there is no storage.
    const frame = path.join(bench.home, "frame.html");
    writeFileSync(frame, `<iframe sandbox="allow-scripts" src="tree.html" width="900" height="600"></iframe>`);
    tab.removeAllListeners("request");
    await tab.goto(pathToFileURL(frame).href);
    await tab.frameLocator("iframe").locator(".entry.is-cursor").waitFor();
    equal(failures, [], "requests, errors and dialogs");
    await own.close();
  });

  await check("a list shows all pages of the server", async () => {
    const trees = (await (await page.request.get(`${bench.started.address}/api/v1/trees?limit=1`)).json()).data;
    const named = (title) => ({ ...trees[0], id: title.padEnd(26, "0"), title });
    await page.route(/\/trees\?limit=\d+/, (route) => route.fulfill({ json: route.request().url().includes("after=") ? { data: [named("On the second page")] } : { data: [named("On the first page")], next: "one" } }), { times: 2 });
    await page.locator(".outline-scroll").focus();
    await page.keyboard.press("t");
    await page.locator(".option", { hasText: "On the second page" }).waitFor();
    await page.keyboard.press("Escape");
    await page.unroute(/\/trees\?limit=\d+/);
  });

  await check("a late window does not bring back the tree that was left", async () => {
    await page.goto(address(view("hj17rx")));
    await at("hj17rx", page);
    const release = await held(page, /\/window\?/);
    bench.run("say", "--tree", sample, "--at", "hj17rx", "While a tree begins.");
    await until("a refresh", () => release.count);
    await page.locator(".title").click();
    await page.getByRole("button", { name: "New tree" }).click();
    await page.locator(".welcome").waitFor();
    release();
    await page.locator(".composer textarea").fill("A tree of its own.");
    await page.waitForTimeout(300);
    equal(await page.locator(".welcome").count(), 1, "the new tree waits for its first words");
    await page.locator(".composer textarea").press("Enter");
    await until("the new tree", () => page.locator(".title", { hasText: "A tree of its own" }).count());
    equal(await page.locator(".line").count(), 1, "lines");
  });

  await check("a branch that is shown alone keeps no other tree away", async () => {
    bench.run("new", "Another tree.");
    await page.goto(address(view("hj17rx")));
    await at("hj17rx", page);
    for (const leave of [() => page.locator(".option", { hasText: "Another tree" }).click(), () => page.getByRole("button", { name: "New tree" }).click()]) {
      await page.locator(".outline-scroll").focus();
      await page.keyboard.press("Z");
      await page.locator(".hoist").waitFor();
      await page.locator(".title").click();
      await leave();
      await until("another tree", async () => /Another tree|New tree/.test(await page.locator(".title").textContent()));
      equal(await page.locator(".notice.bad").count(), 0, "failures");
    }
    await page.locator(".composer textarea").fill("A third tree.");
    await page.locator(".composer textarea").press("Enter");
    await until("the third tree", () => page.locator(".title", { hasText: "A third tree" }).count());
  });

  await check("a dialog shows and says what happens, and the same message is said again", async () => {
    await page.goto(address(view("hj17rx")));
    await at("hj17rx", page);
    await page.locator(".outline-scroll").focus();
    await page.route(/\/changes$/, (route) => route.fulfill({ status: 409, json: { error: { code: "conflict", message: "another agent writes there" } } }), { times: 1 });
    await page.keyboard.press("a");
    await page.locator("dialog textarea").fill("A note.");
    await page.keyboard.press("Control+Enter");
    await page.locator("dialog [role=alert]", { hasText: "another agent writes there" }).waitFor();
    equal(await page.locator("dialog [aria-live=polite]").count(), 1, "live regions");
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" });
    await page.evaluate(() => {
      globalThis.said = [];
      const region = document.querySelector("[aria-live=polite]");
      new MutationObserver(() => region.textContent && globalThis.said.push(region.textContent)).observe(region, { childList: true, characterData: true, subtree: true });
    });
    for (const times of [1, 2]) {
      await page.keyboard.press("+");
      await until("the message", () => page.evaluate((times) => globalThis.said.filter((text) => text === "w shows the map").length === times, times));
    }
    await page.keyboard.press("/");
    await page.keyboard.type("qqqqqq");
    await page.locator(".picker [role=status]", { hasText: "Nothing matches." }).waitFor();
    await page.keyboard.press("Escape");
  });

  await check("a search keeps its words in another scope, and keys of a list that was closed do nothing", async () => {
    await page.goto(address(view("hj17rx")));
    await at("hj17rx", page);
    await page.locator(".outline-scroll").focus();
    await page.keyboard.press("/");
    await page.keyboard.type("lamp");
    await page.locator(".option").first().waitFor();
    await page.getByRole("button", { name: "Everything" }).click();
    const input = page.locator("dialog input");
    equal([await input.inputValue(), await input.evaluate((field) => field === document.activeElement)], ["lamp", true], "the words, and the focus in their field");
    await page.keyboard.press("Escape");
    const release = await held(page, /\/trees\?limit=/);
    await page.keyboard.press("t");
    await until("the request", () => release.count);
    await page.keyboard.press("Enter");
    await page.keyboard.type("hhx");
    await page.mouse.click(5, 5);
    await page.locator("dialog").waitFor({ state: "detached" });
    await page.waitForTimeout(200);
    equal([await here(page), await page.locator(".is-marked").count()], ["hj17rx", 0], "the cursor, and marks");
    release();
    await page.unroute(/\/trees\?limit=/);
  });

  await check("a link is copied, also without the clipboard of secure pages", async () => {
    const own = await sameBrowser({ permissions: ["clipboard-read", "clipboard-write"] }, view("hj17rx"));
    const copied = async () => {
      await own.locator(".entry.is-cursor").getByRole("button", { name: "More" }).click();
      await own.getByRole("menuitem", { name: "Copy a link" }).click();
      await own.locator(".notice", { hasText: "Copied" }).waitFor();
      return own.evaluate(() => globalThis.clipboard.readText());
    };
    await own.evaluate(() => (globalThis.clipboard = navigator.clipboard));
    equal(await copied(), address(view("hj17rx")), "the link");
    await own.evaluate(() => globalThis.clipboard.writeText("something else"));
    await own.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
    await own.keyboard.press("Escape");
    await own.locator(".notice").waitFor({ state: "detached" });
    equal(await copied(), address(view("hj17rx")), "the link over plain HTTP");
    await own.context().close();
  });

  await check("a change while the map is moved is on the map", async () => {
    await page.goto(address(view("hj17rx")));
    await at("hj17rx", page);
    await page.locator(".outline-scroll").focus();
    await page.keyboard.press("w");
    const count = async () => Number((await page.locator(".map-canvas").getAttribute("aria-label"))?.match(/Map of (\d+)/)?.[1]);
    const before = await until("the map", count);
    const release = await held(page, /\/map\?/);
    for (let times = 0; times < 6; times++) await page.keyboard.press("+");
    await until("a part of the map", () => release.count);
    bench.run("say", "--tree", sample, "--at", "hj17rx", "While the map moves.");
    await page.locator(".branch", { hasText: "While the map moves." }).waitFor();
    await page.waitForTimeout(100);
    release();
    await until("the new node", async () => (await count()) > before);
    await page.unroute(/\/map\?/);
    for (let times = 0; times < 3; times++) await page.keyboard.press("w");
  });

  await check("a first window that fails is read again", async () => {
    const own = await sameBrowser({ scripted: false }, view("hj17rx"));
    let failures = 0;
    await own.route(/\/window\?/, (route) => (failures++ ? route.continue() : route.abort("connectionreset")), { times: 2 });
    await own.reload();
    await at("hj17rx", own);
    equal([failures, await own.locator(".is-offline").count()], [2, 0], "windows, and signs of a lost connection");
    // Without a node in the address, and with one that is gone.
    for (const place of ["", "01ARZ3NDEKTSV4RRFFQ69G5FAV"]) {
      await own.route(/\/api\/v1\//, (route) => route.abort("connectionreset"), { times: 3 });
      await own.goto("about:blank");
      await own.goto(`${bench.started.address}/#/${place}`);
      await own.locator(".entry.is-cursor").waitFor();
      equal(await own.locator(".welcome").count(), 0, "an invitation to start a tree");
    }
    await own.context().close();
  });

  await check("a server that hangs is noticed", async () => {
    const own = await sameBrowser({}, view("hj17rx"));
    await own.clock.install();
    await own.reload();
    await at("hj17rx", own);
    await own.waitForTimeout(500);
    await held(own, /\/api\/v1\//);
    await own.locator(".outline-scroll").focus();
    await own.keyboard.press("ArrowLeft");
    await own.clock.fastForward(30_000);
    await own.locator(".is-offline").waitFor();
    await own.unrouteAll({ behavior: "ignoreErrors" });
    await until("the connection", async () => !(await own.locator(".is-offline").count()));
    await own.context().close();
  });

  await check("a login that ended is asked for again, and a link logs in", async () => {
    await page.goto(address(view("hj17rx")));
    await at("hj17rx", page);
    await page.locator(".composer textarea").fill("Typed before the login ended.");
    await page.context().clearCookies();
    const ended = bench.started.address;
    bench.server.kill("SIGKILL");
    await page.locator(".is-offline").waitFor();
    await bench.serve("open", "--no-browser");
    // The page's server has another port now.
    const { address: other, link } = bench.started;
    await page.route(/\/api\/v1\//, (route) => route.fulfill({ status: 401, json: { error: { code: "unauthorized", message: "a valid token is required" } } }));
    await page.locator(".login").waitFor();
    bench.foreign = bench.foreign.filter((url) => !url.startsWith(ended));
    const tab = await bench.tab(other);
    await tab.locator(".login").waitFor();
    await tab.evaluate((hash) => (location.hash = hash), new URL(link).hash);
    await tab.locator(".entry.is-cursor").waitFor();
    truth(!tab.url().includes("code="), "the code is not in the address");
    await tab.context().close();
  });

  await check.harmless();
} finally {
  await bench.close();
}
process.exit(check.failed ? 1 : 0);
