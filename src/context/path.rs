//! The path, read backwards in chunks: as many nodes as somebody wants, and not many more.

use crate::{
    id::NodeId,
    store::{Result, Snapshot},
    types::Node,
};

/// Nodes of the first chunk, and the fewest of any.
const FEWEST: u32 = 64;
/// The most nodes of a chunk.
const MOST: u32 = 2_048;

/// A path that is read from its newest node on.
pub(super) struct ContextPath<'a> {
    snapshot: &'a dyn Snapshot,
    versions: &'a [NodeId],
    /// Where the next chunk begins; `None` once all is read.
    next: Option<NodeId>,
    /// What was read and not yet given out, the next one last.
    chunk: Vec<Node>,
    /// The nodes that took the place of another one.
    versions_read: Vec<NodeId>,
    begun: bool,
}

impl<'a> ContextPath<'a> {
    pub(super) fn new(snapshot: &'a dyn Snapshot, to: NodeId, versions: &'a [NodeId]) -> Self {
        Self { snapshot, versions, next: Some(to), chunk: Vec::new(), versions_read: Vec::new(), begun: false }
    }

    /// The next node towards the root; `want` is about how many more will be asked for.
    pub(super) fn next(&mut self, want: u32) -> Result<Option<Node>> {
        if self.chunk.is_empty() {
            self.read(want.clamp(FEWEST, MOST))?;
        }
        let Some(node) = self.chunk.pop() else { return Ok(None) };
        if node.version_of.is_some() {
            // The versions of a root hang below it, so that a chunk which begins between two of them reads one again.
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
        // A later chunk begins with the last node of the one before: read by its own id a node is meant as it is, and
        // only above it are versions chosen.
        let most = most + u32::from(self.begun);
        self.chunk = self.snapshot.path_back(from, self.versions, most)?;
        let full = self.chunk.len() == most as usize;
        self.next = self.chunk.first().filter(|first| full && first.parent.is_some()).map(|first| first.id);
        if self.begun {
            self.chunk.pop();
        }
        self.begun = true;
        Ok(())
    }
}
