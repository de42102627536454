// The reading pane: the path to the cursor as a conversation or as prose, and the branches that follow.

import { html, classes, createRef, Component, Button, Age } from "./elements.js";
import { effect, observer } from "./signals.js";
import * as state from "./state.js";
import { get } from "./api.js";
import { go, step, extendPath } from "./navigation.js";
import { Markdown } from "./markdown.js";
import { openMenu, openMenuAt } from "./menu.js";
import * as actions from "./actions.js";
import { Streams, generation } from "./generations.js";
import { Prose } from "./buffer-editor.js";
import { editable } from "./buffer-text.js";
import { pressHandlers, isPressed } from "./long-press.js";

/** Length of a swipe. */
const SWIPE_PIXELS = 70;

export class Reading extends Component {
  scroller = createRef();
  /** @type {(() => void)[]} */
  cleanups = [];
  /** First and last entry that were shown. @type {string | undefined} */
  first;
  /** @type {string | undefined} */
  last;
  /** @type {Touch | null} */
  touch = null;

  componentDidMount() {
    let isFirst = true;
    this.cleanups.push(effect(() => {
      state.path.value;
      state.continuations.value;
      state.reading.value;
      state.canWrite.value;
      if (!isFirst) queueMicrotask(() => this.setState({}));
      isFirst = false;
    }));
    this.place();
    const scroller = this.scroller.current;
    const observer = new ResizeObserver(() => {
      // Lines wrap elsewhere: the cursor's entry stays visible, unless the user had scrolled away from it.
      if (this.isCursorShown) this.last = undefined;
      this.place();
    });
    observer.observe(scroller);
    this.cleanups.push(() => observer.disconnect());
  }

  componentWillUnmount() {
    for (const cleanup of this.cleanups) cleanup();
  }

  getSnapshotBeforeUpdate() {
    const { scrollTop, scrollHeight } = this.scroller.current;
    return { scrollTop, scrollHeight };
  }

  /** @param {any} _props @param {any} _state @param {any} before */
  componentDidUpdate(_props, _state, before) {
    this.place(before);
  }

  /** Shows the cursor's entry after a step; keeps the text in place when earlier entries arrive. @param {any} [before] */
  place(before) {
    const scroller = this.scroller.current;
    if (!scroller.clientHeight) return;
    const { entries } = state.path.peek();
    const [first, last] = [entries[0]?.id, entries.at(-1)?.id];
    if (last !== this.last) {
      const entry = scroller.querySelector(".entry.is-cursor");
      // The end of a text with a caret is what follows the cursor.
      const prose = scroller.querySelector(".prose");
      if (prose) scroller.scrollTop = prose.offsetTop + prose.offsetHeight - scroller.clientHeight * 0.75;
      else if (entry) {
        const room = scroller.clientHeight - entry.offsetHeight;
        // The end of the entry before stays visible, also above a long entry.
        const above = Math.min(room > 0 ? room * 0.6 : 0, scroller.clientHeight * 0.5) + 40;
        scroller.scrollTop = entry.offsetTop - Math.min(above, scroller.clientHeight * 0.6);
      }
    } else if (first !== this.first && before) {
      scroller.scrollTop = before.scrollTop + scroller.scrollHeight - before.scrollHeight;
    }
    [this.first, this.last] = [first, last];
    this.remember();
  }

  /** Entries that the text with a caret shows: the same list as long as they are the same. @param {import("./api.js").Entry[]} entries */
  prose(entries) {
    if (this.proseOf !== entries) [this.proseOf, this.proseEntries] = [entries, editable(entries)];
    return this.proseEntries;
  }

  /** @type {import("./api.js").Entry[] | null} */
  proseOf = null;
  /** @type {import("./api.js").Entry[]} */
  proseEntries = [];

  isCursorShown = true;

  remember() {
    const scroller = this.scroller.current;
    const shown = scroller.querySelector(".entry.is-cursor, .prose");
    if (!scroller.clientHeight || !shown) return;
    const top = shown.offsetTop - scroller.scrollTop;
    this.isCursorShown = top < scroller.clientHeight && top + shown.offsetHeight > 0;
  }

  onScroll = () => {
    // The browser reports a scroll before it reports the size that caused it.
    if (this.scroller.current.clientHeight === this.height) this.remember();
    this.height = this.scroller.current.clientHeight;
    if (this.scroller.current.scrollTop < 200) extendPath();
  };

  /** A swipe to the side goes to the branch beside this one. @param {TouchEvent} event */
  onTouchStart = (event) => {
    const inside = /** @type {Element} */ (event.target).closest("pre, .table-scroll, button, textarea:focus");
    this.touch = event.touches.length === 1 && !inside ? event.touches[0] : null;
  };

  /** @param {TouchEvent} event */
  onTouchEnd = (event) => {
    const [from, to] = [this.touch, event.changedTouches[0]];
    this.touch = null;
    if (!from || isPressed() || getSelection()?.toString()) return;
    const [x, y] = [to.clientX - from.clientX, to.clientY - from.clientY];
    if (Math.abs(x) > SWIPE_PIXELS && Math.abs(y) < SWIPE_PIXELS / 2) step(x < 0 ? "next" : "previous");
  };

  render() {
    const { entries, more } = state.path.value;
    const isProse = state.reading.value === "prose" || state.tree.peek()?.mode === "buffer";
    const prose = state.canWrite.value ? this.prose(entries) : [];
    return html`<section class=${classes("reading", isProse && "is-prose")} aria-label="Path">
      <div class="reading-scroll" ref=${this.scroller} onScroll=${this.onScroll} tabindex="0" role="region" aria-label="Text"
        onTouchStart=${this.onTouchStart} onTouchEnd=${this.onTouchEnd}>
        <div class="column">
          ${more && html`<button type="button" class="button earlier" onClick=${extendPath}>Earlier messages</button>`}
          ${entries.slice(0, entries.length - prose.length).map((entry) => html`<${Turn} key=${entry.place} entry=${entry} isCursor=${entry === entries.at(-1)} />`)}
          ${prose.length > 0 && html`<${Prose} key=${state.tree.peek()?.id} entries=${prose} />`}
          <${Streams} />
          <${Branches} />
        </div>
      </div>
    </section>`;
  }
}

/** Buttons to the alternatives beside a node. @param {{label: string, ordinal: import("./api.js").Ordinal, onStep: (forward: boolean) => void}} props */
function Switcher({ label, ordinal, onStep }) {
  if (ordinal.count < 2) return null;
  return html`<span class="switcher" role="group" aria-label=${`${label} ${ordinal.number} of ${ordinal.count}`}>
    <${Button} icon="left" label=${`Previous ${label}`} onClick=${() => onStep(false)} />
    <span title=${label}>${label === "version" ? "v" : ""}${ordinal.number}/${ordinal.count}</span>
    <${Button} icon="right" label=${`Next ${label}`} onClick=${() => onStep(true)} />
  </span>`;
}

/** Goes to an alternative beside a node of the path. @param {import("./api.js").Entry} entry @param {string} forward */
async function stepFrom(entry, forward) {
  if (state.cursor.peek() !== entry.id) go(entry.id);
  await step(forward);
}

const Turn = observer((/** @type {{entry: import("./api.js").Entry, isCursor: boolean}} */ { entry, isCursor }) => {
  const { marks } = entry;
  const edited = entry.role !== entry.author_type ? `${entry.role}, edited by ` : "";
  return html`<article class=${classes("entry", `by-${entry.role}`, isCursor && "is-cursor", marks.excluded && "is-excluded")}
    aria-label=${`${edited}${entry.author}`} data-node=${entry.id} ...${pressHandlers((place) => !getSelection()?.toString() && openMenuAt(place, entry))}
    onContextMenu=${(/** @type {MouseEvent} */ event) => !getSelection()?.toString() && openMenu(event, entry)}>
    <header>
      <button type="button" class="who" onClick=${() => go(entry.id)} title="Go here">
        <span class="dot" aria-hidden="true"></span><span>${edited}<b>${entry.author}</b></span></button>
      ${entry.model && html`<span class="model">${entry.model}</span>`}
      <a class="id" href=${`#/${entry.id}`} title="Link to this node">${entry.local_id}</a>
      <span class="age"><${Age} at=${entry.created_at} now=${state.now.value} /></span>
      ${marks.bookmark !== undefined && html`<span class="mark">★ ${marks.bookmark}</span>`}
      ${state.pins.value.has(entry.id) && html`<span class="mark">⌖ pinned</span>`}
      ${marks.excluded && html`<span class="mark">excluded</span>`}
      ${marks.interrupted && html`<span class="mark">interrupted</span>`}
      ${marks.pruned && html`<span class="mark">pruned</span>`}
      <span class="spacer"></span>
      <${Switcher} label="version" ordinal=${entry.version} onStep=${(/** @type {boolean} */ forward) => stepFrom(entry, forward ? "version" : "version_back")} />
      <${Switcher} label="branch" ordinal=${entry.branch} onStep=${(/** @type {boolean} */ forward) => stepFrom(entry, forward ? "next" : "previous")} />
      <span class="entry-actions"><${EntryActions} entry=${entry} /></span>
    </header>
    ${marks.purged ? html`<p class="dim">This content was removed permanently.</p>` : html`<${Markdown} tokens=${entry.markdown} />`}
    ${entry.calls?.map((call) => html`<pre class="call" key=${call}>calls ${call}</pre>`)}
    ${entry.left_out && html`<${Rest} key=${entry.id} entry=${entry} />`}
    ${entry.attached?.map((note) => html`<${Note} key=${note.id} note=${note} />`)}
  </article>`;
});

/** The end of a long text, as plain text when it is asked for. Properties: `entry`. */
class Rest extends Component {
  state = { text: "" };

  load = async () => {
    const { entry } = this.props;
    await actions.attempt(async () => {
      const bytes = new TextEncoder().encode((await get(`/nodes/${entry.id}`)).content);
      this.setState({ text: new TextDecoder().decode(bytes.slice(bytes.length - entry.left_out)) });
    });
  };

  render() {
    if (this.state.text) return html`<pre class="rest" dir="auto">${this.state.text}</pre>`;
    return html`<p class="dim">${this.props.entry.left_out} more bytes. <${Button} class="small" text="Show the rest" label="Show the rest as plain text" onClick=${this.load} /></p>`;
  }
}

/** @param {{entry: import("./api.js").Entry}} props */
function EntryActions({ entry }) {
  if (!state.canWrite.value) return null;
  return html`<${Button} icon="edit" label="Edit" keys="e" onClick=${() => actions.edit(entry.id)} />
    <${Button} icon="note" label="Add a note" keys="a" onClick=${() => actions.annotate(entry.id)} />
    <${Button} icon="star" label="Bookmark" keys="b" pressed=${entry.marks.bookmark !== undefined} onClick=${() => actions.bookmark(entry)} />
    <${Button} icon="menu" label="More" onClick=${(/** @type {MouseEvent} */ event) => openMenu(event, entry)} />`;
}

/** @param {{note: import("./api.js").Attached}} props */
function Note({ note }) {
  if (note.kind === "annotation") {
    return html`<aside class="note" dir="auto"><b>${note.author}</b> ${note.text}</aside>`;
  }
  const name = note.kind === "thought" ? "Thinking" : `Result of ${note.tool ?? "a tool"}`;
  return html`<details class="attached"><summary>${name}</summary><pre tabindex="0">${note.text}</pre></details>`;
}

/** Branches that follow the cursor. */
const Branches = observer(() => {
  // Continuations that were just written are shown above.
  const running = generation.value?.from === state.cursor.value ? (generation.value?.streams ?? []) : [];
  const written = new Set(running.map((stream) => stream.node));
  const lines = state.continuations.value.filter((line) => !written.has(line.id));
  const count = (state.current.value?.marks.continuations ?? 0) - [...written].filter(Boolean).length;
  if (!lines.length) return null;
  return html`<nav class="branches" aria-label="Continuations">
    <h2>${written.size ? "Other branches" : count === 1 ? "Continues" : `${count} branches`}</h2>
    ${lines.map((line) => html`<button type="button" key=${line.place} class=${classes("branch", `by-${line.author_type}`)} onClick=${() => go(line.id)}>
      <span class="dot" aria-hidden="true"></span><span class="branch-text" dir="auto">${line.text || "(empty)"}</span>
      ${line.marks.bookmark !== undefined && html`<span class="mark">★</span>`}
      ${line.marks.continuations > 1 && html`<span class="count">${line.marks.continuations}</span>`}</button>`)}
    ${count > lines.length && html`<p class="dim">${count - lines.length} more are in the outline.</p>`}
  </nav>`;
});
