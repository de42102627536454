//! Operations of agents. Each builds mutations and commits them through the single write path of the store.
//!
//! A [`Loom`] is a store with the clock and ids of the host. An [`Actor`] is an agent that acts on it, with or without
//! a session. Its methods are the operations, one file each. This module enforces rules that need several rows or
//! define an operation. The store enforces what must hold for every row.

mod actor;
mod agents;
mod annotate;
mod append;
mod bookmarks;
mod changes_by_others;
mod conversations;
mod copy_move;
mod describe;
mod documents;
mod edit;
mod error;
mod find_by_name;
mod history;
mod journal_follower;
mod leases;
mod links;
mod loom;
mod memory;
mod merge;
mod navigate;
mod present_agents;
mod prune;
mod purge;
mod receive_messages;
mod resolve_node_id;
mod session_position;
mod sessions;
mod split;
mod split_parts;
mod summaries;
mod todos;
mod token_usage;
mod transaction;
mod trees;
mod undo;
mod work_items;

pub use actor::Actor;
pub use append::NodeDraft;
pub use changes_by_others::{ChangesByOthers, changes_by_others};
pub use conversations::BegunConversation;
pub use describe::{OpDescription, OpTarget, describe_entry};
pub use documents::DocumentEdit;
pub use error::{OpsError, Result};
pub use history::tree_history;
pub use journal_follower::JournalFollower;
pub use loom::Loom;
pub use navigate::{require_parent, require_visible, selected_version};
pub(crate) use present_agents::{AgentPresence, present_agents};
pub use sessions::SessionDraft;
pub use split::SplitAt;
pub use split_parts::{next_part, parts_after, parts_to};
pub use trees::TreeDraft;
pub use undo::UndoResult;
pub use work_items::{ITEM_SESSION_LIFETIME, SessionReset};
