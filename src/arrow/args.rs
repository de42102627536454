//! The arguments of a request, each with what its neighbours say of it.
//!
//! An argument's part in the command is told by a name (`label:`, `--label`, `labelled`), by a preposition (`to b3k9`),
//! by the noun before it (`section "S"`) or, with a number, the noun behind it (`3 tokens`). The bag keeps these beside
//! each argument; `bind` takes out what an operation has a place for. What stays in the bag was not understood.

mod words;

use super::{
    act::{Act, Zone},
    key::Key,
    lex::Bytes,
    lexicon::{Form, Func, Noun, Prep, Verb},
    terms::{Shape, Term},
};
use crate::tools::Tool;

/// What an argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// A node's id.
    Id,
    /// Two ids, from the first to the last.
    IdRange { ends: usize, begins: usize },
    /// A string, a block, or what stands unquoted after a colon.
    Text { escapes: bool },
    /// A document's or site's name.
    File,
    /// A word that names something.
    Name,
    /// A number.
    Number(u32),
    /// Numbers, from the first to the last.
    Range(u32, u32),
}

/// An argument.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arg {
    pub(super) what: What,
    pub(super) text: Bytes,
    /// The name that was said for it.
    pub(super) key: Option<Key>,
    /// The preposition before it.
    pub(super) prep: Option<Prep>,
    /// The noun before it.
    pub(super) noun: Option<Noun>,
    /// The noun behind it, where it is a number.
    pub(super) unit: Option<Noun>,
    /// Whether an arrow or a plus stands before it.
    pub(super) arrow: bool,
    /// Its term.
    pub(super) at: usize,
}

/// A request's arguments.
#[derive(Debug)]
pub(super) struct Bag<'a> {
    pub(super) line: &'a str,
    pub(super) args: Vec<Arg>,
    /// The noun after `as`: `as context`, `as an instruction`.
    pub(super) role: Option<Noun>,
    /// Flags that are no names of options.
    pub(super) flags: Vec<&'a str>,
    /// Words that were not understood, and where the first is.
    pub(super) strange: u32,
    /// How many of them stand close behind the verb.
    pub(super) close: u32,
    pub(super) first_strange: Option<Bytes>,
    /// What single words say.
    pub(super) signs: Signs,
}

/// What single words of a request say, whatever the operation.
#[derive(Debug, Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools)] // independent signs, each of one word
pub(super) struct Signs {
    /// `full`, `the whole of`.
    pub(super) whole: bool,
    /// `here`, `this node`.
    pub(super) here: bool,
    /// `..`.
    pub(super) up: bool,
    /// `/`.
    pub(super) slash: bool,
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
    /// `wait`, or `don't wait`.
    pub(super) waits: Option<bool>,
    /// The last operation that is named.
    pub(super) tool: Option<Tool>,
}

/// Gathers the arguments of the zones that `within` allows.
pub(super) fn gather<'a>(
    line: &'a str,
    terms: &[Term],
    act: &Act,
    verb: usize,
    within: impl Fn(Zone) -> bool,
) -> Bag<'a> {
    let mut bag = Bag {
        line,
        args: Vec::with_capacity(8),
        role: None,
        flags: Vec::new(),
        strange: 0,
        close: 0,
        first_strange: None,
        signs: Signs::default(),
    };
    let mut lead = Lead::default();
    let mut at = 0;
    while at < terms.len() {
        let term = &terms[at];
        if !within(act.zones[at]) || at == verb {
            bag.signs.slash |= term.is('/');
            bag.signs.dash |= term.is('-') && at + 1 == terms.len();
            bag.signs.up |= term.is('.') && at > 0 && terms[at - 1].is('.');
            if term.shape == Shape::Mark('→') || term.shape == Shape::Mark('>') || term.is('➜') || term.is('⇒') {
                lead.arrow = true;
            }
            // A list goes on after a comma, anything else begins anew.
            if !matches!(term.shape, Shape::Mark(',' | '[' | '(' | ']' | '"' | '`' | '@' | '-' | '>' | '→' | ':' | '='))
                && act.zones[at] != Zone::Skip
            {
                lead = Lead::default();
            }
            at += 1;
            continue;
        }
        at = bag.term(terms, act, at, &mut lead);
    }
    if let Some(said) = terms.get(verb) {
        let tool = bag.signs.tool;
        bag.sign(terms, verb, said.text.of(line));
        let own = bag.signs.tool.filter(|tool| *tool != Tool::Help);
        bag.signs.tool = tool.filter(|tool| *tool != Tool::Help || own.is_none()).or(own);
    }
    if let Some(raw) = act.raw {
        let text = raw.of(line);
        let trimmed = text.trim();
        let start = raw.start + (text.len() - text.trim_start().len());
        if !trimmed.is_empty() {
            let text = Bytes { start, end: start + trimmed.len() };
            bag.args.push(Arg {
                what: What::Text { escapes: false },
                at: terms.len(),
                ..lead.arg(What::Name, text, 0)
            });
        }
    }
    bag
}

/// What has been said of the next argument.
#[derive(Debug, Clone, Copy, Default)]
struct Lead {
    key: Option<Key>,
    prep: Option<Prep>,
    noun: Option<Noun>,
    arrow: bool,
}

impl Lead {
    const fn arg(self, what: What, text: Bytes, at: usize) -> Arg {
        Arg { what, text, key: self.key, prep: self.prep, noun: self.noun, unit: None, arrow: self.arrow, at }
    }
}

impl<'a> Bag<'a> {
    /// Takes one term in, or a few that make one argument; gives the place of the next.
    fn term(&mut self, terms: &[Term], act: &Act, at: usize, lead: &mut Lead) -> usize {
        let term = &terms[at];
        let text = term.text;
        let what = match term.shape {
            Shape::Id => What::Id,
            Shape::IdRange { ends, begins } => What::IdRange { ends, begins },
            Shape::Text { escapes } => What::Text { escapes },
            Shape::Block => What::Text { escapes: false },
            Shape::File => What::File,
            // What describes a noun may tell anything.
            Shape::Name if act.zones[at] == Zone::Relative => return at + 1,
            // `summary=true`
            Shape::Name if at > 0 && matches!(terms[at - 1].shape, Shape::Key(key) if key.is_switch()) => {
                return at + 1;
            }
            // `append=true`
            Shape::Name if at > 0 && matches!(terms[at - 1].shape, Shape::Key(_)) && text.of(self.line) == "true" => {
                return at + 1;
            }
            // An adverb says how.
            Shape::Name if lead.key.is_none() && text.end - text.start > 4 && text.of(self.line).ends_with("ly") => {
                return at + 1;
            }
            Shape::Name if lead.key.is_none() && describes(terms, at) => return at + 1,
            Shape::Name => What::Name,
            Shape::Range(first, last) => What::Range(first, last),
            Shape::Number(_) => return self.number(terms, at, lead),
            Shape::Key(key) => {
                self.signs.whole |= key == Key::Full;
                lead.key = Some(key).filter(|key| !key.is_switch());
                return at + 1;
            }
            Shape::Flag => {
                let name = term.text.of(self.line);
                self.sign(terms, at, name);
                match flag(name) {
                    Some(key) if key.is_switch() => self.flags.push(name),
                    Some(key) => lead.key = Some(key),
                    None => self.flags.push(name),
                }
                return at + 1;
            }
            Shape::Mark(c) => {
                self.signs.slash |= c == '/';
                self.signs.dash |= c == '-' && at + 1 == terms.len();
                self.signs.up |= c == '.' && at > 0 && terms[at - 1].is('.');
                lead.arrow |= matches!(c, '→' | '➜' | '⇒' | '➔' | '⟶' | '>' | '+');
                return at + 1;
            }
            Shape::Word => {
                // After `name:` any word is a value.
                if at > 0 && self.is_value(terms, at) {
                    What::Name
                } else {
                    self.word(terms, at, lead);
                    return at + 1;
                }
            }
        };
        let mut arg = lead.arg(what, text, at);
        if matches!(what, What::Text { .. } | What::Name) && names_node(lead.key, text.of(self.line)) {
            arg.what = What::Id;
        }
        let mut next = at + 1;
        // `the "Tone" section`: the noun may stand behind.
        let behind = terms.get(next).filter(|term| term.shape == Shape::Word && term.gap);
        if matches!(what, What::Text { .. } | What::Name | What::File)
            && (arg.key.is_none() || what != What::Name)
            && let Some(key) = behind.and_then(|term| term.entry.noun).and_then(behind_name)
            && !terms.get(next + 1).is_some_and(|term| term.is_text() || term.is(':') || term.is_id())
        {
            arg.key = Some(key);
            next += 1;
        }
        self.args.push(arg);
        // Of a list all have the same lead; else it is used up.
        let listed = terms.get(at + 1).is_some_and(|next| next.is(',') || next.entry.func == Some(Func::And));
        if !listed || act.zones.get(at + 1) == Some(&Zone::Main) && lead.key.is_none() {
            *lead = Lead::default();
        }
        next
    }

    /// Whether any word at `at` is a value: behind `name:`, `--name`, `=`.
    fn is_value(&self, terms: &[Term], at: usize) -> bool {
        match terms[at - 1].shape {
            Shape::Key(key) => !key.is_switch(),
            Shape::Flag => flag(terms[at - 1].text.of(self.line)).is_some_and(|key| !key.is_switch()),
            Shape::Mark('=') if at > 1 && terms[at - 2].shape == Shape::Flag => true,
            Shape::Mark(c) => {
                matches!(c, '=' | ':') && at > 1 && matches!(terms[at - 2].shape, Shape::Key(key) if !key.is_switch())
            }
            _ => false,
        }
    }

    /// The text of an argument, escapes resolved.
    pub(super) fn value(&self, arg: &Arg) -> String {
        let text = arg.text.of(self.line);
        if arg.what == (What::Text { escapes: true }) && text.contains('\\') { unescape(text) } else { text.to_owned() }
    }

    /// Takes the first argument that `fits` out.
    pub(super) fn take(&mut self, fits: impl Fn(&Arg) -> bool) -> Option<Arg> {
        let at = self.args.iter().position(fits)?;
        Some(self.args.remove(at))
    }
}

/// Whether the word at `at` only describes the node that is named behind it, or a noun: `the funeral scene a7x2`,
/// `a rough summary`, `from the pruned pile`.
pub(super) fn describes(terms: &[Term], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| &terms[before]);
    let next = terms.get(at + 1);
    let noun =
        next.is_some_and(|next| next.shape == Shape::Word && next.entry.noun.is_some() && next.entry.verb.is_none());
    if noun && before.is_some_and(|before| before.entry.func == Some(Func::Det)) {
        return true;
    }
    if before.is_some_and(|before| matches!(before.entry.verb, Some((Verb::Prune | Verb::Remove, Form::Past)))) {
        return true;
    }
    let is_part = |term: &Term| {
        matches!(term.shape, Shape::Name)
            || matches!(term.entry.func, Some(Func::Adjective | Func::One))
            || term.shape == Shape::Word && term.entry.noun.is_some()
    };
    let ahead = terms[at + 1..].iter().position(|term| !is_part(term)).map(|n| at + 1 + n);
    // `the funeral scene, a7x2`
    let ahead = ahead.and_then(|ahead| terms.get(ahead + usize::from(terms[ahead].is(','))));
    let behind = terms[..at].iter().rposition(|term| !is_part(term)).map(|n| &terms[n]);
    ahead.is_some_and(Term::is_id)
        && behind.is_some_and(|term| term.entry.func == Some(Func::Det) || matches!(term.shape, Shape::Number(_)))
}

/// Whether a verb may stand among the arguments: it leads to one, or says how the operation is done.
pub(super) const fn helps(verb: Verb) -> bool {
    matches!(
        verb,
        Verb::Name
            | Verb::Limit
            | Verb::Exclude
            | Verb::Include
            | Verb::Use
            | Verb::Skip
            | Verb::See
            | Verb::Get
            | Verb::Respond
            | Verb::Add
            | Verb::Finish
            | Verb::Cancel
            | Verb::Resume
            | Verb::Search
            | Verb::Grep
            | Verb::Pause
            | Verb::Compare
            | Verb::Go
            | Verb::Leave
            | Verb::Annotate
            | Verb::Write
            | Verb::Read
            | Verb::Carry
            | Verb::List
    )
}

/// The option that a flag names.
pub(super) fn flag(name: &str) -> Option<Key> {
    match name {
        "m" => Some(Key::Content),
        "view" => Some(Key::What),
        name => Key::named(name),
    }
}

/// The part of a name that this noun stands behind.
const fn behind_name(noun: Noun) -> Option<Key> {
    match noun {
        Noun::Section | Noun::Doc | Noun::Tree | Noun::Agent | Noun::Tool => named(noun),
        Noun::Stash => Some(Key::Stash),
        _ => None,
    }
}

/// The part that an argument has behind this noun.
const fn named(noun: Noun) -> Option<Key> {
    Some(match noun {
        Noun::Label => Key::Label,
        Noun::Section => Key::Section,
        Noun::Doc => Key::Doc,
        Noun::Agent => Key::Agent,
        Noun::Tool => Key::Tool,
        Noun::Outcome => Key::Outcome,
        Noun::Background => Key::Context,
        Noun::Query => Key::Query,
        Noun::Depth => Key::Depth,
        Noun::Maximum => Key::Limit,
        Noun::Reason => Key::Note,
        Noun::Text => Key::Content,
        Noun::Tree => Key::Tree,
        Noun::Site => Key::Include,
        _ => return None,
    })
}

/// Resolves `\"`, `\\`, `\n` and `\t`; what else a backslash stands before stays as it is.
pub(super) fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match characters.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some(c @ ('"' | '\\' | '\'' | '“' | '”' | '’' | '»')) => plain.push(c),
            Some(c) => plain.extend(['\\', c]),
            None => plain.push('\\'),
        }
    }
    plain
}

/// `node="a7x2"`, `from=verge`: an id, because it is said to be one. A prefix of one has two characters at least.
fn names_node(key: Option<Key>, value: &str) -> bool {
    matches!(key, Some(Key::Node | Key::From | Key::To | Key::Branch | Key::ContentOf | Key::Path | Key::Below))
        && value.len() > 1
        && value.bytes().all(|b| b.is_ascii_alphanumeric())
}
