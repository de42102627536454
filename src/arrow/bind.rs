//! From an operation and its arguments to a typed command.
//!
//! Each operation takes out of the bag what it has a place for. Something that it needs and does not find, or
//! something that stays behind, means that the line was not understood, and it is refused rather than run in part.

mod kept;
mod nodes;

use super::{
    Command, NodeRef, Range, Span,
    args::{Arg, Bag, What},
    classify::Cues,
    key::Key,
    lex::Bytes,
    lexicon::{Noun, Prep, Verb},
    terms,
};
use crate::tools::{MAX_CONTENT_BYTES, Tool};

/// Why arguments make no command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BindError {
    /// Something is needed and not there.
    Missing(&'static str),
    /// Something is there that has no place.
    Left(Bytes),
    /// A number or a text is over its limit.
    Limit(String, Bytes),
}

type Bound<T = Command> = Result<T, BindError>;

/// A bag at work: what the verb and its objects said beside the arguments.
pub(super) struct Binder<'a, 'b> {
    pub(super) bag: &'b mut Bag<'a>,
    pub(super) tool: Tool,
    /// The verb's place.
    pub(super) at: usize,
    pub(super) cues: Cues,
    pub(super) verb: Verb,
    /// The verb as it was written, lowered.
    pub(super) said: &'b str,
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
        binder.bag.take(|arg| arg.what == What::Number(1) && arg.key.is_none() && made(arg));
    }
    let command = binder.command(tool)?;
    binder.nothing_left()?;
    Ok(command)
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
            Tool::Undo if self.bag.signs.whole => Err(BindError::Missing("how many changes")),
            Tool::Undo => Ok(Command::Undo { n: self.count() }),
            Tool::Redo => Ok(Command::Redo { n: self.count() }),
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
                self.bag.args.clear();
                Ok(Command::Think { content: None })
            }
            Tool::Help => Ok(self.help()),
        }
    }

    /// Fails if an argument has found no place. Words that name nothing are not arguments; they only cost confidence.
    fn nothing_left(&mut self) -> Bound<()> {
        for arg in &self.bag.args {
            if arg.what != What::Name || arg.key.is_some() && !matches!(arg.key, Some(Key::Include | Key::Content)) {
                return Err(BindError::Left(arg.text));
            }
        }
        // A word right behind the verb makes a noun of it: `link rot`, `a switch in tone`.
        let verb = self.at;
        let close =
            self.bag.args.iter().filter(|arg| arg.at == verb + 1 || arg.at == verb + 2 && arg.prep.is_some()).count();
        self.bag.close += u32::try_from(close).unwrap_or(u32::MAX);
        self.bag.strange += u32::try_from(self.bag.args.len()).unwrap_or(u32::MAX);
        self.bag.first_strange = self.bag.args.first().map(|arg| arg.text);
        Ok(())
    }

    fn node_ref(&self, arg: &Arg) -> NodeRef {
        NodeRef::from(arg.text.of(self.bag.line))
    }

    /// The first id.
    fn node(&mut self) -> Option<NodeRef> {
        let arg = self.bag.take(|arg| is_node(arg) && matches!(arg.key, Some(Key::Node)));
        let arg = arg.or_else(|| self.bag.take(is_node)).or_else(|| self.quoted_id())?;
        Some(self.node_ref(&arg))
    }

    /// An id in quotes, where the operation has no use for a string.
    fn quoted_id(&mut self) -> Option<Arg> {
        let line = self.bag.line;
        let wordless = matches!(
            self.tool,
            Tool::View
                | Tool::List
                | Tool::Tree
                | Tool::Switch
                | Tool::Prune
                | Tool::Restore
                | Tool::Unbookmark
                | Tool::Exclude
                | Tool::Include
        );
        self.bag.take(|arg| {
            (wordless || arg.prep == Some(Prep::From))
                && matches!(arg.what, What::Text { .. })
                && arg.key.is_none()
                && (terms::is_id(arg.text.of(line)) || terms::is_number_id(arg.text.of(line)))
        })
    }

    fn needed_node(&mut self) -> Bound<NodeRef> {
        self.node().ok_or(BindError::Missing("a node's id"))
    }

    /// The first id, or none where the line points at the position: `exclude this node`.
    fn node_or_here(&mut self) -> Bound<Option<NodeRef>> {
        let node = self.node();
        let here = self.names(Noun::Here) || self.names(Noun::Node) || self.bag.signs.here;
        if node.is_none() && !here { Err(BindError::Missing("a node's id")) } else { Ok(node) }
    }

    /// All ids.
    fn nodes(&mut self) -> Vec<NodeRef> {
        let mut nodes = Vec::new();
        while let Some(arg) = self.bag.take(|arg| is_node(arg) || matches!(arg.what, What::IdRange { .. })) {
            if let What::IdRange { ends, begins } = arg.what {
                let text = arg.text.of(self.bag.line);
                nodes.extend([NodeRef::from(&text[..ends]), NodeRef::from(&text[begins..])]);
            } else {
                nodes.push(self.node_ref(&arg));
            }
        }
        nodes
    }

    /// A text said to be for one of `keys`.
    fn text_for(&mut self, keys: &[Key]) -> Option<String> {
        let fits = |arg: &Arg| arg.key.is_some_and(|key| keys.contains(&key));
        let arg = self.bag.take(|arg| matches!(arg.what, What::Text { .. }) && fits(arg))?;
        Some(self.bag.value(&arg))
    }

    /// A text or a name said to be for one of `keys`.
    fn name_for(&mut self, keys: &[Key]) -> Option<String> {
        let arg = self.bag.take(|arg| {
            arg.key.is_some_and(|key| keys.contains(&key))
                && (!matches!(arg.what, What::Number(_) | What::Range(..))
                    || keys.contains(&Key::Label) && arg.unit.is_none())
        })?;
        Some(self.bag.value(&arg))
    }

    /// A text that `fits`.
    fn text_where(&mut self, fits: impl Fn(&Arg) -> bool) -> Option<String> {
        let arg = self.bag.take(|arg| matches!(arg.what, What::Text { .. }) && fits(arg))?;
        Some(self.bag.value(&arg))
    }

    /// The content: what is said to be it, else the last text.
    fn content(&mut self) -> Bound<String> {
        let said = self.bag.take(|arg| matches!(arg.what, What::Text { .. }) && arg.key == Some(Key::Content));
        let arg = said.or_else(|| self.bag.take(|arg| matches!(arg.what, What::Text { .. })));
        let Some(arg) = arg else { return Err(BindError::Missing("the text, in quotes")) };
        let text = self.bag.value(&arg);
        if text.len() > MAX_CONTENT_BYTES {
            return Err(BindError::Limit(format!("content is at most {MAX_CONTENT_BYTES} bytes"), arg.text));
        }
        if text.is_empty() { Err(BindError::Missing("the text, in quotes")) } else { Ok(text) }
    }

    /// A number that `fits`.
    fn number(&mut self, fits: impl Fn(&Arg) -> bool) -> Option<(u32, Bytes)> {
        let arg = self.bag.take(|arg| matches!(arg.what, What::Number(_)) && fits(arg))?;
        match arg.what {
            What::Number(number) => Some((number, arg.text)),
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

    /// How many: of changes to take back.
    fn count(&mut self) -> Option<u32> {
        self.number(|_| true).map(|(number, _)| number)
    }

    /// A range of numbers; one number is a range, too.
    fn range(&mut self, fits: impl Fn(&Arg) -> bool) -> Option<Range> {
        let arg = self.bag.take(|arg| matches!(arg.what, What::Range(..) | What::Number(_)) && fits(arg))?;
        match arg.what {
            What::Range(first, last) => Some(Range { first: first.min(last), last: last.max(first) }),
            What::Number(number) => Some(Range { first: number, last: number }),
            _ => None,
        }
    }

    /// A part of a path.
    fn span(&mut self) -> Option<Span> {
        let mut nodes = self.nodes().into_iter();
        Some(Span { first: nodes.next()?, last: nodes.next()? })
    }

    /// A document's name.
    fn doc(&mut self) -> Option<String> {
        let arg = self
            .bag
            .take(|arg| arg.key == Some(Key::Doc) && !matches!(arg.what, What::Number(_) | What::Range(..)))
            .or_else(|| self.bag.take(|arg| arg.what == What::File && arg.key.is_none_or(|key| key != Key::Section)))?;
        Some(self.bag.value(&arg))
    }

    fn names(&self, noun: Noun) -> bool {
        self.cues.names(noun)
    }

    fn has(&self, prep: Prep) -> bool {
        self.cues.has(prep)
    }

    /// Whether one of these flags or words stands in the line.
    fn flagged(&self, names: &[&str]) -> bool {
        self.bag.flags.iter().any(|flag| names.iter().any(|name| flag.eq_ignore_ascii_case(name)))
    }
}

/// Whether an argument is one id; a number of four digits and more that counts nothing may be one, too.
fn is_node(arg: &Arg) -> bool {
    let counts = arg.key.is_some_and(|key| key != Key::Tree) || arg.unit.is_some();
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
    let number = matches!(arg.what, What::Number(1_000..)) && arg.text.end - arg.text.start > 3;
    arg.what == What::Id || number && !counts && beside_a_node
}
