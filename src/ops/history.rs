//! The history of a tree: the entries of its journal, and those of documents that its sessions wrote.
//!
//! A document belongs to no tree, so its entries are in a chain of their own. The session of an entry belongs to
//! the tree in which an agent wrote it.

use std::collections::HashMap;

use crate::{
    id::{SessionId, TreeId},
    store::{JournalFilter, Result, Snapshot},
    types::{JournalEntry, Subject},
};

/// Returns journal entries of a tree and of documents that its sessions wrote, newest first: at most `limit` with a number
/// below `before` (0: no bound).
///
/// # Errors
/// If the store cannot be read.
pub fn tree_history(snapshot: &dyn Snapshot, tree: TreeId, before: u64, limit: u32) -> Result<Vec<JournalEntry>> {
    let filter = JournalFilter { before, limit, ..JournalFilter::default() };
    let mut entries = snapshot.journal(filter.tree(tree))?;
    // Below the oldest entry of a full page, documents belong to the next page.
    let is_full = entries.len() as u64 >= u64::from(limit);
    let after = entries.last().filter(|_| is_full).map_or(0, |oldest| oldest.seq);
    let mut trees: HashMap<SessionId, Option<TreeId>> = HashMap::new();
    for entry in snapshot.journal(filter.of_no_tree(true).after(after))? {
        let (Some(Subject::Document(_)), Some(session)) = (&entry.subject, entry.session) else { continue };
        let of_session = match trees.get(&session) {
            Some(known) => *known,
            None => *trees.entry(session).or_insert(snapshot.session(session)?.map(|session| session.tree)),
        };
        if of_session == Some(tree) {
            entries.push(entry);
        }
    }
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.seq));
    entries.truncate(limit as usize);
    Ok(entries)
}
