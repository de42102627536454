//! Lossless JSONL format of loomtree: one JSON object per line, with everything in a tree except its journal.
//!
//! Ids, local ids, hashes, times, turns, marks and metadata survive, so an export of an import is byte-equal. Nodes are
//! in insertion order, parents first. The journal is excluded because its numbers belong to one database file; `backup`
//! copies it.

mod export;
mod import;
mod records;

pub use export::{Exported, export, export_trees};
pub(super) use import::import;
