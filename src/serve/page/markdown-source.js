// Markdown written from tokens, for an exported file, which holds no other form of the text.

/** @typedef {import("./api.js").Token} Token @typedef {{tag: string, href?: string, lang?: string, start?: number}} Opened */

/** Markdown of tokens. It renders alike except for what looks like Markdown in plain text; its source can differ from the original. @param {Token[]} tokens */
export function source(tokens) {
  /** @type {{open: Opened, text: string}[]} */
  const levels = [{ open: { tag: "" }, text: "" }];
  const top = () => levels[levels.length - 1];
  const close = () => {
    const { open, text } = /** @type {{open: Opened, text: string}} */ (levels.pop());
    top().text += element(open, text, top().open);
  };
  for (const token of tokens) {
    if (token === "close") levels.length > 1 && close();
    else if (token === "rule") top().text += "---\n\n";
    else if ("open" in token) levels.push({ open: token.open, text: "" });
    else if ("text" in token) top().text += token.text;
    else if ("code" in token) top().text += `\`${token.code}\``;
    else top().text += token.task ? "[x] " : "[ ] ";
  }
  while (levels.length > 1) close();
  return levels[0].text.trim();
}

/** @param {Opened} open @param {string} text @param {Opened} parent */
function element({ tag, href, lang }, text, parent) {
  const lines = text.trim();
  switch (tag) {
    case "em": return `*${text}*`;
    case "strong": return `**${text}**`;
    case "del": return `~~${text}~~`;
    case "a": return `[${text}](${href})`;
    case "img": return `![${text}](${href})`;
    case "ul":
    case "ol": return parent.tag === "li" ? `\n${text}` : `${text}\n`;
    case "li": {
      const mark = parent.tag === "ol" ? "1. " : "- ";
      return `${mark}${lines.replaceAll("\n", `\n${" ".repeat(mark.length)}`)}\n`;
    }
    case "blockquote": return `> ${lines.replaceAll("\n", "\n> ")}\n\n`;
    case "pre": {
      const fence = "`".repeat(Math.max(3, ...(text.match(/`+/g) ?? []).map((run) => run.length + 1)));
      return `${fence}${lang ?? ""}\n${text.replace(/\n$/, "")}\n${fence}\n\n`;
    }
    case "td": return ` ${text} |`;
    case "tr": return `|${text}\n`;
    case "thead": return `|${text}\n|${text.replace(/[^|]+/g, " --- ")}\n`;
    case "table": return `${text}\n`;
    default: return /^h\d$/.test(tag) ? `${"#".repeat(Number(tag[1]))} ${text}\n\n` : `${lines}\n\n`;
  }
}
