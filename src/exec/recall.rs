//! The command `recall`: searches the archive and formats the results compactly for a model.
//!
//! Searches by words, turns and tool take the same filters and name them in the reply. A single turn is shown whole,
//! page by page. The text is quoted, not rephrased.

mod entry;
mod render;
mod tool;

pub(super) use self::{
    entry::{CallLengths, result_lines},
    render::MAX_REPLY_TOKENS,
};

use self::{
    entry::{entries, entries_with_results, header},
    render::{fit_entries, indent, outline_steps, shown},
};
use std::collections::HashMap;

use super::{
    Answer, AnswerResult, Executor, Position,
    counts::{self, count},
    escape::{self, quoted},
    node_format,
};
use crate::{
    arrow::{NodeRef, Range, RecallFilter, RecallScope, RecallSort},
    ops::Loom,
    recall::{self, Author, Branch, Filter, Query, Scope, SearchResults},
    session_state::SessionInfo,
    store::{LocalIdLookup, SessionFilter, Snapshot},
    tokens::estimated_tokens,
    tools::{ErrorCode, Tool, ToolError},
    types::{AgentKind, AuthorType, Node, Session, first_words, one_line},
};

/// The default number of hits, and the maximum number of turns or results.
const DEFAULT_HITS: u32 = 5;
const MAX_HITS: u32 = 200;
/// Maximum number of turns that are shown with what follows them.
const MAX_OUTLINED_TURNS: u32 = 6;
/// The number of further hits that the reply to a search proposes.
const MAX_MORE_HITS: usize = 15;
/// The maximum number of near results of a search for a word that no message contains.
const MAX_NEAR_OF_ABSENT: usize = 3;
/// Maximum number of nodes that are read to show what follows a message.
const MAX_STEPS: u32 = 5_000;
/// Nodes of a turn that are searched for the message it answers.
const MAX_TURN_NODES: u32 = 500;

/// The resolved scope and filters of a recall.
struct RecallRange {
    scope: Scope,
    /// The scope's name in replies.
    place: &'static str,
    only: Filter,
    failed: bool,
    /// The filters as written in the line, each preceded by a space.
    said: String,
    /// Those of them that exclude messages from a search.
    narrowed: String,
}

impl Executor<'_> {
    pub(super) fn recall_search(
        &self,
        here: &Position,
        text: &str,
        limit: Option<u32>,
        only: &RecallFilter,
    ) -> AnswerResult {
        let limit = limit.unwrap_or(DEFAULT_HITS).clamp(1, MAX_HITS) as usize;
        let within = self.resolve_range(here, only)?;
        let subject = format!("{}{}", first_words(text, 60), within.said);
        let asker = Some(match self.agent.profile.kind {
            AgentKind::Human => AuthorType::Human,
            AgentKind::Model => AuthorType::Model,
        });
        let query = Query {
            // Failed results are filtered after the search.
            limit: if only.failed { MAX_HITS as usize } else { limit },
            asker,
            only: within.only,
            exact: only.exact,
            by_time: only.sort.is_some(),
            oldest_first: only.sort == Some(RecallSort::Oldest),
            in_view: self.in_view.clone(),
            ..Query::new(text, within.scope.clone())
        };
        if only.count {
            return self.recall_count(&query, &within);
        }
        let meaning = if only.exact { None } else { self.host.embed_query(&self.actor(), text) };
        let snapshot = self.loom.snapshot()?;
        let mut found = recall::search_with(&*snapshot, &query, meaning.as_ref())?;
        if only.failed {
            found.hits.retain(|hit| recall::is_failure(&hit.node));
            found.near.retain(|hit| recall::is_failure(&hit.node));
            found.matches = found.hits.len();
            found.is_complete &= found.matches < MAX_HITS as usize;
            found.hits.truncate(limit);
        }
        let near = if found.absent.is_empty() { limit } else { limit.min(MAX_NEAR_OF_ABSENT) };
        found.near.truncate(near.saturating_sub(found.hits.len()));
        if found.is_empty() {
            let mut none = no_results(text, only.exact, &found, &within);
            if let LocalIdLookup::One(node) = snapshot.resolve(here.tree.id, text.trim())? {
                none.push_str(&format!("\n  that is a node: → view {}", node_format::mention(&node)));
            }
            return Ok(Answer::found(none, subject, Vec::new()));
        }
        let order = match only.sort {
            None => "the best first",
            Some(RecallSort::Time) => "the newest first",
            Some(RecallSort::Oldest) => "the oldest first",
        };
        let (place, short) = (format!("{}{}", within.place, within.said), quoted(&first_words(text, 80)));
        let head = match found.hits.len() {
            0 => format!("Near in {place} for {short}, none with all of the words, {order}:"),
            shown => format!("{} in {place} for {short}, {order}:", matches(&found, shown)),
        };
        let more = match found.matches.saturating_sub(found.hits.len()) {
            0 => String::new(),
            more => {
                let next = more.min(MAX_MORE_HITS);
                let next_limit = found.hits.len() + next;
                let filters = RecallFilter { count: false, ..only.clone() };
                let some = if next < more { format!("{next} of ") } else { String::new() };
                let text = quoted(&text.replace('\\', "\\\\").replace('"', "\\\""));
                format!("\n[{some}{more} more · → recall search {text}{filters} limit:{next_limit}]")
            }
        };
        let absent = absent_words(&found, &within.narrowed);
        let said =
            format!("{absent}{head}\n{}{more}", shown(&*snapshot, here, &found, &|node| self.is_shown_before(node))?);
        let found = if found.hits.is_empty() { found.near } else { found.hits };
        let nodes = found.into_iter().map(|hit| hit.node).collect();
        Ok(Answer::found(said, subject, nodes))
    }

    /// True if an earlier answer of the turn shows the whole node.
    fn is_shown_before(&self, node: &Node) -> bool {
        let id = node_format::id(node);
        let (listed, viewed) = (format!("{id} · "), format!("{id} {} ", node.author_type));
        // An answer that shortens the node names the command for the rest.
        let rest = format!("→ view {} full", node_format::mention(node));
        let mut answers = self.recalled.iter().flat_map(HashMap::values);
        answers.any(|answer| (answer.contains(&listed) || answer.contains(&viewed)) && !answer.contains(&rest))
    }

    /// Returns counts only.
    fn recall_count(&self, query: &Query, within: &RecallRange) -> AnswerResult {
        let failed = within.failed;
        let counts = recall::count(&*self.loom.snapshot()?, query, &|node| !failed || recall::is_failure(node))?;
        let mut parts: Vec<String> = counts.authors.iter().map(|(author, n)| format!("{author} {n}")).collect();
        parts.extend(counts.tools.iter().map(|(tool, n)| format!("tool {} {n}", one_line(tool))));
        let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(" · ")) };
        let text = quoted(&first_words(&query.text, 80));
        let matches = count(counts.total, "match");
        let said = format!("{matches} in {}{} for {text}{parts}", within.place, within.said);
        Ok(Answer::about(said, first_words(&query.text, 60)))
    }

    /// Shows a node with the nodes before and after it.
    pub(super) fn recall_around(&self, here: &Position, at: &NodeRef, limit: Option<u32>) -> AnswerResult {
        let node = self.resolve_node(here, at)?;
        let snapshot = self.loom.snapshot()?;
        let each = limit.unwrap_or(recall::DEFAULT_NEIGHBORS).clamp(1, MAX_HITS);
        let mut nodes = recall::around(&*snapshot, &node, &here.session.versions, each)?;
        for node in &mut nodes {
            recall::set_received_turn(&*snapshot, here.session.id, node)?;
        }
        let centre = nodes.iter().position(|near| near.id == node.id);
        let head = format!("around {}, in order:", node_format::id(&node));
        let page = self.page_tokens(Tool::Recall.name());
        let mut entries = entries_with_results(&*snapshot, here, &nodes, page / 2)?;
        for (entry, near) in entries.iter_mut().zip(&nodes).filter(|(_, near)| near.id != node.id) {
            if self.is_shown_before(near) {
                entry.refer_to("shown above");
            }
        }
        let text = fit_entries(entries, page, centre);
        Ok(Answer::found(format!("{head}\n{text}"), format!("around:{}", node.local), nodes))
    }

    pub(super) fn recall_turns(
        &self,
        here: &Position,
        turns: Range,
        limit: Option<u32>,
        only: &RecallFilter,
    ) -> AnswerResult {
        if let Some(scope) = only.scope.filter(|scope| *scope != RecallScope::Session) {
            let message = format!("turns are of your session, and scope:{scope} is not");
            return Err(ToolError::new(ErrorCode::InvalidSyntax, message).hint("→ recall search \"words\" scope:tree"));
        }
        let within = self.resolve_range(here, only)?;
        let limit = limit.unwrap_or(MAX_HITS).clamp(1, MAX_HITS);
        let snapshot = self.loom.snapshot()?;
        let range = turns.first.into()..=turns.last.into();
        let session = session_with_turns(&*snapshot, &here.session, turns)?;
        let nodes = recall::turns(&*snapshot, session.id, range, &within.only, limit)?;
        let name = format!("turns:{}-{}", turns.first, turns.last);
        if nodes.is_empty() {
            let has = match here.session.turns {
                0 => "this session has no turns yet; → recall search \"words\" finds what is in the tree".to_owned(),
                last => format!("this session has turns 1 to {last}"),
            };
            return Ok(Answer::about(format!("no {name}{}: {has}", within.said), name));
        }
        let cut = nodes.len() == limit as usize && nodes.last().and_then(|node| node.turn) < Some(turns.last.into());
        let more = nodes.last().and_then(|node| node.turn).filter(|_| cut);
        let more = more.filter(|last| *last < session.turns);
        let (tree, position) = (here.tree.clone(), here.position.clone());
        let numbered = Position { session: session.clone(), tree, position, now: here.now };
        let mut text = match within.narrowed.is_empty() && more.is_none() && nodes.len() <= MAX_OUTLINED_TURNS as usize
        {
            true => self.turns_with_steps(&*snapshot, &numbered, &nodes)?,
            false => fit_entries(entries(&*snapshot, &numbered, &nodes)?, MAX_REPLY_TOKENS, None),
        };
        if within.narrowed.is_empty() && nodes.len() > MAX_OUTLINED_TURNS as usize {
            let last = turns.first.saturating_add(MAX_OUTLINED_TURNS - 1);
            let few = format!("→ recall turns:{}-{last}", turns.first);
            text.push_str(&format!("\n[without replies; up to {MAX_OUTLINED_TURNS} turns come with them · {few}]"));
        }
        if session.id != here.session.id {
            text.insert_str(0, "of an earlier session of this tree; this one has 0 turns:\n");
        }
        if let Some(last) = more {
            text.push_str(&format!("\n[more turns · → recall turns:{}-{}{}]", last + 1, turns.last, within.said));
        }
        Ok(Answer::found(text, name, nodes))
    }

    /// Formats a few turns, each with what follows it, in equal parts of the page.
    fn turns_with_steps(&self, snapshot: &dyn Snapshot, here: &Position, turns: &[Node]) -> Result<String, ToolError> {
        let part = self.page_tokens(Tool::Recall.name()) / u32::try_from(turns.len()).unwrap_or(1);
        let mut blocks = Vec::with_capacity(turns.len());
        for turn in turns {
            let mut block = fit_entries(entries(snapshot, here, std::slice::from_ref(turn))?, MAX_REPLY_TOKENS, None);
            let left = part.saturating_sub(estimated_tokens(&block));
            let steps = steps_after(snapshot, here, turn, left)?;
            // Steps that do not fit are counted, with the command that shows them.
            let fits = turns.len() == 1 || estimated_tokens(&steps) <= left;
            let counted = || steps.lines().take(2).collect::<Vec<_>>().join("\n").trim_end_matches(':').to_owned();
            block.push_str(&if fits { steps } else { counted() });
            blocks.push(block);
        }
        if blocks.iter().map(|block| estimated_tokens(block)).sum::<u32>() > MAX_REPLY_TOKENS {
            return Ok(fit_entries(entries(snapshot, here, turns)?, MAX_REPLY_TOKENS, None));
        }
        Ok(blocks.join("\n"))
    }

    pub(super) fn recall_summary(&self, here: &Position) -> AnswerResult {
        Ok(Answer::about(session_summary(&self.loom, &here.session)?, "summary"))
    }

    /// Resolves the filters of a line.
    fn resolve_range(&self, here: &Position, only: &RecallFilter) -> Result<RecallRange, ToolError> {
        let wrong = |message: String| ToolError::new(ErrorCode::InvalidSyntax, message);
        let author = match &only.by {
            None => None,
            Some(name) => {
                let author = Author::named(&*self.loom.snapshot()?, name);
                Some(author.map_err(|error| ToolError::new(ErrorCode::NotFound, error.to_string()))?)
            }
        };
        let branch = match (&only.path, &only.below) {
            (None, None) => None,
            (Some(node), None) => Some(Branch::To(self.resolve_node(here, node)?.id)),
            (None, Some(node)) => Some(Branch::Below(self.resolve_node(here, node)?.id)),
            (Some(_), Some(_)) => return Err(wrong("path: and below: exclude each other".to_owned())),
        };
        let (from, to) = (only.from.map(|when| when.start(here.now)), only.to.map(|when| when.end(here.now)));
        if let (Some(from), Some(to), Some(first), Some(last)) = (from, to, only.from, only.to)
            && from > to
        {
            return Err(wrong(format!("from:{first} is after to:{last}: nothing was said in between")));
        }
        let (scope, place) = match only.scope {
            None | Some(RecallScope::Tree) => (Scope::Tree(here.tree.id), "this tree"),
            Some(RecallScope::Session) => (Scope::Session(here.session.id), "this session"),
            Some(RecallScope::Workspace) => (Scope::Workspace(here.session.workspace.clone()), "this workspace"),
            Some(RecallScope::All) => (Scope::Everything, "everything"),
        };
        let narrowed = RecallFilter { scope: None, count: false, exact: false, sort: None, ..only.clone() };
        let said = RecallFilter { scope: None, count: false, ..only.clone() }.to_string();
        let (seen_by, before) = (Some(here.session.id), self.answered_message(here)?);
        let only_these = Filter { author, branch, from, to, kind: only.kind, seen_by, before, ..Filter::default() };
        Ok(RecallRange { scope, place, only: only_these, failed: only.failed, said, narrowed: narrowed.to_string() })
    }

    /// Returns, within a turn, the place in time of the message being answered. Later nodes are not searched.
    fn answered_message(&self, here: &Position) -> Result<Option<u64>, ToolError> {
        if self.recalled.is_none() || self.agent.profile.kind == AgentKind::Human {
            return Ok(None);
        }
        let path = self.loom.snapshot()?.path_back(here.position.id, &here.session.versions, MAX_TURN_NODES)?;
        let message = path.iter().rev().find(|node| node.author_type == AuthorType::Human);
        Ok(message.map(|node| node.seq))
    }
}

/// Formats the reply for no results, with hints that avoid repeated searches.
fn no_results(text: &str, is_exact: bool, found: &SearchResults, within: &RecallRange) -> String {
    let stems: Vec<&str> = found.words.iter().map(String::as_str).collect();
    let looked = match recall::written_words(text, &stems).as_slice() {
        _ if is_exact => "literally".to_owned(),
        [] => "as it stands, since it has no word that tells".to_owned(),
        words => format!("by the words {}", words[..words.len().min(12)].join(", ")),
    };
    let mut ways = vec!["other words for it, a name or an id that stood there".to_owned()];
    // An order excludes nothing.
    let excluding = format!("{}{}", within.narrowed, if is_exact { " exact" } else { "" });
    if !excluding.is_empty() {
        ways.insert(0, format!("the same without{excluding}"));
    }
    let (text, said) = (quoted(&first_words(text, 80)), &within.said);
    format!("nothing for {text} in {}{said} (searched {looked})\n  try: {}", within.place, ways.join(", "))
}

/// Summarizes a session: counts, first and last messages, tools and state.
///
/// # Errors
/// If the session's tree does not exist, or the store cannot be read.
pub fn session_summary(loom: &Loom, session: &Session) -> Result<String, ToolError> {
    let snapshot = loom.snapshot()?;
    let tree = loom.tree(session.tree)?;
    let register = snapshot.session_state(session.id)?;
    let mut lines = vec![
        format!(
            "session: {} · {} · {} · {} · {} · started {}",
            count(session.turns, "turn"),
            count(session.tokens, "token"),
            count(register.files_touched.len() as u64, "file"),
            count(register.key_decisions.len() as u64, "decision"),
            count(register.constraints.len() as u64, "constraint"),
            session.started_at.age_or_date(loom.now())
        ),
        format!(
            "tree: {} · {} · {} · depth {}",
            quoted(&tree.title),
            count(tree.counts.messages, "node"),
            count(tree.counts.leaves, "branch"),
            snapshot.message_depth(tree.id)?
        ),
    ];
    let turn = |offset: u64| loom.turns(session.id, offset, 1);
    let ends = [("first", turn(0)?), ("newest", turn(session.turns.saturating_sub(session.since + 1))?)];
    for (word, node) in ends.into_iter().flat_map(|(word, nodes)| nodes.into_iter().map(move |node| (word, node))) {
        lines.push(format!("{word}: {} {}", header(&node, session.id, None), node_format::gist(&node)));
    }
    let tools = recall::tool_names(&*snapshot, &Scope::Session(session.id), &Filter::default())?;
    if !tools.is_empty() {
        lines.push(format!("tools: {}", named(&tools)));
    }
    for node in snapshot.bookmarks(tree.id)?.iter().take(10) {
        let label = node.state.bookmark.as_deref().unwrap_or("");
        lines.push(format!("bookmark: {} {}", node_format::id(node), quoted(label)));
    }
    let state = register.yaml(&SessionInfo::of(session, &snapshot.todos(session.id, None)?));
    lines.push(format!("state:\n{}", indent(&escape::escape(&state))));
    Ok(format!("Summary of this session:\n{}", indent(&lines.join("\n"))))
}

/// Formats the number of shown matches and of all: `5 of 12 matches`.
fn matches(found: &SearchResults, shown: usize) -> String {
    let all = count(found.matches as u64, "match");
    match (shown < found.matches, found.is_complete) {
        (false, true) => all,
        (true, true) => format!("{shown} of {all}"),
        (false, false) => format!("{} or more", count(shown as u64, "match")),
        (true, false) => format!("{shown} of {} or more {}", found.matches, counts::plural("match")),
    }
}

/// Formats what follows a message of a person up to the next one in at most `most` tokens, if those nodes are no turns of
/// the session, as in an imported conversation.
fn steps_after(snapshot: &dyn Snapshot, here: &Position, message: &Node, most: u32) -> Result<String, ToolError> {
    let after = here.position.depth.saturating_sub(message.depth).min(MAX_STEPS);
    let path = snapshot.path_back(here.position.id, &here.session.versions, after)?;
    let is_last = |node: &&Node| node.author_type == AuthorType::Human || node.session == Some(here.session.id);
    let steps = path.iter().take_while(|node| !is_last(node)).filter(|node| !recall::is_empty(node));
    let steps: Vec<Node> = steps.cloned().collect();
    let is_next = path.first().is_some_and(|first| first.parent == Some(message.id));
    let (Some(last), true) = (steps.last(), is_next && message.author_type == AuthorType::Human) else {
        return Ok(String::new());
    };
    let (number, whole) = (count(steps.len() as u64, "message"), format!("view branch:{}", last.local));
    let text = outline_steps(snapshot, here, &steps, most)?;
    Ok(format!("\n{number} until the next of a person (→ {whole} from:{}):\n{text}", message.local))
}

/// Returns the session whose turns a range names: this one, or while it has none the newest of the tree that has them, as an
/// imported one.
fn session_with_turns(snapshot: &dyn Snapshot, here: &Session, turns: Range) -> Result<Session, ToolError> {
    let has = |session: &Session| u64::from(turns.first) <= session.turns;
    if here.turns > 0 {
        return Ok(here.clone());
    }
    let filter = SessionFilter { tree: Some(here.tree), spoken: true, ..SessionFilter::default() };
    Ok(snapshot.sessions(&filter)?.into_iter().find(has).unwrap_or_else(|| here.clone()))
}

/// Names the words that no searched message contains, with the filters that `narrowed` the search; empty if each occurs.
fn absent_words(found: &SearchResults, narrowed: &str) -> String {
    let words: Vec<String> = found.absent.iter().map(|word| quoted(word)).collect();
    match words.as_slice() {
        [] => String::new(),
        [word] => format!("{word} stands in no earlier message{narrowed}.\n"),
        words => format!("{} stand in no earlier message{narrowed}.\n", words.join(", ")),
    }
}

fn named(tools: &[String]) -> String {
    tools.iter().map(|name| one_line(name)).collect::<Vec<_>>().join(", ")
}
