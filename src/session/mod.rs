//! Asynchronous driver of sessions: streams models, saves their replies, runs their commands, and defines the traits
//! that a host implements.

mod approval_request;
mod async_calls;
mod background_delegations;
mod delegation_interface;
mod delegation_report;
mod embed_query;
mod embedding_thread;
mod generate_error;
mod generate_request;
mod generation_driver;
mod generation_metadata;
mod generation_stream;
mod host_traits;
mod journal_stream;
mod model_request_task;
mod partial_reply_files;
mod prompt;
mod reply_commands;
mod result_metadata;
mod resume_session;
mod save_delegation_report;
mod save_reply;
mod seen_files;
mod session_host;
mod session_label;
mod side_conversation;
mod stats;
mod stored_calls;
pub mod system;
mod work_item_dispatch;

pub use approval_request::{Approval, ApprovalRequest, Decision, PermanentApprovals};
pub use background_delegations::BackgroundDelegations;
#[doc(hidden)] // for the program
pub use delegation_interface::{DelegationUpdate, Orchestrator, RunContext, UpdateSink};
pub use delegation_report::{DelegationReport, DelegationStatus, SubtaskReport, SubtaskStatus, SubtaskUsage};
pub use embed_query::{Embedding, embed_query};
pub use embedding_thread::EmbeddingIndexer;
pub use futures_util::future::BoxFuture;
pub use generate_error::GenerateError;
pub use generate_request::{GenerateRequest, HostTools, Progress, ToolAccess, ToolHandler};
pub use generation_driver::generate;
#[doc(hidden)] // for the program
pub use generation_metadata::GenerationMetadata;
#[cfg(feature = "serve")]
pub(crate) use generation_metadata::model_name;
pub use generation_stream::{GenerationStream, spawn};
pub use host_traits::{ModelResolver, Searcher};
pub use journal_stream::Changes;
pub use partial_reply_files::recover;
pub use prompt::context_of;
pub use resume_session::{Interruption, ResumedSession, resume};
pub use save_delegation_report::{save_report, saved_report};
pub use seen_files::SeenFiles;
#[doc(hidden)] // for the program
pub use session_host::provider_error;
pub use session_host::{ProgressSink, SessionHost, actor_at, actor_in_session};
pub use session_label::session_label;
pub(crate) use side_conversation::SideConversation;
pub use stats::{Stats, UsageByKey, UsageTotals, path_stats, stats};
pub use system::open;
pub use tokio_util::sync::CancellationToken;
pub use work_item_dispatch::{ConversationSettings, Dispatch, TokenStrategy, dispatch_item};
