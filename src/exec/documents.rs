//! Commands that read documents, whole or in part, and write them.

use super::{
    Answer, AnswerResult, Executor,
    counts::count,
    escape::{escape, quoted},
};
use crate::{
    arrow::{Range, WritePlace},
    id::DocumentId,
    ops::{DocumentEdit, OpsError},
    tools::{ErrorCode, ToolError},
    types::{Document, SectionError, section, sections},
};

/// Other documents that the answer to a new one names, the most similar first.
const MAX_NEAR_DOCUMENTS: usize = 3;

impl Executor<'_> {
    pub(super) fn read_document(
        &self,
        name: &str,
        version: Option<u32>,
        summary: bool,
        (lines, heading): (Option<Range>, Option<&str>),
    ) -> AnswerResult {
        if usize::from(summary) + usize::from(heading.is_some()) + usize::from(lines.is_some()) > 1 {
            let message = "read takes one of summary, section: and lines:";
            return Err(ToolError::new(ErrorCode::InvalidSyntax, message).hint(format!("→ read doc:{}", quoted(name))));
        }
        let mut document = self.loom.document(name)?;
        let text = match version {
            None => self.document_text(&document)?,
            Some(version) => self.earlier_text(&mut document, version.into())?,
        };
        let mut about = format!("doc:{}", quoted(&document.name));
        let body = match (summary, heading, lines) {
            (true, ..) => outline(&self.document_summary(&document, &text)?, &text),
            (false, Some(heading), _) => {
                let found = section(&text, heading).map_err(OpsError::from)?;
                about.push_str(&format!(" §{}", crate::types::one_line(&found.title)));
                text[found.span].trim_end_matches('\n').to_owned()
            }
            (false, None, Some(range)) => {
                let all = text.lines().count();
                let (first, last) = (range.first.max(1) as usize, (range.last as usize).min(all));
                if first > all {
                    let failure =
                        ToolError::new(ErrorCode::NotFound, format!("{about} has {}", count(all as u64, "line")));
                    return Err(failure.hint(format!("→ read {about} lines:1-{all}")));
                }
                about.push_str(&format!(" lines {first}-{last} of {all}"));
                text.lines().skip(first - 1).take(last + 1 - first).collect::<Vec<_>>().join("\n")
            }
            (false, None, None) => text.trim_end_matches('\n').to_owned(),
        };
        let said = if summary {
            let lines = count(text.lines().count() as u64, "line");
            format!("{about} · version {} · {lines} · {}\n{body}", document.version, words(&text))
        } else {
            format!("{about} · version {} · {}\n---\n{}", document.version, words(&body), escape(&body))
        };
        Ok(Answer::about(said, format!("doc:{}", quoted(&document.name))))
    }

    pub(super) fn write(&self, name: &str, place: &WritePlace, text: &str) -> AnswerResult {
        super::agent_tree_change::not_empty(text, "a document")?;
        let known =
            self.loom.snapshot()?.documents()?.into_iter().any(|document| !document.removed && document.name == name);
        if !known {
            return self.create_document(name, place, text);
        }
        let document = self.loom.document(name)?;
        let text = text.to_owned();
        let edit = match place {
            WritePlace::Append | WritePlace::End => DocumentEdit::Append(text),
            WritePlace::Start => DocumentEdit::AtStart(text),
            WritePlace::Line(line) => DocumentEdit::BeforeLine(*line as usize, text),
            WritePlace::Section(section) => DocumentEdit::Replace { section: section.clone(), body: text },
        };
        let receipt = self.actor().write_document(document.id, &edit).map_err(|error| match error {
            OpsError::Section(SectionError::NotFound { name, known }) => {
                let message = format!("no section {}, and no text with these words", quoted(&name));
                ToolError::new(ErrorCode::NotFound, message).hint(format!("the sections are: {known}"))
            }
            error => error.into(),
        })?;
        let document = self.loom.document(name)?;
        let named = format!("doc:{}", quoted(&document.name));
        if receipt.group == 0 {
            let said = format!("✓ {named} has this text already · version {}", document.version);
            return Ok(Answer::about(said, named));
        }
        let length = words(&self.document_text(&document)?);
        Ok(Answer::about(format!("✓ wrote {named} · version {} · {length}", document.version), named))
    }

    /// Creates a document. A section's text gets its heading.
    fn create_document(&self, name: &str, place: &WritePlace, text: &str) -> AnswerResult {
        let text = match place {
            WritePlace::Section(heading) => format!("# {}\n\n{text}", crate::types::one_line(heading)),
            _ => text.to_owned(),
        };
        self.actor().create_document(name, &text)?;
        let (named, others) = (format!("doc:{}", quoted(name)), self.loom.snapshot()?.documents()?);
        let mut known: Vec<(usize, &str)> = others
            .iter()
            .filter(|document| !document.removed && document.name != name)
            .map(|document| {
                (strsim::osa_distance(&document.name.to_lowercase(), &name.to_lowercase()), &*document.name)
            })
            .collect();
        known.sort_unstable();
        let near = known.iter().take(MAX_NEAR_DOCUMENTS).map(|(_, name)| quoted(name)).collect::<Vec<_>>().join(", ");
        let others = if near.is_empty() { String::new() } else { format!("\n  other documents: {near}") };
        Ok(Answer::about(format!("✓ made {named} · version 1 · {}{others}", words(&text)), named))
    }

    /// Returns the text of a version, whose number it sets in `document`.
    fn earlier_text(&self, document: &mut Document, version: u64) -> Result<String, ToolError> {
        let found = match version {
            0 => None,
            _ => self.loom.snapshot()?.document_version(document.id, version)?,
        };
        let named = format!("doc:{}", quoted(&document.name));
        let found = found.ok_or_else(|| {
            let message = format!("{named} has no version {version}: there are 1 to {}", document.version);
            ToolError::new(ErrorCode::NotFound, message).hint(format!("→ read {named} version:{}", document.version))
        })?;
        document.version = version;
        Ok(found.content)
    }

    pub(super) fn document_text(&self, document: &Document) -> Result<String, ToolError> {
        let newest = self.loom.snapshot()?.document_version(document.id, 0)?;
        Ok(newest.ok_or_else(|| OpsError::missing("document", &document.name))?.content)
    }

    /// Returns a document's name, also of a removed document.
    pub(super) fn document_name(&self, id: DocumentId) -> Result<String, ToolError> {
        let documents = self.loom.snapshot()?.documents()?;
        let found = documents.into_iter().find(|document| document.id == id);
        Ok(found.ok_or_else(|| OpsError::missing("document", id))?.name)
    }
}

/// Formats a word count: `247 words`.
pub(super) fn words(text: &str) -> String {
    let words = text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric));
    count(words.count() as u64, "word")
}

/// Formats a document's summary and its headings.
fn outline(summary: &str, text: &str) -> String {
    let mut lines = vec![format!("\"{summary}\"")];
    lines.extend(sections(text).iter().map(|section| {
        let indent = "  ".repeat(usize::from(section.level));
        let title = crate::types::one_line(&section.title);
        format!("{indent}§{title} ({})", words(&text[section.body.clone()]))
    }));
    lines.join("\n")
}
