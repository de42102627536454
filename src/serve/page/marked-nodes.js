// Marked nodes: those to merge. The one marked last is the other end of copy, move and comparison.

import { signal, computed } from "./signals.js";
import * as state from "./state.js";

/** @typedef {{id: string, place: string, local_id: string, marks: import("./api.js").Marks}} MarkedNode */

/** @type {import("./signals.js").Signal<MarkedNode[]>} */
export const marks = signal([]);

/** The node marked last. */
export const marked = computed(() => marks.value.at(-1) ?? null);

/** Marks a node, or removes its mark. @param {MarkedNode | null} [node] */
export function toggleMark(node = state.current.value) {
  if (!node) return;
  const isMarked = marks.value.some((each) => each.id === node.id);
  const others = marks.value.filter((each) => each.id !== node.id);
  marks.value = isMarked ? others : [...others, node];
  state.notify(isMarked ? "Mark removed" : `${node.local_id} is marked: d compares, M merges, Y copies here, V moves here`);
}
