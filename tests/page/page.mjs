// Every action of the page in a real browser, by key and by mouse. Effects are read from the database by another process.

import { Bench, checks, until, equal, truth, here as idAt, at as waitAt } from "./harness.mjs";

const bench = new Bench();
const check = checks(bench, "page.mjs", () => page);
const here = (tab = page) => idAt(tab);
const at = (id, tab = page) => waitAt(id, tab);
/** Runs a command on the sample tree. */
const inSample = (command, ...args) => bench.run(command, "--tree", sample, ...args);
const view = (id) => inSample("view", id)[0];
const lines = (tab = page) => tab.locator(".line").count();
const focusTree = () => page.locator(".outline-scroll").focus();
const keys = async (...names) => {
  for (const name of names) await page.keyboard.press(name);
};

/** A dialog closes after what it saved is shown; until then it gets the keys. */
const closed = () => until("no dialog", async () => !(await page.locator("dialog").count()));

let page;
let link;
let sample;
try {
  ({ page, sample, link } = await bench.openSample());

  await check("the link opens the position, works once, and leaves the address", async () => {
    truth(!page.url().includes("code="), "the code is not in the address");
    const other = await bench.tab(link);
    await until("a login form", () => other.locator(".login").count());
    await other.context().close();
  });

  await check("keys walk as in the terminal", async () => {
    await focusTree();
    await keys("ArrowLeft");
    await at("7q3thv");
    await keys("h", "h", "h");
    await at("105knb");
    await keys("l");
    await at("f5w5k2");
    await keys("j");
    truth((await until("a step", async () => ((await here()) === "f5w5k2" ? "" : here()))) !== "f5w5k2", "the next branch");
    await keys("k");
    await at("f5w5k2");
    await keys("0");
    await at("2ef3kv");
    await keys("l", "l", "l", "l", "l");
    await at("hj17rx");
    await keys("J");
    await at("7qbc12");
    await keys("K");
    await at("hj17rx");
    await keys("Backspace");
    await at("7qbc12");
    await keys("B");
    await at("jb8jw9");
    const before = await lines();
    await keys("z");
    await until("fewer lines", async () => (await lines()) < before);
    await keys("z");
    await until("all lines", async () => (await lines()) === before);
    await keys("Z");
    await until("one branch", () => page.locator(".hoist").count());
    await keys("Z");
    await until("all branches", async () => !(await page.locator(".hoist").count()));
  });

  await check("a click goes to a line, and a double click folds", async () => {
    await page.locator(".line", { hasText: "The answer itself. Give" }).click();
    await until("its text", () => page.locator(".entry.is-cursor", { hasText: "The answer itself. Give" }).count());
    await page.locator(".branch").first().click();
    await until("the branch", () => page.locator(".entry.is-cursor", { hasText: "Three long flashes" }).count());
  });

  await check("every node has an address", async () => {
    await page.locator(".entry .id").first().click();
    await at("2ef3kv");
    const id = view("9pakc5").id;
    await page.goto(`${bench.started.address}/#/${id}`);
    await at("9pakc5");
    await page.reload();
    await at("9pakc5");
  });

  await check("messages, branches and notes are written, and undone", async () => {
    await focusTree();
    await keys("i");
    await page.keyboard.type("Typed in the browser.");
    await keys("Enter");
    await until("the node", () => page.locator(".entry.is-cursor", { hasText: "Typed in the browser." }).count());
    const id = await here();
    equal(view(id).content, "Typed in the browser.", "content");
    await keys("Escape");
    await keys("a");
    await page.keyboard.type("a note of the page");
    await page.getByRole("button", { name: "Add the note" }).click();
    await until("the note", () => page.locator(".note", { hasText: "a note of the page" }).count());
    await closed();
    equal(view(id).state.annotations, 1, "notes");
    await keys("b");
    await page.keyboard.type("a place");
    await keys("Enter");
    await until("the bookmark", () => page.locator(".entry.is-cursor .mark", { hasText: "a place" }).count());
    await closed();
    equal(view(id).state.bookmark, "a place", "bookmark");
    await keys("X");
    await until("the mark", () => page.locator(".entry.is-cursor .mark", { hasText: "excluded" }).count());
    equal(view(id).state.excluded, true, "excluded");
    await keys("u");
    await until("the undo", async () => !(await page.locator(".entry.is-cursor .mark", { hasText: "excluded" }).count()));
    equal(view(id).state.excluded, false, "excluded");
    await keys("U");
    await until("the redo", () => page.locator(".entry.is-cursor .mark", { hasText: "excluded" }).count());
  });

  await check("keys typed ahead of the server act in order", async () => {
    const from = await here();
    const before = view("9pakc5").state.annotations;
    await page.route(/\/window\?/, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 250));
      await route.continue();
    }, { times: 2 });
    // The step is on its way while the note of the node that it reaches is typed.
    await keys("h", "a");
    await page.keyboard.type("up");
    await keys("Control+Enter");
    await until("the note", () => page.locator(".note", { hasText: /up$/ }).count());
    await closed();
    equal([await here(), view("9pakc5").state.annotations], ["9pakc5", before + 1], "notes on the node before");
    await keys("u", "l");
    await at(from);
  });

  await check("an edit is a branch in a dialogue, and a version in a buffer", async () => {
    const id = await here();
    await keys("e");
    await until("the text", async () => (await page.locator("dialog textarea").inputValue()) === "Typed in the browser.");
    await page.locator("dialog textarea").fill("Typed beside.");
    await keys("Control+Enter");
    await until("the branch", () => page.locator(".entry.is-cursor", { hasText: "Typed beside." }).count());
    await closed();
    const branch = view(await here());
    equal([branch.parent_id, branch.edited_from], [view("9pakc5").id, view(id).id], "parent and original");
    const [{ root }] = bench.run("new", "--buffer", "Prose of a buffer.");
    await page.goto(`${bench.started.address}/#/${root.id}`);
    await at(root.local_id);
    await page.locator(".line.is-cursor").click({ button: "right" });
    await page.getByRole("menuitem", { name: "Edit" }).click();
    await page.locator("dialog textarea").fill("Better prose of a buffer.");
    await page.getByRole("button", { name: "Save as version" }).click();
    await until("the version", async () => (await page.locator(".prose-text").inputValue()) === "Better prose of a buffer." && (await here()) !== root.local_id);
    await closed();
    equal(bench.run("view", await here())[0].version_of, root.id, "version of");
    await keys("<");
    await at(root.local_id);
    await page.goto(`${bench.started.address}/#/${branch.id}`);
    await at(branch.local_id);
  });

  await check("a branch is pruned and restored", async () => {
    const id = await here();
    await keys("p");
    await at("9pakc5");
    truth(view(id).state.pruned_by, "pruned");
    await keys("R");
    await page.locator(".option", { hasText: "Typed beside." }).click();
    await at(id);
    truth(!view(id).state.pruned_by, "restored");
  });

  await check("continuations stream side by side, and one is chosen", async () => {
    await keys("3", "g");
    await until("three streams", async () => (await page.locator(".stream.is-done").count()) === 3);
    const texts = await page.locator(".stream-text").allTextContents();
    await keys("2");
    await until("the second", async () => (await page.locator(".entry.is-cursor .markdown").textContent()) === texts[1]);
    const node = view(await here());
    equal([node.content, node.author_type], [texts[1], "model"], "the chosen continuation");
    await page.getByRole("button", { name: "Generate" }).click();
    await until("streams again", async () => (await page.locator(".stream.is-done").count()) === 3);
    const first = await page.locator(".stream-text").first().textContent();
    await page.locator(".stream").first().click();
    // The scripted model may write the same sentence twice, so the node tells them apart.
    await until("the first", async () => (await here()) !== node.local_id && (await page.locator(".entry.is-cursor .markdown").textContent()) === first);
  });

  await check("arrow lines run at the cursor", async () => {
    const id = await here();
    await keys("i");
    await page.keyboard.type("-> bookmark . \"the harbour\"");
    truth((await page.locator(".composer textarea").inputValue()).startsWith("→"), "an arrow");
    await keys("Enter");
    await until("the result", () => page.locator(".results pre").count());
    const result = await page.locator(".results pre").first().textContent();
    await keys("Escape");
    equal(view(id).state.bookmark, "the harbour", `bookmark after ${result}`);
    await keys("Escape");
  });

  await check("a search finds while it is typed", async () => {
    await focusTree();
    await keys("/");
    await page.keyboard.type("station lighthouse name");
    await until("hits", () => page.locator(".option mark").count());
    await keys("Enter");
    await until("the hit", async () => !(await page.locator("dialog").count()));
  });

  await check("the palette and the lists open by key", async () => {
    for (const [key, name] of [["Control+k", "Actions"], ["?", "Keys"], ["t", "Trees"], ["'", "Bookmarks"], ["m", "Models"]]) {
      await keys(key);
      await until(name, () => page.getByRole("dialog", { name }).count());
      equal(await bench.findings(page), [], `axe: ${name}`);
      await keys("Escape");
      await until("closed", async () => !(await page.locator("dialog").count()));
    }
    await keys("Control+k");
    await page.keyboard.type("root");
    await keys("Enter");
    await at("2ef3kv");
  });

  await check("the menu of a node works by mouse and by key", async () => {
    await page.locator(".line", { hasText: "The answer itself. Give" }).click({ button: "right" });
    await page.getByRole("menuitem", { name: "Exclude from models" }).click();
    await until("the mark", () => page.locator(".line.is-excluded", { hasText: "The answer itself. Give" }).count());
    await page.locator(".line", { hasText: "The answer itself. Give" }).click({ button: "right" });
    await keys("Escape");
    await until("closed", async () => !(await page.locator(".menu").count()));
    await keys("u");
  });

  await check("a branch is copied and moved by key", async () => {
    await page.goto(`${bench.started.address}/#/${view("w1esxf").id}`);
    await at("w1esxf");
    await focusTree();
    await keys("x", "0");
    await at("2ef3kv");
    await keys("Y");
    await until("the copy", async () => (await page.locator(".entry.is-cursor", { hasText: "She does not." }).count()) && (await here()) !== "w1esxf");
    const copy = await here();
    equal(view(copy).parent_id, view("2ef3kv").id, "parent of the copy");
    await keys("x");
    await page.locator(".line", { hasText: "The log book. Give" }).click();
    await at("f5w5k2");
    await keys("V");
    // A move leaves the original pruned and shows its copy.
    await until("the moved branch", () => page.locator(".entry.is-cursor", { hasText: "She does not." }).count());
    equal(view(await here()).parent_id, view("f5w5k2").id, "parent of the moved branch");
  });

  await check("branches are compared word by word", async () => {
    await page.goto(`${bench.started.address}/#/${view("hj17rx").id}`);
    await at("hj17rx");
    await focusTree();
    await keys("d");
    await until("differences", async () => (await page.locator("ins").count()) && (await page.locator("del").count()));
    const sides = await page.locator(".compared").allTextContents();
    truth(sides[1].endsWith(view("hj17rx").content) && sides[0] !== sides[1], `both texts: ${sides}`);
    // Words that both have by chance do not scatter the changes.
    truth((await page.locator("del").count()) < 6, "whole passages are marked");
    truth((await page.locator(":focus").getAttribute("class")) === "dialog-body", "the focus is in the dialog");
    equal(await bench.findings(page), [], "axe: compare");
    await keys("Escape");
    await until("the focus of before", () => page.locator(".outline-scroll:focus").count());
  });

  await check("context, sessions and documents are shown", async () => {
    bench.run("docs", "new", "plan", "# Plan\n\nThe **light**. <img src=x onerror=globalThis.broken=1>");
    await keys("c");
    await until("token bars", async () => (await page.locator(".bar").count()) > 1);
    equal(await bench.findings(page), [], "axe: context");
    await keys("Escape", "s");
    await until("sessions", () => page.locator(".option").count());
    await keys("Escape", "D");
    await page.locator(".option", { hasText: "plan" }).click();
    await until("the document", () => page.locator(".document", { hasText: "The light. <img" }).count());
    equal([await page.locator(".document .heading").textContent(), await page.locator(".document strong").textContent(), await page.locator(".document img").count()], ["Plan", "light", 0], "Markdown of the document");
    await keys("Escape");
  });

  await check("the buttons do what the keys do", async () => {
    await page.goto(`${bench.started.address}/#/${view("w1esxf").id}`);
    await at("w1esxf");
    const entry = page.locator(".entry.is-cursor");
    await entry.getByRole("button", { name: "Bookmark" }).click();
    await page.locator("dialog textarea").fill("by mouse");
    await page.locator("dialog .primary").click();
    await entry.locator(".mark", { hasText: "by mouse" }).waitFor();
    await closed();
    equal(view("w1esxf").state.bookmark, "by mouse", "bookmark");
    await page.locator(".header").getByRole("button", { name: "Undo" }).click();
    await until("the undo", async () => !(await entry.locator(".mark").count()));
    equal(view("w1esxf").state.bookmark ?? null, null, "no bookmark");
    await page.locator(".header").getByRole("button", { name: "Redo" }).click();
    await entry.locator(".mark", { hasText: "by mouse" }).waitFor();
    await page.locator(".header").getByRole("button", { name: "Bookmarks" }).click();
    await page.locator(".option", { hasText: "the opening" }).click();
    await at("jb8jw9");
    await page.locator(".header").getByRole("button", { name: "Search" }).click();
    await page.locator("dialog input").fill("drawer");
    await page.locator(".option", { hasText: "She does not." }).first().click();
    await until("the hit", () => page.locator(".entry.is-cursor", { hasText: "She does not." }).count());
    for (const name of ["Conversation or prose", "Conversation or prose", "Theme", "Theme", "Theme", "Map", "Tree", "Read", "Read"]) await page.locator(".header").getByRole("button", { name, exact: true }).click();
    await page.getByRole("button", { name: "Previous branch" }).last().click();
    await until("the branch beside", async () => !(await page.locator(".entry.is-cursor", { hasText: "She does not." }).count()));
    await page.locator(".composer textarea").fill("Added by mouse.");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await until("the node", () => page.locator(".entry.is-cursor", { hasText: "Added by mouse." }).count());
    equal(view(await here()).content, "Added by mouse.", "content");
    await page.getByRole("button", { name: "Answer" }).click();
    await until("the answer", async () => (await page.locator(".entry.is-cursor.by-model").count()) === 1);
    equal(view(await here()).author_type, "model", "author of the answer");
    await page.locator(".entry.is-cursor").getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem", { name: "Prune the branch" }).click();
    await until("its parent", () => page.locator(".entry.is-cursor", { hasText: "Added by mouse." }).count());
    await page.locator(".header").getByRole("button", { name: "All actions" }).click();
    await page.locator(".option", { hasText: "pruned branches" }).click();
    await page.getByRole("dialog", { name: "Pruned" }).waitFor();
    await page.locator(".option").first().click();
    await until("the answer again", async () => (await page.locator(".entry.is-cursor.by-model").count()) === 1);
    truth(!view(await here()).state.pruned_by, "restored");
  });

  await check("the map shows the tree, and a click goes to a node", async () => {
    await keys("w");
    await until("pixels", () => page.evaluate(() => {
      const canvas = document.querySelector(".map-canvas");
      const data = canvas?.width && canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      return data && data.some((value) => value);
    }));
    const before = await here();
    const box = await page.locator(".map-canvas").boundingBox();
    // The root is at the left edge; the click tries the rows of its column.
    for (let y = 20; y < box.height && (await here()) !== "2ef3kv"; y += 18) await page.mouse.click(box.x + 36, box.y + y);
    await at("2ef3kv");
    truth(before !== "2ef3kv", "the cursor moved");
    await page.mouse.move(box.x + 300, box.y + 200);
    await page.mouse.wheel(0, -300);
    await page.getByRole("button", { name: "Cursor" }).click();
    equal(await bench.findings(page), [], "axe: map");
    // The frame in the corner shows which part is visible.
    const part = () => page.locator(".map-frame").evaluate((frame) => ({ width: frame.offsetWidth, place: frame.style.transform }));
    await keys("_");
    const whole = await until("the whole tree", async () => (await part()).width > 100 && part());
    await keys("+", "+");
    const near = await until("a part", async () => (await part()).width < whole.width && part());
    await keys("Shift+ArrowRight");
    await until("another part", async () => (await part()).place !== near.place);
    await page.locator(".map-mini").click({ position: { x: 20, y: 60 } });
    await until("the left", async () => (await part()).place.startsWith("translate(0px"));
    // Two fingers.
    await keys("_");
    await until("the whole tree", async () => (await part()).width === whole.width);
    const touch = await page.context().newCDPSession(page);
    const fingers = (type, spread) => touch.send("Input.dispatchTouchEvent", { type, touchPoints: spread === null ? [] : [-1, 1].map((side, id) => ({ id, x: box.x + 300 + side * spread, y: box.y + 250 })) });
    await fingers("touchStart", 40);
    for (const spread of [60, 90, 130, 180]) await fingers("touchMove", spread);
    await fingers("touchEnd", null);
    await until("the pinch", async () => (await part()).width < whole.width);
    // Hits of a search are marked.
    const marked = page.waitForResponse(async (response) => response.url().includes("hits=") && (await response.json()).hits.length > 0);
    await keys("/");
    await page.keyboard.type("lighthouse");
    await marked;
    await keys("Escape");
    await page.getByRole("button", { name: "By kind" }).click();
    await until("authors", () => page.locator(".map-key", { hasText: "owner" }).count());
    await page.getByRole("button", { name: "By author" }).click();
    await keys("w", "w", "w");
    await until("the outline", () => page.locator(".outline").isVisible());
  });

  await check("another process is seen live", async () => {
    const start = performance.now();
    inSample("say", "--at", "2ef3kv", "From another process.");
    const written = performance.now();
    await until("its line", () => page.locator(".line", { hasText: "From another process." }).count());
    console.log(`      shown ${Math.round(performance.now() - written)} ms after the command ended, which took ${Math.round(written - start)} ms`);
  });

  await check("offline is shown, typed text is kept, and the connection comes back", async () => {
    await focusTree();
    await keys("0");
    await at("2ef3kv");
    await page.context().setOffline(true);
    await keys("i");
    await page.keyboard.type("Written offline.");
    await keys("Enter");
    await until("offline", () => page.locator(".is-offline").count());
    equal(await page.locator(".composer textarea").inputValue(), "Written offline.", "the text");
    inSample("say", "--at", "2ef3kv", "While it was away.");
    await page.context().setOffline(false);
    await page.evaluate(() => dispatchEvent(new Event("online")));
    await until("online", async () => !(await page.locator(".is-offline").count()));
    await until("the missed line", () => page.locator(".line", { hasText: "While it was away." }).count());
    await page.locator(".composer textarea").focus();
    await keys("Enter");
    await until("the node", () => page.locator(".entry.is-cursor", { hasText: "Written offline." }).count());
    await keys("Escape");
  });

  await check("one failed request is made up for, although the stream of changes goes on", async () => {
    await page.route(/\/window\?/, (route) => route.abort("internetdisconnected"), { times: 1 });
    inSample("say", "--at", "2ef3kv", "While one request failed.");
    await until("its line", () => page.locator(".line", { hasText: "While one request failed." }).count());
    await until("online", async () => !(await page.locator(".is-offline").count()));
  });

  await check("hostile content is text", async () => {
    const hostile = [
      "<img src=x onerror=\"globalThis.broken=1\"><script>globalThis.broken=1</script>",
      "[a](javascript:globalThis.broken=1) ![b](https://evil.example/x.png) <a href='https://evil.example'>c</a>",
      "\u202eevil\u202c `</code><script>globalThis.broken=1</script>`\n\n```html\n</pre><script>globalThis.broken=1</script>\n```",
      `${"> ".repeat(300)}deep ${"*".repeat(500)} ${"[".repeat(300)}`,
      "| a |\n|---|\n| <svg onload=globalThis.broken=1> |",
    ];
    for (const text of hostile) {
      const node = inSample("say", "--at", "2ef3kv", text)[0].nodes[0];
      await page.goto(`${bench.started.address}/#/${node.id}`);
      await at(node.local_id);
    }
    equal(await page.evaluate(() => globalThis.broken ?? 0), 0, "scripts that ran");
    equal(await page.locator(".markdown img, .markdown script, .markdown svg, .markdown a[href^=javascript]").count(), 0, "elements");
  });

  await check.harmless();
} finally {
  await bench.close();
}
process.exit(check.failed ? 1 : 0);
