//! Ambient block of a prompt: the agent's position in the tree, other active agents, open todos and hints. Each part
//! has a token or item limit.

use crate::{
    exec::{AuthorNames, counts::count, escape, is_change, node_format, todo_name, todo_progress},
    id::SessionId,
    ops::{AgentPresence, describe_entry, present_agents},
    recall::{Hint, excerpt, is_empty},
    session_state::SessionState,
    store::{JournalFilter, Result, Snapshot},
    text_index::WordTokenizer,
    tokens::estimated_tokens,
    types::{
        Agent, AgentKind, EdgeKind, JournalEntry, MAX_SHOWN_NAME_CHARS, Node, Permission, Todo, TodoCounts, Tree,
        first_words, one_line, sections,
    },
};

use super::{ContextRequest, Rendering, past_commands::HostResult};

/// Maximum nodes in the trace of the position.
const MAX_TRACE_NODES: u32 = 2;
/// Maximum tokens of the open todos.
const MAX_TODO_TOKENS: u32 = 512;
/// Maximum characters of the words at an agent's place and of a hint's best node; those of its other nodes; and those in a
/// hint that is long otherwise.
const MAX_PLACE_CHARS: usize = 80;
const MAX_OTHER_CHARS: usize = 40;
const MIN_PLACE_CHARS: usize = 24;
/// Maximum entries of the line on news and their tokens, and the journal entries that are read for it.
const MAX_NEWS: usize = 8;
const MAX_NEWS_TOKENS: u32 = 260;
const MAX_NEWS_ENTRIES: u32 = 200;
/// Nodes of the path whose messages are no news.
const MAX_PATH_NODES: u32 = 64;
/// Maximum documents that are named.
const MAX_DOCUMENTS: usize = 8;
/// Maximum tokens of the line on the nodes of the path.
pub(super) const MAX_PATH_LINE_TOKENS: u32 = 64;
/// Maximum tokens of the line on files that changed since they were read.
pub(super) const MAX_CHANGED_LINE_TOKENS: u32 = 64;
/// Maximum tokens of the line with the recall hint.
pub(super) const MAX_HINT_TOKENS: u32 = 112;
/// Maximum characters of a reference; a longer one is named by its search terms.
const MAX_REFERENCE_CHARS: usize = 40;

/// Returns one line per active agent: generating agents with their positions, then recently active ones. An agent that only
/// reads the message with which the prompt ends is left out.
fn places(
    snapshot: &dyn Snapshot,
    request: &ContextRequest<'_>,
    tree: &Tree,
    names: &AuthorNames,
) -> Result<Vec<String>> {
    let is_shown = |at| at == request.leaf || request.input == Some(at);
    let mut found = present_agents(snapshot, tree, request.now, (request.agent.id(), None))?;
    found.retain(|other| other.generating || !is_shown(other.node));
    let agents = if found.is_empty() { Vec::new() } else { snapshot.agents()? };
    let mut lines = Vec::with_capacity(found.len());
    for AgentPresence { agent: other, node: at, generating, .. } in found {
        let doing = if generating { " · generating" } else { "" };
        let is_human = agents.iter().any(|agent| agent.id() == other && agent.profile.kind == AgentKind::Human);
        let verb = if is_human { "reads" } else { "is at" };
        if let Some(node) = snapshot.node(at)? {
            let words = node_format::gist_within(&node, MAX_PLACE_CHARS);
            let words = if words.is_empty() { words } else { format!(" {words}") };
            let name = names.name(other);
            lines.push(format!("{name} {verb} {}{words}, depth:{}{doing}", node_format::id(&node), node.depth));
        }
    }
    Ok(lines)
}

/// Returns the line on what others did in the tree since the agent's last turn. Messages of the path are not named.
fn news_line(
    snapshot: &dyn Snapshot,
    request: &ContextRequest<'_>,
    tree: &Tree,
    names: &AuthorNames,
) -> Result<Option<String>> {
    let agent = request.agent.id();
    if request.is_worker() {
        return Ok(None);
    }
    let path = snapshot.path_back(request.leaf, request.versions, MAX_PATH_NODES)?;
    let input = request.input.map(|id| snapshot.node(id)).transpose()?.flatten();
    let message = input.or_else(|| path.last().cloned()).filter(|message| message.author != agent);
    let before = message.map_or(request.now, |message| message.created_at);
    let filter = JournalFilter { tree: Some(tree.id), limit: MAX_NEWS_ENTRIES, ..JournalFilter::default() };
    let entries = snapshot.journal(filter)?;
    let own = entries.iter().position(|entry| entry.agent == agent && entry.at < before);
    let acted_earlier = || path.iter().any(|node| node.author == agent && node.created_at < before);
    // The agent's last turn may be older than the entries that are read.
    let is_cut = own.is_none() && entries.len() == MAX_NEWS_ENTRIES as usize && acted_earlier();
    let Some(end) = own.or(is_cut.then_some(entries.len())) else { return Ok(None) };
    let on_path = |entry: &JournalEntry| {
        entry.node.is_some_and(|id| request.input == Some(id) || path.iter().any(|node| node.id == id))
    };
    let news = entries[..end].iter().filter(|entry| entry.agent != agent && is_change(entry));
    let (mut told, mut tokens, mut omitted) = (Vec::new(), 0, 0);
    for entry in news.filter(|entry| entry.change != "append" || !on_path(entry)) {
        let node = entry.node.filter(|_| entry.change == "append").map(|id| snapshot.node(id)).transpose()?.flatten();
        if node.as_ref().is_some_and(|node| node.kind == EdgeKind::Thought || is_empty(node)) {
            continue;
        }
        if told.len() >= MAX_NEWS || tokens >= MAX_NEWS_TOKENS {
            omitted += 1;
            continue;
        }
        let words = describe_entry(snapshot, entry)?.words(&|local| format!("[{local}]"), &shown_name);
        let content =
            node.map(|node| format!(": {}", node_format::gist_within(&node, MAX_PLACE_CHARS))).unwrap_or_default();
        let line = format!("{} {words}{content}", names.name(entry.agent));
        tokens += estimated_tokens(&line) + 2;
        told.push(line);
    }
    told.reverse();
    if omitted > 0 {
        let least = if is_cut { "at least " } else { "" };
        told.insert(0, format!("{least}{omitted} more before (→ list changes)"));
    }
    Ok((!told.is_empty()).then(|| format!("New: {}", told.join(" · "))))
}

/// Quotes a name. A long one is shortened: the block is no part of what the window limits.
fn shown_name(name: &str) -> String {
    match name.char_indices().nth(MAX_SHOWN_NAME_CHARS) {
        Some(_) => escape::quoted(&first_words(name, MAX_SHOWN_NAME_CHARS)),
        None => escape::quoted(name),
    }
}

/// Returns the line on the documents, for an agent that may read them.
fn documents_line(snapshot: &dyn Snapshot, agent: &Agent) -> Result<Option<String>> {
    if !agent.profile.permissions.has(Permission::DocRead) {
        return Ok(None);
    }
    let mut documents = snapshot.documents()?;
    documents.retain(|document| !document.removed);
    let more = documents.len().saturating_sub(MAX_DOCUMENTS);
    let mut named = Vec::new();
    for document in documents.iter().take(MAX_DOCUMENTS) {
        let text = snapshot.document_version(document.id, 0)?.map(|version| version.content).unwrap_or_default();
        let parts = match sections(&text).len() {
            0 => String::new(),
            parts => format!(" ({})", count(parts as u64, "section")),
        };
        named.push(format!("{}{parts}", shown_name(&document.name)));
    }
    if more > 0 {
        named.push(format!("{more} more (→ list documents)"));
    }
    Ok((!named.is_empty()).then(|| format!("Documents: {}", named.join(", "))))
}

/// Returns the lines of the block except the line on the nodes of the path.
pub(super) fn lines(
    snapshot: &dyn Snapshot,
    request: &ContextRequest<'_>,
    tree: &Tree,
    names: &AuthorNames,
) -> Result<Vec<String>> {
    let trail = snapshot.path_back(request.leaf, request.versions, MAX_TRACE_NODES)?;
    let depth = trail.last().map_or(0, |node| node.depth);
    let (nodes, branches) = (count(tree.counts.messages, "node"), count(tree.counts.leaves, "branch"));
    let mut lines = vec![
        format!("Tree: {} ({} mode)", shown_name(&tree.title), tree.mode),
        format!("{nodes} · {branches} · depth: {depth}"),
        format!("Position: {}*", trace(&trail)),
    ];
    // A worker of a delegation has its task, its commands, and nobody to talk with.
    if !request.is_worker() {
        let permissions = request.agent.profile.permissions.iter();
        let permissions: Vec<&str> = permissions.map(|permission| permission.as_str()).collect();
        lines.push(format!("Permissions: {}", permissions.join(", ")));
        lines.extend(places(snapshot, request, tree, names)?);
    }
    lines.extend(news_line(snapshot, request, tree, names)?);
    lines.extend(documents_line(snapshot, request.agent)?);
    lines.extend(todo_line(snapshot, request)?);
    if request.options.rendering == Rendering::Stable {
        lines.push(format!("Now: {} UTC", request.now.date_time()));
    }
    Ok(lines)
}

/// Formats the recall hint, with the words of the best node that it searches and as many further nodes as fit. Turns are named
/// only for nodes that the reading session made or received, because `turns:` finds no others.
pub(super) fn hint(snapshot: &dyn Snapshot, hint: &Hint, reader: Option<SessionId>) -> Option<String> {
    let turn = |node: &Node| {
        let reader = reader?;
        let received = || Some(snapshot.received_turns(reader, Some(node.id)).ok()?.pop()?.0);
        if node.session == Some(reader) { node.turn } else { received() }
    };
    let named = |node: &Node| {
        let turn = turn(node).map(|turn| format!("turn {turn} ")).unwrap_or_default();
        format!("{turn}{}", node_format::id(node))
    };
    let short = hint.trigger.chars().count() <= MAX_REFERENCE_CHARS;
    let words = if short { &hint.trigger } else { &hint.search };
    let command = match (&*hint.search, hint.nodes.first()) {
        ("", Some(best)) => format!("recall around:{}", node_format::mention(best)),
        (search, _) => format!("recall search {}", escape::quoted(search)),
    };
    let searched = WordTokenizer::default().query(&hint.search);
    let quoted = |node: &Node, chars| match chars {
        0 => named(node),
        _ if node.content.trim().is_empty() => named(node),
        chars => {
            let text = one_line(&node.content);
            let passage =
                if searched.is_empty() { first_words(&text, chars) } else { excerpt(&text, &searched, chars) };
            format!("{} {}", named(node), escape::quoted(&passage))
        }
    };
    let line = |count: usize, chars, of_others| {
        let lengths = std::iter::once(chars).chain(std::iter::repeat(of_others));
        let nodes: Vec<String> =
            hint.nodes.iter().take(count).zip(lengths).map(|(node, of)| quoted(node, of)).collect();
        let nodes = if nodes.is_empty() { String::new() } else { format!(": {}", nodes.join(" · ")) };
        format!("Hint: {} may mean what is not shown here{nodes}. → {command}", escape::quoted(words))
    };
    let least = hint.nodes.len().min(1);
    let lengths = (least..=hint.nodes.len())
        .rev()
        .flat_map(|count| [(count, MAX_PLACE_CHARS, MAX_OTHER_CHARS), (count, MAX_PLACE_CHARS, 0)]);
    let mut lines =
        lengths.chain([(least, MIN_PLACE_CHARS, 0)]).map(|(count, chars, of_others)| line(count, chars, of_others));
    lines.find(|line| estimated_tokens(line) <= MAX_HINT_TOKENS)
}

/// Returns the progress and the open todos of the turn, so that they stay visible in long turns; `None` without any.
fn todo_line(snapshot: &dyn Snapshot, request: &ContextRequest<'_>) -> Result<Option<String>> {
    let Some(scope) = request.scope else { return Ok(None) };
    let (todos, others): (Vec<Todo>, Vec<Todo>) =
        snapshot.todos(scope.session, None)?.into_iter().partition(|todo| todo.turn == scope.turn);
    let open: Vec<&Todo> = todos.iter().filter(|todo| todo.status.is_open()).collect();
    if open.is_empty() {
        let left = others.iter().filter(|todo| todo.status.is_open()).count();
        let shown = left > 0 && todos.is_empty();
        return Ok(shown.then(|| format!("Todos: {left} left open by earlier turns · → todo resume")));
    }
    let (mut named, mut tokens) = (Vec::new(), 0);
    for todo in &open {
        let name = todo_name(todo);
        tokens += estimated_tokens(&name) + 2;
        if tokens > MAX_TODO_TOKENS {
            named.push(format!("{} more: → todo", open.len() - named.len()));
            break;
        }
        named.push(name);
    }
    Ok(Some(format!("Todos: {} · open: {}", todo_progress(TodoCounts::of(&todos)), named.join(" · "))))
}

/// Formats the block.
pub(super) fn block(lines: &[String]) -> String {
    if lines.is_empty() { String::new() } else { format!("=== Loom Context ===\n{}\n===", lines.join("\n")) }
}

fn trace(trail: &[Node]) -> String {
    let above = trail.first().is_some_and(|node| !node.begins_path()).then(|| "…".to_owned());
    above.into_iter().chain(trail.iter().map(node_format::id)).collect::<Vec<_>>().join(" → ")
}

/// Returns a line on what belongs to the nodes of the path now, because headers of a stable prompt do not show it. Changes
/// since the agent's last turn are news. A single continuation is visible.
pub(super) fn path_line<'n>(newest_first: impl Iterator<Item = &'n Node>) -> Option<String> {
    let mut shown = newest_first.filter_map(|node| {
        let facts = node_format::marks(node);
        let facts = facts.strip_prefix("1 continuation").map_or(&*facts, |rest| rest.trim_start_matches(" · "));
        (!facts.is_empty()).then(|| format!("{} {}", node_format::id(node), facts.replace(" · ", ", ")))
    });
    bounded_line("On your path", MAX_PATH_LINE_TOKENS, &mut shown)
}

/// Returns a line on shown results that hold the text of a file which others changed since the agent last read it. Its own
/// changes are among its `results`. The results themselves stay, so that a stable prompt keeps its prefix.
pub(super) fn changed_line<'n>(
    read_files: impl Iterator<Item = (&'n Node, &'n str, u64)>,
    results: &[&HostResult],
    state: &SessionState,
) -> Option<String> {
    let is_own = |turn: u64| results.iter().any(|result| result.turn == Some(turn));
    let reads = || results.iter().filter_map(|result| result.read.as_ref());
    let outdated = read_files.filter(|(_, path, turn)| {
        let last_read = reads().filter(|(read, _)| read == path).map(|(_, turn)| *turn).fold(*turn, u64::max);
        state.changes_after(path, last_read).any(|turn| !is_own(turn))
    });
    let mut shown = outdated.map(|(node, path, _)| format!("{path} {}", node_format::id(node)));
    bounded_line("Changed since read", MAX_CHANGED_LINE_TOKENS, &mut shown)
}

/// Joins the newest items that fit a line of so many tokens, oldest first; `None` without any.
fn bounded_line(title: &str, most: u32, newest_first: &mut dyn Iterator<Item = String>) -> Option<String> {
    let mut tokens = estimated_tokens(title) + 2;
    let fits = |item: &String| {
        tokens += estimated_tokens(item) + 2;
        tokens <= most
    };
    let mut shown: Vec<String> = newest_first.take_while(fits).collect();
    shown.reverse();
    (!shown.is_empty()).then(|| format!("{title}: {}", shown.join(" · ")))
}
