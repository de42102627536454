// The outline: a tree of lines of one height, of which only the visible ones are in the document.

import { html, classes, createRef, Component, Button } from "./elements.js";
import { effect, untracked } from "./signals.js";
import * as state from "./state.js";
import { go, fold, extendOutline, toggleHoist } from "./navigation.js";
import { openMenu, openMenuAt } from "./menu.js";
import { marks } from "./marked-nodes.js";
import { dragHandlers } from "./drag.js";
import { pressHandlers } from "./long-press.js";

const LINE_HEIGHT = 30;
const LEVEL_WIDTH = 16;
/** Lines drawn beyond the visible ones on either side. */
const OVERSCAN = 10;
/** Width that the text of a line has at least. */
const MIN_TEXT_WIDTH = 170;
/** Levels hidden at once, so that a single step does not shift every line. */
const HIDDEN_STEP = 4;
/** Levels of which the server names the guides. */
const GUIDES = 24;

/** @param {import("./api.js").Line} line @param {number} hidden */
function guidePath(line, hidden) {
  const known = line.guides.length;
  const first = line.level - known;
  let path = "";
  for (let level = Math.max(hidden, first); level < line.level; level++) {
    const isLast = line.guides[level - first] === "1";
    const x = (level - hidden) * LEVEL_WIDTH + LEVEL_WIDTH / 2;
    if (level === line.level - 1 && line.opens_branch) {
      path += `M${x} 0V${isLast ? LINE_HEIGHT / 2 - 5 : LINE_HEIGHT}M${x} ${LINE_HEIGHT / 2 - 5}q0 5 5 5h4`;
    } else if (!isLast) {
      path += `M${x} 0V${LINE_HEIGHT}`;
    }
  }
  return path;
}

/** Marks of a node as short text. @param {import("./api.js").Line} line */
function markText({ id, marks }) {
  const parts = [];
  if (state.pins.peek().has(id)) parts.push("⌖");
  if (marks.bookmark !== undefined) parts.push("★");
  if (marks.notes) parts.push("✎");
  if (marks.versions) parts.push(`⧉${marks.versions + 1}`);
  if (marks.excluded) parts.push("⊘");
  if (marks.interrupted) parts.push("…");
  return parts.join(" ");
}

/** The same for screen readers. @param {import("./api.js").Line} line */
function spoken({ id, marks }) {
  const parts = [];
  if (state.pins.peek().has(id)) parts.push("pinned");
  if (marks.bookmark !== undefined) parts.push(`bookmark ${marks.bookmark}`);
  if (marks.notes) parts.push(`${marks.notes} notes`);
  if (marks.versions) parts.push(`${marks.versions + 1} versions`);
  if (marks.continuations > 1) parts.push(`${marks.continuations} branches`);
  if (marks.excluded) parts.push("excluded");
  return parts.length ? `, ${parts.join(", ")}` : "";
}

export class Outline extends Component {
  scroller = createRef();
  state = { top: 0, height: 600, width: 360 };
  /** Visible lines by place, with their distance from the top. @type {Map<string, number>} */
  anchors = new Map();
  /** @type {import("./api.js").Line[] | null} */
  shownLines = null;
  /** @type {string | null} */
  shownCursor = null;
  isCursorShown = true;
  /** @type {(() => void)[]} */
  cleanups = [];

  componentDidMount() {
    const scroller = this.scroller.current;
    const observer = new ResizeObserver(() => {
      // The cursor's line stays visible, unless the user had scrolled away from it.
      if (this.isCursorShown) this.shownCursor = null;
      this.setState({ height: scroller.clientHeight, width: scroller.clientWidth });
    });
    observer.observe(scroller);
    this.cleanups.push(() => observer.disconnect());
    let isFirst = true;
    this.cleanups.push(effect(() => {
      state.outline.value;
      state.cursor.value;
      state.others.value;
      state.pins.value;
      marks.value;
      if (!isFirst) queueMicrotask(() => this.setState({}));
      isFirst = false;
    }));
    this.place();
  }

  componentWillUnmount() {
    for (const cleanup of this.cleanups) cleanup();
  }

  componentDidUpdate() {
    this.place();
  }

  /** Keeps lines in place when the window changes, and the cursor visible. */
  place() {
    const scroller = this.scroller.current;
    const { lines } = state.outline.peek();
    const cursor = state.cursor.peek();
    // A hidden pane is placed when it is shown.
    if (!scroller.clientHeight || (this.shownLines === lines && this.shownCursor === cursor)) return;
    const hasMoved = this.shownCursor !== cursor;
    this.shownLines = lines;
    this.shownCursor = cursor;
    const kept = lines.findIndex((line) => this.anchors.has(line.place));
    const isLost = kept < 0 && this.anchors.size > 0;
    let top = scroller.scrollTop;
    if (kept >= 0) top = kept * LINE_HEIGHT - (this.anchors.get(lines[kept].place) ?? 0);
    const at = lines.findIndex((line) => line.id === cursor);
    if ((hasMoved || isLost) && at >= 0) {
      const margin = Math.min(4 * LINE_HEIGHT, scroller.clientHeight / 4);
      const [least, most] = [at * LINE_HEIGHT + LINE_HEIGHT + margin - scroller.clientHeight, at * LINE_HEIGHT - margin];
      const isFar = isLost || top < least - scroller.clientHeight || top > most + scroller.clientHeight;
      top = isFar ? at * LINE_HEIGHT - scroller.clientHeight / 3 : Math.max(least, Math.min(top, most));
    }
    if (Math.abs(scroller.scrollTop - top) > 0.5) scroller.scrollTop = top;
    this.remember();
    if (this.state.top !== scroller.scrollTop) this.setState({ top: scroller.scrollTop });
    // A refresh may have taken the place of lines that were on their way, and a high pane has room for more.
    this.extend();
  }

  /** Remembers the visible lines: some of them may be gone in the next window. */
  remember() {
    const { scrollTop: top, clientHeight } = this.scroller.current;
    const { lines } = state.outline.peek();
    const first = Math.min(lines.length - 1, Math.max(0, Math.ceil(top / LINE_HEIGHT)));
    const visible = lines.slice(first, first + Math.max(1, Math.floor(clientHeight / LINE_HEIGHT)));
    this.anchors = new Map(visible.map((line, index) => [line.place, (first + index) * LINE_HEIGHT - top]));
    const at = lines.findIndex((line) => line.id === state.cursor.peek()) * LINE_HEIGHT;
    if (clientHeight) this.isCursorShown = at > top - LINE_HEIGHT && at < top + clientHeight;
  }

  onScroll = () => {
    const scroller = this.scroller.current;
    this.remember();
    this.setState({ top: scroller.scrollTop });
    this.extend();
  };

  /** Loads more lines if the first or last one is near. */
  extend() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller.current;
    if (scrollTop < 10 * LINE_HEIGHT) extendOutline(true);
    if (scrollHeight - scrollTop - clientHeight < 10 * LINE_HEIGHT) extendOutline(false);
  }

  /** Levels hidden on the left, so that the cursor's line has room. @param {import("./api.js").Line[]} lines @param {string | null} cursor */
  hiddenLevels(lines, cursor) {
    const most = Math.max(1, Math.min(GUIDES, Math.floor((this.state.width - MIN_TEXT_WIDTH) / LEVEL_WIDTH)));
    const level = lines.find((line) => line.id === cursor)?.level ?? 0;
    return Math.max(0, Math.ceil((level - most) / HIDDEN_STEP) * HIDDEN_STEP);
  }

  render() {
    const { lines, omitted } = untracked(() => state.outline.value);
    const cursor = state.cursor.peek();
    const hidden = this.hiddenLevels(lines, cursor);
    const from = Math.max(0, Math.floor(this.state.top / LINE_HEIGHT) - OVERSCAN);
    const to = Math.min(lines.length, Math.ceil((this.state.top + this.state.height) / LINE_HEIGHT) + OVERSCAN);
    const present = new Map(state.others.peek().map((other) => [other.node, other]));
    const shown = lines.slice(from, to);
    const at = lines.findIndex((line) => line.id === cursor);
    if (at >= 0 && (at < from || at >= to)) shown.push(lines[at]);
    const index = new Map(lines.map((line, number) => [line.id, number]));
    return html`<section class="outline" aria-label="Tree">
      <${OutlineHeader} />
      <div class="outline-scroll" ref=${this.scroller} onScroll=${this.onScroll} role="tree" tabindex="0"
        aria-label="Outline" aria-activedescendant=${at >= 0 ? `line-${cursor}` : undefined}>
        <div class="outline-lines" role="presentation" style=${{ height: `${lines.length * LINE_HEIGHT}px` }}>
          ${omitted && html`<div class="omitted" role="presentation">lines above are far away</div>`}
          ${shown.map((line) => html`<${OutlineLine} key=${line.place} line=${line} y=${(index.get(line.id) ?? 0) * LINE_HEIGHT}
            hidden=${hidden} isCursor=${line.id === cursor} present=${present.get(line.id) ?? present.get(line.place)} />`)}
        </div>
      </div>
    </section>`;
  }
}

function OutlineHeader() {
  const hoist = state.hoist.value;
  return hoist && html`<div class="hoist">One branch is shown.
    <${Button} text="Show all" label="Show all" keys="Z" class="small" onClick=${toggleHoist} /></div>`;
}

/** @param {{line: import("./api.js").Line, y: number, hidden: number, isCursor: boolean, present?: import("./api.js").Present}} props */
function OutlineLine({ line, y, hidden, isCursor, present }) {
  const indent = Math.max(0, line.level - hidden) * LEVEL_WIDTH;
  const isMarked = marks.peek().some((each) => each.id === line.id);
  const { continuations, excluded } = line.marks;
  return html`<div id=${`line-${line.id}`} role="treeitem" aria-level=${line.level + 1} aria-selected=${isCursor}
    aria-expanded=${continuations ? !line.folded : undefined}
    class=${classes("line", `by-${line.author_type}`, isCursor && "is-cursor", line.on_path && "on-path", excluded && "is-excluded", isMarked && "is-marked")}
    style=${{ transform: `translateY(${y}px)`, paddingInlineStart: `${indent + 10}px` }}
    onClick=${() => go(line.id)} onDblClick=${() => fold(line.place)} ...${dragHandlers(line)} ...${pressHandlers((place) => openMenuAt(place, line))}
    onContextMenu=${(/** @type {MouseEvent} */ event) => openMenu(event, line)}>
    <svg class="guides" width=${indent + 10} height=${LINE_HEIGHT} aria-hidden="true"><path d=${guidePath(line, hidden)} /></svg>
    <span class="dot" aria-hidden="true"></span>
    <span class="only-spoken">${line.author}: </span><span class="line-text" dir="auto">${line.text || "(empty)"}</span><span class="only-spoken">${spoken(line)}</span>
    ${present && html`<span class=${classes("presence", present.generating && "is-busy")} title=${present.name}>${present.name}</span>`}
    ${markText(line) && html`<span class="marks" aria-hidden="true">${markText(line)}</span>`}
    ${(continuations > 1 || line.folded) && html`<span class="count" aria-hidden="true">${line.folded ? "+" : ""}${continuations}</span>`}
  </div>`;
}
