//! Ambient block of a prompt: the agent's position in the tree, other active agents, open todos and hints. Each part
//! has a token or item limit.

use crate::{
    exec::{
        escape::{self, count},
        todo_name, todo_progress,
    },
    id::{AgentId, NodeId},
    recall::Hint,
    store::{Result, SessionFilter, Snapshot},
    tokens::estimated_tokens,
    types::{Agent, AgentKind, Node, Timestamp, Todo, TodoCounts, Tree, first_words},
};

use super::{ContextRequest, Rendering, node::date};

/// Maximum nodes in the trace of the position.
const MAX_TRACE_NODES: u32 = 3;
/// Milliseconds after its last action for which an agent counts as active.
const ACTIVE_MS: i64 = 120_000;
/// Maximum leases, and sessions, that are read to find active agents.
const MAX_LISTED_SESSIONS: usize = 16;
/// Maximum tokens of the open todos.
const MAX_TODO_TOKENS: u32 = 512;
/// Maximum characters of the next todo's title.
const MAX_TITLE_CHARS: usize = 100;
/// Maximum tokens of the line on changed nodes.
pub(super) const MAX_CHANGES_TOKENS: u32 = 256;
/// Maximum tokens of the line with the recall hint.
pub(super) const MAX_HINT_TOKENS: u32 = 112;
/// Maximum characters of a reference and of its search terms.
const MAX_REFERENCE_CHARS: usize = 40;

/// Returns one line per active agent: generating agents with their positions, then recently active ones.
fn active_agents(snapshot: &dyn Snapshot, agent: &Agent, tree: &Tree, now: Timestamp) -> Result<Vec<String>> {
    let mut found: Vec<(AgentId, NodeId, &str)> = Vec::new();
    for lease in snapshot.leases(tree.id)?.iter().filter(|lease| lease.holds(now)).take(MAX_LISTED_SESSIONS) {
        if lease.agent != agent.id() {
            found.push((lease.agent, lease.node, " · generating"));
        }
    }
    let limit = u32::try_from(MAX_LISTED_SESSIONS).unwrap_or(u32::MAX);
    let filter = SessionFilter { tree: Some(tree.id), active: true, limit, ..SessionFilter::default() };
    for session in snapshot.sessions(&filter)? {
        let recent = session.last_active_at.as_millis() >= now.as_millis().saturating_sub(ACTIVE_MS);
        let changes = session.agent == agent.id() || found.iter().any(|(other, ..)| *other == session.agent);
        if let Some(at) = session.position.or(tree.root).filter(|_| recent && !changes) {
            found.push((session.agent, at, ""));
        }
    }
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let agents = snapshot.agents()?;
    let mut lines = Vec::with_capacity(found.len());
    for (other, at, doing) in found {
        let kind = agents.iter().find(|agent| agent.id() == other).map(|agent| agent.profile.kind);
        let who = match kind {
            Some(AgentKind::Human) => "Human",
            Some(AgentKind::Model) | None => "Model",
        };
        if let Some(node) = snapshot.node(at)? {
            lines.push(format!("{who} active at {}, depth:{}{doing}", escape::id(&node), node.depth));
        }
    }
    Ok(lines)
}

/// Returns the lines of the block except the line on changed nodes.
pub(super) fn lines(snapshot: &dyn Snapshot, request: &ContextRequest<'_>, tree: &Tree) -> Result<Vec<String>> {
    let trail = snapshot.path_back(request.leaf, request.versions, MAX_TRACE_NODES)?;
    let depth = trail.last().map_or(0, |node| node.depth);
    let (nodes, branches) = (count(tree.counts.nodes, "node"), count(tree.counts.leaves, "branch"));
    let permissions: Vec<&str> =
        request.agent.profile.permissions.iter().map(|permission| permission.as_str()).collect();
    let mut lines = vec![
        format!("Tree: {} ({} mode)", escape::quoted(&tree.title), tree.mode),
        format!("{nodes} · {branches} · depth: {depth}"),
        format!("Position: {}*", trace(&trail)),
        format!("Permissions: {}", permissions.join(", ")),
    ];
    lines.extend(active_agents(snapshot, request.agent, tree, request.now)?);
    lines.extend(todo_lines(snapshot, request)?);
    if request.options.rendering == Rendering::Stable {
        lines.push(format!("Now: {} UTC", date(request.now)));
    }
    Ok(lines)
}

/// Formats the recall hint, with as many nodes as fit.
pub(super) fn hint(hint: &Hint) -> Option<String> {
    let named = |node: &Node| {
        let turn = node.turn.map(|turn| format!("turn {turn} ")).unwrap_or_default();
        format!("{turn}{}", escape::id(node))
    };
    let (said, search) =
        (first_words(&hint.trigger, MAX_REFERENCE_CHARS), first_words(&hint.search, MAX_REFERENCE_CHARS));
    let line = |nodes: &[Node]| {
        format!(
            "Hint: {} may mean what is not shown here, probably {}. Look before you answer: → recall search {}",
            escape::quoted(&said),
            nodes.iter().map(named).collect::<Vec<_>>().join(", "),
            escape::quoted(&search)
        )
    };
    (1..=hint.nodes.len())
        .rev()
        .map(|count| line(&hint.nodes[..count]))
        .find(|line| estimated_tokens(line) <= MAX_HINT_TOKENS)
}

/// Returns the progress and the open todos of the turn, so that they stay visible in long turns.
fn todo_lines(snapshot: &dyn Snapshot, request: &ContextRequest<'_>) -> Result<Vec<String>> {
    let Some(scope) = request.scope else { return Ok(Vec::new()) };
    let (todos, others): (Vec<Todo>, Vec<Todo>) =
        snapshot.todos(scope.session, None)?.into_iter().partition(|todo| todo.turn == scope.turn);
    let open: Vec<&Todo> = todos.iter().filter(|todo| todo.status.is_open()).collect();
    let Some(next) = open.first() else {
        let done = (!todos.is_empty()).then(|| format!("Todos: {}", todo_progress(TodoCounts::of(&todos))));
        let left = others.iter().filter(|todo| todo.status.is_open()).count();
        let left =
            (left > 0 && todos.is_empty()).then(|| format!("Todos: {left} left open by earlier turns · → todo resume"));
        return Ok(done.or(left).into_iter().collect());
    };
    let title = escape::quoted(&first_words(&next.title, MAX_TITLE_CHARS));
    let mut lines = vec![format!("Todos: {} · next: {title}", todo_progress(TodoCounts::of(&todos)))];
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
    lines.push(format!("Open: {}", named.join(" · ")));
    Ok(lines)
}

/// Formats the block.
pub(super) fn block(lines: &[String]) -> String {
    if lines.is_empty() { String::new() } else { format!("=== Loom Context ===\n{}\n===", lines.join("\n")) }
}

fn trace(trail: &[Node]) -> String {
    let above = trail.first().is_some_and(|node| node.depth > 0).then(|| "…".to_owned());
    above.into_iter().chain(trail.iter().map(escape::id)).collect::<Vec<_>>().join(" → ")
}

/// Returns a line on changed nodes whose headers do not show the change, newest first. Later continuations are not
/// listed because they are visible.
pub(super) fn changed_nodes_line<'n>(newest_first: impl Iterator<Item = &'n Node>) -> Option<String> {
    let (mut changes, mut tokens) = (Vec::new(), 0);
    for node in newest_first {
        let facts = escape::facts(node);
        let facts = facts.strip_prefix("1 continuation").map_or(&*facts, |rest| rest.trim_start_matches(" · "));
        if facts.is_empty() {
            continue;
        }
        let said = format!("{} {}", escape::id(node), facts.replace(" · ", ", "));
        tokens += estimated_tokens(&said) + 2;
        if tokens + 4 > MAX_CHANGES_TOKENS {
            break;
        }
        changes.push(said);
    }
    changes.reverse();
    (!changes.is_empty()).then(|| format!("Changed: {}", changes.join(" · ")))
}
