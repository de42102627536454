//! Import and export of conversations.
//!
//! An import streams its file: memory does not grow with the file, except for the ids of a foreign format and
//! for chat messages that stand one a line without a conversation around them. Lines are
//! parsed while earlier ones are committed. An import is idempotent: existing items are skipped. Malformed items are
//! reported with their line and skipped.

mod basemode;
mod bounded_reader;
mod chatgpt;
mod claude_ai;
mod claude_code;
mod codex;
mod content;
mod cursor;
mod database_rows;
mod detect;
mod exoloom;
pub mod export;
mod foreign_databases;
mod format;
mod gemini;
mod goose;
mod import;
mod importer;
mod json_entries;
mod json_trees;
pub mod jsonl;
mod librechat;
mod lines;
mod llama_app;
mod llm_cli;
mod loomsidian;
mod markdown_chat;
mod nested_json;
mod open_webui;
mod openai_chat;
mod opencode;
mod pi_agent;
mod pyloom;
mod silly_tavern;
mod source_record;
mod topological_order;
mod write_batch;
mod zed;
#[cfg(any(feature = "cli", feature = "serve"))]
mod zip_export;
mod zstd;

pub use detect::{HEAD_BYTES as DETECTED_BYTES, format as detect};
pub use foreign_databases::{SQLITE_MAGIC, detect_database};
pub use format::Format;
pub use import::{
    ImportOptions, Imported, InterchangeError, detect_path, import, import_database, import_path, import_with,
    is_source_folder,
};
use importer::Importer;
use lines::{SourceLine, SourceLines};
#[cfg(any(feature = "cli", feature = "serve"))]
pub use zip_export::{MAGIC as ZIP_MAGIC, import_zip};

pub use crate::recall;
