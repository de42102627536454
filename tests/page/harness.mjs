// Starts the program and a browser for the tests of the page.
//
// Usage of the scripts: node SCRIPT LOOM. `LOOM_PAGE_TOOLS` names the folder in which `npm install playwright-core axe-core`
// was run, `LOOM_CHROMIUM` the browser. With `LOOM_PAGE_FILES=src/serve/page`, the page's files come from the disk, so that a
// change of them needs no build.

import { spawn, spawnSync } from "node:child_process";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import readline from "node:readline";

export const loom = path.resolve(process.argv[2]);
export const root = path.resolve(import.meta.dirname, "../..");
const tools = path.resolve(process.env.LOOM_PAGE_TOOLS ?? path.join(root, "target/page-tests"));
const require = createRequire(path.join(tools, "package.json"));
const { chromium } = require("playwright-core");
const axe = require.resolve("axe-core/axe.min.js");

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** A home folder with a database, a server and a browser. */
export class Bench {
  constructor() {
    this.home = mkdtempSync(path.join(tmpdir(), "loom-page-"));
    this.db = path.join(this.home, "loom.db");
    this.environment = { HOME: this.home, PATH: process.env.PATH, OLLAMA_HOST: "http://127.0.0.1:9", LLAMACPP_BASE_URL: "http://127.0.0.1:9", LMSTUDIO_BASE_URL: "http://127.0.0.1:9" };
    /** Requests to other origins, violations of the policy, and errors. */
    this.foreign = [];
    this.violations = [];
    this.errors = [];
    this.bytes = 0;
  }

  /** Runs the program on the database, from another process than the server. Returns its output as JSON values. */
  run(...args) {
    const ran = spawnSync(loom, ["--db", this.db, "--json", ...args], { env: this.environment, cwd: this.home, encoding: "utf8" });
    if (ran.status !== 0) throw new Error(`loom ${args.join(" ")}: ${ran.stderr}`);
    return ran.stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  }

  /** Starts the server of `loom open` or `loom serve`. */
  async serve(...args) {
    this.server = spawn(loom, ["--db", this.db, "--json", ...args], { env: this.environment, cwd: this.home, stdio: ["ignore", "pipe", "inherit"] });
    // An error that nothing catches ends the script; a server that stays would hold the output open.
    process.once("exit", () => this.server.kill());
    const [line] = await new Promise((resolve) => readline.createInterface({ input: this.server.stdout }).once("line", (text) => resolve([text])));
    this.started = JSON.parse(line);
    return this.started;
  }

  async browse() {
    this.browser = await chromium.launch({ executablePath: process.env.LOOM_CHROMIUM ?? "/usr/bin/chromium", headless: true, args: FLAGS });
  }

  /** Imports the sample tree and opens it at `hj17rx` by the link of `loom open` with options. Returns the tab, the link, and the tree's id. */
  async openSample(...options) {
    this.run("import", `${root}/fixtures/sample.jsonl`);
    this.run("switch", "hj17rx");
    const sample = this.run("view")[0].tree_id;
    const { link } = await this.serve("open", "--no-browser", ...options);
    await this.browse();
    const page = await this.tab(link);
    await at("hj17rx", page);
    return { page, link, sample };
  }

  /** Opens a tab in a context of its own, which records what a page may not do. */
  async tab(address, options = {}) {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "light", ...options });
    if (options.scripted !== false) {
      await context.addInitScript(() => {
        if (!localStorage.getItem("loom-models")) localStorage.setItem("loom-models", JSON.stringify(["scripted:words"]));
      });
    }
    const files = process.env.LOOM_PAGE_FILES;
    if (files) {
      const styles = () => readdirSync(path.join(files, "style")).sort().map((name) => readFileSync(path.join(files, "style", name), "utf8")).join("");
      await context.route(/\/page\/[0-9a-f]+\//, (route) => {
        const name = new URL(route.request().url()).pathname.split("/").slice(3).join("/");
        return name === "style.css" ? route.fulfill({ contentType: "text/css", body: styles() }) : route.fulfill({ path: path.join(files, name) });
      });
    }
    const page = await context.newPage();
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(this.started.address) && !url.startsWith("data:")) this.foreign.push(url);
    });
    page.on("response", async (response) => {
      this.bytes += Number(response.headers()["content-length"] ?? 0);
    });
    page.on("console", (message) => {
      if (/Content Security Policy|Trusted/i.test(message.text())) this.violations.push(message.text());
      else if (message.type() === "error" && !/net::|status of/.test(message.text())) this.errors.push(message.text());
    });
    page.on("pageerror", (error) => this.errors.push(String(error.stack ?? error)));
    await page.goto(address);
    return page;
  }

  /** Returns serious findings of axe. The policy blocks scripts that a page adds, so axe is evaluated by the debugger. */
  async findings(page) {
    await page.evaluate(readFileSync(axe, "utf8"));
    const result = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    const serious = result.violations.filter((finding) => ["serious", "critical"].includes(finding.impact));
    return serious.map((finding) => `${finding.id}: ${finding.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 120)} ${node.any[0]?.message ?? ""}`).join(" | ")}`);
  }

  /**
   * Starts a model with the protocol of OpenAI that answers requests with texts, in order, and makes it the default model.
   * Returns the requests so far. Must be called before `serve`. While `this.pause` is a promise, a reply stops halfway.
   */
  async model(...replies) {
    const requests = [];
    this.modelServer = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => (body += chunk));
      request.on("end", async () => {
        if (request.method !== "POST") return response.writeHead(404).end();
        requests.push(JSON.parse(body));
        const next = replies[Math.min(requests.length, replies.length) - 1];
        response.writeHead(200, { "content-type": "text/event-stream" });
        const send = (delta, finish_reason) => response.write(`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", model: "m", choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
        const half = this.pause ? next.lastIndexOf(" ", next.length * 0.6) + 1 : 0;
        send({ role: "assistant", content: "" });
        if (half) send({ content: next.slice(0, half) });
        await this.pause;
        send({ content: next.slice(half) });
        send({}, "stop");
        response.end("data: [DONE]\n\n");
      });
    });
    await new Promise((resolve) => this.modelServer.listen(0, "127.0.0.1", resolve));
    const config = path.join(this.home, "config.yaml");
    writeFileSync(config, `model: http://127.0.0.1:${this.modelServer.address().port}/v1#m\n`);
    this.environment.LOOM_CONFIG = config;
    return requests;
  }

  async close() {
    this.modelServer?.closeAllConnections();
    this.modelServer?.close();
    await this.browser?.close();
    this.server?.kill("SIGKILL");
    rmSync(this.home, { recursive: true, force: true });
  }
}

/** Waits until a function returns a true value. */
export async function until(what, test, ms = Number(process.env.LOOM_PAGE_WAIT_MS ?? 20_000)) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await test();
    if (value) return value;
    if (Date.now() > end) throw new Error(`after ${ms} ms there was not: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}

export function equal(found, expected, what) {
  if (JSON.stringify(found) !== JSON.stringify(expected)) throw new Error(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
}

export function truth(value, what) {
  if (!value) throw new Error(`not true: ${what}`);
}

/**
 * Returns a function that runs a check and reports it; `check.failed` counts failures. A check begins without dialogs and
 * menus, whatever the one before left.
 */
export function checks(bench, file, page) {
  const only = process.argv[3];
  const check = async (name, run) => {
    if (only && !name.includes(only)) return;
    const start = performance.now();
    try {
      await run();
      console.log(`ok    ${name} (${Math.round(performance.now() - start)} ms)`);
    } catch (error) {
      check.failed += 1;
      console.log(`FAIL  ${name}: ${error.message.split("\n").slice(0, 3).join(" ")}`);
      console.log(`      ${error.stack.split("\n").filter((line) => line.includes(file)).slice(0, 2).join(" ").trim()}`);
      await page()?.screenshot({ path: process.env.LOOM_PAGE_SHOT ?? `${bench.home}/failed.png` }).catch(() => {});
      for (let times = 0; times < 3; times++) await page()?.keyboard.press("Escape").catch(() => {});
    }
  };
  check.failed = 0;
  /** The last check: whatever the others did, the page did nothing that it may not do. */
  check.harmless = () => check("no violation, no foreign request, no error", async () => {
    equal([bench.violations, bench.foreign, bench.errors], [[], [], []], "violations, requests, errors");
  });
  return check;
}

/** Local id at the cursor. */
export const here = (tab) => tab.locator(".status .here").textContent({ timeout: 20_000 });
export const at = (id, tab) => until(`the cursor at ${id}`, async () => (await here(tab)) === id);
