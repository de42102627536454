// Keys as data: those of the terminal program, where a browser leaves them to pages. The help, the menus and the palette
// derive from this table.

import * as state from "./state.js";
import { step, back, fold, toggleHoist, afterSteps } from "./navigation.js";
import * as actions from "./actions.js";
import * as sessions from "./sessions.js";
import { generate, answer, stop, choose, setCount, count } from "./generations.js";
import { focusComposer } from "./composer.js";
import { focusProse } from "./buffer-editor.js";
import { focusApproval } from "./approvals.js";
import { chooseFiles } from "./import.js";
import { marked, marks, toggleMark } from "./marked-nodes.js";
import { openMenuHere } from "./menu.js";
import { zoomMap, panMap } from "./map.js";
import { runHolding, isTyping, listenHeld } from "./type-ahead.js";

/** @typedef {{name: string, keys: string[], group: string, help: string, run: () => any, writes?: boolean}} Command */

/** @param {string} kind */
const open = (kind) => () => (state.dialog.value = { kind });

/** @type {Command[]} */
export const COMMANDS = [
  { name: "parent", keys: ["ArrowLeft", "h"], group: "Walk", help: "to the node before", run: () => step("parent") },
  { name: "child", keys: ["ArrowRight", "l"], group: "Walk", help: "to the continuation visited last", run: () => step("child") },
  { name: "next", keys: ["ArrowDown", "j"], group: "Walk", help: "to the next branch beside this one", run: () => step("next") },
  { name: "previous", keys: ["ArrowUp", "k"], group: "Walk", help: "to the branch before this one", run: () => step("previous") },
  { name: "line_down", keys: ["J"], group: "Walk", help: "to the next line of the outline", run: () => step("line_down") },
  { name: "line_up", keys: ["K"], group: "Walk", help: "to the line before it", run: () => step("line_up") },
  { name: "root", keys: ["Home", "0"], group: "Walk", help: "to the root", run: () => step("root") },
  { name: "end", keys: ["End", "$"], group: "Walk", help: "to the end of this branch", run: () => step("end") },
  { name: "back", keys: ["Backspace"], group: "Walk", help: "to where you were before", run: back },
  { name: "page_down", keys: ["PageDown"], group: "Walk", help: "read on", run: () => scrollText(0.9) },
  { name: "page_up", keys: ["PageUp"], group: "Walk", help: "read back", run: () => scrollText(-0.9) },
  { name: "fold", keys: ["z"], group: "Walk", help: "fold this branch, or open it", run: () => fold() },
  { name: "hoist", keys: ["Z"], group: "Walk", help: "show this branch alone, or all again", run: toggleHoist },
  { name: "version", keys: [">"], group: "Walk", help: "to the next version of this node", run: () => step("version") },
  { name: "version_back", keys: ["<"], group: "Walk", help: "to the previous version", run: () => step("version_back") },
  { name: "next_bookmark", keys: ["B"], group: "Walk", help: "to the next bookmark", run: () => step("bookmark") },
  { name: "say", keys: ["i"], group: "Write", help: "write a line: the next node, or an → command", run: focusComposer, writes: true },
  { name: "approvals", keys: ["A"], group: "Write", help: "to the action that waits for your decision", run: focusApproval },
  { name: "generate", keys: [" ", "Enter", "g"], group: "Write", help: "have models continue here", run: generate, writes: true },
  { name: "answer", keys: ["r"], group: "Write", help: "have the collaborator answer, with commands", run: answer, writes: true },
  { name: "count", keys: ["n"], group: "Write", help: "how many continuations", run: () => setCount((count.value % 6) + 1) },
  { name: "models", keys: ["m"], group: "Write", help: "pick models", run: open("models") },
  { name: "edit", keys: ["e"], group: "Change", help: "edit this node; in a buffer, write in the text", run: edit, writes: true },
  { name: "annotate", keys: ["a"], group: "Change", help: "write a note on it", run: () => actions.annotate(), writes: true },
  { name: "bookmark", keys: ["b"], group: "Change", help: "bookmark it, or remove the bookmark", run: () => actions.bookmark(), writes: true },
  { name: "mark", keys: ["x"], group: "Change", help: "mark it for merge, copy, move, compare", run: () => toggleMark() },
  { name: "merge", keys: ["M"], group: "Change", help: "write a node that merges the marked ones", run: merge, writes: true },
  { name: "split", keys: ["S"], group: "Change", help: "cut it in two at a place you choose", run: () => actions.askSplit(), writes: true },
  { name: "pin", keys: ["P"], group: "Change", help: "pin it in the context, or unpin it", run: () => actions.pin(), writes: true },
  { name: "copy_here", keys: ["Y"], group: "Change", help: "copy the marked branch under this node", run: () => relocate("copy"), writes: true },
  { name: "move_here", keys: ["V"], group: "Change", help: "move the marked branch under this node", run: () => relocate("move"), writes: true },
  { name: "prune", keys: ["p", "Delete"], group: "Change", help: "prune this branch", run: () => actions.prune(), writes: true },
  { name: "restore", keys: ["R"], group: "Change", help: "pruned branches, to bring one back", run: open("pruned") },
  { name: "exclude", keys: ["X"], group: "Change", help: "exclude it from what models read, or include it", run: () => actions.exclude(), writes: true },
  { name: "undo", keys: ["u", "ctrl-z"], group: "Change", help: "undo your last change", run: () => actions.undo(), writes: true },
  { name: "redo", keys: ["U", "ctrl-Z", "ctrl-y"], group: "Change", help: "redo it", run: actions.redo, writes: true },
  { name: "menu", keys: ["ContextMenu", "shift-F10"], group: "Change", help: "the menu of this node", run: openMenuHere },
  { name: "search", keys: ["/"], group: "Look", help: "search as you type", run: open("search") },
  { name: "bookmarks", keys: ["'"], group: "Look", help: "all bookmarks", run: open("bookmarks") },
  { name: "diff", keys: ["d"], group: "Look", help: "compare with the marked branch, or the one before", run: open("compare") },
  { name: "context", keys: ["c"], group: "Look", help: "what a model would get, and what it costs", run: open("context") },
  { name: "log", keys: [], group: "Look", help: "changes of this tree; undo the last one of an agent", run: open("log") },
  { name: "documents", keys: ["D"], group: "Look", help: "documents", run: open("documents") },
  { name: "drafts", keys: [], group: "Look", help: "typed texts that are not saved", run: open("drafts"), writes: true },
  { name: "trees", keys: ["t"], group: "Look", help: "trees", run: open("trees") },
  { name: "reading", keys: ["v"], group: "Look", help: "read as conversation, or as prose", run: toggleReading },
  { name: "layout", keys: ["w"], group: "Look", help: "tree and text, map and text, text alone, tree alone", run: nextLayout },
  { name: "sessions", keys: ["s"], group: "Session", help: "sessions", run: open("sessions") },
  { name: "session_new", keys: [], group: "Session", help: "begin a conversation with the collaborator", run: open("session_new"), writes: true },
  { name: "session_name", keys: [], group: "Session", help: "name the collaborator's session in this tree", run: sessions.askName, writes: true },
  { name: "session_end", keys: [], group: "Session", help: "end that session; its messages stay", run: sessions.end, writes: true },
  { name: "session_reset", keys: [], group: "Session", help: "begin that session again at a fresh root; its messages stay", run: sessions.reset, writes: true },
  { name: "zoom_in", keys: ["+", "="], group: "Map", help: "enlarge the map around the cursor", run: () => zoomMap(1.6) },
  { name: "zoom_out", keys: ["-"], group: "Map", help: "show more of the map", run: () => zoomMap(1 / 1.6) },
  { name: "whole_tree", keys: ["_"], group: "Map", help: "show the whole tree on the map", run: () => zoomMap(0) },
  { name: "map_left", keys: ["shift-ArrowLeft"], group: "Map", help: "move the map to the left", run: () => panMap(-1, 0) },
  { name: "map_right", keys: ["shift-ArrowRight"], group: "Map", help: "move the map to the right", run: () => panMap(1, 0) },
  { name: "map_up", keys: ["shift-ArrowUp"], group: "Map", help: "move the map up", run: () => panMap(0, -1) },
  { name: "map_down", keys: ["shift-ArrowDown"], group: "Map", help: "move the map down", run: () => panMap(0, 1) },
  { name: "save_path", keys: ["W"], group: "Program", help: "export the path to the cursor as Markdown", run: () => actions.download("markdown") },
  { name: "export_jsonl", keys: [], group: "Program", help: "export as JSONL: the whole tree, without losses", run: () => actions.download("jsonl") },
  { name: "export_html", keys: [], group: "Program", help: "export as HTML: the tree as a page that needs no server", run: () => actions.download("html") },
  { name: "rename", keys: [], group: "Program", help: "rename the tree", run: open("rename"), writes: true },
  { name: "import", keys: ["I"], group: "Program", help: "import conversations from files; or drop them on the page", run: chooseFiles, writes: true },
  { name: "theme", keys: [], group: "Program", help: "light, dark or as the system", run: nextTheme },
  { name: "palette", keys: ["ctrl-k", ":"], group: "Program", help: "every action by name", run: open("palette") },
  { name: "help", keys: ["?", "F1"], group: "Program", help: "every key", run: open("help") },
  { name: "cancel", keys: ["Escape"], group: "Program", help: "stop what runs, close what is open", run: cancel },
];

const BY_KEY = new Map(COMMANDS.flatMap((command) => command.keys.map((key) => [key, command])));

/** Label of a key. @param {string} key @returns {string} */
export function keyLabel(key) {
  if (key.startsWith("shift-")) return `⇧${keyLabel(key.slice(6))}`;
  const names = /** @type {Record<string, string>} */ ({ ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", " ": "Space", Escape: "Esc", Backspace: "⌫", Delete: "Del", ContextMenu: "☰" });
  return names[key] ?? key;
}

/** First key of a command. @param {string} name */
export function hint(name) {
  const key = COMMANDS.find((command) => command.name === name)?.keys[0];
  return key ? keyLabel(key) : undefined;
}

/** @param {number} pages */
function scrollText(pages) {
  const pane = document.querySelector(".reading-scroll");
  pane?.scrollBy({ top: pane.clientHeight * pages });
}

export function toggleReading() {
  state.reading.value = state.reading.value === "prose" ? "conversation" : "prose";
}

export function nextLayout() {
  const layouts = ["both", "map", "text", "tree"];
  state.layout.value = layouts[(layouts.indexOf(state.layout.value) + 1) % layouts.length];
}

export function nextTheme() {
  const themes = ["system", "light", "dark"];
  state.theme.value = themes[(themes.indexOf(state.theme.value) + 1) % themes.length];
  localStorage.setItem("loom-theme", state.theme.value);
  state.notify(`Theme: ${state.theme.value}`);
}

/** In a buffer, the text is edited in place. */
function edit() {
  return state.tree.value?.mode === "buffer" && focusProse() ? undefined : actions.edit();
}

/** Merges the marked nodes; one marked node is merged with that at the cursor. */
function merge() {
  const ids = marks.value.map((node) => node.id);
  const here = state.cursor.value;
  if (ids.length === 1 && here && ids[0] !== here) ids.push(here);
  return ids.length < 2 ? state.notify("mark the nodes to merge with x first") : actions.merge(ids);
}

/** @param {"copy" | "move"} op */
function relocate(op) {
  const node = marked.value;
  if (!node || !state.cursor.value) return state.notify("mark a branch with x first");
  return actions.relocate(op, node.id, state.cursor.value);
}

function cancel() {
  if (stop()) return;
  state.notice.value = null;
}

/** Runs a command: one that acts on the node at the cursor waits for the steps before it. @param {Command} command @returns {any} */
export function runCommand(command) {
  if (["Change", "Session"].includes(command.group)) return runHolding(command.run);
  if (command.run === generate || command.run === answer) afterSteps(command.run);
  else command.run();
}

/** Field outside dialogs that had the focus last. @type {HTMLElement | null} */
let field = null;

/** True for a key that was meant for a field that was removed while it had the focus. A click, Tab or Escape ends this. @param {KeyboardEvent} event */
function isForRemoved({ key, ctrlKey, metaKey }) {
  if (["Tab", "Escape"].includes(key)) field = null;
  const isText = !ctrlKey && !metaKey && (key.length === 1 || ["Enter", "Backspace", "Delete"].includes(key));
  return isText && field !== null && !field.isConnected && document.activeElement === document.body;
}

/** Handles keys of the whole page. */
export function listen() {
  listenHeld();
  document.addEventListener("focusin", ({ target }) => {
    field = target instanceof HTMLElement && isTyping(target) && !target.closest("dialog") ? target : null;
  });
  document.addEventListener("pointerdown", () => (field = null));
  document.addEventListener("keydown", (event) => {
    if (isForRemoved(event)) {
      event.preventDefault();
      return state.notify("The text field has closed; press Esc to use shortcuts again", { bad: true });
    }
    if (event.defaultPrevented || event.isComposing || event.altKey) return;
    const isShifted = event.shiftKey && /^(Arrow|F10)/.test(event.key);
    const key = event.ctrlKey || event.metaKey ? `ctrl-${event.key}` : isShifted ? `shift-${event.key}` : event.key;
    const isOpen = state.dialog.value !== null;
    if (key === "ctrl-k" && !isOpen) {
      event.preventDefault();
      return open("palette")();
    }
    if (isOpen || isTyping(event.target)) return;
    // Enter and space press the focused button, and the menu key opens the browser's menu of a link.
    const isPress = ["Enter", " ", "ContextMenu", "shift-F10"].includes(key);
    if (isPress && event.target instanceof HTMLElement && event.target.closest("button, a, summary, .approval")) return;
    if (/^[1-9]$/.test(key)) {
      if (!choose(Number(key) - 1)) setCount(Number(key));
      return event.preventDefault();
    }
    const command = BY_KEY.get(key);
    if (!command || (command.writes && !state.canWrite.value)) return;
    event.preventDefault();
    // A key that is held, such as the Enter that closed a dialog, changes nothing more.
    const isRepeatable = ["Walk", "Map"].includes(command.group) || ["undo", "redo"].includes(command.name);
    if (!event.repeat || isRepeatable) runCommand(command);
  });
}
