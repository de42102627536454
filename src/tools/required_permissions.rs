//! The permissions that a tool and a command need: the only place that derives them.

use super::{Command, Listing, RecallScope, SideEffect, Tool};
use crate::types::{Permission, Permissions};

/// Returns the permission that `permission` requires in addition: without it, `permission` allows nothing.
const fn prerequisite(permission: Permission) -> Option<Permission> {
    match permission {
        Permission::LoomWrite | Permission::LoomGenerate | Permission::Delegate => Some(Permission::LoomAware),
        Permission::DocWrite => Some(Permission::DocRead),
        _ => None,
    }
}

/// Returns the first of `required` and its prerequisite that is not in `held`; `None` if both are.
#[must_use]
pub fn missing_permission(required: Permission, held: Permissions) -> Option<Permission> {
    [Some(required), prerequisite(required)].into_iter().flatten().find(|permission| !held.has(*permission))
}

/// Returns the permission that the arguments in a brief form of a tool need and that is not in `held`; `None` if none is
/// missing.
pub(super) fn form_missing_permission(form: &str, held: Permissions) -> Option<Permission> {
    let needed = [("doc", Permission::DocRead), ("tree:", Permission::CrossTree), ("trees", Permission::CrossTree)];
    let missing = needed.into_iter().find(|(word, permission)| form.contains(word) && !held.has(*permission));
    missing.map(|(_, permission)| permission)
}

impl Tool {
    /// Returns the first permission that an agent with `held` lacks to use this tool at all; `None` if it may use it.
    #[must_use]
    pub fn missing_permission(self, held: Permissions) -> Option<Permission> {
        missing_permission(self.spec().permission, held)
    }
}

impl Command {
    /// Returns the permissions that an agent needs to run the command: the tool's, its prerequisite, and those that the
    /// arguments add.
    #[must_use]
    pub fn required_permissions(&self) -> Permissions {
        let own = self.tool().spec().permission;
        let (document, other_tree) = match self {
            Self::Pin { doc, .. } => (doc.is_some(), false),
            Self::List { what, .. } => (*what == Listing::Documents, *what == Listing::Trees),
            Self::Switch { tree, .. } => (false, tree.is_some()),
            Self::Recall { only, .. } => (false, matches!(only.scope, Some(RecallScope::Workspace | RecallScope::All))),
            Self::Link { to, .. } => (to.doc.is_some(), to.tree.is_some()),
            Self::Unlink { from, .. } => (from.doc.is_some(), from.tree.is_some()),
            _ => (false, false),
        };
        let document = document.then_some(Permission::DocRead);
        let other_tree = other_tree.then_some(Permission::CrossTree);
        [Some(own), prerequisite(own), document, other_tree].into_iter().flatten().collect()
    }

    /// Returns the extent of the command's changes: the tool's, or none if the arguments only read.
    #[must_use]
    pub fn side_effect(&self) -> SideEffect {
        match self {
            Self::Todo { add, done: None, cancel: None, resume: false, .. } if add.is_empty() => SideEffect::ReadOnly,
            command => command.tool().spec().side_effect,
        }
    }

    /// Returns the first required permission that is not in `held`; `None` if the agent may run the command.
    #[must_use]
    pub fn missing_permission(&self, held: Permissions) -> Option<Permission> {
        self.required_permissions().iter().find(|permission| !held.has(*permission))
    }
}
