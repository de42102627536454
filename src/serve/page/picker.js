// Lists to choose from: an input that filters or searches, and options that keys and clicks choose.

import { html, classes, createRef, Component } from "./elements.js";
import * as state from "./state.js";
import { hold, release, runHolding } from "./type-ahead.js";

/** @typedef {{key: string, title: any, detail?: any, side?: any, run: () => any}} Option */

/** Options that are drawn. */
const MAX_OPTIONS = 500;

/**
 * Properties: `label`, `placeholder`, `load` (returns the options for a text), `empty` (text without options), `actions`
 * (elements beside the input), `delay` (milliseconds without typing before `load` is called), `scope` (what else
 * the options depend on).
 */
export class Picker extends Component {
  input = createRef();
  list = createRef();
  state = { query: "", options: /** @type {Option[] | null} */ (null), at: 0 };
  /** @type {AbortController | null} */
  request = null;
  /** @type {number | undefined} */
  timer;

  componentDidMount() {
    this.load("");
  }

  componentWillUnmount() {
    clearTimeout(this.timer);
    this.request?.abort();
    // The dialog is closed, and the focus is where it was before: what is chosen may move it.
    if (this.chosen) runHolding(this.chosen.run, this.waiting);
    else this.forget();
  }

  /** Forgets the keys that were typed since Enter: nothing was chosen, and they were not meant for the page. */
  forget() {
    this.waiting?.keys.splice(0);
    release(this.waiting);
  }

  /** @param {any} before */
  componentDidUpdate(before) {
    if (before.scope === this.props.scope) return;
    this.input.current.focus();
    this.isPending = true;
    this.load(this.state.query);
  }

  /** @type {Option | undefined} */
  chosen;

  /** True while the options do not belong to the text yet. */
  isPending = true;
  /** Keys typed since Enter. @type {import("./type-ahead.js").Hold | null} */
  waiting = null;

  /** @param {string} query */
  async load(query) {
    this.request?.abort();
    const own = new AbortController();
    this.request = own;
    try {
      const options = await this.props.load(query, own.signal);
      if (own.signal.aborted) return;
      if (this.waiting && options.length) return this.choose(options[0]);
      this.show(options);
    } catch (error) {
      if (own.signal.aborted) return;
      this.show([]);
      state.fail(error);
    }
  }

  /** Shows options. Keys after an Enter that chose none act on them. @param {Option[]} options */
  show(options) {
    this.isPending = false;
    this.setState({ options, at: 0 }, () => {
      const { waiting } = this;
      this.waiting = null;
      release(waiting);
    });
  }

  /** @param {any} event */
  onInput = (event) => {
    const query = event.currentTarget.value;
    this.setState({ query });
    this.isPending = true;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.load(query), this.props.delay ?? 0);
  };

  /** @param {Option | undefined} option */
  choose(option) {
    if (!option) return;
    this.chosen = option;
    state.dialog.value = null;
  }

  /** @param {KeyboardEvent} event */
  onKeyDown = (event) => {
    const count = Math.min(MAX_OPTIONS, this.state.options?.length ?? 0);
    if (event.key === "Enter" && !event.isComposing) {
      if (this.isPending || count) this.waiting = hold();
      if (!this.isPending) this.choose(this.state.options?.[this.state.at]);
    }
    else if (event.key === "ArrowDown" && count) this.move((this.state.at + 1) % count);
    else if (event.key === "ArrowUp" && count) this.move((this.state.at + count - 1) % count);
    else return;
    event.preventDefault();
  };

  /** @param {number} at */
  move(at) {
    this.setState({ at }, () => this.list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }));
  }

  render() {
    const { options: all, at, query } = this.state;
    const options = all?.slice(0, MAX_OPTIONS);
    const { label, placeholder, empty, actions } = this.props;
    const more = (all?.length ?? 0) - MAX_OPTIONS;
    const hint = all?.length === 0 ? (query ? "Nothing matches." : empty) : more > 0 ? `${more.toLocaleString()} more. Type to find them.` : "";
    return html`<div class="picker">
      <div class="picker-head"><input ref=${this.input} autofocus type="text" value=${query} placeholder=${placeholder} aria-label=${label}
        role="combobox" aria-expanded="true" aria-controls="picker-list" aria-autocomplete="list" spellcheck="false" autocomplete="off"
        aria-activedescendant=${options?.length ? `option-${at}` : undefined}
        onInput=${this.onInput} onKeyDown=${this.onKeyDown} />${actions}</div>
      <div class="picker-list" id="picker-list" role="listbox" aria-label=${label} ref=${this.list} tabindex="-1">
        ${options?.map((option, index) => html`<div key=${option.key} id=${`option-${index}`} role="option" aria-selected=${index === at}
          class=${classes("option", index === at && "is-selected")} onClick=${() => this.choose(option)}>
          <span class="option-title" dir="auto">${option.title}</span>
          ${option.side && html`<span class="option-side">${option.side}</span>`}
          ${option.detail && html`<span class="option-detail" dir="auto">${option.detail}</span>`}</div>`)}
      </div>
      <p class=${hint ? "picker-empty" : "only-spoken"} role="status">${hint}</p>
    </div>`;
  }
}
