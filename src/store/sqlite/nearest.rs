//! The local ids nearest to one that names nothing, for a hint.

use rusqlite::{Connection, params};

use crate::{id::LocalId, store::Result};

/// Hints given for an id that names nothing.
const HINTS: usize = 3;
/// Local ids compared for hints: the newest, so that a typo in a huge tree does not cost a second.
const COMPARED: u32 = 200_000;

/// By edit distance, the nearest first.
pub(super) fn to(conn: &Connection, tree: i64, wanted: &str) -> Result<Vec<LocalId>> {
    let mut statement = conn.prepare_cached("SELECT local_id FROM nodes WHERE tree = ?1 ORDER BY seq DESC LIMIT ?2")?;
    let mut rows = statement.query(params![tree, COMPARED])?;
    let mut best: Vec<(usize, LocalId)> = Vec::with_capacity(HINTS + 1);
    while let Some(row) = rows.next()? {
        let local: String = row.get(0)?;
        let distance = strsim::osa_distance(&local, wanted);
        // More than half of the characters wrong is no typo.
        if distance > wanted.len().div_ceil(2) || best.len() == HINTS && distance >= best[HINTS - 1].0 {
            continue;
        }
        if let Ok(local) = LocalId::try_from(local) {
            let at = best.partition_point(|(d, _)| *d <= distance);
            best.insert(at, (distance, local));
            best.truncate(HINTS);
        }
    }
    Ok(best.into_iter().map(|(_, local)| local).collect())
}
