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

/**
 * Sends a request and returns the response, whose status is a success.
 * @param {string} method @param {string} path @param {unknown} [body] @param {AbortSignal} [signal]
 */
export async function send(method, path, body, signal) {
  /** @type {RequestInit} */
  const request = { method, signal, credentials: "same-origin" };
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
    if (signal?.aborted) throw error;
    throw new ApiError(0, "offline", "the server does not answer");
  }
  if (response.ok) return response;
  const answer = await response.json().catch(() => null);
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
  const response = await send(method, `/api/v1${path}`, body, signal);
  return response.status === 204 || response.status === 202 ? /** @type {T} */ (null) : response.json();
}

/** @template [T=any] @param {string} path @param {AbortSignal} [signal] @returns {Promise<T>} */
export const get = (path, signal) => call("GET", path, undefined, signal);

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
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const blocks = rest.split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      let [event, data, id] = ["message", "", ""];
      for (const line of block.split(/\r?\n/)) {
        if (line.startsWith("event:")) event = line.slice(6).trim();
        else if (line.startsWith("data:")) data += line.slice(5);
        else if (line.startsWith("id:")) id = line.slice(3).trim();
      }
      if (data) receive(event, JSON.parse(data), id);
    }
  }
}
