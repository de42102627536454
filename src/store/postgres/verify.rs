//! Verification: hashes, counts, the journal, the index and the states of sessions against the nodes.

use tokio_postgres::Row;

use super::{
    complete_nodes,
    connection::PostgresConnection,
    decode::{self, FROM, NODE, PgNodeRow, get, int, number},
    fts_index,
    recount::{PAGE_SETTINGS, WRONG_NODES, WRONG_TREES, each_tree_page},
    session_state,
    uuid::Uuid,
};
use crate::{
    session_state::CompiledRules,
    store::{Mutation, Result, StoreError, VerifyReport},
    types::{ContentHash, HashInput, Node, ToolCallFields},
};

/// Maximum number of listed problems; a damaged database may have millions.
const MAX_PROBLEMS: usize = 100;
/// Nodes that are read at once.
const PAGE: i64 = 1_000;

pub(super) fn verify(
    conn: &PostgresConnection,
    rules: &CompiledRules,
    progress: &mut dyn FnMut(u64),
) -> Result<VerifyReport> {
    let mut report = VerifyReport::default();
    hashes(conn, &mut report, progress)?;
    report.trees = number(&conn.query_one("SELECT count(*) FROM trees", &[])?, 0)?;
    conn.batch(PAGE_SETTINGS)?;
    each_tree_page(conn, |trees| {
        for row in conn.query(WRONG_NODES, &[&trees])? {
            let local: &str = get(&row, 2)?;
            report.problems.push(format!("node [{local}] has wrong counts; a rebuild corrects them"));
        }
        for row in conn.query(WRONG_TREES, &[&trees])? {
            let tree = decode::id(&row, 0, crate::id::TreeId::from_bytes)?;
            report.problems.push(format!("tree {tree} has wrong counts; a rebuild corrects them"));
        }
        visibility(conn, trees, &mut report)
    })?;
    conn.batch("SET LOCAL enable_nestloop = on")?;
    journal(conn, &mut report)?;
    report.problems.extend(fts_index::problem(conn)?);
    report.problems.extend(session_state::problems(conn, rules)?);
    let more = report.problems.len().saturating_sub(MAX_PROBLEMS);
    if more > 0 {
        report.problems.truncate(MAX_PROBLEMS);
        report.problems.push(format!("and {more} more"));
    }
    Ok(report)
}

fn hashes(conn: &PostgresConnection, report: &mut VerifyReport, progress: &mut dyn FnMut(u64)) -> Result<()> {
    let sql = format!(
        "SELECT {NODE}, n.parent, p.hash, p.depth {FROM} LEFT JOIN nodes p ON p.tree = n.tree AND p.seq = n.parent
         WHERE n.seq > $1 ORDER BY n.seq LIMIT $2"
    );
    let mut after = -1_i64;
    loop {
        let rows = conn.query(&sql, &[&after, &PAGE])?;
        let Some(last) = rows.last() else { break };
        let first = last.len() - 3;
        after = int(last, 0)?;
        report.nodes += rows.len() as u64;
        for (node, row) in readable(conn, &rows, report)? {
            let parent = get::<Option<&[u8]>>(row, first + 1)?.and_then(ContentHash::from_bytes);
            let depth = decode::opt_int(row, first + 2)?.map_or(0, |depth| depth + 1);
            let emptied = node.content.is_empty()
                && node.raw.is_none()
                && node.metadata.is_none()
                && node.tool == ToolCallFields::default();
            let problem = if node.purged_at.is_some() {
                (!emptied).then_some("is damaged: it is marked as purged but has content")
            } else if node.hash.recomputed(&HashInput::of(&node, parent)) != node.hash {
                Some("is damaged: it does not match its hash")
            } else {
                None
            };
            let problem = problem.or_else(|| (i64::from(node.depth) != depth).then_some("has a wrong depth"));
            report.problems.extend(problem.map(|problem| format!("node [{}] {problem}", node.local)));
        }
        progress(report.nodes);
    }
    Ok(())
}

/// Decodes nodes; one that names a node which is gone is a problem.
fn readable<'r>(conn: &PostgresConnection, rows: &'r [Row], report: &mut VerifyReport) -> Result<Vec<(Node, &'r Row)>> {
    let read = |rows: &[Row]| complete_nodes::finish(conn, rows.iter().map(PgNodeRow::read).collect::<Result<_>>()?);
    match read(rows) {
        Err(StoreError::Undecodable(_)) => {}
        nodes => return Ok(nodes?.into_iter().zip(rows).collect()),
    }
    let mut nodes = Vec::with_capacity(rows.len());
    for row in rows {
        match read(std::slice::from_ref(row)) {
            Ok(decoded) => nodes.extend(decoded.into_iter().map(|node| (node, row))),
            Err(StoreError::Undecodable(why)) => {
                report.problems.push(format!("node [{}] is damaged: {why}", PgNodeRow::read(row)?.node.local));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(nodes)
}

fn visibility(conn: &PostgresConnection, trees: &[Uuid], report: &mut VerifyReport) -> Result<()> {
    let sql = "WITH states AS (SELECT tree, node, hidden_by FROM node_state WHERE tree = ANY($1))
        SELECT n.local_id FROM nodes n LEFT JOIN states s ON s.tree = n.tree AND s.node = n.seq
            LEFT JOIN states p ON p.tree = n.tree AND p.node = n.parent
            LEFT JOIN states o ON o.tree = n.tree AND n.kind = 6 AND o.node = coalesce(n.version_of, n.edited_from)
        WHERE n.tree = ANY($1) AND CASE WHEN s.hidden_by IS NULL THEN p.hidden_by IS NOT NULL OR o.hidden_by IS NOT NULL
            ELSE s.hidden_by <> n.seq AND s.hidden_by IS DISTINCT FROM p.hidden_by
                AND s.hidden_by IS DISTINCT FROM o.hidden_by END";
    for row in conn.query(sql, &[&trees])? {
        report.problems.push(format!("node [{}] has another visibility than its parent", get::<&str>(&row, 0)?));
    }
    Ok(())
}

fn journal(conn: &PostgresConnection, report: &mut VerifyReport) -> Result<()> {
    report.entries = number(&conn.query_one("SELECT count(*) FROM journal", &[])?, 0)?;
    let sql = "SELECT s.tree FROM tree_state s
                   LEFT JOIN (SELECT tree, max(seq) AS last FROM journal GROUP BY tree) j ON j.tree = s.tree
                   LEFT JOIN (SELECT tree, max(seq) AS last FROM nodes GROUP BY tree) n ON n.tree = s.tree
               WHERE s.last_journal <> coalesce(j.last, 0) OR s.last_node <> coalesce(n.last, 0)";
    for row in conn.query(sql, &[])? {
        let tree = decode::id(&row, 0, crate::id::TreeId::from_bytes)?;
        report.problems.push(format!("tree {tree} has a wrong last node or entry"));
    }
    let sql = "SELECT seq, undo FROM journal WHERE undo IS NOT NULL AND seq > $1 ORDER BY seq LIMIT $2";
    let mut after = -1_i64;
    loop {
        let rows = conn.query(sql, &[&after, &PAGE])?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = int(last, 0)?;
        for row in &rows {
            if serde_json::from_str::<Mutation>(get(row, 1)?).is_err() {
                let seq = int(row, 0)?;
                report.problems.push(format!("journal entry {seq} cannot be undone: its data does not decode"));
            }
        }
    }
}
