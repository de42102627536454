//! Who carries a delegation on: one at a time. That is a file beside the drafts, which its process holds locked; the system
//! takes the lock away when the process ends, however it ends. So one that still runs is left alone, and one that was killed
//! is taken up at once, with no time to wait for and no sign of life to write.
//!
//! It is a courtesy that keeps work from being done twice. What keeps the record true is the number of each event, of which
//! there is one: who works where no folder is given is told by that, at the next event.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use crate::{
    arrow::run::{ErrorCode, ToolError},
    id::NodeId,
    types::{Node, one_line},
};

/// A delegation that is being carried on, until this goes.
pub(super) struct DelegationLock {
    /// Locked as long as it is open.
    _file: File,
    path: PathBuf,
}

impl DelegationLock {
    /// Takes a delegation for somebody, in a folder that is made if it is not there.
    ///
    /// # Errors
    /// If somebody has it: `CONFLICT`, naming them.
    pub(super) fn take(folder: &Path, head: &Node, who: &str) -> Result<Option<Self>, ToolError> {
        let path = path(folder, head.id);
        match lock(&path, who) {
            Ok(file) => Ok(Some(Self { _file: file, path })),
            Err(TryLockError::WouldBlock) => {
                let who = named(&path);
                let message = format!("the delegation [{}] is being carried on by {who}", head.local);
                Err(ToolError::new(ErrorCode::Conflict, message)
                    .hint("loom delegate --list shows when it is not any more"))
            }
            Err(TryLockError::Error(error)) => {
                tracing::warn!(%error, "nobody else can see that the delegation is being carried on");
                Ok(None)
            }
        }
    }
}

impl Drop for DelegationLock {
    fn drop(&mut self) {
        // Who opened it before it went holds a file that nobody finds; of two that come of that, one is told by the events.
        let _ = fs::remove_file(&self.path);
    }
}

/// Who carries a delegation on at this moment, if somebody does: an agent, and the number of its process. `folder` is
/// where crews keep their drafts ([`super::OrchestratorConfig::drafts`]).
#[must_use]
pub fn lock_holder(folder: &Path, delegation: NodeId) -> Option<String> {
    let path = path(folder, delegation);
    let file = File::open(&path).ok()?;
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)).then(|| named(&path))
}

fn path(folder: &Path, delegation: NodeId) -> PathBuf {
    folder.join(format!("{delegation}.delegation"))
}

fn lock(path: &Path, who: &str) -> Result<File, TryLockError> {
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
    let name = format!("{who} (process {})\n", std::process::id());
    file.set_len(0).and_then(|()| file.write_all(name.as_bytes())).map_err(TryLockError::Error)?;
    Ok(file)
}

fn named(path: &Path) -> String {
    let name = fs::read_to_string(path).map(|text| one_line(&text)).unwrap_or_default();
    if name.trim().is_empty() { "another process".to_owned() } else { name.trim().to_owned() }
}
