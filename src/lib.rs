//! Storage and execution engine for branching conversations with language models: immutable nodes of trees in one SQLite file.
//!
//! Open a tree and stream three continuations of its first node:
//!
//! ```
//! use std::sync::Arc;
//!
//! use loomtree::prelude::*;
//!
//! #[tokio::main]
//! async fn main() -> loomtree::Result<()> {
//!     let folder = tempfile::tempdir()?;
//!     let loom = session::open(folder.path().join("trees.db"))?;
//!     let owner = loom.actor(&loom.agent("owner")?);
//!     let (_, root) = owner.create_tree(TreeDraft::new("Where could it begin?"))?;
//!     let model = Arc::new(Scripted::named("words")?);
//!     let request = GenerateRequest::new(root.id, loom.agent("subject")?, model, 3);
//!     let nodes = generate(&owner, request, |progress| {
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
//! [`provider::Scripted`] is a model that returns fixed replies. [`provider::open`] opens a real model by a reference such as
//! `ollama:llama3.2` or a URL, or discovers one.
//!
//! # Modules
//!
//! - [`prelude`] has the names that most applications use, and [`enum@Error`] takes the errors of all modules by `?`.
//! - [`ops::Loom`] is an open store with a clock and an id source; [`ops::Actor`] is an agent that works in it. The actor's
//!   methods are the operations: append, edit, annotate, prune, link, merge, split, undo and others.
//!   [`ops::Actor::transaction`] makes several of them one step.
//! - [`ops::Actor::run`] and [`ops::Loom::run`] are the asynchronous form of every operation and read, and
//!   [`ops::Loom::changes`] is a stream of the changes of every process.
//! - [`store::Snapshot`] reads paths, children, links, sessions and the journal. Each snapshot shows one point in time.
//! - [`session::generate()`] has models continue a node; [`session::open`] opens a file with default settings.
//! - [`types`] holds the records, [`id`] the ids, [`interchange`] import and export, [`context`] prompt assembly, [`provider`] the
//!   model clients.
//!
//! # Guarantees
//!
//! - A commit returns after its data is on disk. A change is applied completely or not at all.
//! - Content, author, parent and time of a node never change. An edit appends a node, and pruning hides nodes; only a purge
//!   removes content, and it leaves a tombstone.
//! - The library does not print, configure logging or hold global state. Everything below [`provider`] and [`session`] is
//!   synchronous and takes its clock and ids from the host.
//!
//! # Features
//!
//! A library sets `default-features = false` and adds what it needs: `net` for models of HTTP servers and web search,
//! `workspace` for tools that work in a folder, `local` for a model in the process (`provider::LoadedModel`), `tiktoken`
//! for exact token counts. The default features are those of the program `loom`: `cli`, `tui`, `net`, `serve`, `mcp`,
//! `workspace`.

// The files of the program name the library as an application does.
#[cfg(feature = "cli")]
extern crate self as loomtree;

pub mod arrow;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
pub mod context;
pub mod delegate;
mod error;
pub mod exec;
pub mod experiment;
#[cfg(all(any(test, fuzzing), feature = "cli", feature = "tui"))]
pub mod fuzz;
pub mod id;
pub mod interchange;
mod markdown_tokens;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod ops;
pub mod prelude;
pub mod provider;
pub mod recall;
#[cfg(feature = "serve")]
pub mod serve;
pub mod session;
pub mod session_state;
pub mod store;
mod text_index;
pub mod tokens;
pub mod tools;
#[cfg(feature = "tui")]
#[doc(hidden)]
pub mod tui;
mod turn;
pub mod types;
#[cfg(feature = "net")]
pub mod web;
mod web_page_files;
#[cfg(feature = "workspace")]
pub mod workspace;

pub use error::{Error, Result};
pub use serde_json; // arguments and schemas of tools are its values
