//! Checking a file from end to end: SQLite's structure, every hash, every count, the journal's numbering.

use rusqlite::{Connection, Row, types::ValueRef};

use super::{fts_index, pool::ConnectionPool, recount, scrub, session_state, tables::nodes};
use crate::{
    id::AgentId,
    store::{Result, VerifyReport},
    types::{ContentHash, EdgeKind},
};

/// Problems listed at the most; a damaged file may have millions.
const LISTED: usize = 100;
/// Nodes between two reports of progress.
const STEP: u64 = 10_000;

/// Checks one thing and reports what is wrong.
type Part<'p> = &'p mut dyn FnMut(&mut VerifyReport) -> Result<()>;

pub(super) fn verify(pool: &ConnectionPool, progress: &mut dyn FnMut(u64)) -> Result<VerifyReport> {
    let conn = pool.borrow()?;
    let tx = conn.unchecked_transaction()?;
    let mut report = VerifyReport::default();
    // Each part runs even where another cannot: a corrupt page must not hide a wrong hash.
    let parts: [(&str, Part<'_>); 8] = [
        ("the file's structure", &mut |report| {
            // The check takes the index for what this connection last saw of it; reading makes it look again.
            tx.query_row("SELECT count(*) FROM (SELECT 1 FROM recall_terms LIMIT 1)", [], |_| Ok(()))?;
            structure(&tx, "integrity_check", report)
        }),
        ("hashes", &mut |report| hashes(&tx, report, progress)),
        ("local ids", &mut |report| {
            report.problems.extend(nodes::wrong_local_ids(&tx)?);
            Ok(())
        }),
        ("counts", &mut |report| counts(&tx, report)),
        ("the journal", &mut |report| journal(&tx, report)),
        ("the index of words", &mut |report| words(&tx, report)),
        ("state registers", &mut |report| {
            report.problems.extend(session_state::problems(&tx, conn.ears())?);
            Ok(())
        }),
        ("unfinished purges", &mut |report| {
            report.problems.extend(scrub::problem(&tx)?);
            Ok(())
        }),
    ];
    for (what, part) in parts {
        if let Err(error) = part(&mut report) {
            report.problems.push(format!("{what} cannot be checked: {error}"));
        }
    }
    let more = report.problems.len().saturating_sub(LISTED);
    if more > 0 {
        report.problems.truncate(LISTED);
        report.problems.push(format!("and {more} more"));
    }
    Ok(report)
}

/// Runs SQLite's own check, `integrity_check` or `quick_check`, and that of foreign keys.
pub(super) fn structure(conn: &Connection, check: &str, report: &mut Report) -> Result<()> {
    let mut check = conn.prepare(&format!("PRAGMA {check}(20)"))?;
    let mut rows = check.query([])?;
    while let Some(row) = rows.next()? {
        let said: String = row.get(0)?;
        // One row may hold several findings, under a line that names the database.
        let findings = said.lines().filter(|line| *line != "ok" && !line.starts_with("***"));
        report.problems.extend(findings.map(|line| format!("the file: {line}")));
    }
    let mut check = conn.prepare("PRAGMA foreign_key_check")?;
    let mut rows = check.query([])?;
    while let Some(row) = rows.next()? {
        let (table, id): (String, Option<i64>) = (row.get(0)?, row.get(1)?);
        report.problems.push(format!("row {} of {table} names something that is not there", id.unwrap_or(0)));
    }
    Ok(())
}

fn hashes(conn: &Connection, report: &mut VerifyReport, progress: &mut dyn FnMut(u64)) -> Result<()> {
    let mut statement = conn.prepare(
        "SELECT n.seq, n.local_id, n.kind, a.ulid, n.hash, n.purged_at, n.content, p.hash, n.depth, p.depth, n.parent,
             s.hidden_by, ps.hidden_by, os.hidden_by, n.version_of, n.edited_from, n.tree = coalesce(p.tree, n.tree)
         FROM nodes n LEFT JOIN nodes p ON p.seq = n.parent LEFT JOIN agents a ON a.id = n.author
             LEFT JOIN node_state s ON s.node = n.seq LEFT JOIN node_state ps ON ps.node = n.parent
             LEFT JOIN node_state os ON os.node = coalesce(n.version_of, n.edited_from)
         ORDER BY n.seq",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        report.nodes += 1;
        if report.nodes.is_multiple_of(STEP) {
            progress(report.nodes);
        }
        if let Some(problem) = damage(row).unwrap_or_else(|e| Some(format!("does not decode: {e}"))) {
            let name = row.get::<_, String>(1).unwrap_or_else(|_| format!("#{}", report.nodes));
            report.problems.push(format!("node [{name}] {problem}"));
        }
    }
    progress(report.nodes);
    Ok(())
}

/// What is wrong with a node, if anything.
fn damage(row: &Row<'_>) -> rusqlite::Result<Option<String>> {
    let kind = super::decode::coded(row, 2, EdgeKind::from_code)?;
    let stored = ContentHash::from_bytes(row.get(4)?);
    let purged: Option<i64> = row.get(5)?;
    let parent = row.get::<_, Option<[u8; 32]>>(7)?.map(ContentHash::from_bytes);
    let content = match row.get_ref(6)? {
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(_) => return Ok(Some("has content that is not UTF-8".to_owned())),
        },
        _ => return Ok(Some("has no content".to_owned())),
    };
    if purged.is_none() {
        let author = AgentId::from_bytes(row.get(3)?);
        if ContentHash::of(parent, author, kind, content) != stored {
            return Ok(Some("is damaged: its content, author or parent is not what its hash says".to_owned()));
        }
    }
    let (depth, parent_depth): (i64, Option<i64>) = (row.get(8)?, row.get(9)?);
    if depth != parent_depth.map_or(0, |d| d + 1) || !row.get::<_, bool>(16)? {
        return Ok(Some("does not hang where it says".to_owned()));
    }
    let (node, hidden, parent_hidden, other_hidden): (i64, Option<i64>, Option<i64>, Option<i64>) =
        (row.get(0)?, row.get(11)?, row.get(12)?, row.get(13)?);
    let place_hidden = other_hidden.filter(|_| kind == EdgeKind::Version);
    let consistent = match hidden {
        Some(by) => by == node || parent_hidden.is_some() || place_hidden.is_some(),
        None => parent_hidden.is_none() && place_hidden.is_none(),
    };
    Ok((!consistent).then(|| "is hidden, or shown, against what hides its parent".to_owned()))
}

fn counts(conn: &Connection, report: &mut VerifyReport) -> Result<()> {
    report.trees = conn.query_row("SELECT count(*) FROM trees", [], |r| r.get(0))?;
    for node in recount::wrong_nodes(conn)? {
        report.problems.push(format!(
            "node [{}] keeps the counts {:?}, a recount says {:?} (continuations, annotations, versions, links, bookmark)",
            node.local, node.kept, node.counted
        ));
    }
    for tree in recount::wrong_trees(conn)? {
        report.problems.push(format!(
            "tree {} keeps {}, a recount says {}",
            tree.row,
            described(tree.kept),
            described(tree.counted)
        ));
    }
    Ok(())
}

fn described(counts: crate::types::TreeCounts) -> String {
    format!(
        "{} nodes, {} leaves, {} branch points, depth {}",
        counts.nodes, counts.leaves, counts.branch_points, counts.max_depth
    )
}

fn words(conn: &Connection, report: &mut VerifyReport) -> Result<()> {
    report.problems.extend(fts_index::problem(conn)?);
    Ok(())
}

pub(super) fn journal(conn: &Connection, report: &mut VerifyReport) -> Result<()> {
    let (count, last): (u64, u64) =
        conn.query_row("SELECT count(*), coalesce(max(seq), 0) FROM journal", [], |r| Ok((r.get(0)?, r.get(1)?)))?;
    report.entries = count;
    if count != last {
        report.problems.push(format!("the journal has {count} entries, numbered up to {last}"));
    }
    Ok(())
}
