//! The commands, one for each file: `Args` is parsed by clap, `run` executes the command. `change.rs` has those that only
//! change the tree.

mod agents;
mod archive;
mod backup;
mod change;
mod chat;
mod completions;
mod config;
mod context;
mod continue_;
mod default;
mod delegate;
mod demo;
mod do_;
mod docs;
mod doctor;
mod experiment_run;
mod export;
mod export_formats;
mod import;
mod import_sources;
mod log;
mod man;
#[cfg(feature = "mcp")]
mod mcp;
mod models;
#[cfg(feature = "local")]
mod models_fetch;
#[cfg(not(feature = "local"))]
#[path = "models_fetch_unsupported.rs"]
mod models_fetch;
mod new;
#[cfg(feature = "serve")]
mod open;
mod parse;
mod purge;
mod rebuild;
mod recall;
mod rename;
mod resume;
mod sample;
mod say;
mod score;
#[cfg(feature = "serve")]
mod serve;
mod sessions;
mod stats;
mod subcommands;
mod switch;
mod table;
mod transfer;
mod tree;
mod trees;
#[cfg(feature = "tui")]
mod tui;
mod undo;
mod verify;
mod view;

#[cfg(feature = "mcp")]
pub(crate) use mcp::run as serve_mcp;
pub(crate) use subcommands::{CliCommand, run};
