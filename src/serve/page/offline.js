// Start of an exported file: the same page over the tree in the file. Nothing is requested, and nothing can be changed.

import { html, render } from "./elements.js";
import { effect } from "./signals.js";
import { answerLocally, ApiError } from "./api.js";
import * as state from "./state.js";
import { go } from "./navigation.js";
import { listen } from "./keys.js";
import { Shell } from "./frame.js";
import { OfflineTree, plain } from "./offline-tree.js";
import { source } from "./markdown-source.js";
import { OfflineMap } from "./offline-map.js";

const MAX_HITS = 100;

const tree = new OfflineTree(JSON.parse(document.getElementById("tree")?.textContent ?? ""));
/** @type {OfflineMap | null} */
let map = null;

/** A node as lists show it. @param {number} at */
function listed(at) {
  const { id, local_id, author_type, created_at, bookmark, markdown } = tree.nodes[at];
  return { id, local_id, tree_id: tree.tree.id, content: plain(markdown), author_type, created_at, kind: "continuation", state: { bookmark } };
}

/** Nodes that contain every word of a query. @param {{query: string, path?: string}} body */
function search({ query, path }) {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const cursor = tree.index.get(path ?? "");
  const among = cursor === undefined ? [...tree.index.values()] : tree.pathTo(tree.placeOf(cursor));
  const found = words.length ? among.filter((at) => words.every((word) => plain(tree.nodes[at].markdown).toLowerCase().includes(word))) : [];
  return { hits: found.slice(0, MAX_HITS).map((at) => ({ node: listed(at) })), near: [] };
}

/** The path to a node in Markdown, as `loom export --path` writes it, without what is excluded or pruned. @param {number} node */
function pathText(node) {
  const path = tree.pathTo(tree.placeOf(node)).map((place) => tree.nodes[tree.selected(place, state.versions.peek())]);
  const shown = path.filter((each) => !each.excluded && !each.pruned);
  const text = shown.map((each) => `### ${each.role === each.author_type ? each.author : `${each.role}, edited by ${each.author}`} · ${each.local_id}\n\n${source(each.markdown)}\n`).join("\n");
  const pruned = path.filter((each) => each.pruned).length;
  const excluded = path.length - shown.length - pruned;
  return { text, left_out: { ...(excluded && { excluded }), ...(pruned && { pruned }) } };
}

/** @param {string} _method @param {string} path @param {any} body */
function answer(_method, path, body) {
  const [place, query] = path.split("?");
  const parameters = new URLSearchParams(query);
  const [, kind, id, more, last] = place.split("/");
  const node = tree.index.get(id);
  if (kind === "nodes" && more === "window" && node !== undefined) return tree.window(node, parameters);
  if (kind === "nodes" && more === "path" && node !== undefined) return { data: tree.pathTo(tree.placeOf(node)).map(listed) };
  if (kind === "trees" && more === "map") {
    map ??= new OfflineMap(tree);
    return last === "node" ? map.node(parameters) : map.answer(parameters);
  }
  if (kind === "trees" && more === "export" && parameters.get("format") === "markdown") return pathText(tree.index.get(parameters.get("node") ?? "") ?? tree.root);
  if (kind === "trees" && more === "bookmarks") return { data: tree.bookmarks().map(listed) };
  if (kind === "trees" && !id) return { data: [tree.tree] };
  if (kind === "recall") return search(body);
  if (more === "pruned" || ["sessions", "documents", "agents", "approvals"].includes(kind)) return { data: [] };
  throw new ApiError(404, "not_found", "this file holds the tree alone", "open it with `loom open` for more");
}

answerLocally(answer);
effect(() => {
  const theme = state.theme.value;
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
});
state.me.value = { scope: "read", agent: "", writers: [], models: [], journal: 0, version: "" };
render(html`<${Shell} />`, /** @type {Element} */ (document.getElementById("app")));
listen();
const named = location.hash.match(/^#\/([0-9A-Za-z]+)/)?.[1] ?? "";
go(tree.index.has(named) ? named : tree.nodes[tree.root].id);
window.addEventListener("hashchange", () => {
  const id = location.hash.slice(2);
  if (tree.index.has(id) && id !== state.cursor.value) go(id);
});
