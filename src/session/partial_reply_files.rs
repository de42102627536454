//! Partial replies on disk, so that a crash does not lose streamed text.
//!
//! A node is written once, when its text is complete. Until then each piece of text is appended to a file next to the
//! database. The streaming process holds a lock on that file, and the operating system releases the lock when the
//! process ends. A file that can be locked was therefore left by a dead process; [`recover`] turns it into the intended
//! node, marked as interrupted. Nothing is synced: the text survives a crash of the process but not of the machine.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::generation_metadata::GenerationMetadata;
use crate::{
    id::{AgentId, NodeId, SessionId},
    ops::{Actor, NodeDraft, OpsError},
    store::Mutation,
    types::{AuthorType, Op, Parent},
};

/// Header (first line) of a partial-reply file: the location of the recovered node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct PartialReplyHeader {
    pub(super) node: NodeId,
    pub(super) parent: NodeId,
    pub(super) author: AgentId,
    pub(super) reference: String,
    /// Session of the reply, if any.
    #[serde(default)]
    pub(super) session: Option<SessionId>,
    /// True if the session's position stays at the parent.
    #[serde(default)]
    #[serde(rename = "stay")]
    pub(super) keep_position: bool,
}

/// Open and locked file of one stream. After a write error, such as a full disk, it gets no more text: the stream continues
/// and its node is still saved, and a text that is recovered has no gap.
pub(super) struct PartialReplyFile {
    /// `None` if it could not be created.
    file: Option<File>,
    path: PathBuf,
    failed: bool,
}

impl PartialReplyFile {
    /// Creates the file in `folder`, which is created if missing.
    pub(super) fn create(folder: &Path, header: &PartialReplyHeader) -> Self {
        let path = folder.join(format!("{}.draft", header.node));
        let file = Self::create_locked(folder, &path, header)
            .inspect_err(|error| tracing::warn!(%error, "the partial reply is not saved"))
            .ok();
        Self { failed: file.is_none(), file, path }
    }

    fn create_locked(folder: &Path, path: &Path, header: &PartialReplyHeader) -> io::Result<File> {
        fs::create_dir_all(folder)?;
        // Another process recovers files with the other ending, so this one gets it once it is locked and has its header.
        let new = path.with_extension("new");
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&new)?;
        file.lock()?;
        let mut head = serde_json::to_vec(header)?;
        head.push(b'\n');
        file.write_all(&head)?;
        fs::rename(new, path)?;
        Ok(file)
    }

    /// Appends text.
    pub(super) fn push(&mut self, text: &str) {
        if let (Some(file), false) = (&mut self.file, self.failed)
            && let Err(error) = file.write_all(text.as_bytes())
        {
            self.failed = true;
            tracing::warn!(%error, "the rest of the partial reply is not saved");
        }
    }

    /// Deletes the file after its text was saved as a node or discarded.
    pub(super) fn delete(self) {
        if self.file.is_some()
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(%error, "a partial-reply file could not be deleted; the next start deletes it");
        }
    }
}

/// True if a live process streams into the session.
pub(super) fn is_streaming(folder: &Path, session: SessionId) -> bool {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| File::open(file.path()).ok()).any(|mut file| {
        let busy = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        let mut text = String::new();
        // The read may end within a character, so an error is ignored; only the first line is used.
        let _ = file.read_to_string(&mut text);
        let head = text.lines().next().and_then(|line| serde_json::from_str::<PartialReplyHeader>(line).ok());
        busy && head.is_some_and(|header| header.session == Some(session))
    })
}

/// Saves the partial replies that dead processes left in `folder` as nodes. Files of live streams are skipped. Returns
/// the new nodes.
///
/// # Errors
/// If no file could be recovered, the first error. An unreadable file does not prevent the recovery of others.
pub fn recover(actor: &Actor, folder: &Path) -> Result<Vec<NodeId>, OpsError> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let io = |e: io::Error| OpsError::Invalid(format!("{}: {e}", folder.display()));
    let (mut recovered, mut first_error) = (Vec::new(), None);
    for entry in entries {
        let path = entry.map_err(io)?.path();
        if path.extension().is_some_and(|e| e == "new") {
            remove_unlocked(&path);
        }
        if path.extension().is_none_or(|e| e != "draft") {
            continue;
        }
        match recover_file(actor, &path) {
            Ok(node) => recovered.extend(node),
            Err(error) => {
                tracing::warn!(%error, "a partial reply was not recovered");
                first_error.get_or_insert(error);
            }
        }
    }
    // Best effort: removal fails, and may, if the folder is not empty.
    let _ = fs::remove_dir(folder);
    first_error.filter(|_| recovered.is_empty()).map_or(Ok(recovered), Err)
}

/// Removes a file that a killed process left before it had its header. One that was just made and is not locked yet stays.
fn remove_unlocked(path: &Path) {
    let is_left = File::open(path).is_ok_and(|file| {
        let age = file.metadata().and_then(|metadata| metadata.modified()).ok().and_then(|made| made.elapsed().ok());
        age.is_some_and(|age| age > MAX_HEADER_AGE) && file.try_lock().is_ok()
    });
    if is_left && let Err(error) = fs::remove_file(path) {
        tracing::warn!(%error, "a file of a partial reply could not be removed");
    }
}

/// Longest time from the making of a file to its lock.
const MAX_HEADER_AGE: Duration = Duration::from_secs(60);

/// Saves a partial reply and deletes its file; `None` if there is nothing to save, or another process has the file.
fn recover_file(actor: &Actor, path: &Path) -> Result<Option<NodeId>, OpsError> {
    let io = |e: io::Error| OpsError::Invalid(format!("{}: {e}", path.display()));
    let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let mut file = match File::open(path) {
        Err(error) if is_gone(&error) => return Ok(None),
        opened => opened.map_err(io)?,
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(io(error)),
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(io)?;
    let node = node_of(actor, &bytes)?;
    // Another process may have recovered and deleted the same file.
    fs::remove_file(path).or_else(|error| if is_gone(&error) { Ok(()) } else { Err(error) }).map_err(io)?;
    Ok(node)
}

/// Saves a partial reply as its intended node. `None` if the node exists, its parent does not, or there is no text.
fn node_of(actor: &Actor, bytes: &[u8]) -> Result<Option<NodeId>, OpsError> {
    let Some(end) = bytes.iter().position(|b| *b == b'\n') else { return Ok(None) };
    let Ok(header) = serde_json::from_slice::<PartialReplyHeader>(&bytes[..end]) else { return Ok(None) };
    // An incomplete character at the end is dropped.
    let text = String::from_utf8_lossy(&bytes[end + 1..]);
    let text = text.trim_end_matches('\u{fffd}');
    let snapshot = actor.loom().snapshot()?;
    if text.is_empty() || snapshot.node(header.node)?.is_some() || snapshot.node(header.parent)?.is_none() {
        return Ok(None);
    }
    let provenance = GenerationMetadata::interrupted(&header.reference).json().ok();
    let session = header.session.map(|id| snapshot.session(id)).transpose()?.flatten();
    drop(snapshot);
    // Same effect as a save at the interruption. A session that has moved since then keeps its position.
    let stay = header.keep_position || session.as_ref().is_none_or(|session| session.position != Some(header.parent));
    let actor = session.iter().fold(actor.clone(), |actor, session| actor.in_session(session.id));
    let draft = NodeDraft {
        author_type: Some(AuthorType::Model),
        interrupted: true,
        provenance,
        keep_position: stay,
        ..NodeDraft::text(text)
    };
    let mut node = actor.draft(Parent::Node(header.parent), draft);
    (node.id, node.author) = (header.node, header.author);
    actor.commit(Op::Generate, vec![Mutation::Append(Box::new(node))])?;
    Ok(Some(header.node))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_after_a_write_error_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.draft");
        fs::write(&path, "").unwrap();
        let mut partial = PartialReplyFile { file: File::open(&path).ok(), path: path.clone(), failed: false };
        partial.push("lost");
        assert!(partial.failed);
        partial.file = OpenOptions::new().append(true).open(&path).ok();
        partial.push("later");
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
        partial.delete();
        assert!(!path.exists());
    }
}
