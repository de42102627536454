//! Context assembly: selects and renders the part of a tree that a model sees.
//!
//! [`assemble`] turns a position in a tree into a prompt and a report of its included and omitted parts. It is a pure
//! function of a snapshot, an agent, a budget and a time: equal input gives equal bytes. The cost depends on the window
//! and not on the size of the tree. The path is read backwards in chunks until the window is full, and every other
//! section has a limit.
//!
//! Sections come in this order:
//!
//! | section | `live` | `stable` |
//! | --- | --- | --- |
//! | system prompts of the agent and the tree; instructions for aware agents | first | first |
//! | session state, operational memory | after them | after the conversation |
//! | conversation, with a header per node; command results of this turn after their requests | next | next |
//! | ambient block | next | last but one |
//! | message to answer, if it is off the path or is the newest node | last | last |
//!
//! An agent without the `loom_aware` permission gets only the system prompts and the conversation without headers.
//!
//! **`stable` needs no record of earlier prompts.** The beginning of a stable prompt depends only on immutable facts: a
//! node's header has its author and creation time and no counts. Later changes appear in the ambient block. A full
//! window starts at a node that follows from the depths and lengths of the nodes and moves by up to a quarter at once
//! (half, if it is small); see `window.rs`. Two processes, or one process after a restart, therefore build the same prefix. The cost: a node
//! that was imported with notes is shown without their count, which only the ambient block mentions.
//!
//! **Own commands** are shown as written within their turn, and as one line afterwards; see `past_commands.rs`. Results of
//! host tools stay in the conversation.
//!
//! **Long results** are shortened in four places, from the producer to the prompt:
//!
//! 1. `CapturedOutput` of `workspace/child_process.rs` keeps the beginning and the end of a program's output. The middle
//!    is lost.
//! 2. `exec/paginate_result.rs` cuts the result of a command into pages. The agent reads the next page by a command.
//! 3. `fit_result` of `command_rounds.rs` replaces a result of the current turn that exceeds the budget by a note.
//! 4. `shorten_result` of `past_host_results.rs` cuts the middle out of a host tool's result of an earlier turn. The store
//!    has the whole result.

mod ambient;
mod assemble;
mod command_rounds;
mod cut_middle;
mod error;
mod memory;
mod node_renderer;
mod options;
mod past_commands;
mod past_host_results;
mod path;
mod prompt_piece;
mod rendered_nodes;
mod report;
mod window;

pub use assemble::{AssembledPrompt, ContextRequest, assemble};
pub use command_rounds::{CommandResult, CommandRound};
pub use error::ContextError;
pub use options::{ContextOptions, DEFAULT_WINDOW_TOKENS, Rendering, Strategy};
pub use report::{ContextReport, ContextSection, Inclusion, NodeReport, OmissionReason, PinReport};
