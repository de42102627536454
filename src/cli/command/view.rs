//! `loom view`: prints the path to the position, or one node with its properties.

use std::io::Write as _;

use loomtree::{
    id::NodeId,
    ops::{Loom, next_part, parts_to, selected_version},
    store::{ChildFilter, Snapshot, StoreError},
    types::{EdgeKind, Link, LinkTarget, Node, SummarySubject},
};
use serde::Serialize;

use crate::cli::{
    command_context::{CommandContext, CommandPosition},
    error::{CliError, Result},
    output::{DIM, ID, paint},
    sanitize::{cut, one_line},
    show::{NodeJson, author, short_tree_id, text_or_calls, tree_line, turn},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print this node with its children, notes and links
    id: Option<String>,
    /// Print the path to that node instead
    #[arg(long)]
    path: bool,
    /// Print the whole path
    #[arg(long)]
    all: bool,
    /// Number of nodes at the end of the path [default: 20]
    #[arg(long, short = 'n', value_name = "COUNT", conflicts_with = "all")]
    last: Option<u32>,
}

/// Nodes of a path in memory at once, which bounds memory for long paths.
const PATH_PAGE_NODES: u32 = 1_000;

/// Default number of nodes at the end of a path.
const DEFAULT_LAST: u32 = 20;

/// Maximum number of listed children.
const MAX_CHILDREN: u32 = 50;

/// Prints the path or the node.
pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let current = cx.position()?;
    match &args.id {
        Some(_) if !args.path && (args.all || args.last.is_some()) => {
            Err(CliError::usage("--all and --last are for a path: add --path"))
        }
        Some(id) if !args.path => {
            let node = cx.node(&current, id)?;
            show_node(&node, &current, cx)
        }
        id => {
            let node = cx.node_or_here(&current, id.as_deref())?;
            show_path(args, &current, &node, cx)
        }
    }
}

fn show_path(args: &Args, current: &CommandPosition, to: &Node, cx: &mut CommandContext<'_>) -> Result<()> {
    if !cx.out.json {
        writeln!(cx.out, "{}", tree_line(&current.tree, cx.out.width))?;
    }
    let limit = if args.all { PATH_PAGE_NODES } else { args.last.unwrap_or(DEFAULT_LAST) };
    let loom = cx.loom.clone();
    let snapshot = loom.snapshot()?;
    let (mut ends, mut page) = (vec![to.id], snapshot.path_back(to.id, current.versions(), limit)?);
    while args.all && page.len() == limit as usize {
        // The first node of a page is the last of the page above, read as the same version.
        ends.push(page[0].id);
        page = snapshot.path_back(page[0].id, current.versions(), limit)?;
    }
    let above = page.first().map(|node| node.depth).filter(|above| *above > 0 && page.len() == limit as usize);
    if let (Some(above), false, false) = (above, args.all, cx.out.json) {
        let hint = format!("⋮ {above} above; `loom view --all` shows them");
        writeln!(cx.out, "{}", paint(DIM, hint))?;
    }
    show_page(&page, current, cx)?;
    ends.pop();
    while let Some(end) = ends.pop() {
        show_page(&snapshot.path_back(end, current.versions(), limit)?[1..], current, cx)?;
    }
    Ok(())
}

/// Prints nodes of a path.
fn show_page(nodes: &[Node], current: &CommandPosition, cx: &mut CommandContext<'_>) -> Result<()> {
    let now = cx.now();
    for node in nodes {
        let (name, position) = (cx.name(node.author).to_owned(), node.id == current.position.id);
        if cx.out.json {
            cx.out.json(&NodeJson { node, author: &name, position })?;
        } else {
            write!(cx.out, "\n{}", turn(node, &name, now, position, cx.out.wrap()))?;
        }
    }
    Ok(())
}

#[derive(Serialize)]
struct ViewJson<'a> {
    #[serde(flatten)]
    node: NodeJson<'a>,
    children: &'a [Node],
    wordings: &'a [Node],
    links: &'a [Link],
    #[serde(skip_serializing_if = "Option::is_none")]
    provenance: Option<loomtree::types::Json>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    sources: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
}

/// Returns the first nodes of the paths that continue a node: each in the version that is read, which may begin with an earlier part.
fn continuations(
    node: &Node,
    children: &[Node],
    versions: &[NodeId],
    snapshot: &dyn Snapshot,
) -> Result<Vec<Node>, StoreError> {
    let mut found: Vec<Node> = next_part(snapshot, node, versions)?.into_iter().collect();
    for child in children.iter().filter(|child| child.kind == EdgeKind::Continuation) {
        let read = selected_version(snapshot, child, versions)?;
        found.extend(parts_to(snapshot, &read, versions)?.into_iter().next());
    }
    Ok(found)
}

fn show_node(node: &Node, current: &CommandPosition, cx: &mut CommandContext<'_>) -> Result<()> {
    let loom = cx.loom.clone();
    let snapshot = loom.snapshot()?;
    let children = snapshot.children(node.id, &ChildFilter { kind: None, pruned: false, limit: MAX_CHILDREN })?;
    let is_edited = node.state.versions > 0 || node.kind == EdgeKind::Version;
    let wordings = if is_edited { snapshot.versions(node.id)? } else { Vec::new() };
    let wordings = if wordings.len() > 1 { wordings } else { Vec::new() };
    let continuations = continuations(node, &children, current.versions(), &*snapshot)?;
    let links = snapshot.links(node.id)?;
    let (provenance, sources) = (snapshot.provenance(node.id)?, snapshot.sources_of(node.id)?);
    let summary = snapshot.summary(SummarySubject::Node(node.id))?.map(|summary| summary.content);
    let summary = summary.as_deref();
    drop(snapshot);
    let name = cx.name(node.author).to_owned();
    if cx.out.json {
        let node = NodeJson { node, author: &name, position: false };
        let (wordings, links, sources) = (&wordings, &links, &sources);
        cx.out.json(&ViewJson { node, children: &children, wordings, links, provenance, sources, summary })?;
        return Ok(());
    }
    write!(cx.out, "{}", turn(node, &name, cx.now(), false, cx.out.wrap()))?;
    writeln!(cx.out)?;
    if let Some(summary) = summary {
        writeln!(cx.out, "{}  {}", paint(DIM, format!("{:>12}", "summary")), one_line(summary))?;
    }
    for (label, value) in properties(node, current.versions(), &sources, &loom)? {
        writeln!(cx.out, "{}  {value}", paint(DIM, format!("{label:>12}")))?;
    }
    let is_attached = |child: &&Node| !matches!(child.kind, EdgeKind::Continuation | EdgeKind::Version);
    list("continued by", continuations.iter(), cx)?;
    list("beside", children.iter().filter(is_attached), cx)?;
    list("versions", wordings.iter(), cx)?;
    for link in &links {
        let line = link_line(node, link, cx)?;
        writeln!(cx.out, "{}  {line}", paint(DIM, format!("{:>12}", "linked")))?;
    }
    Ok(())
}

fn properties(
    node: &Node,
    versions: &[NodeId],
    sources: &[String],
    loom: &Loom,
) -> Result<Vec<(&'static str, String)>> {
    let local = |id| loom.node(id).map(|node| paint(ID, node.local));
    let mut properties =
        vec![("id", node.id.to_string()), ("kind", node.kind.to_string()), ("depth", node.depth.to_string())];
    // A note belongs to the version that it was written on; a message follows the version that is read.
    let before = match node.kind {
        EdgeKind::Continuation | EdgeKind::Version => loom.parent_on_path(node, versions)?.map(|before| before.id),
        _ => node.parent,
    };
    if let Some(before) = before {
        properties.push(("after", local(before)?));
    }
    if let Some(from) = node.edited_from {
        properties.push(("edited from", local(from)?));
    }
    if let Some(by) = node.state.hidden_by {
        properties.push(("pruned with", local(by)?));
    }
    let optional = [
        ("tokens", node.tokens.map(|n| n.to_string())),
        ("turn", node.turn.map(|n| n.to_string())),
        ("tool", node.tool.name.as_deref().map(one_line)),
        ("raw", node.raw.as_deref().map(|raw| format!("{} bytes; --json shows them", raw.len()))),
        ("metadata", node.metadata.as_ref().map(|json| cut(json.as_str(), 70))),
    ];
    properties.extend(optional.into_iter().filter_map(|(label, value)| Some((label, value?))));
    properties.push(("hash", node.hash.to_string()));
    properties.extend(sources.iter().map(|source| ("imported", one_line(source))));
    Ok(properties)
}

fn list<'n>(label: &str, nodes: impl Iterator<Item = &'n Node>, cx: &mut CommandContext<'_>) -> Result<()> {
    for (index, node) in nodes.enumerate() {
        let label = if index == 0 { label } else { "" };
        let (name, style) = author(cx.name(node.author), node.author_type);
        let kind = match node.kind {
            EdgeKind::Continuation | EdgeKind::Version => String::new(),
            kind => format!("{kind}  "),
        };
        let words = cut(&text_or_calls(node), cx.out.width.saturating_sub(46).max(20));
        let (label, local) = (paint(DIM, format!("{label:>12}")), paint(ID, &node.local));
        writeln!(cx.out, "{label}  {local}  {}  {kind}{words}", paint(style, name))?;
    }
    Ok(())
}

fn link_line(node: &Node, link: &Link, cx: &CommandContext<'_>) -> Result<String> {
    let other = |id, way| -> Result<String> {
        let other = cx.loom.node(id)?;
        Ok(format!("{way} {}  {}", paint(ID, &other.local), cut(&text_or_calls(&other), 40)))
    };
    let mut line = match &link.target {
        LinkTarget::Node(target) if *target == node.id => other(link.source, "from")?,
        LinkTarget::Node(target) => other(*target, "to")?,
        LinkTarget::Tree(id) => {
            let tree = cx.loom.tree(*id)?;
            format!("to the tree {}  {}", paint(ID, short_tree_id(*id)), cut(&tree.title, 40))
        }
        LinkTarget::Document { id, section } => {
            let documents = cx.loom.snapshot()?.documents()?;
            let name = documents.iter().find(|d| d.id == *id).map_or("?", |d| d.name.as_str());
            let section = section.as_deref().map(|s| format!(" # {}", one_line(s))).unwrap_or_default();
            format!("to the document {}{section}", one_line(name))
        }
    };
    if let Some(note) = &link.note {
        line.push_str(&format!("  ({})", one_line(note)));
    }
    Ok(line)
}
