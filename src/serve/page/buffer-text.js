// The text of a path without node boundaries. Each character keeps its node and whether a model wrote it, so saving makes
// versions of the changed nodes only, and model text stays visible as such.

/**
 * @typedef {{id: string, place: string, byModel: boolean, text: string}} Part
 * @typedef {{edits: {part: Part, content: string}[], appended: {after: Part, content: string} | null}} ProseChanges
 */

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
      const pieces = entry.prose ?? [];
      const text = pieces.map((piece) => piece.text).join("");
      for (const piece of pieces) this.push(piece.text.length, number * 2 + Number(piece.model));
      this.parts.push({ id: entry.id, place: entry.place, byModel: entry.author_type === "model", text });
      this.text += text;
    }
    this.original = this.text;
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
    const inserted = after.length - back - front;
    const mark = this.markFor(front);
    const tail = this.marks.slice(before.length - back);
    this.marks.length = front;
    this.push(inserted, mark);
    for (const each of tail) this.marks.push(each);
    this.text = after;
  }

  /** Mark of text inserted at a place: of the part before it. Text after a model's last part is a new part. @param {number} at */
  markFor(at) {
    if (at === 0) return 0;
    const number = this.marks[at - 1] >> 1;
    const isNew = at === this.marks.length && this.parts[number]?.byModel;
    return (isNew ? this.parts.length : number) * 2;
  }

  /** The last part, which every text that is shown has. */
  get end() {
    return /** @type {Part} */ (this.parts.at(-1));
  }

  get isChanged() {
    return this.text !== this.original;
  }

  /** New contents of parts, and text after the last one. @returns {ProseChanges} */
  changes() {
    const now = [...this.parts.map(() => ""), ""];
    for (let from = 0; from < this.text.length; ) {
      const number = this.marks[from] >> 1;
      let to = from + 1;
      while (to < this.text.length && this.marks[to] >> 1 === number) to += 1;
      now[number] += this.text.slice(from, to);
      from = to;
    }
    const content = now.pop() ?? "";
    const edits = this.parts.map((part, at) => ({ part, content: now[at] })).filter(({ part, content }) => part.text !== content);
    const after = this.parts.at(-1);
    return { edits, appended: content && after ? { after, content } : null };
  }

  /** Makes changes to parts again, unless one of the parts is not in this text. @param {ProseChanges} changes */
  repeat({ edits, appended }) {
    const contents = new Map(edits.map(({ part, content }) => [part.id, content]));
    if (edits.some(({ part }) => !this.parts.some(({ id }) => id === part.id))) return;
    let from = 0;
    for (const part of this.parts) {
      const content = contents.get(part.id) ?? part.text;
      const to = from + content.length;
      this.change(this.text.slice(0, from) + content + this.text.slice(from + part.text.length), to);
      from = to;
    }
    if (appended) this.change(this.text + appended.content, from + appended.content.length);
  }

  /**
   * Replaces changed parts by their new versions after a save. Text typed since the save began remains a change.
   * @param {string} text Text that was saved. @param {ProseChanges} changes @param {string[]} nodes Ids of the versions, and of what was appended.
   */
  adoptSave(text, { edits, appended }, nodes) {
    edits.forEach(({ part, content }, at) => Object.assign(part, { id: nodes[at], byModel: false, text: content }));
    const id = nodes[edits.length];
    if (appended) this.parts.push({ id, place: id, byModel: false, text: appended.content });
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
    const characters = [...this.text.slice(Math.max(0, first), caret)].length;
    return { id: this.parts[number]?.id, characters, isEnd: caret > last };
  }
}
