//! Recounts of all derived counts. `verify` reports the differences, `rebuild` corrects them.

use rusqlite::{Connection, Row};

use super::tables::{
    nodes::ONLY_CHILD,
    staged_nodes::UNSTAGED,
    trees::read_counts,
    visibility_marks::{HIDDEN_BY, hidden_by},
};
use crate::{store::Result, types::TreeCounts};

/// The node that hides the node of the state `p`.
const PARENT_HIDDEN_BY: &str = hidden_by!("p");

/// A node whose stored counts differ from a recount.
pub(super) struct WrongNode {
    pub(super) row: i64,
    pub(super) local: String,
    /// Stored continuations, annotations, versions, links, bookmarks.
    pub(super) stored: [i64; 5],
    /// The same, recounted.
    pub(super) counted: [i64; 5],
}

/// Finds nodes with wrong counts.
pub(super) fn wrong_nodes(conn: &Connection) -> Result<Vec<WrongNode>> {
    let mut statement = conn.prepare(&format!(
        "WITH parts (node, c, a, v, l) AS (
             SELECT n.parent, n.kind = 0, n.kind = 1, 0, 0 FROM nodes n
                 LEFT JOIN node_state s ON s.node = n.seq LEFT JOIN node_state p ON p.node = n.parent
                 WHERE n.parent IS NOT NULL AND n.kind IN (0, 1) AND {HIDDEN_BY} IS ({PARENT_HIDDEN_BY}) AND {UNSTAGED}
             UNION ALL
             SELECT version_of, 0, 0, 1, 0 FROM nodes WHERE version_of IS NOT NULL AND kind = 6
             UNION ALL
             SELECT source, 0, 0, 0, 1 FROM links WHERE removed = 0
             UNION ALL
             SELECT target_node, 0, 0, 0, 1 FROM links
                 WHERE removed = 0 AND target_node IS NOT NULL AND target_node <> source
         ), counted AS (
             SELECT node, sum(c) AS c, sum(a) AS a, sum(v) AS v, sum(l) AS l FROM parts GROUP BY node
         ), both AS (
             SELECT n.seq, n.local_id, coalesce(s.continuations, {ONLY_CHILD}) AS kc, coalesce(s.annotations, 0) AS ka,
                 coalesce(s.versions, 0) AS kv, coalesce(s.links, 0) AS kl, coalesce(s.bookmarked, 0) AS kb,
                 coalesce(d.c, 0) AS c, coalesce(d.a, 0) AS a, coalesce(d.v, 0) AS v, coalesce(d.l, 0) AS l,
                 b.node IS NOT NULL AS b
             FROM nodes n LEFT JOIN node_state s ON s.node = n.seq LEFT JOIN counted d ON d.node = n.seq
                 LEFT JOIN bookmarks b ON b.node = n.seq
             WHERE {UNSTAGED}
         )
         SELECT * FROM both WHERE kc <> c OR ka <> a OR kv <> v OR kl <> l OR kb <> b"
    ))?;
    let five = |r: &Row<'_>, at: usize| -> rusqlite::Result<[i64; 5]> {
        Ok([r.get(at)?, r.get(at + 1)?, r.get(at + 2)?, r.get(at + 3)?, r.get(at + 4)?])
    };
    let found = statement
        .query_map([], |r| {
            Ok(WrongNode { row: r.get(0)?, local: r.get(1)?, stored: five(r, 2)?, counted: five(r, 7)? })
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(found)
}

/// A tree whose stored counts differ from a recount. Requires correct counts of its nodes.
pub(super) struct WrongTree {
    pub(super) row: i64,
    pub(super) stored: TreeCounts,
    pub(super) counted: TreeCounts,
}

/// Finds trees with wrong counts.
pub(super) fn wrong_trees(conn: &Connection) -> Result<Vec<WrongTree>> {
    let mut statement = conn.prepare(&format!(
        "SELECT t.tree, t.nodes, t.messages, t.leaves, t.branch_points, t.max_depth,
             count(n.seq), coalesce(sum(n.kind = 0), 0), coalesce(sum(n.kind = 0 AND coalesce(s.continuations, {ONLY_CHILD}) = 0), 0),
             coalesce(sum(coalesce(s.continuations, 0) >= 2), 0), coalesce(max(n.depth), 0)
         FROM tree_state t LEFT JOIN nodes n ON n.tree = t.tree
             AND NOT EXISTS (SELECT 1 FROM node_state s WHERE s.node = n.seq AND {HIDDEN_BY} IS NOT NULL)
             AND {UNSTAGED}
             LEFT JOIN node_state s ON s.node = n.seq
         GROUP BY t.tree"
    ))?;
    let all: Vec<WrongTree> = statement
        .query_map([], |r| Ok(WrongTree { row: r.get(0)?, stored: read_counts(r, 1)?, counted: read_counts(r, 6)? }))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(all.into_iter().filter(|t| t.stored != t.counted).collect())
}
