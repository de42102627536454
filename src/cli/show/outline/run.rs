//! Drawing of a run: nodes without branches between them, folded if they are many, each with its notes.

use std::collections::VecDeque;

use loomtree::{
    store::ChildFilter,
    types::{EdgeKind, Node},
};

use super::{EmitLine, LineKind, OutlineLine, OutlineWalker};
use crate::cli::error::Result;

/// Nodes of a run above which it is folded.
const MAX_UNFOLDED_RUN: usize = 7;
/// Nodes shown at each end of a folded run.
const FOLD_END_NODES: usize = 2;
/// The state of a run that is being drawn: nodes without branches between them.
#[derive(Default)]
pub(super) struct RunDrawer<'g> {
    guides: &'g str,
    /// Guides of the first line, until it is drawn.
    first: Option<String>,
    /// Number of lines at which the room is used up.
    end: usize,
    length: usize,
    drawn: usize,
    /// Nodes that are read and not drawn yet.
    held: VecDeque<Node>,
    folded: usize,
    first_folded: Option<Node>,
}

impl<'g> RunDrawer<'g> {
    /// Returns a run that ends when the outline has `end` lines. `first` are the guides of its first line.
    pub(super) fn new(guides: &'g str, first: String, end: usize) -> Self {
        Self { guides, first: Some(first), end, ..Self::default() }
    }
}

impl OutlineWalker<'_> {
    /// Draws the next nodes of a run, folded if it is long. `ends` is true for the last ones. Returns true if the room was
    /// too small for them.
    pub(super) fn draw_run(
        &mut self,
        run: &mut RunDrawer<'_>,
        nodes: Vec<Node>,
        ends: bool,
        emit: EmitLine<'_>,
    ) -> Result<bool> {
        run.length += nodes.len();
        run.held.extend(nodes);
        let long = !self.options.full && run.length > MAX_UNFOLDED_RUN;
        // Until the run is long or ends, it is open whether it is folded; the last nodes never are.
        let held = match (self.options.full || ends && !long, long) {
            (true, _) => 0,
            (false, true) => FOLD_END_NODES,
            (false, false) => return Ok(false),
        };
        while run.held.len() > held
            && let Some(node) = run.held.pop_front()
        {
            if long && run.drawn >= FOLD_END_NODES && self.foldable(&node) {
                run.folded += 1;
                run.first_folded.get_or_insert(node);
            } else if self.unfold(run, emit)? || self.draw_node(run, node, emit)? {
                return Ok(true);
            }
        }
        if !ends {
            return Ok(false);
        }
        if self.unfold(run, emit)? {
            return Ok(true);
        }
        while let Some(node) = run.held.pop_front() {
            if self.draw_node(run, node, emit)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Draws the folded nodes as one line. Folding a single node would save no line.
    fn unfold(&mut self, run: &mut RunDrawer<'_>, emit: EmitLine<'_>) -> Result<bool> {
        let (folded, first) = (std::mem::take(&mut run.folded), run.first_folded.take());
        match first {
            Some(node) if folded == 1 => self.draw_node(run, node, emit),
            Some(_) => {
                let what = LineKind::Folded(folded);
                self.lines.push(OutlineLine { guides: run.guides.to_owned(), what }, emit)?;
                Ok(false)
            }
            None => Ok(false),
        }
    }

    /// Draws a node and its notes; returns true if there is no room for it.
    fn draw_node(&mut self, run: &mut RunDrawer<'_>, node: Node, emit: EmitLine<'_>) -> Result<bool> {
        if self.lines.len >= run.end {
            return Ok(true);
        }
        run.drawn += 1;
        let notes = if self.options.notes { self.notes(&node)? } else { Vec::new() };
        let guides = run.first.take().unwrap_or_else(|| run.guides.to_owned());
        self.lines.push(OutlineLine { guides, what: LineKind::Node(Box::new(node), false) }, emit)?;
        for note in notes {
            let guides = format!("{}┊ ", run.guides);
            self.lines.push(OutlineLine { guides, what: LineKind::Node(Box::new(note), false) }, emit)?;
        }
        Ok(false)
    }

    fn foldable(&self, node: &Node) -> bool {
        let state = &node.state;
        node.id != self.position
            && state.bookmark.is_none()
            && state.annotations + state.versions == 0
            && !state.excluded
            && !node.interrupted
            && state.hidden_by != Some(node.id)
    }

    fn notes(&mut self, node: &Node) -> Result<Vec<Node>> {
        let mut notes = Vec::new();
        for kind in EdgeKind::ALL.iter().filter(|k| !matches!(k, EdgeKind::Continuation | EdgeKind::Version)) {
            let filter = ChildFilter { kind: Some(*kind), pruned: self.options.pruned, limit: 20 };
            notes.extend(self.snapshot.children(node.id, &filter)?);
        }
        self.reads += notes.len();
        Ok(notes)
    }
}
