//! Queries of tables, one file for each.

pub(super) mod documents;
pub(super) mod links;
pub(super) mod memory;
pub(super) mod sessions;
pub(super) mod summaries;
pub(super) mod trees;
