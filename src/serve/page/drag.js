// Lines that are dragged onto another line: the branch is moved there, or copied with Ctrl (Alt on a Mac). By key: x, Y and V.

import * as state from "./state.js";
import * as actions from "./actions.js";

/** Line that is dragged. @type {import("./api.js").Line | null} */
let dragged = null;

/** @param {DragEvent} event */
const operation = (event) => (event.ctrlKey || event.altKey ? "copy" : "move");

/**
 * Handlers of a line.
 * @param {import("./api.js").Line} line
 */
export function dragHandlers(line) {
  const isTarget = () => dragged !== null && dragged.id !== line.id;
  return {
    // A finger scrolls; a long press opens the menu.
    onPointerDown: (/** @type {PointerEvent & {currentTarget: HTMLElement}} */ event) => {
      event.currentTarget.draggable = event.pointerType === "mouse" && state.canWrite.peek();
    },
    onDragStart: (/** @type {DragEvent} */ event) => {
      dragged = line;
      event.dataTransfer?.setData("text/plain", `${location.origin}/#/${line.id}`);
      if (event.dataTransfer) event.dataTransfer.effectAllowed = "copyMove";
      state.notify("Drop on a line to move the branch there; with Ctrl, to copy it");
    },
    onDragOver: (/** @type {DragEvent & {currentTarget: HTMLElement}} */ event) => {
      if (!isTarget()) return;
      event.preventDefault();
      event.currentTarget.classList.add("is-target");
      if (event.dataTransfer) event.dataTransfer.dropEffect = operation(event);
    },
    onDragLeave: (/** @type {{currentTarget: HTMLElement}} */ event) => event.currentTarget.classList.remove("is-target"),
    onDragEnd: () => {
      dragged = null;
    },
    onDrop: (/** @type {DragEvent & {currentTarget: HTMLElement}} */ event) => {
      event.currentTarget.classList.remove("is-target");
      if (!isTarget() || !dragged) return;
      event.preventDefault();
      actions.relocate(operation(event), dragged.id, line.id);
      dragged = null;
    },
  };
}
