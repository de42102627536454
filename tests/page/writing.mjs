// Text in the page in a real browser: prose with a caret, merge, split, pins, completion, drags, imports, answers and approvals.
// Effects are read from the database by another process.

import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Bench, checks, until, equal, truth, here, at as waitAt } from "./harness.mjs";

const bench = new Bench();
const check = checks(bench, "writing.mjs", () => page);
const at = (id) => waitAt(id, page);
const view = (id) => bench.run("view", "--tree", sample, id)[0];
const open = async (node) => {
  await page.goto(`${bench.started.address}/#/${node.id}`);
  await at(node.local_id);
  await page.locator(".outline-scroll").focus();
};
const keys = async (...names) => {
  for (const name of names) await page.keyboard.press(name);
};
const prose = () => page.locator(".prose-text");
/** Places the caret after a text, as a click there does. */
const caretAfter = (words) => prose().evaluate((area, words) => {
  const at = area.value.indexOf(words) + words.length;
  area.focus();
  area.setSelectionRange(at, at);
}, words);
const saved = () => until("the text is saved", async () => (await page.locator(".prose-status").textContent()) === "");
const closed = () => until("no dialog", async () => !(await page.locator("dialog").count()));
/** The path of a buffer tree from its root: contents, as another process reads them. */
const path = (id) => bench.run("view", "--path", id).map((node) => node.content);

let page;
let sample;
try {
  const plan = { subtasks: [{ id: "paint", title: "Paint it <img src=x onerror=\"globalThis.broken=1\">", details: "gre\u200ben", criteria: "two coats", depends_on: [] }] };
  const passed = JSON.stringify({ passed: true, why: "two coats" });
  const armed = { subtasks: [{ id: "run", title: "Paint it by command", criteria: "two coats", tools: ["run_command"], depends_on: [] }] };
  await bench.model("Mine is the sea.", JSON.stringify(plan), "The shed is green.", passed, JSON.stringify(plan),
    ...Array(3).fill([JSON.stringify(armed), "→ run_command command:\"touch PAINTED\"\n", "It is painted.", passed]).flat());
  ({ page, sample } = await bench.openSample("--tools"));

  await check("a buffer is prose without seams, and what is typed becomes versions and nodes", async () => {
    const [{ root: first }] = bench.run("new", "--buffer", "The lamp was lit. ");
    await open(first);
    equal(await prose().inputValue(), "The lamp was lit. ", "the text");
    await keys("e");
    await page.keyboard.type("The keeper slept.");
    equal(await page.locator(".prose-mirror").textContent(), "The lamp was lit. The keeper slept.\u200b", "what is seen");
    const status = async () => [await page.locator(".prose-status").textContent(), await page.locator(".connection").textContent()].join();
    await until("not saved", async () => (await status()) === "not saved,not saved");
    await keys("Control+s");
    await until("saved", async () => (await status()) === ",saved");
    const edited = bench.run("view", await here(page))[0];
    equal([edited.content, edited.version_of], ["The lamp was lit. The keeper slept.", first.id], "a version of a person's text");
    // A model continues, and text after the model's is a node of its own.
    await page.keyboard.press("Control+Enter");
    await until("streams", async () => (await page.locator(".stream.is-done").count()) === 3);
    await page.locator(".stream").first().click();
    await until("the model's text", () => page.locator(".prose-mirror .is-model").count());
    const model = await here(page);
    await keys("e");
    await page.keyboard.type(" So it went.");
    await page.getByRole("button", { name: "Save" }).click();
    await saved();
    const own = bench.run("view", await here(page))[0];
    equal([own.content, own.author_type, own.parent_id], [" So it went.", "human", bench.run("view", model)[0].id], "text after a model's");
    // A change in the middle of the model's text is a version of that node, of which the rest remains the model's.
    const words = (await page.locator(".prose-mirror .is-model").first().textContent()).slice(0, 9);
    await caretAfter(words);
    await page.keyboard.type("QUITE");
    await keys("Escape");
    await saved();
    await until("two pieces of the model", async () => (await page.locator(".prose-mirror .is-model").count()) === 2);
    equal(path(await here(page)).filter((text) => text.includes(`${words}QUITE`)).length, 1, "the node that changed");
    truth((await page.locator(":focus").getAttribute("class")).includes("outline-scroll"), "Escape leaves the text");
    equal(await bench.findings(page), [], "axe: prose");
  });

  await check("a tree of prose is started by key and by mouse", async () => {
    const start = async (text) => {
      await page.locator(".welcome").waitFor();
      equal(await page.locator(".mode[aria-pressed=true]").textContent().then((name) => name.startsWith("Prose")), true, "the chosen kind");
      await page.locator(".composer textarea").fill(text);
      await keys("Enter");
      await until("the prose", async () => (await prose().count()) && (await prose().inputValue()) === text);
      equal(bench.run("trees").find((tree) => tree.title === text)?.mode, "buffer", "mode");
    };
    await open(view("9pakc5"));
    await keys("Control+k");
    await page.keyboard.type("new prose");
    await keys("Enter");
    await start("Once by key.");
    await page.locator(".header .title").click();
    await page.getByRole("button", { name: "New tree" }).click();
    await page.locator(".mode", { hasText: "Prose" }).click();
    equal(await bench.findings(page), [], "axe: a new tree");
    await start("Once by mouse.");
  });

  await check("keys typed before the text has the focus come first", async () => {
    const [{ root: first }] = bench.run("new", "--buffer", "Slow. ");
    await open(first);
    bench.run("say", "--at", first.local_id, "Far.");
    await until("the line", () => page.locator(".line", { hasText: "Far." }).count());
    await page.route(/\/window\?/, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 200));
      await route.continue();
    }, { times: 1 });
    await keys("l", "e");
    await page.keyboard.type(" Very\nfar, and then still farther away.", { delay: 20 });
    equal(await prose().inputValue(), "Slow. Far. Very\nfar, and then still farther away.", "the text");
    await keys("Control+s");
    await saved();
  });

  await check("a model continues at the caret, and what followed stays in another version", async () => {
    const [{ root: first }] = bench.run("new", "--buffer", "One two three four.");
    await open(first);
    await prose().click();
    await caretAfter("One two");
    await page.getByRole("button", { name: "Continue here" }).click();
    await until("streams", async () => (await page.locator(".stream.is-done").count()) === 3);
    const head = bench.run("view", await here(page))[0];
    equal(head.content, "One two", "the first half");
    equal(await prose().inputValue(), "One two", "the text to the caret");
    await page.locator(".stream").nth(1).click();
    await until("the continuation", async () => (await prose().inputValue()).length > 10);
    equal(path(await here(page))[0], "One two", "the path of the continuation");
    await page.goto(`${bench.started.address}/#/${head.id}`);
    await at(head.local_id);
    await page.locator(".outline-scroll").focus();
    await keys("<");
    await until("the original", async () => (await prose().inputValue()).startsWith("One two three four."));
  });

  await check("text over several nodes is saved as one change, which one undo takes back", async () => {
    const [{ root: first }] = bench.run("new", "--buffer", "One light. ");
    const [second] = bench.run("say", "--at", first.local_id, "Two boats.")[0].nodes;
    await open(second);
    await caretAfter("One");
    await page.keyboard.type(" green");
    await caretAfter("Two");
    await page.keyboard.type(" small");
    await keys("Control+s");
    await saved();
    equal(await prose().inputValue(), "One green light. Two small boats.", "the text");
    const journal = bench.run("log").filter((entry) => entry.op === "edit");
    equal(new Set(journal.slice(0, 2).map((entry) => entry.group)).size, 1, "one operation");
    await keys("Escape", "u");
    await until("both words are gone", async () => (await prose().inputValue()) === "One light. Two boats.");
  });

  await check("typed prose survives a reload and a server that is away", async () => {
    const [{ root: first }] = bench.run("new", "--buffer", "Kept ");
    await open(first);
    await page.context().setOffline(true);
    await keys("e");
    await page.keyboard.type("words");
    await keys("Control+s");
    await until("offline", () => page.locator(".is-offline").count());
    equal(await prose().inputValue(), "Kept words", "the text");
    await page.context().setOffline(false);
    await page.reload();
    await at(first.local_id);
    await until("the text after a reload", async () => (await prose().inputValue()) === "Kept words");
    await prose().focus();
    await keys("Control+s");
    await saved();
    equal(bench.run("view", await here(page))[0].content, "Kept words", "the saved text");
  });

  await check("text typed while a save is on its way stays a change of the saved node", async () => {
    const [{ root: first }] = bench.run("new", "--buffer", "The sea.");
    // Farther back than one window of the path reaches, which a save moves.
    for (let times = 0; times < 12; times++) bench.run("say", "--at", bench.run("view", "--path", first.id).at(-1).local_id, " A wave.");
    const [model] = bench.run("continue", bench.run("view", "--path", first.id).at(-1).local_id, "-n", "1", "-m", "scripted:words");
    await open(model);
    await page.route(/\/api\/v1\/nodes\/.*\/text$/, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      await route.continue();
    });
    const isShown = async (end) => (await prose().inputValue()).endsWith(end);
    await keys("e");
    await page.keyboard.type(" One");
    await keys("Control+s");
    await page.keyboard.type(" two");
    await until("the save", async () => (await here(page)) !== model.local_id);
    // The change that the save wrote has the page read the window again.
    bench.run("annotate", model.id, "a later change");
    await page.waitForTimeout(300);
    truth(await isShown(" One two"), "the text after the save");
    await page.keyboard.type(" three");
    await page.reload();
    await until("the text after a reload", () => isShown(" One two three"));
    await prose().focus();
    await keys("Control+s");
    await page.keyboard.type(" four");
    await keys("Escape", "ArrowLeft");
    await at(model.local_id);
    truth(!(await prose().inputValue()).includes("One"), "the text of the node before");
    await page.unrouteAll({ behavior: "wait" });
    await keys("ArrowRight");
    await until("the text after a step", () => isShown(" One two three four"));
    await prose().focus();
    await keys("Control+s");
    await saved();
    equal(path(await here(page)).slice(-2), [model.content, " One two three four"], "the saved text");
    equal(bench.run("view", model.id)[0].state.continuations, 1, "branches after the model's text");
  });

  await check("text that could not be saved is kept for each branch", async () => {
    const [{ root: first }] = bench.run("new", "--buffer", "Base.");
    const [left, right] = ["Left.", "Right."].map((text) => bench.run("say", "--at", first.local_id, text)[0].nodes[0]);
    await page.route(/\/api\/v1\/nodes\/.*\/text$/, (route) => route.abort());
    for (const [node, words] of [[left, " Mine"], [right, " Yours"]]) {
      await open(node);
      await keys("e");
      await page.keyboard.type(words);
      await caretAfter("Base");
      await page.keyboard.type(" old");
      await keys("Escape");
      await page.locator(".notice").first().waitFor();
    }
    await page.unrouteAll({ behavior: "wait" });
    // The page is left before it can save one of the drafts.
    await page.goto(`${bench.started.address}/readyz`);
    for (const [node, words] of [[left, "Left. Mine"], [right, "Right. Yours"]]) {
      await open(node);
      await until("the text of the branch", async () => (await prose().inputValue()) === `Base old.${words}`);
    }
    await prose().focus();
    await keys("Control+s");
    await saved();
    equal(path(await here(page)), ["Base old.", "Right. Yours"], "each change in its node");
    equal(await page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }]).includes("Yours")), false, "a draft after its save");
  });

  const unsaved = () => page.evaluate(() => JSON.stringify({ ...localStorage }));
  const offered = () => page.locator(".prose-draft");
  /** Types texts at the ends of branches of one root, each with a change of the root, while nothing can be saved. */
  const typeUnsaved = async (...typed) => {
    await page.route(/\/api\/v1\/nodes\/.*\/text$/, (route) => route.abort());
    for (const [node, words] of typed) {
      await open(node);
      await keys("e");
      await page.keyboard.type(words);
      await caretAfter("Base");
      await page.keyboard.type(" old");
      await keys("Escape");
      await page.locator(".is-offline").waitFor();
    }
    await page.reload();
    await page.unrouteAll({ behavior: "wait" });
  };

  await check("a draft of versions that are not shown is offered, is not overwritten, and becomes versions beside them", async () => {
    const [{ root: first }] = bench.run("new", "--buffer", "Base.");
    const [left, right] = ["Left.", "Right."].map((text) => bench.run("say", "--at", first.local_id, text)[0].nodes[0]);
    await typeUnsaved([left, " Mine"], [right, " Yours"]);
    await until("the text after a reload", async () => (await prose().inputValue()) === "Base old.Right. Yours");
    await page.locator(".notice", { hasText: "A typed text is not saved" }).waitFor();
    await prose().focus();
    await keys("Control+s");
    await saved();
    equal(path(await here(page)), ["Base old.", "Right. Yours"], "the saved branch");
    await open(left);
    await until("the new version before the other branch", async () => (await prose().inputValue()) === "Base old.Left.");
    await offered().waitFor();
    equal(await bench.findings(page), [], "axe: a draft that is offered");
    await keys("e");
    await page.keyboard.type(" More");
    const stored = await unsaved();
    truth(["Left. Mine", "Left. More"].every((text) => stored.includes(text)), "both texts are stored");
    await keys("Control+s");
    await saved();
    await offered().getByRole("button", { name: "Look at it" }).click();
    await page.locator("dialog .draft", { hasText: "Left. Mine" }).waitFor();
    equal(await bench.findings(page), [], "axe: a draft");
    await page.getByRole("button", { name: "Show at its place" }).click();
    await until("the draft", async () => (await prose().inputValue()) === "Base old.Left. Mine");
    await prose().focus();
    await keys("Control+s");
    await saved();
    equal(path(await here(page)), ["Base old.", "Left. Mine"], "the draft in its nodes");
    equal([await offered().count(), (await unsaved()).includes("Mine")], [0, false], "what is left of the draft");
    const versions = (id) => page.evaluate((id) => fetch(`/api/v1/nodes/${id}/versions`).then((answer) => answer.json()), id).then(({ data }) => data.map((node) => node.content));
    equal([await versions(first.id), await versions(left.id)], [["Base.", "Base old.", "Base old."], ["Left.", "Left. More", "Left. Mine"]], "versions");
  });

  await check("every draft is listed, also one whose place is gone, and can be added or discarded", async () => {
    const [{ root: first }] = bench.run("new", "--buffer", "Base.");
    const [left, right] = ["Left.", "Right."].map((text) => bench.run("say", "--at", first.local_id, text)[0].nodes[0]);
    await typeUnsaved([left, " Pearl"], [right, " Amber"]);
    await until("the text after a reload", async () => (await prose().inputValue()) === "Base old.Right. Amber");
    bench.run("purge", "node", left.id, "--yes");
    const draft = async () => {
      await keys("Control+k");
      await page.keyboard.type("drafts");
      await keys("Enter");
      await page.locator("dialog[aria-label=Drafts] .option", { hasText: "Pearl" }).click();
      await page.locator("dialog .draft", { hasText: "Left. Pearl" }).waitFor();
    };
    await draft();
    equal(await page.locator("dialog .draft").textContent(), "Base old.\n\nLeft. Pearl", "all that was typed");
    await page.getByRole("button", { name: "Show at its place" }).click();
    await at(left.local_id);
    truth((await unsaved()).includes("Pearl"), "the draft stays where it cannot be shown");
    await open(first);
    await until("the root", async () => (await prose().count()) && (await prose().inputValue()).startsWith("Base"));
    await draft();
    await page.getByRole("button", { name: "Add as a new branch" }).click();
    await until("the branch", async () => (await prose().inputValue()).endsWith("Base old.\n\nLeft. Pearl"));
    await until("no draft", async () => !(await unsaved()).includes("Pearl"));
    const [{ root: other }] = bench.run("new", "--buffer", "Base.");
    await typeUnsaved([other, " Coral"], [first, ""]);
    await page.locator(".notice", { hasText: "A typed text is not saved" }).getByRole("button", { name: "Show" }).click();
    await page.locator("dialog .draft", { hasText: "Base old. Coral" }).waitFor();
    await page.getByRole("button", { name: "Discard" }).click();
    await closed();
    equal((await unsaved()).includes("Coral"), false, "a discarded draft");
    await open(other);
    equal(await prose().inputValue(), "Base.", "the text without the draft");
  });

  await check("what another tab left unsaved is not overwritten, and a storage without room is reported", async () => {
    const [{ root: first }] = bench.run("new", "--buffer", "Kept");
    await open(first);
    const other = await page.context().newPage();
    await other.route(/\/text$/, (route) => route.abort());
    await other.goto(`${bench.started.address}/#/${first.id}`);
    await waitAt(first.local_id, other);
    await other.locator(".prose-text").focus();
    await other.keyboard.type(" there");
    await other.close();
    await keys("e");
    await page.keyboard.type(" here");
    const stored = await unsaved();
    truth(["Kept there", "Kept here"].every((text) => stored.includes(text)), "both texts are stored");
    await keys("Control+s");
    await saved();
    await offered().getByRole("button", { name: "Look at it" }).click();
    await page.locator("dialog .draft", { hasText: "Kept there" }).waitFor();
    await page.getByRole("button", { name: "Discard" }).click();
    await until("no offer", async () => !(await offered().count()));
    await page.evaluate(() => (Storage.prototype.setItem = () => { throw new Error("full"); }));
    await prose().focus();
    await page.keyboard.type("!");
    await page.locator(".notice", { hasText: "no room for unsaved text" }).waitFor();
    await keys("Control+s");
    await saved();
    await page.reload();
  });

  await check("a second save while one is on its way is sent after it", async () => {
    const [{ root: first }] = bench.run("new", "--buffer", "The sea.");
    await page.route(/\/api\/v1\/nodes\/.*\/text$/, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 400));
      await route.continue();
    });
    for (const save of [() => keys("Control+s"), () => page.getByRole("button", { name: "Save" }).click({ force: true })]) {
      await open(first);
      await keys("e");
      await page.keyboard.type(" One");
      await save();
      await prose().focus();
      await page.keyboard.type(" two");
      await save();
      await saved();
      const end = await prose().inputValue();
      truth(end.endsWith(" One two"), end);
      equal(path(await here(page)), [end], "the saved text");
    }
    await page.unrouteAll({ behavior: "wait" });
  });

  await check("text is saved by a Tab out of its buttons, and when the server answers again", async () => {
    const [{ root: first }] = bench.run("new", "--buffer", "Kept ");
    await open(first);
    await keys("e");
    await page.keyboard.type("words");
    for (let times = 0; times < 7; times++) await keys("Tab");
    await saved();
    equal(path(await here(page)), ["Kept words"], "after the Tab");
    await page.context().setOffline(true);
    await prose().focus();
    await keys("Control+End");
    await page.keyboard.type(" too");
    await keys("Escape");
    await until("offline", () => page.locator(".is-offline").count());
    await page.context().setOffline(false);
    await saved();
    equal(path(await here(page)), ["Kept words too"], "after the connection");
    // A save whose answer is lost is not repeated.
    await page.route(/\/text$/, (route) => route.fetch().then(() => route.abort()), { times: 1 });
    await prose().focus();
    await keys("Control+End");
    await page.keyboard.type(" late");
    await keys("Escape");
    await until("offline", () => page.locator(".is-offline").count());
    await saved();
    equal(bench.run("view", await here(page))[0].content, "Kept words too late", "after the answer was lost");
    equal((await page.evaluate((id) => fetch(`/api/v1/nodes/${id}/versions`).then((answer) => answer.json()), first.id)).data.length, 4, "versions");
  });

  await check("the browser asks before unsaved text is closed, and the next tab has it", async () => {
    const [{ root: first }] = bench.run("new", "--buffer", "Kept ");
    const tab = async () => {
      const other = await page.context().newPage();
      await other.goto(`${bench.started.address}/#/${first.id}`);
      await waitAt(first.local_id, other);
      return other;
    };
    const close = async (other) => {
      const asked = other.waitForEvent("dialog");
      await other.close({ runBeforeUnload: true });
      equal([(await asked).type(), await (await asked).accept()], ["beforeunload", undefined], "the question");
      await until("closed", () => other.isClosed());
    };
    let other = await tab();
    await other.route(/\/text$/, (route) => route.abort());
    await other.locator(".prose-text").focus();
    await other.keyboard.type("words");
    await close(other);
    other = await tab();
    equal(await other.locator(".prose-text").inputValue(), "Kept words", "the text");
    await other.locator(".prose-text").focus();
    await other.keyboard.press("Control+s");
    await until("the save", () => bench.run("view", "--path", first.id).length === 1 && bench.run("log").some((entry) => entry.op === "edit"));
    await other.close();
    other = await tab();
    await other.keyboard.press("a");
    await other.keyboard.type("a note");
    await close(other);
    other = await tab();
    await other.keyboard.press("a");
    equal(await other.locator("dialog textarea").inputValue(), "a note", "the draft of the note");
    await other.getByRole("button", { name: "Discard the draft" }).click();
    await other.close();
  });

  await check("a long text is continued by new nodes, and keys typed on stay text", async () => {
    const long = "word ".repeat(4798);
    const [{ root: first }] = bench.run("new", "--buffer", long);
    await open(first);
    await keys("e");
    await page.keyboard.type("The end is near.");
    await keys("Control+s");
    await saved();
    await page.keyboard.type(" And on.");
    truth((await prose().inputValue()).endsWith("The end is near. And on."), "the text");
    const pasted = " leaf".repeat(11_000);
    await page.evaluate((text) => document.execCommand("insertText", false, text), pasted);
    await keys("Control+s");
    await saved();
    const nodes = path(await here(page));
    equal(nodes.join("") === `${long}The end is near. And on.${pasted}`, true, "the saved text");
    truth(nodes.length > 3 && nodes.slice(1).every((text) => text.length < 43_000), `lengths: ${nodes.map((text) => text.length)}`);
    equal(await prose().inputValue() === nodes.join(""), true, "the shown text");
    // Had the page removed the text, what is typed on would run commands.
    await prose().focus();
    await page.evaluate(() => document.querySelector(".prose-text").remove());
    await keys("u", "Space");
    await page.locator(".notice", { hasText: "has closed" }).waitFor();
    equal([path(await here(page)).length, await page.locator(".streams").count()], [nodes.length, 0], "commands that ran");
    await page.reload();
  });

  await check("a long paste into the last node becomes several, and one that is too long for a node before it changes nothing", async () => {
    const [{ root: first }] = bench.run("new", "--buffer", "Before. Selected. After.");
    const long = "leaf ".repeat(10_000);
    const paste = async (from, to) => {
      await prose().evaluate((area, [from, to]) => { area.focus(); area.setSelectionRange(from, to); }, [from, to]);
      await keys("Control+v");
    };
    const save = async () => {
      await until("not saved", async () => (await page.locator(".prose-status").textContent()) === "not saved");
      await keys("Control+s");
      await saved();
    };
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await open(first);
    await page.evaluate((text) => navigator.clipboard.writeText(text), long);
    await paste(8, 17);
    await save();
    const nodes = path(await here(page));
    equal(nodes.join("") === `Before. ${long} After.`, true, "the saved text");
    truth(nodes.length > 1 && nodes.every((text) => text.length < 43_000), `lengths: ${nodes.map((text) => text.length)}`);
    equal(await prose().inputValue() === nodes.join(""), true, "the shown text");
    const [{ root: other }] = bench.run("new", "--buffer", "Root.");
    const [middle] = bench.run("say", "--at", other.local_id, "One. Two. Three.")[0].nodes;
    const [end] = bench.run("say", "--at", middle.local_id, "End.")[0].nodes;
    await open(end);
    await paste(9, 14);
    await page.locator(".notice", { hasText: "48,000 bytes" }).waitFor();
    equal([await prose().inputValue(), await page.locator(".prose-status").textContent()], ["Root.One. Two. Three.End.", ""], "the text");
    await caretAfter("Two.");
    await page.locator(".prose-bar").getByRole("button", { name: "Split" }).click();
    await until("the first half", async () => (await prose().inputValue()) === "Root.One. Two.");
    await paste(14, 14);
    await save();
    equal(path(await here(page)).join("") === `Root.One. Two.${long}`, true, "the text after the split");
    equal((await prose().inputValue()).length, 14 + long.length, "the shown text after the split");
  });

  await check("a generation that ends leaves the text that is being typed", async () => {
    const [{ root: first }] = bench.run("new", "--buffer", "The lamp was lit.");
    await open(first);
    await page.locator(".count-field select").selectOption("1");
    let release = () => {};
    const typed = new Promise((resolve) => (release = resolve));
    await page.route(/continuations$/, async (route) => {
      const response = await route.fetch();
      await typed;
      // The page may have given the request up meanwhile.
      await route.fulfill({ response }).catch(() => {});
    }, { times: 1 });
    await prose().focus();
    await keys("Control+End", "Control+Enter");
    await page.locator(".streams").waitFor();
    await prose().focus();
    await page.keyboard.type(" I wrote");
    release();
    await page.locator(".stream.is-done").waitFor();
    await page.keyboard.type(" on.");
    equal(await prose().inputValue(), "The lamp was lit. I wrote on.", "the text");
    await keys("Control+s");
    await saved();
    await keys("1");
    await until("the continuation", async () => (await prose().inputValue()).length > 30);
    equal(path(await here(page))[0], "The lamp was lit. I wrote on.", "the text before it");
    await page.locator(".count-field select").selectOption("3");
  });

  await check("lines that end by CR and LF are no changes, and are counted", async () => {
    const [{ root: first }] = bench.run("new", "--buffer", "One.\r\nTwo.\r\n");
    const [second] = bench.run("say", "--at", first.local_id, "Three.\r\nFour.\rFive.")[0].nodes;
    await open(second);
    await prose().focus();
    await keys("Control+Home");
    await page.keyboard.type("X");
    await keys("Control+s");
    await saved();
    equal([await prose().inputValue(), path(await here(page))], ["XOne.\nTwo.\nThree.\nFour.\nFive.", ["XOne.\nTwo.\n", "Three.\r\nFour.\rFive."]], "the text");
    await caretAfter("Four.");
    await page.locator(".prose-bar").getByRole("button", { name: "Split" }).click();
    await until("the half", async () => (await here(page)) !== second.local_id);
    equal(path(await here(page)).at(-1), "Three.\r\nFour.", "the first half");
    const [{ root: other }] = bench.run("new", "aa\r\nbb\r\ncc dd");
    await open(other);
    await keys("S");
    await page.locator("dialog textarea").evaluate((area) => { area.focus(); area.setSelectionRange(6, 6); });
    await page.getByRole("button", { name: "Split here" }).click();
    await closed();
    await until("the half", async () => (await here(page)) !== other.local_id);
    equal(bench.run("view", await here(page))[0].content, "aa\r\nbb\r\n", "the first half by the dialog");
  });

  await check("an edit is kept by a step that follows at once", async () => {
    const [{ root: first }] = bench.run("new", "--buffer", "One light. ");
    const [second] = bench.run("say", "--at", first.local_id, "Two boats.")[0].nodes;
    await page.route(/\/api\/v1\/nodes\/.*\/text$/, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 200));
      await route.continue();
    });
    await open(second);
    await caretAfter("Two");
    await page.keyboard.type(" small");
    await keys("Escape", "ArrowLeft");
    await at(first.local_id);
    await page.unrouteAll({ behavior: "wait" });
    await keys("ArrowRight");
    await until("the edit", async () => (await prose().inputValue()) === "One light. Two small boats.");
  });

  await check("a number chooses a continuation in the text; what is typed keeps its spaces", async () => {
    const [{ root: first }] = bench.run("new", "--buffer", "The sea.");
    await open(first);
    await prose().click();
    await caretAfter("The sea.");
    await keys("Control+Enter");
    await until("streams", async () => (await page.locator(".stream.is-done").count()) === 3);
    await keys("2");
    await until("the continuation", async () => !(await page.locator(".stream").count()) && (await prose().inputValue()) !== "The sea.");
    truth(!(await prose().inputValue()).includes("2"), "the digit is no text");
    await page.locator(".composer textarea").fill("\n\n And then ");
    await page.locator(".composer textarea").focus();
    await keys("Enter");
    await until("the message", async () => (await prose().inputValue()).endsWith("\n\n And then "));
  });

  await check("a line that fails stays, and the undo of a notice takes back no later change", async () => {
    await open(view("9pakc5"));
    const field = page.locator(".composer textarea");
    await field.fill("→ annotate zzzz99 \"first line\nsecond line\"");
    await field.focus();
    await keys("Enter");
    await page.locator(".results pre").waitFor();
    await keys("Escape");
    equal(await field.inputValue(), "→ annotate zzzz99 \"first line\nsecond line\"", "the line");
    await field.fill("");
    await keys("Escape", "b");
    await page.keyboard.type("a mark");
    await keys("Enter");
    await closed();
    const undo = page.locator(".notice button", { hasText: "Undo" });
    await undo.waitFor();
    bench.run("annotate", "--tree", sample, "9pakc5", "by another window");
    await undo.click();
    await until("a refusal", () => page.locator(".notice", { hasText: "a later change" }).count());
    equal(view("9pakc5").state.bookmark, "a mark", "the mark");
  });

  await check("what is typed while a tree begins is its next message", async () => {
    await page.route(/\/api\/v1\/trees$/, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      await route.continue();
    }, { times: 1 });
    await keys("Control+k");
    await page.keyboard.type("new tree");
    await keys("Enter");
    const field = page.locator(".composer textarea");
    await page.locator(".welcome").waitFor();
    await field.focus();
    await page.keyboard.type("It begins.");
    await keys("Enter");
    await page.keyboard.type("It goes on.");
    await until("the tree", () => page.locator(".entry", { hasText: "It begins." }).count());
    equal(await field.inputValue(), "It goes on.", "the input line");
    await keys("Enter");
    await until("the message", () => page.locator(".entry.is-cursor", { hasText: "It goes on." }).count());
  });

  await check("a message that is entered while another one is sent follows it", async () => {
    const [{ root: first }] = bench.run("new", "First.");
    await open(first);
    await page.route(/\/children$/, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      await route.continue();
    });
    const field = page.locator(".composer textarea");
    await field.focus();
    for (const words of ["Second.", "Third."]) {
      await page.keyboard.type(words);
      await keys("Enter", "Enter");
    }
    await page.keyboard.type("Fourth");
    await until("both messages", () => page.locator(".entry.is-cursor", { hasText: "Third." }).count());
    equal(path(await here(page)), ["First.", "Second.", "Third."], "the path");
    await until("the rest", async () => (await field.inputValue()) === "Fourth");
    await field.fill("");
    await page.unrouteAll({ behavior: "wait" });
  });

  await check("a message that is being sent does not bring back the tree that was left for a new one", async () => {
    const [{ root: first }] = bench.run("new", "Left behind.");
    const slow = (address) => page.route(address, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      await route.continue().catch(() => {});
    }, { times: 1 });
    const newTree = async () => {
      await page.locator(".header .title").click();
      await page.getByRole("button", { name: "New tree" }).last().click();
      await page.locator(".welcome").waitFor();
    };
    const field = page.locator(".composer textarea");
    await open(first);
    await slow(/\/children$/);
    await field.fill("On its way.");
    await field.focus();
    await keys("Enter");
    await newTree();
    await page.locator(".notice", { hasText: "Added to the tree that was left" }).waitFor();
    truth(await page.locator(".welcome").isVisible(), "the new tree is still chosen");
    equal(await field.inputValue(), "", "the input line of the new tree");
    await page.locator(".notice button", { hasText: "Show" }).click();
    await page.locator(".entry.is-cursor", { hasText: "On its way." }).waitFor();
    // While a step is on its way, it is not known where the message belongs.
    await page.locator(".outline-scroll").focus();
    await slow(/\/window\?/);
    await keys("ArrowLeft");
    await field.fill("Not sent.");
    await field.focus();
    await keys("Enter");
    await newTree();
    await page.locator(".notice", { hasText: "The message is not sent" }).waitFor();
    await open(first);
    await until("the message in its input line", async () => (await field.inputValue()) === "Not sent.");
    await field.fill("");
    equal(bench.run("view", first.id)[0].state.continuations, 1, "messages after the first");
  });

  await check("a node is split by key and by menu", async () => {
    const [{ root: first }] = bench.run("new", "Left. Right.");
    await open(first);
    // The caret also moves by keys that were typed before the dialog was there.
    await page.route("**/api/v1/nodes/*", async (route) => {
      await new Promise((done) => setTimeout(done, 300));
      await route.continue();
    }, { times: 1 });
    await keys("S");
    for (let times = 0; times < 6; times++) await keys("ArrowRight");
    await page.locator("dialog textarea").waitFor();
    await until("the preview", async () => (await page.locator("dialog .form-row [role=status]").textContent()).includes("Right."));
    await keys("Enter");
    await closed();
    await until("the first half", async () => (await here(page)) !== first.local_id);
    const half = bench.run("view", await here(page))[0];
    equal(half.content, "Left. ", "the first half");
    truth(bench.run("do", `→ list ${half.local_id} versions`)[0].text.includes("Right."), "the second half");
    await keys("u");
    await until("the undo", async () => (await page.locator(".entry .markdown").allTextContents()).join() === "Left. Right.");
    await page.locator(".line.is-cursor").click({ button: "right" });
    await page.getByRole("menuitem", { name: "Split…" }).click();
    await page.locator("dialog textarea").evaluate((area) => { area.focus(); area.setSelectionRange(5, 5); });
    await page.getByRole("button", { name: "Split here" }).click();
    await closed();
    await until("the first half again", async () => (await page.locator(".entry.is-cursor .markdown").textContent()) === "Left.");
  });

  await check("marked nodes are merged by key and by menu", async () => {
    await open(view("w1esxf"));
    await keys("x", "h", "x", "M");
    await page.locator("dialog textarea").waitFor();
    truth((await page.locator("dialog textarea").inputValue()).includes("She does not."), "both texts");
    await page.locator("dialog textarea").fill("Both at once.");
    await keys("Control+Enter");
    await until("the merged node", () => page.locator(".entry.is-cursor", { hasText: "Both at once." }).count());
    await closed();
    const merged = view(await here(page));
    equal([merged.content, merged.parent_id], ["Both at once.", view("w1esxf").id], "the merged node");
    await page.getByRole("button", { name: "Undo" }).last().click();
    await until("the undo", async () => (await here(page)) !== merged.local_id || (await page.locator(".entry.is-cursor .mark", { hasText: "pruned" }).count()));
    await open(view("f5w5k2"));
    await page.locator(".line.is-cursor").click({ button: "right" });
    await page.getByRole("menuitem", { name: /^Merge with/ }).click();
    await page.locator("dialog textarea").fill("Merged by the menu.");
    await page.getByRole("button", { name: "Merge", exact: true }).click();
    await until("the merged node", () => page.locator(".entry.is-cursor", { hasText: "Merged by the menu." }).count());
    await closed();
    await page.reload();
    await page.locator(".entry.is-cursor").waitFor();
  });

  await check("a node is pinned by key and by menu", async () => {
    const pinned = () => bench.run("do", "--tree", sample, "→ memory").map((reply) => reply.text.split("Recent actions")[0]).join().includes("9pakc5");
    await open(view("9pakc5"));
    await keys("P");
    await until("the pin", () => page.locator(".entry.is-cursor .mark", { hasText: "pinned" }).count());
    truth(pinned(), "pinned in the database");
    await page.locator(".line.is-cursor").click({ button: "right" });
    await page.getByRole("menuitem", { name: "Unpin" }).click();
    await until("no pin", async () => !(await page.locator(".entry.is-cursor .mark", { hasText: "pinned" }).count()));
    truth(!pinned(), "not pinned in the database");
  });

  await check("an arrow line is completed by key and by mouse", async () => {
    await open(view("9pakc5"));
    await keys("i");
    await page.keyboard.type("-> boo");
    await page.locator(".completion", { hasText: /^bookmark/ }).waitFor();
    await keys("Tab");
    const field = page.locator(".composer textarea");
    await until("the verb", async () => (await field.inputValue()) === "→ bookmark ");
    await until("the ids", () => page.locator(".completion.is-node", { hasText: "9pakc5" }).count());
    await page.keyboard.type("9pa");
    await until("one id", async () => (await page.locator(".completion").count()) === 1);
    equal(await bench.findings(page), [], "axe: completion");
    await page.locator(".completion").click();
    await until("the id", async () => (await field.inputValue()) === "→ bookmark 9pakc5 ");
    await page.keyboard.type("\"a completed line\"");
    await keys("Enter");
    await page.locator(".results pre").waitFor();
    await keys("Escape");
    equal(view("9pakc5").state.bookmark, "a completed line", "bookmark");
    await field.fill("→ view bookmark:");
    await until("the label", () => page.locator(".completion", { hasText: "a completed line" }).count());
    await keys("ArrowDown", "Enter");
    await until("a reference by label", async () => (await field.inputValue()).startsWith("→ view bookmark:\""));
    await field.fill("→ continue from 9pakc5 n");
    await until("an option", () => page.locator(".completion.is-option", { hasText: "n:" }).count());
    await keys("Escape");
    await until("closed", async () => !(await page.locator(".completion").count()));
    truth((await field.inputValue()).endsWith(" n"), "Escape closes the list only");
    await field.fill("→ boo\n→ view 9pakc5");
    await field.evaluate((area) => area.setSelectionRange(5, 5));
    await page.keyboard.type("k");
    await page.locator(".completion", { hasText: /^bookmark/ }).waitFor();
    await keys("Tab");
    equal(await field.inputValue(), "→ bookmark \n→ view 9pakc5", "the next line stays");
    await keys("Escape");
    await field.fill("");
    await keys("Escape");
  });

  await check("a branch is moved and copied by drag", async () => {
    const [{ root: first }] = bench.run("new", "A tree to drag in");
    const tree = bench.run("view", first.id)[0].tree_id;
    const say = (parent, text) => bench.run("say", "--tree", tree, "--at", parent, text)[0].nodes[0];
    const [one, two] = [say(first.local_id, "Branch one"), say(first.local_id, "Branch two")];
    const leaf = say(one.local_id, "A leaf");
    await open(first);
    const line = (text) => page.locator(".line", { hasText: text });
    await line("A leaf").dragTo(line("Branch two"));
    await until("the move", async () => (await here(page)) !== first.local_id);
    const moved = bench.run("view", "--tree", tree, await here(page))[0];
    equal([moved.content, moved.parent_id], ["A leaf", two.id], "the moved branch");
    truth(bench.run("view", "--tree", tree, leaf.id)[0].state.pruned_by, "the original is hidden");
    await page.keyboard.down("Control");
    await line("A leaf").dragTo(line("Branch one"));
    await page.keyboard.up("Control");
    await until("the copy", async () => (await here(page)) !== moved.local_id);
    const copy = bench.run("view", "--tree", tree, await here(page))[0];
    equal([copy.content, copy.parent_id], ["A leaf", one.id], "the copy");
    truth(!bench.run("view", "--tree", tree, moved.id)[0].state.pruned_by, "the original stays");
  });

  const dropped = (name, text) => page.evaluate(([name, text]) => {
    const files = new DataTransfer();
    files.items.add(new File([text], name));
    const event = (kind) => document.querySelector(".main").dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: files }));
    event("dragover");
    const isShown = new Promise((resolve) => requestAnimationFrame(() => resolve(document.querySelector(".drop-cover") !== null)));
    return isShown.then((shown) => (event("drop"), shown));
  }, [name, text]);

  await check("a file is imported by a drop and by key, reported, and taken back", async () => {
    const trees = () => bench.run("trees").map((tree) => tree.title);
    const before = trees().length;
    const conversation = { messages: [{ role: "user", content: "Which rivers meet here?" }, { role: "assistant", content: "Two of them." }] };
    truth(await dropped("rivers.jsonl", `${JSON.stringify(conversation)}\nnot json\n`), "the cover says what a drop does");
    const report = page.getByRole("dialog", { name: "Import" });
    await report.waitFor();
    truth((await report.textContent()).includes("rivers.jsonl"), "the name");
    truth((await report.locator("pre").textContent()).includes("2"), "the place of the bad line");
    equal(await bench.findings(page), [], "axe: import");
    await report.getByRole("button", { name: "Open" }).click();
    await until("the tree", () => page.locator(".entry", { hasText: "Which rivers meet here?" }).count());
    equal(trees().length, before + 1, "trees");
    await dropped("rivers.jsonl", `${JSON.stringify(conversation)}\n`);
    await report.waitFor();
    truth((await report.textContent()).includes("Nothing new came in."), "what is known is skipped");
    await keys("Escape");
    await closed();
    const chooser = page.waitForEvent("filechooser");
    await page.locator(".outline-scroll").focus();
    await keys("I");
    await (await chooser).setFiles({ name: "hills.jsonl", mimeType: "application/json", buffer: Buffer.from(JSON.stringify({ messages: [{ role: "user", content: "Name a hill." }] })) });
    await report.waitFor();
    equal(trees().length, before + 2, "trees");
    await report.getByRole("button", { name: "Take it back" }).click();
    await until("the undo", () => page.locator(".notice", { hasText: "taken back" }).count());
    equal(trees().length, before + 1, "trees after it was taken back");
    await page.locator(".notice").getByRole("button", { name: "Undo" }).click();
    await until("the tree again", () => trees().length === before + 2);
    await dropped("wrong.bin", "PK\u0003\u0004 an archive");
    await report.locator(".bad").waitFor();
    await keys("Escape");
    await closed();
  });

  await check("the collaborator answers, and a plan waits for an approval", async () => {
    const [{ root: first }] = bench.run("new", "Which is yours?");
    await open(first);
    await page.evaluate(() => localStorage.setItem("loom-models", "[]"));
    await page.reload();
    await at(first.local_id);
    await page.locator(".outline-scroll").focus();
    await keys("r");
    await until("the answer", () => page.locator(".entry.is-cursor", { hasText: "Mine is the sea." }).count());
    equal(bench.run("view", await here(page))[0].author_type, "model", "its author");
    const delegate = async () => {
      await keys("i");
      await page.keyboard.type("→ delegate \"Paint the shed\" wait:no");
      await keys("Enter");
      await page.locator(".results pre").waitFor();
      await keys("Escape", "Escape");
      await closed();
      await page.locator(".approval").waitFor();
    };
    await delegate();
    const shown = await page.locator(".approval").textContent();
    truth(shown.includes("<img src=x onerror=") && shown.includes("gre\\u{200b}en"), `the plan is shown literally: ${shown}`);
    equal(await page.evaluate(() => globalThis.broken ?? 0), 0, "scripts that ran");
    equal(await bench.findings(page), [], "axe: approval");
    await page.locator(".outline-scroll").focus();
    await keys("A", "Tab", "Tab");
    equal(await page.locator(":focus").textContent(), "Approve once", "the focus");
    await until("ready", () => page.locator(":focus").isEnabled());
    await keys("Enter");
    await until("the report", () => bench.run("do", "→ recall tool:delegate")[0].text.includes("task completed"));
    await delegate();
    await page.getByRole("button", { name: "Refuse" }).click();
    await until("no approval", async () => !(await page.locator(".approval").count()));
    await until("the refusal", () => bench.run("do", "→ delegate list")[0].text.includes("refused"));
    // The model's replies are in the order of the requests.
    const ended = () => until("the end of every delegation", () => page.evaluate(() => fetch("/api/v1/delegations").then((answer) => answer.json()).then(({ data }) => data.every((each) => each.state !== "running"))));
    // A worker's command waits too: the approval of the plan does not cover it.
    const painted = () => existsSync(join(bench.home, "PAINTED"));
    await delegate();
    await page.getByRole("button", { name: "Approve once" }).click();
    await page.locator(".approval", { hasText: "touch PAINTED" }).waitFor();
    equal(painted(), false, "the command waits");
    await page.getByRole("button", { name: "Approve once" }).click();
    await until("the command", painted);
    await until("no approval", async () => !(await page.locator(".approval").count()));
    // A permanent approval of the command covers the next one, but no plan.
    await ended();
    rmSync(join(bench.home, "PAINTED"));
    await delegate();
    equal(await page.getByRole("button", { name: "always" }).count(), 0, "permanent approvals of a plan");
    await page.getByRole("button", { name: "Approve once" }).click();
    await page.locator(".approval", { hasText: "touch PAINTED" }).waitFor();
    const always = page.getByRole("button", { name: "Approve always" });
    equal(await always.getAttribute("title"), "Approve run_command of exactly this, until the server ends", "what it covers");
    await always.click();
    await until("the command", painted);
    await ended();
    rmSync(join(bench.home, "PAINTED"));
    await delegate();
    await page.getByRole("button", { name: "Approve once" }).click();
    await until("the command without a question", painted);
  });

  await check("one request is decided at a time, by one click or key that was meant for it", async () => {
    const decisions = [];
    let list = [{ id: 11, tool: "run_command", summary: "ls", details: `ls${"\n".repeat(40)}rm -rf x`, always: "run_command of ex\u200bactly this" }];
    await page.route(/\/api\/v1\/approvals$/, (route) => route.fulfill({ json: { data: list } }));
    await page.route(/\/api\/v1\/approvals\/\d+$/, (route) => {
      const id = Number(route.request().url().split("/").at(-1));
      decisions.push(id);
      list = list.filter((each) => each.id !== id);
      return route.fulfill({ status: 204 });
    });
    const card = page.locator(".approval");
    const approve = page.getByRole("button", { name: "Approve once" });
    await page.locator(".approval", { hasText: "rm -rf x" }).waitFor();
    equal(await approve.isDisabled(), true, "at first it cannot be decided");
    truth((await card.textContent()).includes("run_command of ex\\u{200b}actly this, until"), "the scope is text");
    truth(/\d+ more lines below/.test(await card.locator(".approval-more").textContent()), "hidden lines are counted");
    await card.locator("pre").evaluate((pre) => (pre.scrollTop = 9_999));
    await until("the end", async () => (await card.locator(".approval-more").textContent()) === "End of the text.");
    list = [...list, ...[12, 13, 14].map((id) => ({ id, tool: "run_command", summary: `rm -rf ${id}` }))];
    await until("the count", async () => (await card.textContent()).includes("1 of 4"));
    equal(await card.count(), 1, "requests that are shown");
    await approve.click({ trial: true });
    const box = await approve.boundingBox();
    await page.mouse.dblclick(box.x + 20, box.y + 10, { delay: 60 });
    await page.locator(".approval", { hasText: "rm -rf 12" }).waitFor();
    equal(decisions, [11], "decided by a double click");
    await page.locator(".outline-scroll").focus();
    await keys("A", "Tab");
    await until("ready", () => approve.isEnabled());
    await page.locator(".outline-scroll").focus();
    await keys("A", "Tab", "Enter", "Enter");
    await page.locator(".approval", { hasText: "rm -rf 13" }).waitFor();
    truth((await page.locator(":focus").getAttribute("class")) === "approval", "the next request has the focus");
    await until("ready", () => approve.isEnabled());
    await keys("Enter", "Tab", "Tab", "Enter", "Enter");
    await page.locator(".approval", { hasText: "rm -rf 14" }).waitFor();
    await until("ready", () => approve.isEnabled());
    await keys("Tab", "Enter", "Enter");
    await until("none", async () => !(await card.count()));
    truth((await page.locator(":focus").getAttribute("class")).includes("outline-scroll"), "the focus is where it was");
    equal([decisions, await page.locator(".streams").count()], [[11, 12, 13, 14], 0], "decisions and generations");
    await page.unrouteAll({ behavior: "wait" });
  });

  await check.harmless();
} finally {
  await bench.close();
}
process.exit(check.failed ? 1 : 0);
