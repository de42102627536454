//! Tools for work in a folder: an agent reads, writes and edits files, lists and searches them, and runs commands.
//!
//! They are tools of the program around the engine, as any program can bring them along ([`crate::session::HostTools`]):
//! each is a line (`→ read_file path:"src/main.rs"`) and a provider's own tool. They come from one table.
//!
//! - **Confined.** Files are only those below the folder, whatever their paths say (`root.rs`).
//! - **Asked about.** What changes something is shown to a person first ([`Approval`]), unless a pattern of [`Allowlist`]
//!   says that this may be done. Looking is never asked about.
//! - **Each with hands of its own.** Agents that work beside each other get [`Workspace::tools`] each. A file that one of
//!   them changed since another one read it is not overwritten by that one, which is told who did it.
//! - **Whole.** A file is replaced by a new one or stays as it is.
//! - **Short.** What is long is cut, with a line that says how the rest is seen.
//!
//! A command is no file: it can do what its user can do. It runs in the folder, without keys, for a time, and only as far
//! as it was allowed; more is the business of containers.

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

use self::root::{FileContent, SandboxDir};
pub use self::{allowlist::Allowlist, command::ProcessResult, environment::Environment};
use crate::{
    arrow::run::{ErrorCode, HostTool, ToolError},
    session::{Approval, ApprovalRequest, BoxFuture, HostTools, ToolHandler},
    types::Permission,
};

/// Bytes of an answer, about: what is longer is cut by the tool, which knows how the rest is asked for.
const MAX_ANSWER_BYTES: usize = 10_000;

/// A tool as the table has it.
struct WorkspaceTool {
    name: &'static str,
    description: &'static str,
    permission: Permission,
    parameters: fn() -> Value,
    run: fn(Arc<AgentFiles>, Value) -> BoxFuture<'static, Answer>,
}

type Answer = Result<String, ToolError>;

/// Every tool.
const TOOLS: &[&WorkspaceTool] = &[&read::TOOL, &write::TOOL, &edit::TOOL, &list::TOOL, &search::TOOL, &command::TOOL];

/// A folder to work in.
#[derive(Clone)]
pub struct Workspace(Arc<WorkspaceState>);

/// What may be done in a folder, and who is asked about the rest.
#[derive(Clone)]
pub struct WorkspaceSettings {
    /// What is done unasked.
    pub allowlist: Allowlist,
    /// Who is asked.
    pub approval: Arc<dyn Approval>,
    /// What commands find in their environment.
    pub environment: Environment,
    /// How long a command may take that asks for no time of its own.
    pub timeout: Duration,
}

impl WorkspaceSettings {
    /// The usual: everything that changes something is asked about; commands have two minutes and an empty environment.
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

/// What is known of a file that was changed here.
struct KnownFile {
    hash: blake3::Hash,
    by: String,
    created: bool,
}

/// A file that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileModified {
    /// Its path from the folder.
    pub path: PathBuf,
    /// Whether it was not there before.
    pub created: bool,
    /// Whose hands changed it last.
    pub by: String,
}

impl Workspace {
    /// A folder to work in.
    ///
    /// # Errors
    /// If the folder cannot be opened.
    pub fn open(path: impl AsRef<Path>, settings: WorkspaceSettings) -> io::Result<Self> {
        let root = SandboxDir::open(path.as_ref())?;
        Ok(Self(Arc::new(WorkspaceState { root, settings, files: Mutex::default() })))
    }

    /// The tools for one agent at work, named for the others.
    #[must_use]
    pub fn tools(&self, who: &str) -> Vec<(HostTool, ToolHandler)> {
        let hand = self.agent_files(who);
        let made = TOOLS.iter().map(|tool| {
            let (run, hand) = (tool.run, Arc::clone(&hand));
            let handler: ToolHandler = Box::new(move |arguments| run(Arc::clone(&hand), arguments));
            let extra = HostTool {
                name: tool.name.to_owned(),
                description: tool.description.to_owned(),
                parameters: (tool.parameters)(),
                permission: tool.permission,
            };
            (extra, handler)
        });
        made.collect()
    }

    fn agent_files(&self, who: &str) -> Arc<AgentFiles> {
        Arc::new(AgentFiles { state: Arc::clone(&self.0), agent: who.to_owned(), seen: Mutex::default() })
    }

    /// Runs a command as the tool `run_command` does, asking like that.
    ///
    /// # Errors
    /// If it was refused, or cannot be started. How it ended is none.
    pub async fn run(&self, who: &str, command: &str, time: Option<Duration>) -> Result<ProcessResult, ToolError> {
        self.agent_files(who).run(command.to_owned(), time).await
    }

    /// A toolbox of nothing else.
    ///
    /// # Errors
    /// Never, as long as the table's names are names.
    pub fn host_tools(&self, who: &str) -> Result<HostTools, String> {
        self.tools(who).into_iter().try_fold(HostTools::default(), |all, (tool, handler)| all.with(tool, handler))
    }

    /// The files that were changed since it was opened, by path.
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

/// One agent's hands in the folder.
struct AgentFiles {
    state: Arc<WorkspaceState>,
    agent: String,
    /// The files that it saw, as they were then.
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

    /// Who else made a file what it is now, as far as that is known.
    fn modified_by(&self, path: &Path, now: &FileContent) -> Option<String> {
        let files = self.state.files();
        files.get(path).filter(|known| known.hash == now.hash && known.by != self.agent).map(|known| known.by.clone())
    }

    /// Asks whether something may be done.
    async fn ask(&self, tool: &WorkspaceTool, subject: &str, what: String, detail: String) -> Result<(), ToolError> {
        let asking =
            ApprovalRequest { tool: tool.name.to_owned(), subject: subject.to_owned(), summary: what, details: detail };
        self.state.settings.approval.ask(&asking).await.into_result()
    }

    /// Puts bytes at a path that has `before` in it, whose change was agreed to; what came in between stays.
    fn write_if_unchanged(&self, path: &Path, before: Option<blake3::Hash>, bytes: &[u8]) -> Result<(), ToolError> {
        // Held from the last look to the change: of two hands, one sees what the other did.
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

/// How a file is seen as it is now.
fn reread_hint(path: &Path) -> String {
    format!("→ read_file path:\"{}\"", root::display_path(path))
}

/// The arguments of a call. They fit the schema already.
fn arguments<T: DeserializeOwned>(given: Value) -> Result<T, ToolError> {
    serde_json::from_value(given).map_err(|error| ToolError::new(ErrorCode::InvalidSyntax, error.to_string()))
}

/// Does what waits for disks where that does no harm.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(ToolError::new(ErrorCode::Conflict, format!("the tool failed: {error}"))))
}

/// The number of lines, with the word for them.
fn lines(count: usize) -> String {
    crate::arrow::run::escape::count(count as u64, "line")
}
