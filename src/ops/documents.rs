//! Operations on documents: create, edit, revert to an earlier version, remove.

use super::{Actor, OpsError, Result};
use crate::{
    id::DocumentId,
    store::{Mutation, Receipt, StoreError},
    types::{Op, SectionError, append_text, insert_at_start, insert_before_line, replace_section},
};

/// Edit of a document's text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DocumentEdit {
    /// Appends a paragraph at the end.
    Append(String),
    /// Inserts a paragraph at the start.
    AtStart(String),
    /// Inserts text before a line, counted from 1.
    BeforeLine(usize, String),
    /// Replaces the text under a heading, which remains. If no section has the heading, the document must contain it
    /// exactly once as a text, which is replaced.
    Replace {
        /// Heading of the section, or a text of the document.
        section: String,
        /// New text under the heading, or in place of the text.
        body: String,
    },
    /// Replaces the whole text.
    Whole(String),
}

/// Maximum length of a document's name, in bytes. PostgreSQL has an index of the names.
const MAX_NAME_BYTES: usize = 1_000;
/// Maximum number of attempts when other writers change the same document.
const TRIES: usize = 8;

impl Actor {
    /// Creates a document with its first version.
    ///
    /// # Errors
    /// If the name is empty, longer than 1,000 bytes or taken, or the store fails.
    pub fn create_document(&self, name: &str, content: &str) -> Result<DocumentId> {
        if name.trim().is_empty() {
            return Err(OpsError::Invalid("a document needs a name".to_owned()));
        }
        if name.len() > MAX_NAME_BYTES {
            return Err(OpsError::Invalid(format!("a document's name has at most {MAX_NAME_BYTES} bytes")));
        }
        let id = self.loom.document_id();
        let (name, content) = (name.to_owned(), content.to_owned());
        self.commit(Op::WriteDocument, vec![Mutation::CreateDocument { id, name, content }])?;
        Ok(id)
    }

    /// Writes the next version of a document. After a concurrent write the edit is retried on the newer text. An edit that
    /// changes nothing writes no version.
    ///
    /// # Errors
    /// If the document or section does not exist, every attempt met a concurrent write, or the store fails.
    pub fn write_document(&self, document: DocumentId, edit: &DocumentEdit) -> Result<Receipt> {
        self.write_next(document, None, edit)
    }

    /// Writes the next version of a document whose version `base` was read before. A text that a person edited meanwhile
    /// thus replaces nothing that they have not seen.
    ///
    /// # Errors
    /// As [`Actor::write_document`], and with [`StoreError::Conflict`] if there is a version after `base`.
    pub fn write_document_from(&self, document: DocumentId, base: u64, edit: &DocumentEdit) -> Result<Receipt> {
        self.write_next(document, Some(base), edit)
    }

    fn write_next(&self, document: DocumentId, base: Option<u64>, edit: &DocumentEdit) -> Result<Receipt> {
        let mut tries = 0;
        loop {
            tries += 1;
            let newest = self
                .loom
                .snapshot()?
                .document_version(document, 0)?
                .ok_or_else(|| OpsError::missing("document", document))?;
            if base.is_some_and(|base| base != newest.version) {
                let message = format!("the document has version {} by now", newest.version);
                return Err(StoreError::Conflict(message).into());
            }
            let content = match edit {
                DocumentEdit::Append(text) => append_text(&newest.content, text),
                DocumentEdit::AtStart(text) => insert_at_start(&newest.content, text),
                DocumentEdit::BeforeLine(line, text) => insert_before_line(&newest.content, text, *line),
                DocumentEdit::Replace { section, body } => replace_part(&newest.content, section, body)?,
                DocumentEdit::Whole(text) => text.clone(),
            };
            if content == newest.content {
                return Ok(Receipt::default());
            }
            let write = Mutation::WriteDocument { document, base: newest.version, content };
            match self.commit(Op::WriteDocument, vec![write]) {
                Err(OpsError::Store(StoreError::Conflict(_))) if tries < TRIES => {}
                done => return done,
            }
        }
    }

    /// Writes a next version with the text of an earlier one.
    ///
    /// # Errors
    /// If the version does not exist, or the store fails.
    pub fn revert_document(&self, document: DocumentId, to: u64) -> Result<Receipt> {
        if to == 0 {
            return Err(OpsError::Invalid("versions count from 1".to_owned()));
        }
        self.commit(Op::WriteDocument, vec![Mutation::RevertDocument { document, to }])
    }

    /// Removes a document. Its versions remain.
    ///
    /// # Errors
    /// If the document does not exist, or the store fails.
    pub fn remove_document(&self, document: DocumentId) -> Result<Receipt> {
        self.commit(Op::WriteDocument, vec![Mutation::SetDocumentRemoved { document, removed: true }])
    }
}

/// Replaces the text under a heading or, if no section has it, the text itself.
fn replace_part(text: &str, wanted: &str, body: &str) -> Result<String> {
    match (replace_section(text, wanted, body), text.matches(wanted).count()) {
        (Err(SectionError::NotFound { .. }), 1) if !wanted.is_empty() => Ok(text.replacen(wanted, body, 1)),
        (Err(SectionError::NotFound { .. }), count) if count > 1 && !wanted.is_empty() => {
            let message = format!("{wanted:?} is no heading and stands {count} times in the document: give more of it");
            Err(OpsError::Invalid(message))
        }
        (replaced, _) => Ok(replaced?),
    }
}
