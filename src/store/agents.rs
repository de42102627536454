//! The default agents of a new database.

use crate::{
    id::AgentId,
    types::{AgentKind, NewAgent, Permission, Permissions},
};

/// The three agents that every database starts with: the owner, a collaborator and a subject. Their ids are the same in
/// every database, so that an export keeps its authors when it is imported into another one.
#[must_use]
pub(crate) fn default_agents() -> [NewAgent; 3] {
    let agent = |number: u128, name: &str, kind, permissions| NewAgent {
        permissions,
        ..NewAgent::new(AgentId::from_bytes(number.to_be_bytes()), name, kind)
    };
    let collaborator = [
        Permission::LoomAware,
        Permission::LoomWrite,
        Permission::LoomGenerate,
        Permission::DocRead,
        Permission::DocWrite,
        Permission::Delegate,
    ];
    [
        agent(1, "owner", AgentKind::Human, Permissions::all()),
        agent(2, "collaborator", AgentKind::Model, collaborator.into_iter().collect()),
        agent(3, "subject", AgentKind::Model, Permissions::default()),
    ]
}

/// True if the profile is that of a default agent. The collaborator of files before schema 22 had no permission to delegate.
pub(crate) fn is_default_agent(profile: &NewAgent) -> bool {
    let without_delegation = |default: &NewAgent| NewAgent {
        permissions: default.permissions.iter().filter(|held| *held != Permission::Delegate).collect(),
        ..default.clone()
    };
    default_agents().iter().any(|default| {
        *profile == *default || default.kind == AgentKind::Model && *profile == without_delegation(default)
    })
}
