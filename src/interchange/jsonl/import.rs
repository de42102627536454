//! Import of JSONL, with one method per record type.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Deserialize;

use super::records::{
    AgentLine, DocumentLine, NodeLine, PositionLine, ReceivedLine, RecordedLine, SessionLine, TreeLine, VERSION,
};
use crate::{
    id::{NodeId, TreeId},
    interchange::{Imported, InterchangeError, SourceLine, SourceLines, write_batch::ImportBatch},
    ops::Actor,
    store::{Mutation, TreeFilter, is_default_agent},
    types::{Link, LinkTarget, NewSession, NewTree},
};

/// Imports the output of [`export`].
pub(in crate::interchange) fn import(
    actor: &Actor,
    first: &SourceLine,
    lines: &mut SourceLines<'_>,
    is_dry_run: bool,
) -> Result<Imported, InterchangeError> {
    #[derive(Deserialize)]
    struct JsonlHeader {
        version: u32,
    }
    let version = serde_json::from_str::<JsonlHeader>(&first.text).map_or(0, |head| head.version);
    if version != VERSION {
        return Err(InterchangeError::Format(format!(
            "{} is of version {version} of the format; this loomtree reads {VERSION}",
            lines.name
        )));
    }
    let mut import = JsonlImport {
        actor,
        batch: ImportBatch::new(actor, lines.name, "loomtree", is_dry_run),
        into_empty: actor.loom().snapshot()?.trees(TreeFilter { archived: true, limit: 1 })?.is_empty(),
        known: HashSet::new(),
        rootless: HashMap::new(),
        pruned: Vec::new(),
        links: Vec::new(),
    };
    while let Some(line) = lines.next()? {
        if let Err(error) = import.line(&line)? {
            import.batch.problem(line.number, error);
        }
    }
    for (id, tree) in std::mem::take(&mut import.rootless) {
        import.batch.done.trees.retain(|imported| *imported != id);
        import.batch.problem(tree.place, format!("the tree {id} has no node in the file; it was not created"));
    }
    import.batch.flush()?;
    // A link can point to a tree that follows in the file.
    for (place, link) in std::mem::take(&mut import.links) {
        import.link(place, link)?;
    }
    // Pruned branches are pruned after all their nodes exist.
    for (place, node) in std::mem::take(&mut import.pruned) {
        import.batch.push(place, Mutation::Prune { node })?;
    }
    import.batch.flush()?;
    let mut done = import.batch.done;
    if !done.is_dry_run && !done.problems.is_empty() {
        let snapshot = actor.loom().snapshot()?;
        let mut created = Vec::new();
        for tree in done.trees {
            created.extend(snapshot.tree(tree)?.map(|tree| tree.id));
        }
        done.trees = created;
    }
    Ok(done)
}

struct JsonlImport<'a> {
    actor: &'a Actor,
    batch: ImportBatch<'a>,
    /// Trees that existed before the import, whose nodes may exist too.
    known: HashSet<TreeId>,
    /// True if the database had no tree before the import.
    into_empty: bool,
    /// Trees with their sessions, which are created with the first node.
    rootless: HashMap<TreeId, RootlessTree>,
    pruned: Vec<(u64, NodeId)>,
    links: Vec<(u64, Link)>,
}

/// Lines of a tree whose nodes follow.
struct RootlessTree {
    place: u64,
    line: TreeLine,
    sessions: Vec<(u64, SessionLine)>,
}

impl JsonlImport<'_> {
    /// Imports a line. The inner error concerns only this line.
    fn line(&mut self, line: &SourceLine) -> Result<Result<(), String>, InterchangeError> {
        #[derive(Deserialize)]
        struct Head<'a> {
            r#type: &'a str,
        }
        macro_rules! read {
            () => {
                match serde_json::from_str(&line.text) {
                    Ok(read) => read,
                    Err(error) => return Ok(Err(error.to_string())),
                }
            };
        }
        let head: Head<'_> = read!();
        match head.r#type {
            "node" => self.node(line.number, read!())?,
            "tree" => self.tree(line.number, read!())?,
            "agent" => self.agent(line.number, read!())?,
            "document" => self.document(line.number, read!())?,
            "session" => self.session(line.number, read!())?,
            "received" => self.received(line.number, read!())?,
            "recorded" => self.recorded(line.number, read!())?,
            "position" => self.position(line.number, read!())?,
            "link" => {
                self.batch.done.other += 1;
                self.links.push((line.number, read!()));
            }
            other => return Ok(Err(format!("lines of type {other:?} are not known"))),
        }
        Ok(Ok(()))
    }

    fn node(&mut self, place: u64, line: NodeLine) -> Result<(), InterchangeError> {
        self.batch.done.messages += 1;
        if self.known.contains(&line.tree_id) && self.actor.loom().snapshot()?.node(line.id)?.is_some() {
            self.batch.done.skipped += 1;
            return Ok(());
        }
        let mut archived_at = None;
        if let Some(tree) = self.rootless.remove(&line.tree_id) {
            archived_at = tree.line.archived_at.map(|at| (tree.place, tree.line.id, at));
            self.create_tree(tree.place, tree.line)?;
            for (place, session) in tree.sessions {
                self.session(place, session)?;
            }
        }
        let (node, bookmark, excluded) = (line.id, line.bookmark.clone(), line.excluded);
        if line.pruned {
            self.pruned.push((place, node));
        }
        self.batch.push(place, Mutation::Append(Box::new(line.into())))?;
        if let Some((place, tree, at)) = archived_at {
            let agent = self.actor.agent();
            self.batch.commit_as(place, agent, at, vec![Mutation::SetArchived { tree, archived: true }])?;
        }
        if let Some(label) = bookmark {
            self.batch.push(place, Mutation::SetBookmark { node, label: Some(label) })?;
        }
        if excluded {
            self.batch.push(place, Mutation::SetExcluded { node, excluded })?;
        }
        Ok(())
    }

    fn tree(&mut self, place: u64, line: TreeLine) -> Result<(), InterchangeError> {
        self.batch.done.trees.push(line.id);
        if self.actor.loom().snapshot()?.tree(line.id)?.is_some() {
            self.known.insert(line.id);
        } else {
            self.rootless.insert(line.id, RootlessTree { place, line, sessions: Vec::new() });
        }
        Ok(())
    }

    fn create_tree(&mut self, place: u64, line: TreeLine) -> Result<(), InterchangeError> {
        self.batch.push(
            place,
            Mutation::CreateTree(NewTree {
                id: line.id,
                title: line.title,
                description: line.description,
                mode: line.mode,
                system_context: line.system_context,
                created_at: line.created_at,
            }),
        )
    }

    /// Imports an agent. An existing agent with the same id gets the file's profile if its own is still the default and the
    /// database was empty: a file of another person decides over no model and no permission. If another agent has the name,
    /// the imported one gets a number appended.
    fn agent(&mut self, place: u64, line: AgentLine) -> Result<(), InterchangeError> {
        self.batch.done.other += 1;
        let agents = self.actor.loom().snapshot()?.agents()?;
        let mut profile = line.profile;
        let own = self.actor.agent();
        if let Some(here) = agents.iter().find(|a| a.id() == profile.id) {
            if is_default_agent(&here.profile) && is_default_agent(&profile) {
                return Ok(());
            }
            if here.profile != profile && is_default_agent(&here.profile) && self.into_empty {
                self.batch.commit_as(place, own, line.created_at, vec![Mutation::UpdateAgent(profile)])?;
            } else if here.profile != profile {
                let left_out = "profiles of agents that exist".to_owned();
                *self.batch.done.left_out.entry(left_out).or_default() += 1;
            }
            return Ok(());
        }
        let taken = |name: &str| agents.iter().any(|a| !a.removed && a.name() == name);
        if !line.removed && taken(&profile.name) {
            let name = (2..).map(|n| format!("{} ({n})", profile.name)).find(|name| !taken(name));
            self.batch.problem(place, format!("the name {:?} is taken; it goes by a number", profile.name));
            profile.name = name.unwrap_or_else(|| profile.id.to_string());
        }
        let id = profile.id;
        let mut mutations = vec![Mutation::CreateAgent(profile)];
        if line.removed {
            mutations.push(Mutation::SetAgentRemoved { agent: id, removed: true });
        }
        self.batch.commit_as(place, own, line.created_at, mutations)
    }

    /// Imports a document and adds the versions that are missing.
    fn document(&mut self, place: u64, line: DocumentLine) -> Result<(), InterchangeError> {
        self.batch.done.other += 1;
        let documents = self.actor.loom().snapshot()?.documents()?;
        let here = documents.iter().find(|d| d.id == line.id).map_or(0, |d| d.version);
        let taken = documents.iter().any(|d| d.id != line.id && !d.removed && d.name == line.name);
        let name = if taken && !line.removed { format!("{} (imported)", line.name) } else { line.name };
        for version in line.versions.into_iter().filter(|v| v.version > here) {
            let (author, at) = (version.author, version.created_at);
            let write = if version.version == 1 {
                Mutation::CreateDocument { id: line.id, name: name.clone(), content: version.content }
            } else {
                Mutation::WriteDocument { document: line.id, base: version.version - 1, content: version.content }
            };
            self.batch.commit_as(place, author, at, vec![write])?;
        }
        if line.removed && here == 0 {
            let remove = Mutation::SetDocumentRemoved { document: line.id, removed: true };
            self.batch.commit_as(place, self.actor.agent(), self.actor.loom().now(), vec![remove])?;
        }
        Ok(())
    }

    fn session(&mut self, place: u64, line: SessionLine) -> Result<(), InterchangeError> {
        if let Some(tree) = self.rootless.get_mut(&line.tree_id) {
            tree.sessions.push((place, line));
            return Ok(());
        }
        self.batch.done.other += 1;
        if self.actor.loom().snapshot()?.session(line.id)?.is_some() {
            return Ok(());
        }
        self.batch.push(
            place,
            Mutation::CreateSession(NewSession {
                id: line.id,
                workspace: line.workspace,
                agent: line.agent_id,
                tree: line.tree_id,
                position: None,
                started_at: line.started_at,
                expires_at: line.expires_at,
                metadata: BTreeMap::new(),
                delegated_by: line.delegated_by,
                model: None,
                item: line.item,
            }),
        )
    }

    fn received(&mut self, place: u64, line: ReceivedLine) -> Result<(), InterchangeError> {
        self.batch.done.other += 1;
        let ReceivedLine { session_id: session, turn, node_id: node } = line;
        self.batch.push(place, Mutation::ReceiveTurn { session, node, turn: Some(turn) })
    }

    fn recorded(&mut self, place: u64, line: RecordedLine) -> Result<(), InterchangeError> {
        self.batch.done.other += 1;
        self.batch.flush()?;
        let (session, record) = (line.session_id, line.record);
        if self.actor.loom().snapshot()?.records(session)?.contains(&record) {
            return Ok(());
        }
        let (kind, content, turn) = (record.kind, record.content, Some(record.turn));
        self.batch.push(place, Mutation::Record { session, kind, content, turn })
    }

    fn position(&mut self, place: u64, line: PositionLine) -> Result<(), InterchangeError> {
        self.batch.done.other += 1;
        self.batch.flush()?;
        let here = self.actor.loom().snapshot()?.session(line.session_id)?;
        let Some(here) = here else {
            if self.batch.done.is_dry_run {
                return Ok(());
            }
            self.batch.problem(place, format!("no session {}", line.session_id));
            return Ok(());
        };
        // The stored session is newer than the file.
        if here.position.is_some() && here.last_active_at >= line.last_active_at {
            return Ok(());
        }
        let update = Mutation::UpdateSession { session: line.session_id, patch: line.patch };
        self.batch.commit_as(place, self.actor.agent(), line.last_active_at, vec![update])
    }

    fn link(&mut self, place: u64, line: Link) -> Result<(), InterchangeError> {
        self.batch.flush()?;
        let snapshot = self.actor.loom().snapshot()?;
        if snapshot.link(line.id)?.is_some() {
            return Ok(());
        }
        if let LinkTarget::Node(target) = line.target
            && snapshot.node(target)?.is_none()
            && !self.batch.done.is_dry_run
        {
            self.batch.problem(place, "it points at a node of a tree that is not here");
            return Ok(());
        }
        drop(snapshot);
        self.batch.push(place, Mutation::Link(line))
    }
}
