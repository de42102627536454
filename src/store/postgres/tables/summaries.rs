//! Keys of the table of summaries.

use crate::{store::postgres::uuid::Uuid, types::SummarySubject};

/// The key of a summary: the kind of its subject, and the subject's id.
pub(in crate::store::postgres) fn summary_key(of: SummarySubject) -> (i64, Uuid) {
    match of {
        SummarySubject::Node(id) => (0, Uuid(id.to_bytes())),
        SummarySubject::Document(id) => (1, Uuid(id.to_bytes())),
        SummarySubject::Tree(id) => (2, Uuid(id.to_bytes())),
    }
}
