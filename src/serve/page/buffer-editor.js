// The prose of a buffer tree: the end of the path as one text with a caret. What is typed becomes versions of the nodes that
// changed when it is saved: by key, on leaving the text, or before a model continues.

import { html, classes, createRef, Component, Button } from "./elements.js";
import { effect } from "./signals.js";
import { get, post } from "./api.js";
import * as state from "./state.js";
import { go, refresh, isAway, holdSteps, visitVersion } from "./walk.js";
import { change } from "./actions.js";
import { generate, choose } from "./streams.js";
import { ProseText, editable } from "./buffer-text.js";

/** Name under which this tab stores typed text that is not saved yet. */
const DRAFTS = "loom-prose-drafts";
/** Drafts that are stored; older ones are dropped. */
const MAX_DRAFTS = 50;

/** Unsaved changes by the last node of the text that they were made in, the newest last. @type {Map<string, import("./buffer-text.js").ProseChanges>} */
const drafts = new Map(JSON.parse(sessionStorage.getItem(DRAFTS) ?? "[]"));

/** Stores the unsaved changes of a text in place of those of a node. @param {string} node @param {ProseText} text */
function storeDraft(node, text) {
  drafts.delete(node);
  if (text.isChanged) drafts.set(text.end.id, text.changes());
  for (const oldest of drafts.keys()) if (drafts.size > MAX_DRAFTS) drafts.delete(oldest);
  sessionStorage.setItem(DRAFTS, JSON.stringify([...drafts]));
}

/** Places the caret at the end of the text. Returns false if no text is shown. */
export function focusProse() {
  const area = /** @type {HTMLTextAreaElement | null} */ (document.querySelector(".prose-text"));
  area?.focus();
  area?.setSelectionRange(area.value.length, area.value.length);
  return area !== null;
}

/** Properties: `entries`, the end of the path. */
export class Prose extends Component {
  area = createRef();
  text = new ProseText(this.props.entries);
  /** Entries that the text was made of. */
  shown = this.props.entries;
  state = { caret: 0, isSaving: false };
  /** @type {(() => void) | undefined} */
  stop;

  componentDidMount() {
    this.restore();
    this.area.current.value = this.text.text;
    let isFirst = true;
    this.stop = effect(() => {
      state.online.value;
      if (!isFirst) queueMicrotask(() => this.setState({}));
      isFirst = false;
    });
    this.area.current.setSelectionRange(this.text.text.length, this.text.text.length);
    this.setState({ caret: this.text.text.length });
  }

  componentWillUnmount() {
    this.stop?.();
  }

  /** @param {{entries: import("./api.js").Entry[]}} next */
  componentWillReceiveProps({ entries }) {
    if (entries === this.shown) return;
    const place = entries.at(-1)?.place;
    const isSame = place === this.text.end.place;
    // A window from before the save may still arrive after it.
    const isOlder = this.state.isSaving && place === this.shown.at(-1)?.place;
    // Typed text stays until it is saved, whatever others write meanwhile.
    if (this.text.isChanged && (isSame || isOlder)) return;
    const area = this.area.current;
    const fromEnd = isSame && area ? this.text.text.length - area.selectionEnd : 0;
    this.text = new ProseText(entries);
    this.shown = entries;
    this.restore();
    this.caret = Math.max(0, this.text.text.length - fromEnd);
  }

  componentDidUpdate() {
    const area = this.area.current;
    if (area.value !== this.text.text) area.value = this.text.text;
    if (this.caret === null) return;
    area.setSelectionRange(this.caret, this.caret);
    this.caret = null;
    this.follow();
  }

  /** Place of the caret after new text. @type {number | null} */
  caret = null;

  /** Restores what was typed here before the page was loaded again, or before a failed save and a step elsewhere. */
  restore() {
    const draft = drafts.get(this.text.end.id);
    if (draft) this.text.repeat(draft);
  }

  onInput = () => {
    const area = this.area.current;
    this.text.change(area.value, area.selectionEnd);
    storeDraft(this.text.end.id, this.text);
    this.follow();
  };

  follow = () => {
    const caret = this.area.current?.selectionEnd ?? 0;
    this.setState({ caret });
  };

  /** Saves on leaving, but not when a button of the text takes the focus. @param {FocusEvent} event */
  onBlur = (event) => {
    const next = event.relatedTarget;
    if (next instanceof Element && next.closest(".prose-bar")) return;
    this.save();
  };

  /** Saves what was typed. Returns the node at the end of the path; null if it failed. @returns {Promise<string | null>} */
  async save() {
    const at = state.cursor.value;
    const prose = this.text;
    const changes = prose.changes();
    const { edits, appended } = changes;
    const before = prose.end.id;
    if (this.state.isSaving) return null;
    if (!edits.length && !appended) return at;
    this.setState({ isSaving: true });
    const text = prose.text;
    try {
      const bodies = edits.map(({ part, content }) => ({ node: part.id, content }));
      const answer = post(`/nodes/${before}/text`, { edits: bodies, appended: appended?.content });
      holdSteps(answer);
      const { nodes } = await answer;
      const changed = new Set(edits.map(({ part }) => part.id));
      state.versions.value = [...state.versions.value.filter((id) => !changed.has(id)), ...nodes.slice(0, edits.length)];
      edits.forEach(({ part }, at) => visitVersion(part.id, nodes[at]));
      prose.adoptSave(text, changes, nodes);
      storeDraft(before, prose);
      const end = prose.end.id;
      const count = edits.length + Number(appended !== null);
      state.announcement.value = count === 1 ? "Saved" : `Saved, ${count} nodes`;
      // The user may have gone to another node meanwhile, or be on the way.
      if (!isAway()) await (state.cursor.value === at ? go(end) : refresh());
      return end;
    } catch (error) {
      state.fail(error);
      return null;
    } finally {
      this.setState({ isSaving: false });
    }
  }

  /** Saves, and splits the node at the caret unless the caret is between two nodes. Goes to what is before the caret. */
  async cut() {
    const caret = this.area.current.selectionEnd;
    const fromEnd = this.text.text.length - caret;
    if ((await this.save()) === null) return false;
    const text = new ProseText(editable(state.path.value.entries));
    const at = text.text.length - fromEnd;
    if (fromEnd === 0) return true;
    const place = text.placeIn(at);
    if (!place.id || at <= 0) {
      state.notify("there is no text before the caret");
      return false;
    }
    try {
      const head = place.isEnd ? place.id : (await change(place.id, { op: "split", at: place.characters })).node.id;
      await go(head);
      return true;
    } catch (error) {
      state.fail(error);
      return false;
    }
  }

  /** Has models continue at the caret. What follows it stays in another version. */
  continueHere = async () => {
    if (await this.cut()) generate();
  };

  splitHere = async () => {
    if (await this.cut()) state.notify("Split at the caret; what follows is the next node");
  };

  /** Shows another version of the node at the caret. @param {boolean} forward */
  async version(forward) {
    if (this.text.isChanged) return state.notify("Ctrl-S saves first; then Alt-. and Alt-, go through the versions");
    const part = this.text.parts[this.text.partAt(this.area.current.selectionEnd)];
    const { data } = await get(`/nodes/${part.id}/versions`);
    const ids = data.map((/** @type {import("./api.js").Node} */ node) => node.id);
    const to = ids[ids.indexOf(part.id) + (forward ? 1 : -1)];
    if (!to) return state.notify("no other version in this direction");
    state.versions.value = [...state.versions.value.filter((id) => !ids.includes(id)), to];
    await (part.id === state.cursor.value ? go(to) : refresh());
  }

  /** @param {KeyboardEvent} event */
  onKeyDown = (event) => {
    if (event.isComposing) return;
    const isHeld = event.ctrlKey || event.metaKey;
    // What models wrote is chosen by its number, as long as nothing is typed.
    const isChoice = /^[1-9]$/.test(event.key) && !isHeld && !event.altKey && !this.text.isChanged;
    if (isChoice && choose(Number(event.key) - 1)) return event.preventDefault();
    if (event.key === "Escape") {
      // Leaving saves.
      /** @type {HTMLElement | null} */ (document.querySelector(".outline-scroll, .reading-scroll"))?.focus({ preventScroll: true });
    } else if (isHeld && event.key === "s") this.save();
    else if (event.key === "Enter" && (isHeld || event.altKey)) this.continueHere();
    else if (event.altKey && (event.code === "Period" || event.code === "Comma")) this.version(event.code === "Period").catch(state.fail);
    else return;
    event.preventDefault();
  };

  render() {
    const { caret, isSaving } = this.state;
    const { text } = this;
    const part = text.parts[text.partAt(caret)];
    const entry = this.props.entries.find((/** @type {import("./api.js").Entry} */ entry) => entry.id === part.id);
    const status = isSaving ? "saving…" : text.isChanged ? "not saved" : "";
    return html`<div class="prose">
      <div class="prose-page">
        <div class="prose-mirror" aria-hidden="true" dir="auto">${text.pieces().map((piece, at) => html`<span key=${at} class=${piece.model ? "is-model" : ""}>${piece.text}</span>`)}${"\u200b"}</div>
        <textarea class="prose-text" ref=${this.area} defaultValue=${text.text} dir="auto" spellcheck="true" aria-label="Text of this branch"
          onInput=${this.onInput} onSelect=${this.follow} onKeyUp=${this.follow} onClick=${this.follow} onBlur=${this.onBlur} onKeyDown=${this.onKeyDown}></textarea>
      </div>
      <div class="prose-bar">
        ${entry && html`<a class="id" href=${`#/${entry.id}`} title="Node at the caret">${entry.local_id}</a>
          <span class="dim">${entry.version.count > 1 ? `version ${entry.version.number} of ${entry.version.count}` : entry.author}</span>`}
        <span class="spacer"></span>
        <span class=${classes("prose-status", text.isChanged && "mark")} role="status">${status}</span>
        ${text.isChanged && html`<${Button} class="small" text="Save" label="Save what you typed" keys="Ctrl-S" disabled=${isSaving} onClick=${() => this.save()} />`}
        <${Button} class="small" icon="cut" text="Split" label="Split the node at the caret" onClick=${this.splitHere} />
        <${Button} class="small" icon="spark" text="Continue here" label="Have models continue at the caret" keys="Ctrl-Enter" onClick=${this.continueHere} />
      </div></div>`;
  }
}
