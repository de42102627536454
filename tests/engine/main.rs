//! Tests of the library, by subject. `tests/README.md` says where a test goes.

#[path = "../support/mod.rs"]
mod support;

mod anthropic;
mod arrow;
mod arrow_accuracy;
mod arrow_calls;
mod arrow_run;
mod arrow_scan;
mod arrow_tools;
mod async_calls;
mod commits;
mod context;
mod delegate;
mod edited_nodes;
mod experiments;
mod export_formats;
mod generate;
mod import_cases;
mod import_formats;
mod import_programs;
mod instructions;
mod interchange;
mod leases;
mod migrations;
mod properties;
mod provider;
mod purge;
mod recall;
mod recall_hint;
mod recall_replies;
mod recall_semantic;
mod received_turns;
mod session_figures;
mod session_state;
mod sessions;
mod stats;
mod stored_calls;
mod todos;
mod tokens;
mod transactions;
mod turn;
mod undo_descriptions;
mod web;
mod work_items;
mod workspace;
