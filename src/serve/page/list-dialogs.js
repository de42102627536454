// Dialogs that are lists: search, bookmarks, pruned branches, trees, the palette.

import { html, counted, Button, Component } from "./elements.js";
import { signal, observer } from "./signals.js";
import { get, call, list } from "./api.js";
import * as state from "./state.js";
import { go, leaveTree } from "./navigation.js";
import { Picker } from "./picker.js";
import { restore } from "./actions.js";
import { chooseFiles } from "./import.js";
import { COMMANDS, keyLabel, runCommand } from "./keys.js";

/** @param {string} text @param {number} length */
const cut = (text, length) => (text.length > length ? `${text.slice(0, length)}…` : text);

/** @param {string} text */
const oneLine = (text) => text.replace(/\s+/g, " ").trim();

/** Marks words of a search in a text. @param {string} text @param {string} query */
function highlighted(text, query) {
  const words = query.match(/[\p{L}\p{N}]{2,}/gu) ?? [];
  if (!words.length) return text;
  const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return text.split(new RegExp(`(${escaped.join("|")})`, "giu")).map((part, at) => (at % 2 ? html`<mark>${part}</mark>` : part));
}

/** Text around the first word that matches. @param {string} text @param {string} query @param {number} length */
function excerpt(text, query, length) {
  const line = oneLine(text);
  const word = query.match(/[\p{L}\p{N}]{2,}/u)?.[0].toLowerCase();
  const at = word ? line.toLowerCase().indexOf(word) : -1;
  const from = Math.max(0, at - 60);
  return `${from ? "…" : ""}${cut(line.slice(from), length)}`;
}

/** Goes to a chosen node. On a narrow screen, its text is shown instead of the tree or the map. @param {string} node */
function visit(node) {
  if (state.isNarrow()) state.showText();
  return go(node);
}

/** Where a search looks: the tree, the path or everything. */
const scope = signal("tree");
const SCOPES = [["tree", "This tree"], ["path", "This path"], ["all", "Everything"]];

/** @param {string} query @param {AbortSignal} signal */
async function search(query, signal) {
  if (!query.trim()) {
    state.hits.value = [];
    return [];
  }
  const where = scope.value === "all" || !state.tree.value ? {} : { tree: state.tree.value.id, ...(scope.value === "path" && { path: state.cursor.value }) };
  const found = await call("POST", "/recall", { query, limit: 30, ...where }, signal);
  const hits = [...found.hits, ...found.near].slice(0, 40);
  state.hits.value = found.hits.map((/** @type {any} */ { node }) => node.id);
  return hits.map((/** @type {any} */ { node }) => ({
    key: node.id,
    title: highlighted(excerpt(node.content, query, 220), query),
    side: node.local_id,
    run: () => visit(node.id),
  }));
}

export const Search = observer(() => {
  const shown = scope.value;
  const actions = html`<div class="segments" role="group" aria-label="Where to search">${SCOPES.map(([name, label]) => html`<button type="button"
    key=${name} class="button small" aria-pressed=${shown === name} onClick=${() => (scope.value = name)}>${label}</button>`)}</div>`;
  return html`<${Picker} scope=${shown} label="Search" placeholder="Words, a question, or “an exact phrase”" delay=${60} load=${search} actions=${actions} empty="Type to search." />`;
});

/** @param {string} query @param {import("./api.js").Node[]} nodes @param {(id: string) => any} run */
const options = (query, nodes, run) =>
  nodes
    .filter((node) => `${node.state.bookmark ?? ""} ${node.content}`.toLowerCase().includes(query.toLowerCase()))
    .map((node) => ({ key: node.id, title: node.state.bookmark || cut(oneLine(node.content), 90), detail: node.state.bookmark && cut(oneLine(node.content), 160), side: node.local_id, run: () => run(node.id) }));

/** Returns a function that reads a list once, however often it is filtered. @param {string} path */
function once(path) {
  /** @type {Promise<any[]> | null} */
  let entries = null;
  return () => (entries ??= list(path).catch((error) => {
    entries = null;
    throw error;
  }));
}

export function Bookmarks() {
  const read = once(`/trees/${state.tree.value?.id}/bookmarks`);
  const load = async (/** @type {string} */ query) => options(query, await read(), visit);
  return html`<${Picker} label="Bookmarks" placeholder="Filter bookmarks" load=${load} empty="No bookmarks yet. b sets one." />`;
}

export function Pruned() {
  const read = once(`/trees/${state.tree.value?.id}/pruned`);
  const load = async (/** @type {string} */ query) => options(query, await read(), restore);
  return html`<${Picker} label="Pruned branches" placeholder="Choose a branch to restore" load=${load} empty="No branch is pruned." />`;
}

/** Starts a tree with the input line. @param {"dialogue" | "buffer"} mode */
function startTree(mode) {
  state.newMode.value = mode;
  state.dialog.value = null;
  leaveTree();
  history.replaceState(null, "", "#/");
  queueMicrotask(() => /** @type {HTMLElement | null} */ (document.querySelector(".composer textarea"))?.focus());
}

export const newTree = () => startTree("dialogue");

export function Trees() {
  const read = once("/trees");
  const load = async (/** @type {string} */ query) => {
    const trees = (await read()).filter((/** @type {any} */ tree) => tree.title.toLowerCase().includes(query.toLowerCase()));
    return trees.map((/** @type {any} */ tree) => ({
      key: tree.id,
      title: tree.title,
      detail: `${counted(tree.nodes, "node")} · ${counted(tree.branch_points, "branch point")}${tree.description ? ` · ${tree.description}` : ""}`,
      side: new Date(tree.updated_at).toLocaleDateString(),
      run: () => tree.root_id && go(tree.root_id),
    }));
  };
  const actions = state.canWrite.value && html`<${Button} icon="plus" text="New tree" label="Start a tree" class="small" onClick=${newTree} />
    <${Button} text="Import…" label="Import conversations from files" class="small" onClick=${chooseFiles} />`;
  return html`<${Picker} label="Trees" placeholder="Find a tree" load=${load} actions=${actions} empty="There is no tree yet." />`;
}

export function Sessions() {
  const read = once(`/sessions?tree=${state.tree.value?.id}`);
  const load = async (/** @type {string} */ query, /** @type {AbortSignal} */ signal) => {
    const [data, agents] = await Promise.all([read(), get("/agents", signal).catch(() => ({ data: [] }))]);
    const names = new Map(agents.data.map((/** @type {any} */ agent) => [agent.id, agent.name]));
    const shown = data.map((/** @type {any} */ session) => ({
      key: session.id,
      title: `${names.get(session.agent_id) ?? "?"}${session.metadata?.name ? ` · ${session.metadata.name}` : ""}${session.workspace ? ` in ${session.workspace}` : ""}`,
      detail: `${session.turns} turns · ${session.tokens} tokens${session.model ? ` · ${session.model}` : ""}`,
      side: new Date(session.last_active_at).toLocaleString(),
      run: () => session.position_id && visit(session.position_id),
    }));
    return shown.filter((/** @type {any} */ option) => `${option.title} ${option.detail}`.toLowerCase().includes(query.toLowerCase()));
  };
  return html`<${Picker} label="Sessions" placeholder="Go to the position of a session" load=${load} empty="No session is active in this tree." />`;
}

/** Changes that one page of the list reads. */
const PAGE_CHANGES = 500;

/** Changes of the tree, the newest first, by pages. The last one of each agent offers its undo; another one leads to its node. */
export class Log extends Component {
  state = { after: "", older: "" };

  load = async (/** @type {string} */ query, /** @type {AbortSignal} */ signal) => {
    const { after } = this.state;
    const { data, next } = await get(`/trees/${state.tree.value?.id}/journal?limit=${PAGE_CHANGES}${after && `&after=${after}`}`, signal);
    this.setState({ older: next ?? "" });
    const operations = data.filter((/** @type {any} */ entry) => entry.seq === entry.group && `${entry.agent} ${entry.description}`.toLowerCase().includes(query.toLowerCase()));
    return operations.map((/** @type {any} */ { seq, agent, description, at, node_id, undo }) => ({
      key: String(seq),
      title: html`<b>${agent}</b> ${description}`,
      detail: undo && state.canWrite.value && `last change of ${agent}: choose it to undo it`,
      side: new Date(at).toLocaleString(),
      run: () => (undo && state.canWrite.value ? (state.dialog.value = { kind: "undo", agent, description }) : node_id && visit(node_id)),
    }));
  };

  render() {
    const { after, older } = this.state;
    const show = (/** @type {string} */ to) => () => this.setState({ after: to });
    const actions = html`${after && html`<${Button} text="Newest" label="Show the newest changes" class="small" onClick=${show("")} />`}
      ${older && html`<${Button} text="Older" label="Show older changes" class="small" onClick=${show(older)} />`}`;
    return html`<${Picker} scope=${after} label="Changes" placeholder="Find one of these changes" load=${this.load} actions=${actions} empty="There is no change." />`;
  }
}

export function Documents() {
  const read = once("/documents");
  const load = async (/** @type {string} */ query) => {
    const documents = (await read()).filter((/** @type {any} */ document) => document.name.toLowerCase().includes(query.toLowerCase()));
    return documents.map((/** @type {any} */ document) => ({
      key: document.id,
      title: document.name,
      detail: document.summary,
      side: `version ${document.version}`,
      run: () => (state.dialog.value = { kind: "document", name: document.name }),
    }));
  };
  return html`<${Picker} label="Documents" placeholder="Find a document" load=${load} empty=${'There is no document. → write doc:"name" "text" in the input line makes one.'} />`;
}

export function Palette() {
  const load = (/** @type {string} */ query) => {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = COMMANDS.filter((command) => {
      const text = `${command.name.replaceAll("_", " ")} ${command.help} ${command.group}`.toLowerCase();
      return command.name !== "palette" && (!command.writes || state.canWrite.value) && words.every((word) => text.includes(word));
    });
    const own = matches.map((command) => ({
      key: command.name,
      title: html`<b>${command.name.replaceAll("_", " ")}</b> ${command.help}`,
      side: command.keys.slice(0, 2).map((key) => html`<kbd key=${key}>${keyLabel(key)}</kbd>`),
      run: () => runCommand(command),
    }));
    for (const [name, help, mode] of /** @type {[string, string, "dialogue" | "buffer"][]} */ ([["new tree", "start a conversation", "dialogue"], ["new prose", "start a buffer tree: one text, which is edited in place", "buffer"]])) {
      if (!state.canWrite.value || !words.every((word) => `${name} ${help}`.includes(word))) continue;
      own.push({ key: name, title: html`<b>${name}</b> ${help}`, side: [], run: () => startTree(mode) });
    }
    return Promise.resolve(own);
  };
  return html`<${Picker} label="Actions" placeholder="What do you want to do?" load=${load} empty="" />`;
}
