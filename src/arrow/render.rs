//! A command as text, in its canonical form: what `parse` reads back to the same command.

use std::fmt::{self, Display, Formatter, Write as _};

use super::{Command, DecisionKind, LinkEnd, NodeRef, RecallFilter, WritePlace, annotate_tokens, args::is_escapable};

impl Display for NodeRef {
    /// The reference as a line has it; an id in brackets where it could be taken for a word.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) if annotate_tokens::is_id(id) && id.len() > 3 && annotate_tokens::number(id).is_none() => {
                f.write_str(id)
            }
            Self::Id(id) => write!(f, "[{id}]"),
            Self::Place { place } => place.fmt(f),
            Self::Bookmark { bookmark } => write!(f, "bookmark:{}", Quoted(bookmark)),
            Self::Agent { at } => write!(f, "@{}", Quoted(at)),
        }
    }
}

/// Formats the source of a stash. A bookmark's label of one word, which reads like an id, is quoted as it was written.
fn label_or_id(node: &NodeRef) -> String {
    match node {
        NodeRef::Id(label) if !annotate_tokens::is_id(label) => Quoted(label).to_string(),
        node => node.to_string(),
    }
}

/// A string in quotes, with escapes. A backslash that escapes nothing is single, as in most regular expressions.
pub(super) struct Quoted<'a>(pub(super) &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        let mut characters = self.0.chars().peekable();
        while let Some(c) = characters.next() {
            match c {
                '"' => f.write_str("\\\"")?,
                // A line feed or a tab after it becomes an escape.
                '\\' if characters.peek().is_none_or(|next| is_escapable(*next) || matches!(next, '\n' | '\t')) => {
                    f.write_str("\\\\")?;
                }
                '\n' => f.write_str("\\n")?,
                '\t' => f.write_str("\\t")?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

impl Display for RecallFilter {
    /// The options as a line has them, a space before each.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        ArgumentWriter(f).filter(self).map(drop)
    }
}

impl Display for LinkEnd {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(doc) = &self.doc {
            return write!(f, "doc:{}", Quoted(doc));
        }
        match (&self.tree, &self.node) {
            (Some(tree), Some(node)) => write!(f, "tree:{} node:{node}", Quoted(tree)),
            (Some(tree), None) => write!(f, "tree:{}", Quoted(tree)),
            (None, Some(node)) => node.fmt(f),
            (None, None) => Ok(()),
        }
    }
}

impl Display for Command {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.tool().name())?;
        self.arguments(&mut ArgumentWriter(f))
    }
}

/// Writes arguments, each after a space, those that are absent not at all.
struct ArgumentWriter<'a, 'f>(&'a mut Formatter<'f>);

impl ArgumentWriter<'_, '_> {
    fn plain(&mut self, value: Option<impl Display>) -> Result<&mut Self, fmt::Error> {
        self.named("", value)
    }

    fn named(&mut self, name: &str, value: Option<impl Display>) -> Result<&mut Self, fmt::Error> {
        if let Some(value) = value {
            write!(self.0, " {name}{value}")?;
        }
        Ok(self)
    }

    fn text(&mut self, name: &str, value: Option<&String>) -> Result<&mut Self, fmt::Error> {
        self.named(name, value.map(|text| Quoted(text)))
    }

    /// Writes a name as it is if it is one word, else in quotes.
    fn word(&mut self, name: &str, value: Option<&String>) -> Result<&mut Self, fmt::Error> {
        match value.filter(|by| by.starts_with(char::is_alphabetic) && by.chars().all(char::is_alphanumeric)) {
            Some(word) => self.named(name, Some(word)),
            None => self.text(name, value),
        }
    }

    /// Writes a domain as it is, and any other text in quotes: a word without a dot could be read as an id.
    fn site(&mut self, name: &str, site: &String) -> Result<&mut Self, fmt::Error> {
        let is_label = |part: &str| !part.is_empty() && part.chars().all(char::is_alphanumeric);
        let is_domain = site.contains('.') && site.starts_with(char::is_alphabetic) && site.split('.').all(is_label);
        if is_domain { self.named(name, Some(site)) } else { self.text(name, Some(site)) }
    }

    fn filter(&mut self, only: &RecallFilter) -> Result<&mut Self, fmt::Error> {
        self.text("words:", only.words.as_ref())?
            .word("by:", only.by.as_ref())?
            .named("scope:", only.scope)?
            .named("path:", only.path.as_ref())?
            .named("below:", only.below.as_ref())?
            .named("from:", only.from)?
            .named("to:", only.to)?
            .named("kind:", only.kind)?
            .named("around:", only.around.as_ref())?
            .named("sort:", only.sort)?
            .flag("exact", only.exact)?
            .flag("failed", only.failed)?
            .flag("count", only.count)
    }

    fn flag(&mut self, name: &str, set: bool) -> Result<&mut Self, fmt::Error> {
        self.named(name, set.then_some(""))
    }
}

impl Command {
    fn arguments(&self, to: &mut ArgumentWriter<'_, '_>) -> fmt::Result {
        match self {
            Self::View { node, branch, from, full, annotations, rendering } => to
                .plain(node.as_ref())?
                .named("branch:", branch.as_ref())?
                .named("from:", from.as_ref())?
                .flag("full", *full)?
                .flag("with-annotations", *annotations)?
                .named("as:", *rendering)?,
            Self::List { node, what } => to.plain(node.as_ref())?.plain(Some(what))?,
            Self::Tree { from, depth, summary } => {
                to.named("from:", from.as_ref())?.named("depth:", *depth)?.flag("summary", *summary)?
            }
            Self::Switch { node, relative, tree } => {
                let to = to.named("to ", node.as_ref())?.named("to ", *relative)?;
                to.text(if node.is_some() || relative.is_some() { "in tree:" } else { "to tree:" }, tree.as_ref())?
            }
            Self::Diff { nodes } => nodes.iter().try_fold(to, |to, node| to.plain(Some(node)))?,
            Self::Continue { from, n, tokens, words, agent, instruction } => to
                .named("from ", from.as_ref())?
                .text("", instruction.as_ref())?
                .named("n:", *n)?
                .named("tokens:", *tokens)?
                .named("words:", *words)?
                .text("using agent:", agent.as_ref())?,
            Self::Respond { node, content, kind } => {
                to.plain(node.as_ref())?.text("", Some(content))?.named("as:", *kind)?
            }
            Self::Annotate { node, content } | Self::Edit { node, content } => {
                to.plain(node.as_ref())?.text("", Some(content))?
            }
            Self::Link { node, to: end, note } => {
                to.plain(node.as_ref())?.named("to ", Some(end))?.text("note:", note.as_ref())?
            }
            Self::Merge { nodes, content } => {
                nodes.iter().try_fold(to, |to, node| to.plain(Some(node)))?.text("", Some(content))?
            }
            Self::Bookmark { node, label } => to.plain(node.as_ref())?.text("", label.as_ref())?,
            // The bare words ask for nothing yet.
            Self::Exclude { node: None } | Self::Include { node: None } => to.plain(Some("here"))?,
            Self::Unbookmark { node } | Self::Exclude { node } | Self::Include { node } => to.plain(node.as_ref())?,
            Self::Prune { node } | Self::Restore { node } => to.plain(Some(node))?,
            Self::Undo { n } | Self::Redo { n } => to.plain(*n)?,
            Self::Copy { node, to: parent } | Self::Move { node, to: parent } => {
                to.plain(Some(node))?.named("to ", Some(parent))?
            }
            Self::Split { node, at, after } => {
                to.plain(node.as_ref())?.named("at:", *at)?.text("after ", after.as_ref())?
            }
            Self::Unlink { node, from } => to.plain(node.as_ref())?.named("from ", Some(from))?,
            _ => return self.further_arguments(to),
        };
        Ok(())
    }

    /// Arguments of memory, document and other commands.
    fn further_arguments(&self, to: &mut ArgumentWriter<'_, '_>) -> fmt::Result {
        match self {
            Self::Read { doc, summary, lines, section, version } => to
                .text("doc:", Some(doc))?
                .flag("summary", *summary)?
                .named("lines:", lines.map(|range| format!("{}-{}", range.first, range.last)))?
                .text("section:", section.as_ref())?
                .named("version:", *version)?,
            Self::Write { doc, place, content } => {
                let to = to.text("doc:", Some(doc))?;
                match place {
                    WritePlace::Append => to.flag("append", true)?,
                    WritePlace::Start => to.flag("at:start", true)?,
                    WritePlace::End => to.flag("at:end", true)?,
                    WritePlace::Line(line) => to.named("at:", Some(line))?,
                    WritePlace::Section(section) => to.text("replace:", Some(section))?,
                }
                .text("", Some(content))?
            }
            Self::Pin { node, doc, section } => {
                to.plain(node.as_ref())?.text("doc:", doc.as_ref())?.text("section:", section.as_ref())?
            }
            Self::Stash { label, content, content_of, summary_of } => {
                let to = to.text("", Some(label))?.text("", content.as_ref())?;
                to.named("content-of:", content_of.as_ref().map(label_or_id))?
                    .named("summary-of:", summary_of.as_ref())?
            }
            // Beside filters, a bare text is what is searched.
            Self::Recall { label, search, turns, tool, summary, limit, only } => to
                .text(if *only == RecallFilter::default() { "" } else { "label:" }, label.as_ref())?
                .text("search ", search.as_ref())?
                .named("turns:", turns.map(|range| format!("{}-{}", range.first, range.last)))?
                .text("tool:", tool.as_ref())?
                .flag("summary", *summary)?
                .named("limit:", *limit)?
                .filter(only)?,
            // A document's name stands where an id does.
            Self::Drop { pin: Some(NodeRef::Id(name)), .. } => to.text("pin:", Some(name))?,
            Self::Drop { pin, stash } => to.named("pin:", pin.as_ref())?.text("stash:", stash.as_ref())?,
            Self::Decide { content, kind } => {
                // `decide decision "x"` would be no more than `decide "x"` to a reader.
                let name = if matches!(kind, None | Some(DecisionKind::Constraint)) { "" } else { "kind:" };
                to.named(name, *kind)?.text("", Some(content))?
            }
            Self::Memory { view } => to.plain(*view)?,
            Self::Todo { add, done, cancel, resume, outcome, status } => {
                let add_flag = to.flag("add", !add.is_empty())?;
                let to = add.iter().try_fold(add_flag, |to, item| to.text("", Some(&item.title)))?;
                let to = match add.as_slice() {
                    [one] => {
                        let said = |text| Some(text).filter(|text: &&String| !text.is_empty());
                        let to = to.text("context:", said(&one.context))?;
                        to.text("criteria:", said(&one.criteria))?.text("agent:", one.agent_type.as_ref())?
                    }
                    _ => to, // what goes with each of several has no place on a line
                };
                to.named("done ", *done)?
                    .named("cancel ", *cancel)?
                    .flag("resume", *resume)?
                    .text("", outcome.as_ref())?
                    .text("status:", status.as_ref())?
            }
            Self::Delegate { goal, context, resume, list, wait } => to
                .text("", goal.as_ref())?
                .text("context:", context.as_ref())?
                .named("resume:", resume.as_ref())?
                .flag("list", *list)?
                .named("wait:", wait.map(|wait| if wait { "yes" } else { "no" }))?,
            Self::Search { query, depth, topic, max, include, exclude } => {
                let to = to.text("", Some(query))?.named("depth:", *depth)?.named("topic:", *topic)?;
                let to = to.named("max:", *max)?;
                let to = include.iter().try_fold(to, |to, site| to.site("include:", site))?;
                exclude.iter().try_fold(to, |to, site| to.site("exclude:", site))?
            }
            Self::Think { content: Some(content) } => return write!(to.0, "\n{content}\n←"),
            Self::Help { tool } => to.plain(tool.as_ref())?,
            _ => to,
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests;
