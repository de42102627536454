//! What operations are called where people and models read of them: one table, which the log, the action trace and every
//! undo speak by. An entry of the journal is told as what was done and to what: `annotated a7x2kq as b3k9ze`.

use crate::{
    id::{LocalId, NodeId},
    store::{ChangeKind, JournalFilter, Result, Snapshot},
    types::{EdgeKind, JournalEntry, Node, Op, Subject},
};

/// What an entry of the journal tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpDescription {
    /// What was done.
    pub verb: &'static str,
    /// To what.
    pub about: Option<OpTarget>,
    /// The node that came of it, where that is another one.
    pub made: Option<LocalId>,
    /// Of an undo or redo: the operation that it took back or did again.
    pub of: Option<Box<OpDescription>>,
}

/// What something was done to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpTarget {
    /// A node.
    Node(LocalId),
    /// What has a name: a tree, a document, an agent, what stands aside under a label. Anybody may have given it.
    Name(String),
}

impl OpDescription {
    /// In words; ids and names as the caller writes them.
    #[must_use]
    pub fn words(&self, id: &dyn Fn(&LocalId) -> String, name: &dyn Fn(&str) -> String) -> String {
        if let Some(of) = &self.of {
            return format!("{}: {}", self.verb, of.words(id, name));
        }
        let about = match &self.about {
            Some(OpTarget::Node(node)) => format!(" {}", id(node)),
            Some(OpTarget::Name(text)) => format!(" {}", name(text)),
            None => String::new(),
        };
        let made = self.made.as_ref().map(|node| format!(" as {}", id(node))).unwrap_or_default();
        format!("{}{about}{made}", self.verb)
    }
}

/// Which of an entry's nodes it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpAuthor {
    /// Its own, or what it is about beside nodes.
    Own,
    /// What its own hangs on.
    Parent,
    /// What its own is another wording of.
    Edited,
    /// Its tree.
    Tree,
}

/// Every operation's words. `replaced` is whether something stood there before.
fn verb(op: Op, change: ChangeKind, replaced: bool, node: Option<&Node>) -> (&'static str, OpAuthor) {
    use ChangeKind as Kind;
    use OpAuthor::{Edited, Own, Parent, Tree};
    match op {
        Op::CreateTree => ("began the tree", Tree),
        Op::Append if node.is_some_and(|node| node.kind == EdgeKind::Thought) => ("thought at", Parent),
        Op::Append if node.is_some_and(|node| node.parent.is_none()) => ("began with", Own),
        Op::Append => ("responded to", Parent),
        Op::Annotate => ("annotated", Parent),
        Op::Generate => ("continued from", Parent),
        Op::Edit => ("edited", Edited),
        Op::Split => ("split", Edited),
        Op::Merge => ("merged into", Own),
        Op::Bookmark if replaced => ("changed the bookmark of", Own),
        Op::Bookmark => ("bookmarked", Own),
        Op::Prune => ("pruned", Own),
        Op::Restore => ("restored", Own),
        Op::Exclude => ("excluded", Own),
        Op::Include => ("included", Own),
        Op::Link => ("linked", Own),
        Op::Unlink => ("unlinked", Own),
        Op::Copy => ("copied to", Own),
        Op::Move => ("moved to", Own),
        Op::Rename => ("reworded the tree", Tree),
        Op::Archive if replaced => ("put away the tree", Tree),
        Op::Archive => ("took out the tree", Tree),
        Op::Purge if node.is_some() => ("purged", Own),
        Op::Purge => ("purged content of", Tree),
        Op::WriteDocument => match change {
            Kind::CreateDocument => ("made the document", Own),
            Kind::RevertDocument => ("reverted the document", Own),
            Kind::SetDocumentRemoved if replaced => ("removed the document", Own),
            Kind::SetDocumentRemoved => ("brought back the document", Own),
            _ => ("wrote the document", Own),
        },
        Op::Agent => match change {
            Kind::CreateAgent => ("made the agent", Own),
            Kind::SetAgentRemoved if replaced => ("removed the agent", Own),
            Kind::SetAgentRemoved => ("brought back the agent", Own),
            _ => ("changed the agent", Own),
        },
        Op::Session => match change {
            Kind::CreateSession => ("began a session at", Own),
            _ if node.is_some() => ("switched to", Own),
            _ => ("went on with a session", Own),
        },
        Op::Import if change == Kind::CreateTree => ("imported the tree", Tree),
        Op::Import => ("imported", Own),
        Op::Undo => ("took back", Own),
        Op::Redo => ("did again", Own),
        Op::Turn => ("wrote in a turn", Own),
        Op::Plan => match change {
            Kind::AddTodo => ("planned an item", Own),
            Kind::FinishTodo => ("finished an item", Own),
            _ => ("took up an item", Own),
        },
        Op::Delegate => match change {
            Kind::AppendDelegationEvent => ("went on with delegated work", Own),
            _ => ("worked as delegated", Own),
        },
        Op::Pin | Op::Unpin | Op::Stash | Op::Unstash | Op::Record | Op::Memory => match change {
            Kind::Pin => ("pinned", Own),
            Kind::Unpin => ("dropped pin", Own),
            Kind::Unstash => ("dropped stash", Own),
            Kind::Stash => ("stashed", Own),
            _ if replaced => ("forgot a decision", Own),
            _ => ("decided", Own),
        },
    }
}

/// The words of a change that an operation makes after its first, where those of the operation would not be true of it.
const fn further(op: Op, change: ChangeKind) -> Option<&'static str> {
    Some(match (op, change) {
        (Op::CreateTree | Op::Merge | Op::Undo | Op::Redo | Op::Delegate, ChangeKind::Append) => "added",
        (_, ChangeKind::Prune) => "pruned",
        (_, ChangeKind::Restore) => "restored",
        (_, ChangeKind::CopyBranch) => "copied to",
        (_, ChangeKind::Link) => "linked",
        (_, ChangeKind::SetLinkRemoved) => "unlinked",
        (_, ChangeKind::SetBookmark) => "marked",
        (_, ChangeKind::UpdateSession) => "switched to",
        (_, ChangeKind::CreateSession) => "began a session at",
        _ => return None,
    })
}

/// What an entry tells, and how its operation is called.
///
/// # Errors
/// If the store cannot be read.
pub fn describe_entry(snapshot: &dyn Snapshot, entry: &JournalEntry) -> Result<OpDescription> {
    let read =
        |id: Option<NodeId>| -> Result<Option<Node>> { Ok(id.map(|id| snapshot.node(id)).transpose()?.flatten()) };
    let node = read(entry.node)?;
    let change = ChangeKind::ALL.iter().copied().find(|kind| kind.as_str() == entry.change);
    let change = change.unwrap_or(ChangeKind::Append);
    let further = (entry.seq != entry.group).then(|| further(entry.op, change)).flatten();
    let (verb, whose) =
        further.map_or_else(|| verb(entry.op, change, entry.replaced, node.as_ref()), |verb| (verb, OpAuthor::Own));
    let own = || entry.local.clone().map(OpTarget::Node);
    let other = match whose {
        OpAuthor::Parent => read(node.as_ref().and_then(|node| node.parent))?,
        OpAuthor::Edited => read(node.as_ref().and_then(|node| node.edited_from))?,
        OpAuthor::Own | OpAuthor::Tree => None,
    };
    let (about, made) = match (whose, other) {
        (_, Some(other)) => (Some(OpTarget::Node(other.local)), entry.local.clone()),
        (OpAuthor::Tree, _) => {
            let tree = entry.tree.map(|tree| snapshot.tree(tree)).transpose()?.flatten();
            (tree.map(|tree| OpTarget::Name(tree.title)), None)
        }
        _ => (named(snapshot, entry.subject.as_ref())?.map(OpTarget::Name).or_else(own), None),
    };
    let of = entry
        .target
        .filter(|_| further.is_none())
        .map(|target| operation(snapshot, target))
        .transpose()?
        .flatten()
        .map(Box::new);
    Ok(OpDescription { verb, about, made, of })
}

/// The operation that an undo or redo went back to: an undo's own if it was one that a redo took back.
fn operation(snapshot: &dyn Snapshot, group: u64) -> Result<Option<OpDescription>> {
    let mut group = group;
    loop {
        let filter = JournalFilter { tree: None, before: group.saturating_add(1), limit: 1 };
        let Some(entry) = snapshot.journal(filter)?.pop() else { return Ok(None) };
        match entry.target.filter(|target| *target < group) {
            Some(target) => group = target,
            None => return describe_entry(snapshot, &entry).map(Some),
        }
    }
}

/// The name of what an entry is about beside nodes.
fn named(snapshot: &dyn Snapshot, subject: Option<&Subject>) -> Result<Option<String>> {
    Ok(match subject {
        Some(Subject::Document(id)) => {
            snapshot.documents()?.into_iter().find(|document| document.id == *id).map(|document| document.name)
        }
        Some(Subject::Agent(id)) => {
            let agents = snapshot.agents()?;
            agents.iter().find(|agent| agent.id() == *id).map(|agent| agent.name().to_owned())
        }
        Some(Subject::Stash(label)) => Some(label.clone()),
        None => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_and_every_change_has_words() {
        for op in Op::ALL {
            for change in ChangeKind::ALL {
                for replaced in [false, true] {
                    let (verb, _) = verb(*op, *change, replaced, None);
                    let further = further(*op, *change).unwrap_or(verb);
                    for words in [verb, further] {
                        let spoken = !words.is_empty() && !words.contains('_') && words != op.as_str();
                        assert!(spoken || matches!(words, "split"), "{op}, {change}: {words:?}");
                    }
                }
            }
        }
    }
}
