//! `loom recall`: searches the archive by words, turns, tool or position.

use std::{
    collections::HashSet,
    io::{self, Write as _},
    ops::Range,
};

use loomtree::{
    exec::{CommandReply, Outcome, session_summary},
    recall::{self, Author, Branch, Filter, Hit, Query, Scope, SearchResults, TimeSpec, ToolQuery},
    store::SessionFilter,
    tools::{NativeAlias, Tool},
    types::{AgentKind, AuthorType, EdgeKind, Node, Session},
};
use serde::Serialize;

use super::sessions;
use crate::cli::{
    command_context::CommandContext,
    embed_query::embed_query,
    error::{CliError, Result},
    output::{BOLD, DIM, ID, MARK, paint},
    sanitize::{cut, one_line, sanitize},
    show::{NodeJson, author, text_or_calls},
};

/// Default limit of turns.
const MAX_TURNS: u32 = 10_000;

/// Default limit of hits and tool results.
const DEFAULT_HITS: u32 = 20;

/// Maximum number of hits and tool results.
const MAX_HITS: u32 = 200;

/// Search words listed when there are no hits.
const MAX_LISTED_WORDS: usize = 12;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A question or words to search for; text in double quotes is searched for literally
    #[arg(required_unless_present_any = ["turns", "tool", "summary", "around"])]
    words: Vec<String>,
    /// Print these turns of a session, such as 5-10
    #[arg(long, value_name = "FROM-TO", conflicts_with_all = ["words", "tool", "scope"])]
    turns: Option<String>,
    /// Print results of this tool, the newest first
    #[arg(long = "tool", value_name = "NAME", conflicts_with = "words")]
    tool: Option<String>,
    /// Print a summary of a session: counts, files, decisions
    #[arg(long, conflicts_with_all = ["words", "turns", "tool", "scope", "by", "path", "below", "from", "to", "kind", "limit"])]
    summary: bool,
    /// Print the nodes before and after this node, at most so many on each side as -n says [default: 8]
    #[arg(long, value_name = "ID", conflicts_with_all = ["words", "turns", "tool", "summary", "session", "scope", "by", "path", "below", "from", "to", "kind", "failed", "exact", "count", "sort"])]
    around: Option<String>,
    /// The session, by its id or a part of it [default: the most recent session with a turn in this tree]
    #[arg(long, value_name = "ID", conflicts_with = "scope")]
    session: Option<String>,
    /// The scope of the search
    #[arg(long = "in", visible_alias = "scope", value_name = "WHERE", default_value = "tree")]
    scope: RecallScopeArg,
    /// Match only this author: human, model, tool, system, or an agent's name
    #[arg(long, value_name = "WHO")]
    by: Option<String>,
    /// Match only the path to this node
    #[arg(long, value_name = "ID", conflicts_with = "below")]
    path: Option<String>,
    /// Match only this node and its descendants
    #[arg(long, value_name = "ID")]
    below: Option<String>,
    /// Match only nodes since then: a day (2026-11-22, yesterday), a time in UTC (2026-11-22T14:00) or an age (2h, 3d,
    /// 11mo)
    #[arg(long, value_name = "WHEN")]
    from: Option<TimeSpec>,
    /// Match only nodes until then
    #[arg(long, value_name = "WHEN")]
    to: Option<TimeSpec>,
    /// Match only this kind of node: continuation, annotation, tool …
    #[arg(long, value_name = "KIND")]
    kind: Option<EdgeKind>,
    /// Match only results of failed tool calls
    #[arg(long, conflicts_with = "summary")]
    failed: bool,
    /// Match the text literally
    #[arg(long, conflicts_with_all = ["turns", "tool", "summary"])]
    exact: bool,
    /// Print only the number of matches, by author and tool
    #[arg(long, conflicts_with_all = ["turns", "tool", "summary"])]
    count: bool,
    /// Sort the hits by time, the newest first, or the oldest first [default: by score]
    #[arg(long, value_name = "ORDER", value_parser = ["time", "oldest"], conflicts_with_all = ["turns", "tool", "summary"])]
    sort: Option<String>,
    /// Maximum number of results, 1 to 200 [default: 20; all turns; 8 nodes on each side]
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: Option<u32>,
}

/// The scope of a search.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum RecallScopeArg {
    /// Nodes of the session
    Session,
    /// Nodes of the tree
    Tree,
    /// Nodes of sessions in this workspace
    Workspace,
    /// All nodes of the database
    All,
}

#[derive(Serialize)]
struct HitJson<'a> {
    #[serde(flatten)]
    node: NodeJson<'a>,
    passage: u32,
    score: f64,
    exact: bool,
    /// True for a match, false for a similar node.
    matched: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<&'a Node>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<&'a Node>,
}

/// Searches, or prints turns, tool results, neighbors or a summary.
pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    if let Some(turns) = &args.turns {
        let (from, to) = parse_turns(turns)?;
        let session = session(args, cx)?;
        let (filter, limit) = (filter(args, cx)?, args.limit.unwrap_or(MAX_TURNS));
        let mut nodes = recall::turns(&*cx.loom.snapshot()?, session.id, from..=to, &filter, limit)?;
        nodes.retain(|node| fits(args, node));
        let of = filter_suffix(args, &filter);
        return print_nodes(
            &nodes,
            &format!("no turns {from} to {to}{of}: this session has 1 to {}", session.turns),
            cx,
        );
    }
    if let Some(id) = &args.around {
        let current = cx.position()?;
        let node = cx.node(&current, id)?;
        let each = args.limit.unwrap_or(recall::DEFAULT_NEIGHBORS);
        let nodes = recall::around(&*cx.loom.snapshot()?, &node, current.versions(), each)?;
        return print_nodes(&nodes, "", cx);
    }
    if args.summary {
        return summary(args, cx);
    }
    let scope = scope(args, cx)?;
    if let Some(tool) = &args.tool {
        // Results are stored under the tool's name, also if an alias was called.
        let tool = NativeAlias::named(tool).map_or(tool.as_str(), |form| form.tool.name());
        let filter = filter(args, cx)?;
        let limit = args.limit.unwrap_or(DEFAULT_HITS);
        let query = ToolQuery {
            tool,
            words: None,
            exact: false,
            failed: args.failed,
            limit: limit as usize,
            oldest_first: false,
        };
        let nodes = recall::find_tool_results(&*cx.loom.snapshot()?, &scope, &filter, &query)?.listed;
        let names = recall::tool_names(&*cx.loom.snapshot()?, &scope, &Filter::default())?.join(", ");
        let known =
            if names.is_empty() { "there are none".to_owned() } else { format!("there are results of {names}") };
        return print_nodes(&nodes, &format!("no results of {tool}{}; {known}", filter_suffix(args, &filter)), cx);
    }
    search(args, scope, cx)
}

/// Prints the session summary of `→ recall summary`.
fn summary(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let result = session_summary(&cx.loom, &session(args, cx)?).map(Outcome::from);
    let reply = CommandReply { tool: Some(Tool::Recall), result };
    cx.print_value(&reply, || sanitize(&reply.to_string()).into_owned())
}

/// Returns the filter that the options describe.
fn filter(args: &Args, cx: &CommandContext<'_>) -> Result<Filter> {
    let node = |id: &String| Ok::<_, CliError>(cx.node(&cx.position()?, id)?.id);
    let branch = match (&args.path, &args.below) {
        (Some(id), _) => Some(Branch::To(node(id)?)),
        (None, Some(id)) => Some(Branch::Below(node(id)?)),
        (None, None) => None,
    };
    let (from, to) = (args.from.map(|when| when.start(cx.now())), args.to.map(|when| when.end(cx.now())));
    if from.zip(to).is_some_and(|(from, to)| from > to) {
        return Err(CliError::usage("--from is after --to: the range is empty"));
    }
    let author = args.by.as_deref().map(|name| Author::named(&*cx.loom.snapshot()?, name)).transpose()?;
    Ok(Filter { author, branch, from, to, kind: args.kind, ..Filter::default() })
}

fn search(args: &Args, scope: Scope, cx: &mut CommandContext<'_>) -> Result<()> {
    if args.words.iter().all(|word| word.chars().all(|c| c.is_whitespace() || c == '"')) {
        return Err(CliError::usage("the words to search for are empty"));
    }
    let limit = args.limit.unwrap_or(DEFAULT_HITS) as usize;
    let query = Query {
        only: filter(args, cx)?,
        asker: Some(match cx.agent.profile.kind {
            AgentKind::Human => AuthorType::Human,
            AgentKind::Model => AuthorType::Model,
        }),
        // Failures are selected from the hits.
        limit: if args.failed { MAX_HITS as usize } else { limit },
        exact: args.exact,
        by_time: args.sort.is_some(),
        oldest_first: args.sort.as_deref() == Some("oldest"),
        ..Query::new(args.words.join(" "), scope)
    };
    if args.count {
        return print_counts(args, &query, cx);
    }
    let embedding = match embed_query(cx, &query.text) {
        Ok(embedding) => embedding,
        Err(error) => {
            let notice = format!("recall uses words only: {}", one_line(&error.message()));
            writeln!(io::stderr(), "{notice}").map_err(|e| CliError::io("writing", e))?;
            None
        }
    };
    let mut found = recall::search_with(&*cx.loom.snapshot()?, &query, embedding.as_ref())?;
    found.hits.retain(|hit| fits(args, &hit.node));
    found.near.retain(|hit| fits(args, &hit.node));
    found.hits.truncate(limit);
    found.near.truncate(limit.saturating_sub(found.hits.len()));
    let shown: HashSet<u64> = found.hits.iter().flat_map(hit_and_neighbours).collect();
    // Nodes that were found by their neighbors alone are only context.
    found.near.retain(|hit| !shown.contains(&hit.node.seq) && (hit.own_words > 0 || hit.similar));
    if found.is_empty() && !cx.out.json {
        return print_no_hits(&found, &query, args.failed, cx);
    }
    if !found.absent.is_empty() && !cx.out.json {
        let words: Vec<String> = found.absent.iter().map(|word| format!("{word:?}")).collect();
        writeln!(cx.out, "{}", paint(DIM, one_line(&format!("not found: {}", words.join(", ")))))?;
    }
    for hit in &found.hits {
        print_hit(hit, true, &found, &query.text, cx)?;
    }
    if !found.near.is_empty() && !cx.out.json {
        writeln!(cx.out, "{}", paint(DIM, "similar, without all of the words:"))?;
    }
    for hit in &found.near {
        print_hit(hit, false, &found, &query.text, cx)?;
    }
    Ok(())
}

/// True unless `--failed` is given and the node is not the result of a failed call.
fn fits(args: &Args, node: &Node) -> bool {
    !args.failed || recall::is_failure(node)
}

/// Prints the words that were searched for without a hit, with a suggestion.
fn print_no_hits(found: &SearchResults, query: &Query, failed: bool, cx: &mut CommandContext<'_>) -> Result<()> {
    let mut words = found.words.iter().take(MAX_LISTED_WORDS).map(String::as_str).collect::<Vec<_>>().join(", ");
    if found.words.len() > MAX_LISTED_WORDS {
        words.push_str(" …");
    }
    let searched = if words.is_empty() { "searched literally".to_owned() } else { format!("searched for {words}") };
    let (filtered, suggestion) = match (failed || query.only != Filter::default(), &query.scope) {
        (false, Scope::Everything) => ("", ""),
        (false, _) => ("", "; `--in all` searches everywhere"),
        (true, _) => (" that fits", "; without the filters there may be matches"),
    };
    writeln!(cx.out, "nothing found{filtered} ({}){suggestion}", one_line(&searched))?;
    Ok(())
}

/// Returns the sequence numbers of a hit and its neighbors.
fn hit_and_neighbours(hit: &Hit) -> impl Iterator<Item = u64> {
    [Some(&hit.node), hit.parent.as_ref(), hit.first_continuation.as_ref()].into_iter().flatten().map(|node| node.seq)
}

/// Prints a hit: an excerpt with its matches, and the neighbors before and after it.
fn print_hit(hit: &Hit, matched: bool, found: &SearchResults, text: &str, cx: &mut CommandContext<'_>) -> Result<()> {
    let node = &hit.node;
    let name = cx.name(node.author).to_owned();
    if cx.out.json {
        return Ok(cx.out.json(&HitJson {
            node: NodeJson { node, author: &name, position: false },
            passage: hit.passage,
            score: hit.score,
            exact: hit.exact,
            matched,
            before: hit.parent.as_ref(),
            after: hit.first_continuation.as_ref(),
        })?);
    }
    let pruned = |node: &Node| if node.state.hidden_by.is_some() { " pruned" } else { "" };
    let room = cx.out.width.saturating_sub(30).max(30);
    let content = text_or_calls(node);
    let words = cut(&recall::excerpt(&content, &found.words, room * 2), room * 3);
    let words = bold_ranges(&words, &recall::highlights(&words, &found.words, text));
    let (name, style) = author(&name, node.author_type);
    let age = paint(DIM, node.created_at.age(cx.now()));
    let (id, author, hidden) = (paint(ID, &node.local), paint(style, name), paint(MARK, pruned(node)));
    writeln!(cx.out, "{id}  {author}{hidden}  {age}  {words}")?;
    for (side, near) in [("before", &hit.parent), ("after", &hit.first_continuation)] {
        let Some(near) = near.as_ref().filter(|near| !text_or_calls(near).is_empty()) else { continue };
        let name = one_line(cx.name(near.author));
        let line = format!("  {side:<6}  {}  {name}{}  {}", near.local, pruned(near), cut(&text_or_calls(near), room));
        writeln!(cx.out, "{}", paint(DIM, line))?;
    }
    Ok(())
}

/// Returns a line with these byte ranges in bold.
fn bold_ranges(line: &str, ranges: &[Range<usize>]) -> String {
    let (mut shown, mut end) = (String::new(), 0);
    for range in ranges {
        shown.push_str(&line[end..range.start]);
        shown.push_str(&paint(BOLD, &line[range.clone()]));
        end = range.end;
    }
    shown + &line[end..]
}

/// Prints the number of matches.
fn print_counts(args: &Args, query: &Query, cx: &mut CommandContext<'_>) -> Result<()> {
    let counts = recall::count(&*cx.loom.snapshot()?, query, &|node| fits(args, node))?;
    cx.print_value(&counts, || {
        let authors = counts.authors.iter().map(|(author, n)| format!("\n{n:>8}  {author}"));
        let tools = counts.tools.iter().map(|(tool, n)| format!("\n{n:>8}  tool {}", one_line(tool)));
        format!("{:>8}  total{}", counts.total, authors.chain(tools).collect::<String>())
    })
}

/// Prints complete nodes, or `none` if there are none.
fn print_nodes(nodes: &[Node], none: &str, cx: &mut CommandContext<'_>) -> Result<()> {
    for node in nodes {
        let name = cx.name(node.author).to_owned();
        if cx.out.json {
            cx.out.json(&NodeJson { node, author: &name, position: false })?;
            continue;
        }
        let turn = node.turn.map(|turn| format!("turn {turn}  ")).unwrap_or_default();
        let (name, style) = author(&name, node.author_type);
        let call = recall::tool_call_summary(&*cx.loom.snapshot()?, node)?;
        let call = call.map(|call| format!("({})", one_line(&call))).unwrap_or_default();
        let tool = node.tool.name.as_deref().map(|tool| format!("  {}{call}", one_line(tool))).unwrap_or_default();
        let calls: String = recall::calls(node).iter().map(|call| format!("\ncalls {call}")).collect();
        let notice = sanitize(&format!("{}{calls}", node.content)).trim_start_matches('\n').to_owned();
        writeln!(cx.out, "{}  {turn}{}{tool}\n{notice}", paint(ID, &node.local), paint(style, name))?;
    }
    if nodes.is_empty() && !cx.out.json {
        writeln!(cx.out, "{}", one_line(none))?;
    }
    Ok(())
}

fn scope(args: &Args, cx: &CommandContext<'_>) -> Result<Scope> {
    Ok(match args.scope {
        _ if args.session.is_some() => Scope::Session(session(args, cx)?.id),
        RecallScopeArg::Session => Scope::Session(session(args, cx)?.id),
        RecallScopeArg::Tree => Scope::Tree(cx.position()?.tree.id),
        RecallScopeArg::Workspace => Scope::Workspace(cx.workspace.clone()),
        RecallScopeArg::All => Scope::Everything,
    })
}

/// Returns the session to read. In `loom chat` the agent's session holds the conversation, so the default is the most
/// recent session of any agent.
fn session(args: &Args, cx: &CommandContext<'_>) -> Result<Session> {
    if let Some(text) = &args.session {
        return sessions::find(cx, text);
    }
    let tree = Some(cx.position()?.tree.id);
    let newest = |workspace| {
        let filter = SessionFilter { workspace, tree, spoken: true, limit: 1, ..SessionFilter::default() };
        Ok::<_, CliError>(cx.loom.sessions(&filter)?.pop())
    };
    // The session of an imported history is of the workspace where it took place.
    match newest(Some(cx.workspace.clone()))? {
        Some(session) => Ok(session),
        None => newest(None)?.ok_or_else(|| CliError::Failed {
            message: "no session has a turn in this tree yet".to_owned(),
            hint: Some("search for words: `loom recall WORDS`".to_owned()),
        }),
    }
}

/// Returns the words that mention a filter in messages about empty results.
fn filter_suffix(args: &Args, filter: &Filter) -> &'static str {
    if !args.failed && *filter == Filter::default() { "" } else { " that fit" }
}

/// Parses `5-10` or `5`.
fn parse_turns(text: &str) -> Result<(u64, u64)> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.trim().parse().map_err(|_| CliError::usage("write turns as 5-10"));
    Ok((number(from)?, number(to)?))
}
