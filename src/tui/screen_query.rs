//! Data of the screen: a [`ScreenQuery`] states position and size, [`ScreenData`] is the result. A query reads the
//! visible part and one screen around it; its cost does not depend on the size of the tree.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use ratatui::text::Line;

use super::{
    buffer_editor::ProsePart,
    highlight::{HighlightBudget, Highlighter},
    path_cache::PathCache,
    path_layout::{self, PathLayout},
    queries::current_version,
    text,
    theme::Palette,
    write_thread::change_line,
};
use crate::{
    exec::outline::{OutlineReader, OutlineWindow, RowKind},
    id::{AgentId, NodeId, SessionId, TreeId},
    ops::{
        AgentPresence, ChangesByOthers, Loom, OpsError, Result, changes_by_others, describe_entry, next_part,
        present_agents,
    },
    store::{SiblingCursor, Snapshot},
    types::{Agent, EdgeKind, Mode, Node, Timestamp, Tree},
};

/// Siblings counted to find a branch's number.
const MAX_COUNTED_SIBLINGS: u32 = 2_000;

/// Navigation step from a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NavigationStep {
    Parent,
    /// To the continuation visited last, else the first.
    Child,
    /// To the next (`true`) or previous sibling; wraps around.
    Sibling(bool),
    /// To the outline line below (`true`) or above.
    Line(bool),
    /// To the root, or to the hoisted node.
    Root,
    /// To the end of the branch.
    End,
    /// To the next bookmark; wraps around.
    Bookmark,
    /// To the next (`true`) or previous version.
    Version(bool),
}

/// Layout of the path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ReadingMode {
    /// Turns, each with a header.
    #[default]
    Transcript,
    /// One continuous text without headers.
    Prose,
}

/// Query for the visible screen.
#[derive(Debug, Clone)]
pub(crate) struct ScreenQuery {
    pub(crate) cursor: NodeId,
    pub(crate) steps: Vec<NavigationStep>,
    pub(crate) versions: Vec<NodeId>,
    pub(crate) folds: Arc<HashSet<NodeId>>,
    pub(crate) visited: Arc<HashMap<NodeId, NodeId>>,
    pub(crate) hoist: Option<NodeId>,
    /// Outline lines above and below the cursor.
    pub(crate) above: usize,
    pub(crate) below: usize,
    /// Columns and rows of the text; rows include those scrolled back.
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    pub(crate) reading: ReadingMode,
    pub(crate) palette: Palette,
    pub(crate) highlighter: Highlighter,
    pub(crate) agent: AgentId,
    pub(crate) session: Option<SessionId>,
    /// Newest journal entry that an earlier query of this tree read; `None`: no earlier query.
    pub(crate) seen_entry: Option<u64>,
    /// Number of the query; results of older ones are dropped.
    pub(crate) number: u64,
}

/// Rendered lines of a node of the path.
#[derive(Debug, Clone)]
pub(crate) struct PathBlock {
    pub(crate) lines: Vec<Line<'static>>,
}

/// Another agent that is present in the tree.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Presence {
    pub(crate) name: String,
    pub(crate) node: NodeId,
    pub(crate) generating: bool,
}

/// Result of a screen query.
#[derive(Debug, Clone)]
pub(crate) struct ScreenData {
    pub(crate) tree: Tree,
    pub(crate) node: Node,
    /// Original node of the cursor's version.
    pub(crate) place: NodeId,
    /// Version that a path through the selected versions has at that place.
    pub(crate) current: NodeId,
    pub(crate) window: OutlineWindow,
    pub(crate) blocks: Vec<PathBlock>,
    /// Editable end of a buffer tree's text; empty in other trees.
    pub(crate) parts: Vec<ProsePart>,
    /// End of the path to the cursor, the oldest node first.
    pub(crate) path: Vec<Arc<Node>>,
    /// Number of the cursor's branch, from 1, and the number of its siblings including itself.
    pub(crate) branch: (usize, usize),
    pub(crate) others: Vec<Presence>,
    /// Milliseconds until the first present agent counts as gone. `None`: no agent is present.
    pub(crate) presence_expires_in: Option<u64>,
    /// Newest journal entry of the tree; 0 if there is none.
    pub(crate) newest_entry: u64,
    /// Description of what other agents changed since the earlier query.
    pub(crate) change_by_others: Option<String>,
    /// Last step, if it led nowhere.
    pub(crate) blocked_step: Option<NavigationStep>,
    /// Hoisted branch; `None` once the cursor leaves it.
    pub(crate) hoist: Option<NodeId>,
    /// Nodes that the steps passed.
    pub(crate) trail: VisitedTrail,
    /// Selected versions after the steps.
    pub(crate) versions: Vec<NodeId>,
    pub(crate) pins: Vec<NodeId>,
}

impl ScreenData {
    /// Node that the editable text begins with, if it leaves out earlier text.
    pub(crate) fn first_open_node(&self) -> Option<&Node> {
        let first = self.parts.first()?.id;
        let readable = self.path.iter().find(|node| node.purged_at.is_none()).filter(|node| node.id != first);
        readable.and_then(|_| self.path.iter().find(|node| node.id == first)).map(Arc::as_ref)
    }
}

/// Traces of the steps of one query, so that fast and slow typing lead to the same state.
#[derive(Debug, Clone, Default)]
pub(crate) struct VisitedTrail {
    /// Cursor positions before the last step, in order.
    pub(crate) passed: Vec<NodeId>,
    /// Continuations visited on the way, by parent.
    pub(crate) visited: HashMap<NodeId, NodeId>,
    /// Folded nodes above the passed positions, now unfolded.
    pub(crate) unfolded: Vec<NodeId>,
}

impl VisitedTrail {
    /// Records a passed node. Nothing has to be read for the first, which was the cursor.
    fn push(
        &mut self,
        snapshot: &dyn Snapshot,
        query: &mut ScreenQuery,
        path_cache: &mut PathCache,
        at: &Node,
    ) -> Result<()> {
        let known = self.passed.last().map_or(at.id == query.cursor, |last| *last == at.id);
        if !known {
            let path = path_cache.path(snapshot, at.id, &query.versions)?;
            self.visited.extend(continuation_choices(&path));
            let folded = |node: &&Arc<Node>| node.id != at.id && query.folds.contains(&node.id);
            let folded: Vec<NodeId> = path.iter().filter(folded).map(|node| node.id).collect();
            if !folded.is_empty() {
                Arc::make_mut(&mut query.folds).retain(|id| !folded.contains(id));
                self.unfolded.extend(folded);
            }
        }
        if self.passed.last() != Some(&at.id) {
            self.passed.push(at.id);
        }
        Ok(())
    }
}

/// Pairs each node at the end of a path with its continuation; 64 at most.
pub(crate) fn continuation_choices(path: &[Arc<Node>]) -> impl Iterator<Item = (NodeId, NodeId)> {
    let place = |node: &Node| node.version_of.filter(|_| node.kind == EdgeKind::Version).unwrap_or(node.id);
    path.windows(2).rev().take(64).map(move |pair| (place(&pair[0]), place(&pair[1])))
}

/// Runs a screen query.
///
/// # Errors
/// If the store cannot be read, or the node or tree does not exist.
pub(crate) fn load_screen(loom: &Loom, query: &ScreenQuery, path_cache: &mut PathCache) -> Result<ScreenData> {
    let snapshot = loom.snapshot()?;
    let snapshot = &*snapshot;
    let mut query = query.clone();
    // The cursor moves off nodes that were pruned meanwhile.
    let mut at = node(snapshot, query.cursor)?;
    if at.state.hidden_by.is_some() {
        at = snapshot.nearest_visible(at.id)?.unwrap_or(at);
    }
    if query.hoist.is_some() && !is_within(&path_cache.path(snapshot, at.id, &query.versions)?, query.hoist) {
        query.hoist = None;
    }
    let (mut blocked_step, mut trail) = (None, VisitedTrail::default());
    for step in std::mem::take(&mut query.steps) {
        trail.push(snapshot, &mut query, path_cache, &at)?;
        blocked_step = None;
        match resolve_step(snapshot, &mut query, path_cache, &trail, &at, step)? {
            Some(next) => at = next,
            None => blocked_step = Some(step),
        }
    }
    let tree = snapshot.tree(at.tree)?.ok_or_else(|| OpsError::missing("tree", at.tree))?;
    let path = path_cache.path(snapshot, at.id, &query.versions)?;
    let hoist = query.hoist.filter(|_| is_within(&path, query.hoist));
    let outline = OutlineReader { snapshot, versions: &query.versions, folds: &query.folds, hoist };
    let window = outline.around(&path, query.above, query.below)?;
    let place = match window.rows.get(window.cursor_row).map(|row| &row.kind) {
        Some(RowKind::Node { place, .. }) => *place,
        _ => at.id,
    };
    let agents = snapshot.agents()?;
    let now = loom.now();
    let (others, presence_expires_in) = presences(snapshot, &query, &tree, &agents, now)?;
    // A node takes at least two lines.
    let shown = path.len().saturating_sub(query.rows / 2 + 2);
    let prose = query.reading == ReadingMode::Prose || tree.mode == Mode::Buffer;
    let parts = if tree.mode == Mode::Buffer { path_layout::parts(snapshot, &path)? } else { Vec::new() };
    let highlight_budget = HighlightBudget::full();
    let mut page =
        PathLayout { parts: &parts, snapshot, query: &query, agents: &agents, now, cursor: at.id, highlight_budget };
    let blocks = if prose { page.prose(&path[shown..])? } else { page.transcript(&path[shown..])? };
    let pins = snapshot.memory(query.agent, tree.id)?.pins.into_iter();
    let pins = pins.filter_map(|pin| match pin.target {
        crate::types::PinTarget::Node(id) => Some(id),
        crate::types::PinTarget::Document { .. } => None,
    });
    let (newest_entry, change_by_others) = change_by_others(snapshot, &query, tree.id, &agents)?;
    Ok(ScreenData {
        newest_entry,
        change_by_others,
        branch: branch_index(snapshot, &at)?,
        place,
        current: current_version(snapshot, &at, &query.versions)?.id,
        blocks,
        parts,
        window,
        path,
        others,
        presence_expires_in,
        pins: pins.collect(),
        blocked_step,
        hoist,
        trail,
        versions: query.versions,
        node: at,
        tree,
    })
}

/// Returns the tree's newest journal entry, and a description of what other agents changed since the earlier query.
fn change_by_others(
    snapshot: &dyn Snapshot,
    query: &ScreenQuery,
    tree: TreeId,
    agents: &[Agent],
) -> Result<(u64, Option<String>)> {
    let since = query.seen_entry.unwrap_or(u64::MAX);
    let ChangesByOthers { newest, entries } = changes_by_others(snapshot, tree, query.agent, Some(since))?;
    let Some(last) = entries.first() else { return Ok((newest, None)) };
    let name = agents.iter().find(|agent| agent.id() == last.agent).map_or("?", Agent::name);
    let change = change_line(&describe_entry(snapshot, last)?);
    let more = if entries.len() > 1 { format!(", and {} more changes", entries.len() - 1) } else { String::new() };
    Ok((newest, Some(format!("{} {change}{more} · :log lists and undoes", text::truncate(name, 16)))))
}

/// Returns whether a path contains a node or a version of it.
fn is_within(path: &[Arc<Node>], place: Option<NodeId>) -> bool {
    path.iter().any(|node| place == Some(node.id) || place == node.version_of)
}

fn node(snapshot: &dyn Snapshot, id: NodeId) -> Result<Node> {
    snapshot.node(id)?.ok_or_else(|| OpsError::missing("node", id))
}

/// Returns the target of a step; `None` if there is none.
fn resolve_step(
    snapshot: &dyn Snapshot,
    query: &mut ScreenQuery,
    path_cache: &mut PathCache,
    trail: &VisitedTrail,
    at: &Node,
    step: NavigationStep,
) -> Result<Option<Node>> {
    let outline = OutlineReader { snapshot, versions: &query.versions, folds: &query.folds, hoist: query.hoist };
    let read = |node: Option<Node>| node.map(|node| outline.selected_version(&node)).transpose();
    let place = at.version_of.filter(|_| at.kind == EdgeKind::Version).unwrap_or(at.id);
    let found = match step {
        NavigationStep::Parent => {
            let path = snapshot.path_back(at.id, &query.versions, 2)?;
            let parent = path.into_iter().next().filter(|node| node.id != at.id);
            parent.filter(|_| query.hoist != Some(place))
        }
        NavigationStep::Child => match next_part(snapshot, at, &query.versions)? {
            Some(part) => Some(part),
            None => read(child(snapshot, query, trail, place)?)?,
        },
        NavigationStep::Sibling(forward) => {
            let original = snapshot.original(at)?;
            let Some(parent) = original.parent.filter(|_| original.kind == EdgeKind::Continuation) else {
                return Ok(None);
            };
            let (next, wrap) = if forward {
                (SiblingCursor::After(original.seq), SiblingCursor::First)
            } else {
                (SiblingCursor::Before(original.seq), SiblingCursor::Last)
            };
            let mut found = snapshot.continuations(parent, next, 1)?.pop();
            if found.is_none() {
                found = snapshot.continuations(parent, wrap, 1)?.pop();
            }
            read(found.filter(|node| node.id != original.id))?
        }
        NavigationStep::Line(down) => outline.adjacent(&path_cache.path(snapshot, at.id, &query.versions)?, down)?,
        NavigationStep::Root => {
            let root = query.hoist.or(snapshot.tree(at.tree)?.and_then(|tree| tree.root));
            let root = root.map(|id| node(snapshot, id)).transpose()?;
            read(root)?.filter(|root| root.id != at.id)
        }
        NavigationStep::End => {
            let mut end = at.clone();
            let mut from = place;
            // Bounded so that the user need not wait; a second press continues.
            for _ in 0..20_000 {
                let Some(next) = child(snapshot, query, trail, from)? else { break };
                from = next.id;
                end = next;
            }
            read(Some(end).filter(|end| end.id != at.id))?
        }
        NavigationStep::Bookmark => {
            let marked = snapshot.bookmarks(at.tree)?;
            let next = marked.iter().find(|node| node.seq > at.seq).or(marked.first());
            next.filter(|node| node.id != at.id).cloned()
        }
        NavigationStep::Version(forward) => {
            let versions = snapshot.versions(at.id)?;
            let here = versions.iter().position(|node| node.id == at.id);
            let next = here.and_then(|here| {
                if forward { versions.get(here + 1) } else { here.checked_sub(1).map(|at| &versions[at]) }
            });
            if let Some(next) = next {
                query.versions.retain(|chosen| versions.iter().all(|node| node.id != *chosen));
                query.versions.push(next.id);
            }
            next.cloned()
        }
    };
    Ok(found)
}

/// Returns the continuation visited last, else the first.
fn child(snapshot: &dyn Snapshot, query: &ScreenQuery, trail: &VisitedTrail, place: NodeId) -> Result<Option<Node>> {
    if let Some(last) = trail.visited.get(&place).or_else(|| query.visited.get(&place))
        && let Some(node) = snapshot.node(*last)?
        && node.state.hidden_by.is_none()
    {
        return Ok(Some(node));
    }
    Ok(snapshot.continuations(place, SiblingCursor::First, 1)?.pop())
}

/// Returns a node's branch number and the number of branches. Numbers beyond the counting limit are too low.
fn branch_index(snapshot: &dyn Snapshot, at: &Node) -> Result<(usize, usize)> {
    let original = snapshot.original(at)?;
    let Some(parent) = original.parent.filter(|_| original.kind == EdgeKind::Continuation) else { return Ok((1, 1)) };
    let all = node(snapshot, parent)?.state.continuations as usize;
    if all < 2 {
        return Ok((1, 1));
    }
    let before = snapshot.continuations(parent, SiblingCursor::Before(original.seq), MAX_COUNTED_SIBLINGS)?.len();
    Ok((before + 1, all.max(before + 1)))
}

/// Returns the other agents in the tree, and the milliseconds until the first counts as gone.
fn presences(
    snapshot: &dyn Snapshot,
    query: &ScreenQuery,
    tree: &Tree,
    agents: &[Agent],
    now: Timestamp,
) -> Result<(Vec<Presence>, Option<u64>)> {
    let name = |id: AgentId| agents.iter().find(|agent| agent.id() == id).map_or("?", Agent::name).to_owned();
    let found = present_agents(snapshot, tree, now, (query.agent, query.session))?;
    let until = found.iter().map(|other| other.until.as_millis()).min();
    let expires_in = until.map(|until| u64::try_from(until - now.as_millis()).unwrap_or(0) + 1);
    let presence =
        |other: AgentPresence| Presence { name: name(other.agent), node: other.node, generating: other.generating };
    Ok((found.into_iter().map(presence).collect(), expires_in))
}
