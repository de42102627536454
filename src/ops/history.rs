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

/// Entries of no tree that are read at once.
const PAGE_ENTRIES: u32 = 256;

/// Returns journal entries of a tree and of documents that its sessions wrote, newest first: at most `limit` with a number
/// below `before` (0: no bound).
///
/// # Errors
/// If the store cannot be read.
pub fn tree_history(snapshot: &dyn Snapshot, tree: TreeId, before: u64, limit: u32) -> Result<Vec<JournalEntry>> {
    let filter = JournalFilter { before, limit, ..JournalFilter::default() };
    let mut entries = snapshot.journal(filter.tree(tree))?;
    // Below the oldest entry of a page, documents belong to the next page; before the tree was created, to other trees.
    let Some(after) = entries.last().map(|oldest| oldest.seq) else { return Ok(entries) };
    let mut trees: HashMap<SessionId, Option<TreeId>> = HashMap::new();
    let (mut found, mut before) = (0, before);
    while found < limit {
        // Most entries may be of other trees' sessions.
        let page = JournalFilter { before, limit: PAGE_ENTRIES, ..JournalFilter::default() };
        let page = snapshot.journal(page.of_no_tree(true).after(after))?;
        for entry in &page {
            let (Some(Subject::Document(_)), Some(session)) = (&entry.subject, entry.session) else { continue };
            let of_session = match trees.get(&session) {
                Some(known) => *known,
                None => *trees.entry(session).or_insert(snapshot.session(session)?.map(|session| session.tree)),
            };
            if of_session == Some(tree) {
                entries.push(entry.clone());
                found += 1;
            }
        }
        match page.last() {
            Some(last) if page.len() as u64 == u64::from(PAGE_ENTRIES) => before = last.seq,
            _ => break,
        }
    }
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.seq));
    entries.truncate(limit as usize);
    Ok(entries)
}
