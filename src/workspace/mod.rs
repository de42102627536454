//! Tools for work in a folder: an agent reads, writes, edits, lists and searches files and runs commands.
//!
//! They are host tools ([`crate::session::HostTools`]), declared in one table. Each is available as an arrow line (`→
//! read_file path:"src/main.rs"`) and through the provider's tool-call API.
//!
//! - **Confined.** Tools reach only files below the folder, whatever their paths contain (`root.rs`).
//! - **Approved.** The user approves each change ([`Approval`]) unless a pattern of [`Allowlist`] covers it. Reading
//!   needs no approval.
//! - **Separate per agent.** Each concurrent agent has its own [`Workspace::tools`]. An agent cannot overwrite a file
//!   that another agent changed since it read the file; the error names the other agent.
//! - **Atomic.** A write replaces the whole file or leaves it unchanged.
//! - **Bounded.** Long answers are truncated, with a line that explains how to read the rest.
//!
//! Commands are not confined: they have the rights of the user. They run in the folder, without secrets, with a time
//! limit, and after approval. Stronger isolation needs a container.

mod allowlist;
mod command;
mod edit;
mod environment;
mod list;
#[cfg(target_os = "linux")]
mod orphan_processes;
mod process;
mod read;
mod root;
mod search;
mod walk;
mod worker_tools;
mod write;

use std::{
    collections::{BTreeMap, HashMap},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

pub(crate) use self::process::{kill_group, shell};
use self::root::{FileContent, SandboxDir};
pub use self::{allowlist::Allowlist, command::ProcessResult, environment::Environment};
use crate::{
    ops::OpsError,
    session::{Approval, ApprovalRequest, HostTools, ToolHandler},
    tools::{ErrorCode, HostTool, ToolError},
    types::Permission,
};
use futures_util::future::BoxFuture;

/// Approximate maximum bytes of an answer. Each tool truncates its own answer and explains how to read the rest.
const MAX_ANSWER_BYTES: usize = 10_000;

/// Table entry of a tool.
struct WorkspaceTool {
    name: &'static str,
    description: &'static str,
    permission: Permission,
    only_confirms: bool,
    parameters: fn() -> Value,
    run: fn(Arc<AgentFiles>, Value) -> BoxFuture<'static, Answer>,
}

type Answer = Result<String, ToolError>;

/// All tools.
const TOOLS: &[&WorkspaceTool] = &[&read::TOOL, &write::TOOL, &edit::TOOL, &list::TOOL, &search::TOOL, &command::TOOL];

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

struct WorkspaceState {
    root: SandboxDir,
    settings: WorkspaceSettings,
    files: Mutex<BTreeMap<PathBuf, KnownFile>>,
}

/// Last change of a file by an agent of this workspace.
struct KnownFile {
    hash: blake3::Hash,
    by: String,
    created: bool,
}

/// File that was changed through the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FileModified {
    /// Path relative to the folder.
    pub path: PathBuf,
    /// True if the workspace created the file.
    pub created: bool,
    /// Agent of the last change.
    pub by: String,
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
        let files = self.agent_files(who);
        let tools = TOOLS.iter().map(|tool| {
            let (run, files) = (tool.run, Arc::clone(&files));
            let handler: ToolHandler = Box::new(move |arguments| run(Arc::clone(&files), arguments));
            let extra = HostTool {
                name: tool.name.to_owned(),
                description: tool.description.to_owned(),
                parameters: (tool.parameters)(),
                permission: tool.permission,
                only_confirms: tool.only_confirms,
            };
            (extra, handler)
        });
        tools.collect()
    }

    fn agent_files(&self, who: &str) -> Arc<AgentFiles> {
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
        self.tools(who).into_iter().try_fold(HostTools::default(), |all, (tool, handler)| all.with(tool, handler))
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

impl WorkspaceState {
    fn files(&self) -> MutexGuard<'_, BTreeMap<PathBuf, KnownFile>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// View of one agent on the folder.
struct AgentFiles {
    state: Arc<WorkspaceState>,
    agent: String,
    /// Hash of each file at the agent's last read or write.
    seen: Mutex<HashMap<PathBuf, blake3::Hash>>,
}

impl AgentFiles {
    fn root(&self) -> &SandboxDir {
        &self.state.root
    }

    fn record_read(&self, path: &Path, hash: blake3::Hash) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), hash);
    }

    fn last_read_hash(&self, path: &Path) -> Option<blake3::Hash> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).get(path).copied()
    }

    /// Returns the other agent that last changed a file, if the file still has that content.
    fn modified_by(&self, path: &Path, now: &FileContent) -> Option<String> {
        let files = self.state.files();
        files.get(path).filter(|known| known.hash == now.hash && known.by != self.agent).map(|known| known.by.clone())
    }

    /// Asks the user for approval.
    async fn ask(&self, tool: &WorkspaceTool, subject: &str, what: String, detail: String) -> Result<(), ToolError> {
        let (tool, subject) = (tool.name.to_owned(), subject.to_owned());
        let agent = Some(self.agent.clone());
        let request = ApprovalRequest { tool, subject, summary: what, details: detail, agent, node: None };
        self.state.settings.approval.ask(&request).await.into_result()
    }

    /// Writes an approved change if the file still has the hash `before`; returns a conflict otherwise.
    fn write_if_unchanged(&self, path: &Path, before: Option<blake3::Hash>, bytes: &[u8]) -> Result<(), ToolError> {
        // The lock covers check and write, so that concurrent agents do not overwrite each other.
        let mut files = self.state.files();
        let now = self.root().content_if_any(path)?.map(|content| content.hash);
        if now != before {
            let message = format!("{} was changed at the same moment; nothing was written", root::display_path(path));
            return Err(ToolError::new(ErrorCode::Conflict, message).hint(reread_hint(path)));
        }
        let hash = self.root().replace_file(path, bytes)?;
        let created = before.is_none() || files.get(path).is_some_and(|known| known.created);
        files.insert(path.to_owned(), KnownFile { hash, by: self.agent.clone(), created });
        drop(files);
        self.record_read(path, hash);
        Ok(())
    }
}

/// Hint that shows how to read the file again.
fn reread_hint(path: &Path) -> String {
    format!("→ read_file path:\"{}\"", root::display_path(path))
}

/// Deserializes the arguments of a call, which the schema has validated.
fn arguments<T: DeserializeOwned>(given: Value) -> Result<T, ToolError> {
    serde_json::from_value(given).map_err(|error| ToolError::new(ErrorCode::InvalidSyntax, error.to_string()))
}

/// Runs blocking file access on a blocking thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(ToolError::new(ErrorCode::Conflict, format!("the tool failed: {error}"))))
}

/// Formats a number of lines.
fn lines(count: usize) -> String {
    crate::exec::escape::count(count as u64, "line")
}
