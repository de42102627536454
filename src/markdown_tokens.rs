//! Markdown as a list of tokens. A page builds elements from a fixed set and sets content as text only, so content cannot
//! become markup: HTML in a message stays visible text.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use serde::Serialize;

use crate::recall::cut_at;

/// Bytes of one node that are parsed.
pub(crate) const MAX_MARKDOWN_BYTES: usize = 120_000;

/// Elements inside each other; deeper ones are left out, and their text stays.
const MAX_NESTING: usize = 48;

/// Element of a Markdown text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum MarkdownElement {
    P,
    H1,
    H2,
    H3,
    H4,
    H5,
    H6,
    Blockquote,
    Pre,
    Ul,
    Ol,
    Li,
    Table,
    Thead,
    Tr,
    Td,
    Em,
    Strong,
    Del,
    A,
    Img,
    Html,
}

/// Token of a Markdown text.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum MarkdownToken {
    /// Start of an element.
    Open(OpenElement),
    /// End of the element that was opened last.
    Close,
    /// Text with its line breaks.
    Text(String),
    /// Code inside a paragraph.
    Code(String),
    /// Box of a task: true if it is checked.
    Task(bool),
    /// Horizontal line.
    Rule,
}

/// Start of an element.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub(crate) struct OpenElement {
    /// Name of the element.
    tag: MarkdownElement,
    /// Target of a link or image.
    #[serde(skip_serializing_if = "Option::is_none")]
    href: Option<String>,
    /// Language of a code block.
    #[serde(skip_serializing_if = "Option::is_none")]
    lang: Option<String>,
    /// First number of an ordered list.
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<u64>,
    /// Alignment of a table cell: `left`, `center` or `right`.
    #[serde(skip_serializing_if = "Option::is_none")]
    align: Option<&'static str>,
}

impl From<MarkdownElement> for OpenElement {
    fn from(tag: MarkdownElement) -> Self {
        Self { tag, href: None, lang: None, start: None, align: None }
    }
}

/// Parses the beginning of a text, at most [`MAX_MARKDOWN_BYTES`]. Returns the tokens and the number of bytes left out.
pub(crate) fn tokens(source: &str) -> (Vec<MarkdownToken>, usize) {
    let shown = cut_at(source, MAX_MARKDOWN_BYTES);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = TokenWriter::default();
    for event in Parser::new_ext(shown, options) {
        writer.event(event);
    }
    (writer.tokens, source.len() - shown.len())
}

#[derive(Default)]
struct TokenWriter {
    tokens: Vec<MarkdownToken>,
    depth: usize,
    alignments: Vec<Alignment>,
    column: usize,
}

impl TokenWriter {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(code) => self.tokens.push(MarkdownToken::Code(code.into_string())),
            // Messages are mostly typed line by line, so their line breaks are kept.
            Event::SoftBreak | Event::HardBreak => self.text("\n"),
            Event::Rule => self.tokens.push(MarkdownToken::Rule),
            Event::TaskListMarker(done) => self.tokens.push(MarkdownToken::Task(done)),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        match self.tokens.last_mut() {
            Some(MarkdownToken::Text(last)) => last.push_str(text),
            _ => self.tokens.push(MarkdownToken::Text(text.to_owned())),
        }
    }

    fn open(&mut self, element: impl Into<OpenElement>) {
        self.depth += 1;
        if self.depth <= MAX_NESTING {
            self.tokens.push(MarkdownToken::Open(element.into()));
        }
    }

    fn close(&mut self) {
        if self.depth <= MAX_NESTING {
            self.tokens.push(MarkdownToken::Close);
        }
        self.depth = self.depth.saturating_sub(1);
    }

    fn start(&mut self, tag: Tag<'_>) {
        use MarkdownElement as E;
        match tag {
            Tag::Heading { level, .. } => self.open([E::H1, E::H2, E::H3, E::H4, E::H5, E::H6][level as usize - 1]),
            Tag::BlockQuote(_) => self.open(E::Blockquote),
            Tag::CodeBlock(kind) => {
                let lang = match kind {
                    CodeBlockKind::Fenced(name) => name.split_whitespace().next().map(str::to_owned),
                    CodeBlockKind::Indented => None,
                };
                self.open(OpenElement { lang, ..E::Pre.into() });
            }
            Tag::List(None) => self.open(E::Ul),
            Tag::List(start) => self.open(OpenElement { start, ..E::Ol.into() }),
            Tag::Item => self.open(E::Li),
            Tag::Table(alignments) => {
                self.alignments = alignments;
                self.open(E::Table);
            }
            Tag::TableHead => {
                self.column = 0;
                self.open(E::Thead);
            }
            Tag::TableRow => {
                self.column = 0;
                self.open(E::Tr);
            }
            Tag::TableCell => {
                let align = match self.alignments.get(self.column) {
                    Some(Alignment::Left) => Some("left"),
                    Some(Alignment::Center) => Some("center"),
                    Some(Alignment::Right) => Some("right"),
                    Some(Alignment::None) | None => None,
                };
                self.column += 1;
                self.open(OpenElement { align, ..E::Td.into() });
            }
            Tag::Emphasis => self.open(E::Em),
            Tag::Strong => self.open(E::Strong),
            Tag::Strikethrough => self.open(E::Del),
            Tag::Link { dest_url, .. } => {
                self.open(OpenElement { href: Some(dest_url.into_string()), ..E::A.into() });
            }
            Tag::Image { dest_url, .. } => {
                self.open(OpenElement { href: Some(dest_url.into_string()), ..E::Img.into() });
            }
            Tag::HtmlBlock => self.open(E::Html),
            _ => self.open(E::P),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        if tag == TagEnd::Table {
            self.alignments.clear();
        }
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes tokens as nested brackets.
    fn outline(source: &str) -> String {
        let mut text = String::new();
        for token in tokens(source).0 {
            match token {
                MarkdownToken::Open(open) => {
                    text += &format!("{:?}", open.tag).to_lowercase();
                    text += &open.href.or(open.lang).map_or(String::new(), |more| format!("={more}"));
                    text.push('[');
                }
                MarkdownToken::Close => text.push(']'),
                MarkdownToken::Text(words) => text += &words,
                MarkdownToken::Code(code) => text += &format!("`{code}`"),
                MarkdownToken::Task(done) => text += if done { "(x)" } else { "( )" },
                MarkdownToken::Rule => text += "---",
            }
        }
        text
    }

    #[test]
    fn elements_are_named_and_text_stays_text() {
        assert_eq!(outline("# A\n\none\n*two* `c`"), "h1[A]p[one\nem[two] `c`]");
        assert_eq!(outline("```rust\nfn f() {}\n```"), "pre=rust[fn f() {}\n]");
        assert_eq!(outline("- [x] done\n- <b>open</b>"), "ul[li[(x)done]li[<b>open</b>]]");
        assert_eq!(outline("<script>alert(1)</script>"), "html[<script>alert(1)</script>]");
        assert_eq!(outline("[a](javascript:alert(1))"), "p[a=javascript:alert(1)[a]]");
        assert_eq!(outline("| a |\n|--:|\n| 1 |"), "table[thead[td[a]]tr[td[1]]]");
    }

    #[test]
    fn every_opened_element_is_closed_at_any_depth() {
        for source in ["> ".repeat(500) + "deep", "*a **b ".repeat(300), "- ".repeat(200) + "x"] {
            let (tokens, left_out) = tokens(&source);
            let opened = tokens.iter().filter(|token| matches!(token, MarkdownToken::Open(_))).count();
            let closed = tokens.iter().filter(|token| matches!(token, MarkdownToken::Close)).count();
            assert_eq!((opened, left_out), (closed, 0));
        }
        assert_eq!(tokens(&"x".repeat(MAX_MARKDOWN_BYTES + 7)).1, 7);
    }
}
