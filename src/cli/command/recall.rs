//! `loom recall`: what was said, found again by words, by turn or by tool.

use std::{
    collections::HashSet,
    io::{self, Write as _},
    ops::Range,
};

use loomtree::{
    arrow::run::{CommandReply, session_summary},
    recall::{self, Author, Branch, Filter, Hit, Query, Scope, SearchResults, TimeSpec},
    store::SessionFilter,
    tools::Tool,
    types::{AgentKind, AuthorType, EdgeKind, Node, Session},
};
use serde::Serialize;

use super::sessions;
use crate::cli::{
    command_context::CommandContext,
    error::{CliError, Result},
    models,
    output::{BOLD, DIM, ID, MARK, paint},
    sanitize::{cut, one_line, sanitize},
    show::{NodeJson, author},
};

/// Turns that are shown at the most.
const TURNS: u32 = 10_000;

/// Hits and results that are shown, if no other number is asked for.
const HITS: u32 = 20;

/// Words that are named where nothing was found.
const WORDS: usize = 12;

/// What `recall` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A question or words; what is in double quotes comes first where it stands so
    #[arg(required_unless_present_any = ["turns", "of_tool", "summary"])]
    words: Vec<String>,
    /// Turns of a session, such as 5-10
    #[arg(long, value_name = "FROM-TO", conflicts_with_all = ["words", "of_tool", "place"])]
    turns: Option<String>,
    /// Results of a tool, the newest first
    #[arg(long = "tool", value_name = "NAME", conflicts_with = "words")]
    of_tool: Option<String>,
    /// What a session has come to: counts, files, decisions
    #[arg(long, conflicts_with_all = ["words", "turns", "of_tool", "place", "by", "path", "below", "from", "to", "kind", "limit"])]
    summary: bool,
    /// Which session, by its id or a part of it [default: the one that spoke last in this tree]
    #[arg(long, value_name = "ID", conflicts_with = "place")]
    session: Option<String>,
    /// Where to look
    #[arg(long = "in", visible_alias = "scope", value_name = "WHERE", default_value = "tree")]
    place: PlaceJson,
    /// Only by this author: human, model, tool, system, or an agent's name
    #[arg(long, value_name = "WHO")]
    by: Option<String>,
    /// Only on the path to a node
    #[arg(long, value_name = "ID", conflicts_with = "below")]
    path: Option<String>,
    /// Only a node and what hangs below it
    #[arg(long, value_name = "ID")]
    below: Option<String>,
    /// Only since then: a day (2026-11-22, yesterday), a moment (2026-11-22T14:00, by UTC) or an age (2h, 3d, 11mo)
    #[arg(long, value_name = "WHEN")]
    from: Option<TimeSpec>,
    /// Only until then
    #[arg(long, value_name = "WHEN")]
    to: Option<TimeSpec>,
    /// Only nodes of this kind: continuation, annotation, tool …
    #[arg(long, value_name = "KIND")]
    kind: Option<EdgeKind>,
    /// Only what holds the words as they stand
    #[arg(long, conflicts_with_all = ["turns", "of_tool", "summary"])]
    exact: bool,
    /// Figures alone, by author and tool
    #[arg(long, conflicts_with_all = ["turns", "of_tool", "summary"])]
    count: bool,
    /// The order [default: the best first]
    #[arg(long, value_name = "ORDER", value_parser = ["time"], conflicts_with_all = ["turns", "of_tool", "summary"])]
    sort: Option<String>,
    /// At most so many [default: 20; of turns all]
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: Option<u32>,
}

/// Where to look.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum PlaceJson {
    /// What the session caused
    Session,
    /// The tree
    Tree,
    /// What sessions in this workspace caused
    Workspace,
    /// The whole database
    All,
}

#[derive(Serialize)]
struct HitJson<'a> {
    #[serde(flatten)]
    node: NodeJson<'a>,
    passage: u32,
    score: f64,
    exact: bool,
    /// Whether it holds what was searched for, or is only near.
    matched: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<&'a Node>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<&'a Node>,
}

/// Searches, or shows turns or results.
pub(crate) fn run(args: &Args, desk: &mut CommandContext<'_>) -> Result<()> {
    if let Some(turns) = &args.turns {
        let (from, to) = numbers(turns)?;
        let session = session(args, desk)?;
        let (only, limit) = (only(args, desk)?, args.limit.unwrap_or(TURNS));
        let nodes = recall::turns(&*desk.loom.snapshot()?, session.id, from..=to, &only, limit)?;
        let of = fitting(&only);
        return list(&nodes, &format!("no turns {from} to {to}{of}: this session has 1 to {}", session.turns), desk);
    }
    if args.summary {
        return summary(args, desk);
    }
    let scope = scope(args, desk)?;
    if let Some(tool) = &args.of_tool {
        let only = only(args, desk)?;
        let found = recall::tool_results(&*desk.loom.snapshot()?, &scope, tool, &only, args.limit.unwrap_or(HITS))?;
        let nodes: Vec<Node> = found.into_iter().map(|(node, _)| node).collect();
        let names = recall::tool_names(&*desk.loom.snapshot()?, &scope, &Filter::default())?.join(", ");
        let known =
            if names.is_empty() { "there are none".to_owned() } else { format!("there are results of {names}") };
        return list(&nodes, &format!("no results of {tool}{}; {known}", fitting(&only)), desk);
    }
    search(args, scope, desk)
}

/// The same that an agent is told by `→ recall summary`.
fn summary(args: &Args, desk: &mut CommandContext<'_>) -> Result<()> {
    let reply = CommandReply { tool: Some(Tool::Recall), result: session_summary(&desk.loom, &session(args, desk)?) };
    desk.say(&reply, || sanitize(&reply.to_string()).into_owned())
}

/// What narrows it down.
fn only(args: &Args, desk: &CommandContext<'_>) -> Result<Filter> {
    let node = |id: &String| Ok::<_, CliError>(desk.node(&desk.here()?, id)?.id);
    let branch = match (&args.path, &args.below) {
        (Some(id), _) => Some(Branch::To(node(id)?)),
        (None, Some(id)) => Some(Branch::Below(node(id)?)),
        (None, None) => None,
    };
    let (from, to) = (args.from.map(|when| when.first(desk.now())), args.to.map(|when| when.last(desk.now())));
    if from.zip(to).is_some_and(|(from, to)| from > to) {
        return Err(CliError::usage("--from is after --to: nothing was said in between"));
    }
    let author = args.by.as_deref().map(|name| Author::named(&*desk.loom.snapshot()?, name)).transpose()?;
    Ok(Filter { author, branch, from, to, kind: args.kind, seen_by: None, before: None })
}

fn search(args: &Args, scope: Scope, desk: &mut CommandContext<'_>) -> Result<()> {
    let query = Query {
        only: only(args, desk)?,
        asker: Some(match desk.agent.profile.kind {
            AgentKind::Human => AuthorType::Human,
            AgentKind::Model => AuthorType::Model,
        }),
        limit: args.limit.unwrap_or(HITS) as usize,
        exact: args.exact,
        by_time: args.sort.is_some(),
        ..Query::new(args.words.join(" "), scope)
    };
    if args.count {
        return figures(&query, desk);
    }
    let meaning = match models::meaning(desk, &query.text) {
        Ok(meaning) => meaning,
        Err(error) => {
            let said = format!("recall uses words only: {}", one_line(&error.message()));
            writeln!(io::stderr(), "{said}").map_err(|e| CliError::io("writing", e))?;
            None
        }
    };
    let mut found = recall::search_with(&*desk.loom.snapshot()?, &query, meaning.as_ref())?;
    found.near.truncate(query.limit.saturating_sub(found.hits.len()));
    let shown: HashSet<u64> = found.hits.iter().flat_map(with_neighbours).collect();
    // Beside matches, what holds none of the words is their context.
    found.near.retain(|hit| !shown.contains(&hit.node.seq) && (shown.is_empty() || hit.own_words > 0));
    if found.is_empty() && !desk.out.json {
        let mut words = found.words.iter().take(WORDS).map(String::as_str).collect::<Vec<_>>().join(", ");
        if found.words.len() > WORDS {
            words.push_str(" …");
        }
        let looked =
            if words.is_empty() { "looked for as it stands".to_owned() } else { format!("looked for {words}") };
        let filtered = query.only != Filter::default();
        let wider = match (filtered, &query.scope) {
            (false, Scope::Everything) => "",
            (false, _) => "; `--in all` looks everywhere",
            (true, _) => "; there may be more without the filters",
        };
        writeln!(desk.out, "nothing found{} ({}){wider}", if filtered { " that fits" } else { "" }, one_line(&looked))?;
        return Ok(());
    }
    if !found.absent.is_empty() && !desk.out.json {
        let words: Vec<String> = found.absent.iter().map(|word| format!("{word:?}")).collect();
        writeln!(desk.out, "{}", paint(DIM, one_line(&format!("nowhere: {}", words.join(", ")))))?;
    }
    for hit in &found.hits {
        show(hit, true, &found, &query.text, desk)?;
    }
    if !found.near.is_empty() && !desk.out.json {
        writeln!(desk.out, "{}", paint(DIM, "only near, without all of the words:"))?;
    }
    for hit in &found.near {
        show(hit, false, &found, &query.text, desk)?;
    }
    Ok(())
}

/// The sequence numbers of a hit and of what stands beside it.
fn with_neighbours(hit: &Hit) -> impl Iterator<Item = u64> {
    [Some(&hit.node), hit.before.as_ref(), hit.after.as_ref()].into_iter().flatten().map(|node| node.seq)
}

/// A hit with the part that has the words, and what stands before and after it, marked so.
fn show(hit: &Hit, matched: bool, found: &SearchResults, text: &str, desk: &mut CommandContext<'_>) -> Result<()> {
    let node = &hit.node;
    let name = desk.name(node.author).to_owned();
    if desk.out.json {
        return Ok(desk.out.json(&HitJson {
            node: NodeJson { node, author: &name, position: false },
            passage: hit.passage,
            score: hit.score,
            exact: hit.exact,
            matched,
            before: hit.before.as_ref(),
            after: hit.after.as_ref(),
        })?);
    }
    let pruned = |node: &Node| if node.state.pruned_by.is_some() { " pruned" } else { "" };
    let room = desk.out.width.saturating_sub(30).max(30);
    let content = if node.content.trim().is_empty() { recall::calls(node).join(" · ") } else { node.content.clone() };
    let words = cut(&recall::excerpt(&content, &found.words, room * 2), room * 3);
    let words = highlighted(&words, &recall::highlights(&words, &found.words, text));
    let (name, style) = author(&name, node.author_type);
    let age = paint(DIM, node.created_at.age(desk.now()));
    let (id, author, hidden) = (paint(ID, &node.local), paint(style, name), paint(MARK, pruned(node)));
    writeln!(desk.out, "{id}  {author}{hidden}  {age}  {words}")?;
    for (place, near) in [("before", &hit.before), ("after", &hit.after)] {
        let Some(near) = near.as_ref().filter(|near| !near.content.trim().is_empty()) else { continue };
        let name = one_line(desk.name(near.author));
        let line = format!("  {place:<6}  {}  {name}{}  {}", near.local, pruned(near), cut(&near.content, room));
        writeln!(desk.out, "{}", paint(DIM, line))?;
    }
    Ok(())
}

/// A line with these bytes of it in bold.
fn highlighted(line: &str, ranges: &[Range<usize>]) -> String {
    let (mut shown, mut end) = (String::new(), 0);
    for range in ranges {
        shown.push_str(&line[end..range.start]);
        shown.push_str(&paint(BOLD, &line[range.clone()]));
        end = range.end;
    }
    shown + &line[end..]
}

/// How many nodes hold what was searched for.
fn figures(query: &Query, desk: &mut CommandContext<'_>) -> Result<()> {
    let counts = recall::count(&*desk.loom.snapshot()?, query, &|_| true)?;
    desk.say(&counts, || {
        let authors = counts.authors.iter().map(|(author, n)| format!("\n{n:>8}  {author}"));
        let tools = counts.tools.iter().map(|(tool, n)| format!("\n{n:>8}  tool {}", one_line(tool)));
        format!("{:>8}  in all{}", counts.total, authors.chain(tools).collect::<String>())
    })
}

/// Nodes, each whole.
fn list(nodes: &[Node], none: &str, desk: &mut CommandContext<'_>) -> Result<()> {
    for node in nodes {
        let name = desk.name(node.author).to_owned();
        if desk.out.json {
            desk.out.json(&NodeJson { node, author: &name, position: false })?;
            continue;
        }
        let turn = node.turn.map(|turn| format!("turn {turn}  ")).unwrap_or_default();
        let (name, style) = author(&name, node.author_type);
        let call = recall::called_with(&*desk.loom.snapshot()?, node)?;
        let call = call.map(|call| format!("({})", one_line(&call))).unwrap_or_default();
        let tool = node.tool.name.as_deref().map(|tool| format!("  {}{call}", one_line(tool))).unwrap_or_default();
        let calls: String = recall::calls(node).iter().map(|call| format!("\ncalls {call}")).collect();
        let said = sanitize(&format!("{}{calls}", node.content)).trim_start_matches('\n').to_owned();
        writeln!(desk.out, "{}  {turn}{}{tool}\n{said}", paint(ID, &node.local), paint(style, name))?;
    }
    if nodes.is_empty() && !desk.out.json {
        writeln!(desk.out, "{}", one_line(none))?;
    }
    Ok(())
}

fn scope(args: &Args, desk: &CommandContext<'_>) -> Result<Scope> {
    Ok(match args.place {
        _ if args.session.is_some() => Scope::Session(session(args, desk)?.id),
        PlaceJson::Session => Scope::Session(session(args, desk)?.id),
        PlaceJson::Tree => Scope::Tree(desk.here()?.tree.id),
        PlaceJson::Workspace => Scope::Workspace(desk.workspace.clone()),
        PlaceJson::All => Scope::Everything,
    })
}

/// The session that is meant. Whom a person talks with in `loom chat` has the session, and the person's words are its turns.
fn session(args: &Args, desk: &CommandContext<'_>) -> Result<Session> {
    if let Some(text) = &args.session {
        return sessions::find(desk, text);
    }
    let (workspace, tree) = (Some(desk.workspace.clone()), Some(desk.here()?.tree.id));
    let filter = SessionFilter { workspace, tree, spoken: true, limit: 1, ..SessionFilter::default() };
    desk.loom.sessions(&filter)?.pop().ok_or_else(|| CliError::Failed {
        message: "no session has said anything in this tree yet".to_owned(),
        hint: Some("what came in with an import is of no session: it is found by its words".to_owned()),
    })
}

/// What is said where there is nothing, of a filter.
fn fitting(only: &Filter) -> &'static str {
    if *only == Filter::default() { "" } else { " that fit" }
}

/// `5-10`, or `5` alone.
fn numbers(text: &str) -> Result<(u64, u64)> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.trim().parse().map_err(|_| CliError::failed("turns are written 5-10"));
    Ok((number(from)?, number(to)?))
}
