//! `loom switch`: the position moves to another node, named by id or by where it lies.

use loomtree::{
    id::NodeId,
    model::{EdgeKind, Node, SessionPatch},
    store::ChildFilter,
};

use super::trees;
use crate::cli::{
    desk::{Desk, Here},
    error::{CliError, Result},
    show::{NodeJson, turn},
};

/// What `switch` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// An id, or: parent, root, next or previous (sibling), leaf (the newest end below), back (where you were)
    to: Option<String>,
}

/// Where the session keeps the position it came from.
const BACK: &str = "loom.back";

/// Moves the position.
pub(crate) fn run(args: &Args, desk: &mut Desk<'_>) -> Result<()> {
    let Some(to) = &args.to else {
        let tree = desk.named_tree()?;
        let tree = tree.ok_or_else(|| CliError::usage("where to? name a node, or a tree with --tree"))?;
        return trees::take(&tree, desk);
    };
    let (here, session, actor) = desk.work()?;
    let node = target(to, &here, desk)?;
    if node.tree != here.tree.id {
        return Err(CliError::Failed {
            message: format!("[{}] is in another tree", node.local),
            hint: Some(format!("loom switch --tree {} {}", super::super::show::short(node.tree), node.local)),
        });
    }
    if node.state.pruned_by.is_some() {
        return Err(CliError::Failed {
            message: format!("[{}] is pruned", node.local),
            hint: Some("`loom restore` shows it again; `loom view ID` reads it".to_owned()),
        });
    }
    let mut metadata = here.session.as_ref().map(|session| session.metadata.clone()).unwrap_or_default();
    if here.position.id != node.id {
        metadata.insert(BACK.to_owned(), here.position.id.to_string());
    }
    let patch = SessionPatch { position: Some(node.id), metadata: Some(metadata), ..SessionPatch::default() };
    actor.update_session(session, patch)?;
    if node.state.versions > 0 || node.kind == EdgeKind::Version {
        actor.choose_version(session, node.id)?;
    }
    let (name, now) = (desk.name(node.author).to_owned(), desk.now());
    desk.say(&NodeJson { node: &node, author: &name, position: true }, || {
        turn(&node, &name, now, true).trim_end().to_owned()
    })
}

fn target(to: &str, here: &Here, desk: &Desk<'_>) -> Result<Node> {
    let at = &here.position;
    match to {
        "parent" => desk.node(here, ".."),
        "root" => desk.node(here, "/"),
        "next" => sibling(at, true, desk),
        "previous" => sibling(at, false, desk),
        "leaf" => leaf(at, desk),
        "back" => {
            let back = here.session.as_ref().and_then(|session| session.metadata.get(BACK));
            let back: NodeId = back
                .and_then(|id| id.parse().ok())
                .ok_or_else(|| CliError::failed("you have not been anywhere else yet"))?;
            Ok(desk.loom.node(back)?)
        }
        id => desk.node(here, id),
    }
}

/// The next or previous child of the same parent; after the last comes the first.
fn sibling(at: &Node, next: bool, desk: &Desk<'_>) -> Result<Node> {
    let alone = || CliError::failed(format!("[{}] has no siblings", at.local));
    let parent = at.parent.ok_or_else(alone)?;
    let place = at.version_of.unwrap_or(at.id);
    let filter = ChildFilter { kind: Some(EdgeKind::Continuation), pruned: false, limit: 0 };
    let siblings = desk.loom.snapshot()?.children(parent, &filter)?;
    let index = siblings.iter().position(|n| n.id == place).ok_or_else(alone)?;
    let step = if next { 1 } else { siblings.len() - 1 };
    let found = siblings.get((index + step) % siblings.len()).filter(|n| n.id != place);
    found.cloned().ok_or_else(alone)
}

/// The end that is reached by always taking the newest continuation.
fn leaf(at: &Node, desk: &Desk<'_>) -> Result<Node> {
    let loom = desk.loom.clone();
    let snapshot = loom.snapshot()?;
    let mut node = at.clone();
    let filter = ChildFilter { kind: Some(EdgeKind::Continuation), pruned: false, limit: 0 };
    while let Some(last) = snapshot.children(node.id, &filter)?.pop() {
        node = last;
    }
    if node.id == at.id {
        return Err(CliError::failed(format!("[{}] is a leaf", at.local)));
    }
    Ok(node)
}
