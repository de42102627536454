//! State that all requests share, and access to trees and nodes within the caller's rights.

use std::sync::Arc;

use axum::http::StatusCode;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::{
    call_recorder::CallQueue,
    caller::{Caller, ThoughtReader},
    delegation_runs::DelegationRuns,
    error::{ApiError, Result},
    journal_tail::JournalTail,
    metrics::Metrics,
    openai::ResponseRuns,
    rate_limit::RateLimiter,
    running_generations::RunningGenerations,
    settings::ServerSettings,
    shape_cache::ShapeCache,
    token::CHECK_INTERVAL,
};
use crate::{
    id::{NodeId, SessionId, TreeId},
    ops::{Actor, Loom, SessionDraft},
    tools::Tool,
    types::{Agent, AgentKind, Node, Permission, Session, Tree, WorkItem},
};

/// Minimum number of short reads that run at the same time.
const MIN_READS: usize = 4;

/// Shared state of the server. Cheap to clone.
#[derive(Clone)]
pub(super) struct AppState(Arc<ServerState>);

pub(super) struct ServerState {
    pub(super) settings: ServerSettings,
    pub(super) metrics: Metrics,
    /// The newest entries of the journal.
    pub(super) journal: watch::Receiver<JournalTail>,
    pub(super) shutdown: CancellationToken,
    pub(super) rates: RateLimiter,
    pub(super) responses: ResponseRuns,
    pub(super) delegations: DelegationRuns,
    /// Client of the proxy.
    pub(super) client: reqwest::Client,
    /// Calls that wait for being recorded.
    pub(super) calls: CallQueue,
    /// Shapes of trees, for their maps.
    pub(super) shapes: ShapeCache,
    /// Permits of short reads.
    reads: Semaphore,
    /// The permit of the check that the database can be read.
    pub(super) readiness: Arc<Semaphore>,
    pub(super) generations: RunningGenerations,
}

impl std::ops::Deref for AppState {
    type Target = ServerState;

    fn deref(&self) -> &ServerState {
        &self.0
    }
}

impl AppState {
    pub(super) fn new(
        settings: ServerSettings,
        client: reqwest::Client,
        calls: CallQueue,
        journal: watch::Receiver<JournalTail>,
        shutdown: CancellationToken,
    ) -> Self {
        let rates = RateLimiter::new(settings.limits.requests_per_second, settings.limits.streams);
        let metrics = Metrics::default();
        let (responses, delegations, generations) = Default::default();
        let reads = std::thread::available_parallelism().map_or(MIN_READS, |count| count.get().max(MIN_READS));
        Self(Arc::new(ServerState {
            settings,
            metrics,
            journal,
            shutdown,
            rates,
            responses,
            delegations,
            client,
            calls,
            shapes: ShapeCache::default(),
            reads: Semaphore::new(reads),
            readiness: Arc::new(Semaphore::new(1)),
            generations,
        }))
    }

    /// Runs a blocking function of the library on a thread for blocking calls.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let state = self.clone();
        let (reply, answer) = oneshot::channel();
        // A type of its own for each call would compile the runtime's task code a hundred times. A failed send means that
        // the request was cancelled.
        let job: Box<dyn FnOnce() + Send> = Box::new(move || drop(reply.send(call(&state))));
        drop(tokio::task::spawn_blocking(job));
        answer.await.map_err(ApiError::internal)?
    }

    /// Runs a short read as [`AppState::run`] does, a few at a time: each has a connection to the database, and more of
    /// them than processors are slower.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let _permit = self.reads.acquire().await.map_err(ApiError::internal)?;
        self.run(call).await
    }

    /// True unless the caller's token was revoked.
    pub(super) fn is_allowed(&self, caller: &Caller) -> bool {
        caller.token_hash.is_empty() || self.settings.tokens.of_hash(&caller.token_hash).is_some()
    }

    /// Waits until the caller's token is revoked.
    pub(super) async fn revoked(&self, caller: &Caller) {
        while self.is_allowed(caller) {
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    }

    pub(super) fn loom(&self) -> &Loom {
        &self.settings.loom
    }

    /// Returns the tree with this id, or with this title, if the caller may see it.
    pub(super) fn tree(&self, caller: &Caller, text: &str) -> Result<Tree> {
        match text.parse::<TreeId>() {
            Ok(id) => {
                let tree = self.loom().snapshot()?.tree(id)?.filter(|tree| caller.can_see(tree));
                tree.ok_or_else(|| ApiError::not_found("tree", text))
            }
            Err(_) => Ok(self.loom().find_tree_among(text, |tree| caller.can_see(tree))?),
        }
    }

    /// Returns the tree with this id or this whole title, if the caller may see it. Changes ask for it: a part of a title
    /// may be that of another tree.
    pub(super) fn exact_tree(&self, caller: &Caller, text: &str) -> Result<Tree> {
        let tree = self.tree(caller, text)?;
        let is_id = text.parse() == Ok(tree.id);
        if is_id || tree.title.trim().eq_ignore_ascii_case(text.trim()) {
            return Ok(tree);
        }
        Err(ApiError::not_found("tree", text).hint("a change needs the tree's whole id or its whole title"))
    }

    /// Returns the agent whose thoughts the caller sees.
    pub(super) fn thought_reader(&self, caller: &Caller) -> Result<ThoughtReader> {
        if !caller.bound {
            return Ok(ThoughtReader(None));
        }
        let profile = self.agent(caller, None)?.profile;
        Ok(ThoughtReader(Some(profile.id).filter(|_| profile.kind != AgentKind::Human)))
    }

    /// Returns the node with this id, if the caller may see its tree and, for a thought, read it.
    pub(super) fn node(&self, caller: &Caller, id: NodeId) -> Result<Node> {
        let snapshot = self.loom().snapshot()?;
        let missing = || ApiError::not_found("node", id);
        let node = snapshot.node(id)?.ok_or_else(missing)?;
        let is_visible = snapshot.tree(node.tree)?.is_some_and(|tree| caller.can_see(&tree));
        if is_visible && self.thought_reader(caller)?.may_read(&node) { Ok(node) } else { Err(missing()) }
    }

    /// Returns the session with this id, if the caller may see its tree.
    pub(super) fn session(&self, caller: &Caller, id: SessionId) -> Result<Session> {
        let snapshot = self.loom().snapshot()?;
        let session = snapshot.session(id)?.ok_or_else(|| ApiError::not_found("session", id))?;
        let tree = snapshot.tree(session.tree)?.filter(|tree| caller.can_see(tree));
        tree.map(|_| session).ok_or_else(|| ApiError::not_found("session", id))
    }

    /// Returns the session with this id for a change. Fails if it has ended.
    pub(super) fn active_session(&self, caller: &Caller, id: SessionId) -> Result<Session> {
        let session = self.session(caller, id)?;
        if session.active {
            return Ok(session);
        }
        Err(ApiError::new(StatusCode::CONFLICT, "session_ended", "the session has ended"))
    }

    /// Returns an error if a token that is limited to a model's agent would change the session of another agent.
    pub(super) fn require_own_session(&self, caller: &Caller, session: &Session) -> Result<()> {
        match self.thought_reader(caller)?.0 {
            Some(agent) if agent != session.agent => Err(ApiError::permission("the session belongs to another agent")),
            _ => Ok(()),
        }
    }

    /// Returns an error if the caller's agent lacks the permission for other trees.
    pub(super) fn require_cross_tree(&self, caller: &Caller) -> Result<()> {
        let agent = self.agent(caller, None)?;
        if agent.profile.permissions.has(Permission::CrossTree) {
            return Ok(());
        }
        Err(ApiError::permission(format!("{} lacks the permission {}", agent.name(), Permission::CrossTree)))
    }

    /// Returns the caller's agent, or the agent with this name, with the permissions that it has for this caller.
    pub(super) fn agent(&self, caller: &Caller, name: Option<&str>) -> Result<Agent> {
        let mut agent = self.loom().agent(name.unwrap_or(&caller.agent))?;
        agent.profile.permissions = agent.profile.permissions.without(caller.withheld());
        Ok(agent)
    }

    /// Returns an actor for the caller's agent.
    pub(super) fn actor(&self, caller: &Caller) -> Result<Actor> {
        Ok(self.loom().actor(&self.agent(caller, None)?))
    }

    /// Returns an actor for the caller's agent. Fails if the agent lacks the permission for a tool.
    pub(super) fn actor_for(&self, caller: &Caller, tool: Tool) -> Result<Actor> {
        let agent = self.agent(caller, None)?;
        match tool.missing_permission(agent.profile.permissions) {
            None => Ok(self.loom().actor(&agent)),
            Some(missing) => Err(ApiError::permission(format!(
                "{} may not use {}: it lacks the permission {missing}",
                agent.name(),
                tool.name()
            ))),
        }
    }

    /// Assigns a new tree to the project that the caller is limited to. Returns the work item of the tree.
    pub(super) fn assign_project(&self, caller: &Caller, tree: TreeId, root: NodeId) -> Result<Option<WorkItem>> {
        let Some(project) = &caller.project else { return Ok(None) };
        let item = Some(WorkItem { project: project.clone(), external_ref: tree.to_string() });
        let draft = SessionDraft { item: item.clone(), ..SessionDraft::of("") };
        self.actor(caller)?.open_session(tree, Some(root), draft)?;
        Ok(item)
    }
}
