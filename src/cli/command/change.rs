//! Commands that change the tree. Each builds the [`Command`] of its arrow line and prints what was changed.

use std::io::Write as _;

use clap::Subcommand;
use loomtree::{
    arrow::{Command, LinkEnd, NodeRef},
    exec::{NodeResolver, TreeChange, commit},
    tools::Tool,
    types::{EdgeKind, LinkTarget, Node},
};

use crate::cli::{
    command_context::{CommandContext, CommandPosition},
    error::{CliError, Result},
    input,
    output::{ID, count, paint},
    sanitize::{cut, one_line},
    show::{NodeJson, author, marks, text_or_calls},
};

/// The subcommands that change the tree. Their names are those of the tools.
#[derive(Debug, Subcommand)]
pub(crate) enum ChangeCommand {
    /// Edit a node; the original is kept
    Edit {
        /// The node's id
        id: String,
        /// The new text; `-`: standard input [default: your editor]
        text: Option<String>,
    },
    /// Add a note to a node
    Annotate {
        /// The node's id
        id: String,
        /// The note; `-` or nothing: standard input, or your editor
        text: Option<String>,
    },
    /// Link a node to a node, a tree or a document
    Link {
        /// The source node's id
        id: String,
        /// The target: a node, `tree:TREE`, `doc:NAME` or `doc:NAME#Section`
        target: String,
        /// A note on the link
        #[arg(long)]
        note: Option<String>,
    },
    /// Remove links
    Unlink {
        /// The node's id
        id: String,
        /// The other end: a node, `tree:TREE`, or `doc:NAME`
        target: String,
    },
    /// Bookmark a node, or list bookmarks
    Bookmark {
        /// The node, `.` for your position; without one the bookmarks of the tree are listed
        id: Option<String>,
        /// The bookmark's label
        #[arg(default_value = "")]
        label: String,
        /// Remove the bookmark
        #[arg(long, conflicts_with_all = ["label", "list"])]
        remove: bool,
        /// List the bookmarks of the tree
        #[arg(long, short, conflicts_with_all = ["id", "label"])]
        list: bool,
    },
    /// Hide a branch
    Prune {
        /// The branch's first node
        #[arg(required_unless_present = "list")]
        id: Option<String>,
        /// List pruned branches
        #[arg(long, short, conflicts_with = "id")]
        list: bool,
    },
    /// Show a hidden branch again
    Restore {
        /// The pruned node [default: list pruned branches]
        id: Option<String>,
    },
    /// Exclude a node from models' context
    Exclude {
        /// The node's id
        id: String,
    },
    /// Include an excluded node again
    Include {
        /// The node
        id: String,
    },
    /// Write a node that merges several
    Merge {
        /// The nodes to merge; the new node continues the first and is linked to each
        #[arg(required = true, num_args = 2.., value_name = "ID")]
        ids: Vec<String>,
        /// The text of the new node; `-` or nothing: standard input, or your editor
        #[arg(long, short = 'm', value_name = "TEXT")]
        text: Option<String>,
    },
    /// Split a node in two
    #[command(group = clap::ArgGroup::new("cut").required(true).args(["at", "after"]))]
    Split {
        /// The node's id
        id: String,
        /// Split before this character, counted from 0
        #[arg(long, value_name = "COUNT")]
        at: Option<u32>,
        /// Split after this text
        #[arg(long, value_name = "WORDS")]
        after: Option<String>,
    },
    /// Copy a branch under another node
    Copy {
        /// The branch's first node
        id: String,
        /// The new parent; for a node of another tree, its full ULID
        to: String,
    },
    /// Move a branch under another node
    Move {
        /// The branch's first node
        id: String,
        /// The node to put it under; of another tree if it is a full ULID
        to: String,
    },
}

/// A command, and the argument with its text if it takes one.
type CommandText = (Command, Option<String>);

impl ChangeCommand {
    /// Runs the command, or lists nodes if it names none.
    pub(crate) fn run(self, cx: &mut CommandContext<'_>) -> Result<()> {
        let bookmarks = matches!(self, Self::Bookmark { .. });
        match self.into_command() {
            Some((command, text)) => {
                cx.allow(command.tool())?;
                change(command, text, cx)
            }
            None => list(bookmarks, cx),
        }
    }

    /// Builds the command, its text left empty; `None` for a list.
    fn into_command(self) -> Option<CommandText> {
        let (id, content) = (|id: String| Some(NodeRef::Id(id)), String::new());
        Some(match self {
            Self::Edit { id: node, text } => (Command::Edit { node: id(node), content }, text),
            Self::Annotate { id: node, text } => (Command::Annotate { node: id(node), content }, text),
            Self::Link { id: node, target, note } => {
                (Command::Link { node: id(node), to: link_end(target), note }, None)
            }
            Self::Unlink { id: node, target } => (Command::Unlink { node: id(node), from: link_end(target) }, None),
            Self::Bookmark { list: true, .. }
            | Self::Bookmark { id: None, remove: false, .. }
            | Self::Prune { id: None, .. }
            | Self::Restore { id: None } => {
                return None;
            }
            Self::Bookmark { id: node, remove: true, .. } => (Command::Unbookmark { node: node.and_then(id) }, None),
            Self::Bookmark { id: node, label, .. } => {
                (Command::Bookmark { node: node.and_then(id), label: Some(label) }, None)
            }
            Self::Prune { id: Some(node), .. } => (Command::Prune { node: NodeRef::Id(node) }, None),
            Self::Restore { id: Some(node) } => (Command::Restore { node: NodeRef::Id(node) }, None),
            Self::Exclude { id: node } => (Command::Exclude { node: id(node) }, None),
            Self::Include { id: node } => (Command::Include { node: id(node) }, None),
            Self::Merge { ids, text } => {
                (Command::Merge { nodes: ids.into_iter().map(NodeRef::Id).collect(), content }, text)
            }
            Self::Split { id: node, at, after } => (Command::Split { node: id(node), at, after }, None),
            Self::Copy { id: node, to } => (Command::Copy { node: NodeRef::Id(node), to: NodeRef::Id(to) }, None),
            Self::Move { id: node, to } => (Command::Move { node: NodeRef::Id(node), to: NodeRef::Id(to) }, None),
        })
    }
}

fn link_end(text: String) -> LinkEnd {
    if let Some(tree) = text.strip_prefix("tree:") {
        return LinkEnd { tree: Some(tree.to_owned()), ..LinkEnd::default() };
    }
    match text.strip_prefix("doc:") {
        Some(name) => LinkEnd { doc: Some(name.to_owned()), ..LinkEnd::default() },
        None => LinkEnd { node: Some(NodeRef::Id(text)), ..LinkEnd::default() },
    }
}

/// Resolves references as the other subcommands do: `.`, `..`, `/`, and ids of other trees.
struct CliResolver<'a, 'b> {
    cx: &'a CommandContext<'b>,
    current: &'a CommandPosition,
}

impl NodeResolver for CliResolver<'_, '_> {
    type Error = CliError;

    fn node(&self, reference: Option<&NodeRef>) -> Result<Node> {
        self.cx.node_or_here(self.current, reference.and_then(NodeRef::id))
    }

    fn link_end(&self, end: &LinkEnd) -> Result<(LinkTarget, String)> {
        let loom = &self.cx.loom;
        let target = match (&end.tree, &end.doc) {
            (Some(tree), _) => LinkTarget::Tree(self.cx.find_tree(tree)?.id),
            // A document's name may contain `#`, so the whole text is tried first.
            (None, Some(name)) => match (loom.document(name), name.split_once('#')) {
                (Ok(document), _) => LinkTarget::Document { id: document.id, section: None },
                (Err(_), Some((name, section))) => {
                    let id = loom.document(name.trim())?.id;
                    LinkTarget::Document { id, section: Some(section.trim().to_owned()) }
                }
                (Err(error), None) => return Err(error.into()),
            },
            (None, None) => LinkTarget::Node(self.node(end.node.as_ref())?.id),
        };
        Ok((target, String::new()))
    }
}

fn change(mut command: Command, text: Option<String>, cx: &mut CommandContext<'_>) -> Result<()> {
    let (current, session, actor) = cx.ensure_session()?;
    let resolver = CliResolver { cx, current: &current };
    // The references of a text's command are resolved before the user writes the text.
    let parts = match &command {
        Command::Edit { node, .. } | Command::Annotate { node, .. } => vec![resolver.node(node.as_ref())?.content],
        Command::Merge { nodes, .. } => {
            nodes.iter().map(|node| Ok(resolver.node(Some(node))?.content)).collect::<Result<Vec<_>>>()?
        }
        _ => Vec::new(),
    };
    match &mut command {
        Command::Annotate { content, .. } => *content = input::read_text(text, "")?,
        Command::Edit { content, .. } | Command::Merge { content, .. } => {
            *content = input::read_text(text, &parts.join("\n\n"))?;
        }
        _ => {}
    }
    let change = commit(&actor, &command, &resolver)?;
    let moved = cx.moved(session, current.position.id)?;
    cx.print_receipt(change.op, &change.receipt, || format!("{}{moved}", line(&change)))
}

/// Formats a change on one line.
fn line(change: &TreeChange) -> String {
    let local = |node: Option<&Node>| node.map(|node| paint(ID, &node.local)).unwrap_or_default();
    let (subject, added) = (local(change.nodes.first()), local(change.added.as_ref()));
    let affected = || count(change.receipt.affected, "node");
    let copied = || count(change.receipt.nodes.len() as u64, "node");
    match change.tool {
        Tool::Edit => {
            // An edited note replaces the old one.
            let is_branch = |node: &Node| node.kind == EdgeKind::Continuation;
            let version = !change.added.as_ref().is_some_and(is_branch);
            format!("{added}  a {} of {subject}, which stays", if version { "version" } else { "branch" })
        }
        Tool::Annotate => format!("{added}  a note on {subject}"),
        Tool::Link => format!("{subject}  linked"),
        Tool::Unlink => format!("{subject}  {} removed", count(change.receipt.seq + 1 - change.receipt.group, "link")),
        Tool::Bookmark => format!("{subject}  ★ {}", one_line(change.name.as_deref().unwrap_or_default())),
        Tool::Unbookmark => {
            let had = change.nodes.first().is_some_and(|node| node.state.bookmark.is_some());
            format!("{subject}  {}", if had { "bookmark removed" } else { "had no bookmark" })
        }
        Tool::Prune => format!("{subject}  {} hidden", affected()),
        Tool::Restore => format!("{subject}  {} shown again", affected()),
        Tool::Exclude => format!("{subject}  excluded from models' context"),
        Tool::Include => format!("{subject}  included in models' context"),
        Tool::Merge => format!("{added}  draws on {}", count(change.nodes.len() as u64, "node")),
        Tool::Split => {
            let halves: Vec<String> = change.receipt.nodes.iter().map(|half| paint(ID, &half.local)).collect();
            format!("{}  the halves of {subject}", halves.join("  "))
        }
        Tool::Move => format!("{added}  {} moved; the original is pruned", copied()),
        _ => format!("{added}  {} copied", copied()),
    }
}

/// Lists the bookmarks of the tree, or its pruned branches.
fn list(bookmarks: bool, cx: &mut CommandContext<'_>) -> Result<()> {
    let current = cx.position()?;
    let snapshot = cx.loom.snapshot()?;
    let nodes = if bookmarks { snapshot.bookmarks(current.tree.id)? } else { snapshot.pruned(current.tree.id)? };
    drop(snapshot);
    for node in &nodes {
        let name = cx.name(node.author).to_owned();
        if cx.out.json {
            cx.out.json(&NodeJson { node, author: &name, position: node.id == current.position.id })?;
            continue;
        }
        let mark = marks(node).first().filter(|_| bookmarks).map(|(mark, style)| format!("{}  ", paint(*style, mark)));
        let (name, style) = author(&name, node.author_type);
        let used = if bookmarks { 50 } else { 30 };
        let words = cut(&text_or_calls(node), cx.out.width.saturating_sub(used).max(20));
        let (id, mark) = (paint(ID, &node.local), mark.unwrap_or_default());
        writeln!(cx.out, "{id}  {mark}{}  {words}", paint(style, name))?;
    }
    if nodes.is_empty() && !cx.out.json {
        let none = if bookmarks {
            "no bookmarks; `loom bookmark ID LABEL` sets one"
        } else {
            "nothing is pruned in this tree"
        };
        writeln!(cx.out, "{none}")?;
    }
    Ok(())
}
