// The text of a path without node boundaries. Each character keeps its node and whether a model wrote it, so saving makes
// versions of the changed nodes only, and model text stays visible as such.

import { signal } from "./signals.js";

/**
 * Part of the text. `raw`: the node's content, whose lines may end otherwise than those of a text field.
 * @typedef {{id: string, place: string, byModel: boolean, text: string, raw: string}} Part
 * @typedef {{edits: {part: Part, content: string}[], appended: {after: Part, content: string} | null}} ProseChanges
 */

/** Bytes of the last part after which typed text begins a new one: the server sends no long node for editing. */
const MAX_PART_BYTES = 20_000;
/** Units of pasted text that belong to one part, three bytes each at most. */
const MAX_PASTED = 6_000;

/** Bytes of a node that the server sends for editing. */
const MAX_NODE_BYTES = 48_000;

/** Text with a caret that is shown. @type {import("./signals.js").Signal<ProseText | null>} */
export const shownProse = signal(null);

/** True while the shown text has changes that are not saved. */
export const isUnsaved = signal(false);

/** Text with the line ends of a text field. @param {string} text */
export const fieldLines = (text) => text.replace(/\r\n?/g, "\n");

/** Counts the characters of a content before a place in the text field that shows it. @param {string} raw @param {number} units */
export function charactersBefore(raw, units) {
  let [at, characters] = [0, 0];
  for (let shown = 0; shown < units && at < raw.length; characters += 1) {
    const length = raw.codePointAt(at) === raw.charCodeAt(at) ? 1 : 2;
    at += length;
    shown += raw[at - 1] === "\r" && raw[at] === "\n" ? 0 : length;
  }
  return characters;
}

/** @param {string} text */
const bytesOf = (text) => new TextEncoder().encode(text).length;

/** Returns entries of the end of a path that can be edited as one text. @param {import("./api.js").Entry[]} entries */
export function editable(entries) {
  const first = entries.findLastIndex((entry) => !entry.prose) + 1;
  return entries.slice(first);
}

/** True for the first half of a character of two units. @param {string} text @param {number} at */
const isHighHalf = (text, at) => at >= 0 && at < text.length && (text.charCodeAt(at) & 0xfc00) === 0xd800;

export class ProseText {
  /** @param {import("./api.js").Entry[]} entries */
  constructor(entries) {
    /** @type {Part[]} */
    this.parts = [];
    /** Twice the part's number for each unit of the text, plus 1 for a model's. @type {number[]} */
    this.marks = [];
    this.text = "";
    for (const entry of entries) {
      const number = this.parts.length;
      let [raw, text] = ["", ""];
      for (const piece of entry.prose ?? []) {
        // Two authors may share a line end.
        const own = fieldLines(raw.endsWith("\r") && piece.text.startsWith("\n") ? piece.text.slice(1) : piece.text);
        this.push(own.length, number * 2 + Number(piece.model));
        raw += piece.text;
        text += own;
      }
      this.parts.push({ id: entry.id, place: entry.place, byModel: entry.author_type === "model", text, raw });
      this.text += text;
    }
    this.original = this.text;
    /** Name of the draft that has the unsaved changes. @type {string | null} */
    this.draft = null;
  }

  /** @param {number} length @param {number} mark */
  push(length, mark) {
    for (let at = 0; at < length; at++) this.marks.push(mark);
  }

  /** Adopts an edited text. What was inserted ends at the caret. @param {string} after @param {number} caret */
  change(after, caret) {
    const before = this.text;
    if (before === after) return;
    const most = Math.min(before.length, after.length);
    let back = 0;
    while (back < Math.min(most, after.length - caret) && before[before.length - 1 - back] === after[after.length - 1 - back]) back += 1;
    let front = 0;
    while (front < most - back && before[front] === after[front]) front += 1;
    while (back < most - front && before[before.length - 1 - back] === after[after.length - 1 - back]) back += 1;
    if (isHighHalf(before, front - 1) || isHighHalf(after, front - 1)) front -= 1;
    if (back && (isHighHalf(before, before.length - back - 1) || isHighHalf(after, after.length - back - 1))) back -= 1;
    const inserted = after.slice(front, after.length - back);
    const mark = this.markFor(front);
    // What follows a long insertion in the last part becomes new parts, too.
    const isEnd = !back || (this.isLast(mark >> 1) && this.isTooLong(inserted, front, before.length - back));
    const tail = this.marks.slice(before.length - back);
    this.marks.length = front;
    this.text = after;
    if (isEnd) return this.append(after, front, mark >> 1);
    this.push(inserted.length, mark);
    for (const each of tail) this.marks.push(each);
  }

  /** True if the text ends with a part. @param {number} number */
  isLast(number) {
    return (this.marks.at(-1) ?? 0) >> 1 === number;
  }

  /** True if a text in place of a selection makes a part too long for editing. @param {string} inserted @param {number} from @param {number} to */
  isTooLong(inserted, from, to) {
    const number = this.markFor(from) >> 1;
    let [first, last] = [from, to];
    while (first > 0 && this.marks[first - 1] >> 1 === number) first -= 1;
    while (last < this.marks.length && this.marks[last] >> 1 === number) last += 1;
    return bytesOf(this.text.slice(first, from) + inserted + this.text.slice(to, last)) > MAX_NODE_BYTES;
  }

  /** True if there is no room for a text in place of a selection: only the last part is followed by new ones. @param {string} inserted @param {number} from @param {number} to */
  isFull(inserted, from, to) {
    const isEnd = to === this.text.length || this.isLast(this.markFor(from) >> 1);
    return !isEnd && this.isTooLong(inserted, from, to);
  }

  /** Mark of text inserted at a place: of the part before it. Text after a model's last part is a new part. @param {number} at */
  markFor(at) {
    if (at === 0) return 0;
    const number = this.marks[at - 1] >> 1;
    const isNew = at === this.marks.length && this.parts[number]?.byModel;
    return (isNew ? this.parts.length : number) * 2;
  }

  /** Marks the end of a text, which follows a long part as new ones. @param {string} text @param {number} from @param {number} number Part of what is before. */
  append(text, from, number) {
    let first = from;
    while (first > 0 && this.marks[first - 1] >> 1 === number) first -= 1;
    let bytes = bytesOf(text.slice(first, from));
    for (let at = from; at < text.length; ) {
      // A word is not divided, unless it does not end.
      if (bytes >= MAX_PART_BYTES && (/\s/.test(text[at - 1]) || bytes >= MAX_PART_BYTES * 1.2)) {
        number = Math.max(number + 1, this.parts.length);
        bytes = 0;
      }
      let to = Math.min(text.length, at + MAX_PASTED);
      if (to < text.length && isHighHalf(text, to - 1)) to -= 1;
      this.push(to - at, number * 2);
      bytes += bytesOf(text.slice(at, to));
      at = to;
    }
  }

  /** The last part, which every text that is shown has. */
  get end() {
    return /** @type {Part} */ (this.parts.at(-1));
  }

  get isChanged() {
    return this.text !== this.original;
  }

  /** New contents of parts, then those of new parts. */
  contents() {
    const now = this.parts.map(() => "");
    for (let from = 0; from < this.text.length; ) {
      const number = this.marks[from] >> 1;
      let to = from + 1;
      while (to < this.text.length && this.marks[to] >> 1 === number) to += 1;
      now[number] = (now[number] ?? "") + this.text.slice(from, to);
      from = to;
    }
    return now;
  }

  /** New contents of parts, and text after the last one. @returns {ProseChanges} */
  changes() {
    const now = this.contents();
    const edits = this.parts.map((part, at) => ({ part, content: now[at] })).filter(({ part, content }) => part.text !== content);
    const content = now.slice(this.parts.length).join("");
    return { edits, appended: content ? { after: this.end, content } : null };
  }

  /** What one save can take: all changes, with the first of several new parts. `text` is the text after it. */
  nextSave() {
    const { edits, appended } = this.changes();
    const first = this.marks.findIndex((mark) => mark >> 1 >= this.parts.length);
    if (first < 0 || !appended) return { edits, appended, text: this.text };
    // An earlier new part may have been removed.
    const ahead = (this.marks[first] >> 1) - this.parts.length;
    for (let at = first; ahead && at < this.marks.length; at++) this.marks[at] -= ahead * 2;
    const later = this.marks.findIndex((mark) => mark >> 1 > this.parts.length);
    const text = later < 0 ? this.text : this.text.slice(0, later);
    return { edits, appended: { ...appended, content: text.slice(first) }, text };
  }

  /** Makes changes to parts again. Returns false if one of the parts is not in this text. @param {ProseChanges} changes */
  repeat({ edits, appended }) {
    const contents = new Map(edits.map(({ part, content }) => [part.id, content]));
    if (edits.some(({ part }) => !this.parts.some(({ id }) => id === part.id))) return false;
    let from = 0;
    for (const part of this.parts) {
      const content = contents.get(part.id) ?? part.text;
      const to = from + content.length;
      this.change(this.text.slice(0, from) + content + this.text.slice(from + part.text.length), to);
      from = to;
    }
    if (appended) this.change(this.text + appended.content, from + appended.content.length);
    return true;
  }

  /**
   * Replaces changed parts by their new versions after a save. Text typed since the save began remains a change.
   * @param {string} text Text that was saved. @param {ProseChanges} changes @param {string[]} nodes Ids of the versions, and of what was appended.
   */
  adoptSave(text, { edits, appended }, nodes) {
    edits.forEach(({ part, content }, at) => Object.assign(part, { id: nodes[at], byModel: false, text: content, raw: content }));
    const id = nodes[edits.length];
    if (appended) this.parts.push({ id, place: id, byModel: false, text: appended.content, raw: appended.content });
    this.original = text;
  }

  /** The text in pieces by author. */
  pieces() {
    /** @type {{text: string, model: boolean}[]} */
    const pieces = [];
    for (let from = 0; from < this.text.length; ) {
      const model = this.marks[from] & 1;
      let to = from + 1;
      while (to < this.text.length && (this.marks[to] & 1) === model) to += 1;
      pieces.push({ text: this.text.slice(from, to), model: model === 1 });
      from = to;
    }
    return pieces;
  }

  /** Number of the part that the caret is in: that of the character before it. @param {number} caret */
  partAt(caret) {
    return Math.min(this.parts.length - 1, (this.marks[Math.max(0, caret - 1)] ?? 0) >> 1);
  }

  /** Characters of the caret's part before the caret, and whether it is at the part's end. @param {number} caret */
  placeIn(caret) {
    const number = this.partAt(caret);
    const first = this.marks.findIndex((mark) => mark >> 1 === number);
    const last = this.marks.findLastIndex((mark) => mark >> 1 === number);
    const characters = charactersBefore(this.parts[number]?.raw ?? "", caret - Math.max(0, first));
    return { id: this.parts[number]?.id, characters, isEnd: caret > last };
  }
}
