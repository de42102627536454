//! Limits of commands: one constant each for the table of arguments, the binder and the executor.

/// The maximum number of lines in a batch.
pub const MAX_BATCH_LINES: usize = 32;
/// The maximum number of continuations of one `continue`.
pub(crate) const MAX_CONTINUATIONS: u32 = 10;
/// The maximum number of levels that `tree` draws.
pub(crate) const MAX_TREE_DEPTH: u32 = 50;
/// The maximum number of results of one `search`.
pub(crate) const MAX_SEARCH_RESULTS: u32 = 10;
/// The maximum number of operations that one `undo` or `redo` covers.
pub(crate) const MAX_UNDO_STEPS: u32 = 50;
/// The maximum size of a command's content in bytes: 1 MiB.
pub const MAX_CONTENT_BYTES: usize = 1 << 20;
/// The tokens of a reply if the host sets no other limit. A longer reply is cut and can be paged.
pub const DEFAULT_REPLY_TOKENS: u32 = 1_000;
