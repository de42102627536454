//! Outline of a tree for drawings and notes: runs of nodes without a branch.

use std::collections::HashMap;

use super::tree_export::TreeExport;
use crate::{
    id::NodeId,
    interchange::InterchangeError,
    types::{EdgeKind, Node},
};

/// Nodes that follow one another without a branch.
pub(super) struct NodeRun {
    pub(super) nodes: Vec<Node>,
    pub(super) parent: Option<usize>,
    pub(super) children: Vec<usize>,
}

impl NodeRun {
    /// The first words of a run.
    pub(super) fn label(&self, chars: usize) -> String {
        let text = self.nodes.iter().map(|node| node.content.trim()).find(|text| !text.is_empty()).unwrap_or("");
        crate::types::first_words(text, chars)
    }

    /// Local id of the first node.
    pub(super) fn id(&self) -> String {
        self.nodes.first().map(|node| node.local.to_string()).unwrap_or_default()
    }
}

/// Returns the runs of a tree, parents first. The newest visible version stands for a node, with all its parts. Nodes
/// below one that is left out hang on the nearest one that is not.
pub(super) fn runs(export: &mut TreeExport<'_>) -> Result<Vec<NodeRun>, InterchangeError> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut places: HashMap<NodeId, Option<usize>> = HashMap::new();
    let mut parents: Vec<Option<usize>> = Vec::new();
    let mut children: Vec<Vec<usize>> = Vec::new();
    export.each_node(&mut |export, node| {
        let place = |of: NodeId| places.get(&of).copied().flatten();
        match node.kind {
            EdgeKind::Continuation => {
                let (id, parent) = (node.id, node.parent.and_then(place));
                let Some(node) = export.first_version(node)? else {
                    places.insert(id, parent);
                    return Ok(());
                };
                let index = nodes.len();
                places.insert(id, Some(index));
                if let Some(parent) = parent {
                    children[parent].push(index);
                }
                parents.push(parent);
                children.push(Vec::new());
                nodes.push(node);
            }
            EdgeKind::Version => {
                let original = export.snapshot.original(&node)?.id;
                let place = place(original);
                // A part can have continuations of its own.
                places.insert(node.id, place);
                if export.admits(&node)
                    && let Some(place) = place
                    && let Some(node) = export.whole_version(node)?
                {
                    let shown = &mut nodes[place];
                    let is_of_original = shown.id == original || shown.version_of == Some(original);
                    // A version that was pruned alone stands for nothing, even in an export with pruned nodes.
                    if is_of_original && shown.state.hidden_by == node.state.hidden_by {
                        shown.content = node.content;
                    }
                }
            }
            EdgeKind::Thought => {
                export.admits(&node);
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(group(nodes, &parents, &children))
}

fn group(nodes: Vec<Node>, parents: &[Option<usize>], children: &[Vec<usize>]) -> Vec<NodeRun> {
    let mut runs: Vec<NodeRun> = Vec::new();
    let mut run_of: Vec<usize> = Vec::with_capacity(nodes.len());
    for (index, node) in nodes.into_iter().enumerate() {
        let parent = parents[index];
        let is_only = parent.is_some_and(|parent| children[parent].len() == 1);
        let run = match parent.map(|parent| run_of[parent]) {
            Some(run) if is_only => {
                runs[run].nodes.push(node);
                run
            }
            above => {
                runs.push(NodeRun { nodes: vec![node], parent: above, children: Vec::new() });
                let run = runs.len() - 1;
                if let Some(above) = above {
                    runs[above].children.push(run);
                }
                run
            }
        };
        run_of.push(run);
    }
    runs
}
