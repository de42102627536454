//! Verification of a whole file: SQLite's structure, every hash, every count, the journal's numbering.

use rusqlite::{Connection, Row, types::ValueRef};

use super::{
    decode::{self, COLUMNS, NodeRow},
    fts_index, local_ids, migrate,
    pool::ConnectionPool,
    purge_rewrite, recount, row_checksums, session_state,
    tables::{
        journal,
        staged_nodes::UNSTAGED,
        visibility_marks::{self, HIDDEN_BY, hidden_by},
    },
    vectors,
};
use crate::{
    id::{AgentId, NodeId},
    store::{Mutation, Result, VerifyReport},
    types::{EdgeKind, HashInput, ToolCallFields},
};

/// Maximum number of listed problems; a damaged file may have millions.
const MAX_PROBLEMS: usize = 100;
/// Nodes between two calls of `progress`.
const PROGRESS_NODES: u64 = 10_000;

/// The nodes that hide the nodes of the states `ps` and `os`.
const PARENT_HIDDEN_BY: &str = hidden_by!("ps");
const PLACE_HIDDEN_BY: &str = hidden_by!("os");

/// A check that adds its problems to the report.
type Check<'p> = &'p mut dyn FnMut(&mut VerifyReport) -> Result<()>;

pub(super) fn verify(pool: &ConnectionPool, progress: &mut dyn FnMut(u64)) -> Result<VerifyReport> {
    let conn = pool.borrow()?;
    let tx = conn.unchecked_transaction()?;
    let mut report = VerifyReport::default();
    // Each check runs even if another fails: a corrupt page must not hide a wrong hash.
    let parts: [(&str, Check<'_>); 12] = [
        ("the file's structure", &mut |report| {
            // The integrity check uses this connection's cached state of the index; a read refreshes it.
            tx.query_row("SELECT count(*) FROM (SELECT 1 FROM recall_terms LIMIT 1)", [], |_| Ok(()))?;
            structure(&tx, "integrity_check", report)
        }),
        ("the schema", &mut |report| {
            let other = migrate::other_schema(&tx)?;
            report.problems.extend(other.iter().map(|name| format!("the schema of {name} differs from a new file's")));
            Ok(())
        }),
        ("checksums of rows", &mut |report| {
            report.problems.extend(row_checksums::problems(&tx)?);
            Ok(())
        }),
        ("settings", &mut |report| settings(&tx, report)),
        ("hashes", &mut |report| hashes(&tx, report, progress)),
        ("local ids", &mut |report| {
            report.problems.extend(local_ids::wrong(&tx)?);
            Ok(())
        }),
        ("counts", &mut |report| counts(&tx, report)),
        ("the journal", &mut |report| journal(&tx, report)),
        ("the full-text index", &mut |report| words(&tx, report)),
        ("session states", &mut |report| {
            report.problems.extend(session_state::problems(&tx, conn.rules())?);
            Ok(())
        }),
        ("embeddings", &mut |report| {
            report.problems.extend(vectors::problem(&tx)?);
            Ok(())
        }),
        ("unfinished changes", &mut |report| {
            report.problems.extend(purge_rewrite::problem(&tx)?);
            if visibility_marks::has_unknown(&tx)? {
                report.problems.push("a node has a mark of a change that does not exist".to_owned());
            }
            Ok(())
        }),
    ];
    for (what, part) in parts {
        if let Err(error) = part(&mut report) {
            report.problems.push(format!("{what} cannot be checked: {error}"));
        }
    }
    let more = report.problems.len().saturating_sub(MAX_PROBLEMS);
    if more > 0 {
        report.problems.truncate(MAX_PROBLEMS);
        report.problems.push(format!("and {more} more"));
    }
    Ok(report)
}

/// Runs SQLite's own check, `integrity_check` or `quick_check`, and the foreign key check.
pub(super) fn structure(conn: &Connection, check: &str, report: &mut VerifyReport) -> Result<()> {
    let mut check = conn.prepare(&format!("PRAGMA {check}(20)"))?;
    let mut rows = check.query([])?;
    while let Some(row) = rows.next()? {
        let finding: String = row.get(0)?;
        // One row may hold several findings, under a line that names the database.
        let findings = finding.lines().filter(|line| *line != "ok" && !line.starts_with("***"));
        report.problems.extend(findings.map(|line| format!("the file: {line}")));
    }
    let mut check = conn.prepare("PRAGMA foreign_key_check")?;
    let mut rows = check.query([])?;
    while let Some(row) = rows.next()? {
        let (table, id): (String, Option<i64>) = (row.get(0)?, row.get(1)?);
        report.problems.push(format!("row {} of {table} refers to a missing row", id.unwrap_or(0)));
    }
    Ok(())
}

fn hashes(conn: &Connection, report: &mut VerifyReport, progress: &mut dyn FnMut(u64)) -> Result<()> {
    // From column 25: author, parent, `hidden_by` of the node, its parent and its place, links.
    let mut statement = conn.prepare(&format!(
        "SELECT {COLUMNS}, a.ulid, p.hash, p.depth, {HIDDEN_BY}, {PARENT_HIDDEN_BY}, {PLACE_HIDDEN_BY},
             n.tree = coalesce(p.tree, n.tree), v.ulid, e.ulid, {UNSTAGED}
         FROM nodes n LEFT JOIN nodes p ON p.seq = n.parent LEFT JOIN agents a ON a.id = n.author
             LEFT JOIN node_state s ON s.node = n.seq LEFT JOIN node_state ps ON ps.node = n.parent
             LEFT JOIN node_state os ON os.node = coalesce(n.version_of, n.edited_from)
             LEFT JOIN nodes v ON v.seq = n.version_of LEFT JOIN nodes e ON e.seq = n.edited_from
         ORDER BY n.seq"
    ))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        report.nodes += 1;
        if report.nodes.is_multiple_of(PROGRESS_NODES) {
            progress(report.nodes);
        }
        if let Some(problem) = damage(row).unwrap_or_else(|e| Some(format!("does not decode: {e}"))) {
            let name = row.get::<_, String>(3).unwrap_or_else(|_| format!("#{}", report.nodes));
            report.problems.push(format!("node [{name}] {problem}"));
        }
    }
    progress(report.nodes);
    Ok(())
}

/// Returns a node's problem, if any.
fn damage(row: &Row<'_>) -> rusqlite::Result<Option<String>> {
    match row.get_ref(22)? {
        ValueRef::Text(bytes) if std::str::from_utf8(bytes).is_err() => {
            return Ok(Some("has content that is not UTF-8".to_owned()));
        }
        ValueRef::Text(_) => {}
        _ => return Ok(Some("has no content".to_owned())),
    }
    let mut node = NodeRow::read_stateless(row)?.node;
    let link = |at: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<[u8; 16]>>(at)?.map(NodeId::from_bytes));
    node.author = AgentId::from_bytes(row.get(26)?);
    (node.version_of, node.edited_from) = (link(33)?, link(34)?);
    if node.purged_at.is_some() {
        if !node.content.is_empty()
            || node.raw.is_some()
            || node.metadata.is_some()
            || node.tool != ToolCallFields::default()
        {
            return Ok(Some("is damaged: it is marked as purged but has content".to_owned()));
        }
    } else {
        let parent = if row.get_ref(27)? == ValueRef::Null { None } else { Some(decode::hash(row, 27)?) };
        if node.hash.recomputed(&HashInput::of(&node, parent)) != node.hash {
            return Ok(Some("is damaged: it does not match its hash".to_owned()));
        }
    }
    let parent_depth: Option<i64> = row.get(28)?;
    if i64::from(node.depth) != parent_depth.map_or(0, |d| d + 1) || !row.get::<_, bool>(32)? {
        return Ok(Some("has a wrong depth, or a parent in another tree".to_owned()));
    }
    let (own, kind): (i64, _) = (row.get(0)?, node.kind);
    let (hidden, parent_hidden, other_hidden): (Option<i64>, Option<i64>, Option<i64>) =
        (row.get(29)?, row.get(30)?, row.get(31)?);
    let place_hidden = other_hidden.filter(|_| kind == EdgeKind::Version);
    let consistent = match hidden {
        Some(by) => by == own || parent_hidden == Some(by) || place_hidden == Some(by),
        None => parent_hidden.is_none() && place_hidden.is_none() || !row.get::<_, bool>(35)?,
    };
    Ok((!consistent).then(|| "has another visibility than its parent".to_owned()))
}

fn counts(conn: &Connection, report: &mut VerifyReport) -> Result<()> {
    report.trees = conn.query_row("SELECT count(*) FROM trees", [], |r| r.get(0))?;
    for node in recount::wrong_nodes(conn)? {
        report.problems.push(format!(
            "node [{}] has the counts {:?}, a recount gives {:?} (continuations, annotations, versions, links, bookmark)",
            node.local, node.stored, node.counted
        ));
    }
    for tree in recount::wrong_trees(conn)? {
        report.problems.push(format!(
            "tree {} has {}, a recount gives {}",
            tree.row,
            described(tree.stored),
            described(tree.counted)
        ));
    }
    Ok(())
}

/// Compares settings, the ends of the journal's chains, and exclusions with the journal.
fn settings(conn: &Connection, report: &mut VerifyReport) -> Result<()> {
    let unknown: Vec<String> = conn
        .prepare("SELECT name FROM settings WHERE name NOT IN ('journal_head', 'scrub_owed')")?
        .query_map([], |r| r.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    report.problems.extend(unknown.iter().map(|name| format!("the setting {name:?} is unknown")));
    if journal::head(conn)? != conn.query_row("SELECT max(seq) FROM journal WHERE tree IS NULL", [], |r| r.get(0))? {
        report.problems.push("the end of the journal without trees is wrong".to_owned());
    }
    let mut trees = conn.prepare(
        "SELECT s.tree FROM tree_state s JOIN trees t ON t.id = s.tree
             LEFT JOIN (SELECT tree, max(seq) AS last, max(at) AS at FROM journal GROUP BY tree) j ON j.tree = s.tree
         WHERE s.last_journal <> ifnull(j.last, 0) OR s.updated_at <> max(t.created_at, ifnull(j.at, t.created_at))",
    )?;
    let mut rows = trees.query([])?;
    while let Some(row) = rows.next()? {
        report.problems.push(format!("tree {} has a wrong last entry or time of change", row.get::<_, i64>(0)?));
    }
    // An entry of this kind (change 4) exists for each time that a node was excluded or included.
    let mut excluded = conn.prepare(
        "WITH changes (node, excluded) AS (SELECT node, count(*) % 2 FROM journal WHERE change = 4 GROUP BY node)
         SELECT s.node FROM node_state s LEFT JOIN changes c ON c.node = s.node
             WHERE s.excluded <> ifnull(c.excluded, 0)
         UNION ALL SELECT node FROM changes WHERE excluded AND node NOT IN (SELECT node FROM node_state)",
    )?;
    let mut rows = excluded.query([])?;
    while let Some(row) = rows.next()? {
        let node: i64 = row.get(0)?;
        report.problems.push(format!("node #{node} is excluded or included in contradiction to the journal"));
    }
    Ok(())
}

fn described(counts: crate::types::TreeCounts) -> String {
    format!(
        "{} nodes, {} messages, {} leaves, {} branch points, depth {}",
        counts.nodes, counts.messages, counts.leaves, counts.branch_points, counts.max_depth
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
        report.problems.push(format!("the journal has {count} entries, but the last number is {last}"));
    }
    let mut undo = conn.prepare("SELECT seq, undo FROM journal WHERE undo IS NOT NULL ORDER BY seq")?;
    let mut rows = undo.query([])?;
    while let Some(row) = rows.next()? {
        let read = row.get_ref(1)?.as_str().is_ok_and(|text| serde_json::from_str::<Mutation>(text).is_ok());
        if !read {
            report
                .problems
                .push(format!("journal entry {} cannot be undone: its data does not decode", row.get::<_, i64>(0)?));
        }
    }
    Ok(())
}
