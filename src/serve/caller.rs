//! Sender of a request, and its rights: scope, project, models, the thoughts that it may read.

use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};

use super::{
    error::{ApiError, Result},
    settings::ServerSettings,
    token::TokenScope,
};
use crate::{
    id::AgentId,
    session::ToolAccess,
    types::{Node, Permission, Permissions, Tree, WorkItem},
};

/// Sender of a request: its rights and its agent.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    /// Name of the token; empty for a request without one.
    pub(super) token: String,
    /// Hash of the token; empty for a request without one.
    pub(super) token_hash: String,
    pub(super) scope: TokenScope,
    /// Project that the caller is limited to.
    pub(super) project: Option<String>,
    /// Name of the acting agent.
    pub(super) agent: String,
    /// True if the token is for this agent only.
    pub(super) bound: bool,
}

impl Caller {
    /// True if the caller may see a tree: all trees, or those of its project.
    pub(super) fn can_see(&self, tree: &Tree) -> bool {
        self.can_see_item(tree.item.as_ref())
    }

    /// True if the caller may see what belongs to a work item.
    pub(super) fn can_see_item(&self, item: Option<&WorkItem>) -> bool {
        self.project.as_ref().is_none_or(|project| item.is_some_and(|item| item.project == *project))
    }

    /// Returns an error unless the token has a scope.
    pub(super) fn require(&self, scope: TokenScope) -> Result<()> {
        if self.scope >= scope {
            return Ok(());
        }
        let scope = format!("{scope:?}").to_lowercase();
        Err(ApiError::scope(format!("this needs a token of scope {scope}")))
    }

    /// Permissions that no agent has for this caller: a token of a project reaches neither documents nor other trees.
    pub(super) fn withheld(&self) -> Permissions {
        const OUTSIDE: [Permission; 3] = [Permission::DocRead, Permission::DocWrite, Permission::CrossTree];
        OUTSIDE.into_iter().filter(|_| self.project.is_some()).collect()
    }

    /// Returns the name of a workspace for this caller. Those of a project are its own: a user's folder is no workspace of it.
    pub(super) fn workspace(&self, name: String) -> String {
        match &self.project {
            Some(project) => format!("project:{project}/{name}"),
            None => name,
        }
    }

    /// Returns an error if the caller may not name a model: an address or a file is named by a token of scope admin only,
    /// because the server reads it.
    pub(super) fn require_model(&self, reference: &str) -> Result<()> {
        let is_file = reference.strip_prefix("local:").is_some_and(|name| name.contains(['/', '\\', '.', '~']));
        if (is_file || reference.contains("://")) && self.scope < TokenScope::Admin {
            return Err(ApiError::scope("a model named by an address or a file needs a token of scope admin")
                .hint("name an agent, a model of the configuration or one of a known provider"));
        }
        Ok(())
    }

    /// The tools of agents' commands for this caller.
    pub(super) fn tool_access(&self, settings: &ServerSettings) -> ToolAccess {
        ToolAccess { withheld: self.withheld(), ..settings.tool_access.clone() }
    }

    /// Returns an error if the token is limited to a project: documents and agents belong to the whole file.
    pub(super) fn require_whole_file(&self) -> Result<()> {
        match self.project {
            None => Ok(()),
            Some(_) => Err(ApiError::new(StatusCode::NOT_FOUND, "not_found", "not part of this token's project")),
        }
    }
}

/// Agent that reads for a caller whose token is limited to a model's agent. It does not see the thoughts of other agents.
/// Other callers see all thoughts: they can act as a person.
#[derive(Debug, Clone, Copy)]
pub(super) struct ThoughtReader(pub(super) Option<AgentId>);

impl ThoughtReader {
    /// Removes the nodes that the caller may not read.
    pub(super) fn retain_readable(self, nodes: &mut Vec<Node>) {
        nodes.retain(|node| self.may_read(node));
    }

    /// True if the caller may read a node.
    pub(super) fn may_read(self, node: &Node) -> bool {
        self.0.is_none_or(|agent| node.is_readable_by(agent))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| ApiError::internal("a route without access control"))
    }
}

/// Sender of a request that needs a token of scope `admin`. It is checked before the body is read.
pub(super) struct AdminCaller(pub(super) Caller);

impl<S: Send + Sync> FromRequestParts<S> for AdminCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let caller = Caller::from_request_parts(parts, state).await?;
        caller.require(TokenScope::Admin)?;
        Ok(Self(caller))
    }
}
