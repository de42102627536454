//! Formats of an export and its options; writes a tree in each of them.

use std::io::Write;

use super::{
    chat, export_report::ExportReport, graph, html_page, leaves::LeafChoice, preference, tree_export::TreeExport, vault,
};
use crate::{id::TreeId, interchange::InterchangeError, store::Snapshot, types::setters};

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

    /// True if an export holds the whole tree, whatever [`ExportOptions::leaves`] says.
    #[must_use]
    pub const fn is_of_whole_tree(self) -> bool {
        !matches!(self, Self::OpenAiChat | Self::ShareGpt)
    }
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

/// Writes a tree in a format.
///
/// ```
/// use loomtree::{interchange::export::{self, ExportFormat, ExportOptions}, prelude::*};
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
) -> Result<ExportReport, InterchangeError> {
    let mut export = TreeExport::new(snapshot, tree, options)?;
    match format {
        ExportFormat::OpenAiChat => chat::write_openai(&mut export, out)?,
        ExportFormat::ShareGpt => chat::write_sharegpt(&mut export, out)?,
        ExportFormat::Preference => preference::write(&mut export, false, out)?,
        ExportFormat::OpenAiPreference => preference::write(&mut export, true, out)?,
        ExportFormat::Dot => graph::write_dot(&mut export, out)?,
        ExportFormat::Mermaid => graph::write_mermaid(&mut export, out)?,
        ExportFormat::Html => html_page::write(&mut export, out)?,
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
) -> Result<(Vec<(String, String)>, ExportReport), InterchangeError> {
    let mut export = TreeExport::new(snapshot, tree, options)?;
    let notes = vault::notes(&mut export)?;
    Ok((notes, export.report))
}
