//! Sections of a Markdown text, and edits of it by section and line.
//!
//! A section is a heading with the text under it, up to the next heading of the same or a higher level. A CommonMark
//! parser finds the headings, so a `#` inside a code fence is not a heading.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};
use serde::Serialize;

/// A section of a markdown text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Section {
    /// Text of the heading, without markup.
    pub title: String,
    /// Level of the heading: 1 (`#`) to 6.
    pub level: u8,
    /// Byte range of the section, heading included.
    pub span: Range<usize>,
    /// Byte range of the text under the heading.
    pub body: Range<usize>,
}

/// Failed lookup of a section by its heading.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SectionError {
    /// No heading has this text.
    #[error("no section {name:?}; the sections are: {known}")]
    NotFound {
        /// Heading as requested by the caller.
        name: String,
        /// Headings of the text, quoted and joined by commas.
        known: String,
    },
    /// Several headings have this text.
    #[error("{count} sections are named {name:?}")]
    Ambiguous {
        /// Heading as requested by the caller.
        name: String,
        /// Number of sections with this heading.
        count: usize,
    },
}

/// Returns the sections of a markdown text in document order. A section is followed by its subsections.
#[must_use]
pub fn sections(text: &str) -> Vec<Section> {
    let mut found: Vec<Section> = Vec::new();
    let mut heading: Option<(u8, Range<usize>, String)> = None;
    for (event, span) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => heading = Some((level_number(level), span, String::new())),
            Event::Text(words) | Event::Code(words) => {
                if let Some((_, _, title)) = &mut heading {
                    title.push_str(&words);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some((level, span, title)) = heading.take() {
                    found.push(Section { title, level, body: span.end..text.len(), span: span.start..text.len() });
                }
            }
            _ => {}
        }
    }
    for index in 0..found.len() {
        let level = found[index].level;
        if let Some(end) = found[index + 1..].iter().find(|s| s.level <= level).map(|s| s.span.start) {
            found[index].span.end = end;
            found[index].body.end = end;
        }
    }
    found
}

fn level_number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

/// Returns the section with a heading. An exact match has priority over a match that ignores case.
///
/// # Errors
/// [`SectionError`] if no section or several sections have that heading.
pub fn section(text: &str, name: &str) -> Result<Section, SectionError> {
    let all = sections(text);
    let name = name.trim_start_matches('#').trim();
    let mut fitting: Vec<&Section> = all.iter().filter(|s| s.title == name).collect();
    if fitting.is_empty() {
        let lower = name.to_lowercase();
        fitting = all.iter().filter(|s| s.title.to_lowercase() == lower).collect();
    }
    match fitting.as_slice() {
        [one] => Ok((*one).clone()),
        [] => {
            let known = all.iter().map(|s| format!("{:?}", s.title)).collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() { "none".to_owned() } else { known };
            Err(SectionError::NotFound { name: name.to_owned(), known })
        }
        several => Err(SectionError::Ambiguous { name: name.to_owned(), count: several.len() }),
    }
}

/// Appends `addition` as the last paragraph.
#[must_use]
pub(crate) fn append_text(text: &str, addition: &str) -> String {
    join(text.trim_end_matches('\n'), addition)
}

/// Inserts `addition` as the first paragraph.
#[must_use]
pub(crate) fn insert_at_start(text: &str, addition: &str) -> String {
    join(addition.trim_end_matches('\n'), text)
}

/// Inserts `addition` before a line, counted from 1. A number past the last line appends.
#[must_use]
pub(crate) fn insert_before_line(text: &str, addition: &str, line: usize) -> String {
    let at = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let (before, after) = text.split_at(at);
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    let end = if after.is_empty() { "" } else { "\n" };
    format!("{before}{gap}{}{end}{after}", addition.trim_end_matches('\n'))
}

/// Replaces the text under the heading `name`. The heading remains.
///
/// # Errors
/// [`SectionError`] if no section or several sections have that heading.
pub(crate) fn replace_section(text: &str, name: &str, body: &str) -> Result<String, SectionError> {
    let found = section(text, name)?;
    let before = text[..found.body.start].trim_end_matches('\n');
    let after = text[found.body.end..].trim_start_matches('\n');
    let replaced = format!("{before}\n\n{}", body.trim_matches('\n'));
    Ok(if after.is_empty() { format!("{replaced}\n") } else { join(&replaced, after) })
}

fn join(first: &str, second: &str) -> String {
    if first.is_empty() { second.to_owned() } else { format!("{first}\n\n{second}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "intro\n\n# One\n\na\n\n## Two *and*\n\nb\n\n```\n# not a heading\n```\n\n# Three\n\nc\n";

    #[test]
    fn sections_hold_their_subsections() {
        let found: Vec<_> = sections(TEXT).into_iter().map(|s| (s.title.clone(), s.level, &TEXT[s.span])).collect();
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].0, "One");
        assert!(found[0].2.contains("## Two"));
        assert_eq!((found[1].0.as_str(), found[1].1), ("Two and", 2));
        assert!(found[1].2.contains("# not a heading") && !found[1].2.contains("# Three"));
    }

    #[test]
    fn a_section_is_replaced_and_its_neighbours_stay() {
        let text = replace_section(TEXT, "two and", "new").unwrap();
        assert_eq!(text, "intro\n\n# One\n\na\n\n## Two *and*\n\nnew\n\n# Three\n\nc\n");
        let text = replace_section(TEXT, "Three", "last").unwrap();
        assert!(text.ends_with("# Three\n\nlast\n"));
        let error = replace_section(TEXT, "Four", "x").unwrap_err();
        assert_eq!(error.to_string(), "no section \"Four\"; the sections are: \"One\", \"Two and\", \"Three\"");
        assert!(matches!(section("# a\n# a\n", "a"), Err(SectionError::Ambiguous { count: 2, .. })));
    }

    #[test]
    fn text_is_added_as_a_paragraph() {
        assert_eq!(append_text("", "a"), "a");
        assert_eq!(append_text("a\n", "b"), "a\n\nb");
        assert_eq!(insert_at_start("b", "a\n"), "a\n\nb");
    }

    #[test]
    fn text_is_put_before_a_line() {
        assert_eq!(insert_before_line("a\nb\n", "x", 1), "x\na\nb\n");
        assert_eq!(insert_before_line("a\nb\n", "x\n", 2), "a\nx\nb\n");
        assert_eq!(insert_before_line("a\nb", "x", 3), "a\nb\nx");
        assert_eq!(insert_before_line("a\nb\n", "x", 9), "a\nb\nx");
        assert_eq!(insert_before_line("", "x", 1), "x");
    }
}
