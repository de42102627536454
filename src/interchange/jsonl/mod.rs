//! JSONL format of loomtree: one JSON object per line, with the nodes, links and sessions of trees, and the agents and
//! documents of the database.
//!
//! Ids, local ids, hashes, times, turns, marks and metadata survive, so an export of an import is byte-equal. Nodes are
//! in insertion order, parents first. The journal is excluded because its numbers belong to one database file. Pins, stashes,
//! todos, summaries, action traces, events of delegations, the system prompts that were sent, leases, removed links, and what
//! sessions recorded before a reset are excluded too; `backup` copies all of it.

mod export;
mod import;
mod records;

pub use export::{Exported, export, export_trees};
pub(super) use import::import;
