//! The permissions that a tool needs. The permissions of a command depend on its arguments and are in
//! `arrow/command/permission.rs`.

use super::Tool;
use crate::types::{Permission, Permissions};

/// Returns the permission that `permission` requires in addition: without it, `permission` allows nothing.
pub(crate) const fn prerequisite(permission: Permission) -> Option<Permission> {
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

impl Tool {
    /// Returns the first permission that an agent with `held` lacks to use this tool at all; `None` if it may use it.
    #[must_use]
    pub fn missing_permission(self, held: Permissions) -> Option<Permission> {
        missing_permission(self.spec().permission, held)
    }
}
