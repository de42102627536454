// Dialogs: one at a time, closed by Esc or a click beside it. The focus returns to where it was.

import { html, createRef, Component, Button } from "./elements.js";
import { observer } from "./signals.js";
import { get, send } from "./api.js";
import * as state from "./state.js";
import * as actions from "./actions.js";
import { models, setModels } from "./generations.js";
import { COMMANDS, keyLabel } from "./keys.js";
import * as sessions from "./sessions.js";
import { Search, Bookmarks, Pruned, Trees, Palette, Sessions, Documents, Log } from "./list-dialogs.js";
import { TextForm } from "./text-dialog.js";
import { Merge, Split } from "./merge-split.js";
import { ImportReport } from "./import.js";
import { Compare, ContextReport, DocumentView } from "./data-dialogs.js";
import { Drafts, Draft } from "./drafts.js";
import { Notice, Live } from "./notices.js";

export function close() {
  state.dialog.value = null;
}

class Modal extends Component {
  dialog = createRef();
  /** Element that had the focus before. */
  focus = document.activeElement;

  componentDidMount() {
    const dialog = this.dialog.current;
    dialog.showModal();
    // Without a field of its own, a dialog is read from its beginning: the browser would choose the button that closes it.
    if (document.activeElement?.closest("header")) dialog.querySelector(".dialog-body").focus();
  }

  /** True once another dialog, or none, is shown. */
  isGone = false;

  componentWillUnmount() {
    this.isGone = true;
    // While it is open, nothing outside can have the focus.
    this.dialog.current.close();
    if (this.focus instanceof HTMLElement && this.focus.isConnected) this.focus.focus({ preventScroll: true });
  }

  render() {
    const { title, wide, children } = this.props;
    return html`<dialog class=${wide ? "wide" : ""} ref=${this.dialog} aria-label=${title} onClose=${() => !this.isGone && close()}
      onCancel=${(/** @type {Event} */ event) => { event.preventDefault(); close(); }}
      onPointerDown=${(/** @type {any} */ event) => event.target === this.dialog.current && close()}>
      <div class="dialog-body" tabindex="-1"><header><h2>${title}</h2><${Button} icon="close" label="Close" keys="Esc" onClick=${close} /></header>${children}<${Notice} /><${Live} /></div>
    </dialog>`;
  }
}

export const Dialogs = observer(() => {
  const open = state.dialog.value;
  const known = open && DIALOGS[open.kind];
  if (!known) return null;
  return html`<${Modal} key=${`${open.kind} ${open.node ?? ""}`} title=${known.title} wide=${known.wide}><${known.view} ...${open} /></${Modal}>`;
});

/** @param {{node: string, content: string, parent?: string}} props */
function Edit({ node, content, parent }) {
  // A root has no branch beside it, so its edit is a version in every mode.
  const isVersion = state.tree.value?.mode === "buffer" || !parent;
  const saves = [[isVersion ? "Save as version" : "Save as branch", (/** @type {string} */ text) => actions.saveEdit(node, text, null)]];
  if (isVersion && parent) saves.push(["Save as branch", (/** @type {string} */ text) => actions.saveEdit(node, text, parent)]);
  const hint = isVersion ? "The original stays. A version shares its continuations." : "The original and its continuations stay.";
  return html`<${TextForm} value=${content} label="Text" draft=${`edit-${node}`} rows=${Math.min(22, Math.max(8, content.split("\n").length + 2))} saves=${saves} hint=${hint} />`;
}

/** @param {{node: string}} props */
function Note({ node }) {
  return html`<${TextForm} value="" label="Note" draft=${`note-${node}`} rows=${4} saves=${[["Add the note", (/** @type {string} */ text) => actions.saveNote(node, text)]]} />`;
}

/** @param {{node: string}} props */
function Bookmark({ node }) {
  return html`<${TextForm} value="" label="Label" rows=${1} mayBeEmpty saves=${[["Bookmark", (/** @type {string} */ text) => actions.saveBookmark(node, text.trim())]]} />`;
}

/** Asks before another agent's last change is undone. @param {{agent: string, description: string}} props */
function Undo({ agent, description }) {
  const run = () => {
    close();
    actions.undo(agent);
  };
  return html`<div class="form"><p>The last change of <b>${agent}</b>: ${description}.</p>
    <div class="form-row"><${Button} class="primary" text="Undo it" label="Undo it" onClick=${run} /><${Button} text="Keep it" label="Keep it" onClick=${close} /></div></div>`;
}

function BeginSession() {
  return html`<${TextForm} value="" label="Name" rows=${1} mayBeEmpty saves=${[["Begin", (/** @type {string} */ text) => sessions.begin(text.trim())]]} hint="A conversation with the collaborator, in a tree of its own." />`;
}

/** @param {{session: string, name: string}} props */
function NameSession({ session, name }) {
  return html`<${TextForm} value=${name} label="Name" rows=${1} mayBeEmpty saves=${[["Name it", (/** @type {string} */ text) => sessions.rename(session, text.trim())]]} />`;
}

function Rename() {
  return html`<${TextForm} value=${state.tree.value?.title} label="Title" rows=${1} saves=${[["Rename", (/** @type {string} */ text) => actions.rename(text.trim())]]} />`;
}

function Help() {
  const groups = [...new Set(COMMANDS.map((command) => command.group))];
  return html`<div class="help" tabindex="0" role="region" aria-label="Keys">${groups.map((group) => html`<section key=${group}><h3>${group}</h3><dl>
    ${COMMANDS.filter((command) => command.group === group && command.keys.length).map((command) => html`<div key=${command.name}>
      <dt>${command.keys.map((key) => html`<kbd key=${key}>${keyLabel(key)}</kbd>`)}</dt><dd>${command.help}</dd></div>`)}</dl></section>`)}
    <p class="dim">1 to 9 choose a finished continuation, or set how many are generated.</p></div>`;
}

class Models extends Component {
  state = { names: /** @type {string[]} */ ([]), typed: "" };

  componentDidMount() {
    const known = state.me.value?.models ?? [];
    this.setState({ names: known });
    get("/agents")
      .then(({ data }) => {
        const named = data.map((/** @type {any} */ agent) => agent.model).filter(Boolean);
        this.setState({ names: [...new Set([...known, ...named])] });
      })
      .catch(() => {});
  }

  /** @param {string} name */
  toggle(name) {
    const chosen = models.value;
    setModels(chosen.includes(name) ? chosen.filter((other) => other !== name) : [...chosen, name]);
    this.setState({});
  }

  render() {
    const chosen = models.value;
    const names = [...new Set([...this.state.names, ...chosen])];
    const add = () => this.state.typed.trim() && (this.toggle(this.state.typed.trim()), this.setState({ typed: "" }));
    return html`<div class="form"><p class="dim">Each chosen model writes its own continuations. None: the default model.</p>
      <div class="choices">${names.map((name) => html`<label key=${name}><input type="checkbox" checked=${chosen.includes(name)} onChange=${() => this.toggle(name)} /> ${name}</label>`)}</div>
      <div class="form-row"><input type="text" aria-label="Model" placeholder="provider:model, such as ollama:llama3.2" value=${this.state.typed}
        onInput=${(/** @type {any} */ event) => this.setState({ typed: event.currentTarget.value })} onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Enter" && add()} />
        <${Button} text="Add" label="Add the model" onClick=${add} /></div></div>`;
  }
}

/** @param {{results: {ok: boolean, text: string}[]}} props */
function Results({ results }) {
  return html`<div class="results" tabindex="0" role="region" aria-label="Results">${results.map((result, at) => html`<pre key=${at} tabindex="0" class=${result.ok ? "" : "bad"}>${result.text}</pre>`)}</div>`;
}

/** Titles and contents of the dialogs. @type {Record<string, {title: string, view: any, wide?: boolean}>} */
export const DIALOGS = {
  search: { title: "Search", view: Search, wide: true },
  bookmarks: { title: "Bookmarks", view: Bookmarks },
  pruned: { title: "Pruned branches", view: Pruned },
  trees: { title: "Trees", view: Trees },
  palette: { title: "Actions", view: Palette },
  sessions: { title: "Sessions", view: Sessions },
  session_new: { title: "Begin a conversation", view: BeginSession },
  session_name: { title: "Name the session", view: NameSession },
  log: { title: "Changes", view: Log, wide: true },
  undo: { title: "Undo", view: Undo },
  documents: { title: "Documents", view: Documents },
  document: { title: "Document", view: DocumentView, wide: true },
  drafts: { title: "Drafts", view: Drafts, wide: true },
  draft: { title: "Unsaved text", view: Draft, wide: true },
  compare: { title: "Compare", view: Compare, wide: true },
  context: { title: "Context", view: ContextReport, wide: true },
  help: { title: "Keys", view: Help, wide: true },
  edit: { title: "Edit", view: Edit, wide: true },
  note: { title: "Note", view: Note },
  bookmark: { title: "Bookmark", view: Bookmark },
  rename: { title: "Rename the tree", view: Rename },
  merge: { title: "Merge", view: Merge, wide: true },
  split: { title: "Split", view: Split, wide: true },
  import: { title: "Import", view: ImportReport },
  models: { title: "Models", view: Models },
  results: { title: "Results", view: Results, wide: true },
};

/** Asks for a token. A link with a code needs no token. */
export class Login extends Component {
  state = { token: "", error: "" };

  /** @param {Event} event */
  submit = async (event) => {
    event.preventDefault();
    try {
      await send("POST", "/login", { token: this.state.token.trim() });
      location.reload();
    } catch (error) {
      this.setState({ error: /** @type {Error} */ (error).message });
    }
  };

  render() {
    return html`<main class="login"><form onSubmit=${this.submit}><h1>loom</h1>
      <p>This server needs a token. <code>loom serve token new NAME</code> creates one; <code>loom open</code> opens this page without.</p>
      <input type="password" autocomplete="current-password" aria-label="Token" placeholder="loom_…" value=${this.state.token}
        onInput=${(/** @type {any} */ event) => this.setState({ token: event.currentTarget.value })} />
      <button class="button primary" type="submit">Open</button>
      ${this.state.error && html`<p class="bad" role="alert">${this.state.error}</p>`}</form></main>`;
  }
}
