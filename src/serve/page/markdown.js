// Markdown tokens of the server as elements. Elements come from a fixed set, and content is only ever text.

import { html } from "./elements.js";
import { h } from "./vendor/preact.js";
import { highlight } from "./highlight.js";
import { copy } from "./clipboard.js";

/** Elements that need no attributes. */
const PLAIN = new Set(["p", "blockquote", "ul", "li", "em", "strong", "del"]);
/** Protocols of links that open without a warning. */
const SAFE_PROTOCOLS = new Set(["http:", "https:", "mailto:"]);

/** @typedef {{tag: string, open: any, children: any[]}} Level */

/** Builds elements from tokens. @param {{tokens: import("./api.js").Token[]}} props */
export function Markdown({ tokens }) {
  /** @type {Level[]} */
  const levels = [{ tag: "div", open: {}, children: [] }];
  for (const token of tokens) {
    const top = levels[levels.length - 1];
    if (token === "close") {
      if (levels.length === 1) continue;
      levels.pop();
      levels[levels.length - 1].children.push(element(top));
    } else if (token === "rule") {
      top.children.push(html`<hr />`);
    } else if ("open" in token) {
      levels.push({ tag: token.open.tag, open: token.open, children: [] });
    } else if ("text" in token) {
      top.children.push(token.text);
    } else if ("code" in token) {
      top.children.push(html`<code>${token.code}</code>`);
    } else {
      top.children.push(html`<input type="checkbox" disabled checked=${token.task} aria-label=${token.task ? "done" : "open"} />`);
    }
  }
  while (levels.length > 1) {
    const top = /** @type {Level} */ (levels.pop());
    levels[levels.length - 1].children.push(element(top));
  }
  return html`<div class="markdown" dir="auto">${levels[0].children}</div>`;
}

/** @param {Level} level */
function element({ tag, open, children }) {
  if (PLAIN.has(tag)) return h(tag, null, ...children);
  switch (tag) {
    case "h1":
    case "h2":
    case "h3":
    case "h4":
    case "h5":
    case "h6":
      // The page has headings of its own above these.
      return h("div", { role: "heading", "aria-level": Math.min(6, Number(tag[1]) + 2), class: `heading ${tag}` }, ...children);
    case "ol":
      return h("ol", { start: open.start }, ...children);
    case "pre":
      return code(open.lang, children.join(""));
    case "table":
      return html`<div class="table-scroll" tabindex="0" role="region" aria-label="Table"><table>${children}</table></div>`;
    case "thead":
      return html`<thead><tr>${children}</tr></thead>`;
    case "tr":
      return html`<tr>${children}</tr>`;
    case "td":
      return html`<td class=${open.align ? `align-${open.align}` : undefined}>${children}</td>`;
    case "a":
      return link(open.href ?? "", children);
    case "img":
      return html`<span class="image">🖼 ${link(open.href ?? "", children.length ? children : [open.href])}</span>`;
    case "html":
      return html`<p class="raw">${children}</p>`;
    default:
      return h("p", null, ...children);
  }
}

/** Code with a button that copies it. @param {string | undefined} lang @param {string} text */
function code(lang, text) {
  const source = text.replace(/\n$/, "");
  return html`<figure class="code">
    <figcaption><span>${lang ?? "text"}</span>
      <button type="button" class="button small" onClick=${() => copy(source)}>copy</button></figcaption>
    <pre tabindex="0"><code>${highlight(source, lang)}</code></pre></figure>`;
}

/** Parses the address of a link as the browser does. Null if it is no link that opens without a warning. @param {string} href */
function parseAddress(href) {
  try {
    const url = new URL(href);
    return SAFE_PROTOCOLS.has(url.protocol) ? url : null;
  } catch {
    return null;
  }
}

/** Link that shows its target, a host or a mail address, unless the text is an address with the same target. @param {string} href @param {any[]} children */
function link(href, children) {
  const url = parseAddress(href);
  if (!url) {
    return html`<span class="odd-link" title="This link has an unusual target and is not opened">${children} <code>${href}</code></span>`;
  }
  const target = url.host || url.pathname;
  const shown = children.join("").replace(/^(https?:\/\/|mailto:)/i, "").split(/[/?#]/)[0];
  const isShown = shown.toLowerCase() === target.toLowerCase();
  return html`<a href=${url.href} target="_blank" rel="noopener noreferrer nofollow" title=${url.href}><bdi>${children}</bdi>${!isShown && html`<span class="target"> ${target}</span>`}</a>`;
}
