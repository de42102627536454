//! Words that are still streaming, kept against a kill.
//!
//! A node is written once, when its text is whole. Until then what a model says is appended to a file of its own beside
//! the database, as it comes. The process that streams holds a lock on that file; the system takes the lock away when
//! the process ends, however it ends. So a file that can be locked was left behind, and [`recover`] makes of it the
//! node that was meant, marked as interrupted. Nothing is synced: the file outlives the process, not the machine.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::generation_metadata::GenerationMetadata;
use crate::{
    id::{AgentId, NodeId, SessionId},
    ops::{Actor, NodeDraft, OpsError},
    store::Mutation,
    types::{AuthorType, Op, Parent},
};

/// What a draft will be: the first line of its file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct PartialReplyHeader {
    pub(super) node: NodeId,
    pub(super) parent: NodeId,
    pub(super) author: AgentId,
    pub(super) reference: String,
    /// In which session.
    #[serde(default)]
    pub(super) session: Option<SessionId>,
    /// Whether that stays where it is.
    #[serde(default)]
    #[serde(rename = "stay")]
    pub(super) keep_position: bool,
}

/// One stream's file.
pub(super) struct PartialReplyFile {
    file: File,
    path: PathBuf,
}

impl PartialReplyFile {
    /// A file in `folder`, which is made if it is not there.
    pub(super) fn create(folder: &Path, meant: &PartialReplyHeader) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = folder.join(format!("{}.draft", meant.node));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path)?;
        file.lock()?;
        let mut head = serde_json::to_vec(meant)?;
        head.push(b'\n');
        file.write_all(&head)?;
        Ok(Self { file, path })
    }

    /// Keeps more text. A full disk here is no reason to stop the stream: the node will say so.
    pub(super) fn push(&mut self, text: &str) {
        if let Err(error) = self.file.write_all(text.as_bytes()) {
            tracing::warn!(%error, "a draft is not kept");
        }
    }

    /// Removes the file: its text is a node now, or there is none.
    pub(super) fn delete(self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(%error, "a draft is left behind; the next start finds its node there");
        }
    }
}

/// Whether a process that still runs streams into a session.
pub(super) fn is_streaming(folder: &Path, session: SessionId) -> bool {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| File::open(file.path()).ok()).any(|mut file| {
        let busy = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        let mut text = String::new();
        // The words after the first line may end within a character.
        let _ = file.read_to_string(&mut text);
        let head = text.lines().next().and_then(|line| serde_json::from_str::<PartialReplyHeader>(line).ok());
        busy && head.is_some_and(|meant| meant.session == Some(session))
    })
}

/// Makes nodes of what streams left in `folder` when their process was killed. Files of streams that still run are
/// left alone. Returns the nodes that were made.
///
/// # Errors
/// If a file cannot be read or the store fails; files that were not done yet are found again the next time.
pub fn recover(actor: &Actor, folder: &Path) -> Result<Vec<NodeId>, OpsError> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let io = |e: io::Error| OpsError::Invalid(format!("{}: {e}", folder.display()));
    let mut made = Vec::new();
    for entry in entries {
        let path = entry.map_err(io)?.path();
        if path.extension().is_none_or(|e| e != "draft") {
            continue;
        }
        let mut file = File::open(&path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => continue,
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        made.extend(node_of(actor, &bytes)?);
        // Another process may have been as quick.
        if let Err(error) = fs::remove_file(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(io(error));
        }
    }
    // Best effort: it is only tidier without an empty folder, and one that is not empty stays.
    let _ = fs::remove_dir(folder);
    Ok(made)
}

/// The node that a draft was meant to be, if it is not there and the draft holds a word.
fn node_of(actor: &Actor, bytes: &[u8]) -> Result<Option<NodeId>, OpsError> {
    let Some(end) = bytes.iter().position(|b| *b == b'\n') else { return Ok(None) };
    let Ok(meant) = serde_json::from_slice::<PartialReplyHeader>(&bytes[..end]) else { return Ok(None) };
    // A character that was cut in the middle goes.
    let text = String::from_utf8_lossy(&bytes[end + 1..]);
    let text = text.trim_end_matches('\u{fffd}');
    let snapshot = actor.loom().snapshot()?;
    if text.is_empty() || snapshot.node(meant.node)?.is_some() || snapshot.node(meant.parent)?.is_none() {
        return Ok(None);
    }
    let provenance = GenerationMetadata::interrupted(&meant.reference).json().ok();
    let session = meant.session.map(|id| snapshot.session(id)).transpose()?.flatten();
    drop(snapshot);
    // As if it had been saved when it was cut off; a session that went on elsewhere stays there.
    let stay = meant.keep_position || session.as_ref().is_none_or(|session| session.position != Some(meant.parent));
    let actor = session.iter().fold(actor.clone(), |actor, session| actor.in_session(session.id));
    let draft = NodeDraft {
        author_type: Some(AuthorType::Model),
        interrupted: true,
        provenance,
        stay,
        ..NodeDraft::text(text)
    };
    let mut node = actor.draft(Parent::Node(meant.parent), draft);
    (node.id, node.author) = (meant.node, meant.author);
    actor.commit(Op::Generate, vec![Mutation::Append(Box::new(node))])?;
    Ok(Some(meant.node))
}
