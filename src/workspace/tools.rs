//! Tools of a workspace: their table, their handlers for one agent, and the functions that they share.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    allowlist::Allowlist,
    edit,
    environment::Environment,
    known_files::{AgentFiles, FileModified, KnownFile, WorkspaceState},
    list, read,
    run_command::{self, ProcessResult},
    sandbox_dir::SandboxDir,
    search, write,
};
use crate::{
    ops::OpsError,
    session::{Approval, ApprovalRequest, HostTools, SeenFiles, ToolHandler},
    tools::{ErrorCode, HostTool, ToolError},
    types::Permission,
};

/// Approximate maximum bytes of an answer. Each tool truncates its own answer and explains how to read the rest.
pub(super) const MAX_ANSWER_BYTES: usize = 10_000;

/// Table entry of a tool.
pub(super) struct WorkspaceTool {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) permission: Permission,
    pub(super) only_confirms: bool,
    pub(super) parameters: fn() -> Value,
    pub(super) run: fn(Arc<AgentFiles>, Value) -> BoxFuture<'static, Answer>,
}

pub(super) type Answer = Result<String, ToolError>;

/// All tools.
const TOOLS: &[&WorkspaceTool] =
    &[&read::TOOL, &write::TOOL, &edit::TOOL, &list::TOOL, &search::TOOL, &run_command::TOOL];

/// Folder that agents work in.
#[derive(Clone)]
pub struct Workspace(Arc<WorkspaceState>);

/// Approval rules and limits of a workspace.
#[derive(Clone)]
pub struct WorkspaceSettings {
    /// Actions that need no approval.
    pub allowlist: Allowlist,
    /// Asks the user for approval.
    pub approval: Arc<dyn Approval>,
    /// Environment of commands.
    pub environment: Environment,
    /// Time limit of a command that requests none.
    pub timeout: Duration,
}

impl WorkspaceSettings {
    /// Creates settings in which every change needs approval. Commands have two minutes and the default environment.
    #[must_use]
    pub fn new(approval: Arc<dyn Approval>) -> Self {
        let (allowed, environment) = (Allowlist::deny_all(), Environment::default());
        Self { allowlist: allowed, approval, environment, timeout: Duration::from_secs(120) }
    }
}

impl Workspace {
    /// Opens a folder.
    ///
    /// # Errors
    /// If the folder cannot be opened.
    pub fn open(path: impl AsRef<Path>, settings: WorkspaceSettings) -> io::Result<Self> {
        let root = SandboxDir::open(path.as_ref())?;
        Ok(Self(Arc::new(WorkspaceState { root, settings, files: Mutex::default() })))
    }

    /// Returns the tools for one agent; `who` is its name for other agents.
    #[must_use]
    pub fn tools(&self, who: &str) -> Vec<(HostTool, ToolHandler)> {
        self.tools_for(&self.agent_files(who))
    }

    fn tools_for(&self, files: &Arc<AgentFiles>) -> Vec<(HostTool, ToolHandler)> {
        let tools = TOOLS.iter().map(|tool| {
            let (run, files) = (tool.run, Arc::clone(files));
            let handler: ToolHandler = Box::new(move |arguments| run(Arc::clone(&files), arguments));
            let allowlist = &self.0.settings.allowlist;
            let is_command = tool.name == run_command::TOOL.name;
            // Lists show the first sentence, a planner the whole.
            let description = match allowlist.command_summary().filter(|_| is_command) {
                Some(summary) => {
                    let described = tool.description.replacen(". ", &format!("; {summary}. "), 1);
                    format!("{described} {}", Allowlist::command_rule())
                }
                None => tool.description.to_owned(),
            };
            let extra = HostTool {
                name: tool.name.to_owned(),
                description,
                parameters: (tool.parameters)(),
                permission: tool.permission,
                only_confirms: tool.only_confirms,
            };
            (extra, handler)
        });
        tools.collect()
    }

    pub(super) fn agent_files(&self, who: &str) -> Arc<AgentFiles> {
        Arc::new(AgentFiles { state: Arc::clone(&self.0), agent: who.to_owned(), seen: Mutex::default() })
    }

    /// Runs a command like the tool `run_command`, including approval.
    ///
    /// # Errors
    /// If the user refuses or the command cannot be started. A failed command is not an error.
    pub async fn run(&self, who: &str, command: &str, time: Option<Duration>) -> Result<ProcessResult, ToolError> {
        self.agent_files(who).run(command.to_owned(), time).await
    }

    /// Returns host tools that hold only the tools of this workspace.
    ///
    /// # Errors
    /// If a tool name is invalid; the names of the table are valid.
    pub fn host_tools(&self, who: &str) -> Result<HostTools, OpsError> {
        let files = self.agent_files(who);
        let tools = HostTools::default().seen_files(Arc::clone(&files) as Arc<dyn SeenFiles>);
        self.tools_for(&files).into_iter().try_fold(tools, |all, (tool, handler)| all.with(tool, handler))
    }

    /// Returns the files that were changed since the workspace was opened, by path.
    #[must_use]
    pub fn changed(&self) -> Vec<FileModified> {
        let changed = |(path, known): (&PathBuf, &KnownFile)| FileModified {
            path: path.clone(),
            created: known.created,
            by: known.by.clone(),
        };
        self.0.files().iter().map(changed).collect()
    }
}

impl AgentFiles {
    /// Asks the user for approval.
    pub(super) async fn ask(
        &self,
        tool: &WorkspaceTool,
        subject: &str,
        what: String,
        detail: String,
    ) -> Result<(), ToolError> {
        let (tool, subject) = (tool.name.to_owned(), subject.to_owned());
        let agent = Some(self.agent.clone());
        let request = ApprovalRequest { tool, subject, summary: what, details: detail, agent, node: None };
        self.state.settings.approval.ask(&request).await.into_result()
    }
}

/// Deserializes the arguments of a call, which the schema has validated.
pub(super) fn arguments<T: DeserializeOwned>(given: Value) -> Result<T, ToolError> {
    serde_json::from_value(given).map_err(|error| ToolError::new(ErrorCode::InvalidSyntax, error.to_string()))
}

/// Runs blocking file access on a blocking thread.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(ToolError::new(ErrorCode::Conflict, format!("the tool failed: {error}"))))
}

/// Formats a number of lines.
pub(super) fn lines(count: usize) -> String {
    crate::exec::counts::count(count as u64, "line")
}
