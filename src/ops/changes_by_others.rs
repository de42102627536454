//! Changes of other agents to existing content, for notices to a user.

use super::Result;
use crate::{
    id::{AgentId, TreeId},
    store::{JournalFilter, Snapshot},
    types::{JournalEntry, Op},
};

/// Journal entries that are read at most.
const MAX_READ_ENTRIES: u32 = 200;

/// Changes of other agents in a tree since some entry of the journal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangesByOthers {
    /// Number of the tree's newest journal entry; 0 if there is none.
    pub newest: u64,
    /// First entry of each operation of another agent that changed existing content, the newest operation first.
    pub entries: Vec<JournalEntry>,
}

/// Returns what other agents changed in a tree after the journal entry `since`. `None`: after the agent's own newest
/// entry. Appended nodes and notes are not listed. At most the 200 newest entries are read.
///
/// # Errors
/// If the store cannot be read.
pub fn changes_by_others(
    snapshot: &dyn Snapshot,
    tree: TreeId,
    own: AgentId,
    since: Option<u64>,
) -> Result<ChangesByOthers> {
    let read = |limit| snapshot.journal(JournalFilter { tree: Some(tree), limit, ..JournalFilter::default() });
    let newest = read(1)?.first().map_or(0, |entry| entry.seq);
    if since.is_some_and(|since| newest <= since) {
        return Ok(ChangesByOthers { newest, entries: Vec::new() });
    }
    let all = read(MAX_READ_ENTRIES)?;
    let is_later = |entry: &JournalEntry| since.map_or(entry.agent != own, |since| entry.seq > since);
    let is_listed = |entry: &JournalEntry| entry.agent != own && entry.seq == entry.group && alters(entry.op);
    Ok(ChangesByOthers { newest, entries: all.into_iter().take_while(is_later).filter(is_listed).collect() })
}

/// True if the operation changes what was there before it.
const fn alters(op: Op) -> bool {
    matches!(
        op,
        Op::Edit
            | Op::Bookmark
            | Op::Prune
            | Op::Restore
            | Op::Exclude
            | Op::Include
            | Op::Unlink
            | Op::Split
            | Op::Move
            | Op::Rename
            | Op::Archive
            | Op::Purge
            | Op::Undo
            | Op::Redo
    )
}
