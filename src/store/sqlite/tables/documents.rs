//! Statements of the tables `documents` and `document_versions`.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{
    id::{AgentId, DocumentId},
    store::{Result, StoreError},
    types::{Document, DocumentVersion, Timestamp},
};

pub(in crate::store::sqlite) fn insert(
    conn: &Connection,
    id: DocumentId,
    name: &str,
    content: &str,
    author: i64,
    at: Timestamp,
) -> Result<()> {
    unique_name(
        conn.execute(
            "INSERT INTO documents (ulid, name, created_at) VALUES (?1, ?2, ?3)",
            params![id.to_bytes(), name, at.as_millis()],
        ),
        name,
    )?;
    insert_version(conn, conn.last_insert_rowid(), 1, content, author, at)
}

pub(in crate::store::sqlite) fn insert_version(
    conn: &Connection,
    document: i64,
    version: u64,
    content: &str,
    author: i64,
    at: Timestamp,
) -> Result<()> {
    conn.execute(
        "INSERT INTO document_versions (document, version, author, created_at, content, row_sum)
         VALUES (?1, ?2, ?3, ?4, ?5, row_sum(?1, ?2, ?3, ?4, ?5))",
        params![document, version, author, at.as_millis(), content],
    )?;
    Ok(())
}

pub(in crate::store::sqlite) fn row(conn: &Connection, id: DocumentId) -> Result<i64> {
    conn.prepare_cached("SELECT id FROM documents WHERE ulid = ?1")?
        .query_row([id.to_bytes()], |r| r.get(0))
        .optional()?
        .ok_or_else(|| StoreError::not_found("document", id))
}

/// The number of the newest version.
pub(in crate::store::sqlite) fn newest_version(conn: &Connection, row: i64) -> Result<u64> {
    Ok(conn.query_row("SELECT max(version) FROM document_versions WHERE document = ?1", [row], |r| r.get(0))?)
}

/// Marks a document as removed or restores it; returns `false` if nothing changed.
pub(in crate::store::sqlite) fn set_removed(conn: &Connection, row: i64, removed: bool) -> Result<bool> {
    let (name, was): (String, bool) =
        conn.query_row("SELECT name, removed FROM documents WHERE id = ?1", [row], |r| Ok((r.get(0)?, r.get(1)?)))?;
    if was != removed {
        unique_name(conn.execute("UPDATE documents SET removed = ?2 WHERE id = ?1", params![row, removed]), &name)?;
    }
    Ok(was != removed)
}

fn unique_name(result: rusqlite::Result<usize>, name: &str) -> Result<()> {
    match result {
        Ok(_) => Ok(()),
        Err(e) if e.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) && !name.is_empty() => {
            Err(StoreError::Conflict(format!("a document named {name:?} exists already")))
        }
        Err(e) => Err(e.into()),
    }
}

pub(in crate::store::sqlite) fn all(conn: &Connection) -> Result<Vec<Document>> {
    let mut statement = conn.prepare_cached(
        "SELECT d.ulid, d.name, su.content, v.version, d.created_at, v.created_at, d.removed
         FROM documents d JOIN document_versions v ON v.document = d.id
             LEFT JOIN summaries su ON su.document = d.id AND su.made_of = v.version
         WHERE v.version = (SELECT max(version) FROM document_versions WHERE document = d.id) ORDER BY d.name, d.id",
    )?;
    let read = |r: &Row<'_>| {
        Ok(Document {
            id: DocumentId::from_bytes(r.get(0)?),
            name: r.get(1)?,
            summary: r.get(2)?,
            version: r.get(3)?,
            created_at: Timestamp::from_millis(r.get(4)?),
            updated_at: Timestamp::from_millis(r.get(5)?),
            removed: r.get(6)?,
        })
    };
    let documents = statement.query_map([], read)?.collect::<rusqlite::Result<_>>()?;
    Ok(documents)
}

/// Loads a version; 0 selects the newest.
pub(in crate::store::sqlite) fn version(conn: &Connection, row: i64, version: u64) -> Result<Option<DocumentVersion>> {
    let found = conn
        .prepare_cached(
            "SELECT v.version, a.ulid, v.created_at, v.content FROM document_versions v JOIN agents a ON a.id = v.author
             WHERE v.document = ?1 AND (?2 = 0 OR v.version = ?2) ORDER BY v.version DESC LIMIT 1",
        )?
        .query_row(params![row, version], |r| {
            Ok(DocumentVersion {
                version: r.get(0)?,
                author: AgentId::from_bytes(r.get(1)?),
                created_at: Timestamp::from_millis(r.get(2)?),
                content: r.get(3)?,
            })
        })
        .optional()?;
    Ok(found)
}
