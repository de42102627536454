// The marked node: the other end of copy, move and comparison.

import { signal } from "./signals.js";
import * as state from "./state.js";

/** @typedef {{id: string, place: string, local_id: string, marks: import("./api.js").Marks}} MarkedNode */

/** @type {import("./signals.js").Signal<MarkedNode | null>} */
export const marked = signal(null);

/** Marks a node, or removes its mark. @param {MarkedNode | null} [node] */
export function toggleMark(node = state.current.value) {
  if (!node) return;
  const isMarked = marked.value?.id === node.id;
  marked.value = isMarked ? null : node;
  state.notify(isMarked ? "Mark removed" : `${node.local_id} is marked: d compares, Y copies here, V moves here`);
}
