//! Commits of commands that change the tree: one function for all front ends. `agent_tree_change.rs` calls it for agents.
//!
//! The executor, the command line and the terminal interface build the same [`Command`]. They differ in how they resolve
//! references and in the session of their actor, so the caller passes both.

use super::TreeChange;
use crate::{
    arrow::{Command, LinkEnd, NodeRef},
    ops::{Actor, OpsError, SplitAt},
    types::{LinkTarget, Node, Op},
};

/// Resolves the references of a command.
pub trait NodeResolver {
    /// The error of a reference that cannot be resolved, and of the operation.
    type Error: From<OpsError>;

    /// Resolves a reference to a node; `None` is the position.
    ///
    /// # Errors
    /// If the reference matches no node or several, or the store cannot be read.
    fn node(&self, reference: Option<&NodeRef>) -> Result<Node, Self::Error>;

    /// Resolves the other end of a link. Returns it with its name for the reply.
    ///
    /// # Errors
    /// If the reference matches no record or several, or the store cannot be read.
    fn link_end(&self, end: &LinkEnd) -> Result<(LinkTarget, String), Self::Error>;
}

/// Runs a command that adds nodes to the tree, marks nodes or links them, without checks of permissions and limits.
///
/// Commands that need a model, the agent's operational memory or a position are run by the [`Executor`](super::Executor)
/// only.
///
/// # Errors
/// If a reference cannot be resolved, the operation fails, or the command is none of these.
pub fn commit<R: NodeResolver>(actor: &Actor, command: &Command, resolver: &R) -> Result<TreeChange, R::Error> {
    let nodes = command.nodes().into_iter().map(|node| resolver.node(node)).collect::<Result<Vec<Node>, _>>()?;
    let ids: Vec<_> = nodes.iter().map(|node| node.id).collect();
    let mut name = None;
    let (op, receipt) = match (command, ids.as_slice()) {
        (Command::Annotate { content, .. }, [node]) => (Op::Annotate, actor.annotate(*node, content)?),
        (Command::Link { to, note, .. }, [node]) => {
            let (target, end) = resolver.link_end(to)?;
            name = Some(end);
            (Op::Link, actor.link(*node, target, note.clone())?)
        }
        (Command::Unlink { from, .. }, [node]) => {
            let (target, end) = resolver.link_end(from)?;
            name = Some(end);
            (Op::Unlink, actor.unlink(*node, &target)?)
        }
        (Command::Edit { content, .. }, [node]) => (Op::Edit, actor.edit(*node, content)?),
        (Command::Merge { content, .. }, ids) => (Op::Merge, actor.merge(ids, content)?),
        (Command::Bookmark { label, .. }, [node]) => {
            name.clone_from(label);
            (Op::Bookmark, actor.bookmark(*node, label.as_deref().unwrap_or(""))?)
        }
        (Command::Unbookmark { .. }, [node]) => (Op::Bookmark, actor.unbookmark(*node)?),
        (Command::Prune { .. }, [node]) => (Op::Prune, actor.prune(*node)?),
        (Command::Restore { .. }, [node]) => (Op::Restore, actor.restore(*node)?),
        (Command::Copy { .. }, [node, to]) => (Op::Copy, actor.copy_branch(*node, *to)?),
        (Command::Move { .. }, [node, to]) => (Op::Move, actor.move_branch(*node, *to)?),
        (Command::Split { at, after, .. }, [node]) => {
            let at = match after {
                Some(words) => SplitAt::After(words.clone()),
                None => SplitAt::Character(at.map_or(0, |at| at as usize)),
            };
            (Op::Split, actor.split(*node, &at)?)
        }
        (Command::Exclude { .. }, [node]) => (Op::Exclude, actor.exclude(*node)?),
        (Command::Include { .. }, [node]) => (Op::Include, actor.include(*node)?),
        (other, _) => return Err(OpsError::Invalid(format!("{} is no change of the tree", other.tool().name())).into()),
    };
    Ok(TreeChange { name, ..TreeChange::new(actor, command.tool(), op, nodes, receipt)? })
}
