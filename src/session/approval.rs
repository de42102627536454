//! A person's consent to what an agent is about to do.

use futures_util::future::BoxFuture;

use crate::arrow::run::{ErrorCode, ToolError};

/// What an agent is about to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRequest {
    /// The tool that it asks for.
    pub tool: String,
    /// What a person may allow for good, for this tool alone: a file or a command; empty if every call is asked about.
    pub subject: String,
    /// What it would do, on one line. Content: a face shows it sanitised.
    pub summary: String,
    /// All of it: the command, the change of a file, the plan. Content as well; may be empty.
    pub details: String,
}

/// What a person says to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It may be done.
    Yes,
    /// It may not; why, if they say so. The agent is told.
    No(Option<String>),
}

impl Decision {
    /// What the agent is told of a refusal.
    ///
    /// # Errors
    /// If it is one: `CANCELLED`, with the reason.
    pub fn into_result(self) -> Result<(), ToolError> {
        match self {
            Self::Yes => Ok(()),
            Self::No(None) => Err(ToolError::new(ErrorCode::Cancelled, "it was refused")),
            Self::No(Some(why)) => Err(ToolError::new(ErrorCode::Cancelled, format!("it was refused: {why}"))),
        }
    }
}

/// Who is asked. Several may be asked at once, by agents that work beside each other.
pub trait Approval: Send + Sync {
    /// Asks. The future is dropped if the answer is of no use any more.
    fn ask<'a>(&'a self, asking: &'a ApprovalRequest) -> BoxFuture<'a, Decision>;
}

/// One answer to everything.
impl Approval for Decision {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        Box::pin(async { self.clone() })
    }
}
