// The server's API: requests, errors, and the shapes of answers that the page reads.

/**
 * @typedef {{continuations: number, notes?: number, links?: number, versions?: number, bookmark?: string,
 *   excluded?: boolean, pruned?: boolean, interrupted?: boolean, purged?: boolean}} Marks
 * @typedef {{id: string, local_id: string, place: string, author: string, author_type: string, text: string,
 *   level: number, guides: string, opens_branch: boolean, on_path: boolean, folded: boolean, marks: Marks}} Line
 * @typedef {{number: number, count: number}} Ordinal
 * @typedef {{id: string, kind: string, author: string, tool?: string, text: string}} Attached
 * @typedef {{open: {tag: string, href?: string, lang?: string, start?: number, align?: string}} | "close" | "rule" |
 *   {text: string} | {code: string} | {task: boolean}} Token
 * @typedef {{id: string, local_id: string, parent_id?: string, place: string, author: string, author_type: string,
 *   role: string, model?: string, created_at: number, depth: number, tokens?: number, marks: Marks, branch: Ordinal,
 *   version: Ordinal, markdown: Token[], left_out?: number, prose?: {text: string, model: boolean}[], calls?: string[],
 *   attached?: Attached[]}} Entry
 * @typedef {{id: string, title: string, mode: string, root_id?: string, nodes: number, leaves: number,
 *   branch_points: number, updated_at: number, archived_at?: number}} Tree
 * @typedef {{name: string, node: string, generating: boolean}} Present
 * @typedef {{tree: Tree, node: string, lines: Line[], cursor: number, omitted: boolean, path: Entry[],
 *   more_path: boolean, continuations: Line[], versions: string[], others: Present[], pins: string[], journal: number}} Window
 * @typedef {{id: string, local_id: string, tree_id: string, parent_id?: string, content: string, author_type: string,
 *   created_at: number, kind: string, state: {bookmark?: string}}} Node
 * @typedef {{scope: string, agent: string, writers: string[], models: string[], journal: number, version: string,
 *   project?: string}} Me
 */

export class ApiError extends Error {
  /** @param {number} status @param {string} code @param {string} message @param {string} [hint] */
  constructor(status, code, message, hint) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}

/** Time without a byte from the server after which it is taken for unreachable. Its streams send something every 10 seconds. */
const SILENCE_MS = 25_000;
/** Requests whose answer is not complete, and streams. @type {Set<AbortController>} */
const pending = new Set();
/** @type {WeakMap<Response, AbortController>} */
const controllers = new WeakMap();
let lastReceivedAt = performance.now();
let isSuspect = false;

const offline = () => new ApiError(0, "offline", "the server does not answer");

/** @param {Response} response */
function releaseRequest(response) {
  const own = controllers.get(response);
  if (own) pending.delete(own);
}

// A server that hangs, or a network that drops everything, closes no connection. The silence is seen twice, because the first
// look after a pause of the page, such as a sleep of the machine, comes before what has arrived.
setInterval(() => {
  const isSilent = !document.hidden && performance.now() - lastReceivedAt > SILENCE_MS;
  if (document.hidden || !pending.size) lastReceivedAt = performance.now();
  else if (isSilent && isSuspect) for (const each of pending) each.abort();
  isSuspect = isSilent;
}, 1_000);

document.addEventListener("visibilitychange", () => (lastReceivedAt = performance.now()));

/**
 * Sends a request and returns the response, whose status is a success.
 * @param {string} method @param {string} path @param {unknown} [body] @param {AbortSignal} [signal]
 */
export async function send(method, path, body, signal) {
  const response = await begin(method, path, body, signal);
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) releaseRequest(response);
  return response;
}

/** @param {string} method @param {string} path @param {unknown} body @param {AbortSignal} [signal] */
async function begin(method, path, body, signal) {
  const own = new AbortController();
  if (!pending.size) lastReceivedAt = performance.now();
  pending.add(own);
  /** @type {RequestInit} */
  const request = { method, signal: signal ? AbortSignal.any([signal, own.signal]) : own.signal, credentials: "same-origin" };
  if (body instanceof Blob) {
    request.body = body;
  } else if (body !== undefined) {
    request.headers = { "content-type": "application/json" };
    request.body = JSON.stringify(body);
  }
  /** @type {Response} */
  let response;
  try {
    response = await fetch(path, request);
  } catch (error) {
    pending.delete(own);
    throw signal?.aborted ? error : offline();
  }
  lastReceivedAt = performance.now();
  controllers.set(response, own);
  if (response.ok) return response;
  const answer = await response.json().catch(() => null);
  releaseRequest(response);
  const { code = "error", message = response.statusText, hint } = answer?.error ?? {};
  throw new ApiError(response.status, code, message, hint);
}

/** Answers requests instead of a server. @type {((method: string, path: string, body: any) => any) | null} */
let local = null;

/** Answers all requests without a server, for an exported file. @param {(method: string, path: string, body: any) => any} handler */
export function answerLocally(handler) {
  local = handler;
}

/**
 * Sends a request and returns the JSON of the answer.
 * @template [T=any]
 * @param {string} method @param {string} path @param {unknown} [body] @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
export async function call(method, path, body, signal) {
  if (local) return local(method, path, body);
  const response = await begin(method, `/api/v1${path}`, body, signal);
  try {
    return response.status === 204 || response.status === 202 ? /** @type {T} */ (null) : await response.json();
  } catch (error) {
    throw signal?.aborted ? error : offline();
  } finally {
    releaseRequest(response);
  }
}

/** @template [T=any] @param {string} path @param {AbortSignal} [signal] @returns {Promise<T>} */
export const get = (path, signal) => call("GET", path, undefined, signal);

/** Returns the whole list at a path, which the server sends in pages. @template [T=any] @param {string} path @param {AbortSignal} [signal] @returns {Promise<T[]>} */
export async function list(path, signal) {
  const entries = [];
  const query = `${path}${path.includes("?") ? "&" : "?"}limit=1000`;
  for (let after = ""; ; ) {
    const { data, next } = await get(`${query}${after}`, signal);
    entries.push(...data);
    if (!next) return entries;
    after = `&after=${encodeURIComponent(next)}`;
  }
}

/** @template [T=any] @param {string} path @param {unknown} [body] @returns {Promise<T>} */
export const post = (path, body = {}) => call("POST", path, body);

/** Sends a file. @template [T=any] @param {string} path @param {Blob} file @returns {Promise<T>} */
export const upload = (path, file) => call("POST", path, file);

/**
 * Reads server-sent events of a response until it ends.
 * @param {Response} response @param {(event: string, data: any, id: string) => void} receive
 */
export async function readEvents(response, receive) {
  const reader = /** @type {ReadableStream} */ (response.body).pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read().catch(() => {
        throw offline();
      });
      if (done) return;
      lastReceivedAt = performance.now();
      rest += value;
      const blocks = rest.split(/\r?\n\r?\n/);
      rest = blocks.pop() ?? "";
      for (const block of blocks) receiveEvent(block, receive);
    }
  } finally {
    releaseRequest(response);
  }
}

/** @param {string} block @param {(event: string, data: any, id: string) => void} receive */
function receiveEvent(block, receive) {
  let [event, data, id] = ["message", "", ""];
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith("event:")) event = line.slice(6).trim();
    else if (line.startsWith("data:")) data += line.slice(5);
    else if (line.startsWith("id:")) id = line.slice(3).trim();
  }
  if (data) receive(event, JSON.parse(data), id);
}
