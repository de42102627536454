//! Recall: what was said, found again.
//!
//! One operation for every door (arrow lines, the program, a host's own code): [`search`] by words, ranked; turns of a
//! session ([`turns`]); results of a tool ([`tool_results`]). Nothing that is found is rewritten, and any text is a
//! question: words are looked up by the rules that they were indexed by ([`crate::model::WordReader`]), and what has
//! no words is looked for as it stands.

mod hint;
mod meaning;
mod question;
mod rank;
mod wants;

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
};

use self::question::{Question, asks, may_hold, plain};
pub use self::{
    hint::{Hint, References},
    meaning::{EmbedError, Embedder, Meaning, embed},
};
use crate::{
    id::{AgentId, NodeId, SessionId, TreeId},
    model::{AuthorType, EdgeKind, Node, Timestamp},
    ops::OpsError,
    store::{Snapshot, WordFilter},
};

type Result<T> = std::result::Result<T, OpsError>;

/// Rows of the index that a search reads at the most.
const READ: usize = 5_000;
/// Candidates whose text is looked at.
const LOOKED_AT: usize = 150;
/// Nodes that are looked through for what has no words.
const LITERAL: u32 = 5_000;
/// Tools whose answers are what was found before. They would be found again by what was asked.
const ANSWERS: [&str; 2] = ["recall", "conversation_recall"];

/// Where is searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// What a session caused.
    Session(SessionId),
    /// A tree.
    Tree(TreeId),
    /// What sessions of a workspace caused.
    Workspace(String),
    /// The whole store.
    Everything,
}

/// A part of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Branch {
    /// The path to a node.
    To(NodeId),
    /// A node and what hangs below it.
    Below(NodeId),
}

/// What is searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The question, or words; what stands in double quotes comes first where it stands so.
    pub text: String,
    /// Where.
    pub scope: Scope,
    /// Only by this author.
    pub author: Option<AgentId>,
    /// Only in this part of a tree.
    pub branch: Option<Branch>,
    /// Only what was said then or later.
    pub from: Option<Timestamp>,
    /// Only what was said then or earlier.
    pub to: Option<Timestamp>,
    /// Only nodes of this kind.
    pub kind: Option<EdgeKind>,
    /// Only what this session may see: nothing that belongs to another work item than it does.
    pub seen_by: Option<SessionId>,
    /// Who asks: what `I` means in the question. It rules nothing out.
    pub asker: Option<AuthorType>,
    /// At most so many.
    pub limit: usize,
}

impl Query {
    /// Words in a scope, with no filter, and twenty hits.
    #[must_use]
    pub fn new(text: impl Into<String>, scope: Scope) -> Self {
        Self {
            text: text.into(),
            scope,
            author: None,
            branch: None,
            from: None,
            to: None,
            kind: None,
            seen_by: None,
            asker: None,
            limit: 20,
        }
    }

    fn filter(&self, snapshot: &dyn Snapshot) -> Result<WordFilter> {
        let among = match self.branch {
            None => None,
            Some(Branch::To(node)) => Some(snapshot.path_back(node, &[], 0)?.iter().map(|node| node.seq).collect()),
            Some(Branch::Below(node)) => Some(below(snapshot, node)?),
        };
        let seen_by = match self.seen_by {
            None => None,
            Some(id) => Some(snapshot.session(id)?.ok_or_else(|| OpsError::missing("session", id))?.item),
        };
        let Self { author, from, to, kind, .. } = *self;
        Ok(WordFilter { author, from, to, kind, among, seen_by, ..self.scope.filter() })
    }
}

impl Scope {
    fn filter(&self) -> WordFilter {
        let mut filter = WordFilter::default();
        match self {
            Self::Session(session) => filter.session = Some(*session),
            Self::Tree(tree) => filter.tree = Some(*tree),
            Self::Workspace(workspace) => filter.workspace = Some(workspace.clone()),
            Self::Everything => {}
        }
        filter
    }

    /// About how many nodes are in it, where that is known without counting.
    fn size(&self, snapshot: &dyn Snapshot) -> Result<Option<u64>> {
        Ok(match self {
            Self::Session(session) => snapshot.session(*session)?.map(|session| session.turns),
            Self::Tree(tree) => snapshot.tree(*tree)?.map(|tree| tree.counts.nodes),
            Self::Workspace(_) | Self::Everything => None,
        })
    }
}

/// A node that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The node, whole and as it was said. It may be pruned.
    pub node: Node,
    /// Which of its passages was found, from 0, as [`crate::model::WordReader::passages`] cuts it.
    pub passage: u32,
    /// How well it fits; comparable within one search.
    pub score: f64,
    /// Whether it holds the question, or what was quoted in it, as it stands there.
    pub exact: bool,
    /// What it hangs on.
    pub before: Option<Node>,
    /// What first continues it.
    pub after: Option<Node>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The best first.
    pub hits: Vec<Hit>,
    /// The words that were looked for; none if the text has none, and was looked for as it stands.
    pub words: Vec<String>,
}

/// Searches.
///
/// # Errors
/// If the store cannot be read, or the scope or a filter names something that is not there.
pub fn search(snapshot: &dyn Snapshot, query: &Query) -> Result<Found> {
    search_with(snapshot, query, None)
}

/// Searches by words, and by what the question means if that is given: what shares no word with it can then be found too.
///
/// # Errors
/// The same.
pub fn search_with(snapshot: &dyn Snapshot, query: &Query, meaning: Option<&Meaning>) -> Result<Found> {
    let question = Question::read(&query.text, &snapshot.agents()?, query.asker);
    let filter = query.filter(snapshot)?;
    let said = snapshot.words_said(&question.words, &filter, READ)?;
    let scores: Vec<rank::Candidate> = if said.passages.is_empty() {
        literally(snapshot, &filter, &question.whole, query.limit)?
    } else {
        let nodes = query.scope.size(snapshot)?.unwrap_or(said.all);
        rank::rank(snapshot, &said, &filter, nodes)?
    };
    // What stands beside a hit is a candidate too, and may lie outside.
    let fits = Fits::new(snapshot, &filter);
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
        hits.push(Hit { node, passage: candidate.part, score, exact, before: None, after: None });
    }
    if let Some(meaning) = meaning {
        hits = nearer(snapshot, hits, &meaning.near(snapshot, &filter)?, &fits)?;
    }
    hits.sort_by(|a, b| b.exact.cmp(&a.exact).then(b.score.total_cmp(&a.score)));
    hits.truncate(query.limit);
    let beside = snapshot.beside(&hits.iter().map(|hit| hit.node.seq).collect::<Vec<_>>())?;
    for (hit, beside) in hits.iter_mut().zip(beside) {
        let one = |seq: Option<u64>| -> Result<Option<Node>> {
            Ok(snapshot.nodes_at(&seq.into_iter().collect::<Vec<_>>())?.pop())
        };
        hit.before = one(beside.before)?;
        hit.after = one(beside.after.first().copied())?;
    }
    Ok(Found { hits, words: question.words })
}

/// Turns of a session, from the lesser to the greater number, at most `limit`.
///
/// # Errors
/// If the store cannot be read, or there is no such session.
pub fn turns(snapshot: &dyn Snapshot, session: SessionId, from: u64, to: u64, limit: u32) -> Result<Vec<Node>> {
    Ok(snapshot.turns(session, from.min(to), from.max(to), limit)?)
}

/// Results of a tool, the newest first, at most `limit`, each with the node that called it.
///
/// # Errors
/// If the store cannot be read, or the scope names something that is not there.
pub fn tool_results(
    snapshot: &dyn Snapshot,
    scope: &Scope,
    tool: &str,
    limit: u32,
) -> Result<Vec<(Node, Option<Node>)>> {
    let results = snapshot.tool_results(&scope.filter(), tool, limit)?;
    let called = |node: &Node| node.parent.map(|parent| snapshot.node(parent)).transpose();
    results.into_iter().map(|node| Ok((called(&node)?.flatten(), node))).map(|pair| pair.map(|(c, n)| (n, c))).collect()
}

/// The names of tools that there are results of in a scope.
///
/// # Errors
/// If the store cannot be read, or the scope names something that is not there.
pub fn tool_names(snapshot: &dyn Snapshot, scope: &Scope) -> Result<Vec<String>> {
    Ok(snapshot.tool_names(&scope.filter(), 50)?)
}

/// Hits with those that are near in meaning, scored by both.
fn nearer(snapshot: &dyn Snapshot, mut hits: Vec<Hit>, near: &[(u64, f64)], fits: &Fits<'_>) -> Result<Vec<Hit>> {
    let found: HashSet<u64> = hits.iter().map(|hit| hit.node.seq).collect();
    let others = near.iter().take(meaning::NEAREST).map(|(node, _)| *node).filter(|node| !found.contains(node));
    for node in snapshot.nodes_at(&others.collect::<Vec<_>>())? {
        if fits.node(&node)? {
            hits.push(Hit { node, passage: 0, score: 0.0, exact: false, before: None, after: None });
        }
    }
    let near: HashMap<u64, f64> = near.iter().copied().collect();
    let by_words: Vec<f64> = hits.iter().map(|hit| hit.score).collect();
    let by_meaning: Vec<Option<f64>> = hits.iter().map(|hit| near.get(&hit.node.seq).copied()).collect();
    let mixed = meaning::mixed(&by_words, &by_meaning);
    hits.iter_mut().zip(mixed).for_each(|(hit, score)| hit.score = score);
    Ok(hits)
}

/// The newest nodes that hold a text as it stands: for marks, and for words that stand everywhere.
fn literally(snapshot: &dyn Snapshot, filter: &WordFilter, text: &str, limit: usize) -> Result<Vec<rank::Candidate>> {
    let mut found = Vec::new();
    if !text.is_empty() {
        snapshot.newest_first(filter, LITERAL, &mut |node, content| {
            if may_hold(content, text) && plain(content).contains(text) {
                found.push(rank::Candidate { node, part: 0, score: 1.0, before: None, if_asked: 0.0 });
            }
            found.len() < limit
        })?;
    }
    Ok(found)
}

/// A node and everything below it.
fn below(snapshot: &dyn Snapshot, node: NodeId) -> Result<HashSet<u64>> {
    let all = crate::store::ChildFilter { pruned: true, ..Default::default() };
    let mut found = HashSet::new();
    let mut next: Vec<Node> = snapshot.node(node)?.into_iter().collect();
    while let Some(node) = next.pop() {
        if found.insert(node.seq) {
            next.extend(snapshot.children(node.id, &all)?);
        }
    }
    Ok(found)
}

/// A filter, asked of nodes. What stands beside a hit is in its tree, so whose that is was asked already.
struct Fits<'a> {
    snapshot: &'a dyn Snapshot,
    filter: &'a WordFilter,
    /// Sessions that were asked about, and whether each is of the workspace.
    sessions: RefCell<HashMap<SessionId, bool>>,
}

impl<'a> Fits<'a> {
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
        let own = node.tool.name.as_deref().is_some_and(|name| ANSWERS.contains(&name));
        Ok(!own
            && node.purged_at.is_none()
            && filter.session.is_none_or(|session| node.session == Some(session))
            && filter.tree.is_none_or(|tree| node.tree == tree)
            && filter.author.is_none_or(|author| node.author == author)
            && filter.kind.is_none_or(|kind| node.kind == kind)
            && filter.from.is_none_or(|from| node.created_at >= from)
            && filter.to.is_none_or(|to| node.created_at <= to)
            && filter.among.as_ref().is_none_or(|among| among.contains(&node.seq))
            && filter.workspace.as_deref().map_or(Ok(true), |name| self.of_workspace(node.session, name))?)
    }
}
