// The input line: the next message, or arrow lines. Typed text is kept for its tree until it is saved, also over a reload.

import { html, classes, Button } from "./elements.js";
import { computed, effect, observer, signal } from "./signals.js";
import * as state from "./state.js";
import { afterSteps } from "./navigation.js";
import { say, runLines } from "./actions.js";
import { completion, closeCompletion, offer, onCompletionKey, selectedId, Completions } from "./completion.js";
import { generate, answer, generation, count, setCount, models } from "./generations.js";

/** Name under which the text for this tree, or for a new one, is kept. */
const draft = computed(() => `loom-draft-${state.tree.value?.id ?? "new"}`);

/** Text of the input line. */
const text = signal("");
effect(() => {
  text.value = sessionStorage.getItem(draft.value) ?? localStorage.getItem(draft.value) ?? "";
});
const isSending = signal(false);

/** True if the text is a command. @param {string} line */
const isCommand = (line) => /^\s*(→|->)/.test(line);

/** @param {string} value */
function setText(value) {
  const before = text.value;
  text.value = value;
  keep(draft.value, before, value);
}

/** Keeps a text for this page, and for the next one that is opened. Another page may have kept its own. @param {string} name @param {string} before @param {string} value */
function keep(name, before, value) {
  sessionStorage.setItem(name, value);
  if (value) localStorage.setItem(name, value);
  else if (localStorage.getItem(name) === before) localStorage.removeItem(name);
}

/** Returns what a typed text adds. Prose keeps its spaces; a message has no blank lines around it. @param {string} typed */
function contentOf(typed) {
  const mode = state.tree.value?.mode ?? state.newMode.value;
  if (isCommand(typed)) return typed.trim();
  return mode === "buffer" ? typed : typed.replace(/^(\s*\n)+/, "").trimEnd();
}

export function focusComposer() {
  input()?.focus();
}

const input = () => /** @type {HTMLTextAreaElement | null} */ (document.querySelector(".composer textarea"));

/** Completes the line at the caret. */
function offerHere() {
  const area = input();
  if (area) offer(area.value.slice(0, area.selectionEnd).split("\n").at(-1) ?? "");
}

/** Replaces the last token before the caret. @param {string} token @param {string} replacement */
function accept(token, replacement) {
  const area = input();
  if (!area) return;
  const before = area.value.slice(0, area.selectionEnd);
  if (!before.endsWith(token)) return closeCompletion();
  const start = before.slice(0, before.length - token.length) + replacement;
  // The caret is placed in the field's new text at once, because the next key may arrive before the next frame.
  area.value = start + area.value.slice(before.length).replace(/^ +/, "");
  area.setSelectionRange(start.length, start.length);
  area.focus();
  setText(area.value);
  offerHere();
}

/** Text that is being sent. */
let sent = "";
/** What was entered after it meanwhile, and is sent next. @type {{typed: string, andGenerate: boolean} | null} */
let next = null;

/** @param {boolean} andGenerate @param {string} [typed] The beginning of the text. */
async function submit(andGenerate, typed = text.value) {
  closeCompletion();
  if (isSending.value) {
    const later = typed.startsWith(sent) ? typed.slice(sent.length) : "";
    if (later.trim()) next ??= { typed: later, andGenerate };
    return;
  }
  if (!typed.trim()) return andGenerate ? generate() : undefined;
  isSending.value = true;
  sent = typed;
  const kept = draft.value;
  const hadTree = state.tree.value !== null;
  const content = contentOf(typed);
  const isLines = isCommand(content);
  /** What was not saved, and stays. @type {string} */
  const rest = await afterSteps(async () => {
    if (!hadTree || state.tree.value) return isLines ? runLines(content) : (await say(content)) ? "" : typed;
    state.notify("The message is not sent, because a new tree was chosen; it stays in the input line of the other tree", { bad: true });
    return typed;
  });
  isSending.value = false;
  const later = next;
  next = null;
  // Another tree is shown now, such as the one that the text began.
  if (kept !== draft.value) leave(kept, typed, rest);
  // What was typed meanwhile stays too.
  else if (text.value.startsWith(typed)) setText(rest + text.value.slice(typed.length));
  if (andGenerate && !isLines && !rest) generate();
  if (later && !rest && text.value.startsWith(later.typed)) submit(later.andGenerate, later.typed);
}

/** Stores what remains of the text of a tree that is no longer shown. What was typed after the first words of a tree belongs to that tree. @param {string} name @param {string} typed @param {string} rest */
function leave(name, typed, rest) {
  const now = sessionStorage.getItem(name) ?? typed;
  const later = now.startsWith(typed) ? now.slice(typed.length) : now;
  const isBegun = name === "loom-draft-new" && !rest;
  keep(name, now, isBegun ? "" : rest + later);
  if (isBegun && later) setText(later + text.value);
}

/** @param {KeyboardEvent} event */
function onKeyDown(event) {
  if (event.isComposing || onCompletionKey(event, accept)) return;
  if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    submit(event.ctrlKey || event.metaKey);
  } else if (event.key === "Escape") {
    event.preventDefault();
    /** @type {HTMLElement} */ (event.currentTarget).blur();
    /** @type {HTMLElement | null} */ (document.querySelector(".outline-scroll"))?.focus({ preventScroll: true });
  }
}

/** @param {InputEvent} event */
function onInput(event) {
  const area = /** @type {HTMLTextAreaElement} */ (event.currentTarget);
  // A typed arrow becomes the sign of a command.
  const typed = area.value.replace(/^(->\s?|→ {2,}$)/, "→ ");
  if (typed !== area.value) area.value = typed;
  setText(typed);
  offerHere();
}

export const Composer = observer(() => {
  if (!state.canWrite.value) return null;
  const hasTree = state.tree.value !== null;
  const isRunning = generation.value?.isRunning ?? false;
  const value = text.value;
  const lines = Math.min(10, value.split("\n").length + Math.floor(value.length / 90));
  const chosen = models.value;
  return html`<form class=${classes("composer", isCommand(value) && "is-command")} onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
    <${Completions} accept=${accept} />
    <textarea rows=${lines} value=${value} dir="auto" spellcheck="true" aria-label="Next message or command"
      placeholder=${hasTree ? "Write the next message, or → and a command" : "Write the first words of a tree"}
      aria-autocomplete="list" aria-controls=${completion.value ? "completions" : undefined} aria-activedescendant=${selectedId()}
      onInput=${onInput} onKeyDown=${onKeyDown} onBlur=${closeCompletion}></textarea>
    <div class="composer-row">
      <${Button} class="primary" text=${isCommand(value) ? "Run" : hasTree ? "Add" : "Start"} label="Add" keys="Enter"
        disabled=${!value.trim() || isSending.value} onClick=${() => submit(false)} />
      ${hasTree && html`
        <${Button} icon="spark" text=${value.trim() && !isCommand(value) ? "Add and generate" : "Generate"} label="Have models continue" keys=${value.trim() ? "Ctrl-Enter" : "Space"}
          class="generate" disabled=${isRunning || isSending.value} onClick=${() => submit(true)} />
        <label class="count-field" title="Number of continuations (n)">×<select aria-label="Number of continuations" value=${count.value}
          onChange=${(/** @type {any} */ event) => setCount(Number(event.currentTarget.value))}>
          ${[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map((n) => html`<option key=${n} value=${n} selected=${n === count.value}>${n}</option>`)}</select></label>
        <${Button} class="model-button" text=${chosen.length === 0 ? "default model" : chosen.length === 1 ? chosen[0] : `${chosen.length} models`}
          label="Pick models" keys="m" onClick=${() => (state.dialog.value = { kind: "models" })} />
        <span class="spacer"></span>
        <${Button} icon="reply" text="Answer" label="Have the collaborator answer; it may run commands" keys="r" disabled=${isRunning} onClick=${answer} />`}
    </div>
  </form>`;
});
