//! Verification and rebuilding: hashes, counts, the journal, the index and the states of sessions against the nodes.

use tokio_postgres::Row;

use super::{
    connection::PostgresConnection,
    decode::{self, FROM, NODE, PgNodeRow, get, int, number},
    fts_index, session_state, vectors,
};
use crate::{
    session_state::CompiledRules,
    store::{Mutation, RebuildReport, Result, StoreError, VerifyReport},
    types::{ContentHash, HashInput, Node, ToolCallFields},
};

/// Maximum number of listed problems; a damaged database may have millions.
const MAX_PROBLEMS: usize = 100;
/// Nodes that are read at once.
const PAGE: i64 = 1_000;

/// A recount of what nodes count. Yields the nodes whose stored counts differ.
const WRONG_NODES: &str = "WITH parts (tree, node, c, a, v, l) AS (
        SELECT n.tree, n.parent, (n.kind = 0)::int, (n.kind = 1)::int, 0, 0 FROM nodes n
            LEFT JOIN node_state s ON s.tree = n.tree AND s.node = n.seq
            LEFT JOIN node_state p ON p.tree = n.tree AND p.node = n.parent
            WHERE n.parent IS NOT NULL AND n.kind IN (0, 1) AND s.hidden_by IS NOT DISTINCT FROM p.hidden_by
        UNION ALL SELECT tree, version_of, 0, 0, 1, 0 FROM nodes WHERE version_of IS NOT NULL AND kind = 6
        UNION ALL SELECT tree, source, 0, 0, 0, 1 FROM links WHERE NOT removed
        UNION ALL SELECT t.tree, t.seq, 0, 0, 0, 1 FROM links l JOIN nodes t ON t.id = l.target_node
            WHERE NOT l.removed AND (t.tree, t.seq) <> (l.tree, l.source)
    ), counted AS (
        SELECT tree, node, sum(c) AS c, sum(a) AS a, sum(v) AS v, sum(l) AS l FROM parts GROUP BY tree, node
    )
    SELECT n.tree, n.seq, n.local_id, coalesce(d.c, 0)::bigint AS c, coalesce(d.a, 0)::bigint AS a,
        coalesce(d.v, 0)::bigint AS v, coalesce(d.l, 0)::bigint AS l, b.node IS NOT NULL AS b
    FROM nodes n LEFT JOIN node_state s ON s.tree = n.tree AND s.node = n.seq
        LEFT JOIN counted d ON d.tree = n.tree AND d.node = n.seq
        LEFT JOIN bookmarks b ON b.tree = n.tree AND b.node = n.seq
    WHERE (coalesce(s.continuations, 0), coalesce(s.annotations, 0), coalesce(s.versions, 0), coalesce(s.links, 0),
           coalesce(s.bookmarked, false))
        <> (coalesce(d.c, 0), coalesce(d.a, 0), coalesce(d.v, 0), coalesce(d.l, 0), b.node IS NOT NULL)";

/// A recount of what trees count. Yields the trees whose stored counts differ.
const WRONG_TREES: &str = "WITH counted AS (
        SELECT t.tree, count(n.seq) AS nodes, count(*) FILTER (WHERE n.kind = 0) AS messages,
            count(*) FILTER (WHERE n.kind = 0 AND coalesce(s.continuations, 0) = 0) AS leaves,
            count(*) FILTER (WHERE s.continuations >= 2) AS branch_points, coalesce(max(n.depth), 0) AS max_depth
        FROM tree_state t LEFT JOIN (nodes n LEFT JOIN node_state s ON s.tree = n.tree AND s.node = n.seq)
            ON n.tree = t.tree AND s.hidden_by IS NULL
        GROUP BY t.tree
    )
    SELECT c.tree, c.nodes, c.messages, c.leaves, c.branch_points, c.max_depth
    FROM counted c JOIN tree_state t ON t.tree = c.tree
    WHERE (t.nodes, t.messages, t.leaves, t.branch_points, t.max_depth)
        <> (c.nodes, c.messages, c.leaves, c.branch_points, c.max_depth)";

pub(super) fn verify(
    conn: &PostgresConnection,
    rules: &CompiledRules,
    progress: &mut dyn FnMut(u64),
) -> Result<VerifyReport> {
    let mut report = VerifyReport::default();
    hashes(conn, &mut report, progress)?;
    report.trees = number(&conn.query_one("SELECT count(*) FROM trees", &[])?, 0)?;
    for row in conn.query(WRONG_NODES, &[])? {
        let local: &str = get(&row, 2)?;
        report.problems.push(format!("node [{local}] has wrong counts; a rebuild corrects them"));
    }
    for row in conn.query(WRONG_TREES, &[])? {
        let tree = decode::id(&row, 0, crate::id::TreeId::from_bytes)?;
        report.problems.push(format!("tree {tree} has wrong counts; a rebuild corrects them"));
    }
    visibility(conn, &mut report)?;
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
    let read = |rows: &[Row]| decode::finish(conn, rows.iter().map(PgNodeRow::read).collect::<Result<_>>()?);
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

fn visibility(conn: &PostgresConnection, report: &mut VerifyReport) -> Result<()> {
    let sql = "SELECT n.local_id FROM nodes n LEFT JOIN node_state s ON s.tree = n.tree AND s.node = n.seq
            LEFT JOIN node_state p ON p.tree = n.tree AND p.node = n.parent
            LEFT JOIN node_state o ON o.tree = n.tree AND n.kind = 6 AND o.node = coalesce(n.version_of, n.edited_from)
        WHERE CASE WHEN s.hidden_by IS NULL THEN p.hidden_by IS NOT NULL OR o.hidden_by IS NOT NULL
            ELSE s.hidden_by <> n.seq AND s.hidden_by IS DISTINCT FROM p.hidden_by
                AND s.hidden_by IS DISTINCT FROM o.hidden_by END";
    for row in conn.query(sql, &[])? {
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
    for row in conn.query("SELECT seq, undo FROM journal WHERE undo IS NOT NULL ORDER BY seq", &[])? {
        if serde_json::from_str::<Mutation>(get(&row, 1)?).is_err() {
            let seq = int(&row, 0)?;
            report.problems.push(format!("journal entry {seq} cannot be undone: its data does not decode"));
        }
    }
    Ok(())
}

/// Recomputes all derived data: counts of nodes and trees and states in one transaction, then the index.
pub(super) fn rebuild(conn: &PostgresConnection, rules: &CompiledRules) -> Result<RebuildReport> {
    conn.batch("BEGIN")?;
    let counted = recount(conn, rules);
    conn.batch(if counted.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    let (nodes, trees, registers) = counted?;
    // Vectors cost a model's time; they are computed again on demand.
    vectors::clear(conn)?;
    let indexed = fts_index::rebuild(conn)?;
    Ok(RebuildReport { nodes, trees, indexed, registers })
}

/// Corrects the counts of nodes; returns the number of wrong ones.
pub(super) fn recount_nodes(conn: &PostgresConnection) -> Result<u64> {
    conn.execute(
        &format!(
            "INSERT INTO node_state (tree, node, continuations, annotations, versions, links, bookmarked)
             SELECT tree, seq, c, a, v, l, b FROM ({WRONG_NODES}) w
             ON CONFLICT (tree, node) DO UPDATE SET continuations = excluded.continuations,
                 annotations = excluded.annotations, versions = excluded.versions, links = excluded.links,
                 bookmarked = excluded.bookmarked"
        ),
        &[],
    )
}

fn recount(conn: &PostgresConnection, rules: &CompiledRules) -> Result<(u64, u64, u64)> {
    conn.query("SELECT 1 FROM tree_state ORDER BY tree FOR UPDATE", &[])?;
    let nodes = recount_nodes(conn)?;
    let trees = conn.execute(
        &format!(
            "UPDATE tree_state t SET nodes = w.nodes, messages = w.messages, leaves = w.leaves,
                 branch_points = w.branch_points, max_depth = w.max_depth FROM ({WRONG_TREES}) w WHERE t.tree = w.tree"
        ),
        &[],
    )?;
    Ok((nodes, trees, session_state::rebuild_states(conn, rules)?))
}
