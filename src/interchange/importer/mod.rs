//! Writer of foreign conversations: turns the records of a reader into trees, sessions and nodes.
//!
//! Each conversation becomes a tree with a root that contexts exclude, and a session with numbered turns. Every node has
//! its source in the table `sources`, so a repeated import finds it: an unchanged message is skipped, a changed one
//! becomes a version, a new one is appended. A tree is created with the first message, so an empty conversation leaves
//! nothing. Memory is bounded: older messages are looked up in the store.

mod conversation_writer;
mod lookup;
mod names;
mod open_conversation;
mod recent_keys;
mod session;
mod tree_root;
mod write_message;

pub(super) use conversation_writer::Importer;
