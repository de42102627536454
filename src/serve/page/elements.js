// Elements: the template function, and small parts that all views share.

import { h, render, createRef, Component } from "./vendor/preact.js";
import htm from "./vendor/htm.js";

export const html = htm.bind(h);
export { render, createRef, Component };

/** Names of classes, without those that are off. @param {...(string | false | null | undefined)} names */
export function classes(...names) {
  return names.filter(Boolean).join(" ");
}

/** A count with its noun: `1 node`, `2 branches`. @param {number} number @param {string} noun */
export function counted(number, noun) {
  return `${number.toLocaleString()} ${number === 1 ? noun : noun.endsWith("ch") ? `${noun}es` : `${noun}s`}`;
}

const PATHS = {
  spark: "M12 3v4M12 17v4M3 12h4M17 12h4M6 6l2.5 2.5M15.5 15.5 18 18M18 6l-2.5 2.5M8.5 15.5 6 18",
  reply: "M9 7 4 12l5 5M4 12h10a6 6 0 0 1 6 6",
  edit: "M4 20h4L19 9l-4-4L4 16zM13.5 6.5l4 4",
  note: "M5 4h14v12l-5 5H5zM14 21v-5h5",
  star: "m12 3 2.7 5.8 6.3.8-4.6 4.3 1.2 6.2-5.6-3.1-5.6 3.1 1.2-6.2L3 9.600l6.300-.8z",
  prune: "M6 6l12 12M18 6 6 18",
  undo: "M9 7H4V2M4 7a9 9 0 1 1-1 8",
  redo: "M15 7h5V2M20 7a9 9 0 1 0 1 8",
  search: "M10.500 4a6.500 6.500 0 1 0 0 13 6.500 6.500 0 0 0 0-13M15.500 15.500 21 21",
  tree: "M6 4v12a4 4 0 0 0 4 4h4M6 10h8M18 10h2M18 20h2",
  map: "M5 5h5v4H5zM14 10h5v4h-5zM5 16h5v4H5zM10 7h2v5h2M10 18h2v-6",
  text: "M4 6h16M4 11h16M4 16h10",
  menu: "M5 12h.01M12 12h.01M19 12h.01",
  help: "M9 9a3 3 0 1 1 4 2.800c-.700.300-1 .900-1 1.700V14M12 17.500v.01",
  close: "M6 6l12 12M18 6 6 18",
  left: "m14 6-6 6 6 6",
  right: "m10 6 6 6-6 6",
  down: "m6 10 6 6 6-6",
  moon: "M20 14.500A8 8 0 1 1 9.500 4 6.500 6.500 0 0 0 20 14.500z",
  plus: "M12 5v14M5 12h14",
  list: "M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01",
  stop: "M7 7h10v10H7z",
  link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
  diff: "M8 4v16M16 4v16M5 8h6M13 16h6",
  eye: "M2 12s4-7 10-7 10 7 10 7-4 7-10 7-10-7-10-7M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  book: "M5 4h11a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h11",
  cut: "M6 4l8 12M18 4l-8 12M7 20a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5M17 20a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5",
  clock: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16M12 8v4l3 2",
  gauge: "M4 17a8 8 0 1 1 16 0M12 17l4-5",
};

/** Icon of 24 by 24 units. @param {{name: keyof typeof PATHS}} props */
export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d=${PATHS[name]} /></svg>`;
}

/**
 * Button with an icon, and optionally with text.
 * @param {{icon?: keyof typeof PATHS, label: string, keys?: string, text?: any, class?: string, disabled?: boolean,
 *   pressed?: boolean, onClick: (event: MouseEvent) => void}} props
 */
export function Button({ icon, label, keys, text, class: more, disabled, pressed, onClick }) {
  const title = keys ? `${label} (${keys})` : label;
  return html`<button type="button" class=${classes("button", !text && "bare", more)} title=${title}
    aria-label=${text ? undefined : label} aria-pressed=${pressed} disabled=${disabled} onClick=${onClick}>
    ${icon && html`<${Icon} name=${icon} />`}${text}</button>`;
}

/** Time as a short age, with the date in its title. @param {{at: number, now: number}} props */
export function Age({ at, now }) {
  const seconds = Math.max(0, (now - at) / 1000);
  const units = /** @type {[number, string][]} */ ([[60, "s"], [60, "min"], [24, "h"], [365, "d"]]);
  let value = seconds;
  let unit = "y";
  for (const [size, name] of units) {
    unit = name;
    if (value < size) break;
    value /= size;
    unit = "y";
  }
  const text = seconds < 45 ? "just now" : `${Math.round(value)} ${unit} ago`;
  return html`<time dateTime=${new Date(at).toISOString()} title=${new Date(at).toLocaleString()}>${text}</time>`;
}
