//! Recall: what was said, found again.
//!
//! One operation for every door (arrow lines, the program, a host's own code): [`search`] by words, ranked; turns of a
//! session ([`turns`]); results of a tool ([`tool_results`]). Nothing that is found is rewritten, and any text is a
//! question: words are looked up by the rules that they were indexed by ([`crate::types::WordTokenizer`]), and what has
//! no words is looked for as it stands.

mod answer_type;
mod excerpt;
mod filter;
mod highlight;
mod hint;
mod matching;
mod query_parser;
mod rank;
mod semantic;
mod time_spec;

use std::{
    cell::RefCell,
    cmp::{Ordering, Reverse},
    collections::{HashMap, HashSet},
    ops::RangeInclusive,
};

pub(crate) use self::excerpt::cut_at;
pub use self::{
    excerpt::{called_with, calls, excerpt, is_failure},
    filter::{Author, Branch, Filter, Scope},
    highlight::highlights,
    hint::{Hint, References},
    matching::{Counts, around, count},
    semantic::{EmbedError, Embedder, QueryEmbedding, embed},
    time_spec::{ParseTimeError, TimeSpec},
};
use self::{
    matching::{Matching, literally},
    query_parser::{ParsedQuery, asks},
};
use crate::{
    id::SessionId,
    ops::OpsError,
    store::{Snapshot, WordFilter},
    types::{AuthorType, Node},
};

type Result<T> = std::result::Result<T, OpsError>;

/// Rows of the index that a search reads at the most.
const READ: usize = 5_000;
/// Candidates whose text is looked at.
const LOOKED_AT: usize = 150;
/// Nodes that are looked through for what has no words.
const LITERAL: u32 = 5_000;
/// Tools whose answers show what was found before. They would be found again by what was asked.
const ANSWERS: [&str; 3] = ["recall", "conversation_recall", "view"];

/// What is searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The question, or words; what stands in double quotes comes first where it stands so.
    pub text: String,
    /// Where.
    pub scope: Scope,
    /// Which of it.
    pub only: Filter,
    /// Who asks: what `I` means in the question. It rules nothing out.
    pub asker: Option<AuthorType>,
    /// Only nodes that hold all of `text` as it stands, whatever its case.
    pub exact: bool,
    /// The newest first, not the best.
    pub by_time: bool,
    /// At most so many.
    pub limit: usize,
}

impl Query {
    /// Words in a scope, with no filter, and twenty hits.
    #[must_use]
    pub fn new(text: impl Into<String>, scope: Scope) -> Self {
        Self { text: text.into(), scope, only: Filter::default(), asker: None, exact: false, by_time: false, limit: 20 }
    }
}

/// A node that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The node, whole and as it was said. It may be pruned.
    pub node: Node,
    /// Which of its passages was found, from 0, as [`crate::types::WordTokenizer::passages`] cuts it.
    pub passage: u32,
    /// How well it fits; comparable within one search.
    pub score: f64,
    /// Whether it holds the question, or what was quoted in it, as it stands there.
    pub exact: bool,
    /// Words of the query that it holds itself; its neighbours' are not counted.
    pub own_words: u32,
    /// What it hangs on.
    pub before: Option<Node>,
    /// What first continues it.
    pub after: Option<Node>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchResults {
    /// Nodes that hold what was searched for: all rare words of the query, or what is quoted in it. The best first.
    pub hits: Vec<Hit>,
    /// Nodes that hold less: some of the words, or their neighbours do, or they are near in meaning. The best first.
    pub near: Vec<Hit>,
    /// The words that were looked for; none if the text has none, and was looked for as it stands.
    pub words: Vec<String>,
    /// Words of the query, as written, that no searched node holds.
    pub absent: Vec<String>,
}

impl SearchResults {
    /// Hits and near ones in one list, the best first.
    #[must_use]
    pub fn ranked(self) -> Vec<Hit> {
        let mut all = self.hits;
        all.extend(self.near);
        all.sort_by(better);
        all
    }

    /// True if nothing was found, not even something near.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.hits.is_empty() && self.near.is_empty()
    }
}

/// The better hit first.
fn better(one: &Hit, other: &Hit) -> Ordering {
    other.exact.cmp(&one.exact).then(other.score.total_cmp(&one.score))
}

/// Searches.
///
/// # Errors
/// If the store cannot be read, or the scope or a filter names something that is not there.
pub fn search(snapshot: &dyn Snapshot, query: &Query) -> Result<SearchResults> {
    search_with(snapshot, query, None)
}

/// Searches by words, and by what the question means if that is given: what shares no word with it can then be found too.
///
/// # Errors
/// The same.
pub fn search_with(snapshot: &dyn Snapshot, query: &Query, meaning: Option<&QueryEmbedding>) -> Result<SearchResults> {
    let question = ParsedQuery::read(&query.text, &snapshot.agents()?, query.asker);
    let filter = query.only.within(snapshot, &query.scope)?;
    if query.exact {
        return exactly(snapshot, query, &question, &filter);
    }
    let said = snapshot.postings(&question.words, &filter, READ)?;
    let nodes = query.scope.size(snapshot)?.unwrap_or(said.all);
    let literal = said.passages.is_empty();
    let scores: Vec<rank::RankCandidate> = if literal {
        literally(snapshot, &filter, &question.whole, LITERAL, query.limit)?
    } else {
        rank::rank(snapshot, &said, &filter, nodes)?
    };
    let matching = Matching::of(&said, nodes);
    // What stands beside a hit is a candidate too, and may lie outside.
    let fits = HitFilter::new(snapshot, &filter);
    let scores = &scores[..scores.len().min(LOOKED_AT)];
    let found: HashSet<u64> = scores.iter().map(|candidate| candidate.node).collect();
    let asking = scores.iter().filter(|candidate| candidate.if_asked > 0.0).filter_map(|candidate| candidate.before);
    let seqs: HashSet<u64> = found.iter().copied().chain(asking).collect();
    let mut seqs: Vec<u64> = seqs.into_iter().collect();
    seqs.sort_unstable();
    let mut nodes: HashMap<u64, Node> = snapshot.nodes_at(&seqs)?.into_iter().map(|node| (node.seq, node)).collect();
    let asking: HashSet<u64> = nodes.values().filter(|node| asks(&node.content)).map(|node| node.seq).collect();
    let mut hits: Vec<Hit> = Vec::with_capacity(found.len());
    for candidate in scores {
        let Some(node) = nodes.remove(&candidate.node) else { continue };
        if !fits.node(&node)? {
            continue;
        }
        let asked = candidate.before.is_some_and(|before| asking.contains(&before));
        let score = candidate.score + if asked { candidate.if_asked } else { 0.0 };
        let (score, exact) = (score * question.factor(&node), question.is_exact(&node.content));
        let own_words = matching.own_words(node.seq);
        hits.push(Hit { node, passage: candidate.part, score, exact, own_words, before: None, after: None });
    }
    if let Some(meaning) = meaning {
        hits = nearer(snapshot, hits, &meaning.near(snapshot, &filter)?, &fits)?;
    }
    hits.sort_by(better);
    let matches = |hit: &Hit| hit.exact || question.phrases.is_empty() && (literal || matching.holds(hit.node.seq));
    let (mut hits, mut near): (Vec<Hit>, Vec<Hit>) = hits.into_iter().partition(matches);
    if query.by_time {
        hits.sort_by_key(|hit| Reverse(hit.node.seq));
        near.sort_by_key(|hit| Reverse(hit.node.seq));
    }
    hits.truncate(query.limit);
    near.truncate(query.limit);
    neighbours(snapshot, hits.iter_mut().chain(&mut near))?;
    let absent = match literal && !hits.is_empty() {
        true => Vec::new(),
        false => matching::absent(snapshot, query, &question, &said, &filter)?,
    };
    Ok(SearchResults { hits, near, words: question.words, absent })
}

/// Finds a phrase as it stands, the newest first.
fn exactly(
    snapshot: &dyn Snapshot,
    query: &Query,
    question: &ParsedQuery,
    filter: &WordFilter,
) -> Result<SearchResults> {
    let fits = HitFilter::new(snapshot, filter);
    let found = literally(snapshot, filter, &query_parser::plain(&query.text), u32::MAX, usize::MAX)?;
    let mut hits = Vec::new();
    for candidates in found.chunks(LOOKED_AT) {
        for node in snapshot.nodes_at(&candidates.iter().map(|candidate| candidate.node).collect::<Vec<_>>())? {
            if hits.len() < query.limit && fits.node(&node)? {
                hits.push(Hit { node, passage: 0, score: 1.0, exact: true, own_words: 0, before: None, after: None });
            }
        }
        if hits.len() >= query.limit {
            break;
        }
    }
    neighbours(snapshot, hits.iter_mut())?;
    Ok(SearchResults { hits, words: question.words.clone(), ..SearchResults::default() })
}

/// Reads what each hit hangs on and what first continues it.
fn neighbours<'h>(snapshot: &dyn Snapshot, hits: impl Iterator<Item = &'h mut Hit>) -> Result<()> {
    let mut hits: Vec<&mut Hit> = hits.collect();
    let beside = snapshot.neighbors(&hits.iter().map(|hit| hit.node.seq).collect::<Vec<_>>())?;
    for (hit, beside) in hits.iter_mut().zip(beside) {
        let one = |seq: Option<u64>| -> Result<Option<Node>> {
            Ok(snapshot.nodes_at(&seq.into_iter().collect::<Vec<_>>())?.pop())
        };
        hit.before = one(beside.before)?;
        hit.after = one(beside.after.first().copied())?;
    }
    Ok(())
}

/// Turns of a session that fit, from the lesser to the greater number, whichever comes first, at most `limit`.
///
/// # Errors
/// If the store cannot be read, or the session or what the filter names is not there.
pub fn turns(
    snapshot: &dyn Snapshot,
    session: SessionId,
    turns: RangeInclusive<u64>,
    only: &Filter,
    limit: u32,
) -> Result<Vec<Node>> {
    let filter = only.within(snapshot, &Scope::Session(session))?;
    let (from, to) = turns.into_inner();
    Ok(snapshot.turns(session, from.min(to)..=from.max(to), &filter, limit)?)
}

/// Results of a tool that fit, the newest first, at most `limit`, each with the node that called it.
///
/// # Errors
/// If the store cannot be read, or the scope or the filter names something that is not there.
pub fn tool_results(
    snapshot: &dyn Snapshot,
    scope: &Scope,
    tool: &str,
    only: &Filter,
    limit: u32,
) -> Result<Vec<(Node, Option<Node>)>> {
    let results = snapshot.tool_results(&only.within(snapshot, scope)?, tool, limit)?;
    let called = |node: &Node| node.parent.map(|parent| snapshot.node(parent)).transpose();
    results.into_iter().map(|node| Ok((called(&node)?.flatten(), node))).map(|pair| pair.map(|(c, n)| (n, c))).collect()
}

/// The names of tools that there are results of.
///
/// # Errors
/// If the store cannot be read, or the scope or the filter names something that is not there.
pub fn tool_names(snapshot: &dyn Snapshot, scope: &Scope, only: &Filter) -> Result<Vec<String>> {
    Ok(snapshot.tool_names(&only.within(snapshot, scope)?, 50)?)
}

/// Hits with those that are near in meaning, scored by both.
fn nearer(snapshot: &dyn Snapshot, mut hits: Vec<Hit>, near: &[(u64, f64)], fits: &HitFilter<'_>) -> Result<Vec<Hit>> {
    let found: HashSet<u64> = hits.iter().map(|hit| hit.node.seq).collect();
    let others = near.iter().take(semantic::NEAREST).map(|(node, _)| *node).filter(|node| !found.contains(node));
    for node in snapshot.nodes_at(&others.collect::<Vec<_>>())? {
        if fits.node(&node)? {
            hits.push(Hit { node, passage: 0, score: 0.0, exact: false, own_words: 0, before: None, after: None });
        }
    }
    let near: HashMap<u64, f64> = near.iter().copied().collect();
    let by_words: Vec<f64> = hits.iter().map(|hit| hit.score).collect();
    let by_meaning: Vec<Option<f64>> = hits.iter().map(|hit| near.get(&hit.node.seq).copied()).collect();
    let mixed = semantic::mixed(&by_words, &by_meaning);
    hits.iter_mut().zip(mixed).for_each(|(hit, score)| hit.score = score);
    Ok(hits)
}

/// True if a node only looks something up or shows what was looked up, or has neither words nor calls.
fn is_traffic(node: &Node) -> bool {
    if node.tool.name.as_deref().is_some_and(|name| ANSWERS.contains(&name)) {
        return true;
    }
    let looks_up =
        |call: &String| ANSWERS.iter().any(|name| call.strip_prefix(name).is_some_and(|c| c.starts_with('(')));
    node.purged_at.is_none() && node.content.trim().is_empty() && calls(node).iter().all(looks_up)
}

/// A filter, asked of nodes. What stands beside a hit is in its tree, so whose that is was asked already.
struct HitFilter<'a> {
    snapshot: &'a dyn Snapshot,
    filter: &'a WordFilter,
    /// Sessions that were asked about, and whether each is of the workspace.
    sessions: RefCell<HashMap<SessionId, bool>>,
}

impl<'a> HitFilter<'a> {
    fn new(snapshot: &'a dyn Snapshot, filter: &'a WordFilter) -> Self {
        Self { snapshot, filter, sessions: RefCell::default() }
    }

    fn of_workspace(&self, session: Option<SessionId>, workspace: &str) -> Result<bool> {
        let Some(id) = session else { return Ok(false) };
        if let Some(known) = self.sessions.borrow().get(&id) {
            return Ok(*known);
        }
        let fits = self.snapshot.session(id)?.is_some_and(|session| session.workspace == workspace);
        self.sessions.borrow_mut().insert(id, fits);
        Ok(fits)
    }

    fn node(&self, node: &Node) -> Result<bool> {
        let filter = self.filter;
        Ok(!is_traffic(node)
            && filter.before.is_none_or(|before| node.seq < before)
            && node.purged_at.is_none()
            && filter.session.is_none_or(|session| node.session == Some(session))
            && filter.tree.is_none_or(|tree| node.tree == tree)
            && filter.author.is_none_or(|author| node.author == author)
            && filter.role.is_none_or(|role| node.author_type == role)
            && filter.kind.is_none_or(|kind| node.kind == kind)
            && filter.from.is_none_or(|from| node.created_at >= from)
            && filter.to.is_none_or(|to| node.created_at <= to)
            && filter.among.as_ref().is_none_or(|among| among.contains(&node.seq))
            && filter.workspace.as_deref().map_or(Ok(true), |name| self.of_workspace(node.session, name))?)
    }
}
