//! The session of a call: the one that it names, or the default of its client and folder.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use super::backend::McpBackend;
use crate::{
    exec::ExecRights,
    id::SessionId,
    ops::{Actor, Loom, SessionDraft, TreeDraft},
    store::{SessionFilter, TreeFilter},
    tools::{ErrorCode, ToolError},
    types::{AuthorType, Permission, Session, Tree, first_words},
};

/// Key of a session's metadata that holds the name of its client.
const CLIENT_KEY: &str = "mcp_client";

/// Maximum characters of a client's name.
const MAX_CLIENT_CHARS: usize = 64;

/// Maximum number of sessions of a folder that are searched for that of the client.
const MAX_SESSIONS: u32 = 200;

/// Held while a session is found or started, so that parallel calls of a client share one.
static RESOLVING: Mutex<()> = Mutex::new(());

/// Finds or starts the sessions of a client in a folder.
pub(super) struct SessionResolver<'a> {
    loom: &'a Loom,
    actor: Actor,
    workspace: &'a str,
    client: String,
    rights: ExecRights,
}

impl<'a> SessionResolver<'a> {
    pub(super) fn new(backend: &'a McpBackend, workspace: &'a str, client: &str, rights: ExecRights) -> Self {
        let mut client = first_words(client, MAX_CLIENT_CHARS);
        if client.is_empty() {
            client.push_str("client");
        }
        Self { loom: &backend.loom, actor: backend.loom.actor(&backend.agent), workspace, client, rights }
    }

    /// Returns the session of a call. A session of another agent, or a tree, gets a session of its own at the same
    /// position.
    pub(super) fn resolve(&self, given: Option<&str>) -> Result<SessionId, ToolError> {
        let _alone = RESOLVING.lock().unwrap_or_else(PoisonError::into_inner);
        match given.map(str::trim).filter(|given| !given.is_empty()) {
            None => self.default_session(),
            Some(given) => self.named_session(given),
        }
    }

    /// Returns the client's newest session in the folder. Without one, the client starts where the folder's newest
    /// session is, or in a tree of its own.
    fn default_session(&self) -> Result<SessionId, ToolError> {
        let all = SessionFilter {
            workspace: Some(self.workspace.to_owned()),
            active: true,
            unexpired: Some(self.loom.now()),
            item: Some(None),
            limit: MAX_SESSIONS,
            ..SessionFilter::default()
        };
        let sessions = self.loom.sessions(&all)?;
        match sessions.iter().find(|session| self.is_own(session)) {
            Some(session) => Ok(session.id),
            None => match sessions.first() {
                Some(newest) => self.join(newest),
                None if self.rights.read_only => self.join_newest_tree(),
                None => self.begin_tree(),
            },
        }
    }

    fn is_own(&self, session: &Session) -> bool {
        session.agent == self.actor.agent() && session.metadata.get(CLIENT_KEY).is_some_and(|name| *name == self.client)
    }

    fn named_session(&self, given: &str) -> Result<SessionId, ToolError> {
        if let Ok(id) = given.parse::<SessionId>()
            && let Some(session) = self.loom.snapshot()?.session(id)?.filter(|session| session.item.is_none())
        {
            let own = session.agent == self.actor.agent() && session.can_resume(self.loom.now());
            return if own { Ok(id) } else { self.check_choice().and_then(|()| self.join(&session)) };
        }
        self.check_choice()?;
        let tree = self.loom.find_tree_among(given, |tree| tree.item.is_none()).map_err(|error| {
            let failure = ToolError::from(error);
            let hint = failure.hint.clone().unwrap_or_default();
            failure.hint(format!("pass a session id from an earlier answer, or a tree's title or id. {hint}"))
        })?;
        let filter =
            SessionFilter { tree: Some(tree.id), active: true, limit: MAX_SESSIONS, ..SessionFilter::default() };
        if let Some(session) = self.loom.sessions(&filter)?.iter().find(|session| self.is_own(session)) {
            return Ok(session.id);
        }
        self.join_tree(&tree)
    }

    /// Starts a session at the newest end of a tree.
    fn join_tree(&self, tree: &Tree) -> Result<SessionId, ToolError> {
        let end = self.loom.position(tree, None)?;
        Ok(self.actor.open_session(tree.id, Some(end.id), self.draft())?)
    }

    fn join_newest_tree(&self) -> Result<SessionId, ToolError> {
        let newest = self.loom.snapshot()?.trees(TreeFilter { archived: false, limit: 1 })?.pop();
        let newest = newest.ok_or_else(|| {
            ToolError::new(ErrorCode::NotFound, "there is no tree yet").hint(
                "the user creates one with `loom new \"First words\"` or imports past sessions with `loom import`",
            )
        })?;
        self.join_tree(&newest)
    }

    fn check_choice(&self) -> Result<(), ToolError> {
        if self.rights.permissions.is_none_or(|held| held.has(Permission::CrossTree)) {
            return Ok(());
        }
        let message = format!("choosing a session needs the permission {}", Permission::CrossTree);
        Err(ToolError::new(ErrorCode::PermissionDenied, message).hint("leave `session` out"))
    }

    /// Starts a session at the position of another one.
    fn join(&self, other: &Session) -> Result<SessionId, ToolError> {
        let position = self.loom.position(&self.loom.tree(other.tree)?, Some(other))?;
        Ok(self.actor.open_session(other.tree, Some(position.id), self.draft())?)
    }

    /// Starts a session in a new tree.
    fn begin_tree(&self) -> Result<SessionId, ToolError> {
        let folder = self.workspace.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or("notes");
        let mut draft = TreeDraft::new(format!("Notes of {} in {}", self.client, self.workspace));
        draft.root.author_type = Some(AuthorType::System);
        let (tree, root) = self.actor.create_tree(draft.title(format!("{folder}: {}", self.client)))?;
        Ok(self.actor.open_session(tree.id, Some(root.id), self.draft())?)
    }

    fn draft(&self) -> SessionDraft {
        let client = (CLIENT_KEY.to_owned(), self.client.clone());
        SessionDraft::of(self.workspace).metadata(BTreeMap::from([client]))
    }
}
