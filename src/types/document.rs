//! Documents: markdown with versions. A section is a heading and what stands under it, up to the next heading of
//! the same or a higher level. Headings are found by a CommonMark parser, so a `#` inside a code fence is none.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};
use serde::{Deserialize, Serialize};

use super::Timestamp;
use crate::id::{AgentId, DocumentId};

/// A document as the store gives it, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Document {
    /// The document's ULID.
    pub id: DocumentId,
    /// Unique among documents.
    pub name: String,
    /// One sentence about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The number of its newest version, from 1.
    pub version: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its newest version was written.
    pub updated_at: Timestamp,
    /// Whether it was taken out of use; its versions stay.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
}

/// One version of a document, never changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentVersion {
    /// From 1.
    pub version: u64,
    /// Who wrote it.
    #[serde(rename = "author_id")]
    pub author: AgentId,
    /// When.
    pub created_at: Timestamp,
    /// The whole text.
    pub content: String,
}

/// A section of a markdown text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Section {
    /// The heading's text without markup.
    pub title: String,
    /// 1 for `#`, up to 6.
    pub level: u8,
    /// Bytes of the text, heading included.
    pub span: Range<usize>,
    /// Bytes of what stands under the heading.
    pub body: Range<usize>,
}

/// A name that does not mean exactly one section.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SectionError {
    /// No heading has this text.
    #[error("no section {name:?}; the sections are: {known}")]
    NotFound {
        /// What was asked for.
        name: String,
        /// The headings there are.
        known: String,
    },
    /// Several headings have this text.
    #[error("{count} sections are named {name:?}")]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// How many there are.
        count: usize,
    },
}

/// The sections of a markdown text, in its order; subsections follow the section that holds them.
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

/// The section with this heading: exactly, or, if none is, without regard to case.
///
/// # Errors
/// [`SectionError`] if no or several sections have that heading.
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

/// The text with `addition` as its last paragraph.
#[must_use]
pub fn append_text(text: &str, addition: &str) -> String {
    join(text.trim_end_matches('\n'), addition)
}

/// The text with `addition` before it.
#[must_use]
pub fn insert_at_start(text: &str, addition: &str) -> String {
    join(addition.trim_end_matches('\n'), text)
}

/// The text with `addition` before its line number `line`, counted from 1; past the last line it goes to the end.
#[must_use]
pub fn insert_before_line(text: &str, addition: &str, line: usize) -> String {
    let at = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let (before, after) = text.split_at(at);
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    let end = if after.is_empty() { "" } else { "\n" };
    format!("{before}{gap}{}{end}{after}", addition.trim_end_matches('\n'))
}

/// The text with what stands under the heading `name` replaced; the heading stays.
///
/// # Errors
/// [`SectionError`] if no or several sections have that heading.
pub fn replace_section(text: &str, name: &str, body: &str) -> Result<String, SectionError> {
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
