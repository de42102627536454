// The frame: header, panes, input line and status line.

import { html, classes, counted, Button, Icon } from "./elements.js";
import { observer } from "./signals.js";
import * as state from "./state.js";
import { TreeMap } from "./map.js";
import { Outline } from "./outline.js";
import { Reading } from "./reading.js";
import { isUnsaved } from "./buffer-text.js";
import { Composer, focusComposer } from "./composer.js";
import { Menu } from "./menu.js";
import { Approvals } from "./approvals.js";
import { DropCover } from "./import.js";
import { Dialogs, Login } from "./dialogs.js";
import { Notice, Live } from "./notices.js";
import { hint, nextTheme, toggleReading } from "./keys.js";
import { undo, redo } from "./actions.js";
import { newTree } from "./list-dialogs.js";

/** @param {string} kind */
const open = (kind) => () => (state.dialog.value = { kind });

/** Panes, with the names that buttons show. @type {[string, string, "tree" | "map" | "text"][]} */
const PANES = [["tree", "Tree", "tree"], ["map", "Map", "map"], ["text", "Read", "text"]];

const Header = observer(() => {
  const tree = state.tree.value;
  const layout = state.layout.value;
  const present = state.others.value.filter((other, at, all) => all.findIndex(({ name }) => name === other.name) === at);
  return html`<header class="header">
    <button type="button" class="title" onClick=${open("trees")} title="Trees (t)"><${Icon} name="tree" /><span dir="auto">${tree?.title ?? "New tree"}</span><${Icon} name="down" /></button>
    ${tree && html`<span class="counts">${counted(tree.nodes, "node")} · ${counted(tree.leaves, "branch")}</span>`}
    <span class="spacer"></span>
    ${present.map((other) => html`<span key=${other.name} class=${classes("person", other.generating && "is-busy")} title=${other.generating ? `${other.name} is writing` : `${other.name} is here`}>${other.name}</span>`)}
    <div class="panes segments" role="group" aria-label="Panes">${PANES.map(([name, label, icon]) => html`<${Button} key=${name} icon=${icon} label=${label} class="small"
      pressed=${layout === name || (layout === "both" && name !== "map")} onClick=${() => (state.layout.value = layout === name ? "both" : name)} />`)}</div>
    <${Button} icon="search" label="Search" keys=${hint("search")} onClick=${open("search")} />
    <${Button} icon="star" label="Bookmarks" keys=${hint("bookmarks")} onClick=${open("bookmarks")} class="wide-only" />
    <${Button} icon="book" label="Conversation or prose" keys=${hint("reading")} pressed=${state.reading.value === "prose"} onClick=${toggleReading} class="wide-only" />
    ${state.canWrite.value && html`<${Button} icon="undo" label="Undo" keys=${hint("undo")} onClick=${() => undo()} class="wide-only" />
      <${Button} icon="redo" label="Redo" keys=${hint("redo")} onClick=${redo} class="wide-only" />`}
    <${Button} icon="moon" label="Theme" onClick=${nextTheme} class="wide-only" />
    <${Button} icon="list" label="All actions" keys="Ctrl-K" onClick=${open("palette")} />
    <${Button} icon="help" label="Keys" keys="?" onClick=${open("help")} class="wide-only" />
  </header>`;
});

const Status = observer(() => {
  const entry = state.current.value;
  return html`<footer class="status">
    ${entry && html`<span class="here">${entry.local_id}</span><span>depth ${entry.depth}</span>
      ${entry.branch.count > 1 && html`<span>branch ${entry.branch.number}/${entry.branch.count}</span>`}
      ${entry.tokens !== undefined && html`<span class="wide-only">${entry.tokens} tokens</span>`}`}
    <span class="spacer"></span>
    <${Notice} />
    <span class=${classes("connection", !state.online.value && "is-offline")}>${state.online.value ? (!state.canWrite.value ? "read only" : isUnsaved.value ? "not saved" : "saved") : "offline – typed text is kept"}</span>
  </footer>`;
});

/** Modes of a new tree: value, name, description, icon. @type {["dialogue" | "buffer", string, string, "reply" | "book"][]} */
const MODES = [
  ["dialogue", "Conversation", "Messages in turn. An edit is a branch beside the original.", "reply"],
  ["buffer", "Prose", "One text, edited in place. Models continue at the caret.", "book"],
];

const Welcome = observer(() => html`<section class="welcome"><h1>Start a tree</h1>
  <p>Write the first words below. From every place several continuations can grow, and all are kept.</p>
  <div class="modes" role="group" aria-label="Kind of tree">${MODES.map(([mode, name, help, icon]) => html`<button type="button" key=${mode} class="mode" aria-pressed=${state.newMode.value === mode}
    onClick=${() => { state.newMode.value = mode; focusComposer(); }}><${Icon} name=${icon} /><b>${name}</b><span>${help}</span></button>`)}</div>
  <${Button} icon="list" text="Your trees" label="Trees" keys="t" onClick=${open("trees")} /></section>`);

const Panes = observer(() => {
  const layout = state.layout.value;
  // Until the rights are known, a tree may still arrive.
  if (!state.tree.value) return html`<main class="main">${state.me.value && html`<${Welcome} />`}</main>`;
  return html`<main class=${classes("main", `layout-${layout}`)}>${layout === "map" ? html`<${TreeMap} />` : html`<${Outline} />`}<${Reading} /></main>`;
});

/** Bar of a narrow screen. There, `both` shows the text alone; it is the choice that a wider window keeps. */
const Tabs = observer(() => {
  const shown = state.layout.value === "both" ? "text" : state.layout.value;
  return html`<nav class="tabs" aria-label="Panes">${PANES.map(([name, label, icon]) => html`<button type="button" key=${name} class="tab" aria-pressed=${shown === name}
    onClick=${() => (state.layout.value = name === "text" ? "both" : name)}><${Icon} name=${icon} />${label}</button>`)}
    <button type="button" class="tab" onClick=${open("palette")}><${Icon} name="list" />More</button>
    <button type="button" class="tab" onClick=${newTree}><${Icon} name="plus" />New</button></nav>`;
});

export const Shell = observer(() => {
  // Typed text is kept, also if the login ends while the page is open.
  if (state.loginReason.value !== null) return html`<${Login} />`;
  return html`<div class="shell"><${Header} /><${Panes} /><div><${Approvals} /><${Composer} /></div><${Status} /><${Tabs} /><${Menu} /><${Dialogs} /><${DropCover} /><${Live} /></div>`;
});
