//! Words for full-text search: the tokenizer that cuts texts and queries into index words, and its word lists.
//!
//! The store indexes nodes with it, recall reads queries with it, so both produce the same words. The index itself (SQL)
//! is part of the store, ranking is part of [`crate::recall`].

mod spelling;
mod stopwords;
mod tokenizer;
mod tool_call_text;

pub(crate) use stopwords::is_stopword;
pub(crate) use tokenizer::{MAX_PASSAGES, Passage, TOKENIZER_VERSION, WordTokenizer, is_unspaced_script};
pub(crate) use tool_call_text::{call_text, command_text, has_recall_call, is_lookup_result};
