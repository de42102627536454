//! Where a command works: the open database, who acts, in which workspace, on which tree and node.
//!
//! The current session is the one this agent was last active in in this workspace; an agent that was never here
//! begins where the last one to work here stands. `--tree` looks at another tree; only what writes there starts a
//! session in it, so that looking around leaves no trace.

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
    store::{OpenOptions, Receipt, SessionFilter, SqliteStore, StoreError, TreeFilter, migration_copies},
    tools::{self, Tool},
    types::{Agent, Node, Op, Session, Timestamp, Tree},
};
use serde::Serialize;

use super::{
    args::Globals,
    config::{self, Config},
    delegation, env,
    error::{CliError, ErrorCandidate, Result},
    output::CliOutput,
    sanitize::one_line,
    terminal_lock::TerminalLock,
};

/// Where a command works.
pub(crate) struct CommandContext<'a> {
    pub(crate) loom: Loom,
    pub(crate) agent: Agent,
    pub(crate) config: Config,
    pub(crate) workspace: String,
    /// The database's file.
    pub(crate) db: PathBuf,
    /// Where words are kept while they stream.
    pub(crate) drafts: PathBuf,
    pub(crate) out: &'a mut CliOutput,
    /// Who has the terminal.
    pub(crate) floor: Arc<TerminalLock>,
    /// Who is asked before an agent does something: one for all, so that one question is put at a time.
    pub(crate) asked: Arc<dyn Approval>,
    agents: Vec<Agent>,
    tree: Option<String>,
}

/// The tree that is worked on, and where in it.
pub(crate) struct CommandPosition {
    pub(crate) tree: Tree,
    pub(crate) session: Option<Session>,
    pub(crate) position: Node,
}

impl CommandPosition {
    /// The versions that the session chose to read.
    pub(crate) fn versions(&self) -> &[NodeId] {
        self.session.as_ref().map_or(&[], |session| &session.versions)
    }
}

/// The file that holds the trees.
pub(crate) fn db_path(globals: &Globals) -> Result<PathBuf> {
    globals.db.clone().map_or_else(env::default_db, Ok)
}

/// Opens the database: for reading only, where its file or folder cannot be written.
fn open(options: &OpenOptions, db: &Path) -> Result<SqliteStore> {
    let refused = match options.open(db) {
        Err(error @ (StoreError::ReadOnly { .. } | StoreError::CannotOpen { .. })) if db.exists() => error,
        opened => return Ok(opened?),
    };
    options.clone().read_only(true).open(db).map_err(|_| refused.into())
}

impl<'a> CommandContext<'a> {
    /// Opens the database; makes it only if `create`.
    pub(crate) fn open(globals: &Globals, out: &'a mut CliOutput, create: bool) -> Result<Self> {
        let config = config::load(globals)?;
        let db = db_path(globals)?;
        if !create && !db.exists() {
            return Err(CliError::NoDatabase(db.display().to_string()));
        }
        if globals.db.is_none()
            && let Some(folder) = db.parent()
        {
            env::make_folder(folder)?;
        }
        let ids = os_ids().map_err(|e| CliError::io("reading random numbers", e))?;
        let clock = Arc::new(SystemClock);
        let wait = Duration::from_secs(config.wait_seconds().into());
        let before = migration_copies(&db).unwrap_or_default();
        let store = open(&OpenOptions::new(clock.clone(), ids.clone()).wait(wait).create(create), &db)?;
        for copy in migration_copies(&db).unwrap_or_default().iter().filter(|copy| !before.contains(copy)) {
            let copy = one_line(&copy.display().to_string());
            let said = "is a copy from before the database was migrated; no purge reaches it";
            writeln!(io::stderr(), "{copy} {said}").map_err(|e| CliError::io("writing", e))?;
        }
        let loom = Loom::new(Arc::new(store), clock, ids);
        let agent = loom.agent(globals.agent.as_deref().unwrap_or("owner"))?;
        let agents = loom.snapshot()?.agents()?;
        let workspace = env::workspace(globals.workspace.as_deref())?;
        let mut drafts = db.clone().into_os_string();
        drafts.push(".drafts");
        let drafts = PathBuf::from(drafts);
        // What a kill cut off is saved before anything is shown. Where it cannot be, it waits; the command goes on.
        let found = recover(&loom.actor(&agent), &drafts).unwrap_or_default();
        for id in found {
            let node = loom.node(id)?;
            let said = "saved as far as it came: its process was killed while it streamed";
            writeln!(io::stderr(), "{}  {said}", node.local).map_err(|e| CliError::io("writing", e))?;
        }
        let floor = Arc::default();
        let asked = delegation::asked(out.json, &floor);
        let tree = globals.tree.clone();
        Ok(Self { loom, agent, config, workspace, db, drafts, out, floor, asked, agents, tree })
    }

    /// Refuses what the agent may not do.
    pub(crate) fn allow(&self, tool: Tool) -> Result<()> {
        let Some(missing) = tools::lacking(tool, self.agent.profile.permissions) else { return Ok(()) };
        let name = self.agent.name();
        Err(CliError::Failed {
            message: format!("{name} may not {}: it lacks the permission {missing}", tool.name()),
            hint: Some(format!("`loom agents` shows what {name} may do; without --as you act as the owner")),
        })
    }

    /// The agent, outside any session.
    pub(crate) fn actor(&self) -> Actor {
        self.loom.actor(&self.agent)
    }

    /// The time now.
    pub(crate) fn now(&self) -> Timestamp {
        self.loom.now()
    }

    /// Everybody who ever wrote.
    pub(crate) fn agents(&self) -> &[Agent] {
        &self.agents
    }

    /// An agent's name.
    pub(crate) fn name(&self, id: AgentId) -> &str {
        self.agents.iter().find(|agent| agent.id() == id).map_or("?", |agent| agent.name())
    }

    /// The tree named by `--tree`.
    pub(crate) fn named_tree(&self) -> Result<Option<Tree>> {
        Ok(self.tree.as_deref().map(|text| self.loom.find_tree(text)).transpose()?)
    }

    /// The newest session here, of a tree or of any.
    pub(crate) fn session(&self, tree: Option<TreeId>) -> Result<Option<Session>> {
        Ok(self.loom.find_session(&self.workspace, self.agent.id(), tree)?)
    }

    /// The tree that is worked on and the place in it; changes nothing.
    pub(crate) fn here(&self) -> Result<CommandPosition> {
        self.find_here()?.ok_or_else(|| {
            let trees = self.loom.snapshot().and_then(|s| Ok(s.trees(TreeFilter { archived: true, limit: 2 })?));
            CliError::NoTree { elsewhere: trees.map_or(0, |trees| trees.len()) }
        })
    }

    /// The same, where having no tree is no mistake.
    pub(crate) fn find_here(&self) -> Result<Option<CommandPosition>> {
        let (tree, session) = match self.named_tree()? {
            Some(tree) => {
                let session = self.session(Some(tree.id))?;
                (tree, session)
            }
            None => match self.session(None)? {
                Some(session) => (self.loom.tree(session.tree)?, Some(session)),
                None => match self.neighbour()? {
                    Some(session) => return self.beside(&session).map(Some),
                    None => return self.only_tree(),
                },
            },
        };
        let position = session.as_ref().and_then(|session| session.position).or(tree.root);
        let Some(position) = position else {
            return Err(CliError::failed("this tree has no root"));
        };
        let position = self.loom.node(position)?;
        Ok(Some(CommandPosition { tree, session, position }))
    }

    /// Anybody's newest session here: an agent that was never here begins where the work goes on.
    fn neighbour(&self) -> Result<Option<Session>> {
        let workspace = Some(self.workspace.clone());
        let filter = SessionFilter { workspace, active: true, limit: 1, ..SessionFilter::default() };
        Ok(self.loom.snapshot()?.sessions(&filter)?.pop())
    }

    /// The end of the only tree in the database, where there is exactly one.
    fn only_tree(&self) -> Result<Option<CommandPosition>> {
        let mut trees = self.loom.snapshot()?.trees(TreeFilter { archived: false, limit: 2 })?;
        let (Some(tree), true) = (trees.pop(), trees.is_empty()) else { return Ok(None) };
        let root = tree.root.ok_or_else(|| CliError::failed("this tree has no root"))?;
        let position = self.loom.leaf(&self.loom.node(root)?)?;
        Ok(Some(CommandPosition { tree, session: None, position }))
    }

    fn beside(&self, session: &Session) -> Result<CommandPosition> {
        let tree = self.loom.tree(session.tree)?;
        let position = session.position.or(tree.root).ok_or_else(|| CliError::failed("this tree has no root"))?;
        Ok(CommandPosition { tree, session: None, position: self.loom.node(position)? })
    }

    /// The same for what writes: with a session, which is started if there is none.
    pub(crate) fn work(&self) -> Result<(CommandPosition, SessionId, Actor)> {
        let mut here = self.here()?;
        let session = match &here.session {
            Some(session) => session.id,
            None => {
                let id = self.actor().start_session(&self.workspace, here.tree.id, Some(here.position.id))?;
                here.session = Some(self.loom.session(id)?);
                id
            }
        };
        Ok((here, session, self.actor().in_session(session)))
    }

    /// The node that `text` means: an id in any form, `.` the position, `..` the node before it, `/` the root.
    pub(crate) fn node(&self, here: &CommandPosition, text: &str) -> Result<Node> {
        match text {
            "." => return Ok(here.position.clone()),
            ".." => {
                let before = self.loom.before(&here.position, here.versions())?;
                return before.ok_or_else(|| CliError::failed("nothing is before the root"));
            }
            "/" => {
                let root = here.tree.root.ok_or_else(|| CliError::failed("this tree has no root"))?;
                return Ok(self.loom.node(root)?);
            }
            _ => {}
        }
        self.loom.find_node(here.tree.id, text).map_err(|error| match error {
            OpsError::Ambiguous { text, candidates } => {
                CliError::Ambiguous { text, candidates: candidates.into_iter().map(|n| self.candidate(n)).collect() }
            }
            other => other.into(),
        })
    }

    /// The same, with the position where nothing was written.
    pub(crate) fn node_or_here(&self, here: &CommandPosition, text: Option<&str>) -> Result<Node> {
        self.node(here, text.unwrap_or("."))
    }

    fn candidate(&self, node: Node) -> ErrorCandidate {
        ErrorCandidate { local: node.local.to_string(), author: self.name(node.author).to_owned(), words: node.content }
    }

    /// Says what was done, or prints its receipt.
    pub(crate) fn done(&mut self, op: Op, receipt: &Receipt, said: impl FnOnce() -> String) -> Result<()> {
        #[derive(Serialize)]
        struct ReceiptJson<'a> {
            op: Op,
            #[serde(flatten)]
            receipt: &'a Receipt,
        }
        self.out.committed = true;
        self.say(&ReceiptJson { op, receipt }, said)
    }

    /// Says a line, or prints a value.
    pub(crate) fn say(&mut self, value: &impl Serialize, said: impl FnOnce() -> String) -> Result<()> {
        use std::io::Write as _;
        if self.out.json {
            self.out.json(value)?;
        } else {
            writeln!(self.out, "{}", said())?;
        }
        Ok(())
    }
}
