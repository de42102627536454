// Colours of code: comments, strings, numbers and keywords of common languages, found by one expression. Long code
// stays plain.

import { html } from "./elements.js";

const MAX_LENGTH = 12_000;
const MAX_SPANS = 400;

const KEYWORDS = new Set(
  `abstract and as async await begin bool boolean break case catch char class const continue crate def default defer
  delete do done double dyn elif else elsif end enum esac except export extends extern false fi final finally float fn
  for from func function go if impl implements import in include int interface is lambda let local long loop match mod
  module move mut namespace new nil none None null or package pass private protected pub public raise ref return select
  self Self static string struct super switch then this throw throws trait true True False try type typeof undefined
  union unless unsafe use using var virtual void when where while with yield SELECT FROM WHERE INSERT INTO VALUES UPDATE
  SET DELETE JOIN ON GROUP ORDER BY LIMIT CREATE TABLE INDEX AND OR NOT NULL`.split(/\s+/),
);

const HASH_COMMENTS = /^(py|python|rb|ruby|sh|bash|shell|zsh|yaml|yml|toml|make|makefile|perl|r|dockerfile|conf|ini)$/i;
const DASH_COMMENTS = /^(sql|lua|haskell|hs|elm|ada)$/i;
const PLAIN = /^(text|txt|plain|console|output|log)$/i;

/** Returns code as text and coloured spans. @param {string} source @param {string} [lang] @returns {any} */
export function highlight(source, lang = "") {
  if (!lang || PLAIN.test(lang) || source.length > MAX_LENGTH) return source;
  const comment = HASH_COMMENTS.test(lang) ? "#[^\\n]*" : DASH_COMMENTS.test(lang) ? "--[^\\n]*" : "//[^\\n]*|/\\*[\\s\\S]*?\\*/";
  const pattern = new RegExp(
    `(${comment})|("(?:\\\\.|[^"\\\\\\n])*"|'(?:\\\\.|[^'\\\\\\n])*'|\`(?:\\\\.|[^\`\\\\])*\`)|\\b(\\d[\\w.]*)\\b|([A-Za-z_]\\w*)(\\s*\\()?`,
    "g",
  );
  const parts = [];
  let from = 0;
  let spans = 0;
  for (const found of source.matchAll(pattern)) {
    const [all, remark, text, number, word, call] = found;
    const kind = remark ? "comment" : text || number ? "literal" : KEYWORDS.has(word) ? "keyword" : call ? "name" : "";
    if (!kind) continue;
    if (spans++ > MAX_SPANS) break;
    const length = word ? word.length : all.length;
    if (found.index > from) parts.push(source.slice(from, found.index));
    parts.push(html`<span class=${`code-${kind}`}>${source.slice(found.index, found.index + length)}</span>`);
    from = found.index + length;
  }
  parts.push(source.slice(from));
  return parts;
}
