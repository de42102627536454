//! Documents: made, written, brought back to an earlier version.

use super::{Actor, OpsError, Result};
use crate::{
    id::DocumentId,
    store::{Mutation, Receipt, StoreError},
    types::{Op, append_text, insert_at_start, insert_before_line, replace_section},
};

/// What to do to a document's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentEdit {
    /// A paragraph at the end.
    Append(String),
    /// A paragraph at the start.
    AtStart(String),
    /// Lines before this one, counted from 1.
    BeforeLine(usize, String),
    /// What stands under a heading; the heading stays.
    Replace {
        /// The heading.
        section: String,
        /// The new text under it.
        body: String,
    },
    /// The whole text.
    Whole(String),
}

/// Tries against writers that change the same document meanwhile.
const TRIES: usize = 8;

impl Actor {
    /// Makes a document.
    ///
    /// # Errors
    /// If the name is empty or taken, or the store fails.
    pub fn create_document(&self, name: &str, content: &str) -> Result<DocumentId> {
        if name.trim().is_empty() {
            return Err(OpsError::Invalid("a document needs a name".to_owned()));
        }
        let id = self.loom.document_id();
        let (name, content) = (name.to_owned(), content.to_owned());
        self.commit(Op::WriteDocument, vec![Mutation::CreateDocument { id, name, content }])?;
        Ok(id)
    }

    /// Writes a document's next version. When somebody else wrote meanwhile, the edit is made to what they wrote.
    ///
    /// # Errors
    /// If the document or section is not there, others keep writing it, or the store fails.
    pub fn write_document(&self, document: DocumentId, edit: &DocumentEdit) -> Result<Receipt> {
        let mut tries = 0;
        loop {
            tries += 1;
            let newest = self
                .loom
                .snapshot()?
                .document_version(document, 0)?
                .ok_or_else(|| OpsError::missing("document", document))?;
            let content = match edit {
                DocumentEdit::Append(text) => append_text(&newest.content, text),
                DocumentEdit::AtStart(text) => insert_at_start(&newest.content, text),
                DocumentEdit::BeforeLine(line, text) => insert_before_line(&newest.content, text, *line),
                DocumentEdit::Replace { section, body } => replace_section(&newest.content, section, body)?,
                DocumentEdit::Whole(text) => text.clone(),
            };
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
    /// If there is no such version, or the store fails.
    pub fn revert_document(&self, document: DocumentId, to: u64) -> Result<Receipt> {
        self.commit(Op::WriteDocument, vec![Mutation::RevertDocument { document, to }])
    }

    /// Takes a document out of use; its versions stay.
    ///
    /// # Errors
    /// If it is not there, or the store fails.
    pub fn remove_document(&self, document: DocumentId) -> Result<Receipt> {
        self.commit(Op::WriteDocument, vec![Mutation::SetDocumentRemoved { document, removed: true }])
    }
}
