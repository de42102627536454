//! What a command needs: the one place that says so, for every door.

use crate::{
    arrow::{Command, RecallScope},
    types::{Permission, Permissions},
};

/// What an agent needs to run a command: the tool's permission, what that rests on, and what the command's arguments
/// ask for beside it.
#[must_use]
pub fn needs(command: &Command) -> Permissions {
    let own = command.tool().spec().permission;
    let (document, other_tree) = match command {
        Command::Pin { doc, .. } => (doc.is_some(), false),
        Command::Switch { tree, .. } => (false, tree.is_some()),
        Command::Recall { only, .. } => (false, matches!(only.scope, Some(RecallScope::Workspace | RecallScope::All))),
        Command::Link { to, .. } => (false, to.tree.is_some()),
        Command::Unlink { from, .. } => (false, from.tree.is_some()),
        _ => (false, false),
    };
    [Some(own), rests_on(own), document.then_some(Permission::DocRead), other_tree.then_some(Permission::CrossTree)]
        .into_iter()
        .flatten()
        .collect()
}

/// The permission that another one rests on: having one without the other allows nothing.
const fn rests_on(permission: Permission) -> Option<Permission> {
    match permission {
        Permission::LoomWrite | Permission::LoomGenerate | Permission::Delegate => Some(Permission::LoomAware),
        Permission::DocWrite => Some(Permission::DocRead),
        _ => None,
    }
}

/// The first permission that is missing for a command.
#[must_use]
pub fn missing(command: &Command, held: Permissions) -> Option<Permission> {
    needs(command).iter().find(|permission| !held.has(*permission))
}

/// The first permission that is missing to use a tool at all.
#[must_use]
pub fn lacking(tool: super::Tool, held: Permissions) -> Option<Permission> {
    without(tool.spec().permission, held)
}

/// The first permission that is missing where `own` is asked for: itself, or what it rests on.
#[must_use]
pub fn without(own: Permission, held: Permissions) -> Option<Permission> {
    [Some(own), rests_on(own)].into_iter().flatten().find(|permission| !held.has(*permission))
}
