//! Lock file that lets one process at a time run a delegation. The file lies in the folder of partial replies. Its
//! process holds it locked, and the operating system releases the lock when the process ends. A live delegation is
//! therefore protected, and a crashed one can be resumed at once, without a timeout or heartbeat.
//!
//! The lock only avoids duplicate work. Correctness comes from the event numbers, which are unique per delegation.
//! Without a folder, a second process fails when it appends its first event.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use crate::{
    id::NodeId,
    tools::{ErrorCode, ToolError},
    types::{Node, one_line},
};

/// Held lock of a delegation; released on drop.
pub(super) struct DelegationLock {
    /// The lock lasts as long as the file is open.
    _file: File,
    path: PathBuf,
}

impl DelegationLock {
    /// Locks a delegation for an agent, and creates the folder if missing.
    ///
    /// # Errors
    /// `CONFLICT` with the holder's name, if another process holds the lock.
    pub(super) fn take(folder: &Path, head: &Node, agent: &str) -> Result<Option<Self>, ToolError> {
        let path = lock_path(folder, head.id);
        match lock_file(&path, agent) {
            Ok(file) => Ok(Some(Self { _file: file, path })),
            Err(TryLockError::WouldBlock) => {
                let agent = holder_name(&path);
                let message = format!("the delegation [{}] is being carried on by {agent}", head.local);
                Err(ToolError::new(ErrorCode::Conflict, message)
                    .hint("loom delegate --list shows when it is not any more"))
            }
            Err(TryLockError::Error(error)) => {
                tracing::warn!(%error, "the delegation could not be locked; other processes do not see that it runs");
                Ok(None)
            }
        }
    }
}

impl Drop for DelegationLock {
    fn drop(&mut self) {
        // A process that opened the file before its removal locks a file that others do not see. The event numbers then
        // stop one of the two processes.
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns the current holder of a delegation's lock as agent and process number; `None` if it is free. `folder` is
/// [`super::OrchestratorConfig::partials_dir`].
#[must_use]
pub fn lock_holder(folder: &Path, delegation: NodeId) -> Option<String> {
    let path = lock_path(folder, delegation);
    let file = File::open(&path).ok()?;
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)).then(|| holder_name(&path))
}

fn lock_path(folder: &Path, delegation: NodeId) -> PathBuf {
    folder.join(format!("{delegation}.delegation"))
}

fn lock_file(path: &Path, agent: &str) -> Result<File, TryLockError> {
    let open = || -> io::Result<File> {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path)
    };
    let mut file = open().map_err(TryLockError::Error)?;
    file.try_lock()?;
    let name = format!("{agent} (process {})\n", std::process::id());
    file.set_len(0).and_then(|()| file.write_all(name.as_bytes())).map_err(TryLockError::Error)?;
    Ok(file)
}

fn holder_name(path: &Path) -> String {
    let name = fs::read_to_string(path).map(|text| one_line(&text)).unwrap_or_default();
    if name.trim().is_empty() { "another process".to_owned() } else { name.trim().to_owned() }
}
