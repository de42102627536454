//! Export of trees as JSONL.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    io::Write,
};

use serde::Serialize;

use super::records::{
    AgentLine, DocumentLine, JsonlRecord, NodeLine, PositionLine, ReceivedLine, RecordedLine, SessionLine, TreeLine,
    VERSION,
};
use crate::{
    id::{SessionId, TreeId},
    interchange::{InterchangeError, export::each_tree_node},
    ops::OpsError,
    store::{SessionFilter, Snapshot},
    types::{AuthorType, NewAgent, Node, Session, SessionPatch},
};

/// Counts of an export.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Exported {
    /// Number of trees.
    pub trees: u64,
    /// Number of nodes in all trees.
    pub nodes: u64,
    /// Number of lines, including the header.
    pub lines: u64,
}

/// Writes trees with their agents, documents and sessions.
///
/// # Errors
/// If the store cannot be read or `out` cannot be written.
pub fn export(snapshot: &dyn Snapshot, trees: &[TreeId], out: &mut dyn Write) -> Result<Exported, InterchangeError> {
    let mut writer = JsonlWriter { out, done: Exported::default() };
    writer.line(&JsonlRecord::Loomtree { version: VERSION })?;
    for agent in snapshot.agents()? {
        let line = AgentLine { created_at: agent.created_at, removed: agent.removed, profile: agent.profile };
        writer.line(&JsonlRecord::Agent(line))?;
    }
    for document in snapshot.documents()? {
        let mut versions = Vec::new();
        for number in 1..=document.version {
            versions.extend(snapshot.document_version(document.id, number)?);
        }
        let line = DocumentLine { id: document.id, name: document.name, versions, removed: document.removed };
        writer.line(&JsonlRecord::Document(line))?;
    }
    writer.trees(snapshot, trees)
}

/// Writes trees with their sessions and with the names of the agents that appear in them, for readers who may see nothing
/// else of the database: no documents, no other agents, no settings of agents.
///
/// # Errors
/// If the store cannot be read or `out` cannot be written.
pub fn export_trees(
    snapshot: &dyn Snapshot,
    trees: &[TreeId],
    out: &mut dyn Write,
) -> Result<Exported, InterchangeError> {
    let mut present = BTreeSet::new();
    for tree in trees {
        let filter = SessionFilter { tree: Some(*tree), delegated: true, ..SessionFilter::default() };
        present.extend(snapshot.sessions(&filter)?.iter().map(|session| session.agent));
        let root = snapshot.tree(*tree)?.and_then(|tree| tree.root);
        each_tree_node(snapshot, *tree, root, &mut |node| {
            present.insert(node.author);
            Ok(())
        })?;
    }
    let mut writer = JsonlWriter { out, done: Exported::default() };
    writer.line(&JsonlRecord::Loomtree { version: VERSION })?;
    for agent in snapshot.agents()?.into_iter().filter(|agent| present.contains(&agent.id())) {
        let NewAgent { id, name, kind, .. } = agent.profile;
        let profile = NewAgent::new(id, name, kind);
        let line = AgentLine { created_at: agent.created_at, removed: agent.removed, profile };
        writer.line(&JsonlRecord::Agent(line))?;
    }
    writer.trees(snapshot, trees)
}

struct JsonlWriter<'a> {
    out: &'a mut dyn Write,
    done: Exported,
}

impl JsonlWriter<'_> {
    /// Writes trees in the order of their ids, each once, and ends the export.
    fn trees(mut self, snapshot: &dyn Snapshot, trees: &[TreeId]) -> Result<Exported, InterchangeError> {
        for tree in BTreeSet::from_iter(trees) {
            export_tree(snapshot, *tree, &mut self)?;
        }
        self.out.flush()?;
        Ok(self.done)
    }

    fn line(&mut self, record: &JsonlRecord) -> Result<(), InterchangeError> {
        serde_json::to_writer(&mut *self.out, record).map_err(std::io::Error::from)?;
        self.out.write_all(b"\n")?;
        self.done.lines += 1;
        Ok(())
    }
}

fn export_tree(snapshot: &dyn Snapshot, id: TreeId, writer: &mut JsonlWriter<'_>) -> Result<(), InterchangeError> {
    let tree = snapshot.tree(id)?.ok_or_else(|| OpsError::missing("tree", id))?;
    writer.done.trees += 1;
    writer.line(&JsonlRecord::Tree(TreeLine {
        id,
        title: tree.titled.then_some(tree.title),
        description: tree.description,
        mode: tree.mode,
        system_context: tree.system_context,
        created_at: tree.created_at,
        archived_at: tree.archived_at,
    }))?;
    let filter = SessionFilter { tree: Some(id), delegated: true, ..SessionFilter::default() };
    let mut sessions = snapshot.sessions(&filter)?;
    sessions.sort_unstable_by_key(|s| s.id);
    // A delegating session precedes its sub-sessions.
    let by: HashMap<SessionId, SessionId> = sessions.iter().filter_map(|s| Some((s.id, s.delegated_by?))).collect();
    let above = |id: &SessionId| std::iter::successors(Some(*id), |id| by.get(id).copied()).count();
    sessions.sort_by_cached_key(|s| above(&s.id));
    for session in &sessions {
        writer.line(&JsonlRecord::Session(SessionLine {
            id: session.id,
            workspace: session.workspace.clone(),
            agent_id: session.agent,
            tree_id: id,
            started_at: session.started_at,
            expires_at: session.expires_at,
            delegated_by: session.delegated_by,
            item: session.item.clone(),
        }))?;
    }
    let exported: HashSet<SessionId> = sessions.iter().map(|session| session.id).collect();
    let mut linked = Vec::new();
    each_tree_node(snapshot, id, tree.root, &mut |node| {
        writer.done.nodes += 1;
        if node.state.links > 0 {
            linked.push(node.id);
        }
        let mut line = node_line(snapshot, node)?;
        // A session that moved to another tree is exported with that tree.
        if line.session_id.is_some_and(|id| !exported.contains(&id)) {
            (line.session_id, line.turn) = (None, None);
        }
        writer.line(&JsonlRecord::Node(Box::new(line)))
    })?;
    for node in linked {
        for link in snapshot.links(node)?.into_iter().filter(|link| link.source == node) {
            writer.line(&JsonlRecord::Link(link))?;
        }
    }
    for session in &sessions {
        export_received(snapshot, session, writer)?;
        export_recorded(snapshot, session, writer)?;
    }
    for session in sessions {
        let patch = SessionPatch {
            position: session.position,
            versions: Some(session.versions).filter(|v| !v.is_empty()),
            active: (!session.active).then_some(false),
            expires_at: None,
            metadata: session.metadata.into_iter().map(|(key, value)| (key, Some(value))).collect(),
            model: session.model,
            active_at: None,
            tree: None,
        };
        let last_active_at = session.last_active_at;
        writer.line(&JsonlRecord::Position(PositionLine { session_id: session.id, last_active_at, patch }))?;
    }
    Ok(())
}

/// Writes the turns that a session received in its tree. A session that moved from another tree received more there.
fn export_received(
    snapshot: &dyn Snapshot,
    session: &Session,
    writer: &mut JsonlWriter<'_>,
) -> Result<(), InterchangeError> {
    for (turn, node_id) in snapshot.received_turns(session.id, None)? {
        if snapshot.node(node_id)?.is_some_and(|node| node.tree == session.tree) {
            writer.line(&JsonlRecord::Received(ReceivedLine { session_id: session.id, turn, node_id }))?;
        }
    }
    Ok(())
}

/// Writes the records of a session. Those from before a reset belong to an earlier conversation.
fn export_recorded(
    snapshot: &dyn Snapshot,
    session: &Session,
    writer: &mut JsonlWriter<'_>,
) -> Result<(), InterchangeError> {
    let mut records = snapshot.records(session.id)?;
    records.retain(|record| session.since == 0 || record.turn > session.since);
    for record in records {
        writer.line(&JsonlRecord::Recorded(RecordedLine { session_id: session.id, record }))?;
    }
    Ok(())
}

fn node_line(snapshot: &dyn Snapshot, node: Node) -> Result<NodeLine, InterchangeError> {
    Ok(NodeLine {
        provenance: if node.author_type == AuthorType::Model { snapshot.provenance(node.id)? } else { None },
        source: snapshot.sources_of(node.id)?.pop(),
        pruned: node.state.hidden_by == Some(node.id),
        id: node.id,
        local_id: node.local,
        tree_id: node.tree,
        parent_id: node.parent,
        kind: node.kind,
        author_id: node.author,
        author_type: node.author_type,
        role: node.role,
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
