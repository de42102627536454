//! Queries of tables, one file for each.

pub(super) mod documents;
pub(super) mod links;
pub(super) mod memory;
pub(super) mod sessions;
pub(super) mod trees;

use super::uuid::Uuid;
use crate::types::SummarySubject;

/// The key of a summary: the kind of its subject, and the subject's id.
pub(super) fn summary_key(of: SummarySubject) -> (i64, Uuid) {
    match of {
        SummarySubject::Node(id) => (0, Uuid(id.to_bytes())),
        SummarySubject::Document(id) => (1, Uuid(id.to_bytes())),
        SummarySubject::Tree(id) => (2, Uuid(id.to_bytes())),
    }
}
