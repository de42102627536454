//! Lookups of the screen for lists, pages and dialogs. A query thread runs each; all are bounded.

mod compare;
mod lists;
mod prompt;
mod search;

use std::{borrow::Cow, sync::Arc};

use ratatui::text::{Line, Span};

use super::{
    ScreenSetup, markdown,
    message::{ItemAction, ListItem, LookupResult, ScreenLookup},
    model::ScreenModel,
    path_layout::sign,
    text,
    theme::{ColorRole, Palette},
    write_thread::error_line,
};
use crate::{
    context,
    id::{NodeId, SessionId, TreeId},
    ops::{Loom, Result, parts_to, selected_version},
    provider::Prices,
    recall,
    session::ModelResolver,
    store::{SiblingCursor, Snapshot},
    types::{Agent, Node, ceil_char_boundary},
};

/// Items of a list, at most.
const MAX_LISTED: u32 = 500;
/// Nodes scanned for the exact search text.
const MAX_PHRASE_NODES: u32 = 20_000;
/// Hits of a search, at most.
const MAX_HITS: usize = 100;
/// Descendants counted before a prune, at most.
const MAX_COUNTED_NODES: usize = 2_000;
/// Nodes of a path that are searched or compared.
const MAX_PATH_NODES: u32 = 20_000;

/// Context of a lookup: the screen's position and its configuration.
pub(crate) struct LookupContext {
    tree: TreeId,
    at: NodeId,
    agent: Agent,
    session: Option<SessionId>,
    workspace: String,
    versions: Vec<NodeId>,
    palette: Palette,
    columns: usize,
    options: context::ContextOptions,
    resolver: Arc<dyn ModelResolver>,
    prices: Prices,
    model: Option<String>,
    models: Vec<String>,
    selected_models: Vec<String>,
}

impl LookupContext {
    pub(crate) fn new(model: &ScreenModel, setup: &ScreenSetup) -> Self {
        Self {
            tree: model.tree,
            at: model.cursor,
            agent: setup.agent.clone(),
            session: model.session,
            workspace: setup.workspace.clone(),
            versions: model.versions.clone(),
            palette: model.palette,
            columns: usize::from(model.width.min(100)).saturating_sub(8).max(20),
            options: setup.context,
            resolver: Arc::clone(&setup.commands.models),
            prices: setup.prices.clone(),
            model: model.models.first().or(model.default_model.as_ref()).cloned(),
            models: setup.models.clone(),
            selected_models: model.models.clone(),
        }
    }
}

pub(crate) fn run_lookup(
    loom: &Loom,
    lookup: &ScreenLookup,
    context: &LookupContext,
) -> std::result::Result<LookupResult, String> {
    let request = LookupRequest { loom, context };
    let answer = match lookup {
        ScreenLookup::Trees => request.trees(),
        ScreenLookup::Sessions => request.sessions(),
        ScreenLookup::Bookmarks => request.nodes(|snapshot| Ok(snapshot.bookmarks(context.tree)?), true),
        ScreenLookup::Pruned => request.nodes(|snapshot| Ok(snapshot.pruned(context.tree)?), false),
        ScreenLookup::Log => request.log(),
        ScreenLookup::Documents => request.documents(),
        ScreenLookup::Document(id) => request.document(*id),
        ScreenLookup::Context(node) => return request.context(*node),
        ScreenLookup::Cost(node) => return request.cost(*node),
        ScreenLookup::Search(words, scope) => request.search(words, *scope),
        ScreenLookup::Diff(one, other) => request.diff(*one, *other),
        ScreenLookup::DescendantCount(node) => request.descendant_count(*node),
        ScreenLookup::Text(nodes, _) => request.contents(nodes),
        ScreenLookup::Models => request.models(),
        ScreenLookup::Find(text) => loom.find_node(context.tree, text).map(|node| LookupResult::Node(node.id)),
    };
    answer.map_err(|error| error_line(&error))
}

/// Returns the branch to select after a node is pruned: the one before it, else the one after.
pub(crate) fn adjacent_branch(snapshot: &dyn Snapshot, node: &Node) -> Result<Option<NodeId>> {
    let Some(parent) = node.parent else { return Ok(None) };
    let before = snapshot.continuations(parent, SiblingCursor::Before(node.seq), 1)?.pop();
    let found = match before {
        Some(before) => Some(before),
        None => snapshot.continuations(parent, SiblingCursor::After(node.seq), 1)?.pop(),
    };
    Ok(found.map(|node| node.id))
}

/// Returns the version that a path through the selected versions has at the place of `node`: `node` itself if it is on
/// that path, as a part before the last one is.
pub(crate) fn current_version(snapshot: &dyn Snapshot, node: &Node, selected: &[NodeId]) -> Result<Node> {
    let current = selected_version(snapshot, &snapshot.original(node)?, selected)?;
    let mut parts = if current.id == node.id { Vec::new() } else { parts_to(snapshot, &current, selected)? };
    let part = parts.iter().position(|part| part.id == node.id);
    Ok(part.map_or(current, |at| parts.swap_remove(at)))
}

/// Wraps a text as a page, without interpreting Markdown.
pub(crate) fn plain_page(text: &str) -> Vec<Line<'static>> {
    markdown::plain(text, 92, ratatui::style::Style::new())
}

struct LookupRequest<'a> {
    loom: &'a Loom,
    context: &'a LookupContext,
}

impl LookupRequest<'_> {
    fn dim(&self, text: impl Into<String>) -> Span<'static> {
        Span::styled(text.into(), self.context.palette.style(ColorRole::Dim))
    }

    fn id(&self, text: impl Into<String>) -> Span<'static> {
        Span::styled(text.into(), self.context.palette.style(ColorRole::Id))
    }

    fn nodes(&self, read: impl Fn(&dyn Snapshot) -> Result<Vec<Node>>, go: bool) -> Result<LookupResult> {
        let nodes = read(&*self.loom.snapshot()?)?;
        let items = nodes.iter().rev().take(MAX_LISTED as usize).map(|node| {
            let label = node.state.bookmark.clone().unwrap_or_default();
            let action = if go { ItemAction::GoToNode(node.tree, node.id) } else { ItemAction::Restore(node.id) };
            self.node(node, &label, None, action)
        });
        Ok(LookupResult::Items(items.collect()))
    }

    /// Formats a node on one line and highlights search terms.
    fn node(&self, node: &Node, before: &str, highlight: Option<(&str, &[String])>, action: ItemAction) -> ListItem {
        let palette = self.context.palette;
        let mut spans = vec![
            self.id(text::pad(&node.local, 7)),
            Span::styled(format!("{} ", sign(node.author_type)), palette.author(node.author_type)),
        ];
        if !before.is_empty() {
            spans.push(Span::styled(format!("{}  ", text::truncate(before, 24)), palette.style(ColorRole::Mark)));
        }
        let used: usize = spans.iter().map(|span| text::width(&span.content)).sum();
        let max_columns = self.context.columns.saturating_sub(used);
        let content = if node.content.trim().is_empty() {
            Cow::Owned(recall::calls(node).join(" · "))
        } else {
            Cow::Borrowed(node.content.as_str())
        };
        let places =
            |text: &str| highlight.map_or_else(Vec::new, |(text_of, words)| recall::highlights(text, words, text_of));
        let words = text::truncate(excerpt(&content, places(&content).first().map(|place| place.start)), max_columns);
        let mut end = 0;
        for place in places(&words) {
            spans.push(Span::raw(words[end..place.start].to_owned()));
            spans.push(Span::styled(words[place.clone()].to_owned(), palette.style(ColorRole::Accent)));
            end = place.end;
        }
        spans.push(Span::raw(words[end..].to_owned()));
        let words = format!("{} {before} {}", node.local, text::truncate(&node.content, 400));
        ListItem { line: Line::from(spans), detail: Vec::new(), words, action }
    }

    /// Joins the contents of nodes as `loom merge` does.
    fn contents(&self, nodes: &[NodeId]) -> Result<LookupResult> {
        let contents = nodes.iter().map(|node| Ok(self.loom.node(*node)?.content)).collect::<Result<Vec<_>>>()?;
        Ok(LookupResult::Text(contents.join("\n\n")))
    }

    fn title(&self, snapshot: &dyn Snapshot, tree: TreeId) -> String {
        snapshot.tree(tree).ok().flatten().map(|tree| tree.title).unwrap_or_default()
    }

    fn descendant_count(&self, node: NodeId) -> Result<LookupResult> {
        let snapshot = self.loom.snapshot()?;
        let (mut pending, mut count) = (vec![node], 0);
        while let Some(next) = pending.pop() {
            let remaining = u32::try_from(MAX_COUNTED_NODES + 1 - count).unwrap_or(0);
            let children = snapshot.continuations(next, SiblingCursor::First, remaining)?;
            count += children.len();
            if count > MAX_COUNTED_NODES {
                return Ok(LookupResult::DescendantCount(MAX_COUNTED_NODES, true));
            }
            pending.extend(children.into_iter().map(|child| child.id));
        }
        Ok(LookupResult::DescendantCount(count, false))
    }
}

/// Returns the byte position of words in a text, ignoring case.
fn find(text: &str, words: &str) -> Option<usize> {
    let words = words.trim();
    if words.is_empty() {
        return None;
    }
    if let Some(at) = text.find(words) {
        return Some(at);
    }
    let lower = text.to_lowercase();
    // If lower-casing changes the length, positions are unknown: returns 0.
    lower.find(&words.to_lowercase()).map(|at| if lower.len() == text.len() { at } else { 0 })
}

/// Returns the text from shortly before a match.
fn excerpt(text: &str, at: Option<usize>) -> &str {
    let Some(at) = at.filter(|at| *at > 40) else { return text };
    let from = ceil_char_boundary(text, at - 24);
    let word = text[from..at].find(' ').map_or(from, |space| from + space + 1);
    &text[word..]
}
