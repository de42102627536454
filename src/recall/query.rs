//! The query of a search and its results: matches and near results.

use std::{cmp::Ordering, collections::HashSet};

use super::search_filter::{Filter, Scope};
use crate::{
    id::NodeId,
    types::{AuthorType, Node, setters},
};

/// Query of a search: text, scope, filter and order.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Query {
    /// Question or words. Nodes that contain the text in double quotes rank first.
    pub text: String,
    /// Scope of the search.
    pub scope: Scope,
    /// Filter in addition to the scope.
    pub only: Filter,
    /// Role of the asker: the meaning of `I` in the question. It affects the score only.
    pub asker: Option<AuthorType>,
    /// True to match only nodes that contain all of `text` literally, ignoring case.
    pub exact: bool,
    /// True to sort by time, the newest first, instead of by score.
    pub by_time: bool,
    /// True if a sort by time puts the oldest first.
    pub oldest_first: bool,
    /// Nodes that the asker sees already. They rank after the others.
    pub in_view: HashSet<NodeId>,
    /// Maximum number of hits.
    pub limit: usize,
}

impl Query {
    /// Creates a query without filters, for at most 20 hits.
    #[must_use]
    pub fn new(text: impl Into<String>, scope: Scope) -> Self {
        Self {
            text: text.into(),
            scope,
            only: Filter::default(),
            asker: None,
            exact: false,
            by_time: false,
            oldest_first: false,
            in_view: HashSet::new(),
            limit: 20,
        }
    }
}

setters!(Query {
    /// Sets the filter in addition to the scope.
    only(Filter);
    /// Sets the role of the asker.
    asker(option AuthorType);
    /// Sets whether only nodes that contain the text literally match.
    exact(bool);
    /// Sets whether the hits are sorted by time, the newest first.
    by_time(bool);
    /// Sets whether a sort by time puts the oldest first.
    oldest_first(bool);
    /// Sets the nodes that the asker sees already.
    in_view(HashSet<NodeId>);
    /// Sets the maximum number of hits.
    limit(usize);
});

/// A node found by a search.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Hit {
    /// The complete node. It may be pruned.
    pub node: Node,
    /// Index of the best passage from 0, as the index splits the text.
    pub passage: u32,
    /// Score, comparable within one search.
    pub score: f64,
    /// True if the node contains the question, or its quoted text, literally.
    pub exact: bool,
    /// Number of the query's words in the node itself, not in its neighbours.
    pub own_words: u32,
    /// True if an embedding of the node is similar to that of the question.
    pub similar: bool,
    /// True if the asker sees the node already.
    pub in_view: bool,
    /// Parent of the node.
    pub parent: Option<Node>,
    /// First continuation of the node.
    pub first_continuation: Option<Node>,
}

/// Results of a search.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct SearchResults {
    /// Matches: nodes with all rare words of the query, or with its quoted text. The best first.
    pub hits: Vec<Hit>,
    /// Near results: nodes with some of the words, or whose neighbours have them, or with a similar meaning. The best
    /// first.
    pub near: Vec<Hit>,
    /// Number of matches without the query's limit. It is a lower bound unless [`Self::is_complete`].
    pub matches: usize,
    /// True if every candidate was read, so that no further node matches.
    pub is_complete: bool,
    /// Searched index words; empty if the text had none and was searched literally.
    pub words: Vec<String>,
    /// Words of the query, as written, that no searched node contains, and its quoted texts that none contains literally.
    pub absent: Vec<String>,
}

impl SearchResults {
    /// Returns matches and near results in one list, the best first.
    #[must_use]
    pub fn ranked(self) -> Vec<Hit> {
        let mut all = self.hits;
        all.extend(self.near);
        all.sort_by(by_rank);
        all
    }

    /// True if there are neither matches nor near results.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.hits.is_empty() && self.near.is_empty()
    }
}

/// Orders hits by descending score, exact hits first.
pub(super) fn by_rank(one: &Hit, other: &Hit) -> Ordering {
    other.exact.cmp(&one.exact).then(other.score.total_cmp(&one.score))
}
