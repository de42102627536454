// The menu of a node: by right click, long press or the button with three dots.

import { html, createRef, Component } from "./elements.js";
import { observer, signal } from "./signals.js";
import * as state from "./state.js";
import { go, fold } from "./navigation.js";
import * as actions from "./actions.js";
import { copy } from "./clipboard.js";
import { isPressed } from "./long-press.js";
import { marked, marks, toggleMark } from "./marked-nodes.js";

/** @typedef {import("./marked-nodes.js").MarkedNode} MenuNode */

/** Open menu. @type {import("./signals.js").Signal<{x: number, y: number, node: MenuNode, focus: Element | null} | null>} */
const menu = signal(null);

/** Opens the menu where a finger pressed. @param {{clientX: number, clientY: number}} place @param {MenuNode} node */
export function openMenuAt({ clientX, clientY }, node) {
  menu.value = { x: clientX, y: clientY, node, focus: document.activeElement };
}

/** @param {MouseEvent} event @param {MenuNode} node */
export function openMenu(event, node) {
  event.preventDefault();
  if (event.type === "contextmenu" && isPressed()) return;
  const box = /** @type {Element} */ (event.currentTarget).getBoundingClientRect();
  const isMouse = event.type === "contextmenu" && event.clientX > 0;
  menu.value = { x: isMouse ? event.clientX : box.right, y: isMouse ? event.clientY : box.bottom, node, focus: document.activeElement };
}

/** Opens the menu of the node at the cursor, at its line or its text. */
export function openMenuHere() {
  const node = state.current.value;
  const shown = [...document.querySelectorAll(".line.is-cursor, .entry.is-cursor, .prose")].find((element) => element.checkVisibility());
  if (!node || !shown) return;
  const { left, bottom } = shown.getBoundingClientRect();
  openMenuAt({ clientX: left + 40, clientY: bottom }, node);
}

/** @param {MenuNode} node @returns {[string, () => any, boolean?][]} Label, effect, and true for changes. */
function items(node) {
  const other = marked.value && marked.value.id !== node.id ? marked.value : null;
  const own = /** @type {[string, () => any, boolean?][]} */ ([
    ["Go here", () => go(node.id)],
    [state.folds.value.has(node.place) ? "Open the branch" : "Fold the branch", () => fold(node.place)],
    ["Edit…", () => actions.edit(node.id), true],
    ["Add a note…", () => actions.annotate(node.id), true],
    [node.marks.bookmark === undefined ? "Bookmark…" : "Remove the bookmark", () => actions.bookmark(node), true],
    [state.pins.value.has(node.id) ? "Unpin" : "Pin in the context", () => actions.pin(node), true],
    [node.marks.excluded ? "Include for models" : "Exclude from models", () => actions.exclude(node), true],
    ["Split…", () => actions.askSplit(node.id), true],
    [marks.value.some((each) => each.id === node.id) ? "Remove the mark" : "Mark for merge, copy, move, compare", () => toggleMark(node)],
  ]);
  if (other) {
    own.push([`Compare with ${other.local_id}`, () => (state.dialog.value = { kind: "compare", node: node.id })]);
    own.push([`Merge with ${other.local_id}…`, () => actions.merge([...new Set([...marks.value.map((each) => each.id), node.id])]), true]);
    own.push([`Copy ${other.local_id} here`, () => actions.relocate("copy", other.id, node.id), true]);
    own.push([`Move ${other.local_id} here`, () => actions.relocate("move", other.id, node.id), true]);
  }
  own.push(["Copy a link", () => copy(`${location.origin}/#/${node.id}`)]);
  own.push(node.marks.pruned ? ["Restore the branch", () => actions.restore(node.id), true] : ["Prune the branch", () => actions.prune(node.id), true]);
  return own.filter(([, , writes]) => !writes || state.canWrite.value);
}

class MenuList extends Component {
  list = createRef();

  componentDidMount() {
    const list = this.list.current;
    const { x, y } = this.props;
    list.style.left = `${Math.max(8, Math.min(x, innerWidth - list.offsetWidth - 8))}px`;
    list.style.top = `${Math.max(8, Math.min(y, innerHeight - list.offsetHeight - 8))}px`;
    list.querySelector("button").focus();
  }

  /** @param {KeyboardEvent} event */
  onKeyDown = (event) => {
    event.stopPropagation();
    const buttons = [...this.list.current.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    if (event.key === "Escape" || event.key === "Tab") close();
    else if (event.key === "ArrowDown" || event.key === "j") buttons[(at + 1) % buttons.length].focus();
    else if (event.key === "ArrowUp" || event.key === "k") buttons[(at + buttons.length - 1) % buttons.length].focus();
    else return;
    event.preventDefault();
  };

  render() {
    return html`<div class="menu-cover" onPointerDown=${close}></div>
      <div class="menu" role="menu" ref=${this.list} onKeyDown=${this.onKeyDown} onContextMenu=${(/** @type {Event} */ event) => event.preventDefault()} aria-label=${`Actions on ${this.props.node.local_id}`}>
        ${items(this.props.node).map(([label, run]) => html`<button type="button" role="menuitem" key=${label}
          onClick=${() => { close(); run(); }}>${label}</button>`)}</div>`;
  }
}

function close() {
  const focus = menu.value?.focus;
  menu.value = null;
  if (focus instanceof HTMLElement) focus.focus({ preventScroll: true });
}

export const Menu = observer(() => menu.value && html`<${MenuList} key=${menu.value.node.id} ...${menu.value} />`);
