// Stored drafts: a list of all, and one of them with its text. What was typed can be read and used here, whatever has become
// of the place at which it was typed.

import { html, Button } from "./elements.js";
import * as state from "./state.js";
import * as actions from "./actions.js";
import { Picker } from "./picker.js";
import { readDraft, draftNames } from "./draft-store.js";
import { shownProse } from "./buffer-text.js";
import { readProse, draftNode, forgetDraft, showDraft } from "./prose-save.js";

/** Kinds of drafts, by the second word of their names. @type {Record<string, {title: string, show: (name: string) => any}>} */
const KINDS = {
  prose: { title: "Prose", show: showDraft },
  edit: { title: "Edit", show: (name) => actions.edit(draftNode(name)) },
  note: { title: "Note", show: (name) => actions.annotate(draftNode(name)) },
  merge: { title: "Merge", show: (name) => actions.merge(draftNode(name).split(",")) },
};

/** @param {string} name */
const kindOf = (name) => KINDS[name.split("-")[1]];

/** Text of a draft. @param {string} name */
function textOf(name) {
  if (kindOf(name) !== KINDS.prose) return readDraft(name) ?? "";
  const { edits, appended } = readProse(name);
  return [...edits.map(({ content }) => content), ...(appended ? [appended.content] : [])].join("\n\n");
}

/** Drafts of prose that are at another node than the one at the cursor. */
const elsewhere = () => draftNames("prose").filter((name) => draftNode(name) !== state.cursor.value);

/** Offers drafts that the page does not show when it starts. */
export function offerDrafts() {
  const names = elsewhere();
  if (!names.length || !state.canWrite.value) return;
  const run = () => void (state.dialog.value = names.length === 1 ? { kind: "draft", name: names[0] } : { kind: "drafts" });
  state.notify(names.length === 1 ? "A typed text is not saved" : `${names.length} typed texts are not saved`, { action: { label: "Show", run } });
}

export function Drafts() {
  const load = async (/** @type {string} */ query) => {
    const names = draftNames(...Object.keys(KINDS)).filter((name) => name !== shownProse.peek()?.draft);
    const options = names.map((name) => ({ key: name, title: textOf(name).replace(/\s+/g, " ").trim(), side: kindOf(name).title, run: () => void (state.dialog.value = { kind: "draft", name }) }));
    return options.filter(({ title, side }) => `${title} ${side}`.toLowerCase().includes(query.toLowerCase())).map((option) => ({ ...option, title: option.title.slice(0, 200) || "(empty)" }));
  };
  return html`<${Picker} label="Drafts" placeholder="Find a text that is not saved" load=${load} empty="Every typed text is saved." />`;
}

/** @param {{name: string}} props */
export function Draft({ name }) {
  const text = textOf(name);
  /** @param {() => any} act */
  const leave = (act) => () => {
    state.dialog.value = null;
    return act();
  };
  const add = async () => (await actions.say(text)) && forgetDraft(name);
  return html`<div class="form"><pre class="draft" tabindex="0" dir="auto" role="region" aria-label="Unsaved text">${text}</pre>
    <div class="form-row"><${Button} class="primary" text="Show at its place" label="Show it where it was typed" onClick=${leave(() => kindOf(name).show(name))} />
      ${state.cursor.value && html`<${Button} text="Add as a new branch" label="Add it after the node at the cursor" onClick=${leave(add)} />`}
      <${Button} text="Discard" label="Discard it" onClick=${leave(() => forgetDraft(name))} /></div></div>`;
}
