// Actions of agents that only a person may allow: plans of delegations, commands, changes of files.

import { html, classes, createRef, Component } from "./elements.js";
import { observer, signal } from "./signals.js";
import { get, call } from "./api.js";
import * as state from "./state.js";
import { focusComposer } from "./composer.js";

const POLL_MS = 1_500;
/** Time in which a request that appeared or moved cannot be decided: a click was meant for what was there before. */
const READY_MS = 600;
/** Time for which a decision is shown. A second click or Enter acts on nothing. */
const DECIDED_MS = 700;

/** @typedef {{id: number, tool: string, summary: string, details?: string, always?: string}} Request */

/** Requests that wait, the oldest first. @type {import("./signals.js").Signal<Request[]>} */
const waiting = signal([]);

/** Ids that were decided here. @type {Set<number>} */
const decided = new Set();
/** Ids that were announced. @type {Set<number>} */
let announced = new Set();

async function poll() {
  if (document.hidden || !state.online.peek() || state.me.peek()?.scope !== "admin" || state.me.peek()?.project) return;
  try {
    const { data } = await get("/approvals");
    show(data);
  } catch {
    // The connection state is shown elsewhere.
  }
}

/** @param {Request[]} data */
function show(data) {
  const before = waiting.peek();
  for (const id of decided) if (![...data, ...before].some((each) => each.id === id)) decided.delete(id);
  // A decision is shown for a moment.
  const now = [...before.filter((each) => decided.has(each.id)), ...data.filter((each) => !decided.has(each.id))];
  if (JSON.stringify(now) !== JSON.stringify(before)) waiting.value = now;
  if (now.some((each) => !announced.has(each.id))) state.announcement.value = "An agent asks for your approval.";
  announced = new Set(now.map((each) => each.id));
}

setInterval(poll, POLL_MS);

/** Characters that a text hides or that change the order of others. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;

/** Text with hidden characters as escapes, so that what is approved is what is seen. @param {string} text */
const literal = (text) => text.replace(HIDDEN, (found) => `\\u{${found.codePointAt(0)?.toString(16)}}`);

/** Element that had the focus before the requests got it. @type {EventTarget | null} */
let focusBefore = null;
/** True if the next request gets the focus of the one that was decided. */
let takesFocus = false;

/** Moves the focus to the first waiting action. */
export function focusApproval() {
  const first = /** @type {HTMLElement | null} */ (document.querySelector(".approval"));
  if (first) first.focus();
  else state.notify("nothing waits for your decision");
}

/** Removes a request that was decided, and moves its focus to the next one or to where it was. @param {number} id @param {boolean} hasFocus @param {boolean} byKey */
function remove(id, hasFocus, byKey) {
  const next = waiting.value.filter((each) => each.id !== id);
  takesFocus = hasFocus && next.length > 0;
  waiting.value = next;
  if (!hasFocus || takesFocus) return;
  if (focusBefore instanceof HTMLElement && focusBefore.isConnected) focusBefore.focus({ preventScroll: true });
  else if (byKey) focusComposer();
}

/** A request, exactly as it would be done. Properties: `request`, `place` ("1 of 3"). */
class Card extends Component {
  card = createRef();
  details = createRef();
  /** `more`: hidden lines; null if none ever were. */
  state = { isReady: false, decision: "", more: /** @type {number | null} */ (null) };
  /** @type {number | undefined} */
  timer;
  top = 0;
  observer = new ResizeObserver(() => {
    this.measure();
    if (this.place() !== this.top) this.wait();
  });

  componentDidMount() {
    this.measure();
    this.observer.observe(this.card.current);
    this.wait();
    if (takesFocus) this.card.current.focus({ preventScroll: true });
    takesFocus = false;
  }

  componentDidUpdate() {
    if (this.place() !== this.top) this.wait();
  }

  componentWillUnmount() {
    clearTimeout(this.timer);
    this.observer.disconnect();
  }

  place = () => Math.round(this.card.current.querySelector(".form-row").getBoundingClientRect().top);

  /** Disables the buttons for `READY_MS`. */
  wait() {
    this.top = this.place();
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.setState({ isReady: true }), READY_MS);
    if (this.state.isReady) this.setState({ isReady: false });
  }

  /** @param {FocusEvent} event */
  onFocusIn = ({ relatedTarget }) => {
    if (!takesFocus && !this.card.current.contains(relatedTarget)) focusBefore = relatedTarget;
  };

  measure = () => {
    const pre = this.details.current;
    if (!pre) return;
    const lines = Math.ceil((pre.scrollHeight - pre.clientHeight - pre.scrollTop - 4) / parseFloat(getComputedStyle(pre).lineHeight));
    const more = lines > 0 ? lines : this.state.more === null ? null : 0;
    if (more !== this.state.more) this.setState({ more });
  };

  /** @param {MouseEvent} event @param {boolean} approve @param {boolean} [always] */
  async decide(event, approve, always = false) {
    const { id } = this.props.request;
    const card = this.card.current;
    if (event.detail > 1 || !this.state.isReady || decided.has(id)) return;
    decided.add(id);
    this.setState({ decision: approve ? "Approved" : "Refused" });
    const pause = new Promise((done) => setTimeout(done, DECIDED_MS));
    try {
      await Promise.all([call("POST", `/approvals/${id}`, { approve, always }), pause]);
      remove(id, card.contains(document.activeElement), event.detail === 0);
    } catch (error) {
      decided.delete(id);
      this.setState({ decision: "" });
      state.fail(error);
    }
  }

  render() {
    const { request, place } = this.props;
    const { isReady, decision, more } = this.state;
    const isOff = !isReady || decision !== "";
    // Buttons that wait can have the focus, so that a Tab does not pass them.
    const button = (/** @type {string} */ text, /** @type {string} */ label, /** @type {boolean[]} */ ...how) => html`<button type="button" class=${classes("button", text === "Approve once" && "primary")}
      title=${label} aria-disabled=${isOff} onClick=${(/** @type {MouseEvent} */ event) => this.decide(event, how[0], how[1])}>${text}</button>`;
    return html`<div ref=${this.card} onFocusIn=${this.onFocusIn} class="approval" role="group" tabindex="-1" aria-label=${`${request.tool} asks for your approval${place && `, ${place}`}`}>
      <p>${place && html`<span class="dim approval-place">${place}</span>`}<b>${literal(request.tool)}</b> ${literal(request.summary)}</p>
      ${request.details && html`<pre tabindex="0" ref=${this.details} onScroll=${this.measure}>${literal(request.details)}</pre>`}
      ${more !== null && html`<p class="approval-more">${more ? `${more} more ${more === 1 ? "line" : "lines"} below` : "End of the text."}</p>`}
      ${request.always && html`<p class="dim">“Approve always” approves ${literal(request.always)}, until the server ends.</p>`}
      <div class="form-row">${button("Approve once", "Approve", true)}
        ${request.always && button("Approve always", `Approve ${literal(request.always)}, until the server ends`, true, true)}
        ${button("Refuse", "Refuse", false)}
        <span class="dim" role="status">${decision}</span></div></div>`;
  }
}

/** The oldest waiting action, above the input line. */
export const Approvals = observer(() => {
  const [request] = waiting.value;
  if (!request) return null;
  const open = waiting.value.filter((each) => !decided.has(each.id)).length;
  return html`<aside class="approvals" aria-label="Actions that wait for your decision">
    <${Card} key=${JSON.stringify(request)} request=${request} place=${open > 1 ? `1 of ${open}` : ""} /></aside>`;
});
