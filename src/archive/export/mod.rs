//! Exports for other programs: chat messages for training, preference pairs, notes, graphs, a page.
//!
//! Pruned, purged and excluded nodes, thoughts and notes are left out unless the caller includes them, and are counted. The
//! same tree gives the same bytes.

mod chat;
mod graph;
mod leaves;
mod outline;
mod page;
mod preference;
mod sha256;
mod vault;

use std::{collections::BTreeMap, io::Write};

use serde_json::Value;

pub use self::leaves::LeafChoice;
use super::ArchiveError;
use crate::{
    id::TreeId,
    store::{ChildFilter, Snapshot},
    types::{AuthorType, EdgeKind, Mode, Node, setters},
};

/// Format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExportFormat {
    /// Chat messages in OpenAI's form, one conversation a line.
    OpenAiChat,
    /// Conversations in ShareGPT's form, one a line.
    ShareGpt,
    /// Preference pairs for TRL, one a line.
    Preference,
    /// Preference pairs in OpenAI's form, one a line.
    OpenAiPreference,
    /// Graph in the language of Graphviz.
    Dot,
    /// Flowchart in the language of Mermaid.
    Mermaid,
    /// The web page with the tree in one file, for reading without a server.
    Html,
}

impl ExportFormat {
    /// Names of the formats, in the order of the variants.
    pub const NAMES: &'static [(&'static str, Self)] = &[
        ("openai-chat", Self::OpenAiChat),
        ("sharegpt", Self::ShareGpt),
        ("preference", Self::Preference),
        ("openai-preference", Self::OpenAiPreference),
        ("dot", Self::Dot),
        ("mermaid", Self::Mermaid),
        ("html", Self::Html),
    ];
}

/// Options of an export.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportOptions {
    /// Conversations of the tree.
    pub leaves: LeafChoice,
    /// Includes pruned nodes.
    pub pruned: bool,
    /// Includes nodes that contexts exclude.
    pub excluded: bool,
    /// Includes thoughts of models.
    pub thoughts: bool,
}

setters!(ExportOptions {
    /// Sets the conversations of the tree.
    leaves(LeafChoice);
    /// Sets whether pruned nodes are included.
    pruned(bool);
    /// Sets whether nodes that contexts exclude are included.
    excluded(bool);
    /// Sets whether thoughts are included.
    thoughts(bool);
});

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
    fn admits(&mut self, node: &Node, options: ExportOptions) -> bool {
        let reason = if node.purged_at.is_some() {
            "purged"
        } else if node.state.pruned_by.is_some() && !options.pruned {
            "pruned"
        } else if node.state.excluded && !options.excluded {
            // The root of an imported conversation holds nothing of it.
            if node.depth == 0 && node.author_type == AuthorType::System {
                return false;
            }
            "excluded"
        } else if node.kind == EdgeKind::Thought && !options.thoughts {
            "thoughts"
        } else {
            return true;
        };
        self.leave_out(reason, 1);
        false
    }

    /// Removes the nodes of a path that `options` leave out, and counts them.
    pub fn retain(&mut self, path: &mut Vec<Node>, options: ExportOptions) {
        path.retain(|node| self.admits(node, options));
        self.written += path.len() as u64;
    }

    fn leave_out(&mut self, kind: &'static str, number: u64) {
        if number > 0 {
            *self.left_out.entry(kind).or_default() += number;
        }
    }
}

/// Writes a tree in a format.
///
/// ```
/// use loomtree::{archive::export::{self, ExportFormat, ExportOptions}, prelude::*};
///
/// # let folder = tempfile::tempdir()?;
/// # let loom = session::open(folder.path().join("trees.db"))?;
/// # let owner = loom.actor(&loom.agent("owner")?);
/// # let (tree, root) = owner.create_tree(TreeDraft::new("Where could it begin?"))?;
/// let mut out = Vec::new();
/// export::write(&*loom.snapshot()?, tree.id, ExportFormat::OpenAiChat, ExportOptions::default(), &mut out)?;
/// assert_eq!(out, b"{\"messages\":[{\"content\":\"Where could it begin?\",\"role\":\"user\"}]}\n");
/// # Ok::<(), loomtree::Error>(())
/// ```
///
/// # Errors
/// If the tree does not exist, it is too large for a drawing, the output cannot be written, or the store fails.
pub fn write(
    snapshot: &dyn Snapshot,
    tree: TreeId,
    format: ExportFormat,
    options: ExportOptions,
    out: &mut dyn Write,
) -> Result<ExportReport, ArchiveError> {
    let mut export = TreeExport::new(snapshot, tree, options)?;
    match format {
        ExportFormat::OpenAiChat => chat::write_openai(&mut export, out)?,
        ExportFormat::ShareGpt => chat::write_sharegpt(&mut export, out)?,
        ExportFormat::Preference => preference::write(&mut export, false, out)?,
        ExportFormat::OpenAiPreference => preference::write(&mut export, true, out)?,
        ExportFormat::Dot => graph::write_dot(&mut export, out)?,
        ExportFormat::Mermaid => graph::write_mermaid(&mut export, out)?,
        ExportFormat::Html => page::write(&mut export, out)?,
    }
    Ok(export.report)
}

/// Returns the notes of a tree for a folder of Obsidian, as names and texts. A note holds a run of nodes without a
/// branch, and links to the runs that follow.
///
/// # Errors
/// If the tree does not exist, or the store fails.
pub fn notes(
    snapshot: &dyn Snapshot,
    tree: TreeId,
    options: ExportOptions,
) -> Result<(Vec<(String, String)>, ExportReport), ArchiveError> {
    let mut export = TreeExport::new(snapshot, tree, options)?;
    let notes = vault::notes(&mut export)?;
    Ok((notes, export.report))
}

/// An export of one tree.
struct TreeExport<'a> {
    snapshot: &'a dyn Snapshot,
    tree: crate::types::Tree,
    agents: BTreeMap<crate::id::AgentId, String>,
    options: ExportOptions,
    report: ExportReport,
}

/// Receives a node, or a path.
type EachItem<'e, 'a, T> = dyn FnMut(&mut TreeExport<'a>, T) -> Result<(), ArchiveError> + 'e;

/// Nodes that one query of a tree reads.
const PAGE_NODES: u32 = 1_000;

impl<'a> TreeExport<'a> {
    fn new(snapshot: &'a dyn Snapshot, tree: TreeId, options: ExportOptions) -> Result<Self, ArchiveError> {
        let tree = snapshot.tree(tree)?.ok_or_else(|| crate::ops::OpsError::missing("tree", tree))?;
        let agents = snapshot.agents()?.into_iter().map(|agent| (agent.id(), agent.name().to_owned())).collect();
        Ok(Self { snapshot, tree, agents, options, report: ExportReport::default() })
    }

    /// Name of a node's author, and of the role if the author edited another's words.
    fn speaker(&self, node: &Node) -> String {
        let name = self.agents.get(&node.author).map_or("unknown", String::as_str);
        match node.role {
            Some(role) => format!("{role}, edited by {name}"),
            None => name.to_owned(),
        }
    }

    /// True if a node may be exported; else it is counted.
    fn admits(&mut self, node: &Node) -> bool {
        self.report.admits(node, self.options)
    }

    /// Calls `each` with every node of the tree, in insertion order.
    fn each_node(&mut self, each: &mut EachItem<'_, 'a, Node>) -> Result<(), ArchiveError> {
        let mut after = 0;
        loop {
            let page = self.snapshot.nodes_after(self.tree.id, after, PAGE_NODES)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.seq;
            for node in page {
                each(self, node)?;
            }
        }
    }

    /// Calls `each` with the path to every chosen node.
    fn each_path(&mut self, each: &mut EachItem<'_, 'a, Vec<Node>>) -> Result<(), ArchiveError> {
        let leaves = self.leaves()?;
        for leaf in leaves {
            let path = self.snapshot.path_back(leaf, &[], 0)?;
            each(self, path)?;
        }
        Ok(())
    }

    /// Refuses a buffer, whose path is one text and no conversation.
    fn require_dialogue(&self) -> Result<(), ArchiveError> {
        match self.tree.mode {
            Mode::Dialogue => Ok(()),
            Mode::Buffer => Err(ArchiveError::Format(
                "a buffer is one text without messages; export it with --format prose".to_owned(),
            )),
        }
    }

    /// Side nodes of a node of one kind that may be exported, in insertion order.
    fn side_nodes(&mut self, node: &Node, kind: EdgeKind) -> Result<Vec<Node>, ArchiveError> {
        let filter = ChildFilter::default().kind(kind).pruned(true);
        let mut children = self.snapshot.children(node.id, &filter)?;
        children.retain(|child| self.admits(child));
        Ok(children)
    }
}

/// Writes a JSON value as a line.
fn write_line(out: &mut dyn Write, value: &Value) -> Result<(), ArchiveError> {
    serde_json::to_writer(&mut *out, value).map_err(std::io::Error::from)?;
    Ok(out.write_all(b"\n")?)
}
