//! Recounts of all derived counts, page by page of trees. `verify` reports the differences, `rebuild` corrects them.

use super::{
    connection::PostgresConnection,
    decode::{get, int},
    uuid::{NO_TREE, Uuid},
};
use crate::store::Result;

/// Number of trees of a page, and of nodes after which a page ends.
const PAGE_TREES: i64 = 1_024;
const PAGE_NODES: i64 = 16_384;

/// Settings of a transaction that counts pages. Statistics do not foresee the nodes of a page: a nested loop
/// would take quadratic time. Each part is read by an index.
pub(super) const PAGE_SETTINGS: &str =
    "SET LOCAL enable_seqscan = off; SET LOCAL enable_nestloop = off; SET LOCAL jit = off";

/// A recount of what the nodes of trees `$1` count. Yields the nodes whose stored counts differ.
pub(super) const WRONG_NODES: &str = "WITH states AS (
        SELECT tree, node, continuations, annotations, versions, links, bookmarked, hidden_by FROM node_state
            WHERE tree = ANY($1::uuid[])
    ), parts (tree, node, k, c, a, v, l) AS (
        SELECT n.tree, n.parent, (n.kind = 0)::int, (n.kind = 0 AND x.is_counted)::int, (n.kind = 1 AND x.is_counted)::int, 0, 0
            FROM nodes n
            LEFT JOIN states s ON s.tree = n.tree AND s.node = n.seq
            LEFT JOIN states p ON p.tree = n.tree AND p.node = n.parent
            CROSS JOIN LATERAL (SELECT s.hidden_by IS NOT DISTINCT FROM p.hidden_by AS is_counted) x
            WHERE n.tree = ANY($1) AND n.parent IS NOT NULL AND n.kind IN (0, 1)
        UNION ALL SELECT tree, version_of, 0, 0, 0, 1, 0 FROM nodes
            WHERE tree = ANY($1) AND version_of IS NOT NULL AND kind = 6
        UNION ALL SELECT tree, source, 0, 0, 0, 0, 1 FROM links WHERE tree = ANY($1) AND NOT removed
        UNION ALL SELECT t.tree, t.seq, 0, 0, 0, 0, (SELECT count(*) FROM links l WHERE l.target_node = t.id
                AND NOT l.removed AND (t.tree, t.seq) <> (l.tree, l.source)) FROM nodes t WHERE t.tree = ANY($1)
    ), counted AS (
        SELECT tree, node, least(sum(k), 1) AS only_child, sum(c) AS c, sum(a) AS a, sum(v) AS v, sum(l) AS l FROM parts GROUP BY tree, node
    )
    SELECT n.tree, n.seq, n.local_id, coalesce(d.c, 0)::bigint AS c, coalesce(d.a, 0)::bigint AS a,
        coalesce(d.v, 0)::bigint AS v, coalesce(d.l, 0)::bigint AS l, b.node IS NOT NULL AS b
    FROM nodes n LEFT JOIN states s ON s.tree = n.tree AND s.node = n.seq
        LEFT JOIN counted d ON d.tree = n.tree AND d.node = n.seq
        LEFT JOIN bookmarks b ON b.tree = n.tree AND b.node = n.seq AND b.tree = ANY($1)
    WHERE n.tree = ANY($1)
        AND (coalesce(s.continuations, d.only_child, 0), coalesce(s.annotations, 0), coalesce(s.versions, 0), coalesce(s.links, 0),
             coalesce(s.bookmarked, false))
        <> (coalesce(d.c, 0), coalesce(d.a, 0), coalesce(d.v, 0), coalesce(d.l, 0), b.node IS NOT NULL)";

/// A recount of what trees `$1` count. Yields the trees whose stored counts differ.
pub(super) const WRONG_TREES: &str = "WITH visible AS (
        SELECT n.tree, n.seq, n.kind, n.depth, coalesce(s.continuations, k.count, 0) AS continuations
        FROM nodes n LEFT JOIN node_state s ON s.tree = n.tree AND s.node = n.seq AND s.tree = ANY($1::uuid[])
            LEFT JOIN (SELECT tree, parent, count(*) FROM nodes WHERE tree = ANY($1) AND kind = 0 GROUP BY tree, parent) k
                ON k.tree = n.tree AND k.parent = n.seq
        WHERE n.tree = ANY($1) AND s.hidden_by IS NULL
    ), counted AS (
        SELECT t.tree, count(n.seq) AS nodes, count(*) FILTER (WHERE n.kind = 0) AS messages,
            count(*) FILTER (WHERE n.kind = 0 AND n.continuations = 0) AS leaves,
            count(*) FILTER (WHERE n.continuations >= 2) AS branch_points, coalesce(max(n.depth), 0) AS max_depth
        FROM tree_state t LEFT JOIN visible n ON n.tree = t.tree WHERE t.tree = ANY($1) GROUP BY t.tree
    )
    SELECT c.tree, c.nodes, c.messages, c.leaves, c.branch_points, c.max_depth
    FROM counted c JOIN tree_state t ON t.tree = c.tree AND t.tree = ANY($1)
    WHERE (t.nodes, t.messages, t.leaves, t.branch_points, t.max_depth)
        <> (c.nodes, c.messages, c.leaves, c.branch_points, c.max_depth)";

/// Passes on all trees in the order of their ids, in pages of about 16,384 nodes.
pub(super) fn each_tree_page(conn: &PostgresConnection, mut each: impl FnMut(&[Uuid]) -> Result<()>) -> Result<()> {
    let sql = "SELECT t.id, coalesce(s.nodes, 0) FROM trees t LEFT JOIN tree_state s ON s.tree = t.id
               WHERE t.id > $1 ORDER BY t.id LIMIT $2";
    let mut after = NO_TREE;
    loop {
        let (mut trees, mut nodes): (Vec<Uuid>, i64) = (Vec::new(), 0);
        for row in conn.query(sql, &[&after, &PAGE_TREES])? {
            if nodes >= PAGE_NODES {
                break;
            }
            trees.push(get(&row, 0)?);
            nodes += int(&row, 1)?;
        }
        let Some(last) = trees.last() else { return Ok(()) };
        after = *last;
        each(&trees)?;
    }
}
