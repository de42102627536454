//! Path of a node, read backwards in chunks of about the size that the caller needs.

use crate::{
    id::NodeId,
    store::{Result, Snapshot},
    types::Node,
};

/// Nodes of the first chunk, and the minimum of later ones.
const MIN_CHUNK_NODES: u32 = 64;
/// Maximum nodes of a chunk.
const MAX_CHUNK_NODES: u32 = 2_048;

/// Iterator over a path from its newest node.
pub(super) struct ContextPath<'a> {
    snapshot: &'a dyn Snapshot,
    versions: &'a [NodeId],
    /// First node of the next chunk; `None` after the root.
    next: Option<NodeId>,
    /// Nodes that were read but not returned; the next one is last.
    chunk: Vec<Node>,
    /// Versions that were read in place of other nodes.
    versions_read: Vec<NodeId>,
    started: bool,
}

impl<'a> ContextPath<'a> {
    pub(super) fn new(snapshot: &'a dyn Snapshot, to: NodeId, versions: &'a [NodeId]) -> Self {
        Self { snapshot, versions, next: Some(to), chunk: Vec::new(), versions_read: Vec::new(), started: false }
    }

    /// Returns the next node towards the root. `want` is the expected number of further calls.
    pub(super) fn next(&mut self, want: u32) -> Result<Option<Node>> {
        if self.chunk.is_empty() {
            self.read(want.clamp(MIN_CHUNK_NODES, MAX_CHUNK_NODES))?;
        }
        let Some(node) = self.chunk.pop() else { return Ok(None) };
        if node.version_of.is_some() {
            // Versions of a root are its children, so a chunk that starts between them reads one again.
            if self.versions_read.contains(&node.id) {
                (self.next, self.chunk) = (None, Vec::new());
                return Ok(None);
            }
            self.versions_read.push(node.id);
        }
        Ok(Some(node))
    }

    fn read(&mut self, most: u32) -> Result<()> {
        let Some(from) = self.next.take() else { return Ok(()) };
        // A later chunk starts at the last node of the one before it. A node that is read by its own id is returned as
        // it is; versions are only chosen above it.
        let most = most + u32::from(self.started);
        self.chunk = self.snapshot.path_back(from, self.versions, most)?;
        let full = self.chunk.len() == most as usize;
        self.next = self.chunk.first().filter(|first| full && first.parent.is_some()).map(|first| first.id);
        if self.started {
            self.chunk.pop();
        }
        self.started = true;
        Ok(())
    }
}
