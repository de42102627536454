//! The engine under conversations that branch: a tree of immutable nodes in one SQLite file.
//!
//! Open a tree and stream three continuations of its first words:
//!
//! ```
//! use std::sync::Arc;
//!
//! use loomtree::{
//!     model::Mode,
//!     ops::Draft,
//!     provider::Scripted,
//!     session::{self, Plan, Progress},
//! };
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let folder = tempfile::tempdir()?;
//!     let loom = session::open(folder.path().join("trees.db"))?;
//!     let owner = loom.actor(&loom.agent("owner")?);
//!     let (_, root) = owner.create_tree(None, Mode::Dialogue, None, Draft::text("Where could it begin?"))?;
//!     let model = Arc::new(Scripted::named("words")?);
//!     let plan = Plan::new(root.id, loom.agent("subject")?, model, 3);
//!     let nodes = session::generate(&owner, plan, |progress| {
//!         if let Progress::Text { index, text } = progress {
//!             println!("{index}: {text}");
//!         }
//!     })
//!     .await?;
//!     assert_eq!(nodes.len(), 3); // each is saved as a node under the root
//!     Ok(())
//! }
//! ```
//!
//! [`provider::Scripted`] is a model that says what a script says. A real one comes from [`provider::open`], by a
//! reference such as `ollama:llama3.2` or a URL, or by looking for one.
//!
//! # What is where
//!
//! - [`ops::Loom`] is an open store with a clock and a source of ids; [`ops::Actor`] is an agent at work in it. The
//!   actor's methods are the operations: append, edit, annotate, prune, link, merge, split, undo and so on.
//! - [`store::Snapshot`] reads: paths, children, links, sessions, the journal. Each is a view of one moment.
//! - [`session::generate()`] has models continue a node; [`session::open`] opens a file as most programs want it.
//! - [`model`] holds the records, [`id`] the ids, [`archive`] import and export, [`context`] what a model is shown,
//!   [`provider`] the models.
//!
//! # What holds
//!
//! - When a commit returns, it is on disk. A change is made whole or not at all.
//! - A node's words, author, parent and time never change. An edit is another node; pruning hides; only a purge
//!   removes content, and it leaves a tombstone.
//! - Nothing here prints, sets up logging or holds global state. Everything below [`provider`] and [`session`] is
//!   synchronous, and takes its clock and ids from the host.
//!
//! The features: `cli` (on by default) is what the program `loom` needs, `tui` (on too) its screen; `local` evaluates a model
//! in the process (`provider::Local`); `workspace` has tools for work in a folder. A library sets
//! `default-features = false`.

pub mod agent;
pub mod archive;
pub mod arrow;
pub mod context;
pub mod delegate;
pub mod id;
pub mod ops;
pub mod provider;
pub mod recall;
pub mod session;
pub mod session_state;
pub mod store;
pub mod text_index;
pub mod tokens;
pub mod tools;
#[cfg(feature = "tui")]
pub mod tui;
pub mod types;
pub mod web;
#[cfg(feature = "workspace")]
pub mod workspace;
