//! Exports for other programs: chat messages for training, preference pairs, notes, graphs, a page.
//!
//! Pruned, purged and excluded nodes, thoughts and notes are left out unless the caller includes them, and are counted. The
//! same tree gives the same bytes.

mod chat;
mod export_format;
mod export_report;
mod graph;
mod html_page;
mod json_line;
mod leaves;
pub mod markdown;
mod outline;
mod preference;
mod sha256;
mod tree_export;
mod vault;

pub(super) use self::tree_export::each_tree_node;
pub use self::{
    export_format::{ExportFormat, ExportOptions, notes, write},
    export_report::ExportReport,
    leaves::LeafChoice,
};
