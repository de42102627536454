//! Recall: full-text search of the archive.
//!
//! All interfaces (arrow lines, the CLI, a host's code) share three operations: [`search`] ranks nodes by the words of
//! a query, [`turns`] lists turns of a session, [`tool_results`] lists results of a tool. Results are never rewritten.
//! Any text is a valid query: its words come from the tokenizer of the index (`text_index`). A
//! query without words is searched literally.

mod answer_type;
mod boosts;
mod call_lines;
mod demote_seen;
mod embedder;
mod excerpt;
mod highlight;
mod hint;
mod hit_filter;
mod matching;
mod missing_embeddings;
mod neighbors;
mod query;
mod query_embedding;
mod query_parser;
mod rank;
mod search;
mod search_filter;
mod synonyms;
mod time_spec;
mod tool_results;
mod turns;

pub(crate) use self::call_lines::{
    call_excerpt, calls_with_ids, calls_within, tool_call_summary, unnamed_call, whole_calls,
};
pub(crate) use self::excerpt::{cut_at, end_of, failure_excerpt};
pub(crate) use self::matching::written_words;
pub(crate) use self::neighbors::is_empty;
pub(crate) use self::tool_results::{count_programs, failed_exit, failed_exit_code, is_failure, last_exit_code};
pub(crate) use self::turns::set_received_turn;
pub use self::{
    call_lines::calls,
    embedder::{EmbedError, Embedder},
    excerpt::excerpt,
    highlight::highlights,
    hint::{Hint, HintWindow, References},
    matching::{Counts, count},
    missing_embeddings::embed,
    neighbors::{DEFAULT_NEIGHBORS, around},
    query::{Hit, Query, SearchResults},
    query_embedding::QueryEmbedding,
    search::{search, search_with},
    search_filter::{Author, Branch, Filter, Scope},
    time_spec::{ParseTimeError, TimeSpec},
    tool_results::{ToolQuery, ToolResults, find_tool_results, tool_names, tool_results},
    turns::turns,
};
use crate::ops::OpsError;

type Result<T> = std::result::Result<T, OpsError>;
