//! The executor of commands, shared by every front end. It checks permissions and limits, calls the operations of
//! [`crate::ops`] and formats the replies.
//!
//! An [`Executor`] runs commands as one agent in one session. Each command returns a [`CommandReply`]: text for a
//! model, in the formats that `docs/arrow.md` shows, or an error with its code. The lines of a batch see the changes of
//! the lines before them, and a failed line does not stop the others, except that after a failed `switch` only lines
//! run that do not depend on the position. Only the lines passed in are run: content,
//! documents and results are data.
//!
//! The executor is synchronous. It calls models, services and host tools through the [`Host`].

mod agent_tree_change;
mod answer;
mod author_names;
mod authorize;
#[cfg(any(feature = "tui", feature = "serve"))]
pub(crate) mod authorship;
mod command_reply;
mod commit_tree_change;
#[cfg(feature = "serve")]
pub(crate) mod completion;
mod continue_command;
pub mod counts;
mod delegate_command;
mod diff;
mod documents;
pub mod escape;
mod executor;
mod extractive_summary;
mod help;
mod host_interface;
mod host_tool;
mod list;
mod list_changes;
mod llm_summary;
mod memory;
pub mod node_format;
mod node_reference;
#[cfg(any(feature = "tui", feature = "serve"))]
pub(crate) mod outline;
mod paginate_result;
mod recall;
mod request;
mod respond_command;
mod run_batch;
mod switch;
mod think_and_decide;
mod todo;
mod tool_errors;
mod trace;
mod tree;
mod undo;
mod view;
mod web_search;
pub(crate) mod word_diff;

use answer::AnswerResult;
pub use answer::{Answer, TreeChange};
#[doc(hidden)] // for prompts
pub use author_names::AuthorNames;
pub use authorize::ExecRights;
pub use command_reply::{CommandReply, Outcome};
#[doc(hidden)] // for the program
pub use commit_tree_change::{NodeResolver, commit};
pub use executor::Executor;
use executor::Position;
pub use host_interface::{ContinueRequest, DelegateRequest, Delegated, Host, NoHost};
pub(crate) use host_tool::read_line;
#[doc(hidden)] // for prompts
pub use list_changes::is_change;
#[doc(hidden)] // for the program
pub(crate) use memory::stashed_line;
pub use memory::{block as memory_block, pinned};
#[doc(hidden)] // for the program
pub use recall::session_summary;
pub use request::{ExecRequest, read};
#[doc(hidden)] // for the program
pub use todo::{named as todo_name, progress as todo_progress};
#[doc(hidden)] // for the program
pub use trace::{RecentActions, recent_actions};
