//! The engine's own JSONL: one object a line, everything a tree holds but its journal.
//!
//! Lossless: ids, local ids, hashes, times, turns, marks and envelopes come back, so exporting what was imported gives
//! the same bytes. Lines are in the order in which nodes were added, parents before children. The journal stays
//! behind: its numbers belong to a file; `backup` keeps it.

use std::io::Write;

use serde::{Deserialize, Serialize};

use super::{ArchiveError, Imported, Line, Lines, batch::Batch};
use crate::{
    id::{DocumentId, LocalId, NodeId, SessionId, TreeId},
    model::{
        AuthorType, ContentHash, EdgeKind, Json, Link, LinkTarget, Mode, NewAgent, NewNode, NewSession, NewTree, Node,
        Parent, SessionPatch, Timestamp, ToolFields,
    },
    ops::Actor,
    store::{Mutation, SessionFilter, Snapshot, default_agents},
};

/// The version of the format that is written.
const VERSION: u32 = 1;
/// Nodes read at once.
const PAGE: u32 = 512;

/// What an export wrote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// Trees.
    pub trees: u64,
    /// Nodes of all trees.
    pub nodes: u64,
    /// Lines, the head included.
    pub lines: u64,
}

/// A line as it is written. (It is read in two steps, by [`import`]: serde cannot keep JSON verbatim inside an enum
/// that is told apart by a field.)
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Record {
    Loomtree { version: u32 },
    Agent(AgentLine),
    Document(DocumentLine),
    Tree(TreeLine),
    Session(SessionLine),
    Node(Box<NodeLine>),
    Link(Link),
    Position(PositionLine),
}

#[derive(Serialize, Deserialize)]
struct AgentLine {
    #[serde(flatten)]
    profile: NewAgent,
    created_at: Timestamp,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    removed: bool,
}

#[derive(Serialize, Deserialize)]
struct DocumentLine {
    id: DocumentId,
    name: String,
    versions: Vec<crate::model::DocumentVersion>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    removed: bool,
}

#[derive(Serialize, Deserialize)]
struct TreeLine {
    id: TreeId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    mode: Mode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system_context: Option<String>,
    created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    archived_at: Option<Timestamp>,
}

#[derive(Serialize, Deserialize)]
struct SessionLine {
    id: SessionId,
    workspace: String,
    agent_id: crate::id::AgentId,
    tree_id: TreeId,
    started_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
}

/// Where a session stands, after the nodes it may stand on.
#[derive(Serialize, Deserialize)]
struct PositionLine {
    session_id: SessionId,
    last_active_at: Timestamp,
    patch: SessionPatch,
}

#[derive(Serialize, Deserialize)]
struct NodeLine {
    id: NodeId,
    local_id: LocalId,
    tree_id: TreeId,
    parent_id: Option<NodeId>,
    kind: EdgeKind,
    author_id: crate::id::AgentId,
    author_type: AuthorType,
    created_at: Timestamp,
    hash: ContentHash,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session_id: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    edited_from: Option<NodeId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version_of: Option<NodeId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<u32>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    interrupted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    purged_at: Option<Timestamp>,
    content: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    raw: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_calls: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provenance: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bookmark: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    excluded: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pruned: bool,
}

/// Writes trees, with the agents, documents and sessions that they name.
///
/// # Errors
/// If the store cannot be read or `out` cannot be written.
pub fn export(snapshot: &dyn Snapshot, trees: &[TreeId], out: &mut dyn Write) -> Result<Exported, ArchiveError> {
    let mut trees = trees.to_vec();
    trees.sort_unstable();
    trees.dedup();
    let mut writer = Writer { out, done: Exported::default() };
    writer.line(&Record::Loomtree { version: VERSION })?;
    for agent in snapshot.agents()? {
        let line = AgentLine { created_at: agent.created_at, removed: agent.removed, profile: agent.profile };
        writer.line(&Record::Agent(line))?;
    }
    for document in snapshot.documents()? {
        let mut versions = Vec::new();
        for number in 1..=document.version {
            versions.extend(snapshot.document_version(document.id, number)?);
        }
        let line = DocumentLine { id: document.id, name: document.name, versions, removed: document.removed };
        writer.line(&Record::Document(line))?;
    }
    for tree in &trees {
        export_tree(snapshot, *tree, &mut writer)?;
    }
    writer.out.flush()?;
    Ok(writer.done)
}

struct Writer<'a> {
    out: &'a mut dyn Write,
    done: Exported,
}

impl Writer<'_> {
    fn line(&mut self, record: &Record) -> Result<(), ArchiveError> {
        serde_json::to_writer(&mut *self.out, record).map_err(std::io::Error::from)?;
        self.out.write_all(b"\n")?;
        self.done.lines += 1;
        Ok(())
    }
}

fn export_tree(snapshot: &dyn Snapshot, id: TreeId, writer: &mut Writer<'_>) -> Result<(), ArchiveError> {
    let tree = snapshot.tree(id)?.ok_or_else(|| crate::ops::OpsError::missing("tree", id))?;
    writer.done.trees += 1;
    writer.line(&Record::Tree(TreeLine {
        id,
        title: tree.titled.then_some(tree.title),
        description: tree.description,
        mode: tree.mode,
        system_context: tree.system_context,
        created_at: tree.created_at,
        archived_at: tree.archived_at,
    }))?;
    let mut sessions = snapshot.sessions(&SessionFilter { tree: Some(id), ..SessionFilter::default() })?;
    sessions.sort_unstable_by_key(|s| s.id);
    for session in &sessions {
        writer.line(&Record::Session(SessionLine {
            id: session.id,
            workspace: session.workspace.clone(),
            agent_id: session.agent,
            tree_id: id,
            started_at: session.started_at,
            expires_at: session.expires_at,
        }))?;
    }
    let mut after = 0;
    loop {
        let page = snapshot.nodes_after(id, after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        for node in page {
            writer.done.nodes += 1;
            let line = node_line(snapshot, node)?;
            writer.line(&Record::Node(Box::new(line)))?;
        }
    }
    let mut after = 0;
    loop {
        let page = snapshot.nodes_after(id, after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        for node in page.iter().filter(|n| n.state.links > 0) {
            for link in snapshot.links(node.id)?.into_iter().filter(|l| l.source == node.id) {
                writer.line(&Record::Link(link))?;
            }
        }
    }
    for session in sessions {
        let patch = SessionPatch {
            position: session.position,
            versions: Some(session.versions).filter(|v| !v.is_empty()),
            state: session.state.map(Some),
            active: (!session.active).then_some(false),
            expires_at: None,
            metadata: Some(session.metadata).filter(|m| !m.is_empty()),
        };
        let last_active_at = session.last_active_at;
        writer.line(&Record::Position(PositionLine { session_id: session.id, last_active_at, patch }))?;
    }
    Ok(())
}

fn node_line(snapshot: &dyn Snapshot, node: Node) -> Result<NodeLine, ArchiveError> {
    Ok(NodeLine {
        provenance: if node.author_type == AuthorType::Model { snapshot.provenance(node.id)? } else { None },
        source: snapshot.sources_of(node.id)?.pop(),
        pruned: node.state.pruned_by == Some(node.id),
        id: node.id,
        local_id: node.local,
        tree_id: node.tree,
        parent_id: node.parent,
        kind: node.kind,
        author_id: node.author,
        author_type: node.author_type,
        created_at: node.created_at,
        hash: node.hash,
        session_id: node.session,
        turn: node.turn,
        edited_from: node.edited_from,
        version_of: node.version_of,
        tokens: node.tokens,
        interrupted: node.interrupted,
        purged_at: node.purged_at,
        content: node.content,
        raw: node.raw,
        tool_calls: node.tool.calls,
        tool_call_id: node.tool.call_id,
        tool_name: node.tool.name,
        metadata: node.metadata,
        bookmark: node.state.bookmark,
        excluded: node.state.excluded,
    })
}

impl From<NodeLine> for NewNode {
    fn from(line: NodeLine) -> Self {
        Self {
            id: line.id,
            parent: line.parent_id.map_or(Parent::Root(line.tree_id), Parent::Node),
            kind: line.kind,
            author: line.author_id,
            author_type: line.author_type,
            content: line.content,
            created_at: line.created_at,
            raw: line.raw,
            tool: ToolFields { calls: line.tool_calls, call_id: line.tool_call_id, name: line.tool_name },
            tokens: line.tokens,
            edited_from: line.edited_from,
            version_of: line.version_of,
            interrupted: line.interrupted,
            metadata: line.metadata,
            provenance: line.provenance,
            local: Some(line.local_id),
            source: line.source,
            advance: false,
            turn: line.session_id.zip(line.turn),
            hash: Some(line.hash),
            purged_at: line.purged_at,
        }
    }
}

/// Reads what [`export`] wrote.
pub(super) fn import(actor: &Actor, first: &Line, lines: &mut Lines<'_>) -> Result<Imported, ArchiveError> {
    #[derive(Deserialize)]
    struct Head {
        version: u32,
    }
    let version = serde_json::from_str::<Head>(&first.text).map_or(0, |head| head.version);
    if version != VERSION {
        return Err(ArchiveError::Format(format!(
            "{} is of version {version} of the format; this loomtree reads {VERSION}",
            lines.name
        )));
    }
    let mut import = Import {
        actor,
        batch: Batch::new(actor, lines.name, "loomtree"),
        known: std::collections::HashSet::new(),
        pruned: Vec::new(),
    };
    while let Some(line) = lines.next()? {
        if let Err(error) = import.line(&line)? {
            import.batch.problem(line.number, error);
        }
    }
    import.batch.flush()?;
    // Branches that were pruned are hidden once all of their nodes are there.
    for (place, node) in std::mem::take(&mut import.pruned) {
        import.batch.push(place, Mutation::Prune { node })?;
    }
    import.batch.flush()?;
    Ok(import.batch.done)
}

struct Import<'a> {
    actor: &'a Actor,
    batch: Batch<'a>,
    /// Trees that were there before: their nodes may be too.
    known: std::collections::HashSet<TreeId>,
    pruned: Vec<(u64, NodeId)>,
}

impl Import<'_> {
    /// Takes one line in; the inner error is about that line alone.
    fn line(&mut self, line: &Line) -> Result<Result<(), String>, ArchiveError> {
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
            "document" => self.document(read!())?,
            "session" => self.session(line.number, read!())?,
            "position" => self.position(line.number, read!())?,
            "link" => self.link(line.number, read!())?,
            other => return Ok(Err(format!("lines of type {other:?} are not known"))),
        }
        Ok(Ok(()))
    }

    fn node(&mut self, place: u64, line: NodeLine) -> Result<(), ArchiveError> {
        self.batch.done.messages += 1;
        if self.known.contains(&line.tree_id) && self.actor.loom().snapshot()?.node(line.id)?.is_some() {
            self.batch.done.skipped += 1;
            return Ok(());
        }
        let (node, bookmark, excluded) = (line.id, line.bookmark.clone(), line.excluded);
        if line.pruned {
            self.pruned.push((place, node));
        }
        self.batch.push(place, Mutation::Append(Box::new(line.into())))?;
        if let Some(label) = bookmark {
            self.batch.push(place, Mutation::SetBookmark { node, label: Some(label) })?;
        }
        if excluded {
            self.batch.push(place, Mutation::SetExcluded { node, excluded })?;
        }
        Ok(())
    }

    fn tree(&mut self, place: u64, line: TreeLine) -> Result<(), ArchiveError> {
        self.batch.done.trees.push(line.id);
        if self.actor.loom().snapshot()?.tree(line.id)?.is_some() {
            self.known.insert(line.id);
            return Ok(());
        }
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
        )?;
        if let Some(at) = line.archived_at {
            let agent = self.actor.agent();
            self.batch.commit_as(agent, at, vec![Mutation::SetArchived { tree: line.id, archived: true }])?;
        }
        Ok(())
    }

    /// An agent with the same id is the same agent; where only this file changed it from the default, its profile is
    /// taken. One whose name is taken gets a number after it.
    fn agent(&mut self, place: u64, line: AgentLine) -> Result<(), ArchiveError> {
        self.batch.done.other += 1;
        let agents = self.actor.loom().snapshot()?.agents()?;
        let mut profile = line.profile;
        let own = self.actor.agent();
        if let Some(here) = agents.iter().find(|a| a.id() == profile.id) {
            if here.profile != profile && default_agents().contains(&here.profile) {
                self.batch.commit_as(own, line.created_at, vec![Mutation::UpdateAgent(profile)])?;
            } else if here.profile != profile {
                self.batch.problem(place, format!("agent {:?} is kept as it is here", here.name()));
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
        self.batch.commit_as(own, line.created_at, mutations)
    }

    /// A document with the same id is the same; versions that are missing here are added.
    fn document(&mut self, line: DocumentLine) -> Result<(), ArchiveError> {
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
            self.batch.commit_as(author, at, vec![write])?;
        }
        if line.removed && here == 0 {
            let remove = Mutation::SetDocumentRemoved { document: line.id, removed: true };
            self.batch.commit_as(self.actor.agent(), self.actor.loom().now(), vec![remove])?;
        }
        Ok(())
    }

    fn session(&mut self, place: u64, line: SessionLine) -> Result<(), ArchiveError> {
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
                metadata: std::collections::BTreeMap::new(),
            }),
        )
    }

    fn position(&mut self, place: u64, line: PositionLine) -> Result<(), ArchiveError> {
        self.batch.done.other += 1;
        self.batch.flush()?;
        let here = self.actor.loom().snapshot()?.session(line.session_id)?;
        let Some(here) = here else {
            self.batch.problem(place, format!("no session {}", line.session_id));
            return Ok(());
        };
        // A session that went on here is further than the file knows.
        if here.position.is_some() && here.last_active_at >= line.last_active_at {
            return Ok(());
        }
        let update = Mutation::UpdateSession { session: line.session_id, patch: line.patch };
        self.batch.commit_as(self.actor.agent(), line.last_active_at, vec![update])
    }

    fn link(&mut self, place: u64, line: Link) -> Result<(), ArchiveError> {
        self.batch.done.other += 1;
        self.batch.flush()?;
        let snapshot = self.actor.loom().snapshot()?;
        if snapshot.link(line.id)?.is_some() {
            return Ok(());
        }
        if let LinkTarget::Node(target) = line.target
            && snapshot.node(target)?.is_none()
        {
            self.batch.problem(place, "it points at a node of a tree that is not here");
            return Ok(());
        }
        drop(snapshot);
        self.batch.push(place, Mutation::Link(line))
    }
}
