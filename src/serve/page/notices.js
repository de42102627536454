// Short messages, seen and spoken. An open dialog makes the rest of the page silent, so it has both too.

import { html, classes } from "./elements.js";
import { observer } from "./signals.js";
import * as state from "./state.js";

export const Notice = observer(() => {
  const notice = state.notice.value;
  return notice && html`<span class=${classes("notice", notice.bad && "bad")} role=${notice.bad ? "alert" : undefined}>${notice.text}
    ${notice.action && html` <button type="button" class="button small" onClick=${() => { state.notice.value = null; notice.action?.run(); }}>${notice.action.label}</button>`}</span>`;
});

/** What a screen reader says. */
export const Live = observer(() => html`<div class="only-spoken" role="status" aria-live="polite">${state.spoken.value}</div>`);
