//! The arguments of a request, each with what its neighbours say of it.
//!
//! An argument's part in the command is identified by a name (`label:`, `--label`, `labelled`), by a preposition (`to b3k9`),
//! by the noun before it (`section "S"`) or, with a number, the noun behind it (`3 tokens`). The bag keeps these beside
//! each argument; `bind` takes out what an operation has a place for. What stays in the bag was not understood.

mod argument_words;
mod names;

use self::names::{behind_name, named, names_node};
pub(super) use self::names::{describes, flag, helps, is_escapable, unescape};
use super::{
    Relative,
    annotate_tokens::{AnnotatedToken, TokenKind},
    intent::{ClauseRole, Intent},
    lex::{ARROWS, Span},
    lexicon::{FunctionWord, Noun, Prep, Verb, within_one_edit},
    option_name::OptionName,
};
use crate::tools::Tool;

/// Type of an argument, by its form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArgKind {
    /// A node's id.
    Id,
    /// Two ids, from the first to the last.
    IdRange { ends: usize, begins: usize },
    /// A string, a block, or what stands unquoted after a colon.
    Text { escapes: bool },
    /// A place relative to the position.
    Place(Relative),
    /// The label of a bookmark that names its node.
    BookmarkLabel { escapes: bool },
    /// An agent whose position names the node.
    AgentPosition { escapes: bool },
    /// A document's or site's name.
    File,
    /// A word that names something.
    Name,
    /// A number in digits.
    Number(u32),
    /// Numbers, from the first to the last.
    Range(u32, u32),
}

/// An argument.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arg {
    pub(super) kind: ArgKind,
    pub(super) text: Span,
    /// The name that was said for it.
    pub(super) key: Option<OptionName>,
    /// The preposition before it.
    pub(super) prep: Option<Prep>,
    /// The noun before it.
    pub(super) noun: Option<Noun>,
    /// The noun behind it, where it is a number.
    pub(super) unit: Option<Noun>,
    /// True if an arrow or a plus stands before it.
    pub(super) arrow: bool,
    /// Its term.
    pub(super) at: usize,
}

/// A request's arguments.
#[derive(Debug)]
pub(super) struct Arguments<'a> {
    pub(super) line: &'a str,
    pub(super) items: Vec<Arg>,
    /// The noun after `as`: `as context`, `as an instruction`.
    pub(super) role: Option<Noun>,
    /// Flags that are no names of options.
    pub(super) flags: Vec<&'a str>,
    /// Words that were not understood, and where the first is.
    pub(super) unknown_words: u32,
    /// Number of unknown words directly behind the verb.
    pub(super) unknown_near_verb: u32,
    pub(super) first_unknown_word: Option<Span>,
    /// Modifiers from single words.
    pub(super) modifiers: Modifiers,
}

impl Arguments<'_> {
    /// True if the word stands in the line, and not inside an argument.
    pub(super) fn has_bare_word(&self, word: &str) -> bool {
        let lower = self.line.to_ascii_lowercase();
        let inside = |at: usize| {
            let values = self.items.iter().filter(|arg| arg.kind != ArgKind::Name);
            values.map(|arg| arg.text).any(|text| (text.start..text.end).contains(&at))
        };
        lower.match_indices(word).any(|(at, _)| {
            let joins = |c: char| c.is_alphanumeric();
            let whole = !lower[..at].ends_with(joins) && !lower[at + word.len()..].starts_with(joins);
            whole && !inside(at)
        })
    }
}

/// Modifiers that single words set, independent of the operation.
#[derive(Debug, Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools)] // independent signs, each of one word
pub(super) struct Modifiers {
    /// `full`, `the whole of`.
    pub(super) whole: bool,
    /// `here`, `this node`.
    pub(super) here: bool,
    /// `-` alone, where a shell goes back to.
    pub(super) dash: bool,
    /// `sample once`.
    pub(super) once: bool,
    /// `search`, `for`.
    pub(super) searches: bool,
    /// `add`.
    pub(super) adds: bool,
    /// `done`.
    pub(super) finishes: bool,
    /// `cancel`.
    pub(super) cancels: bool,
    /// `resume`.
    pub(super) resumes: bool,
    /// `list`.
    pub(super) lists: bool,
    /// `wait`, or `don't wait`.
    pub(super) waits: Option<bool>,
    /// The last operation that is named.
    pub(super) tool: Option<Tool>,
}

/// Gathers the arguments of the zones that `within` allows.
pub(super) fn gather<'a>(
    line: &'a str,
    terms: &[AnnotatedToken],
    intent: &Intent,
    verb: usize,
    within: impl Fn(ClauseRole) -> bool,
) -> Arguments<'a> {
    let mut arguments = Arguments {
        line,
        items: Vec::with_capacity(8),
        role: None,
        flags: Vec::new(),
        unknown_words: 0,
        unknown_near_verb: 0,
        first_unknown_word: None,
        modifiers: Modifiers::default(),
    };
    let mut prefix = ArgPrefix::default();
    let mut at = 0;
    while at < terms.len() {
        let term = &terms[at];
        if !within(intent.zones[at]) || at == verb {
            arguments.modifiers.dash |= term.is('-') && at + 1 == terms.len();
            prefix.arrow |= matches!(term.kind, TokenKind::Mark(c) if c == '>' || ARROWS.contains(&c));
            // A list goes on after a comma, anything else begins anew.
            if !matches!(
                term.kind,
                TokenKind::Mark(',' | '[' | '(' | ']' | '"' | '`' | '@' | '-' | '>' | '→' | ':' | '=')
            ) && intent.zones[at] != ClauseRole::Skip
            {
                prefix = ArgPrefix::default();
            }
            at += 1;
            continue;
        }
        let is_named = at > 0
            && matches!(terms[at - 1].kind, TokenKind::OptionName(_) | TokenKind::Flag | TokenKind::Mark('=' | ':'));
        let is_before = intent.zones[at] == ClauseRole::Before && !is_named;
        at = arguments.term(terms, intent, at, &mut prefix);
        // `before the call at four, read me "x"`: a number that counts nothing belongs to what is said before the request.
        if is_before {
            arguments
                .items
                .pop_if(|arg| matches!(arg.kind, ArgKind::Number(_)) && arg.unit.is_none() && arg.noun.is_none());
        }
    }
    if let Some(said) = terms.get(verb) {
        let tool = arguments.modifiers.tool;
        arguments.modifier(terms, verb, said.text.of(line));
        // `show help`: a synonym names no operation.
        let is_own = |tool: &Tool| *tool != Tool::Help && tool.name().eq_ignore_ascii_case(said.text.of(line));
        let own = arguments.modifiers.tool.filter(is_own);
        let asks_help = said.entry.base() == Some(Verb::Help);
        let named = tool.filter(|tool| *tool != Tool::Help || asks_help && own.is_none());
        arguments.modifiers.tool = named.or(own);
    }
    if let Some(raw) = intent.raw {
        let text = raw.of(line);
        let trimmed = text.trim();
        let start = raw.start + (text.len() - text.trim_start().len());
        if !trimmed.is_empty() {
            let text = Span { start, end: start + trimmed.len() };
            arguments.items.push(Arg {
                kind: ArgKind::Text { escapes: false },
                at: terms.len(),
                ..prefix.arg(ArgKind::Name, text, 0)
            });
        }
    }
    arguments.drop_repeated_number();
    arguments
}

/// Key, preposition and noun that apply to the next argument.
#[derive(Debug, Clone, Copy, Default)]
struct ArgPrefix {
    key: Option<OptionName>,
    prep: Option<Prep>,
    noun: Option<Noun>,
    arrow: bool,
}

impl ArgPrefix {
    const fn arg(self, kind: ArgKind, text: Span, at: usize) -> Arg {
        Arg { kind, text, key: self.key, prep: self.prep, noun: self.noun, unit: None, arrow: self.arrow, at }
    }
}

impl<'a> Arguments<'a> {
    /// Takes one term in, or a few that make one argument; gives the place of the next.
    fn term(&mut self, terms: &[AnnotatedToken], intent: &Intent, at: usize, prefix: &mut ArgPrefix) -> usize {
        let term = &terms[at];
        let text = term.text;
        let what = match term.kind {
            TokenKind::Id => ArgKind::Id,
            TokenKind::IdRange { ends, begins } => ArgKind::IdRange { ends, begins },
            TokenKind::Text { escapes } => ArgKind::Text { escapes },
            TokenKind::Block => ArgKind::Text { escapes: false },
            TokenKind::Place(place) => ArgKind::Place(place),
            TokenKind::BookmarkLabel { escapes } => ArgKind::BookmarkLabel { escapes },
            TokenKind::AgentPosition { escapes } => ArgKind::AgentPosition { escapes },
            TokenKind::File => ArgKind::File,
            TokenKind::Name if self.is_ignored_name(terms, intent, at, prefix) => return at + 1,
            TokenKind::Name => ArgKind::Name,
            TokenKind::Range(first, last) => ArgKind::Range(first, last),
            TokenKind::Number(_) => return self.number(terms, at, prefix),
            TokenKind::OptionName(key) => {
                self.modifiers.whole |= key == OptionName::Full;
                prefix.key = Some(key).filter(|key| !key.is_switch());
                return at + 1;
            }
            TokenKind::Flag => {
                let name = term.text.of(self.line);
                self.modifier(terms, at, name);
                match flag(name) {
                    Some(key) if key.is_switch() => self.flags.push(name),
                    Some(key) => prefix.key = Some(key),
                    None => self.flags.push(name),
                }
                return at + 1;
            }
            TokenKind::Mark(c) => {
                self.modifiers.dash |= c == '-' && at + 1 == terms.len();
                if c == '§' {
                    prefix.key = Some(OptionName::Section);
                }
                prefix.arrow |= matches!(c, '>' | '+') || ARROWS.contains(&c);
                return at + 1;
            }
            TokenKind::Word => {
                // After `name:` any word is a value.
                if at > 0 && self.is_value(terms, at) {
                    ArgKind::Name
                } else {
                    self.word(terms, at, prefix);
                    return at + 1;
                }
            }
        };
        let mut arg = prefix.arg(what, text, at);
        // `from:it` names no node, and a known word no id: `prune node:keep`.
        let may_be_id = matches!(what, ArgKind::Text { .. }) || what == ArgKind::Name && term.kind != TokenKind::Word;
        if may_be_id && names_node(prefix.key, text.of(self.line)) {
            arg.kind = ArgKind::Id;
        }
        let mut next = at + 1;
        // `the "Tone" section`: the noun may stand behind.
        let behind = terms.get(next).filter(|term| term.kind == TokenKind::Word && term.gap);
        if matches!(what, ArgKind::Text { .. } | ArgKind::Name | ArgKind::File)
            && (arg.key.is_none() || what != ArgKind::Name)
            // `read doc:"d" sect. "s"`
            && !(terms.get(next + 1).is_some_and(|mark| mark.is('.')) && terms.get(next + 2).is_some_and(AnnotatedToken::is_text))
            && let Some(key) = behind.and_then(|term| term.entry.noun).and_then(behind_name)
            && !terms.get(next + 1).is_some_and(|term| term.is_text() || term.is(':') || term.is_id())
        {
            arg.key = Some(key);
            next += 1;
        }
        self.items.push(arg);
        // Of a list all have the same lead; else it is used up.
        let takes_one = names_node(prefix.key, "id") || matches!(what, ArgKind::IdRange { .. });
        let listed = !takes_one
            && terms.get(at + 1).is_some_and(|next| next.is(',') || next.entry.func == Some(FunctionWord::And));
        if !listed || intent.zones.get(at + 1) == Some(&ClauseRole::Main) && prefix.key.is_none() {
            *prefix = ArgPrefix::default();
        }
        next
    }

    /// True if an unknown word is no argument: an adverb, a word of a description, the value of a switch.
    fn is_ignored_name(&self, terms: &[AnnotatedToken], intent: &Intent, at: usize, prefix: &ArgPrefix) -> bool {
        let text = terms[at].text;
        // `summary=true`, `append=true`
        let switch = at > 0
            && matches!(terms[at - 1].kind, TokenKind::OptionName(key)
                if key.is_switch() || text.of(self.line) == "true");
        let adverb = prefix.key.is_none() && text.end - text.start > 4 && text.of(self.line).ends_with("ly");
        let yes = text.of(self.line) == "true" && at > 0 && matches!(terms[at - 1].kind, TokenKind::Mark('=' | ':'));
        // `using agnt "Harrow"`
        let agent = prefix.key == Some(OptionName::Agent)
            && terms.get(at + 1).is_some_and(AnnotatedToken::is_text)
            && within_one_edit(text.of(self.line).as_bytes(), b"agent");
        // `with the steer "x"`
        let leads = prefix.key.is_none()
            && at > 0
            && terms[at - 1].entry.func == Some(FunctionWord::Det)
            && terms.get(at + 1).is_some_and(AnnotatedToken::is_text);
        intent.zones[at] == ClauseRole::Relative
            || switch
            || agent
            || leads
            || yes && prefix.key.is_none()
            || adverb
            || prefix.key.is_none() && describes(terms, at)
    }

    /// True if any word at `at` is a value: behind `name:`, `--name`, `=`.
    fn is_value(&self, terms: &[AnnotatedToken], at: usize) -> bool {
        match terms[at - 1].kind {
            TokenKind::OptionName(key) => !key.is_switch(),
            TokenKind::Flag => flag(terms[at - 1].text.of(self.line)).is_some_and(|key| !key.is_switch()),
            TokenKind::Mark('=') if at > 1 && terms[at - 2].kind == TokenKind::Flag => true,
            TokenKind::Mark(c) => {
                matches!(c, '=' | ':')
                    && at > 1
                    && matches!(terms[at - 2].kind, TokenKind::OptionName(key) if !key.is_switch())
            }
            _ => false,
        }
    }

    /// Drops a number that an option says again: `two continuations (n=2)`.
    fn drop_repeated_number(&mut self) {
        let is_count = |arg: &Arg| matches!(arg.key, Some(OptionName::N | OptionName::Depth | OptionName::Limit));
        let number = |arg: &Arg| if let ArgKind::Number(number) = arg.kind { Some(number) } else { None };
        let counted: Vec<u32> = self.items.iter().filter(|arg| is_count(arg)).filter_map(number).collect();
        // `recall turns 5 limit:5`, `continue n:3, 3 words`: these count something else.
        let counts_else = |arg: &Arg| matches!(arg.unit.or(arg.noun), Some(Noun::Turn | Noun::Text | Noun::Token));
        self.items.retain(|arg| {
            arg.key.is_some() || counts_else(arg) || number(arg).is_none_or(|number| !counted.contains(&number))
        });
    }

    /// The text of an argument, escapes resolved.
    pub(super) fn value(&self, arg: &Arg) -> String {
        let text = arg.text.of(self.line);
        let escapes = matches!(
            arg.kind,
            ArgKind::Text { escapes: true }
                | ArgKind::BookmarkLabel { escapes: true }
                | ArgKind::AgentPosition { escapes: true }
        );
        if escapes && text.contains('\\') { unescape(text) } else { text.to_owned() }
    }

    /// Takes the first argument that `fits` out.
    pub(super) fn take(&mut self, fits: impl Fn(&Arg) -> bool) -> Option<Arg> {
        let at = self.items.iter().position(fits)?;
        Some(self.items.remove(at))
    }
}
