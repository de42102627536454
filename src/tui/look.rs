//! What is read for the screen: a [`Look`] says from where and how much, a [`Sight`] is what is seen there. A look reads
//! what is visible and a screen around it; what it costs does not depend on the size of the tree.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use ratatui::text::Line;

use super::{
    markdown,
    outline::{PATH, Walker, Window},
    text::{self, Piece},
    theme::{Palette, Role},
};
use crate::{
    id::{AgentId, NodeId, SessionId},
    model::{Agent, AuthorType, EdgeKind, Mode, Node, Timestamp, Tree},
    ops::{Loom, OpsError, Result},
    store::{Beyond, ChildFilter, SessionFilter, Snapshot},
};

/// For how long one who did something counts as present, in milliseconds.
const PRESENT: i64 = 120_000;
/// Others who are named at most.
const OTHERS: u32 = 16;
/// Siblings that are counted one by one.
const SIBLINGS: u32 = 2_000;
/// Notes shown under a node.
const NOTES: u32 = 8;

/// A step from a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// To the node before.
    Parent,
    /// To the continuation visited last, else the first.
    Child,
    /// To the branch beside this one; after the last the first.
    Sibling(bool),
    /// To the line of the outline below or above.
    Line(bool),
    /// To the root.
    Root,
    /// To the end of the branch.
    End,
    /// To the next bookmark.
    Bookmark,
    /// To another wording of the place.
    Version(bool),
}

/// How the path is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Turns, each with its header.
    #[default]
    Talk,
    /// One text without seams.
    Prose,
}

/// What to read.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    pub(crate) at: NodeId,
    pub(crate) steps: Vec<Step>,
    pub(crate) versions: Vec<NodeId>,
    pub(crate) folds: Arc<HashSet<NodeId>>,
    pub(crate) visited: Arc<HashMap<NodeId, NodeId>>,
    pub(crate) hoist: Option<NodeId>,
    /// Lines of the outline above and below the cursor.
    pub(crate) above: usize,
    pub(crate) below: usize,
    /// Columns and rows of the text; rows count those that were scrolled back.
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    pub(crate) reading: Reading,
    pub(crate) palette: Palette,
    pub(crate) agent: AgentId,
    pub(crate) session: Option<SessionId>,
    /// Counts looks, so that only the newest is shown.
    pub(crate) number: u64,
}

/// A node of the path, laid out.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    pub(crate) lines: Vec<Line<'static>>,
}

/// Somebody else in the tree.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Other {
    pub(crate) name: String,
    pub(crate) at: NodeId,
    pub(crate) generating: bool,
}

/// What is seen.
#[derive(Debug, Clone)]
pub(crate) struct Sight {
    pub(crate) tree: Tree,
    pub(crate) at: Node,
    /// The place that the cursor's node is a wording of.
    pub(crate) place: NodeId,
    pub(crate) window: Window,
    pub(crate) blocks: Vec<Block>,
    /// The ends of the path, the oldest first, as it is read.
    pub(crate) path: Vec<Node>,
    /// Which of how many branches this one is.
    pub(crate) branch: (usize, usize),
    pub(crate) others: Vec<Other>,
    /// Whether the last step led nowhere.
    pub(crate) stuck: Option<Step>,
    /// Versions that are chosen now.
    pub(crate) versions: Vec<NodeId>,
    pub(crate) pins: Vec<NodeId>,
    /// The journal's last number.
    pub(crate) seq: u64,
}

/// Looks.
///
/// # Errors
/// If the store cannot be read, or the node or tree is not there.
pub(crate) fn look(loom: &Loom, look: &Look) -> Result<Sight> {
    let snapshot = loom.snapshot()?;
    let snapshot = &*snapshot;
    let mut look = look.clone();
    // What was pruned meanwhile is not stood on.
    let mut at = visible(snapshot, node(snapshot, look.at)?)?;
    let mut stuck = None;
    for step in std::mem::take(&mut look.steps) {
        match stepped(snapshot, &mut look, &at, step)? {
            Some(next) => at = next,
            None => stuck = Some(step),
        }
    }
    let tree = snapshot.tree(at.tree)?.ok_or_else(|| OpsError::missing("tree", at.tree))?;
    let path = snapshot.path_back(at.id, &look.versions, PATH)?;
    let mut hoist = look.hoist;
    if !path.iter().any(|node| hoist == Some(node.id) || hoist == node.version_of) {
        hoist = None;
    }
    let walker = Walker { snapshot, versions: &look.versions, folds: &look.folds, hoist };
    let window = walker.around(&path, look.above, look.below)?;
    let place = match window.rows.get(window.here).map(|row| &row.what) {
        Some(super::outline::What::Node { place, .. }) => *place,
        _ => at.id,
    };
    let agents = snapshot.agents()?;
    let now = loom.now();
    let others = others(snapshot, &look, &tree, &agents, now)?;
    let shown = path.len().saturating_sub(look.rows / 2 + 2);
    let prose = look.reading == Reading::Prose || tree.mode == Mode::Buffer;
    let mut page = Page { snapshot, look: &look, agents: &agents, now, here: at.id };
    let blocks = if prose { page.prose(&path[shown..])? } else { page.talk(&path[shown..])? };
    let pins = snapshot.memory(look.agent, tree.id)?.pins.into_iter();
    let pins = pins.filter_map(|pin| match pin.target {
        crate::model::PinTarget::Node(id) => Some(id),
        crate::model::PinTarget::Document { .. } => None,
    });
    Ok(Sight {
        branch: branch(snapshot, &at, place)?,
        place,
        blocks,
        window,
        path,
        others,
        pins: pins.collect(),
        stuck,
        versions: look.versions,
        seq: snapshot.last_seq()?,
        at,
        tree,
    })
}

fn node(snapshot: &dyn Snapshot, id: NodeId) -> Result<Node> {
    snapshot.node(id)?.ok_or_else(|| OpsError::missing("node", id))
}

/// The node, or the nearest one above it that is not pruned.
fn visible(snapshot: &dyn Snapshot, mut at: Node) -> Result<Node> {
    while at.state.pruned_by.is_some()
        && let Some(parent) = at.parent
    {
        at = node(snapshot, parent)?;
    }
    Ok(at)
}

/// Where a step leads; `None`: nowhere.
fn stepped(snapshot: &dyn Snapshot, look: &mut Look, at: &Node, step: Step) -> Result<Option<Node>> {
    let walker = Walker { snapshot, versions: &look.versions, folds: &look.folds, hoist: look.hoist };
    let read = |node: Option<Node>| node.map(|node| walker.read(&node)).transpose();
    let place = at.version_of.filter(|_| at.kind == EdgeKind::Version).unwrap_or(at.id);
    let found = match step {
        Step::Parent => {
            let path = snapshot.path_back(at.id, &look.versions, 2)?;
            let parent = path.into_iter().next().filter(|node| node.id != at.id);
            parent.filter(|_| look.hoist != Some(place))
        }
        Step::Child => read(child(snapshot, look, place)?)?,
        Step::Sibling(forward) => {
            let Some(original) = snapshot.node(place)? else { return Ok(None) };
            let Some(parent) = original.parent.filter(|_| original.kind == EdgeKind::Continuation) else {
                return Ok(None);
            };
            let (next, wrap) = if forward {
                (Beyond::After(original.seq), Beyond::First)
            } else {
                (Beyond::Before(original.seq), Beyond::Last)
            };
            let mut found = snapshot.continuations(parent, next, 1)?.pop();
            if found.is_none() {
                found = snapshot.continuations(parent, wrap, 1)?.pop();
            }
            read(found.filter(|node| node.id != place))?
        }
        Step::Line(down) => walker.line(&snapshot.path_back(at.id, &look.versions, PATH)?, down)?,
        Step::Root => {
            let root = look.hoist.or(snapshot.tree(at.tree)?.and_then(|tree| tree.root));
            let root = root.map(|id| node(snapshot, id)).transpose()?;
            read(root)?.filter(|root| root.id != at.id)
        }
        Step::End => {
            let mut end = at.clone();
            let mut from = place;
            // So far that nobody waits; a second press goes on.
            for _ in 0..20_000 {
                let Some(next) = child(snapshot, look, from)? else { break };
                from = next.id;
                end = next;
            }
            read(Some(end).filter(|end| end.id != at.id))?
        }
        Step::Bookmark => {
            let marked = snapshot.bookmarks(at.tree)?;
            let next = marked.iter().find(|node| node.seq > at.seq).or(marked.first());
            next.filter(|node| node.id != at.id).cloned()
        }
        Step::Version(forward) => {
            let wordings = snapshot.versions(at.id)?;
            let here = wordings.iter().position(|node| node.id == at.id);
            let next = here.and_then(|here| {
                if forward { wordings.get(here + 1) } else { here.checked_sub(1).map(|at| &wordings[at]) }
            });
            if let Some(next) = next {
                look.versions.retain(|chosen| wordings.iter().all(|node| node.id != *chosen));
                look.versions.push(next.id);
            }
            next.cloned()
        }
    };
    Ok(found)
}

/// The continuation of a place that was visited last, else its first.
fn child(snapshot: &dyn Snapshot, look: &Look, place: NodeId) -> Result<Option<Node>> {
    if let Some(last) = look.visited.get(&place)
        && let Some(node) = snapshot.node(*last)?
        && node.state.pruned_by.is_none()
    {
        return Ok(Some(node));
    }
    Ok(snapshot.continuations(place, Beyond::First, 1)?.pop())
}

/// Which of how many branches a place is. Beyond some thousands nobody counts.
fn branch(snapshot: &dyn Snapshot, at: &Node, place: NodeId) -> Result<(usize, usize)> {
    let original = if at.id == place { at.clone() } else { node(snapshot, place)? };
    let Some(parent) = original.parent.filter(|_| original.kind == EdgeKind::Continuation) else { return Ok((1, 1)) };
    let all = node(snapshot, parent)?.state.continuations as usize;
    if all < 2 {
        return Ok((1, 1));
    }
    let before = snapshot.continuations(parent, Beyond::Before(original.seq), SIBLINGS)?.len();
    Ok((before + 1, all.max(before + 1)))
}

fn others(snapshot: &dyn Snapshot, look: &Look, tree: &Tree, agents: &[Agent], now: Timestamp) -> Result<Vec<Other>> {
    let name = |id: AgentId| agents.iter().find(|agent| agent.id() == id).map_or("?", Agent::name).to_owned();
    let mut found: Vec<Other> = Vec::new();
    for lease in snapshot.leases(tree.id)?.iter().filter(|lease| lease.holds(now) && lease.session != look.session) {
        found.push(Other { name: name(lease.agent), at: lease.node, generating: true });
    }
    let filter = SessionFilter { tree: Some(tree.id), active: true, limit: OTHERS, ..SessionFilter::default() };
    for session in snapshot.sessions(&filter)? {
        let recent = session.last_active_at.as_millis() >= now.as_millis().saturating_sub(PRESENT);
        let own = Some(session.id) == look.session || session.agent == look.agent;
        let name = name(session.agent);
        if let Some(at) = session.position.filter(|_| recent && !own && found.iter().all(|other| other.name != name)) {
            found.push(Other { name, at, generating: false });
        }
    }
    Ok(found)
}

/// Lays out the path.
struct Page<'a> {
    snapshot: &'a dyn Snapshot,
    look: &'a Look,
    agents: &'a [Agent],
    now: Timestamp,
    here: NodeId,
}

impl Page<'_> {
    fn talk(&mut self, path: &[Node]) -> Result<Vec<Block>> {
        path.iter().map(|node| self.turn(node)).collect()
    }

    fn turn(&mut self, node: &Node) -> Result<Block> {
        let palette = self.look.palette;
        let mut lines = vec![self.header(node)];
        let room = self.look.columns;
        if node.purged_at.is_some() {
            lines.push(Line::styled("(purged)", palette.style(Role::Dim)));
        } else {
            lines.extend(markdown::render(&node.content, room, palette.words(node.author_type), palette));
        }
        if node.state.annotations > 0 || node.raw.is_some() {
            lines.extend(self.beside(node)?);
        }
        lines.push(Line::default());
        Ok(Block { lines })
    }

    fn header(&self, node: &Node) -> Line<'static> {
        let palette = self.look.palette;
        let name = self.agents.iter().find(|agent| agent.id() == node.author).map_or("?", Agent::name);
        let mut spans: Vec<ratatui::text::Span<'static>> = Vec::new();
        let mut push = |text: String, style| spans.push(ratatui::text::Span::styled(text, style));
        let here = node.id == self.here;
        push(if here { "▸ ".into() } else { "  ".into() }, palette.style(Role::Accent));
        push(text::cut(name, 24), palette.author(node.author_type).add_modifier(ratatui::style::Modifier::BOLD));
        push(format!("  {}", node.local), palette.style(Role::Id));
        push(format!("  {}", node.created_at.age(self.now)), palette.style(Role::Dim));
        if node.state.continuations > 1 {
            push(format!("  {} ways on", node.state.continuations), palette.style(Role::Dim));
        }
        for mark in marks(node) {
            push(format!("  {mark}"), palette.style(Role::Mark));
        }
        Line::from(spans)
    }

    /// What stands beside a node: notes, thoughts, what commands were answered.
    fn beside(&self, node: &Node) -> Result<Vec<Line<'static>>> {
        let palette = self.look.palette;
        let mut lines = Vec::new();
        let room = self.look.columns;
        for (kind, sign) in [(EdgeKind::Annotation, "✎ "), (EdgeKind::Thought, "∴ "), (EdgeKind::Tool, "⤷ ")] {
            let filter = ChildFilter { kind: Some(kind), pruned: false, limit: NOTES };
            for note in self.snapshot.children(node.id, &filter)? {
                // Answers of commands are folded to a line each; context and notes in full.
                let words = if kind == EdgeKind::Annotation {
                    note.content.clone()
                } else {
                    text::cut(&note.content, room.saturating_sub(4))
                };
                let bar = palette.style(Role::Guide);
                let first: [Piece; 2] = [("┊ ".into(), bar), (sign.into(), palette.style(Role::Mark))];
                let rest: [Piece; 2] = [("┊ ".into(), bar), ("  ".into(), bar)];
                let words = [(words, palette.style(Role::Dim))];
                lines.extend(text::wrap(&words, room, &first, &rest));
            }
        }
        Ok(lines)
    }

    /// The path as one text, without seams: a model's words in their colour.
    fn prose(&mut self, path: &[Node]) -> Result<Vec<Block>> {
        let palette = self.look.palette;
        let pieces: Vec<Piece> = path
            .iter()
            .filter(|node| node.purged_at.is_none())
            .map(|node| (node.content.clone(), palette.words(node.author_type)))
            .collect();
        let mut joined: Vec<Piece> = Vec::with_capacity(pieces.len() * 2);
        for (words, style) in pieces {
            let seam = joined.last().is_some_and(|(last, _)| needs_seam(last, &words)) && self.is_talk(path);
            if seam {
                joined.push(("\n\n".to_owned(), style));
            }
            joined.push((words, style));
        }
        Ok(vec![Block { lines: text::wrap(&joined, self.look.columns, &[], &[]) }])
    }

    /// Whether the path is a conversation: then what each says is a paragraph of its own.
    fn is_talk(&self, path: &[Node]) -> bool {
        path.first()
            .and_then(|node| self.snapshot.tree(node.tree).ok().flatten())
            .is_none_or(|tree| tree.mode == Mode::Dialogue)
    }
}

fn needs_seam(before: &str, after: &str) -> bool {
    !before.ends_with('\n') && !after.starts_with('\n')
}

/// What there is to say of a node in a word each.
pub(crate) fn marks(node: &Node) -> Vec<String> {
    let state = &node.state;
    let mut marks = Vec::new();
    if let Some(label) = &state.bookmark {
        marks.push(format!("★ {}", text::cut(label, 24)).trim_end().to_owned());
    }
    let number = |count: u32, one: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    };
    if state.annotations > 0 {
        marks.push(number(state.annotations, "note"));
    }
    if state.links > 0 {
        marks.push(number(state.links, "link"));
    }
    if state.versions > 0 {
        marks.push(number(state.versions + 1, "version"));
    }
    let words = [
        (node.edited_from.is_some() && node.kind != EdgeKind::Version, "edited"),
        (state.excluded, "excluded"),
        (node.interrupted, "interrupted"),
        (node.purged_at.is_some(), "purged"),
    ];
    marks.extend(words.iter().filter(|(is, _)| *is).map(|(_, word)| (*word).to_owned()));
    marks
}

/// The sign of an author in the outline.
pub(crate) fn sign(kind: AuthorType) -> &'static str {
    match kind {
        AuthorType::Human => "○",
        AuthorType::Model => "●",
        AuthorType::Tool => "◇",
        AuthorType::System => "·",
    }
}
