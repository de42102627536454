// Import of files with conversations: dropped on the page, or chosen. The report says what came in, and can take it back.

import { html, Button } from "./elements.js";
import { observer, signal } from "./signals.js";
import { get, post, call, upload } from "./api.js";
import * as state from "./state.js";
import { go, refresh } from "./navigation.js";
import { openLate } from "./actions.js";

/**
 * @typedef {{format: string, trees: string[], conversations: number, messages: number, branches: number, versions: number,
 *   nodes: number, skipped: number, problems: string[], more_problems: number}} Imported
 * @typedef {{name: string, imported?: Imported, error?: string}} FileReport
 */

/** True while files are dragged over the page. */
const isOver = signal(false);

/** True if the caller may import. */
const mayImport = () => state.me.value?.scope === "admin" && !state.me.value.project;

/** Sends files to the server, one after the other, and shows the report. @param {File[]} files */
export async function importFiles(files) {
  if (!files.length) return;
  if (!mayImport()) return state.notify("this login may not import files", { bad: true });
  /** @type {FileReport[]} */
  const reports = [];
  for (const file of files) {
    state.notify(`Importing ${file.name}…`);
    try {
      reports.push({ name: file.name, imported: await upload(`/imports?name=${encodeURIComponent(file.name)}`, file) });
    } catch (error) {
      const { message, hint } = /** @type {import("./api.js").ApiError} */ (error);
      reports.push({ name: file.name, error: hint ? `${message} (${hint})` : message });
    }
  }
  state.notice.value = null;
  openLate({ kind: "import", reports }, "The import has ended");
}

/** Lets the user choose files. */
export function chooseFiles() {
  const input = document.createElement("input");
  input.type = "file";
  input.multiple = true;
  input.addEventListener("change", () => importFiles([...(input.files ?? [])]));
  input.click();
}

/** @param {DragEvent} event */
const hasFiles = (event) => event.dataTransfer?.types.includes("Files") ?? false;

/** Handles files that are dragged over the page. */
export function listenForFiles() {
  document.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    isOver.value = true;
  });
  document.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) isOver.value = false;
  });
  document.addEventListener("drop", (event) => {
    isOver.value = false;
    if (!hasFiles(event)) return;
    event.preventDefault();
    importFiles([...(event.dataTransfer?.files ?? [])]);
  });
}

/** Cover that says what a drop does. */
export const DropCover = observer(() => isOver.value && html`<div class="drop-cover" aria-hidden="true">
  <p><b>Drop to import</b><span>Conversations of ChatGPT, Claude, Codex, loomtree and others. The format is detected.</span></p></div>`);

/** @param {Imported} imported */
const figures = ({ conversations, messages, nodes, branches, versions, skipped }) =>
  /** @type {[string, number][]} */ ([["conversation", conversations], ["message", messages], ["new node", nodes], ["new branch", branches], ["new version", versions], ["known already", skipped]])
    .filter(([name, count]) => count > 0 || name === "new node")
    .map(([name, count]) => /** @type {[string, number]} */ ([count === 1 || name.endsWith("already") ? name : name.endsWith("ch") ? `${name}es` : `${name}s`, count]));

/** @param {Imported} imported */
function unread({ problems, more_problems: more }) {
  const count = problems.length + more;
  return count === 1 ? "1 item" : `${count.toLocaleString()} items`;
}

/** Opens the first imported tree. @param {string[]} trees */
async function openFirst(trees) {
  state.dialog.value = null;
  const { root_id: root } = await get(`/trees/${trees[0]}`);
  if (root) await go((await get(`/nodes/${root}/leaf`)).id);
}

/** Archives the imported trees, as `loom import --undo` does; an undo in them restores them. @param {string[]} trees */
async function takeBack(trees) {
  state.dialog.value = null;
  for (const tree of trees) await call("DELETE", `/trees/${tree}`);
  const restore = async () => {
    for (const tree of trees) await post(`/trees/${tree}/undo`);
    await refresh();
  };
  state.notify(`The import was taken back: ${trees.length === 1 ? "its tree is" : `its ${trees.length} trees are`} archived`, {
    action: { label: "Undo", run: () => restore().catch(state.fail) },
  });
  await refresh();
}

/** @param {FileReport[]} reports */
const hint = (reports) =>
  reports.some(({ imported }) => imported?.nodes && imported.skipped) ? "The file has grown since its last import. Taking it back archives the whole tree." : "An import can be repeated: what is known is skipped.";

/** @param {{reports: FileReport[]}} props */
export function ImportReport({ reports }) {
  const trees = [...new Set(reports.flatMap(({ imported }) => (imported?.nodes ? imported.trees : [])))];
  return html`<div class="import-report" tabindex="0" role="region" aria-label="What was imported">
    ${reports.map(({ name, imported, error }, at) => html`<section key=${at}>
      <h3 dir="auto">${name}${imported && html` <span class="model">${imported.format}</span>`}</h3>
      ${error && html`<p class="bad" role="alert">${error}</p>`}
      ${imported && html`<dl class="figures">${figures(imported).map(([label, count]) => html`<div key=${label}><dd>${count.toLocaleString()}</dd><dt>${label}</dt></div>`)}</dl>
        ${imported.problems.length > 0 && html`<details open><summary>${unread(imported)} could not be read</summary>
          <pre tabindex="0">${imported.problems.join("\n")}</pre></details>`}`}
    </section>`)}
    <div class="form-row">
      ${trees.length > 0 && html`<${Button} class="primary" text="Open" label="Open the first tree" onClick=${() => openFirst(trees).catch(state.fail)} />
        <${Button} icon="undo" text="Take it back" label="Take the import back" onClick=${() => takeBack(trees).catch(state.fail)} />`}
      <span class="dim">${trees.length ? hint(reports) : "Nothing new came in."}</span></div></div>`;
}
