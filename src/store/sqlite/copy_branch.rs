//! Copying of branches: new nodes with the same text, authors and times under another parent.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

use rusqlite::{Connection, params};

use super::{
    apply::{AppliedMutation, ChangeApplier},
    decode::{FROM, NODE, NodeRow},
    staged_copy,
    tables::{
        journal::TreeCountDelta,
        nodes::{self, Anchor},
        staged_nodes::UNSTAGED,
        trees,
        visibility_marks::HIDDEN_BY,
    },
    ulid_cache::UlidCache,
    visibility,
};
use crate::{
    id::NodeId,
    store::{Mutation, Result, StoreError, new_node::copy_of},
};

/// No row has this number.
const NO_ROW: i64 = -1;

/// Copies `from` and its visible descendants (annotations, sources and versions included) under `to`. What follows a
/// version follows its copy. The metadata of each copy names its original. The nodes of a large branch are staged already ([`staged_copy`]).
pub(super) fn copy_branch(
    apply: &mut ChangeApplier<'_>,
    from: NodeId,
    to: NodeId,
    id: NodeId,
) -> Result<AppliedMutation> {
    if let Some(staged) = apply.staged_copy(id) {
        return staged_copy::publish(apply, staged);
    }
    let mut copy = BranchCopy::begin(apply, from, to, id)?;
    while !copy.is_complete() {
        copy.step(apply)?;
    }
    trees::add(apply.conn, copy.target.tree, &copy.added)?;
    copy.applied(apply)
}

/// A copy in progress. Nodes are copied in insertion order.
pub(super) struct BranchCopy {
    pub(super) id: NodeId,
    pub(super) to: NodeId,
    pub(super) source: Anchor,
    pub(super) target: Anchor,
    /// The visibility of the source; nodes with another one are not copied.
    pub(super) hidden_by: Option<i64>,
    /// The original of the source if that is a version: its continuations belong to the branch.
    place: Option<Anchor>,
    /// Row number of the copy's root; `None` until it is copied.
    pub(super) root: Option<i64>,
    /// The contribution of the copies to the tree's counts.
    pub(super) added: TreeCountDelta,
    /// Nodes of the branch that are found and not copied yet.
    next: BinaryHeap<Reverse<i64>>,
    copies: HashMap<i64, NodeId>,
    /// Row number up to which nodes belong to the branch: a copy inside its own branch does not copy its own nodes.
    pub(super) last: i64,
}

impl BranchCopy {
    pub(super) fn begin(apply: &mut ChangeApplier<'_>, from: NodeId, to: NodeId, id: NodeId) -> Result<Self> {
        let (source, target) = (apply.node(from)?, apply.node(to)?);
        let place = visibility::original_of(apply.conn, source)?;
        Ok(Self {
            id,
            to,
            place: (place.row != source.row).then_some(place),
            source,
            target,
            hidden_by: nodes::hidden_by(apply.conn, source.row)?,
            root: None,
            added: TreeCountDelta::default(),
            next: BinaryHeap::from([Reverse(source.row)]),
            copies: HashMap::new(),
            last: nodes::last(apply.conn)?,
        })
    }

    /// True if all nodes that were found are copied.
    pub(super) fn is_complete(&self) -> bool {
        self.next.is_empty()
    }

    /// Number of copied nodes.
    pub(super) fn len(&self) -> u64 {
        self.copies.len() as u64 - u64::from(self.place.is_some_and(|place| self.copies.contains_key(&place.row)))
    }

    /// Copies the next node, if there is one; returns the length of its text.
    pub(super) fn step(&mut self, apply: &mut ChangeApplier<'_>) -> Result<usize> {
        let Some(Reverse(row)) = self.next.pop() else { return Ok(0) };
        let read = apply
            .conn
            .prepare_cached(&format!("SELECT {NODE} {FROM} WHERE n.seq = ?1"))?
            .query_row([row], NodeRow::read)?;
        let (parent_row, version_row, edited_row) = (read.parent, read.version_of, read.edited_from);
        let node = UlidCache::new(apply.conn).finish(vec![read])?.pop();
        let node = node.ok_or_else(|| StoreError::not_found("node", row))?;
        let bytes = node.content.len() + node.raw.as_ref().map_or(0, String::len);
        self.find_children(apply.conn, row, node.depth)?;
        let is_root = row == self.source.row;
        if let Some(place) = self.place.filter(|_| is_root) {
            self.find_children(apply.conn, place.row, place.depth)?;
        }
        let id = if is_root { self.id } else { NodeId::new(apply.ids.ulid(apply.change.at)) };
        let copied = |row: Option<i64>| row.and_then(|row| self.copies.get(&row)).copied();
        let parent = copied(parent_row).filter(|_| !is_root).unwrap_or(self.to);
        let new = copy_of(node, (id, parent), is_root, [copied(version_row), copied(edited_row)])?;
        let (row_of_copy, added) = apply.append_unjournaled(new)?;
        self.added.add(&added);
        self.root = self.root.or(Some(row_of_copy));
        self.copies.insert(row, id);
        if let Some(place) = self.place.filter(|_| is_root) {
            self.copies.insert(place.row, id);
        }
        Ok(bytes)
    }

    /// Finds the children of a node that belong to the branch.
    fn find_children(&mut self, conn: &Connection, row: i64, depth: u32) -> Result<()> {
        let mut children = conn.prepare_cached(&format!(
            "SELECT n.seq FROM nodes n LEFT JOIN node_state s ON s.node = n.seq
             WHERE n.tree = ?1 AND n.depth = ?2 AND n.parent = ?3 AND n.seq <= ?4 AND {HIDDEN_BY} IS ?5 AND {UNSTAGED}
                 AND n.version_of IS NOT ?6"
        ))?;
        // The versions of a root are its children.
        let other_versions = self.place.map_or(NO_ROW, |place| place.row);
        let mut rows =
            children.query(params![self.source.tree, depth + 1, row, self.last, self.hidden_by, other_versions])?;
        while let Some(child) = rows.next()? {
            self.next.push(Reverse(child.get(0)?));
        }
        Ok(())
    }

    /// Finds nodes that were appended to copied nodes of the branch since the last call.
    pub(super) fn find_appended(&mut self, conn: &Connection) -> Result<()> {
        let mut appended = conn.prepare_cached(&format!(
            "SELECT n.seq, n.parent FROM nodes n LEFT JOIN node_state s ON s.node = n.seq
             WHERE n.seq > ?1 AND +n.tree = ?2 AND {HIDDEN_BY} IS ?3 AND {UNSTAGED} ORDER BY n.seq"
        ))?;
        let mut rows = appended.query(params![self.last, self.source.tree, self.hidden_by])?;
        while let Some(row) = rows.next()? {
            // A child of a node that is not copied yet is found with that node.
            if row.get::<_, Option<i64>>(1)?.is_some_and(|parent| self.copies.contains_key(&parent)) {
                self.next.push(Reverse(row.get(0)?));
            }
        }
        self.last = nodes::last(conn)?;
        Ok(())
    }

    /// The journal data of the complete copy.
    pub(super) fn applied(&self, apply: &mut ChangeApplier<'_>) -> Result<AppliedMutation> {
        apply.receipt.affected += self.len();
        let root = self.root.ok_or_else(|| StoreError::not_found("node", self.id))?;
        Ok(AppliedMutation::new(Some(self.target.tree), Some(root), Some(Mutation::Prune { node: self.id })))
    }
}
