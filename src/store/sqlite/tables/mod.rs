//! SQL statements, one file for each table.

pub(super) mod agents;
pub(super) mod bookmarks;
pub(super) mod delegations;
pub(super) mod documents;
pub(super) mod journal;
pub(super) mod leases;
pub(super) mod links;
pub(super) mod memory;
pub(super) mod nodes;
pub(super) mod provenance;
pub(super) mod received_turns;
pub(super) mod session_states;
pub(super) mod sessions;
pub(super) mod sources;
pub(super) mod staged_nodes;
pub(super) mod summaries;
pub(super) mod system_prompts;
pub(super) mod todos;
pub(super) mod token_calibration;
pub(super) mod trees;
pub(super) mod visibility_marks;
