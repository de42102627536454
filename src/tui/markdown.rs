//! Markdown renderer: paragraphs, lists, tables, code and quotations in lines of a given width. Plain text keeps its
//! line breaks, because most messages are not documents.

mod table;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::{
    style::{Modifier, Style},
    text::{Line, Span},
};

use self::table::MarkdownTable;
use super::{
    highlight::{self, StyledRuns},
    line_wrap::{Piece, wrap},
    text,
    theme::{ColorRole, Palette},
};
use crate::types::truncate_bytes;

/// Bytes of one node that are rendered; a note names the rest.
pub(crate) const MAX_NODE_BYTES: usize = 120_000;

/// Callback that returns the highlighting of code in a language, if it is ready.
pub(crate) type CodeSpan<'a> = &'a dyn Fn(&str, &str) -> Option<StyledRuns>;

/// Renders a text in lines of at most `max_columns` columns, with `style` as its base style.
pub(crate) fn render(
    source: &str,
    max_columns: usize,
    style: Style,
    palette: Palette,
    highlight_code: CodeSpan<'_>,
) -> Vec<Line<'static>> {
    let source = source.trim_matches('\n');
    let shown = truncate(source);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut page = MarkdownPage {
        max_columns: max_columns.max(4),
        style,
        palette,
        highlight_code,
        lines: Vec::new(),
        pieces: Vec::new(),
        styles: vec![style],
        prefix: Vec::new(),
        item_prefix: None,
        lists: Vec::new(),
        code: None,
        table: None,
        gap: false,
        links: Vec::new(),
    };
    for event in Parser::new_ext(shown, options) {
        page.event(event);
    }
    page.flush();
    if shown.len() < source.len() {
        let more = format!("… {} more bytes; E opens all of it in your editor", source.len() - shown.len());
        page.lines.push(Line::styled(more, palette.style(ColorRole::Dim)));
    }
    page.lines
}

/// Splits pieces at line feeds.
fn split_lines(pieces: Vec<Piece>) -> Vec<Vec<Piece>> {
    let mut lines: Vec<Vec<Piece>> = vec![Vec::new()];
    for (text, style) in pieces {
        for (at, part) in text.split('\n').enumerate() {
            if at > 0 {
                lines.push(Vec::new());
            }
            if let Some(line) = lines.last_mut().filter(|_| !part.is_empty()) {
                line.push((part.to_owned(), style));
            }
        }
    }
    lines
}

/// Returns the part of a text that is rendered.
fn truncate(source: &str) -> &str {
    truncate_bytes(source, MAX_NODE_BYTES)
}

/// Wraps a text without interpreting Markdown.
pub(crate) fn plain(source: &str, max_columns: usize, style: Style) -> Vec<Line<'static>> {
    wrap(&[(truncate(source.trim_end_matches('\n')).to_owned(), style)], max_columns, &[], &[])
}

struct MarkdownPage<'a> {
    max_columns: usize,
    style: Style,
    palette: Palette,
    highlight_code: CodeSpan<'a>,
    lines: Vec<Line<'static>>,
    pieces: Vec<Piece>,
    /// Active styles, the innermost last.
    styles: Vec<Style>,
    /// Prefix of every line: bars of quotations, indents of lists.
    prefix: Vec<Piece>,
    /// Bullet that replaces the last prefix on the next line.
    item_prefix: Option<Piece>,
    lists: Vec<Option<u64>>,
    code: Option<String>,
    table: Option<MarkdownTable>,
    /// True if a blank line precedes the next block.
    gap: bool,
    links: Vec<String>,
}

impl MarkdownPage<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.push_str(&text),
                None => self.push(&text, Style::new()),
            },
            Event::Code(code) => self.push(&code, self.palette.style(ColorRole::Code)),
            Event::Html(text) | Event::InlineHtml(text) => self.push(&text, self.palette.style(ColorRole::Dim)),
            Event::SoftBreak | Event::HardBreak => self.push("\n", Style::new()),
            Event::Rule => {
                self.begin_block();
                let columns = self.inner().min(40);
                let rule = ("─".repeat(columns), self.palette.style(ColorRole::Guide));
                self.pieces.push(rule);
                self.flush();
                self.gap = true;
            }
            Event::TaskListMarker(done) => self.push(if done { "[x] " } else { "[ ] " }, Style::new()),
            _ => {}
        }
    }

    fn push(&mut self, text: &str, more: Style) {
        let style = self.styles.last().copied().unwrap_or(self.style).patch(more);
        self.pieces.push((text.to_owned(), style));
    }

    fn push_style(&mut self, style: Style) {
        let last = self.styles.last().copied().unwrap_or(self.style);
        self.styles.push(last.patch(style));
    }

    fn inner(&self) -> usize {
        let prefix_width: usize = self.prefix.iter().map(|(text, _)| text::width(text)).sum();
        self.max_columns.saturating_sub(prefix_width).max(4)
    }

    /// Starts a block: flushes the one before, with a blank line if needed.
    fn begin_block(&mut self) {
        self.flush();
        if std::mem::take(&mut self.gap) && !self.lines.is_empty() {
            let bars = self.prefix.iter().map(|(text, style)| Span::styled(text.trim_end().to_owned(), *style));
            self.lines.push(Line::from(bars.filter(|span| !span.content.is_empty()).collect::<Vec<_>>()));
        }
    }

    fn flush(&mut self) {
        if self.pieces.is_empty() && self.item_prefix.is_none() {
            return;
        }
        let pieces = std::mem::take(&mut self.pieces);
        let mut first = self.prefix.clone();
        if let Some(item_prefix) = self.item_prefix.take() {
            first.pop();
            first.push(item_prefix);
        }
        // Leaves a few columns for text beside a long prefix.
        let prefix_width: usize = self.prefix.iter().map(|(text, _)| text::width(text)).sum();
        self.lines.extend(wrap(&pieces, self.max_columns.max(prefix_width + 4), &first, &self.prefix));
    }

    fn start(&mut self, tag: Tag<'_>) {
        let dim = self.palette.style(ColorRole::Guide);
        match tag {
            Tag::Paragraph => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                let strong = Style::new().add_modifier(Modifier::BOLD);
                let style = if level <= HeadingLevel::H2 {
                    strong.patch(self.palette.style(ColorRole::Accent))
                } else {
                    strong
                };
                self.push_style(style);
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.prefix.push(("│ ".to_owned(), dim));
                self.push_style(Style::new().add_modifier(Modifier::ITALIC));
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                self.code = Some(String::new());
                if let CodeBlockKind::Fenced(name) = kind
                    && let Some(name) = name.split_whitespace().next()
                {
                    self.links.push(name.to_owned());
                }
            }
            Tag::List(start) => {
                if self.lists.is_empty() {
                    self.begin_block();
                } else {
                    self.flush();
                }
                self.lists.push(start);
            }
            Tag::Item => {
                self.flush();
                let bullet = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                self.prefix.push((" ".repeat(text::width(&bullet)), Style::new()));
                self.item_prefix = Some((bullet, dim.patch(self.palette.style(ColorRole::Dim))));
                self.gap = false;
            }
            Tag::Table(alignments) => {
                self.begin_block();
                self.table = Some(MarkdownTable { alignments, rows: Vec::new() });
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.push_style(Style::new().add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.push_style(Style::new().add_modifier(Modifier::BOLD)),
            Tag::Strikethrough => self.push_style(Style::new().add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push(dest_url.to_string());
                self.push_style(Style::new().add_modifier(Modifier::UNDERLINED));
            }
            Tag::HtmlBlock => self.begin_block(),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.flush();
                self.gap = true;
            }
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
                self.gap = true;
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.prefix.pop();
                self.styles.pop();
                self.gap = true;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
                self.gap = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.flush();
                self.prefix.pop();
                self.gap = false;
            }
            TagEnd::Table => self.end_table(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.pieces);
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.styles.pop()),
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                let target = self.links.pop().unwrap_or_default();
                // Shows the target, because link text may disguise it.
                let words = self.pieces.last().is_some_and(|(words, _)| *words == target);
                if !words && !target.is_empty() {
                    self.push(&format!(" ({target})"), self.palette.style(ColorRole::Dim));
                }
            }
            _ => {}
        }
    }

    fn end_code(&mut self) {
        let code = self.code.take().unwrap_or_default();
        let (bar, style) = (self.palette.style(ColorRole::Guide), self.palette.style(ColorRole::Code));
        let name = self.links.pop();
        let mut prefix = self.prefix.clone();
        prefix.push(("▏ ".to_owned(), bar));
        let code = code.trim_end_matches('\n');
        let runs = name.as_ref().and_then(|name| (self.highlight_code)(name, code));
        if let Some(name) = name {
            let mut first = prefix.clone();
            first.push((name, self.palette.style(ColorRole::Dim)));
            self.lines.extend(wrap(&[], self.max_columns, &first, &prefix));
        }
        let pieces = match runs {
            Some(runs) => highlight::styled_pieces(code, &runs, self.palette),
            None => vec![(code.to_owned(), style)],
        };
        // Marks continuation rows, so that one line of code does not look like two.
        let mut rest = prefix.clone();
        rest.push(("↪ ".to_owned(), bar));
        for line in split_lines(pieces) {
            self.lines.extend(wrap(&line, self.max_columns, &prefix, &rest));
        }
        self.gap = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(source: &str, max_columns: usize) -> String {
        let lines = render(source, max_columns, Style::new(), Palette::Plain, &|_, _| None);
        let text = |line: &Line<'_>| line.spans.iter().map(|s| s.content.as_ref()).collect::<String>();
        lines.iter().map(|line| text(line).trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn documents_are_laid_out() {
        let source = "# Title\n\nSome *prose* with `code`.\nA second line.\n\n- one\n- two\n  1. inner\n\n> said\n\n```rust\nfn f() {}\n```\n";
        insta::assert_snapshot!(shown(source, 40), @r"
        Title

        Some prose with code.
        A second line.

        • one
        • two
          1. inner

        │ said

        ▏ rust
        ▏ fn f() {}
        ");
    }

    #[test]
    fn tables_fit_the_width() {
        let source = "| name | what it is |\n|---|---:|\n| a | one of several long words |\n| bb | 2 |\n";
        insta::assert_snapshot!(shown(source, 24), @r"
        name │        what it is
        ─────┼──────────────────
        a    │    one of several
             │        long words
        bb   │                 2
        ");
        for line in shown(source, 60).lines() {
            assert!(text::width(line) <= 60);
        }
    }

    #[test]
    fn links_show_their_target_and_plain_text_is_unchanged() {
        assert_eq!(shown("see [this](http://e.example)", 60), "see this (http://e.example)");
        assert_eq!(shown("one\ntwo", 60), "one\ntwo");
        assert_eq!(shown("", 60), "");
    }
}
