//! Interface through which a session delegates: the trait [`Orchestrator`], which module `delegate` implements, and the
//! progress events of a delegation. A session only starts delegations and waits for their reports.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::DelegationReport;
use crate::{
    id::{LocalId, NodeId},
    ops::Actor,
    tools::ToolError,
    types::Permissions,
};

/// Delegation to run, and its caller.
#[derive(Clone)]
pub struct RunContext {
    /// Agent that delegated, in its session.
    pub actor: Actor,
    /// Head node, as created by [`Orchestrator::create`].
    pub delegation: NodeId,
    /// Stops the run. Results so far are saved, and a later run can resume the delegation.
    pub cancel: CancellationToken,
    /// Receives progress events.
    pub on_update: UpdateSink,
    /// Permissions that no worker has, whatever its profile says.
    pub withheld: Permissions,
}

impl RunContext {
    /// Creates the context of a run that withholds no permission.
    #[must_use]
    pub fn new(actor: Actor, delegation: NodeId, cancel: CancellationToken, on_update: UpdateSink) -> Self {
        Self { actor, delegation, cancel, on_update, withheld: Permissions::default() }
    }
}

/// Callback for progress events of a delegation. It must not block.
pub type UpdateSink = Arc<dyn Fn(DelegationUpdate) + Send + Sync>;

/// Progress event of a delegation. `task` is the index of a subtask in the plan, from 0.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum DelegationUpdate {
    /// The planner was asked for a plan.
    Planning {
        /// Local id of the head node, which a resume takes.
        delegation: LocalId,
        /// Reference of the planner's model.
        model: String,
    },
    /// A valid plan exists.
    Planned {
        /// Local id of the head node, which a resume takes.
        delegation: LocalId,
        /// Titles of the subtasks.
        subtasks: Vec<String>,
    },
    /// A worker started an attempt at a subtask.
    Started {
        /// Index of the subtask.
        task: usize,
        /// Title of the subtask.
        title: String,
        /// Number of the attempt, from 1.
        attempt: u32,
        /// First node of the subtask's branch.
        branch: LocalId,
        /// Reference of the worker's model.
        model: String,
    },
    /// A worker ran a command.
    Ran {
        /// Index of the subtask.
        task: usize,
        /// Command as an arrow line.
        line: String,
        /// True if the command succeeded.
        ok: bool,
    },
    /// An attempt was verified, or it failed.
    Verdict {
        /// Index of the subtask.
        task: usize,
        /// Title of the subtask.
        title: String,
        /// True if the result passed verification.
        passed: bool,
        /// Reason of the verdict, or the error.
        why: String,
    },
    /// A subtask is skipped because a dependency failed.
    Skipped {
        /// Index of the subtask.
        task: usize,
        /// Title of the subtask.
        title: String,
        /// Title of the dependency.
        needs: String,
    },
    /// A delegation in the background has ended and its report is saved.
    Ended {
        /// Local id of the head node.
        delegation: LocalId,
        /// True if every subtask is verified.
        completed: bool,
        /// Report, or the error.
        report: String,
    },
}

/// Interface of a component that creates and runs delegations. It takes no part in the turns of the session that delegates.
pub trait Orchestrator: Send + Sync {
    /// Creates a delegation as a head node below `parent` and returns that node. The decisions and constraints of the
    /// actor's session are stored with it. Nothing runs before [`Orchestrator::run`].
    ///
    /// # Errors
    /// If the goal is empty or too long, the actor has no session, or the store fails.
    fn create(&self, actor: &Actor, parent: NodeId, goal: &str, context: &str) -> Result<NodeId, ToolError>;

    /// Runs or resumes a delegation until it ends or is cancelled. Verified subtasks are not repeated. The report shows
    /// the status of every subtask, including failed and unfinished ones.
    ///
    /// # Errors
    /// If there is no valid plan, the user refuses the plan, another process runs the delegation, or the store fails.
    fn run(&self, run: RunContext) -> BoxFuture<'_, Result<DelegationReport, ToolError>>;
}
