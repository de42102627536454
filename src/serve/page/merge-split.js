// Dialogs that join nodes or divide one: merge and split.

import { html, createRef, Component, Button } from "./elements.js";
import * as state from "./state.js";
import { TextForm } from "./text-dialog.js";
import { fieldLines, charactersBefore } from "./buffer-text.js";
import * as actions from "./actions.js";

/** Text of a new node that continues the first of several nodes. @param {{nodes: import("./api.js").Node[]}} props */
export function Merge({ nodes }) {
  const text = nodes.map((node) => node.content.trim()).join("\n\n");
  const save = (/** @type {string} */ content) => actions.saveMerge(nodes.map((node) => node.id), content);
  const hint = `The new node continues ${nodes[0].local_id} and is linked to ${nodes.map((node) => node.local_id).join(", ")}. All of them stay.`;
  return html`<${TextForm} value=${text} label="Text of the merged node" draft=${`merge-${nodes.map((node) => node.id)}`} rows=${12} saves=${[["Merge", save]]} hint=${hint} />`;
}

/** The place at which a node is divided: the caret in its text. Properties: `node`, `content`. */
export class Split extends Component {
  area = createRef();
  state = { at: 0, isSaving: false };
  /** The text as the field shows it. */
  content = fieldLines(this.props.content);

  componentDidMount() {
    this.area.current.setSelectionRange(0, 0);
  }

  follow = () => this.setState({ at: this.area.current.selectionEnd });

  /** Undoes what an input method wrote, which cannot be prevented. A field that is read only has no caret in some browsers. */
  restore = () => {
    this.area.current.value = this.content;
  };

  split = async () => {
    const { node, content } = this.props;
    const own = state.dialog.value;
    if (this.state.isSaving) return;
    this.state.isSaving = true;
    // The server counts characters of the content.
    const isSplit = await actions.split(node, charactersBefore(content, this.state.at));
    this.setState({ isSaving: false });
    if (isSplit && state.dialog.value === own) state.dialog.value = null;
  };

  /** @param {KeyboardEvent} event */
  onKeyDown = (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    if (this.isInside && !event.repeat) this.split();
  };

  get isInside() {
    return this.state.at > 0 && this.state.at < this.content.length;
  }

  render() {
    const { content } = this;
    const { at } = this.state;
    const [before, after] = [content.slice(0, at).trimEnd(), content.slice(at).trimStart()];
    const preview = this.isInside ? html`<span dir="auto">…${before.slice(-36)}</span> <b aria-hidden="true">✂</b> <span dir="auto">${after.slice(0, 36)}…</span>` : "Place the caret where the second node begins.";
    return html`<div class="form">
      <textarea ref=${this.area} autofocus rows=${Math.min(18, Math.max(6, content.split("\n").length + 2))} value=${content} dir="auto"
        aria-label="Text to split; place the caret" onBeforeInput=${(/** @type {Event} */ event) => event.preventDefault()} onInput=${this.restore} onSelect=${this.follow} onKeyUp=${this.follow} onClick=${this.follow} onKeyDown=${this.onKeyDown}></textarea>
      <div class="form-row"><${Button} class="primary" text="Split here" label="Split at the caret" keys="Enter" disabled=${!this.isInside} onClick=${this.split} />
        <span class="dim" role="status">${preview}</span></div></div>`;
  }
}
