//! Result of an export: counts of the nodes that are written and left out, and the rule that decides it.

use std::collections::BTreeMap;

use super::export_format::ExportOptions;
use crate::types::{AuthorType, EdgeKind, Node};

/// Kind of nodes that contexts exclude.
const EXCLUDED: &str = "excluded";

/// Result of an export.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct ExportReport {
    /// Conversations, pairs, notes, nodes or runs of nodes that were written.
    pub written: u64,
    /// Number of nodes or conversations of each kind that were left out.
    #[cfg_attr(feature = "serve", schema(value_type = BTreeMap<String, u64>))]
    pub left_out: BTreeMap<&'static str, u64>,
}

impl ExportReport {
    /// True if a node may be exported; else it is counted.
    pub(super) fn admits(&mut self, node: &Node, options: ExportOptions) -> bool {
        let Some(kind) = left_out_kind(node, options) else { return true };
        // The root of an imported conversation holds nothing of it.
        if kind != EXCLUDED || node.depth > 0 || node.author_type != AuthorType::System {
            self.leave_out(kind, 1);
        }
        false
    }

    /// Removes the nodes of a path that `options` leave out, and counts them.
    pub fn retain(&mut self, path: &mut Vec<Node>, options: ExportOptions) {
        path.retain(|node| self.admits(node, options));
        self.written += path.len() as u64;
    }

    pub(super) fn leave_out(&mut self, kind: &'static str, number: u64) {
        if number > 0 {
            *self.left_out.entry(kind).or_default() += number;
        }
    }
}

/// Returns the kind under which a node that may not be exported is counted; `None` if it may be.
pub(super) fn left_out_kind(node: &Node, options: ExportOptions) -> Option<&'static str> {
    if node.purged_at.is_some() {
        Some("purged")
    } else if node.state.hidden_by.is_some() && !options.pruned {
        Some("pruned")
    } else if node.state.excluded && !options.excluded {
        Some(EXCLUDED)
    } else if node.kind == EdgeKind::Thought && !options.thoughts {
        Some("thoughts")
    } else {
        None
    }
}
