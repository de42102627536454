//! `loom docs`: versioned Markdown documents, shared by all trees.

use std::io::{self, IsTerminal as _, Write as _};

use clap::Subcommand;
use loomtree::{
    ops::{DocumentEdit, OpsError},
    types::{Document, DocumentVersion, Op, section},
};
use serde::Serialize;

use crate::cli::{
    command_context::CommandContext,
    error::{CliError, Result},
    input,
    output::{BOLD, DIM, count, paint},
    sanitize::{cut, one_line, sanitize},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<DocsCommand>,
}

impl Args {
    /// True if the command changes a document.
    pub(crate) const fn changes(&self) -> bool {
        !matches!(
            self.command,
            None | Some(DocsCommand::List | DocsCommand::Read { .. } | DocsCommand::Versions { .. })
        )
    }
}

/// Actions on documents. Without a subcommand the documents are listed.
#[derive(Debug, Subcommand)]
enum DocsCommand {
    /// List the documents, as without a subcommand
    List,
    /// Create a document
    New {
        /// The document's name
        name: String,
        /// The text; `-`: standard input [default: empty]
        text: Option<String>,
    },
    /// Print a document, or a section or lines of it
    Read {
        /// The document's name
        name: String,
        /// Print only the section with this heading
        #[arg(long, value_name = "HEADING")]
        section: Option<String>,
        /// Print only these lines, such as 1-20, 7 or 30-
        #[arg(long, value_name = "FROM-TO", conflicts_with = "section")]
        lines: Option<String>,
        /// Print this version [default: the newest]
        #[arg(long, value_name = "NUMBER")]
        version: Option<u64>,
    },
    /// Write the next version of a document
    Write(WriteArgs),
    /// List the versions of a document
    Versions {
        /// The document's name
        name: String,
    },
    /// Restore the text of an earlier version as a new version
    Revert {
        /// The document's name
        name: String,
        /// The version to restore, from 1
        #[arg(value_parser = clap::value_parser!(u64).range(1..))]
        version: u64,
    },
    /// Remove a document; its versions stay, and undo restores it
    Remove {
        /// The document's name
        name: String,
    },
}

/// The arguments of `docs write`.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(group = clap::ArgGroup::new("where").required(true).args(["append", "start", "replace", "whole"]))]
struct WriteArgs {
    /// The document's name
    name: String,
    /// Append the text as a paragraph
    #[arg(long)]
    append: bool,
    /// Insert the text as the first paragraph
    #[arg(long)]
    start: bool,
    /// Replace the body of the section with this heading
    #[arg(long, value_name = "HEADING")]
    replace: Option<String>,
    /// Replace the whole text
    #[arg(long)]
    whole: bool,
    /// The text; `-` or nothing: standard input, or your editor
    text: Option<String>,
}

/// Lists, prints or changes documents.
pub(crate) fn run(args: Args, cx: &mut CommandContext<'_>) -> Result<()> {
    match args.command {
        None | Some(DocsCommand::List) => list(cx),
        Some(DocsCommand::New { name, text }) => new(&name, text, cx),
        Some(DocsCommand::Read { name, section, lines, version }) => {
            read(&name, section.as_deref(), lines.as_deref(), version, cx)
        }
        Some(DocsCommand::Write(args)) => write(args, cx),
        Some(DocsCommand::Versions { name }) => versions(&name, cx),
        Some(DocsCommand::Revert { name, version }) => {
            let document = cx.loom.document(&name)?;
            let receipt = cx.actor().revert_document(document.id, version)?;
            let newest = cx.loom.document(&name)?.version;
            cx.print_receipt(Op::WriteDocument, &receipt, || {
                format!("{}  version {newest}, with the text of version {version}", one_line(&name))
            })
        }
        Some(DocsCommand::Remove { name }) => {
            let document = cx.loom.document(&name)?;
            let receipt = cx.actor().remove_document(document.id)?;
            cx.print_receipt(Op::WriteDocument, &receipt, || format!("{}  removed; undo restores it", one_line(&name)))
        }
    }
}

fn list(cx: &mut CommandContext<'_>) -> Result<()> {
    let documents = cx.loom.snapshot()?.documents()?;
    let now = cx.now();
    let mut listed = documents.iter().filter(|document| !document.removed).peekable();
    if listed.peek().is_none() && !cx.out.json {
        writeln!(cx.out, "no documents; `loom docs new NAME` creates one")?;
    }
    for document in listed {
        if cx.out.json {
            cx.out.json(document)?;
            continue;
        }
        let facts = format!("{}, {}", count(document.version, "version"), document.updated_at.age(now));
        let summary = document.summary.as_deref().map(|s| cut(s, 60)).unwrap_or_default();
        let line = format!("{}  {}  {summary}", paint(BOLD, one_line(&document.name)), paint(DIM, facts));
        writeln!(cx.out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn new(name: &str, text: Option<String>, cx: &mut CommandContext<'_>) -> Result<()> {
    // A document may be empty, so a missing text is not requested.
    let text = text.map(|text| input::read_text(Some(text), "")).transpose()?.unwrap_or_default();
    cx.actor().create_document(name, &text)?;
    let document = cx.loom.document(name)?;
    cx.print_saved(&document, || format!("{}  a new document", one_line(name)))
}

#[derive(Serialize)]
struct DocumentText<'a> {
    name: &'a str,
    version: u64,
    content: &'a str,
}

fn version_of(document: &Document, version: u64, cx: &CommandContext<'_>) -> Result<DocumentVersion> {
    cx.loom.snapshot()?.document_version(document.id, version)?.ok_or_else(|| CliError::Failed {
        message: format!("{} has no version {version}", document.name),
        hint: Some(format!("the newest version is {}", document.version)),
    })
}

fn read(
    name: &str,
    heading: Option<&str>,
    lines: Option<&str>,
    version: Option<u64>,
    cx: &mut CommandContext<'_>,
) -> Result<()> {
    let document = cx.loom.document(name)?;
    if version == Some(0) {
        return Err(CliError::usage("versions start at 1"));
    }
    let found = version_of(&document, version.unwrap_or(0), cx)?;
    let content = match (heading, lines) {
        (Some(heading), _) => found.content[section(&found.content, heading).map_err(OpsError::from)?.span].to_owned(),
        (None, Some(lines)) => some_lines(&found.content, lines)?,
        (None, None) => found.content,
    };
    let text = DocumentText { name: &document.name, version: found.version, content: &content };
    cx.print_value(&text, || sanitize(content.trim_end_matches('\n')).into_owned())
}

/// Returns the lines `3-7`, `3-`, `-7` or `3` of a text, counted from 1, inclusive.
fn some_lines(text: &str, range: &str) -> Result<String> {
    let wrong = || CliError::usage(format!("{range:?} is not a line range; write 1-20, 7 or 30-"));
    let number = |text: &str, default| match text.trim() {
        "" => Ok(default),
        text => text.parse::<usize>().map_err(|_| wrong()),
    };
    let (from, to) = match range.split_once('-') {
        Some((from, to)) => (number(from, 1)?, number(to, usize::MAX)?),
        None => (number(range, 0)?, number(range, 0)?),
    };
    if from == 0 || to < from {
        return Err(wrong());
    }
    Ok(text.split_inclusive('\n').skip(from - 1).take(to - from + 1).collect())
}

fn write(args: WriteArgs, cx: &mut CommandContext<'_>) -> Result<()> {
    let document = cx.loom.document(&args.name)?;
    let DocumentVersion { version: base, content: newest, .. } = version_of(&document, 0, cx)?;
    let initial = match &args.replace {
        Some(heading) => newest[section(&newest, heading).map_err(OpsError::from)?.body].trim_matches('\n').to_owned(),
        None if args.whole => newest,
        None => String::new(),
    };
    let is_edited = args.text.is_none() && io::stdin().is_terminal();
    let text = input::read_text(args.text, &initial)?;
    let edit = match args.replace {
        Some(section) => DocumentEdit::Replace { section, body: text },
        None if args.append => DocumentEdit::Append(text),
        None if args.start => DocumentEdit::AtStart(text),
        None => DocumentEdit::Whole(text),
    };
    let receipt = match &edit {
        // What the editor showed is the version that was read.
        DocumentEdit::Whole(_) | DocumentEdit::Replace { .. } if is_edited => {
            cx.actor().write_document_from(document.id, base, &edit)
        }
        _ => cx.actor().write_document(document.id, &edit),
    }?;
    let newest = cx.loom.document(&args.name)?.version;
    cx.print_receipt(Op::WriteDocument, &receipt, || format!("{}  version {newest}", one_line(&args.name)))
}

fn versions(name: &str, cx: &mut CommandContext<'_>) -> Result<()> {
    let document = cx.loom.document(name)?;
    let now = cx.now();
    for number in (1..=document.version).rev() {
        let version = version_of(&document, number, cx)?;
        let author = cx.name(version.author).to_owned();
        if cx.out.json {
            cx.out.json(&version)?;
            continue;
        }
        let size = version.content.len();
        let about = format!("{}, {size} bytes", version.created_at.age(now));
        writeln!(cx.out, "{number:>5}  {:<14}  {}", cut(&author, 14), paint(DIM, about))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one_ends_included() {
        let text = "a\nb\nc\n";
        for (range, lines) in [("1-2", "a\nb\n"), ("2", "b\n"), ("2-", "b\nc\n"), ("-1", "a\n"), ("9", "")] {
            assert_eq!(some_lines(text, range).unwrap(), lines, "{range}");
        }
        for range in ["0", "3-2", "x", "1-x", ""] {
            assert!(some_lines(text, range).is_err(), "{range:?}");
        }
    }
}
