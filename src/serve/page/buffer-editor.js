// The prose of a buffer tree: the end of the path as one text with a caret. What is typed becomes versions of the nodes that
// changed when it is saved: by key, on leaving the text, or before a model continues.

import { html, classes, createRef, Component, Button } from "./elements.js";
import { effect } from "./signals.js";
import { get } from "./api.js";
import * as state from "./state.js";
import { go, refresh } from "./navigation.js";
import { change } from "./actions.js";
import { generate, choose } from "./generations.js";
import { ProseText, editable, shownProse, isUnsaved } from "./buffer-text.js";
import { isSaving, saveProse, storeDraft, restoreDraft, otherDrafts } from "./prose-save.js";

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
  state = { caret: 0 };
  /** @type {(() => void) | undefined} */
  stop;

  componentDidMount() {
    this.show();
    this.area.current.value = this.text.text;
    let isFirst = true;
    this.stop = effect(() => {
      isSaving.value;
      state.online.value;
      otherDrafts.value;
      if (!isFirst) queueMicrotask(() => this.setState({}));
      isFirst = false;
    });
    this.area.current.setSelectionRange(this.text.text.length, this.text.text.length);
    this.setState({ caret: this.text.text.length });
  }

  componentWillUnmount() {
    this.stop?.();
    this.leave();
    if (shownProse.peek() === this.text) shownProse.value = null;
    isUnsaved.value = false;
  }

  /** @param {{entries: import("./api.js").Entry[]}} next */
  componentWillReceiveProps({ entries }) {
    if (entries === this.shown) return;
    const place = entries.at(-1)?.place;
    const isSame = place === this.text.end.place;
    // A window from before the save may still arrive after it.
    const isOlder = isSaving.peek() && place === this.shown.at(-1)?.place;
    // Typed text stays until it is saved, whatever others write meanwhile.
    if (this.text.isChanged && (isSame || isOlder)) return;
    const area = this.area.current;
    const fromEnd = isSame && area ? this.text.text.length - area.selectionEnd : 0;
    this.leave();
    this.text = new ProseText(entries);
    this.shown = entries;
    this.show();
    this.caret = Math.max(0, this.text.text.length - fromEnd);
  }

  /** Saves what was typed before another text is shown. */
  leave() {
    if (this.text.isChanged) saveProse(this.text);
  }

  /** Restores what was typed here before the page was loaded again, or before a failed save and a step elsewhere. */
  show() {
    restoreDraft(this.text);
    shownProse.value = this.text;
  }

  componentDidUpdate() {
    isUnsaved.value = this.text.isChanged;
    const area = this.area.current;
    if (area.value !== this.text.text) area.value = this.text.text;
    if (this.caret === null) return;
    area.setSelectionRange(this.caret, this.caret);
    this.caret = null;
    this.follow();
  }

  /** Place of the caret after new text. @type {number | null} */
  caret = null;

  /** Refuses text that would make a node too long for this editor, before it takes the place of anything. @param {InputEvent} event */
  onBeforeInput = (event) => {
    const area = this.area.current;
    const inserted = event.data ?? event.dataTransfer?.getData("text/plain") ?? "";
    if (!inserted || !this.text.isFull(inserted, area.selectionStart, area.selectionEnd)) return;
    event.preventDefault();
    state.notify("Too long: a node inside the text holds 48,000 bytes. Split it at the caret, then paste at its end", { bad: true });
  };

  onInput = () => {
    const area = this.area.current;
    this.text.change(area.value, area.selectionEnd);
    storeDraft(this.text);
    this.follow();
  };

  follow = () => {
    const caret = this.area.current?.selectionEnd ?? 0;
    this.setState({ caret });
  };

  /** Saves on leaving the text and its buttons. @param {FocusEvent} event */
  onFocusOut = (event) => {
    const next = event.relatedTarget;
    if (!(next instanceof Element && next.closest(".prose"))) this.save();
  };

  save = () => saveProse(this.text);

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
    const { caret } = this.state;
    const isBusy = isSaving.peek();
    const { text } = this;
    const part = text.parts[text.partAt(caret)];
    const entry = this.props.entries.find((/** @type {import("./api.js").Entry} */ entry) => entry.id === part.id);
    const others = otherDrafts.peek();
    const status = isBusy ? "saving…" : text.isChanged ? "not saved" : "";
    return html`<div class="prose" onFocusOut=${this.onFocusOut}>
      <div class="prose-page">
        <div class="prose-mirror" aria-hidden="true" dir="auto">${text.pieces().map((piece, at) => html`<span key=${at} class=${piece.model ? "is-model" : ""}>${piece.text}</span>`)}${"\u200b"}</div>
        <textarea class="prose-text" ref=${this.area} defaultValue=${text.text} dir="auto" spellcheck="true" aria-label="Text of this branch"
          onBeforeInput=${this.onBeforeInput} onInput=${this.onInput} onSelect=${this.follow} onKeyUp=${this.follow} onClick=${this.follow} onKeyDown=${this.onKeyDown}></textarea>
      </div>
      ${others.length > 0 && html`<p class="prose-draft" role="status"><span>Text that was typed here in another version is not saved.</span>
        <${Button} class="small" text="Look at it" label="Look at the unsaved text" onClick=${() => (state.dialog.value = others.length === 1 ? { kind: "draft", name: others[0] } : { kind: "drafts" })} /></p>`}
      <div class="prose-bar">
        ${entry && html`<a class="id" href=${`#/${entry.id}`} title="Node at the caret">${entry.local_id}</a>
          <span class="dim">${entry.version.count > 1 ? `version ${entry.version.number} of ${entry.version.count}` : entry.author}</span>`}
        <span class="spacer"></span>
        <span class=${classes("prose-status", text.isChanged && "mark")} role="status">${status}</span>
        ${text.isChanged && html`<${Button} class="small" text="Save" label="Save what you typed" keys="Ctrl-S" disabled=${isBusy} onClick=${this.save} />`}
        <${Button} class="small" icon="cut" text="Split" label="Split the node at the caret" onClick=${this.splitHere} />
        <${Button} class="small" icon="spark" text="Continue here" label="Have models continue at the caret" keys="Ctrl-Enter" onClick=${this.continueHere} />
      </div></div>`;
  }
}
