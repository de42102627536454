//! Window of a tree around a node, for a page: lines of the outline, the end of the path, and the other agents. Its cost
//! depends on the requested size, not on the size of the tree.

use std::{borrow::Cow, collections::HashSet, sync::Arc};

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::path_entry::{NodeMarks, PathEntry, PathEntryReader};
use crate::{
    exec::{
        AuthorNames,
        outline::{MAX_PATH_NODES, OutlineReader, OutlineRow, RowKind},
    },
    id::NodeId,
    ops::{AgentPresence, next_part, present_agents},
    recall::{self, cut_at},
    serve::{
        caller::{Caller, ThoughtReader},
        error::{ApiError, Result},
        extractors::{Params, Route},
        state::AppState,
    },
    store::{SiblingCursor, Snapshot},
    types::{AuthorType, EdgeKind, Mode, Node, PinTarget, Tree, one_line},
};

/// Lines of one side of the cursor, at most.
const MAX_LINES: usize = 400;
/// Entries of the path, at most.
const MAX_ENTRIES: usize = 200;
/// Steps of one request, at most.
const MAX_STEPS: usize = 64;
/// Continuations of the node at the cursor, at most.
const MAX_CONTINUATIONS: u32 = 24;
/// Bytes of a line's text.
const LINE_BYTES: usize = 140;
/// Branch levels of a line whose guides are named.
const MAX_GUIDES: usize = 24;
/// Nodes that the step `end` passes. A second step continues.
const MAX_END_STEPS: usize = 20_000;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(window))
}

/// Size and position of a window. Lists are separated by commas.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct PageWindowParams {
    /// Steps from the node, in order: `parent`, `child`, `next`, `previous`, `line_down`, `line_up`, `root`, `end`,
    /// `bookmark`, `version`, `version_back`.
    #[serde(default)]
    steps: String,
    /// Lines of the outline above the node, at most 400 [default: 40].
    above: Option<usize>,
    /// Lines of the outline below the node, at most 400 [default: 60].
    below: Option<usize>,
    /// Entries at the end of the path, at most 200 [default: 12].
    path: Option<usize>,
    /// Nodes whose continuations the outline hides.
    #[serde(default)]
    folded: String,
    /// Node above which the outline shows nothing.
    #[param(value_type = Option<String>)]
    hoist: Option<NodeId>,
    /// Selected versions of nodes that have several.
    #[serde(default)]
    versions: String,
}

/// Line of an outline.
#[derive(Serialize, ToSchema)]
struct PageLine {
    /// Node in its selected version.
    id: NodeId,
    local_id: String,
    /// Node that all versions share: the parent of continuations.
    place: NodeId,
    /// Name of the author.
    author: String,
    author_type: AuthorType,
    /// Beginning of the text, in one line.
    text: String,
    /// Number of branch points above the line.
    level: usize,
    /// A character for each of the last 24 levels: `1` if the branch is the last there, else `0`.
    guides: String,
    /// True if the node begins a branch.
    opens_branch: bool,
    /// True if the node is on the path to the cursor.
    on_path: bool,
    /// True if a fold hides continuations.
    folded: bool,
    marks: NodeMarks,
}

/// Another agent in the tree.
#[derive(Serialize, ToSchema)]
struct PresentAgent {
    name: String,
    node: NodeId,
    /// True if the agent generates there now.
    generating: bool,
}

/// Window around a node.
#[derive(Serialize, ToSchema)]
struct WindowAnswer {
    tree: Tree,
    /// Node at the cursor, after the steps.
    node: NodeId,
    /// Lines of the outline. Fewer lines than requested mean that the outline ends there.
    lines: Vec<PageLine>,
    /// Index of the cursor's line.
    cursor: usize,
    /// True if lines above the first one cannot be read.
    omitted: bool,
    /// Entries at the end of the path, the oldest first.
    path: Vec<PathEntry>,
    /// True if the path has entries before the first one.
    more_path: bool,
    /// First continuations of the node at the cursor.
    continuations: Vec<PageLine>,
    /// Selected versions after the steps.
    versions: Vec<NodeId>,
    /// Other agents in the tree.
    others: Vec<PresentAgent>,
    /// Nodes that the caller's agent has pinned in its context.
    pins: Vec<NodeId>,
    /// Number of the journal's last entry at the moment of the window.
    journal: u64,
}

pub(super) fn ids(list: &str) -> Result<Vec<NodeId>> {
    let parts = list.split(',').filter(|part| !part.is_empty());
    parts.map(|part| part.parse().map_err(|_| ApiError::invalid(format!("{part:?} is no node id")))).collect()
}

/// Returns the lines of the outline around a node, the end of the path to it, and the other agents in the tree.
#[utoipa::path(get, path = "/nodes/{node}/window", tag = "nodes", params(("node" = NodeId, Path), PageWindowParams), responses((status = OK, body = WindowAnswer)))]
async fn window(
    State(state): State<AppState>,
    caller: Caller,
    Route(id): Route<NodeId>,
    Params(params): Params<PageWindowParams>,
) -> Result<Json<WindowAnswer>> {
    state
        .run(move |state| {
            let node = state.node(&caller, id)?;
            let tree = state.tree(&caller, &node.tree.to_string())?;
            let hoist = params.hoist.map(|hoist| state.node(&caller, hoist)).transpose()?;
            if let Some(other) = hoist.as_ref().filter(|hoist| hoist.tree != tree.id) {
                return Err(ApiError::not_found("node of the tree", other.id));
            }
            let snapshot = state.loom().snapshot()?;
            let me = state.agent(&caller, None)?;
            let mut walker = PageWalker {
                snapshot: &*snapshot,
                versions: ids(&params.versions)?,
                folds: ids(&params.folded)?.into_iter().collect(),
                hoist: params.hoist,
                reader: state.thought_reader(&caller)?,
            };
            let mut at = walker.conversation_node(node)?;
            let steps: Vec<&str> = params.steps.split(',').filter(|step| !step.is_empty()).collect();
            if steps.len() > MAX_STEPS {
                return Err(ApiError::invalid(format!("a window takes at most {MAX_STEPS} steps")));
            }
            for step in steps {
                at = walker.step(at, &tree, step)?;
            }
            let names = AuthorNames::read(&*snapshot, me.id())?;
            let mut answer = walker.read(at, tree, &params, &names)?;
            let pins = snapshot.memory(me.id(), answer.tree.id)?.pins.into_iter();
            answer.pins =
                pins.filter_map(|pin| if let PinTarget::Node(id) = pin.target { Some(id) } else { None }).collect();
            let others = present_agents(&*snapshot, &answer.tree, state.loom().now(), (me.id(), None))?;
            let other = |other: AgentPresence| PresentAgent {
                name: names.name(other.agent).to_owned(),
                node: other.node,
                generating: other.generating,
            };
            answer.others = others.into_iter().map(other).collect();
            Ok(Json(answer))
        })
        .await
}

/// Moves in an outline, and reads windows of it.
struct PageWalker<'a> {
    snapshot: &'a dyn Snapshot,
    versions: Vec<NodeId>,
    folds: HashSet<NodeId>,
    hoist: Option<NodeId>,
    reader: ThoughtReader,
}

impl PageWalker<'_> {
    fn outline(&self) -> OutlineReader<'_> {
        OutlineReader { snapshot: self.snapshot, versions: &self.versions, folds: &self.folds, hoist: self.hoist }
    }

    /// Returns the node of the conversation that a note or result belongs to.
    fn conversation_node(&self, mut node: Node) -> Result<Node> {
        while !matches!(node.kind, EdgeKind::Continuation | EdgeKind::Version) {
            match node.parent.map(|parent| self.snapshot.node(parent)).transpose()?.flatten() {
                Some(parent) => node = parent,
                None => break,
            }
        }
        Ok(node)
    }

    fn path(&self, to: NodeId) -> Result<Vec<Arc<Node>>> {
        let path = self.snapshot.path_back(to, &self.versions, MAX_PATH_NODES)?;
        Ok(path.into_iter().map(Arc::new).collect())
    }

    /// Returns the node that a step reaches; the same node if there is none.
    fn step(&mut self, at: Node, tree: &Tree, step: &str) -> Result<Node> {
        let place = at.version_of.filter(|_| at.kind == EdgeKind::Version).unwrap_or(at.id);
        let found = match step {
            "parent" if self.hoist == Some(place) => None,
            "parent" => self.snapshot.path_back(at.id, &self.versions, 2)?.into_iter().find(|node| node.id != at.id),
            "child" => match next_part(self.snapshot, &at, &self.versions)? {
                Some(part) => return Ok(part),
                None => self.snapshot.continuations(place, SiblingCursor::First, 1)?.pop(),
            },
            "next" => self.sibling(&at, true)?,
            "previous" => self.sibling(&at, false)?,
            "line_down" => self.outline().adjacent(&self.path(at.id)?, true)?,
            "line_up" => self.outline().adjacent(&self.path(at.id)?, false)?,
            "root" => self.hoist.or(tree.root).map(|id| self.snapshot.node(id)).transpose()?.flatten(),
            "end" => {
                let (mut end, mut from) = (None, place);
                for _ in 0..MAX_END_STEPS {
                    let Some(next) = self.snapshot.continuations(from, SiblingCursor::First, 1)?.pop() else { break };
                    from = next.id;
                    end = Some(next);
                }
                end
            }
            "bookmark" => {
                let mut marked = self.snapshot.bookmarks(at.tree)?;
                self.reader.retain_readable(&mut marked);
                marked.iter().find(|node| node.seq > at.seq).or(marked.first()).cloned()
            }
            "version" | "version_back" => return self.version(at, step == "version"),
            _ => return Err(ApiError::invalid(format!("there is no step {step:?}"))),
        };
        match found {
            Some(node) if node.kind != EdgeKind::Version => Ok(self.outline().selected_version(&node)?),
            Some(node) => Ok(node),
            None => Ok(at),
        }
    }

    fn sibling(&self, at: &Node, forward: bool) -> Result<Option<Node>> {
        let original = self.snapshot.original(at)?;
        let Some(parent) = original.parent.filter(|_| original.kind == EdgeKind::Continuation) else { return Ok(None) };
        let (beside, wrapped) = if forward {
            (SiblingCursor::After(original.seq), SiblingCursor::First)
        } else {
            (SiblingCursor::Before(original.seq), SiblingCursor::Last)
        };
        match self.snapshot.continuations(parent, beside, 1)?.pop() {
            Some(found) => Ok(Some(found)),
            None => Ok(self.snapshot.continuations(parent, wrapped, 1)?.pop()),
        }
    }

    /// Selects the next or the previous version of a node.
    fn version(&mut self, at: Node, forward: bool) -> Result<Node> {
        let versions = self.snapshot.versions(at.id)?;
        let here = versions.iter().position(|node| node.id == at.id).unwrap_or(0);
        let Some(to) = (if forward { here.checked_add(1) } else { here.checked_sub(1) }) else { return Ok(at) };
        let Some(next) = versions.get(to) else { return Ok(at) };
        self.versions.retain(|chosen| versions.iter().all(|node| node.id != *chosen));
        self.versions.push(next.id);
        Ok(next.clone())
    }

    fn read(self, at: Node, tree: Tree, params: &PageWindowParams, names: &AuthorNames) -> Result<WindowAnswer> {
        let (above, below) = (params.above.unwrap_or(40).min(MAX_LINES), params.below.unwrap_or(60).min(MAX_LINES));
        let path = self.path(at.id)?;
        let hoist = self.hoist.filter(|hoist| path.iter().any(|node| node.id == *hoist));
        let window = OutlineReader { hoist, ..self.outline() }.around(&path, above, below)?;
        let (snapshot, reader, with_prose) = (self.snapshot, self.reader, tree.mode == Mode::Buffer);
        let entries = PathEntryReader { snapshot, names, reader, with_prose };
        let mut cursor = window.cursor_row;
        let mut lines = Vec::with_capacity(window.rows.len());
        let omitted = window.rows.iter().any(|row| row.kind == RowKind::Omitted);
        for (index, (row, on_path)) in window.rows.iter().zip(&window.path).enumerate() {
            match line(row, *on_path, &entries) {
                Some(line) => lines.push(line),
                None if index < window.cursor_row => cursor -= 1,
                None => {}
            }
        }
        let shown = params.path.unwrap_or(12).min(MAX_ENTRIES);
        let start = path.len().saturating_sub(shown);
        let end = path[start..].iter().filter(|node| reader.may_read(node));
        let end = end.map(|node| entries.entry(node)).collect::<Result<_>>()?;
        let more_path = path.get(start).is_some_and(|first| shown > 0 && !first.begins_path());
        Ok(WindowAnswer {
            tree,
            node: at.id,
            lines,
            cursor,
            omitted,
            path: end,
            more_path,
            continuations: self.continuations(&at, shown, &entries)?,
            versions: self.versions.clone(),
            others: Vec::new(),
            pins: Vec::new(),
            journal: self.snapshot.last_seq()?,
        })
    }

    /// Returns the first continuations of a node, none if the path is not requested.
    fn continuations(&self, of: &Node, shown: usize, entries: &PathEntryReader<'_>) -> Result<Vec<PageLine>> {
        if shown == 0 {
            return Ok(Vec::new());
        }
        let mut lines = Vec::new();
        for child in self.snapshot.continuations(of.id, SiblingCursor::First, MAX_CONTINUATIONS)? {
            let node = self.outline().selected_version(&child)?;
            let kind = RowKind::Node { node: Box::new(node), place: child.id, folded: false };
            let row = OutlineRow { kind, levels: Vec::new(), opens_branch: false };
            lines.extend(line(&row, false, entries));
        }
        Ok(lines)
    }
}

/// Returns a line of the outline; `None` for lines that were not read, or that the caller may not read.
fn line(row: &OutlineRow, on_path: bool, entries: &PathEntryReader<'_>) -> Option<PageLine> {
    let RowKind::Node { node, place, folded } = &row.kind else { return None };
    if !entries.reader.may_read(node) {
        return None;
    }
    let near = row.levels.len().saturating_sub(MAX_GUIDES);
    // A reply without words is shown by its calls.
    let text = match node.content.trim_start() {
        "" if node.purged_at.is_none() => Cow::Owned(recall::calls(node).join("; ")),
        text => Cow::Borrowed(text),
    };
    Some(PageLine {
        id: node.id,
        local_id: node.local.to_string(),
        place: *place,
        author: entries.author(node),
        author_type: node.author_type,
        // Reads a little more than the line holds, because line feeds and indents become one space.
        text: cut_at(&one_line(cut_at(&text, LINE_BYTES * 2)), LINE_BYTES).to_owned(),
        level: row.levels.len(),
        guides: row.levels[near..].iter().map(|last| if *last { '1' } else { '0' }).collect(),
        opens_branch: row.opens_branch,
        on_path,
        folded: *folded,
        marks: NodeMarks::from(&**node),
    })
}
