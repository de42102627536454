//! Completion of an arrow line while it is typed: a verb, then what the forms of the tool allow next.
//!
//! Verbs, words and options come from the declarations of the tools; ids, labels and names from the store. Nothing is
//! guessed about the meaning of the line, and nothing runs.

use crate::{
    arrow::ARROWS,
    id::{AgentId, NodeId, TreeId},
    store::{LocalIdLookup, Result, SiblingCursor, Snapshot, TreeFilter},
    tools::{ArgType, Relative, TABLE, ToolSpec},
    types::{Node, Permission, Permissions, first_words, one_line},
};

/// Completions of one line.
const MAX_COMPLETIONS: usize = 40;
/// Nodes of the path, and of each other kind, that are offered.
const MAX_NODES: u32 = 24;
/// Characters of a text that describes a completion.
const MAX_DETAIL_CHARS: usize = 72;

/// Kind of a completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompletionKind {
    /// Name of a tool.
    Verb,
    /// Reference to a node.
    Node,
    /// Word of a form.
    Word,
    /// Name of an option, with its colon.
    Option,
    /// Value of an option.
    Value,
}

impl CompletionKind {
    /// Returns the name in the API.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Verb => "verb",
            Self::Node => "node",
            Self::Word => "word",
            Self::Option => "option",
            Self::Value => "value",
        }
    }
}

/// Text that can follow the typed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineCompletion {
    /// Text that replaces the last token.
    pub(crate) text: String,
    /// Description in a few words; content of a node for a reference.
    pub(crate) detail: String,
    pub(crate) kind: CompletionKind,
}

/// Position, agent and rights for which a line is completed.
pub(crate) struct CompletionScope<'a> {
    pub(crate) snapshot: &'a dyn Snapshot,
    pub(crate) tree: TreeId,
    pub(crate) at: NodeId,
    pub(crate) held: Permissions,
    /// True if documents and other trees may be named.
    pub(crate) whole_file: bool,
    /// Agent that may not read the thoughts of others; `None`: all thoughts are readable.
    pub(crate) reader: Option<AgentId>,
}

/// Returns the last token of a line, which a completion replaces, and the completions, the likeliest first.
///
/// # Errors
/// If the store cannot be read.
pub(crate) fn complete<'a>(line: &'a str, scope: &CompletionScope<'_>) -> Result<(&'a str, Vec<LineCompletion>)> {
    let line = line.trim_start();
    let line = line.strip_prefix(ARROWS).or_else(|| line.strip_prefix("->")).unwrap_or(line);
    let (typed, partial) = tokens(line);
    let mut list = CompletionList { scope, partial, found: Vec::new() };
    match typed.split_first() {
        None => list.verbs(),
        Some((verb, typed)) => {
            let verb = verb.to_lowercase();
            let named = |spec: &&ToolSpec| spec.name == verb || spec.synonyms.contains(&verb.as_str());
            if let Some(spec) = TABLE.iter().find(named) {
                list.arguments(spec, typed)?;
            }
        }
    }
    list.found.truncate(MAX_COMPLETIONS);
    Ok((partial, list.found))
}

/// Splits a line at spaces outside quotes. The last token is the one that is being typed; it may be empty.
fn tokens(line: &str) -> (Vec<&str>, &str) {
    let (mut tokens, mut start, mut quoted) = (Vec::new(), 0, false);
    for (at, c) in line.char_indices() {
        if c == '"' {
            quoted = !quoted;
        } else if c.is_whitespace() && !quoted {
            tokens.extend(line.get(start..at).filter(|token| !token.is_empty()));
            start = at + c.len_utf8();
        }
    }
    (tokens, line.get(start..).unwrap_or_default())
}

/// Returns the parts that may follow the typed tokens in a form, and its unused options. An id may be left out.
fn next_parts<'a>(form: &'a str, typed: &[&str]) -> Option<Vec<&'a str>> {
    let parts = tokens(form);
    let parts: Vec<&str> = parts.0.into_iter().chain([parts.1]).skip(1).filter(|part| !part.is_empty()).collect();
    let (options, words): (Vec<&str>, Vec<&str>) = parts.into_iter().partition(|part| key(part).is_some());
    let used: Vec<&str> = typed.iter().filter_map(|token| key(token)).collect();
    if !used.iter().all(|used| *used == "bookmark" || options.iter().any(|option| key(option) == Some(used))) {
        return None;
    }
    let mut rest = words.as_slice();
    for token in typed.iter().filter(|token| key(token).is_none_or(|key| key == "bookmark")) {
        let fits = |part: &str| match part {
            "ID" => !words.contains(token),
            part if part.starts_with('"') => token.starts_with('"'),
            part => part.eq_ignore_ascii_case(token),
        };
        let skipped = usize::from(rest.first() == Some(&"ID") && rest.get(1).is_some_and(|part| fits(part)));
        rest = match rest.get(skipped..).and_then(<[&str]>::split_first) {
            Some((part, after)) if fits(part) => after,
            _ => return None,
        };
    }
    let optional = usize::from(rest.first() == Some(&"ID"));
    let mut next: Vec<&str> = rest.iter().take(1 + optional).copied().collect();
    next.extend(options.into_iter().filter(|option| !used.contains(&key(option).unwrap_or_default())));
    Some(next)
}

/// Returns the name of an option, `key` of `key:value`.
fn key(token: &str) -> Option<&str> {
    token.split_once(':').map(|(key, _)| key).filter(|key| !key.is_empty() && !key.contains('"'))
}

/// Completions of one token.
struct CompletionList<'a> {
    scope: &'a CompletionScope<'a>,
    partial: &'a str,
    found: Vec<LineCompletion>,
}

impl CompletionList<'_> {
    fn push(&mut self, kind: CompletionKind, text: String, detail: &str) {
        if self.found.iter().all(|known| known.text != text) {
            self.found.push(LineCompletion { text, detail: first_words(detail, MAX_DETAIL_CHARS), kind });
        }
    }

    fn is_begun(&self, text: &str) -> bool {
        text.to_lowercase().starts_with(&self.partial.to_lowercase())
    }

    fn verbs(&mut self) {
        let usable = |spec: &&ToolSpec| spec.tool.missing_permission(self.scope.held).is_none();
        let usable: Vec<&ToolSpec> = TABLE.iter().filter(usable).collect();
        for spec in &usable {
            if self.is_begun(spec.name) {
                self.push(CompletionKind::Verb, format!("{} ", spec.name), spec.help);
            }
        }
        for spec in usable.iter().filter(|_| !self.partial.is_empty()) {
            if let Some(synonym) = spec.synonyms.iter().find(|synonym| self.is_begun(synonym)) {
                self.push(CompletionKind::Verb, format!("{} ", spec.name), &format!("{synonym}: {}", spec.help));
            }
        }
    }

    fn arguments(&mut self, spec: &ToolSpec, typed: &[&str]) -> Result<()> {
        let mut later = Vec::new();
        for part in spec.forms.iter().filter_map(|form| next_parts(form, typed)).flatten() {
            match key(part) {
                None if part == "ID" => self.nodes("")?,
                None if part.starts_with(char::is_alphabetic) && self.is_begun(part) => {
                    self.push(CompletionKind::Word, format!("{part} "), "");
                }
                None => {}
                Some(_) => later.push(part),
            }
        }
        for part in later {
            self.option(spec, part)?;
        }
        Ok(())
    }

    /// Completes an option of a form, such as `doc:"D"`.
    fn option(&mut self, spec: &ToolSpec, part: &str) -> Result<()> {
        let Some((key, example)) = part.split_once(':') else { return Ok(()) };
        let name = format!("{key}:");
        let argument = spec.arguments().find(|argument| argument.name == key);
        if !self.partial.contains(':') {
            if self.is_begun(&name) {
                self.push(CompletionKind::Option, name, argument.map_or("", |argument| argument.meaning));
            }
            return Ok(());
        }
        if !self.partial.starts_with(&name) {
            return Ok(());
        }
        match (example, argument.map(|argument| argument.kind)) {
            ("ID", _) => self.nodes(&name)?,
            ("\"D\"", _) => self.documents(&name)?,
            ("\"T\"", _) => self.trees(&name)?,
            ("\"A\"", _) => {
                // A model may be an address of the owner's network.
                let shows_model = self.scope.held.has(Permission::CrossTree);
                for agent in self.scope.snapshot.agents()?.into_iter().filter(|agent| !agent.removed) {
                    let model = agent.profile.model.as_deref().filter(|_| shows_model);
                    self.quoted(&name, agent.name(), model.unwrap_or_default());
                }
            }
            (_, Some(ArgType::Enum(words))) => words.iter().for_each(|word| self.value(&name, word)),
            (_, Some(ArgType::Bool)) => ["yes", "no"].iter().for_each(|word| self.value(&name, word)),
            _ => {}
        }
        Ok(())
    }

    fn value(&mut self, name: &str, word: &str) {
        let text = format!("{name}{word} ");
        if self.is_begun(&text) {
            self.push(CompletionKind::Value, text, "");
        }
    }

    /// Adds a name in quotes if it begins with what was typed, with or without its quote.
    fn quoted(&mut self, name: &str, value: &str, detail: &str) {
        let typed = self.partial.strip_prefix(name).unwrap_or(self.partial).trim_start_matches('"').to_lowercase();
        if value.to_lowercase().starts_with(&typed) && !value.contains(['"', '\n']) {
            self.push(CompletionKind::Value, format!("{name}\"{value}\" "), &one_line(detail));
        }
    }

    fn documents(&mut self, name: &str) -> Result<()> {
        if self.scope.whole_file && self.scope.held.has(Permission::DocRead) {
            for document in self.scope.snapshot.documents()?.iter().filter(|document| !document.removed) {
                self.quoted(name, &document.name, "");
            }
        }
        Ok(())
    }

    fn trees(&mut self, name: &str) -> Result<()> {
        if self.scope.whole_file && self.scope.held.has(Permission::CrossTree) {
            for tree in self.scope.snapshot.trees(TreeFilter { limit: MAX_NODES, ..TreeFilter::default() })? {
                self.quoted(name, &tree.title, "");
            }
        }
        Ok(())
    }

    /// Adds references to nodes near the position, to bookmarks by their label, and to places.
    fn nodes(&mut self, prefix: &str) -> Result<()> {
        let CompletionScope { snapshot, tree, at, .. } = *self.scope;
        let typed = self.partial.strip_prefix(prefix).unwrap_or(self.partial);
        let typed = typed.trim_start_matches('[').to_lowercase();
        let mut near = snapshot.continuations(at, SiblingCursor::First, MAX_NODES)?;
        near.extend(snapshot.path_back(at, &[], MAX_NODES)?.into_iter().rev());
        let may_read = |node: &Node| self.scope.reader.is_none_or(|reader| node.is_readable_by(reader));
        near.retain(may_read);
        let bookmarks = snapshot.bookmarks(tree)?.into_iter().filter(may_read);
        let bookmarks: Vec<Node> = bookmarks.take(MAX_NODES as usize).collect();
        for node in near.iter().chain(&bookmarks).filter(|node| node.local.to_string().starts_with(&typed)) {
            self.reference(prefix, node);
        }
        if prefix.is_empty() {
            for node in &bookmarks {
                let label = node.state.bookmark.as_deref().unwrap_or_default();
                let text = format!("bookmark:\"{label}\" ");
                let begun = self.is_begun(&text) || label.to_lowercase().starts_with(typed.trim_start_matches('"'));
                if begun && !label.is_empty() && !label.contains('"') {
                    self.push(CompletionKind::Node, text, &one_line(&node.content));
                }
            }
        }
        if typed.is_empty() {
            return Ok(());
        }
        for place in Relative::WORDS.iter().filter(|place| place.starts_with(&typed)) {
            self.push(CompletionKind::Node, format!("{prefix}{place} "), "by its place");
        }
        let resolved = match snapshot.resolve(tree, &typed)? {
            LocalIdLookup::One(node) => vec![*node],
            LocalIdLookup::Many(nodes) => nodes,
            LocalIdLookup::None(_) => Vec::new(),
        };
        for node in resolved.iter().filter(|node| node.tree == tree && may_read(node)) {
            self.reference(prefix, node);
        }
        Ok(())
    }

    fn reference(&mut self, prefix: &str, node: &Node) {
        self.push(CompletionKind::Node, format!("{prefix}{} ", node.local), &one_line(&node.content));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_end_at_spaces_outside_quotes() {
        assert_eq!(tokens(" read doc:\"my notes\" su"), (vec!["read", "doc:\"my notes\""], "su"));
        assert_eq!(tokens("view "), (vec!["view"], ""));
        assert_eq!(tokens("bookmark . \"the ha"), (vec!["bookmark", "."], "\"the ha"));
    }

    #[test]
    fn forms_say_what_comes_next() {
        let next = |form, typed: &[&str]| next_parts(form, typed).unwrap_or_default();
        assert_eq!(next("list ID continuations", &[]), ["ID", "continuations"]);
        assert_eq!(next("list ID continuations", &["a7x2"]), ["continuations"]);
        assert_eq!(next("list ID continuations", &["continuations"]), [""; 0]);
        assert_eq!(next("copy ID to ID", &["a7x2", "to"]), ["ID"]);
        assert_eq!(next("continue from ID n:3 tokens:200", &["n:2"]), ["from", "tokens:200"]);
        assert_eq!(next_parts("move ID to ID", &["a7x2", "under"]), None);
        assert_eq!(next_parts("restore ID", &["doc:\"D\""]), None);
    }
}
