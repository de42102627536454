// Dialogs that show data: comparison of branches, context report, document.

import { html, Component } from "./elements.js";
import { get } from "./api.js";
import * as state from "./state.js";
import { go } from "./navigation.js";
import { compare, coalesce, countWords } from "./diff.js";
import { Markdown } from "./markdown.js";
import { marked } from "./marked-nodes.js";

/** Nodes of a branch that are compared. */
const MAX_COMPARED = 200;
/** Nodes at the ends of two paths that are read to find where they parted, in turn; 0: all. */
const READ_NODES = [200, 2_000, 0];

/** Loads data once, and shows it or its failure. Properties: `load`, `view`. */
class Loaded extends Component {
  state = { data: /** @type {any} */ (null), error: "" };

  componentDidMount() {
    this.props.load().then(
      (/** @type {any} */ data) => this.setState({ data }),
      (/** @type {any} */ error) => this.setState({ error: error.message }),
    );
  }

  render() {
    const { data, error } = this.state;
    if (error) return html`<p class="bad" role="alert">${error}</p>`;
    return data ? this.props.view(data) : html`<p class="dim">Loading…</p>`;
  }
}

/** @typedef {import("./api.js").Node} Node */

/** Reads the branch of a node and another one, after the last node that both have. @param {string} here */
async function loadCompared(here) {
  let other = marked.value?.id;
  if (!other || other === here) other = (await get(`/nodes/${here}/window?steps=previous&above=0&below=0&path=1`)).node;
  if (!other || other === here) throw new Error("There is no branch beside this one. Mark another node with x first.");
  for (const limit of READ_NODES) {
    const paths = await Promise.all([other, here].map((node) => get(`/nodes/${node}/path?limit=${limit}`)));
    const [before, after] = /** @type {Node[][]} */ (paths.map((path) => path.data));
    const known = new Map(before.map((node, at) => [node.id, at]));
    const shared = after.findLastIndex((node) => known.has(node.id));
    if (shared < 0 && limit && Math.max(before.length, after.length) >= limit) continue;
    const common = after[shared] ?? null;
    return { before: before.slice(common ? (known.get(common.id) ?? 0) + 1 : 0), after: after.slice(shared + 1), common };
  }
}

/** @param {Node[]} nodes */
const text = (nodes) => nodes.slice(0, MAX_COMPARED).map((node) => node.content).join("\n\n");

/** @param {string} id */
const leaveFor = (id) => () => {
  state.dialog.value = null;
  go(id);
};

/** @param {Node} node */
const excerpt = (node) => (node.content.length > 120 ? `…${node.content.slice(-118).trimStart()}` : node.content);

/** @param {{node?: string}} props */
export function Compare({ node }) {
  const view = (/** @type {any} */ { before, after, common }) => {
    const pieces = coalesce(compare(text(before), text(after)));
    const changed = (/** @type {string} */ kind) => countWords(pieces.filter((piece) => piece.kind === kind).map((piece) => piece.text).join(" "));
    const side = (/** @type {string} */ name, /** @type {Node[]} */ nodes, /** @type {"gone" | "added"} */ kind) => {
      const last = nodes.at(-1);
      const words = changed(kind);
      return html`<section class=${`compare-side is-${kind} ${last ? `by-${last.author_type}` : ""}`} aria-label=${name}>
        <header><span class="dot" aria-hidden="true"></span><h3>${name}</h3><span class="compare-count">${kind === "gone" ? "−" : "+"}${words.toLocaleString()} ${words === 1 ? "word" : "words"}</span>
          <span class="spacer"></span>${last && html`<button type="button" class="button small id" title="Go to its end" onClick=${leaveFor(last.id)}>${last.local_id}</button>`}</header>
        <div class="compared" dir="auto">${nodes.length ? pieces.filter((piece) => piece.kind === "same" || piece.kind === kind).map((piece, at) => piece.kind === "same" ? piece.text : kind === "gone" ? html`<del key=${at}>${piece.text}</del>` : html`<ins key=${at}>${piece.text}</ins>`) : html`<p class="dim">It ends where the other one goes on.</p>`}</div></section>`;
    };
    return html`<div class="compare" tabindex="0" role="region" aria-label="Differences">
      ${common ? html`<p class="compare-common"><span class="dim">Both follow</span> <button type="button" class="button small id" onClick=${leaveFor(common.id)}>${common.local_id}</button>
        <q dir="auto">${excerpt(common)}</q></p>` : html`<p class="dim">The branches have no node in common.</p>`}
      ${Math.max(before.length, after.length) > MAX_COMPARED && html`<p class="dim">Only the first ${MAX_COMPARED} messages of each branch are compared.</p>`}
      <div class="compare-sides">${side("Other branch", before, "gone")}${side("This branch", after, "added")}</div></div>`;
  };
  return html`<${Loaded} load=${() => loadCompared(node ?? state.cursor.value ?? "")} view=${view} />`;
}

const SECTIONS = /** @type {Record<string, string>} */ ({
  agent_prompt: "agent's prompt", tree_prompt: "tree's prompt", addendum: "instructions", state: "session state", memory: "memory",
  conversation: "conversation", results: "results", ambient: "surroundings", input: "last message", messages: "message overhead",
});

/** @param {any} fate */
const reason = (fate) => (fate === "in" ? "" : Object.entries(fate).map(([kind, why]) => `${kind === "cut" ? "shortened" : "left out"}: ${why}`).join());

export function ContextReport() {
  const view = (/** @type {any} */ { report, prompt }) => {
    const most = Math.max(1, ...report.parts.map((/** @type {any} */ part) => part[1]));
    const used = Math.round((100 * report.total) / Math.max(1, report.budget));
    return html`<div class="context" tabindex="0" role="region" aria-label="Context">
      <p><b>${report.total.toLocaleString()}</b> of ${report.budget.toLocaleString()} tokens (${used} %) would be sent to a model here.</p>
      <div class="bars">${report.parts.map((/** @type {[string, number]} */ [name, tokens]) => html`<div key=${name} class="bar"><span>${SECTIONS[name] ?? name}</span>
        <svg aria-hidden="true" viewBox="0 0 100 8" preserveAspectRatio="none"><rect width=${(100 * tokens) / most} height="8" /></svg><span>${tokens.toLocaleString()}</span></div>`)}</div>
      ${report.earlier > 0 && html`<p class="dim">${report.earlier} earlier nodes are left out.</p>`}
      <table><thead><tr><th>node</th><th>role</th><th>tokens</th><th></th></tr></thead><tbody>${report.path.slice(-60).map((/** @type {any} */ node) => html`<tr key=${node.id}>
        <td><button type="button" class="button small" onClick=${() => { state.dialog.value = null; go(node.id); }}>${node.local_id}</button></td><td>${node.role}</td><td>${node.tokens}</td><td class="dim">${reason(node.fate)}</td></tr>`)}</tbody></table>
      <details><summary>The prompt</summary><pre tabindex="0">${JSON.stringify(prompt, null, 2)}</pre></details></div>`;
  };
  return html`<${Loaded} load=${() => get(`/nodes/${state.cursor.value}/context`)} view=${view} />`;
}

/** @param {{name: string}} props */
export function DocumentView({ name }) {
  const load = () => get(`/documents/${encodeURIComponent(name)}`);
  const view = (/** @type {any} */ { document, markdown, left_out }) => html`<div class="document" tabindex="0" role="region" aria-label=${document.name}>
    <p class="dim">${document.name} · version ${document.version}</p>
    <${Markdown} tokens=${markdown} />${left_out && html`<p class="dim">${left_out} more bytes are not shown.</p>`}</div>`;
  return html`<${Loaded} key=${name} load=${load} view=${view} />`;
}
