// Actions of the page that the other scripts leave out, each by key or by mouse. Effects are read from the database by
// another process, or from the API.

import { appendFileSync, readFileSync } from "node:fs";
import { Bench, checks, until, equal, truth, here as idAt, at as waitAt } from "./harness.mjs";

const bench = new Bench();
const check = checks(bench, "actions.mjs", () => page);
const here = () => idAt(page);
const at = (id) => waitAt(id, page);
const view = (id) => bench.run("view", "--tree", sample, id)[0];
const say = (id, text) => bench.run("say", "--tree", sample, "--at", id, text)[0].nodes[0];
const keys = async (...names) => {
  for (const name of names) await page.keyboard.press(name);
};
/** Opens a node by its address, with the focus in the outline. */
const open = async (id) => {
  await page.goto(`${bench.started.address}/#/${view(id).id}`);
  await at(id);
  await page.locator(".outline-scroll").focus();
};
const closed = () => until("no dialog", async () => !(await page.locator("dialog").count()));
const notice = (text) => page.locator(".notice", { hasText: text }).waitFor();
const entry = () => page.locator(".entry.is-cursor");
const line = (text) => page.locator(".line", { hasText: text });
/** Chooses an item of the menu of a line. */
const choose = async (of, name) => {
  await of.click({ button: "right" });
  await page.getByRole("menuitem", { name }).click();
};
/** Runs an action of the palette by key. */
const palette = async (text) => {
  await keys("Control+k");
  await page.keyboard.type(text);
  await keys("Enter");
};
const api = (path) => page.evaluate((path) => fetch(`/api/v1${path}`).then((answer) => answer.json()), path);
/** Text of the file that an act downloads. */
const downloaded = async (act) => {
  const [download] = await Promise.all([page.waitForEvent("download"), act()]);
  return readFileSync(await download.path(), "utf8");
};

let page;
let sample;
try {
  await bench.model("A line of the sea.");
  appendFileSync(bench.environment.LOOM_CONFIG, `models:\n  sea:\n    base_url: http://127.0.0.1:${bench.modelServer.address().port}/v1\n    model: sea\n`);
  ({ page, sample } = await bench.openSample());

  await check("several models stream, named on their cards, and one is chosen by mouse", async () => {
    await keys("m");
    await page.getByRole("checkbox", { name: "sea" }).check();
    await keys("Escape");
    await closed();
    equal(await page.locator(".model-button").textContent(), "2 models", "the button");
    await page.locator(".outline-scroll").focus();
    // The tree alone has no place for streams, so the text is shown too.
    await keys("w", "w", "w");
    await page.locator(".layout-tree").waitFor();
    await keys("2", "g");
    await until("four streams", async () => (await page.locator(".stream.is-done").count()) === 4);
    const names = await page.locator(".stream-number").allTextContents();
    equal(names, ["1 · scripted:words", "2 · scripted:words", "3 · sea", "4 · sea"], "names of the models");
    truth(await page.locator(".streams").isVisible(), "the streams are visible");
    equal(await bench.findings(page), [], "axe: streams");
    await page.locator(".stream").nth(2).click();
    await until("the choice", async () => (await entry().locator(".markdown").textContent()) === "A line of the sea.");
    const node = view(await here());
    equal([node.content, node.parent_id], ["A line of the sea.", view("hj17rx").id], "the chosen continuation");
    await keys("m");
    await page.getByRole("checkbox", { name: "sea" }).uncheck();
    await keys("Escape");
    await closed();
  });

  await check("an edit by mouse is a branch, and a draft of it is kept", async () => {
    await open("7qbc12");
    const area = page.locator("dialog textarea");
    await entry().getByRole("button", { name: "Edit" }).click();
    await area.fill("Does she turn the light?");
    await keys("Escape");
    await closed();
    await entry().getByRole("button", { name: "Edit" }).click();
    equal(await area.inputValue(), "Does she turn the light?", "the draft");
    await page.getByRole("button", { name: "Discard the draft" }).click();
    equal(await area.inputValue(), "Does she answer?", "the text after the draft was discarded");
    await area.fill("Does she light a lamp?");
    await page.mouse.click(5, 400);
    await closed();
    await choose(page.locator(".line.is-cursor"), "Edit…");
    equal(await area.inputValue(), "Does she light a lamp?", "the draft after a click beside the dialog");
    await page.getByRole("button", { name: "Save as branch" }).click();
    await until("the branch", async () => (await here()) !== "7qbc12");
    await closed();
    const branch = view(await here());
    equal([branch.content, branch.parent_id], ["Does she light a lamp?", view("hj17rx").id], "the branch");
    equal(await page.evaluate(() => Object.keys(sessionStorage).filter((name) => name.startsWith("loom-edit"))), [], "drafts");
  });

  await check("notes, bookmarks and exclusion are changed by mouse and by key", async () => {
    await open("9pakc5");
    const notes = view("9pakc5").state.annotations;
    await entry().getByRole("button", { name: "Add a note" }).click();
    await page.locator("dialog textarea").fill("a note by mouse");
    await page.getByRole("button", { name: "Add the note" }).click();
    await page.locator(".note", { hasText: "a note by mouse" }).waitFor();
    await closed();
    equal(view("9pakc5").state.annotations, notes + 1, "notes");
    await open("jb8jw9");
    await keys("b");
    await notice("Bookmark removed");
    equal(view("jb8jw9").state.bookmark ?? null, null, "no bookmark");
    await until("the notice is announced", async () => (await page.locator("[aria-live=polite]").textContent()) === "Bookmark removed");
    await keys("u");
    await entry().locator(".mark", { hasText: "the opening" }).waitFor();
    await choose(page.locator(".line.is-cursor"), "Exclude from models");
    await entry().locator(".mark", { hasText: "excluded" }).waitFor();
    equal(view("jb8jw9").state.excluded, true, "excluded");
    await page.locator(".header").getByRole("button", { name: "Undo" }).click();
    await until("the undo", () => !view("jb8jw9").state.excluded);
    await page.locator(".header").getByRole("button", { name: "Redo" }).click();
    await until("the redo by mouse", () => view("jb8jw9").state.excluded);
    await page.locator(".outline-scroll").focus();
    await keys("u");
    await until("the undo", () => !view("jb8jw9").state.excluded);
    await keys("U");
    await until("the redo by key", () => view("jb8jw9").state.excluded);
    await entry().locator(".mark", { hasText: "excluded" }).waitFor();
    await choose(page.locator(".line.is-cursor"), "Include for models");
    await until("included", () => !view("jb8jw9").state.excluded);
  });

  await check("branches are pruned by mouse, and restored by key and by the menu of an address", async () => {
    await choose(line("She does not."), "Prune the branch");
    await until("pruned", () => view("w1esxf").state.pruned_by);
    await until("no line", async () => !(await line("She does not.").count()));
    await page.locator(".outline-scroll").focus();
    await keys("R");
    await page.keyboard.type("She does");
    await page.locator(".option.is-selected", { hasText: "She does not." }).waitFor();
    await keys("Enter");
    await at("w1esxf");
    truth(!view("w1esxf").state.pruned_by, "restored by key");
    bench.run("prune", "--tree", sample, "w1esxf");
    await open("w1esxf");
    await entry().locator(".mark", { hasText: "pruned" }).waitFor();
    await entry().getByRole("button", { name: "More" }).click();
    equal(await page.getByRole("menuitem", { name: "Prune the branch" }).count(), 0, "offers to prune");
    await page.getByRole("menuitem", { name: "Restore the branch" }).click();
    await until("restored", () => !view("w1esxf").state.pruned_by);
  });

  await check("a branch is moved by keys alone, and compared by menu", async () => {
    const leaf = say("34vc5s", "A leaf to move.");
    await open(leaf.local_id);
    await keys("x", "h", "h");
    await at("7q3thv");
    await keys("V");
    await until("the move", async () => (await entry().textContent()).includes("A leaf to move.") && (await here()) !== leaf.local_id);
    truth(view(leaf.local_id).state.pruned_by, "the original is pruned");
    equal(view(await here()).parent_id, view("7q3thv").id, "parent of the moved branch");
    await open("hj17rx");
    await choose(line("Nothing, at first."), /^Mark for/);
    await choose(page.locator(".line.is-cursor"), "Compare with 34vc5s");
    await page.locator("ins").first().waitFor();
    const sides = await page.locator(".compared").allTextContents();
    truth(sides[0].startsWith("Nothing, at first.") && sides[1] === view("hj17rx").content, `both texts: ${sides}`);
    await keys("Escape");
    await closed();
  });

  await check("the menu opens by key at the node of the cursor", async () => {
    await open("hj17rx");
    for (const key of ["Shift+F10", "ContextMenu"]) {
      await keys(key);
      await page.getByRole("menu", { name: "Actions on hj17rx" }).waitFor();
      await keys("Escape");
      await until("no menu", async () => !(await page.locator(".menu").count()));
      truth(await page.locator(".outline-scroll:focus").count(), "the focus of before");
    }
  });

  await check("keys after an Enter that chose nothing, or whose list failed, act in the list", async () => {
    const query = page.locator("dialog input[role=combobox]");
    await page.route("**/api/v1/recall", (route) => route.fulfill({ status: 500, body: "{}" }));
    for (const list of ["Control+k", "/"]) {
      await keys(list);
      await page.keyboard.type("zzqx");
      await keys("Enter");
      await page.keyboard.type("y");
      await until(`the text of ${list}`, async () => (await query.inputValue()) === "zzqxy");
      await keys("Escape");
      await closed();
    }
    await page.unroute("**/api/v1/recall");
  });

  await check("the palette leaves the focus where an action puts it", async () => {
    await palette("say write");
    await until("the input line", () => page.locator(".composer textarea:focus").count());
    await keys("Escape");
    const [{ root }] = bench.run("new", "--buffer", "Prose.");
    await page.goto(`${bench.started.address}/#/${root.id}`);
    await at(root.local_id);
    await palette("edit this node");
    await until("the text", () => page.locator(".prose-text:focus").count());
    await keys("Escape");
  });

  await check("a search names its hit, and an arrow line its reply", async () => {
    await open("2ef3kv");
    await keys("/");
    await page.keyboard.type("drawer log book puts");
    await page.locator(".option.is-selected", { hasText: "She does not." }).waitFor();
    await keys("Enter");
    await at("w1esxf");
    await page.locator(".composer textarea").fill("→ recall search \"station itself\"");
    await page.getByRole("button", { name: "Run" }).click();
    await page.locator(".results pre").waitFor();
    truth((await page.locator(".results").textContent()).includes("9ec09p"), "the reply names the node");
    await keys("Escape");
    await closed();
  });

  await check("documents and sessions are chosen by key", async () => {
    bench.run("docs", "new", "tides", "High at nine.");
    await keys("D");
    await page.keyboard.type("tid");
    await until("one document", async () => (await page.locator(".option").allTextContents()).join().startsWith("tides"));
    await keys("Enter");
    await page.locator(".document", { hasText: "High at nine." }).waitFor();
    await keys("Escape");
    await closed();
    bench.run("switch", "--tree", sample, "497esp");
    const { data } = await api(`/sessions?tree=${sample}`);
    equal(data[0].position_id, view("497esp").id, "position of the newest session");
    await page.locator(".outline-scroll").focus();
    await keys("s");
    await page.locator(".option.is-selected").waitFor();
    await keys("Enter");
    await at("497esp");
  });

  await check("the context shows the API's total", async () => {
    await keys("c");
    await page.locator(".context b").first().waitFor();
    const { report } = await api(`/nodes/${view("497esp").id}/context`);
    equal((await page.locator(".context b").first().textContent()).replace(/\D/g, ""), String(report.total), "tokens");
    await keys("Escape");
    await closed();
  });

  await check("exports leave excluded nodes out, and say so", async () => {
    await open("7qbc12");
    const excluded = view("hj17rx").content.slice(0, 40);
    bench.run("exclude", "--tree", sample, "hj17rx");
    for (const act of [() => keys("W"), () => palette("export markdown")]) {
      const text = await downloaded(act);
      truth(text.includes("Does she answer?") && !text.includes(excluded), `the path: ${text}`);
      await notice("left out: 1 excluded");
    }
    truth((await downloaded(() => palette("export jsonl"))).includes(excluded), "a lossless export has all");
    const html = await downloaded(() => palette("export html"));
    truth(html.startsWith("<!") && html.includes("Does she answer?") && !html.includes(excluded), "the page");
    bench.run("include", "--tree", sample, "hj17rx");
  });

  await check("the log lists changes, and another agent's last change is undone", async () => {
    await open("7qbc12");
    const notes = view("7qbc12").state.annotations;
    bench.run("annotate", "--as", "collaborator", "--tree", sample, "7qbc12", "a note by an agent");
    await palette("log");
    await page.locator(".option", { hasText: "collaborator annotated [7qbc12]" }).first().click();
    await page.locator("dialog", { hasText: "The last change of collaborator: annotated [7qbc12]" }).waitFor();
    equal(await bench.findings(page), [], "axe: undo");
    await page.getByRole("button", { name: "Keep it" }).click();
    await closed();
    equal(view("7qbc12").state.annotations, notes + 1, "notes");
    await palette("log");
    await page.locator(".option", { hasText: "responded to" }).first().waitFor();
    await page.keyboard.type("collaborator");
    await until("one agent's changes", async () => (await page.locator(".option", { hasText: "owner" }).count()) === 0);
    await keys("Enter");
    await page.locator("dialog", { hasText: "The last change of" }).waitFor();
    await page.getByRole("button", { name: "Undo it" }).click();
    await notice("Undone: annotate");
    equal(view("7qbc12").state.annotations, notes, "notes after the undo");
    // An older change leads to its node.
    await palette("log");
    await page.locator(".option", { hasText: "responded to" }).last().click();
    await closed();
  });

  await check("older changes are listed by pages", async () => {
    // A page of three shows what one of 500 does.
    await page.route(/\/journal\?/, (route) => route.continue({ url: route.request().url().replace("limit=500", "limit=3") }));
    const [{ root: first }] = bench.run("new", "Pages.");
    for (const note of ["one", "two", "three", "four", "five"]) bench.run("annotate", first.id, `note ${note}`);
    await page.goto(`${bench.started.address}/#/${first.id}`);
    await at(first.local_id);
    await palette("log");
    const texts = () => page.locator(".option-title").allTextContents();
    await until("the newest", async () => (await texts()).length === 3);
    const newest = await texts();
    equal(await page.getByRole("button", { name: "Newest" }).count(), 0, "newer changes");
    const older = page.getByRole("button", { name: "Older" });
    await older.click();
    await until("older ones", async () => (await texts()).every((text) => !newest.includes(text)));
    truth((await texts()).length <= 3, "one page");
    await until("the end of the list", async () => !(await older.count()) || (await older.click({ timeout: 1_000 }).catch(() => {}), false));
    equal(await bench.findings(page), [], "axe: older changes");
    await page.getByRole("button", { name: "Newest" }).click();
    await until("the newest again", async () => JSON.stringify(await texts()) === JSON.stringify(newest));
    await page.unrouteAll({ behavior: "wait" });
    await keys("Escape");
    await closed();
  });

  await check("a session begins, is named, begins again, and ends", async () => {
    const listed = (name) => bench.run("sessions", "--all")[0].find((each) => each.name === name);
    await palette("session new");
    await page.locator("dialog textarea").fill("prices");
    await keys("Enter");
    await notice("A conversation begins");
    await closed();
    const begun = listed("prices");
    const tree = bench.run("trees").find((each) => each.id === begun.tree_id);
    equal([tree.title, begun.active], ["prices", true], "the tree and its session");
    // Keys typed before the dialog is there are text of its field.
    await page.route("**/api/v1/sessions?*", async (route) => {
      await new Promise((done) => setTimeout(done, 500));
      await route.continue();
    }, { times: 1 });
    await palette("session name");
    await page.keyboard.type(" and costs");
    await until("the typed name", async () => (await page.locator("dialog textarea").inputValue()) === "prices and costs");
    await keys("Enter");
    await notice("The session is named");
    await closed();
    equal(listed("prices and costs").id, begun.id, "the named session");
    await keys("s");
    await page.locator(".option", { hasText: "collaborator · prices and costs" }).waitFor();
    await keys("Escape");
    await closed();
    await palette("session reset");
    await notice("begins again");
    await until("another tree", () => listed("prices and costs").tree_id !== begun.tree_id);
    await palette("session end");
    await notice("has ended");
    equal((await api(`/sessions/${begun.id}`)).active, false, "active");
    await palette("session end");
    await notice("no session in this tree");
  });

  await check("a tree is renamed", async () => {
    await open("7qbc12");
    await palette("rename");
    await page.locator("dialog textarea").fill("The light, renamed");
    await keys("Enter");
    await page.locator(".header .title", { hasText: "The light, renamed" }).waitFor();
    await closed();
    const title = () => bench.run("trees").find((tree) => tree.id === sample).title;
    equal(title(), "The light, renamed", "title");
    await keys("u");
    await until("the undo", () => title() === "The light at Marrow Point");
  });

  await check("the input line keeps a text for each tree", async () => {
    await open("7qbc12");
    const input = page.locator(".composer textarea");
    await input.fill("for the sample");
    const [{ root }] = bench.run("new", "Another tree.");
    await page.goto(`${bench.started.address}/#/${root.id}`);
    await at(root.local_id);
    equal(await input.inputValue(), "", "the text in another tree");
    await open("7qbc12");
    equal(await input.inputValue(), "for the sample", "the text in its tree");
    await input.fill("");
  });

  await check("a double click folds a branch, and opens it", async () => {
    await open("7q3thv");
    const count = await page.locator(".line").count();
    await line("The log book. Give").dblclick();
    await until("fewer lines", async () => (await page.locator(".line").count()) < count);
    truth(await line("The log book. Give").locator(".count", { hasText: "+" }).count(), "the folded branch says so");
    await line("The log book. Give").dblclick();
    await until("all lines", async () => (await page.locator(".line").count()) === count);
  });

  await check("code has colours, links are safe, images are not loaded", async () => {
    const node = say("2ef3kv", "```js\nconst light = 9; // on\n```\n\n[known](https://example.com/a) [odd](javascript:void) [data](data:text/html,x) ![a boat](https://evil.example/boat.png)");
    await open(node.local_id);
    for (const [kind, text] of [["keyword", "const"], ["literal", "9"], ["comment", "// on"]]) equal(await entry().locator(`.code-${kind}`).textContent(), text, kind);
    const links = await entry().locator(".markdown a").evaluateAll((all) => all.map((link) => [link.getAttribute("href"), link.rel, link.target]));
    equal(links, ["https://example.com/a", "https://evil.example/boat.png"].map((href) => [href, "noopener noreferrer nofollow", "_blank"]), "links");
    equal(await entry().locator(".odd-link").count(), 2, "targets that are not links");
    equal(await page.locator(".markdown img").count(), 0, "images");
    // The target is hidden only where the text begins with the same host.
    const texts = {
      "[https://mybank.com](https://mybank.co)": " mybank.co",
      "[mybank.co.example.com/a](https://mybank.co)": " mybank.co",
      "[https://mybank.com@mybank.co](https://mybank.co)": " mybank.co",
      "[mybank.com](https://mybank.com@mybank.co/)": " mybank.co",
      "[mybank.com](https:\\\\mybank.co\\mybank.com)": " mybank.co",
      "[the bank](https://mybank.co/a)": " mybank.co",
      "[a@mybank.com](mailto:a@mybank.co)": " a@mybank.co",
      "[https://MyBank.co/**path**](https://mybank.co/path)": "",
      "[mybank.co](https://mybank.co/a)": "",
      "<https://mybank.co/?a=1>": "",
      "[a@mybank.co](mailto:a@mybank.co)": "",
    };
    await open(say("2ef3kv", Object.keys(texts).join("\n\n")).local_id);
    const targets = await entry().locator(".markdown a").evaluateAll((all) => all.map((link) => link.querySelector(".target")?.textContent ?? ""));
    equal(targets, Object.values(texts), "shown targets");
  });

  await check("versions are switched by mouse, and Split is a button", async () => {
    const [{ root }] = bench.run("new", "Red light. Green light.");
    await page.goto(`${bench.started.address}/#/${root.id}`);
    await at(root.local_id);
    await choose(page.locator(".line.is-cursor"), "Split…");
    await page.locator("dialog textarea").evaluate((area) => { area.focus(); area.setSelectionRange(11, 11); });
    await page.getByRole("button", { name: "Split here" }).click();
    await until("the first half", async () => (await here()) !== root.local_id);
    await closed();
    const half = bench.run("view", await here())[0];
    equal([half.content, half.version_of], ["Red light. ", root.id], "the first half");
    await page.locator(".entry").first().getByRole("button", { name: "Previous version" }).click();
    await at(root.local_id);
    await page.locator(".entry").first().getByRole("button", { name: "Next version" }).click();
    await at(half.local_id);
  });

  await check("an agent in the tree is shown", async () => {
    await open("7qbc12");
    bench.run("switch", "--as", "collaborator", "--tree", sample, "34vc5s");
    await line("Nothing, at first.").locator(".presence", { hasText: "collaborator" }).waitFor();
    await page.locator(".header .person", { hasText: "collaborator" }).waitFor();
  });

  await check("the theme button changes the colours, also after a reload", async () => {
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await paper();
    const button = page.locator(".header").getByRole("button", { name: "Theme" });
    await button.click();
    await button.click();
    await notice("Theme: dark");
    await until("dark", async () => (await paper()) !== light);
    await page.reload();
    await page.locator(".line.is-cursor").waitFor();
    truth((await paper()) !== light, "dark after a reload");
    await button.click();
    await until("light", async () => (await paper()) === light);
  });

  await check("the outline names the line at the cursor to screen readers", async () => {
    await open("7q3thv");
    for (const key of ["ArrowRight", "ArrowDown", "ArrowLeft"]) {
      const before = await here();
      await keys(key);
      await until("a step", async () => (await here()) !== before);
      const named = () => page.locator(".outline-scroll").getAttribute("aria-activedescendant");
      const id = view(await here()).id;
      await until("the line of the cursor", async () => (await named()) === `line-${id}`);
      equal(await page.locator(`#line-${id}[role=treeitem][aria-selected=true]`).count(), 1, "the named line");
    }
  });

  await check("on a narrow screen, a hit and streams bring the text", async () => {
    await open("7q3thv");
    await page.setViewportSize({ width: 400, height: 800 });
    const tab = (name) => page.locator(".tab", { hasText: name });
    await tab("Tree").click();
    await page.locator(".header").getByRole("button", { name: "Search" }).click();
    await page.locator("dialog input").fill("drawer");
    await page.locator(".option", { hasText: "She does not." }).first().click();
    await until("the text", () => page.locator(".entry.is-cursor", { hasText: "She does not." }).isVisible());
    await tab("Map").click();
    await page.locator(".map-canvas").waitFor();
    await page.getByRole("button", { name: "Generate" }).click();
    await until("streams", async () => (await page.locator(".stream.is-done").count()) > 1 && page.locator(".streams").isVisible());
    await keys("Escape");
    // A comparison fits.
    await palette("compare with");
    await page.locator(".compare").waitFor();
    await page.locator("del").first().waitFor();
    equal(await page.locator(".compare").evaluate((element) => element.scrollWidth <= element.clientWidth), true, "no scrolling sideways");
    await keys("Escape");
    await closed();
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  /** Delays the answer of one request. Returns the bodies of those that match. */
  const delayed = async (pattern, ms, times = 1) => {
    const bodies = [];
    await page.route(pattern, async (route) => {
      bodies.push(route.request().postData());
      const response = await route.fetch();
      await new Promise((resolve) => setTimeout(resolve, ms));
      // The page may have given the request up meanwhile.
      await route.fulfill({ response }).catch(() => {});
    }, { times });
    return bodies;
  };

  await check("of two texts that were asked for, the last is edited", async () => {
    await open("9pakc5");
    const entries = page.locator(".entry");
    const [first, second] = [entries.nth(-2), entries.nth(-1)];
    const text = view("9pakc5").content;
    let delay = 300;
    await page.route(/\/api\/v1\/nodes\/[0-9A-Z]{26}$/, async (route) => {
      delay += 300;
      const [response] = await Promise.all([route.fetch(), new Promise((resolve) => setTimeout(resolve, delay))]);
      // The page may have given the request up meanwhile.
      await route.fulfill({ response }).catch(() => {});
    });
    for (const entry of [first, second]) {
      await entry.hover();
      await entry.getByRole("button", { name: "Edit", exact: true }).click();
    }
    const area = page.locator("dialog textarea");
    await area.waitFor();
    await area.press("End");
    await page.keyboard.type("+");
    await page.waitForTimeout(400);
    truth((await area.inputValue()).startsWith(text.slice(0, 20)), "the text");
    await keys("Backspace", "Escape");
    await closed();
    await page.unrouteAll({ behavior: "wait" });
  });

  await check("a dialog saves once, and closes only itself", async () => {
    await open("9pakc5");
    const notes = await delayed(/\/changes$/, 500);
    await keys("a");
    await page.keyboard.type("a slow note");
    await keys("Control+Enter", "Control+Enter");
    await page.keyboard.type(" and more");
    await keys("Control+Enter");
    equal(await page.locator("dialog textarea").inputValue(), "a slow note", "the field during the save");
    await closed();
    equal(notes.length, 1, "saves");
    await delayed(/\/changes$/, 500);
    await keys("a");
    await page.keyboard.type("a note that closes late");
    await keys("Control+Enter", "Escape");
    await closed();
    await keys("b");
    await page.keyboard.type("a label");
    await page.locator(".note", { hasText: "closes late" }).waitFor();
    equal(await page.locator("dialog textarea").inputValue(), "a label", "the other dialog");
    const labels = await delayed(/\/changes$/, 300, 4);
    for (let times = 0; times < 3; times++) await page.keyboard.down("Enter");
    await closed();
    await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    equal([labels.length, await page.locator(".streams").count()], [1, 0], "saves and generations of a held Enter");
    await page.unrouteAll({ behavior: "wait" });
  });

  await check("results of lines wait while another dialog is open", async () => {
    await open("9pakc5");
    await delayed(/\/arrow$/, 500);
    await page.locator(".composer textarea").fill("→ view 2ef3kv");
    await page.locator(".composer textarea").focus();
    await keys("Enter", "Escape");
    await palette("rename");
    const dialog = page.getByRole("dialog", { name: "Rename the tree" });
    await dialog.waitFor();
    await page.locator(".notice", { hasText: "The lines have run" }).first().waitFor();
    truth(await dialog.isVisible(), "the dialog");
    await keys("Escape");
    await closed();
    await page.locator(".notice").getByRole("button", { name: "Show" }).click();
    await page.locator(".results pre").waitFor();
    await keys("Escape");
    await closed();
    // A session that was ended elsewhere is replaced.
    const mine = (await api("/sessions?limit=100")).data.filter((session) => session.workspace === "page");
    for (const { id } of mine) await page.evaluate((id) => fetch(`/api/v1/sessions/${id}`, { method: "DELETE" }), id);
    await page.locator(".composer textarea").fill("→ view 2ef3kv");
    await page.locator(".composer textarea").focus();
    await keys("Enter");
    await page.locator(".results pre").waitFor();
    await keys("Escape");
    await closed();
  });

  await check("Escape stops a generation that has no answer yet; one whose connection broke stays shown", async () => {
    await open("9pakc5");
    await page.locator(".count-field select").selectOption("1");
    const cookie = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join("; ");
    const children = () => view("9pakc5").state.continuations;
    const before = children();
    let resume = () => {};
    const pause = () => (bench.pause = new Promise((resolve) => (resume = resolve)));
    await page.evaluate(() => localStorage.setItem("loom-models", "[\"sea\"]"));
    await page.reload();
    await at("9pakc5");
    await page.locator(".outline-scroll").focus();
    const running = async () => (await api("/generations")).data.length;
    pause();
    await page.route(/continuations$/, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      await route.continue();
    }, { times: 1 });
    const stopped = page.waitForRequest((request) => request.method() === "DELETE");
    await keys("g");
    await page.locator(".streams").waitFor();
    await keys("Escape");
    await until("no streams", async () => !(await page.locator(".streams").count()));
    await stopped;
    await until("the end", async () => !(await running()));
    resume();
    equal(await here(), "9pakc5", "the cursor");
    pause();
    // The answer ends without its events, while the generation runs.
    await page.route(/continuations$/, async (route) => {
      const { method, url, body } = { method: "POST", url: route.request().url(), body: route.request().postData() };
      const answer = await fetch(url, { method, body, headers: { cookie, origin: bench.started.address, "content-type": "application/json" } });
      answer.text().catch(() => {});
      await route.fulfill({ status: 200, headers: { "content-type": "text/event-stream", "x-loom-generation": answer.headers.get("x-loom-generation") }, body: "" });
    }, { times: 1 });
    await keys("g");
    await page.locator(".streams").waitFor();
    await page.waitForTimeout(500);
    equal([await running(), await page.locator(".streams").count()], [1, 1], "what runs and what is shown");
    resume();
    bench.pause = null;
    await until("the end", async () => !(await page.locator(".streams").count()));
    await until("its branch", () => page.locator(".branch", { hasText: "A line of the sea." }).count());
    truth(children() > before, "the continuation is saved");
  });

  await check("without a model, the notice says what to do", async () => {
    const own = new Bench();
    try {
      const { page: tab } = await own.openSample();
      await tab.evaluate(() => localStorage.setItem("loom-models", "[]"));
      await tab.reload();
      await waitAt("hj17rx", tab);
      await tab.locator(".outline-scroll").press("g");
      await tab.locator(".notice[role=alert]", { hasText: /no model is set up \(.*configuration/ }).waitFor();
    } finally {
      await own.close();
    }
  });

  await check("a server that was killed is found again at its port", async () => {
    const own = new Bench();
    try {
      own.run("new", "A tree.");
      const { address } = await own.serve("serve", "--listen", "127.0.0.1:0");
      await own.browse();
      const tab = await own.tab(address);
      await tab.locator(".entry.is-cursor").waitFor();
      own.server.kill("SIGKILL");
      await tab.locator(".connection.is-offline").waitFor();
      const announced = (text) => until(text, async () => (await tab.locator("[aria-live=polite]").textContent()).includes(text));
      await announced("does not answer");
      own.run("say", "While the server was away.");
      await own.serve("serve", "--listen", new URL(address).host);
      await announced("Connected again");
      await tab.locator(".line", { hasText: "While the server was away." }).waitFor();
      equal(await tab.locator(".is-offline").count(), 0, "offline");
    } finally {
      await own.close();
    }
  });

  await check.harmless();
} finally {
  await bench.close();
}
process.exit(check.failed ? 1 : 0);
