//! Descriptions of operations for users and models, such as `annotated a7x2kq as b3k9ze`.
//!
//! One table serves the log, the action trace and every undo.

use crate::{
    id::{LocalId, NodeId},
    store::{ChangeKind, JournalFilter, Result, Snapshot},
    types::{EdgeKind, JournalEntry, Node, Op, Subject},
};

/// Description of a journal entry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpDescription {
    /// Verb in the past tense.
    pub verb: &'static str,
    /// Object of the verb.
    pub about: Option<OpTarget>,
    /// Created node, if it differs from the object.
    pub made: Option<LocalId>,
    /// Undone or redone operation, for an undo or a redo.
    pub reverted: Option<Box<OpDescription>>,
}

/// Object of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpTarget {
    /// A node, by its local id.
    Node(LocalId),
    /// A tree, document, agent or stash label, by its name. Any agent may have chosen the name, so front ends escape
    /// it.
    Name(String),
}

impl OpDescription {
    /// Formats the description; the caller formats ids and names.
    #[must_use]
    pub fn words(&self, id: &dyn Fn(&LocalId) -> String, name: &dyn Fn(&str) -> String) -> String {
        if let Some(reverted) = &self.reverted {
            return format!("{}: {}", self.verb, reverted.words(id, name));
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

/// Relation of an entry's node to the object of its description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ObjectSource {
    /// The entry's own node, or its subject.
    Own,
    /// The parent of the entry's node.
    Parent,
    /// The original that the entry's node is an edit of.
    Edited,
    /// The tree of the entry.
    Tree,
}

/// Returns the verb and the object of an operation. `replaced` is true if the change replaced an earlier value.
fn main_verb(op: Op, change: ChangeKind, replaced: bool, node: Option<&Node>) -> (&'static str, ObjectSource) {
    use ChangeKind as Kind;
    use ObjectSource::{Edited, Own, Parent, Tree};
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
        Op::Rename => ("changed the tree", Tree),
        Op::Archive if replaced => ("archived the tree", Tree),
        Op::Archive => ("unarchived the tree", Tree),
        Op::Purge if node.is_some() => ("purged", Own),
        Op::Purge => ("purged content of", Tree),
        Op::WriteDocument => match change {
            Kind::CreateDocument => ("created the document", Own),
            Kind::RevertDocument => ("reverted the document", Own),
            Kind::SetDocumentRemoved if replaced => ("removed the document", Own),
            Kind::SetDocumentRemoved => ("restored the document", Own),
            _ => ("wrote the document", Own),
        },
        Op::Agent => match change {
            Kind::CreateAgent => ("created the agent", Own),
            Kind::SetAgentRemoved if replaced => ("removed the agent", Own),
            Kind::SetAgentRemoved => ("restored the agent", Own),
            _ => ("changed the agent", Own),
        },
        Op::Session => match change {
            Kind::CreateSession => ("started a session at", Own),
            _ if node.is_some() => ("switched to", Own),
            _ => ("resumed a session", Own),
        },
        Op::Import if change == Kind::CreateTree => ("imported the tree", Tree),
        Op::Import => (further_verb(op, change, node).unwrap_or("imported"), Own),
        Op::Undo => ("undid", Own),
        Op::Redo => ("redid", Own),
        // A session also follows the conversation without a turn.
        Op::Turn if change == Kind::UpdateSession => (session_verb(node), Own),
        Op::Turn if change == Kind::ReceiveTurn => ("received", Own),
        Op::Turn => ("wrote in a turn", Own),
        Op::Todo => match change {
            Kind::AddTodo => ("planned an item", Own),
            Kind::FinishTodo => ("finished an item", Own),
            Kind::UpdateTodo => ("changed an item", Own),
            _ => ("resumed an item", Own),
        },
        Op::Delegate => match change {
            Kind::AppendDelegationEvent => ("continued a delegation", Own),
            _ => ("worked on a delegation", Own),
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

/// Returns the verb of a later change of an operation, if the operation's own verb does not fit it.
const fn further_verb(op: Op, change: ChangeKind, node: Option<&Node>) -> Option<&'static str> {
    Some(match (op, change) {
        (Op::CreateTree | Op::Merge | Op::Undo | Op::Redo | Op::Delegate, ChangeKind::Append) => "added",
        (_, ChangeKind::Prune) => "pruned",
        (_, ChangeKind::Restore) => "restored",
        (_, ChangeKind::CopyBranch) => "copied to",
        (_, ChangeKind::Link) => "linked",
        (Op::Redo, ChangeKind::SetLinkRemoved) => "linked",
        (_, ChangeKind::SetLinkRemoved) => "unlinked",
        (_, ChangeKind::SetBookmark) => "marked",
        (_, ChangeKind::UpdateSession) => session_verb(node),
        (_, ChangeKind::CreateSession) => "started a session at",
        (_, ChangeKind::ReceiveTurn) => "received",
        _ => return None,
    })
}

/// Returns the verb of a session's change; `node` is its new position, if the change moved it.
const fn session_verb(node: Option<&Node>) -> &'static str {
    if node.is_some() { "switched to" } else { "changed the session" }
}

/// Describes a journal entry.
///
/// # Errors
/// If the store cannot be read.
pub fn describe_entry(snapshot: &dyn Snapshot, entry: &JournalEntry) -> Result<OpDescription> {
    let read =
        |id: Option<NodeId>| -> Result<Option<Node>> { Ok(id.map(|id| snapshot.node(id)).transpose()?.flatten()) };
    let node = read(entry.node)?;
    let change = ChangeKind::ALL.iter().copied().find(|kind| kind.as_str() == entry.change);
    let change = change.unwrap_or(ChangeKind::Append);
    let further = (entry.seq != entry.group).then(|| further_verb(entry.op, change, node.as_ref())).flatten();
    let (verb, source) = further
        .map_or_else(|| main_verb(entry.op, change, entry.replaced, node.as_ref()), |verb| (verb, ObjectSource::Own));
    let own = || entry.local.clone().map(OpTarget::Node);
    let other = match source {
        ObjectSource::Parent => read(node.as_ref().and_then(|node| node.parent))?,
        ObjectSource::Edited => read(node.as_ref().and_then(|node| node.edited_from))?,
        ObjectSource::Own | ObjectSource::Tree => None,
    };
    let (about, made) = match (source, other) {
        (_, Some(other)) => (Some(OpTarget::Node(other.local)), entry.local.clone()),
        (ObjectSource::Tree, _) => {
            let tree = entry.tree.map(|tree| snapshot.tree(tree)).transpose()?.flatten();
            (tree.map(|tree| OpTarget::Name(tree.title)), None)
        }
        _ => (subject_name(snapshot, entry.subject.as_ref())?.map(OpTarget::Name).or_else(own), None),
    };
    let reverted = entry
        .target
        .filter(|_| further.is_none())
        .map(|target| reverted_operation(snapshot, target))
        .transpose()?
        .flatten()
        .map(Box::new);
    Ok(OpDescription { verb, about, made, reverted })
}

/// Describes the operation that an undo or redo reverted. For a redone undo it is the operation of that undo.
fn reverted_operation(snapshot: &dyn Snapshot, group: u64) -> Result<Option<OpDescription>> {
    let mut group = group;
    loop {
        let filter = JournalFilter { before: group.saturating_add(1), limit: 1, ..JournalFilter::default() };
        let Some(entry) = snapshot.journal(filter)?.pop() else { return Ok(None) };
        match entry.target.filter(|target| *target < group) {
            Some(target) => group = target,
            None => return describe_entry(snapshot, &entry).map(Some),
        }
    }
}

/// Name of a subject that is not a node.
fn subject_name(snapshot: &dyn Snapshot, subject: Option<&Subject>) -> Result<Option<String>> {
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
    fn an_imported_link_is_no_imported_node() {
        let verb = |change| main_verb(Op::Import, change, false, None).0;
        assert_eq!(verb(ChangeKind::Link), "linked");
        assert_eq!([verb(ChangeKind::CreateTree), verb(ChangeKind::Append)], ["imported the tree", "imported"]);
    }

    #[test]
    fn a_move_of_a_session_is_no_text_of_a_turn() {
        let session = ChangeKind::UpdateSession;
        assert_eq!(main_verb(Op::Turn, session, false, None).0, "changed the session");
        assert_eq!(
            further_verb(Op::Edit, session, None),
            Some("changed the session"),
            "a selected version is no place"
        );
    }

    #[test]
    fn every_operation_and_change_has_a_verb() {
        for op in Op::ALL {
            for change in ChangeKind::ALL {
                for replaced in [false, true] {
                    let (verb, _) = main_verb(*op, *change, replaced, None);
                    let further = further_verb(*op, *change, None).unwrap_or(verb);
                    for words in [verb, further] {
                        let readable = !words.is_empty() && !words.contains('_') && words != op.as_str();
                        assert!(readable || matches!(words, "split"), "{op}, {change}: {words:?}");
                    }
                }
            }
        }
    }
}
