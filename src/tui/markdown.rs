//! Markdown on a screen: paragraphs, lists, tables, code, quotations, in lines of a given width. What is no Markdown reads
//! as it was written: single line feeds stay line feeds, for most of what people and models say is no document.

mod table;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::{
    style::{Modifier, Style},
    text::{Line, Span},
};

use self::table::MarkdownTable;
use super::{
    highlight::{self, Runs},
    text::{self, Piece, wrap},
    theme::{ColorRole, Palette},
};

/// Bytes of one node that are laid out; the rest is named.
pub(crate) const MOST: usize = 120_000;

/// The colours of code in a language, if they are known.
pub(crate) type CodeSpan<'a> = &'a dyn Fn(&str, &str) -> Option<Runs>;

/// Lays a text out in lines of at most `room` columns, its words in `style`.
pub(crate) fn render(
    source: &str,
    room: usize,
    style: Style,
    palette: Palette,
    of_code: CodeSpan<'_>,
) -> Vec<Line<'static>> {
    let source = source.trim_matches('\n');
    let shown = first(source);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut page = MarkdownPage {
        room: room.max(4),
        style,
        palette,
        of_code,
        lines: Vec::new(),
        pieces: Vec::new(),
        marks: vec![style],
        before: Vec::new(),
        item: None,
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

/// Pieces line by line.
fn lines_of(pieces: Vec<Piece>) -> Vec<Vec<Piece>> {
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

/// As much of a text as is laid out.
fn first(source: &str) -> &str {
    let mut end = source.len().min(MOST);
    while !source.is_char_boundary(end) {
        end -= 1;
    }
    &source[..end]
}

/// Text in lines as it stands.
pub(crate) fn plain(source: &str, room: usize, style: Style) -> Vec<Line<'static>> {
    wrap(&[(first(source.trim_end_matches('\n')).to_owned(), style)], room, &[], &[])
}

struct MarkdownPage<'a> {
    room: usize,
    style: Style,
    palette: Palette,
    of_code: CodeSpan<'a>,
    lines: Vec<Line<'static>>,
    pieces: Vec<Piece>,
    /// The styles that are on, the innermost last.
    marks: Vec<Style>,
    /// What stands before every line: bars of quotations, indents of lists.
    before: Vec<Piece>,
    /// What stands before the next line instead of the last of `before`: a bullet.
    item: Option<Piece>,
    lists: Vec<Option<u64>>,
    code: Option<String>,
    table: Option<MarkdownTable>,
    /// Whether a blank line goes before the next block.
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
                self.block();
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
        let style = self.marks.last().copied().unwrap_or(self.style).patch(more);
        self.pieces.push((text.to_owned(), style));
    }

    fn mark(&mut self, style: Style) {
        let last = self.marks.last().copied().unwrap_or(self.style);
        self.marks.push(last.patch(style));
    }

    fn inner(&self) -> usize {
        let before: usize = self.before.iter().map(|(text, _)| text::width(text)).sum();
        self.room.saturating_sub(before).max(4)
    }

    /// Begins a block: what was before it ends, with a blank line where one belongs.
    fn block(&mut self) {
        self.flush();
        if std::mem::take(&mut self.gap) && !self.lines.is_empty() {
            let bars = self.before.iter().map(|(text, style)| Span::styled(text.trim_end().to_owned(), *style));
            self.lines.push(Line::from(bars.filter(|span| !span.content.is_empty()).collect::<Vec<_>>()));
        }
    }

    fn flush(&mut self) {
        if self.pieces.is_empty() && self.item.is_none() {
            return;
        }
        let pieces = std::mem::take(&mut self.pieces);
        let mut first = self.before.clone();
        if let Some(item) = self.item.take() {
            first.pop();
            first.push(item);
        }
        // A line of nothing but its prefix keeps one column at least.
        let prefix: usize = self.before.iter().map(|(text, _)| text::width(text)).sum();
        self.lines.extend(wrap(&pieces, self.room.max(prefix + 4), &first, &self.before));
    }

    fn start(&mut self, tag: Tag<'_>) {
        let dim = self.palette.style(ColorRole::Guide);
        match tag {
            Tag::Paragraph => self.block(),
            Tag::Heading { level, .. } => {
                self.block();
                let strong = Style::new().add_modifier(Modifier::BOLD);
                let style = if level <= HeadingLevel::H2 {
                    strong.patch(self.palette.style(ColorRole::Accent))
                } else {
                    strong
                };
                self.mark(style);
            }
            Tag::BlockQuote(_) => {
                self.block();
                self.before.push(("│ ".to_owned(), dim));
                self.mark(Style::new().add_modifier(Modifier::ITALIC));
            }
            Tag::CodeBlock(kind) => {
                self.block();
                self.code = Some(String::new());
                if let CodeBlockKind::Fenced(name) = kind
                    && let Some(name) = name.split_whitespace().next()
                {
                    self.links.push(name.to_owned());
                }
            }
            Tag::List(start) => {
                if self.lists.is_empty() {
                    self.block();
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
                self.before.push((" ".repeat(text::width(&bullet)), Style::new()));
                self.item = Some((bullet, dim.patch(self.palette.style(ColorRole::Dim))));
                self.gap = false;
            }
            Tag::Table(alignments) => {
                self.block();
                self.table = Some(MarkdownTable { alignments, rows: Vec::new() });
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.mark(Style::new().add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.mark(Style::new().add_modifier(Modifier::BOLD)),
            Tag::Strikethrough => self.mark(Style::new().add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push(dest_url.to_string());
                self.mark(Style::new().add_modifier(Modifier::UNDERLINED));
            }
            Tag::HtmlBlock => self.block(),
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
                self.marks.pop();
                self.gap = true;
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.before.pop();
                self.marks.pop();
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
                self.before.pop();
                self.gap = false;
            }
            TagEnd::Table => self.end_table(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.pieces);
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.marks.pop()),
            TagEnd::Link | TagEnd::Image => {
                self.marks.pop();
                let target = self.links.pop().unwrap_or_default();
                // Where it leads is said: nobody should have to trust the words.
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
        let mut before = self.before.clone();
        before.push(("▏ ".to_owned(), bar));
        let code = code.trim_end_matches('\n');
        let runs = name.as_ref().and_then(|name| (self.of_code)(name, code));
        if let Some(name) = name {
            let mut first = before.clone();
            first.push((name, self.palette.style(ColorRole::Dim)));
            self.lines.extend(wrap(&[], self.room, &first, &before));
        }
        let pieces = match runs {
            Some(runs) => highlight::painted(code, &runs, self.palette),
            None => vec![(code.to_owned(), style)],
        };
        // A line that does not fit goes on under a sign, so that it is not taken for two.
        let mut rest = before.clone();
        rest.push(("↪ ".to_owned(), bar));
        for line in lines_of(pieces) {
            self.lines.extend(wrap(&line, self.room, &before, &rest));
        }
        self.gap = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(source: &str, room: usize) -> String {
        let lines = render(source, room, Style::new(), Palette::Plain, &|_, _| None);
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
    fn tables_fit_their_room() {
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
    fn links_say_where_they_lead_and_what_is_no_markdown_stays() {
        assert_eq!(shown("see [this](http://e.example)", 60), "see this (http://e.example)");
        assert_eq!(shown("one\ntwo", 60), "one\ntwo");
        assert_eq!(shown("", 60), "");
    }
}
