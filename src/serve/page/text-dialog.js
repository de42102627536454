// The form of dialogs that take a text: edit, note, bookmark, merge, title.

import { html, createRef, Component, Button } from "./elements.js";
import * as state from "./state.js";
import { readDraft, writeDraft, dropDraft, guardClose } from "./draft-store.js";

/**
 * A text to write. Ctrl-Enter saves. Properties: `value`, `label`, `rows`, `saves` (label and effect of each button), `draft`
 * (name under which the text is stored until it is saved).
 */
export class TextForm extends Component {
  area = createRef();
  draft = `loom-${this.props.draft}`;
  kept = this.props.draft ? readDraft(this.draft) : null;
  state = { isSaving: false, isKept: this.kept !== null };

  componentDidMount() {
    const area = this.area.current;
    area.setSelectionRange(area.value.length, area.value.length);
    const before = area.value;
    this.stop = guardClose(() => area.value !== before);
  }

  componentWillUnmount() {
    this.stop?.();
  }

  /** @type {(() => void) | undefined} */
  stop;

  /** @param {(text: string) => Promise<boolean>} save */
  async save(save) {
    const area = this.area.current;
    const text = area.value;
    // The field is read only during a save, so what is typed on cannot be lost.
    if (area.readOnly || (!text.trim() && !this.props.mayBeEmpty)) return;
    area.readOnly = true;
    const own = state.dialog.value;
    this.setState({ isSaving: true });
    const isSaved = await save(text);
    area.readOnly = false;
    // After a failure the text stays for another try.
    if (!isSaved) return this.setState({ isSaving: false });
    if (this.props.draft) dropDraft(this.draft);
    // The user may have closed it and opened another one.
    if (state.dialog.value === own) state.dialog.value = null;
  }

  onInput = () => {
    if (this.props.draft) writeDraft(this.draft, this.area.current.value);
  };

  discard = () => {
    dropDraft(this.draft);
    this.area.current.value = this.props.value;
    this.setState({ isKept: false });
  };

  /** @param {KeyboardEvent} event */
  onKeyDown = (event) => {
    const isShort = this.props.rows === 1 && event.key === "Enter" && !event.shiftKey;
    if (!isShort && !(event.key === "Enter" && (event.ctrlKey || event.metaKey))) return;
    event.preventDefault();
    // A key that is held confirms once.
    if (!event.repeat) this.save(this.props.saves[0][1]);
  };

  render() {
    const { value, label, rows, saves, hint } = this.props;
    return html`<div class="form">
      <textarea ref=${this.area} autofocus rows=${rows} defaultValue=${this.kept ?? value} aria-label=${label} dir="auto" onInput=${this.onInput} onKeyDown=${this.onKeyDown}></textarea>
      <div class="form-row">${saves.map((/** @type {[string, any]} */ [name, save], /** @type {number} */ at) => html`<${Button} key=${name} text=${name} label=${name} keys=${at ? undefined : rows === 1 ? "Enter" : "Ctrl-Enter"}
        class=${at ? "" : "primary"} disabled=${this.state.isSaving} onClick=${() => this.save(save)} />`)}
        ${this.state.isKept && html`<${Button} text="Discard the draft" label="Discard what was typed before" onClick=${this.discard} />`}
        <span class="dim">${hint}</span></div></div>`;
  }
}
