//! Queries of the tables `documents` and `document_versions`.

use crate::{
    id::{AgentId, DocumentId},
    store::{
        Result, StoreError,
        postgres::{
            connection::PostgresConnection,
            decode::{get, id, number, time},
            uuid::Uuid,
        },
    },
    types::{Document, DocumentVersion},
};

pub(in crate::store::postgres) fn all(conn: &PostgresConnection) -> Result<Vec<Document>> {
    let sql = "SELECT d.id, d.name, su.content, v.version, d.created_at, v.created_at, d.removed
               FROM documents d
                   JOIN LATERAL (SELECT version, created_at FROM document_versions WHERE document = d.id
                                 ORDER BY version DESC LIMIT 1) v ON true
                   LEFT JOIN summaries su ON su.kind = 1 AND su.subject = d.id AND su.made_of = v.version
               ORDER BY d.name, d.seq";
    let rows = conn.query(sql, &[])?;
    rows.iter()
        .map(|row| {
            Ok(Document {
                id: id(row, 0, DocumentId::from_bytes)?,
                name: get(row, 1)?,
                summary: get(row, 2)?,
                version: number(row, 3)?,
                created_at: time(row, 4)?,
                updated_at: time(row, 5)?,
                removed: get(row, 6)?,
            })
        })
        .collect()
}

/// Loads a version; 0 selects the newest.
pub(in crate::store::postgres) fn version(
    conn: &PostgresConnection,
    document: DocumentId,
    version: u64,
) -> Result<Option<DocumentVersion>> {
    let key = Uuid(document.to_bytes());
    if conn.query_opt("SELECT 1 FROM documents WHERE id = $1", &[&key])?.is_none() {
        return Err(StoreError::not_found("document", document));
    }
    let sql = "SELECT version, author, created_at, content FROM document_versions
               WHERE document = $1 AND ($2::bigint = 0 OR version = $2) ORDER BY version DESC LIMIT 1";
    let version = i64::try_from(version).unwrap_or(i64::MAX);
    let Some(row) = conn.query_opt(sql, &[&key, &version])? else { return Ok(None) };
    Ok(Some(DocumentVersion {
        version: number(&row, 0)?,
        author: id(&row, 1, AgentId::from_bytes)?,
        created_at: time(&row, 2)?,
        content: get(&row, 3)?,
    }))
}
