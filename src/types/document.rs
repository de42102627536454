//! Documents and their versions.

use serde::{Deserialize, Serialize};

use super::Timestamp;
use crate::id::{AgentId, DocumentId};

/// A document as read from the store, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct Document {
    /// ULID of the document.
    pub id: DocumentId,
    /// Name, unique among documents.
    pub name: String,
    /// Summary of one sentence, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Number of the newest version, from 1.
    pub version: u64,
    /// Creation time by the host's clock.
    pub created_at: Timestamp,
    /// Creation time of the newest version.
    pub updated_at: Timestamp,
    /// True if the document was removed. Its versions remain.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
}

/// An immutable version of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct DocumentVersion {
    /// Version number, from 1.
    pub version: u64,
    /// Author of the version.
    #[serde(rename = "author_id")]
    pub author: AgentId,
    /// Creation time by the host's clock.
    pub created_at: Timestamp,
    /// Full text of the version.
    pub content: String,
}
