//! Tests of the program `loom`, by subject. `tests/README.md` says where a test goes.

#![cfg(feature = "cli")]

#[path = "../support/mod.rs"]
mod support;

#[cfg(unix)]
mod chat;
mod cli;
mod cli_commands;
mod cli_context;
mod cli_do;
mod cli_doctor;
mod cli_files;
mod cli_local;
mod cli_models;
mod cli_sessions;
mod cli_stats;
mod clients;
mod delegate_terminal;
#[cfg(all(feature = "workspace", feature = "tui", feature = "mcp", feature = "serve", unix))]
mod delegation_consent;
mod demo;
#[cfg(all(feature = "workspace", feature = "serve", feature = "mcp", unix))]
mod docs;
#[cfg(all(feature = "workspace", feature = "tui", unix))]
mod entry_points;
#[cfg(all(feature = "workspace", unix))]
mod experiments;
mod long_chat;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "mcp")]
mod mcp_features;
#[cfg(all(feature = "mcp", feature = "serve"))]
mod mcp_http;
#[cfg(feature = "serve")]
mod open_responses;
#[cfg(feature = "serve")]
mod page;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "serve")]
mod serve_access;
#[cfg(feature = "serve")]
mod serve_archive;
#[cfg(feature = "serve")]
mod serve_attacks;
#[cfg(feature = "serve")]
mod serve_cancellation;
#[cfg(feature = "serve")]
mod serve_delegations;
#[cfg(feature = "serve")]
mod serve_docs;
#[cfg(feature = "serve")]
mod serve_items;
#[cfg(feature = "serve")]
mod serve_openai;
mod tui_terminal;
