//! The context of a command: the open store, the acting agent, the workspace, the tree and the position.
//!
//! The current session is the agent's most recently active session in this workspace. An agent without one starts at
//! the position of the workspace's most recent session. `--tree` selects another tree. Only commands that write start a
//! session there.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use loomtree::{
    id::{AgentId, NodeId, SessionId, TreeId},
    ops::{Actor, Loom, OpsError},
    session::{
        Approval, recover,
        system::{SystemClock, os_ids},
    },
    store::{
        Location, OpenOptions, Receipt, SessionFilter, Store, StoreError, TreeFilter, migration_copies, sidecar_path,
    },
    tools::Tool,
    types::{Agent, Node, Op, Session, SessionPatch, Timestamp, Tree},
};
use serde::Serialize;

use super::{
    args::GlobalArgs,
    config::{self, Config},
    delegation, env,
    error::{CliError, ErrorCandidate, Result},
    output::{CliOutput, ID, paint},
    paths,
    sanitize::{cut, one_line},
    show::short_tree_id,
    terminal_lock::TerminalLock,
};

/// The open store with everything that commands share.
pub(crate) struct CommandContext<'a> {
    pub(crate) loom: Loom,
    pub(crate) agent: Agent,
    pub(crate) config: Config,
    pub(crate) workspace: String,
    /// The database.
    pub(crate) location: Location,
    /// The path of the database file, or that by which files of this machine belong to a database of a server.
    pub(crate) db: PathBuf,
    /// The folder of partial replies: text that streams is stored there until it is committed.
    pub(crate) partials_dir: PathBuf,
    pub(crate) out: &'a mut CliOutput,
    /// Arbitrates between the line editor and approval prompts.
    pub(crate) terminal_lock: Arc<TerminalLock>,
    /// Approves actions of agents. All agents share it, so that prompts appear one at a time.
    pub(crate) approval: Arc<dyn Approval>,
    agents: Vec<Agent>,
    tree: Option<String>,
}

/// The current tree, session and node.
pub(crate) struct CommandPosition {
    pub(crate) tree: Tree,
    pub(crate) session: Option<Session>,
    pub(crate) position: Node,
}

impl CommandPosition {
    /// Returns the node versions that the session selected.
    pub(crate) fn versions(&self) -> &[NodeId] {
        self.session.as_ref().map_or(&[], |session| &session.versions)
    }
}

/// Returns the location of the database.
pub(crate) fn location(globals: &GlobalArgs) -> Result<Location> {
    globals.db.as_deref().map_or_else(|| paths::default_db().map(Location::File), |db| Ok(location_of(db)))
}

/// Reads a path or a URL. A URL without a password gets that of `PGPASSWORD`.
pub(crate) fn location_of(db: &Path) -> Location {
    match (Location::of(db), env::env("PGPASSWORD")) {
        (Location::Postgres(url), Some(password)) => Location::Postgres(with_password(url, &password)),
        (location, _) => location,
    }
}

/// Adds a password to a URL that has none.
fn with_password(url: String, password: &str) -> String {
    if Location::Postgres(url.clone()).without_password().is_some() {
        return url;
    }
    let password: String = password.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let joint = if url.contains('?') { '&' } else { '?' };
    format!("{url}{joint}password={password}")
}

/// Opens the database. Falls back to read-only access if the file or its folder cannot be written, or the disk is full.
fn open(options: &OpenOptions, location: &Location) -> Result<Arc<dyn Store>> {
    let refused = match options.connect(location) {
        Err(
            error @ (StoreError::ReadOnly { .. }
            | StoreError::CannotOpen { .. }
            | StoreError::Full
            | StoreError::Io { .. }),
        ) if location.file().is_some_and(Path::exists) => error,
        opened => return Ok(opened?),
    };
    let read_only = options.clone().read_only(true).connect(location);
    if matches!(refused, StoreError::Full | StoreError::Io { .. }) && read_only.is_ok() {
        // A closed standard error leaves no place for it.
        let _ = writeln!(io::stderr(), "loom: only reading works: {refused}");
    }
    read_only.map_err(|_| refused.into())
}

impl<'a> CommandContext<'a> {
    /// Opens the database, and creates it only if `create` is true.
    pub(crate) fn open(globals: &GlobalArgs, out: &'a mut CliOutput, create: bool) -> Result<Self> {
        let config = config::load(globals)?;
        let location = location(globals)?;
        if !create && !location.exists() {
            return Err(CliError::NoDatabase(location.to_string()));
        }
        if let (None, Some(folder)) = (&globals.db, location.file().and_then(Path::parent)) {
            paths::create_private_dir(folder)?;
        }
        let ids = os_ids().map_err(|e| CliError::io("reading random numbers", e))?;
        let clock = Arc::new(SystemClock);
        let wait = Duration::from_secs(config.wait_seconds().into());
        let copies = || location.file().and_then(|file| migration_copies(file).ok()).unwrap_or_default();
        let before = copies();
        let store = open(&OpenOptions::new(clock.clone(), ids.clone()).wait(wait).create(create), &location)?;
        for copy in copies().iter().filter(|copy| !before.contains(copy)) {
            let copy = one_line(&copy.display().to_string());
            let text = "is a copy of the database before its migration; `loom purge` does not change it";
            writeln!(io::stderr(), "{copy} {text}").map_err(|e| CliError::io("writing", e))?;
        }
        let db = paths::local_files(&location, store.database_id()?)?;
        if let (None, Some(folder)) = (location.file(), db.parent()) {
            paths::create_private_dir(folder)?;
        }
        let loom = Loom::new(store, clock, ids);
        let agent = loom.agent(globals.agent.as_deref().unwrap_or("owner"))?;
        let agents = loom.snapshot()?.agents()?;
        let workspace = paths::workspace(globals.workspace.as_deref())?;
        let partials_dir = sidecar_path(&db, ".drafts");
        // Partial replies of a killed process are saved before anything is shown. If that fails, they remain for the
        // next command.
        let found = recover(&loom.actor(&agent), &partials_dir).unwrap_or_default();
        for id in found {
            let node = loom.node(id)?;
            let text = "partial reply saved; its process was killed while it streamed";
            writeln!(io::stderr(), "{}  {text}", node.local).map_err(|e| CliError::io("writing", e))?;
        }
        let terminal_lock = Arc::clone(&out.terminal_lock);
        let approval = delegation::terminal_approval(out.json, &terminal_lock);
        let tree = globals.tree.clone();
        Ok(Self {
            loom,
            agent,
            config,
            workspace,
            location,
            db,
            partials_dir,
            out,
            terminal_lock,
            approval,
            agents,
            tree,
        })
    }

    /// Returns an error if the agent lacks the permission for a tool.
    pub(crate) fn allow(&self, tool: Tool) -> Result<()> {
        let Some(missing) = tool.missing_permission(self.agent.profile.permissions) else { return Ok(()) };
        let name = self.agent.name();
        Err(CliError::Failed {
            message: format!("{name} may not use {}: it lacks the permission {missing}", tool.name()),
            hint: Some(format!("`loom agents` lists the permissions of {name}; without --as you act as the owner")),
        })
    }

    /// Returns an actor for the agent without a session.
    pub(crate) fn actor(&self) -> Actor {
        self.loom.actor(&self.agent)
    }

    /// Returns the current time.
    pub(crate) fn now(&self) -> Timestamp {
        self.loom.now()
    }

    /// Returns all agents of the database, removed ones included.
    pub(crate) fn agents(&self) -> &[Agent] {
        &self.agents
    }

    /// Returns the name of an agent, or `?` for an unknown id.
    pub(crate) fn name(&self, id: AgentId) -> &str {
        self.agents.iter().find(|agent| agent.id() == id).map_or("?", |agent| agent.name())
    }

    /// Returns the tree named by `--tree`, if the option was given.
    pub(crate) fn named_tree(&self) -> Result<Option<Tree>> {
        self.tree.as_deref().map(|text| self.find_tree(text)).transpose()
    }

    /// Finds a tree as [`Loom::find_tree`] does. The error for an unknown tree names similar ones, else the newest ones with
    /// their ids.
    pub(crate) fn find_tree(&self, text: &str) -> Result<Tree> {
        self.loom.find_tree(text).map_err(|error| match error {
            OpsError::NotFound { ref similar, .. } if similar.is_empty() => {
                let trees = self.loom.snapshot().and_then(|s| Ok(s.trees(TreeFilter { archived: true, limit: 3 })?));
                let name = |tree: &Tree| format!("{} ({})", short_tree_id(tree.id), cut(&tree.title, 40));
                let names: Vec<String> = trees.unwrap_or_default().iter().map(name).collect();
                let hint = (!names.is_empty()).then(|| format!("there are: {}", names.join(", ")));
                CliError::NotFound { message: error.to_string(), hint }
            }
            other => other.into(),
        })
    }

    /// Returns the agent's newest active session in this workspace, of `tree` or of any tree.
    pub(crate) fn session(&self, tree: Option<TreeId>) -> Result<Option<Session>> {
        Ok(self.loom.find_session(&self.workspace, self.agent.id(), tree)?)
    }

    /// Makes a session the newest one of the agent in this workspace again.
    pub(crate) fn keep_current(&self, session: &Session) -> Result<()> {
        if self.session(None)?.is_some_and(|newest| newest.id != session.id) {
            self.actor().update_session(session.id, SessionPatch::default())?;
        }
        Ok(())
    }

    /// Returns the current position. Starts no session.
    pub(crate) fn position(&self) -> Result<CommandPosition> {
        self.try_position()?.ok_or_else(|| self.no_tree())
    }

    /// Returns an error unless `--tree` names the current tree or a session of this folder is in it. An undo must not archive a
    /// tree that is current only because the database has no other.
    pub(crate) fn require_tree_in_use(&self) -> Result<()> {
        self.position_in_use()?.map(drop).ok_or_else(|| self.no_tree())
    }

    fn no_tree(&self) -> CliError {
        let trees = self.loom.snapshot().and_then(|s| Ok(s.trees(TreeFilter { archived: true, limit: 2 })?));
        CliError::NoTree { elsewhere: trees.map_or(0, |trees| trees.len()) }
    }

    /// Returns the current position, or `None` if there is no tree to work on.
    pub(crate) fn try_position(&self) -> Result<Option<CommandPosition>> {
        match self.position_in_use()? {
            Some(current) => Ok(Some(current)),
            None => self.only_tree(),
        }
    }

    /// Returns the position in the tree that `--tree` names, or that of this folder's session.
    fn position_in_use(&self) -> Result<Option<CommandPosition>> {
        let (tree, session) = match self.named_tree()? {
            Some(tree) => {
                let session = self.session(Some(tree.id))?;
                (tree, session)
            }
            None => match self.session(None)? {
                Some(session) => (self.loom.tree(session.tree)?, Some(session)),
                None => match self.any_recent_session()? {
                    Some(session) => return self.position_of(&session).map(Some),
                    None => return Ok(None),
                },
            },
        };
        let position = self.loom.position(&tree, session.as_ref())?;
        Ok(Some(CommandPosition { tree, session, position }))
    }

    /// Returns the newest active session of any agent in this workspace.
    fn any_recent_session(&self) -> Result<Option<Session>> {
        let workspace = Some(self.workspace.clone());
        let filter = SessionFilter { workspace, active: true, limit: 1, ..SessionFilter::default() };
        Ok(self.loom.snapshot()?.sessions(&filter)?.pop())
    }

    /// Returns the last node of the only tree. Returns `None` unless there is exactly one tree.
    fn only_tree(&self) -> Result<Option<CommandPosition>> {
        let mut trees = self.loom.snapshot()?.trees(TreeFilter { archived: false, limit: 2 })?;
        let (Some(tree), true) = (trees.pop(), trees.is_empty()) else { return Ok(None) };
        let position = self.loom.position(&tree, None)?;
        Ok(Some(CommandPosition { tree, session: None, position }))
    }

    fn position_of(&self, session: &Session) -> Result<CommandPosition> {
        let tree = self.loom.tree(session.tree)?;
        let position = self.loom.position(&tree, Some(session))?;
        Ok(CommandPosition { tree, session: None, position })
    }

    /// Returns the current position with its session and an actor for it. Starts a session if there is none. A note says if
    /// the tree is archived, since lists do not show what is written into it.
    pub(crate) fn ensure_session(&self) -> Result<(CommandPosition, SessionId, Actor)> {
        let mut current = self.position()?;
        if current.tree.archived_at.is_some() {
            let note = format!(
                "this tree is archived: {}; `loom archive --undo` shows it in lists",
                one_line(&current.tree.title)
            );
            writeln!(io::stderr(), "{note}").map_err(|e| CliError::io("writing", e))?;
        }
        let session = match &current.session {
            Some(session) => session.id,
            None => {
                let id = self.actor().start_session(&self.workspace, current.tree.id, Some(current.position.id))?;
                current.session = Some(self.loom.session(id)?);
                id
            }
        };
        Ok((current, session, self.actor().in_session(session)))
    }

    /// Returns the end of a result's line that names the session's position, if the command moved it from `before`; else an
    /// empty text.
    pub(crate) fn moved(&self, session: SessionId, before: NodeId) -> Result<String> {
        let after = self.loom.session(session)?.position.filter(|after| *after != before);
        let after = after.map(|id| self.loom.node(id)).transpose()?;
        Ok(after.map(|node| format!("; you are at {} now", paint(ID, &node.local))).unwrap_or_default())
    }

    /// Resolves `text` to a node: an id in any form, `.` or `here` for the position, `..` or `parent`, `/` or `root`.
    pub(crate) fn node(&self, current: &CommandPosition, text: &str) -> Result<Node> {
        match text {
            "." | "here" => return Ok(current.position.clone()),
            ".." | "parent" => {
                let before = self.loom.parent_on_path(&current.position, current.versions())?;
                return before.ok_or_else(|| CliError::failed("the root has no parent"));
            }
            "/" | "root" => {
                let root = current.tree.root.ok_or_else(|| CliError::failed("this tree has no root"))?;
                return Ok(self.loom.root_on_path(root, current.versions())?);
            }
            _ => {}
        }
        self.loom.find_node(current.tree.id, text).map_err(|error| match error {
            OpsError::NotFound { .. } => self.node_elsewhere(current.tree.id, text).unwrap_or_else(|| error.into()),
            OpsError::Ambiguous { text, candidates } => {
                CliError::Ambiguous { text, candidates: candidates.into_iter().map(|n| self.candidate(n)).collect() }
            }
            other => other.into(),
        })
    }

    /// Returns the error for an id of a node in another tree; `None` if there is no such node.
    fn node_elsewhere(&self, current: TreeId, text: &str) -> Option<CliError> {
        let node = self.loom.find_elsewhere(current, text, |_| true, |_| true).ok()??;
        let tree = self.loom.tree(node.tree).ok()?;
        let place = format!("it is in the tree {}", cut(&tree.title, 40));
        Some(CliError::NotFound {
            message: format!("no node {text:?} in this tree"),
            hint: Some(format!("{place}: loom switch --tree {} {}", short_tree_id(tree.id), node.local)),
        })
    }

    /// Resolves `text` to a node, or returns the position if there is no text.
    pub(crate) fn node_or_here(&self, current: &CommandPosition, text: Option<&str>) -> Result<Node> {
        self.node(current, text.unwrap_or("."))
    }

    fn candidate(&self, node: Node) -> ErrorCandidate {
        ErrorCandidate { local: node.local.to_string(), author: self.name(node.author).to_owned(), words: node.content }
    }

    /// Prints the result of a committed change: `text`, or the receipt as JSON.
    pub(crate) fn print_receipt(&mut self, op: Op, receipt: &Receipt, text: impl FnOnce() -> String) -> Result<()> {
        #[derive(Serialize)]
        struct ReceiptJson<'a> {
            op: Op,
            #[serde(flatten)]
            receipt: &'a Receipt,
        }
        self.out.committed = true;
        self.print_value(&ReceiptJson { op, receipt }, text)
    }

    /// Prints the result of a change that was saved: `text`, or `value` as JSON.
    pub(crate) fn print_saved(&mut self, value: &impl Serialize, text: impl FnOnce() -> String) -> Result<()> {
        self.out.committed = true;
        self.print_value(value, text)
    }

    /// Prints `text`, or `value` as JSON.
    pub(crate) fn print_value(&mut self, value: &impl Serialize, text: impl FnOnce() -> String) -> Result<()> {
        use std::io::Write as _;
        if self.out.json {
            self.out.json(value)?;
        } else {
            writeln!(self.out, "{}", text())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_without_a_password_gets_one() {
        let with = |url: &str| with_password(url.to_owned(), "s@?t");
        assert_eq!(with("postgres://ann@db/loom"), "postgres://ann@db/loom?password=%73%40%3F%74");
        assert_eq!(
            with("postgres://ann@db/l?sslmode=require"),
            "postgres://ann@db/l?sslmode=require&password=%73%40%3F%74"
        );
        for own in ["postgres://ann:x@db/loom", "postgres://ann@db/loom?password=x"] {
            assert_eq!(with(own), own);
        }
    }
}
