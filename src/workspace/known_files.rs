//! Files that agents of a workspace have read and changed, so that no agent overwrites a change that it has not read.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::Serialize;
use serde_json::Value;

use super::{
    sandbox_dir::{self, FileContent, SandboxDir},
    tools::WorkspaceSettings,
};
use crate::{
    session::SeenFiles,
    tools::{ErrorCode, ToolError},
};

/// Folder, settings and known files, which all agents share.
pub(super) struct WorkspaceState {
    pub(super) root: SandboxDir,
    pub(super) settings: WorkspaceSettings,
    pub(super) files: Mutex<BTreeMap<PathBuf, KnownFile>>,
}

/// Last change of a file by an agent of this workspace.
pub(super) struct KnownFile {
    hash: blake3::Hash,
    pub(super) by: String,
    pub(super) created: bool,
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

impl WorkspaceState {
    pub(super) fn files(&self) -> MutexGuard<'_, BTreeMap<PathBuf, KnownFile>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// View of one agent on the folder.
pub(super) struct AgentFiles {
    pub(super) state: Arc<WorkspaceState>,
    pub(super) agent: String,
    /// Hash of each file at the agent's last read or write.
    pub(super) seen: Mutex<HashMap<PathBuf, blake3::Hash>>,
}

impl AgentFiles {
    pub(super) fn root(&self) -> &SandboxDir {
        &self.state.root
    }

    pub(super) fn record_read(&self, path: &Path, hash: blake3::Hash) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), hash);
    }

    pub(super) fn last_read_hash(&self, path: &Path) -> Option<blake3::Hash> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).get(path).copied()
    }

    /// Returns the other agent that last changed a file, if the file still has that content.
    pub(super) fn modified_by(&self, path: &Path, now: &FileContent) -> Option<String> {
        let files = self.state.files();
        files.get(path).filter(|known| known.hash == now.hash && known.by != self.agent).map(|known| known.by.clone())
    }

    /// Fails if a file has content that this agent has not read.
    pub(super) fn check_was_read(&self, path: &Path, now: &FileContent) -> Result<(), ToolError> {
        let last_read = self.last_read_hash(path);
        if last_read == Some(now.hash) {
            return Ok(());
        }
        let name = sandbox_dir::display_path(path);
        let why = match (last_read, self.modified_by(path, now)) {
            (None, None) => format!("{name} is there, and you have not read it"),
            (None, Some(by)) => format!("{name} is there, written by {by}, and you have not read it"),
            (Some(_), by) => {
                format!("{name} was changed by {} since you read it", by.as_deref().unwrap_or("another program"))
            }
        };
        Err(ToolError::new(ErrorCode::Conflict, why).hint(reread_hint(path)))
    }

    /// Writes an approved change if the file still has the hash `before`; returns a conflict otherwise.
    pub(super) fn write_if_unchanged(
        &self,
        path: &Path,
        before: Option<blake3::Hash>,
        bytes: &[u8],
    ) -> Result<(), ToolError> {
        // The lock covers check and write, so that concurrent agents do not overwrite each other.
        let mut files = self.state.files();
        let now = self.root().content_if_any(path)?.map(|content| content.hash);
        if now != before {
            let message =
                format!("{} was changed at the same moment; nothing was written", sandbox_dir::display_path(path));
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

/// Results of calls record the digests, so that an agent of a later process need not read an unchanged file again.
impl SeenFiles for AgentFiles {
    fn digest(&self, arguments: &Value) -> Option<String> {
        Some(self.last_read_hash(&self.named_file(arguments)?)?.to_hex().to_string())
    }

    fn restore(&self, arguments: &Value, digest: &str) {
        if let Some(path) = self.named_file(arguments)
            && let Ok(hash) = blake3::Hash::from_hex(digest)
        {
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).entry(path).or_insert(hash);
        }
    }
}

impl AgentFiles {
    /// Returns the file that the arguments of a call name.
    fn named_file(&self, arguments: &Value) -> Option<PathBuf> {
        let path = self.root().resolve(arguments["path"].as_str()?).ok()?;
        self.root().canonical(&path).ok()
    }
}

/// Hint that shows how to read the file again.
pub(super) fn reread_hint(path: &Path) -> String {
    format!("→ read_file path:\"{}\"", sandbox_dir::display_path(path))
}
