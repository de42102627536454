//! Asynchronous driver of sessions: streams models, saves their replies, runs their commands, and defines the traits
//! that a host implements.

mod approval;
mod async_calls;
mod background_delegations;
mod command_batch;
mod delegation_report;
mod dispatch;
mod embedding_indexer;
mod generate;
mod generate_request;
mod generation_metadata;
mod generation_stream;
mod host;
mod journal_stream;
mod model_request_task;
mod orchestrator;
mod partial_replies;
mod prompt;
mod query_embedding;
mod result_metadata;
mod resume;
mod save_reply;
mod side_conversation;
mod stats;
mod stored_calls;
pub mod system;

pub use approval::{Approval, ApprovalRequest, Decision, PermanentApprovals};
pub use background_delegations::BackgroundDelegations;
#[doc(hidden)] // for the program
pub use background_delegations::{save_report, saved_report};
pub use delegation_report::{DelegationReport, DelegationStatus, SubtaskReport, SubtaskStatus, SubtaskUsage};
pub use dispatch::{ConversationSettings, Dispatch, TokenStrategy, dispatch_item};
pub use embedding_indexer::EmbeddingIndexer;
pub use futures_util::future::BoxFuture;
pub use generate::generate;
pub use generate_request::{
    GenerateError, GenerateRequest, HostTools, ModelResolver, Progress, Searcher, ToolAccess, ToolHandler,
};
#[doc(hidden)] // for the program
pub use generation_metadata::GenerationMetadata;
#[cfg(feature = "serve")]
pub(crate) use generation_metadata::model_name;
pub use generation_stream::{GenerationStream, spawn};
#[doc(hidden)] // for the program
pub use host::provider_error;
pub use host::{ProgressSink, SessionHost, actor_at, actor_in_session};
pub use journal_stream::Changes;
pub use orchestrator::{DelegationUpdate, Orchestrator, RunContext, UpdateSink};
pub use partial_replies::recover;
pub use prompt::context_of;
pub use query_embedding::{Embedding, embed_query};
pub use resume::{Interruption, ResumedSession, opening, resume};
pub(crate) use side_conversation::SideConversation;
pub use stats::{Stats, UsageByKey, UsageTotals, path_stats, stats};
pub use system::open;
pub use tokio_util::sync::CancellationToken;
