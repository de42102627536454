//! Search of the screen: hits, then near results, each with the messages before and after it.

use super::{LookupRequest, MAX_HITS, MAX_PATH_NODES, MAX_PHRASE_NODES, find};
use crate::{
    ops::Result,
    recall::{self, Hit, Query},
    store::{Snapshot, WordFilter},
    tui::{
        message::{ItemAction, ListItem, LookupResult},
        search_scope::LookupScope,
    },
    types::Node,
};
use ratatui::text::{Line, Span};

/// Mark of a result that holds only some of the words.
const NEAR_MARK: &str = "near";

/// Result with its neighbours in the conversation.
struct SearchRow {
    node: Node,
    before: Option<Node>,
    after: Option<Node>,
    is_near: bool,
}

impl SearchRow {
    fn of(hit: Hit, is_near: bool) -> Self {
        Self { node: hit.node, before: hit.parent, after: hit.first_continuation, is_near }
    }
}

impl LookupRequest<'_> {
    pub(super) fn search(&self, words: &str, scope: LookupScope) -> Result<LookupResult> {
        let snapshot = self.loom.snapshot()?;
        let (mut rows, stems) = match scope {
            LookupScope::Path => (self.path_rows(&*snapshot, words)?, Vec::new()),
            LookupScope::Tree => self.rows(&*snapshot, words, recall::Scope::Tree(self.context.tree))?,
            LookupScope::Everything => self.rows(&*snapshot, words, recall::Scope::Everything)?,
        };
        rows.retain(|row| row.node.state.hidden_by.is_none() && row.node.purged_at.is_none());
        // Exact matches come first, near results last.
        rows.sort_by_cached_key(|row| (row.is_near, find(&row.node.content, words).is_none()));
        let items = rows.iter().map(|row| self.search_item(&*snapshot, row, (words, &stems)));
        Ok(LookupResult::Items(items.collect()))
    }

    fn search_item(&self, snapshot: &dyn Snapshot, row: &SearchRow, highlight: (&str, &[String])) -> ListItem {
        let node = &row.node;
        let elsewhere = if node.tree == self.context.tree { String::new() } else { self.title(snapshot, node.tree) };
        let label = match (row.is_near, elsewhere.is_empty()) {
            (false, _) => elsewhere,
            (true, true) => NEAR_MARK.to_owned(),
            (true, false) => format!("{NEAR_MARK} {elsewhere}"),
        };
        let mut item = self.node(node, &label, Some(highlight), ItemAction::GoToNode(node.tree, node.id));
        let neighbors = [("before", &row.before), ("after", &row.after)];
        item.detail = neighbors
            .into_iter()
            .filter_map(|(place, node)| Some((place, node.as_ref()?)))
            .map(|(place, node)| {
                let line = self.node(node, "", None, ItemAction::ContextPart(None)).line;
                let mut spans: Vec<Span<'static>> = vec![self.dim(format!("{place:<7}"))];
                spans.extend(line.spans.into_iter().map(|span| self.dim(span.content)));
                Line::from(spans)
            })
            .collect();
        item
    }

    /// Returns the nodes of the path that contain the text, the newest first.
    fn path_rows(&self, snapshot: &dyn Snapshot, words: &str) -> Result<Vec<SearchRow>> {
        let path = snapshot.path_back(self.context.at, &self.context.versions, MAX_PATH_NODES)?;
        let hits = (0..path.len()).rev().filter(|at| find(&path[*at].content, words).is_some()).take(MAX_HITS);
        let neighbor = |at: Option<usize>| at.and_then(|at| path.get(at)).cloned();
        Ok(hits
            .map(|at| SearchRow {
                node: path[at].clone(),
                before: neighbor(at.checked_sub(1)),
                after: neighbor(Some(at + 1)),
                is_near: false,
            })
            .collect())
    }

    /// Returns hits and near results of a scope, and the searched words.
    fn rows(
        &self,
        snapshot: &dyn Snapshot,
        words: &str,
        scope: recall::Scope,
    ) -> Result<(Vec<SearchRow>, Vec<String>)> {
        let tree = matches!(scope, recall::Scope::Tree(_)).then_some(self.context.tree);
        let found = recall::search(snapshot, &Query { limit: MAX_HITS, ..Query::new(words, scope) })?;
        let mut rows: Vec<SearchRow> = found.hits.into_iter().map(|hit| SearchRow::of(hit, false)).collect();
        self.add_phrase_rows(snapshot, words, &WordFilter { tree, ..WordFilter::default() }, &mut rows)?;
        let near = found.near.into_iter().filter(|hit| rows.iter().all(|row| row.node.seq != hit.node.seq));
        let near: Vec<SearchRow> = near.map(|hit| SearchRow::of(hit, true)).collect();
        rows.extend(near);
        Ok((rows, found.words))
    }

    /// Adds nodes that contain the exact text: its last word may be incomplete.
    fn add_phrase_rows(
        &self,
        snapshot: &dyn Snapshot,
        words: &str,
        filter: &WordFilter,
        rows: &mut Vec<SearchRow>,
    ) -> Result<()> {
        let mut found = Vec::new();
        let remaining = MAX_HITS.saturating_sub(rows.len()).min(40);
        snapshot.newest_first(filter, MAX_PHRASE_NODES, &mut |seq, content| {
            if find(content, words).is_some() && rows.iter().all(|row| row.node.seq != seq) {
                found.push(seq);
            }
            found.len() < remaining
        })?;
        let nodes = snapshot.nodes_at(&found)?;
        let neighbors = snapshot.neighbors(&nodes.iter().map(|node| node.seq).collect::<Vec<_>>())?;
        for (node, beside) in nodes.into_iter().zip(neighbors) {
            let one = |seq: Option<u64>| -> Result<Option<Node>> {
                Ok(snapshot.nodes_at(&seq.into_iter().collect::<Vec<_>>())?.pop())
            };
            let (before, after) = (one(beside.before)?, one(beside.after.first().copied())?);
            rows.push(SearchRow { node, before, after, is_near: false });
        }
        Ok(())
    }
}
