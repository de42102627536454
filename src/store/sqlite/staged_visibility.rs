//! Prunes and restores of large branches in slices.
//!
//! The slices give each node of the branch a mark that stands for its present visibility ([`visibility_marks`]). The last
//! transaction changes the meaning of the mark, which hides or shows all of them at once. Afterwards the mark is replaced by
//! its meaning, also in slices. Nodes that are appended to the branch meanwhile are found before the last transaction ends.
//! If another change prunes, restores or copies a branch inside of this one, the rest is done in the last transaction.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    path::Path,
};

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{
    apply::ChangeApplier,
    decode,
    staged_change::{self, Slice, StageLock},
    tables::{
        journal,
        nodes::{self, Anchor, ONLY_CHILD},
        session_states,
        staged_nodes::UNSTAGED,
        trees,
        visibility_marks::{self, HIDDEN_BY},
    },
    visibility::row_of,
};
use crate::{
    id::NodeId,
    store::{Mutation, Result},
    types::{EdgeKind, TreeCounts},
};

/// Row numbers whose marks are replaced by one statement.
const REPLACED_ROWS: i64 = 2_048;

/// A prune or restore of a large branch.
pub(super) struct StagedVisibilityChange {
    /// The root of the branch.
    pub(super) id: NodeId,
    is_restore: bool,
    /// `None` until the first slice.
    walk: Option<BranchWalk>,
    /// Another change altered the branch: this one is applied as if nothing were staged.
    is_disturbed: bool,
}

impl StagedVisibilityChange {
    /// The staged form of a prune or restore, if its branch is large.
    pub(super) fn of(conn: &Connection, mutation: &Mutation) -> Option<Self> {
        let (id, is_restore) = match mutation {
            Mutation::Prune { node } => (*node, false),
            Mutation::Restore { node } => (*node, true),
            _ => return None,
        };
        let row = row_of(conn, id).ok()??;
        let is_root = nodes::anchor(conn, row).ok()?.parent.is_none();
        let is_pruned = nodes::hidden_by(conn, row).ok()? == Some(row);
        let is_large = !is_root && is_pruned == is_restore && staged_change::is_large(conn, row).ok()?;
        is_large.then_some(Self { id, is_restore, walk: None, is_disturbed: false })
    }

    /// Marks the next nodes; returns whether all are marked.
    pub(super) fn stage(&mut self, apply: &mut ChangeApplier<'_>, slice: &Slice) -> Result<bool> {
        if self.is_disturbed {
            return Ok(true);
        }
        let conn = apply.conn;
        // Nodes get states.
        apply.cache.stateless.clear();
        let walk = match &mut self.walk {
            Some(walk) => walk,
            none => none.insert(BranchWalk::begin(conn, apply.node(self.id)?, self.id)?),
        };
        walk.find_appended(conn)?;
        while !slice.is_full()
            && let Some(node) = walk.next.pop()
        {
            if !walk.mark(conn, &node)? {
                self.is_disturbed = true;
                return Ok(true);
            }
        }
        Ok(walk.next.is_empty() && (self.is_restore || walk.measure_rest(conn, slice)?))
    }

    /// Changes the visibility of the branch from `from` to `to`. Returns `None` if it is not staged any more.
    pub(super) fn publish(&self, conn: &Connection, from: Option<i64>, to: Option<i64>) -> Result<Option<&BranchWalk>> {
        let Some(walk) = self.walk.as_ref().filter(|walk| !self.is_disturbed && walk.from == from) else {
            return Ok(None);
        };
        // A prune of an ancestor and its restore replace the mark.
        let is_marked = visibility_marks::is_set(conn, walk.mark, walk.root.row)?;
        Ok((is_marked && !walk.is_altered(conn)? && visibility_marks::set(conn, walk.mark, to)?).then_some(walk))
    }

    /// True if this is the staged form of a prune, or of a restore, of a node.
    pub(super) fn is_of(&self, id: NodeId, is_restore: bool) -> bool {
        self.id == id && self.is_restore == is_restore
    }

    /// The replacement of the mark, which is due whether or not the change was applied.
    pub(super) fn replacement(self, lock: StageLock) -> Option<MarkReplacement> {
        let walk = self.walk?;
        Some(MarkReplacement { mark: walk.mark, root: self.id, next: walk.root.row, last: None, _lock: lock })
    }
}

/// A found node of a branch.
struct FoundNode {
    row: i64,
    depth: u32,
    kind: EdgeKind,
    session: Option<i64>,
    hidden_by: Option<i64>,
}

/// Columns of a [`FoundNode`].
const FOUND: &str = "n.seq, n.depth, n.kind, n.session, s.hidden_by";

impl FoundNode {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            row: row.get(0)?,
            depth: row.get(1)?,
            kind: decode::coded(row, 2, EdgeKind::from_code)?,
            session: row.get(3)?,
            hidden_by: row.get(4)?,
        })
    }
}

/// A walk over a branch that marks its nodes and counts them.
pub(super) struct BranchWalk {
    root: Anchor,
    /// The visibility of the branch; nodes with another one do not belong to it.
    from: Option<i64>,
    mark: i64,
    /// Nodes that are found and not marked yet.
    next: Vec<FoundNode>,
    /// Marked nodes, each with its contribution to the leaves and branch points.
    marked: HashMap<i64, [bool; 2]>,
    pub(super) counts: TreeCounts,
    /// Marked versions.
    pub(super) versions: BTreeSet<i64>,
    /// Sessions of marked nodes.
    sessions: BTreeSet<i64>,
    /// Row number up to which nodes were looked at.
    last: i64,
    /// The journal's last entry when the walk began.
    after: u64,
    /// Place in the index of children down to which every visible node is in the branch.
    measured: [i64; 4],
    /// Depth of the deepest visible node outside of the branch; `None` until it is found.
    rest_depth: Option<u32>,
}

impl BranchWalk {
    fn begin(conn: &Connection, root: Anchor, id: NodeId) -> Result<Self> {
        let from = nodes::hidden_by(conn, root.row)?;
        let sql = format!("SELECT {FOUND} FROM nodes n LEFT JOIN node_state s ON s.node = n.seq WHERE n.seq = ?1");
        Ok(Self {
            root,
            from,
            mark: visibility_marks::add(conn, id, from)?,
            next: vec![conn.query_row(&sql, [root.row], FoundNode::read)?],
            marked: HashMap::new(),
            counts: TreeCounts::default(),
            versions: BTreeSet::new(),
            sessions: BTreeSet::new(),
            last: nodes::last(conn)?,
            after: journal::last(conn)?,
            measured: [i64::MAX; 4],
            rest_depth: None,
        })
    }

    /// True if a node is in the branch.
    pub(super) fn contains(&self, node: i64) -> bool {
        self.marked.contains_key(&node)
    }

    /// The sessions of the branch that have a state or records.
    pub(super) fn sessions_with_state(&self, conn: &Connection) -> Result<Vec<i64>> {
        let mut found = Vec::new();
        for session in &self.sessions {
            if session_states::load(conn, *session)?.is_some() {
                found.push(*session);
            }
        }
        Ok(found)
    }

    /// Marks a node and finds its children, versions and first halves. Returns `false` if another change has marked it, or
    /// has altered its visibility since it was found.
    fn mark(&mut self, conn: &Connection, node: &FoundNode) -> Result<bool> {
        if self.contains(node.row) {
            return Ok(true);
        }
        if node.hidden_by.is_some_and(|mark| mark < 0) {
            return Ok(false);
        }
        let continuations = conn
            .prepare_cached(&format!(
                "INSERT INTO node_state (node, continuations, hidden_by)
                     SELECT n.seq, {ONLY_CHILD}, ?2 FROM nodes n WHERE n.seq = ?1
                 ON CONFLICT (node) DO UPDATE SET hidden_by = excluded.hidden_by
                     WHERE node_state.hidden_by IS ?3 RETURNING continuations"
            ))?
            .query_row(params![node.row, self.mark, node.hidden_by], |r| r.get(0))
            .optional()?;
        let Some(continuations) = continuations else { return Ok(false) };
        self.marked.insert(node.row, [false; 2]);
        self.counts.nodes += 1;
        self.counts.messages += u64::from(node.kind == EdgeKind::Continuation);
        self.counts.max_depth = self.counts.max_depth.max(node.depth);
        self.count(node.row, node.kind, continuations);
        self.sessions.extend(node.session);
        let mut receivers = conn.prepare_cached("SELECT session FROM received_turns WHERE node = ?1")?;
        for session in receivers.query_map([node.row], |r| r.get::<_, i64>(0))? {
            self.sessions.insert(session?);
        }
        if node.kind == EdgeKind::Version {
            self.versions.insert(node.row);
        }
        let mut below = conn.prepare_cached(&format!(
            "SELECT {FOUND} FROM nodes n LEFT JOIN node_state s ON s.node = n.seq
                 WHERE n.tree = ?1 AND n.depth = ?2 AND n.parent = ?3 AND {HIDDEN_BY} IS ?4
             UNION ALL
             SELECT {FOUND} FROM nodes n LEFT JOIN node_state s ON s.node = n.seq
                 WHERE n.version_of = ?3 AND {HIDDEN_BY} IS ?4
             UNION ALL
             SELECT {FOUND} FROM nodes n LEFT JOIN node_state s ON s.node = n.seq
                 WHERE n.edited_from = ?3 AND n.kind = 6 AND n.version_of IS NULL AND {HIDDEN_BY} IS ?4"
        ))?;
        for found in below.query_map(params![self.root.tree, node.depth + 1, node.row, self.from], FoundNode::read)? {
            self.next.push(found?);
        }
        Ok(true)
    }

    /// Counts a marked node as a leaf or a branch point, as its number of continuations requires.
    fn count(&mut self, row: i64, kind: EdgeKind, continuations: u64) {
        let now = [kind == EdgeKind::Continuation && continuations == 0, continuations >= 2];
        let before = self.marked.insert(row, now).unwrap_or_default();
        let [leaves, branch_points] = [0, 1].map(|at| i64::from(now[at]) - i64::from(before[at]));
        self.counts.leaves = self.counts.leaves.saturating_add_signed(leaves);
        self.counts.branch_points = self.counts.branch_points.saturating_add_signed(branch_points);
    }

    /// Finds nodes that were appended since the last call, and counts their parents anew.
    fn find_appended(&mut self, conn: &Connection) -> Result<()> {
        let mut appended = conn.prepare_cached(&format!(
            "SELECT {FOUND}, n.parent, n.version_of, CASE WHEN n.kind = 6 THEN n.edited_from END
             FROM nodes n LEFT JOIN node_state s ON s.node = n.seq
             WHERE n.seq > ?1 AND +n.tree = ?2 AND {HIDDEN_BY} IS ?3 AND {UNSTAGED} ORDER BY n.seq"
        ))?;
        let mut rows = appended.query(params![self.last, self.root.tree, self.from])?;
        let (mut outside, mut inside) = (0, HashSet::new());
        while let Some(row) = rows.next()? {
            let found = FoundNode::read(row)?;
            let above = [row.get(5)?, row.get(6)?, row.get::<_, Option<i64>>(7)?];
            if !above.iter().flatten().any(|node| self.contains(*node)) {
                // A child of a node that is not marked yet is found with that node.
                if above.iter().flatten().any(|node| inside.contains(node)) {
                    inside.insert(found.row);
                } else {
                    outside = outside.max(found.depth);
                }
                continue;
            }
            inside.insert(found.row);
            if let Some(parent) = row.get::<_, Option<i64>>(5)?.filter(|parent| self.contains(*parent)) {
                let (kind, continuations) = conn
                    .prepare_cached(
                        "SELECT n.kind, s.continuations FROM nodes n JOIN node_state s ON s.node = n.seq WHERE n.seq = ?1",
                    )?
                    .query_row([parent], |r| Ok((decode::coded(r, 0, EdgeKind::from_code)?, r.get(1)?)))?;
                self.count(parent, kind, continuations);
            }
            self.next.push(found);
        }
        self.rest_depth = self.rest_depth.map(|depth| depth.max(outside));
        self.last = nodes::last(conn)?;
        Ok(())
    }

    /// Looks for the deepest visible node outside of the branch. Returns whether it is found, or is not needed.
    fn measure_rest(&mut self, conn: &Connection, slice: &Slice) -> Result<bool> {
        if self.from.is_some() || self.counts.max_depth < trees::counts(conn, self.root.tree)?.max_depth {
            return Ok(true);
        }
        let mut nodes = conn.prepare_cached(&format!(
            "SELECT n.depth, ifnull(n.parent, 0), n.kind, n.seq,
                 {HIDDEN_BY} IS NULL AND s.hidden_by IS NOT ?2 AND {UNSTAGED}
             FROM nodes n LEFT JOIN node_state s ON s.node = n.seq
             WHERE n.tree = ?1 AND (n.depth, n.parent, n.kind, n.seq) < (?3, ?4, ?5, ?6)
             ORDER BY n.depth DESC, n.parent DESC, n.kind DESC, n.seq DESC"
        ))?;
        let [depth, parent, kind, seq] = self.measured;
        let mut rows = nodes.query(params![self.root.tree, self.mark, depth, parent, kind, seq])?;
        while self.rest_depth.is_none()
            && !slice.is_full()
            && let Some(row) = rows.next()?
        {
            self.measured = [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?];
            if row.get(4)? {
                self.rest_depth = Some(row.get(0)?);
            }
        }
        Ok(self.rest_depth.is_some())
    }

    /// The depth of the deepest visible node outside of the branch, in the transaction that hides the branch.
    pub(super) fn depth_of_rest(&self, conn: &Connection) -> Result<u32> {
        match self.rest_depth {
            Some(depth) if self.changes(conn)?.is_empty() => Ok(depth),
            _ => trees::deepest(conn, self.root.tree, None),
        }
    }

    /// The prunes, restores and copies in the tree since the walk began: each root with the nodes that it depends on.
    fn changes(&self, conn: &Connection) -> Result<Vec<[Option<i64>; 4]>> {
        journal::visibility_changes(conn, self.root.tree, self.after)
    }

    /// True if another change altered the visibility of a part of the branch.
    fn is_altered(&self, conn: &Connection) -> Result<bool> {
        let changes = self.changes(conn)?;
        Ok(changes.into_iter().flatten().flatten().any(|node| self.contains(node)))
    }
}

/// The replacement of a mark by its meaning, after the change that made it.
pub(super) struct MarkReplacement {
    mark: i64,
    root: NodeId,
    /// First row number that may have the mark.
    next: i64,
    /// Last row number that may have it; `None` until the first slice.
    last: Option<i64>,
    _lock: StageLock,
}

impl MarkReplacement {
    /// Replaces the mark in the next nodes; returns whether none is left.
    pub(super) fn run(&mut self, conn: &Connection, slice: &Slice) -> Result<bool> {
        let last = *self.last.get_or_insert(nodes::last(conn)?);
        while self.next <= last {
            if slice.is_full() {
                return Ok(false);
            }
            visibility_marks::replace(conn, self.mark, self.root, [self.next, self.next + REPLACED_ROWS - 1])?;
            self.next += REPLACED_ROWS;
        }
        visibility_marks::remove(conn, self.mark, self.root)?;
        Ok(true)
    }
}

/// The marks that dead processes left.
pub(super) fn abandoned(conn: &Connection, path: &Path) -> Vec<MarkReplacement> {
    let marks = visibility_marks::all(conn).unwrap_or_default().into_iter();
    marks
        .filter_map(|(mark, root)| {
            let lock = StageLock::acquire(path, root).ok()?;
            Some(MarkReplacement { mark, root, next: 0, last: None, _lock: lock })
        })
        .collect()
}
