//! From an operation and its arguments to a typed command.
//!
//! Each operation takes out of the bag what it has a place for. Something that it needs and does not find, or
//! something that stays behind, means that the line was not understood, and it is refused rather than run in part.

mod delegate;
mod documents;
mod labels;
mod links;
mod memory;
mod nodes;
mod recall;
mod recall_words;
mod references;
mod retracted_decision;
mod todos;
mod web_search;

use super::{
    Command, Range,
    args::{Arg, ArgKind, Arguments},
    classify::Features,
    lex::Span,
    lexicon::{Noun, Prep, Verb},
    option_name::OptionName,
};
use crate::tools::{MAX_CONTENT_BYTES, SideEffect, TABLE, Tool};

/// Error of binding arguments to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BindError {
    /// Something is needed and not there.
    Missing(&'static str),
    /// Something is there that has no place.
    Unexpected(Span),
    /// A number or a text is over its limit.
    Limit(String, Span),
}

type Bound<T = Command> = Result<T, BindError>;

/// A bag at work: what the verb and its objects said beside the arguments.
pub(super) struct Binder<'a, 'b> {
    pub(super) arguments: &'b mut Arguments<'a>,
    pub(super) tool: Tool,
    /// The verb's place.
    pub(super) at: usize,
    pub(super) features: Features,
    pub(super) verb: Verb,
    /// The verb as it was written, lowered.
    pub(super) verb_text: &'b str,
}

/// Makes the command of `tool` from the bag.
///
/// # Errors
///
/// [`BindError`]: something is missing, left over, or over a limit.
pub(super) fn bind(tool: Tool, mut binder: Binder<'_, '_>) -> Bound {
    // `make one annotation on a7x2`
    let made = |arg: &Arg| matches!(arg.unit, Some(Noun::Annotation | Noun::Bookmark | Noun::Link | Noun::Copy));
    if !matches!(tool, Tool::Continue | Tool::Recall) {
        binder.arguments.take(|arg| arg.kind == ArgKind::Number(1) && arg.key.is_none() && made(arg));
    }
    binder.labels_of_options();
    let empty = binder.arguments.items.iter().find(|arg| arg.text.start == arg.text.end).map(|arg| arg.text);
    let command = binder.command(tool)?;
    binder.nothing_left()?;
    // An empty string is no value of anything, and has no written form that keeps its option.
    match empty {
        Some(span) if tool != Tool::Think => Err(BindError::Unexpected(span)),
        _ => Ok(command),
    }
}

impl Binder<'_, '_> {
    fn command(&mut self, tool: Tool) -> Bound {
        match tool {
            Tool::View => self.view(),
            Tool::List => self.list(),
            Tool::Tree => self.tree(),
            Tool::Switch => self.switch(),
            Tool::Diff => self.diff(),
            Tool::Continue => self.continue_(),
            Tool::Respond => self.respond(),
            Tool::Annotate => self.annotate(),
            Tool::Link => self.link(),
            Tool::Edit => self.edit(),
            Tool::Merge => self.merge(),
            Tool::Bookmark => self.bookmark(),
            Tool::Unbookmark => Ok(Command::Unbookmark { node: self.node() }),
            Tool::Prune => Ok(Command::Prune { node: self.needed_node()? }),
            Tool::Restore => Ok(Command::Restore { node: self.needed_node()? }),
            Tool::Undo if self.arguments.modifiers.whole => Err(BindError::Missing("how many changes")),
            Tool::Undo => Ok(Command::Undo { n: self.count().or(self.both()) }),
            Tool::Redo => Ok(Command::Redo { n: self.count().or(self.both()) }),
            Tool::Copy => self.pair().map(|(node, to)| Command::Copy { node, to }),
            Tool::Move => self.pair().map(|(node, to)| Command::Move { node, to }),
            Tool::Split => self.split(),
            Tool::Exclude => Ok(Command::Exclude { node: self.node_or_here()? }),
            Tool::Include => Ok(Command::Include { node: self.node_or_here()? }),
            Tool::Unlink => self.unlink(),
            Tool::Read => self.read(),
            Tool::Write => self.write(),
            Tool::Pin => self.pin(),
            Tool::Stash => self.stash(),
            Tool::Recall => self.recall(),
            Tool::Drop => self.drop(),
            Tool::Decide => self.decide(),
            Tool::Memory => Ok(self.memory()),
            Tool::Todo => self.todo(),
            Tool::Delegate => self.delegate(),
            Tool::Search => self.search(),
            Tool::Think => {
                self.arguments.items.clear();
                Ok(Command::Think { content: None })
            }
            Tool::Help => Ok(self.help()),
        }
    }

    /// Fails if an argument has found no place. Words that name nothing are not arguments; they only cost confidence.
    fn nothing_left(&mut self) -> Bound<()> {
        for arg in &self.arguments.items {
            if arg.kind != ArgKind::Name
                || arg.key.is_some() && !matches!(arg.key, Some(OptionName::Include | OptionName::Content))
            {
                return Err(BindError::Unexpected(arg.text));
            }
        }
        // `bookmark the duel at a7x2`: what is found at a node says what the node is.
        if !matches!(self.tool.spec().side_effect, SideEffect::Destructive) {
            let line = self.arguments.line;
            self.arguments.items.retain(|arg| !is_found_at_id(line, arg.text));
        }
        // A word right behind the verb makes a noun of it: `link rot`, `a switch in tone`.
        let verb = self.at;
        let unknown_near_verb = self
            .arguments
            .items
            .iter()
            .filter(|arg| arg.at == verb + 1 || arg.at == verb + 2 && arg.prep.is_some())
            .count();
        self.arguments.unknown_near_verb += u32::try_from(unknown_near_verb).unwrap_or(u32::MAX);
        self.arguments.unknown_words += u32::try_from(self.arguments.items.len()).unwrap_or(u32::MAX);
        self.arguments.first_unknown_word = self.arguments.items.first().map(|arg| arg.text);
        Ok(())
    }

    /// A text said to be for one of `keys`.
    fn text_for(&mut self, keys: &[OptionName]) -> Option<String> {
        let fits = |arg: &Arg| arg.key.is_some_and(|key| keys.contains(&key));
        let arg = self.arguments.take(|arg| matches!(arg.kind, ArgKind::Text { .. }) && fits(arg))?;
        Some(self.arguments.value(&arg))
    }

    /// A text or a name said to be for one of `keys`.
    fn name_for(&mut self, keys: &[OptionName]) -> Option<String> {
        let arg = self.arguments.take(|arg| {
            arg.key.is_some_and(|key| keys.contains(&key))
                && (!matches!(arg.kind, ArgKind::Number(_) | ArgKind::Range(..))
                    || keys.contains(&OptionName::Label) && arg.unit.is_none())
        })?;
        Some(self.arguments.value(&arg))
    }

    /// A text that `fits`.
    fn text_where(&mut self, fits: impl Fn(&Arg) -> bool) -> Option<String> {
        let tool = self.tool;
        let is_text = |arg: &Arg| matches!(arg.kind, ArgKind::Text { .. }) && !names_other(tool, arg);
        let arg = self.arguments.take(|arg| is_text(arg) && fits(arg))?;
        Some(self.arguments.value(&arg))
    }

    /// The content: what is said to be it, else the last text.
    fn content(&mut self) -> Bound<String> {
        let said =
            self.arguments.take(|arg| matches!(arg.kind, ArgKind::Text { .. }) && arg.key == Some(OptionName::Content));
        let tool = self.tool;
        let is_text = |arg: &Arg| matches!(arg.kind, ArgKind::Text { .. }) && !names_other(tool, arg);
        let arg = said.or_else(|| self.arguments.take(is_text));
        let Some(arg) = arg else { return Err(BindError::Missing("the text, in quotes")) };
        let text = self.arguments.value(&arg);
        if text.len() > MAX_CONTENT_BYTES {
            return Err(BindError::Limit(format!("content is at most {MAX_CONTENT_BYTES} bytes"), arg.text));
        }
        if text.is_empty() { Err(BindError::Missing("the text, in quotes")) } else { Ok(text) }
    }

    /// A number that `fits`.
    fn number(&mut self, fits: impl Fn(&Arg) -> bool) -> Option<(u32, Span)> {
        let arg = self.arguments.take(|arg| matches!(arg.kind, ArgKind::Number(_)) && fits(arg))?;
        match arg.kind {
            ArgKind::Number(number) => Some((number, arg.text)),
            _ => None,
        }
    }

    /// A number that `fits`, at most `most`.
    fn limited(&mut self, what: &str, most: u32, fits: impl Fn(&Arg) -> bool) -> Bound<Option<u32>> {
        match self.number(fits) {
            Some((number, at)) if number > most => Err(BindError::Limit(format!("{what} is at most {most}"), at)),
            Some((number, _)) => Ok(Some(number)),
            None => Ok(None),
        }
    }

    /// Number of changes for undo and redo.
    fn count(&mut self) -> Option<u32> {
        // `within 3 tries, undo`
        let verb = self.at;
        let line = self.arguments.line;
        // `it was right the first time, redo it`
        let is_count = |arg: &Arg| !arg.text.of(line).eq_ignore_ascii_case("first");
        self.number(|arg| (arg.at > verb || arg.prep.is_none()) && is_count(arg)).map(|(number, _)| number)
    }

    /// True if the first word of the line is one of `words`.
    fn begins_with(&self, words: &[&str]) -> bool {
        let line = self.arguments.line.trim_start_matches(|c: char| !c.is_alphabetic());
        let first = line.split_whitespace().next();
        first.is_some_and(|first| words.iter().any(|word| first.eq_ignore_ascii_case(word)))
    }

    /// Two operations, if the line says `both`.
    fn both(&self) -> Option<u32> {
        ["both", "two"].iter().any(|word| self.arguments.has_bare_word(word)).then_some(2)
    }

    /// A range of numbers; one number is a range, too.
    fn range(&mut self, fits: impl Fn(&Arg) -> bool) -> Option<Range> {
        let arg =
            self.arguments.take(|arg| matches!(arg.kind, ArgKind::Range(..) | ArgKind::Number(_)) && fits(arg))?;
        match arg.kind {
            ArgKind::Range(first, last) => Some(Range { first: first.min(last), last: last.max(first) }),
            ArgKind::Number(number) => Some(Range { first: number, last: number }),
            _ => None,
        }
    }

    /// A document's name.
    fn doc(&mut self) -> Option<String> {
        let arg = self
            .arguments
            .take(|arg| {
                arg.key == Some(OptionName::Doc) && !matches!(arg.kind, ArgKind::Number(_) | ArgKind::Range(..))
            })
            .or_else(|| {
                self.arguments
                    .take(|arg| arg.kind == ArgKind::File && arg.key.is_none_or(|key| key != OptionName::Section))
            })?;
        Some(self.arguments.value(&arg))
    }

    fn names(&self, noun: Noun) -> bool {
        self.features.names(noun)
    }

    fn has(&self, prep: Prep) -> bool {
        self.features.has(prep)
    }

    /// True if one of these flags or words stands in the line.
    fn flagged(&self, names: &[&str]) -> bool {
        self.arguments.flags.iter().any(|flag| names.iter().any(|name| flag.eq_ignore_ascii_case(name)))
    }

    pub(super) fn name_where(&mut self, fits: impl Fn(&Arg) -> bool) -> Option<String> {
        let arg = self.arguments.take(|arg| matches!(arg.kind, ArgKind::Name | ArgKind::File) && fits(arg))?;
        Some(self.arguments.value(&arg))
    }

    pub(super) fn help(&mut self) -> Command {
        self.arguments.items.retain(|arg| !matches!(arg.kind, ArgKind::Number(_)));
        // `tool="recall"`
        let is_tool = |name: &String| TABLE.iter().any(|row| row.name == name);
        let named = self.name_for(&[OptionName::Tool]).filter(is_tool);
        // `how does "merge" work?`
        let named = named.or_else(|| self.text_where(|_| true).filter(is_tool));
        Command::Help { tool: named.or_else(|| self.arguments.modifiers.tool.map(|tool| tool.name().to_owned())) }
    }
}

/// True for the name of a document, a tree or an agent that the operation has no use for; it is no text of its.
fn names_other(tool: Tool, arg: &Arg) -> bool {
    match tool {
        Tool::Continue | Tool::Link | Tool::Stash => matches!(arg.key, Some(OptionName::Doc | OptionName::Tree)),
        Tool::Merge | Tool::Edit => arg.key == Some(OptionName::Agent),
        _ => false,
    }
}

/// True for the noun of `the duel at a7x2`.
fn is_found_at_id(line: &str, noun: Span) -> bool {
    let mut after = line[noun.end..].split_whitespace();
    let is_id = |word: &str| word.len() >= 4 && word.bytes().any(|byte| byte.is_ascii_digit());
    line[..noun.start].trim_end().ends_with(" the") && after.next() == Some("at") && after.next().is_some_and(is_id)
}

/// True for a place, a bookmark's label or an agent's position.
const fn is_reference(arg: &Arg) -> bool {
    matches!(arg.kind, ArgKind::Place(_) | ArgKind::BookmarkLabel { .. } | ArgKind::AgentPosition { .. })
}

/// True if an argument is one id; a number of four digits and more that counts nothing may be one, too.
fn is_node(arg: &Arg) -> bool {
    let counts = arg.key.is_some_and(|key| key != OptionName::Tree) || arg.unit.is_some();
    let beside_a_node = !matches!(
        arg.noun,
        Some(
            Noun::Line
                | Noun::Turn
                | Noun::Token
                | Noun::Character
                | Noun::Todo
                | Noun::Change
                | Noun::Result
                | Noun::Times
        )
    );
    let number = matches!(arg.kind, ArgKind::Number(1_000..)) && arg.text.end - arg.text.start > 3;
    arg.kind == ArgKind::Id || is_reference(arg) || number && !counts && beside_a_node
}
