//! From a line to a command, or to a refusal that says what was understood.
//!
//! The steps, each a module: `lex` cuts the line into tokens, `terms` looks them up, `act` finds out whether the line
//! asks for something and where, `classify` which operation is meant, `args` and `bind` with which arguments. Each step
//! may doubt, and doubt adds up: a line is run only if what is left of confidence is enough for what its operation can
//! do. Everything else is refused, which costs a model one more line; a wrong operation costs more.

mod doubts;
mod object;

use std::fmt;

use serde::Serialize;

use self::doubts::{dangling, doubts};
use super::{
    Command,
    act::{self, Act, Speech, Zone},
    args::{self, Bag},
    bind::{self, BindError, Binder},
    classify::{self, Candidate},
    key::Key,
    lex::{self, Bytes, LexError},
    lexicon::{self, Func, Noun, Prep, Verb},
    probable,
    terms::{self, Shape, Term},
};
use crate::tools::{MAX_CONTENT_BYTES, SideEffect, Tool};

/// The longest line: content at its limit, escaped, and what stands around it.
const LONGEST_LINE: usize = 4 * MAX_CONTENT_BYTES;

/// The most tokens that are read as words of a request. Clauses are looked through more than once, so this bounds the
/// time; a content without quotes may be longer.
const MOST_WORDS: usize = 256;

/// The longest sentence, and the longest command offered, in bytes.
const LONGEST_SAID: usize = 1_000;

/// A line that was understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Understood {
    /// What it asks for.
    pub command: Command,
    /// How sure that is, up to 1. Never below what the operation's weight needs.
    pub confidence: f32,
}

/// Why a line is not run, by the codes of arrow lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RefusalCode {
    /// It was not understood, or not well enough.
    InvalidSyntax,
    /// A number or a content is over its limit.
    LimitExceeded,
}

impl fmt::Display for RefusalCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidSyntax => "INVALID_SYNTAX",
            Self::LimitExceeded => "LIMIT_EXCEEDED",
        })
    }
}

/// A line that is not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The kind of error.
    pub code: RefusalCode,
    /// The part of the line that it is about; all of it, if no part.
    pub span: Bytes,
    /// Why, in a sentence.
    pub message: String,
    /// What was understood, in words.
    pub understood: String,
    /// One or two commands that were probably meant, to be copied; each starts with `→ `.
    pub probable: Vec<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Refusal {}

/// Understands one arrow line: with or without its arrow, with its block if it has one.
///
/// ```
/// use loomtree::arrow;
///
/// let understood = arrow::understand("→ let's look at a7x2 in full").unwrap();
/// assert_eq!(understood.command.to_string(), "view a7x2 full");
/// assert!(arrow::understand("→ don't prune a7x2").is_err());
/// ```
///
/// # Errors
///
/// A [`Refusal`], where the line is not one command beyond reasonable doubt.
pub fn understand(line: &str) -> Result<Understood, Refusal> {
    let mut trace = Trace::default();
    consider(line, &mut trace)
}

/// What the steps found, kept for [`super::explain()`].
#[derive(Debug, Default)]
pub(super) struct Trace {
    pub(super) terms: Vec<Term>,
    pub(super) act: Option<Act>,
    pub(super) candidate: Option<Candidate>,
    pub(super) doubts: Vec<(&'static str, f32)>,
    pub(super) needed: f32,
}

/// Goes through all steps, and leaves what they found in `trace`.
pub(super) fn consider(line: &str, trace: &mut Trace) -> Result<Understood, Refusal> {
    if line.len() > LONGEST_LINE {
        let message = format!("a line is at most {LONGEST_LINE} bytes");
        return Err(refuse(RefusalCode::LimitExceeded, line, None, message, String::new(), Vec::new()));
    }
    let (line, thought) = thought(line);
    let bare;
    let line = match ticks(line) {
        // Blanks in their place, so that every span stays one of the line.
        Some([open, close]) => {
            bare = format!("{} {} {}", &line[..open], &line[open + 1..close], &line[close + 1..]);
            bare.as_str()
        }
        None => line,
    };
    let said = line.trim_start();
    if lex::arrow(said).map_or(said, |(rest, _)| rest.trim_start()).starts_with('>') {
        return Err(refuse(
            RefusalCode::InvalidSyntax,
            line,
            None,
            "it is a quotation".into(),
            String::new(),
            Vec::new(),
        ));
    }
    let lexed = lex::line(line).map_err(|error| unlexed(line, error))?;
    trace.terms = terms::terms(line, &lexed);
    if trace.terms.is_empty() {
        return Err(refuse(
            RefusalCode::InvalidSyntax,
            line,
            None,
            "the line is empty".into(),
            String::new(),
            Vec::new(),
        ));
    }
    let words = trace.terms.len();
    trace.terms.truncate(MOST_WORDS);
    let act = &*trace.act.insert(act::read(line, &mut trace.terms, lexed.end));
    if words > MOST_WORDS && act.raw.is_none() {
        let message = format!("a command has at most {MOST_WORDS} words and marks outside quotes");
        return Err(refuse(RefusalCode::LimitExceeded, line, None, message, String::new(), Vec::new()));
    }
    if act.speech != Speech::Request {
        return Err(unasked(line, &trace.terms, act));
    }
    trace.candidate = classify::classify(line, &trace.terms, act);
    let Some(mut candidate) = trace.candidate else {
        return Err(unasked(line, &trace.terms, act));
    };
    if let Some(end) = dangling(line, &trace.terms, act, &candidate) {
        let message = format!("something is missing after {:?}", end.of(line));
        let understood = format!("`{}`: {}", candidate.tool.name(), candidate.tool.spec().help);
        let probable = probable::commands(line, &trace.terms, Some(candidate.tool));
        return Err(refuse(RefusalCode::InvalidSyntax, line, Some(end), message, understood, probable));
    }
    let mut bag = bag(line, &trace.terms, act, &candidate);
    if candidate.tool == Tool::Switch && candidate.group == Verb::Move && names_two(line, &bag, &candidate) {
        candidate.tool = Tool::Move;
        trace.candidate = Some(candidate);
    }
    let tool = candidate.tool;
    let said = trace.terms.get(candidate.verb).map_or_else(String::new, |term| {
        let said = term.text.of(line);
        lexicon::slip(said).filter(|_| term.slipped).unwrap_or(said).to_ascii_lowercase()
    });
    name_nodes(line, &trace.terms, &mut bag, &candidate, &said);
    let bound = bind::bind(
        tool,
        Binder { bag: &mut bag, tool, at: candidate.verb, cues: candidate.cues, verb: candidate.group, said: &said },
    );
    let mut command = bound.map_err(|error| unbound(line, &trace.terms, tool, error))?;
    if let (Command::Think { content }, Some(thought)) = (&mut command, thought) {
        *content = Some(thought.to_owned());
    }
    trace.doubts = doubts(&trace.terms, act, &bag, &candidate);
    trace.needed = needed(tool);
    let confidence = trace.doubts.iter().fold(1.0, |sum, (_, doubt)| sum - doubt);
    if confidence < trace.needed {
        let understood = format!("it could be `{command}`");
        let message = match bag.first_strange.filter(|_| bag.strange > 0) {
            Some(word) => format!("not sure enough what is meant: {:?} was not understood", word.of(line)),
            None => "not sure enough what is meant".to_owned(),
        };
        let probable = vec![format!("→ {command}")];
        return Err(refuse(RefusalCode::InvalidSyntax, line, bag.first_strange, message, understood, probable));
    }
    Ok(Understood { command, confidence })
}

/// A `think` with its thought: the line itself, and what stands between it and the line `←`.
fn thought(line: &str) -> (&str, Option<&str>) {
    let Some((first, rest)) = line.split_once('\n') else { return (line, None) };
    match rest.trim_end().strip_suffix('←') {
        Some("") => (first, Some("")),
        Some(thought) if thought.ends_with('\n') => (first, Some(&thought[..thought.len() - 1])),
        _ => (line, None),
    }
}

/// `move rage to fade`: what is moved and where to, though one of them has no digit and so did not count as an id.
fn names_two(line: &str, bag: &Bag<'_>, candidate: &Candidate) -> bool {
    let node = |arg: &args::Arg| {
        arg.what == args::What::Id || arg.what == args::What::Name && terms::could_be_id(arg.text.of(line))
    };
    match bag.args.as_slice() {
        [what, to] => {
            what.at == candidate.verb + 1 && matches!(to.prep, Some(Prep::To | Prep::Under)) && node(what) && node(to)
        }
        _ => false,
    }
}

/// Takes words that could be ids without digits for ids, where the operation wants a node and a node stands.
///
/// One id in ten has no digit. Short ones look like words, so these count only beside another argument.
fn name_nodes(line: &str, terms: &[Term], bag: &mut Bag<'_>, candidate: &Candidate, said: &str) {
    let wanted = match candidate.tool {
        Tool::Diff | Tool::Merge | Tool::Copy | Tool::Move | Tool::Link | Tool::Unlink => 2,
        Tool::View
        | Tool::List
        | Tool::Tree
        | Tool::Switch
        | Tool::Continue
        | Tool::Respond
        | Tool::Annotate
        | Tool::Edit => 1,
        Tool::Bookmark
        | Tool::Unbookmark
        | Tool::Prune
        | Tool::Restore
        | Tool::Split
        | Tool::Exclude
        | Tool::Include
        | Tool::Pin => 1,
        _ => 0,
    };
    let is_id = |arg: &args::Arg| matches!(arg.what, args::What::Id | args::What::IdRange { .. } | args::What::File);
    let found = bag.args.iter().filter(|arg| is_id(arg)).count();
    let beside = bag.args.iter().any(|arg| arg.what != args::What::Name);
    // `view fade`: an operation's own name and nothing else.
    // `link fade to rage`: its name and the two that it wants.
    let outright = candidate.verb <= 1 && bag.args.len() == wanted.max(1) && said == candidate.tool.name();
    let lists = |terms: &[Term], at: usize| matches!(terms[at].shape, Shape::Mark(',' | '+' | '/' | '&' | '|'));
    let mut missing = wanted.max(found) - found;
    // Where the last id stands: another one may follow it.
    let mut last = None;
    for arg in &mut bag.args {
        let text = arg.text.of(line);
        let before = arg.at.checked_sub(1).and_then(|at| terms.get(at));
        let stands = arg.at == candidate.verb + 1
            || before.is_some_and(|term| matches!(term.entry.noun, Some(Noun::Node | Noun::Branch)))
            || wanted == 2
                && last.is_some_and(|last| last + 1 == arg.at || last + 2 == arg.at && lists(terms, last + 1))
            || before.is_some_and(|term| term.entry.prep.is_some() || term.entry.func.is_none())
                && matches!(
                    arg.prep,
                    Some(
                        Prep::From
                            | Prep::To
                            | Prep::Into
                            | Prep::Under
                            | Prep::On
                            | Prep::Of
                            | Prep::At
                            | Prep::Against
                    )
                )
            || wanted == 2 && matches!(arg.prep, Some(Prep::Responder | Prep::Between));
        if missing > 0
            && arg.what == args::What::Name
            && arg.key.is_none()
            && stands
            && !(candidate.tool == Tool::Switch && candidate.cues.names_place())
            && terms::could_be_id(text)
            && (beside || text.len() > 5 || outright)
        {
            arg.what = args::What::Id;
            missing -= 1;
        }
        if is_id(arg) {
            last = Some(arg.at);
        }
    }
}

/// Where the backticks stand that are around all of a line.
fn ticks(line: &str) -> Option<[usize; 2]> {
    let trimmed = line.trim();
    let trimmed = lex::marker(trimmed).map_or(trimmed, |(rest, _)| rest);
    let bare = lex::arrow(trimmed).map_or(trimmed, |(rest, _)| rest.trim());
    let inner = bare.strip_prefix('`')?.strip_suffix('`')?;
    let open = bare.as_ptr() as usize - line.as_ptr() as usize;
    (!inner.contains('`')).then_some([open, open + inner.len() + 1])
}

/// The arguments: those of the clause that asks; where it only points (`prune it`), also what stands before.
fn bag<'a>(line: &'a str, terms: &[Term], act: &Act, candidate: &Candidate) -> Bag<'a> {
    let asked = |zone| matches!(zone, Zone::Main | Zone::Relative);
    let bag = args::gather(line, terms, act, candidate.verb, asked);
    let has_before = act.zones.contains(&Zone::Before);
    let points = terms.get(candidate.verb + 1).is_some_and(|term| term.entry.func == Some(Func::It));
    let concrete = |arg: &args::Arg| matches!(arg.what, args::What::Id | args::What::IdRange { .. } | args::What::File);
    // `a7x2: copy under b3k9`
    let pair = matches!(candidate.tool, Tool::Copy | Tool::Move | Tool::Link | Tool::Unlink | Tool::Diff | Tool::Merge);
    let few = usize::from(pair);
    // `with Claude, continue from a7x2`
    let with = candidate.tool == Tool::Continue
        && terms.first().is_some_and(|first| matches!(first.entry.prep, Some(Prep::Responder | Prep::By)));
    let needs_more = has_before && (points || with || bag.args.iter().filter(|arg| concrete(arg)).count() <= few);
    if needs_more {
        let both = |zone| asked(zone) || zone == Zone::Before;
        let lone = bag.args.is_empty();
        let mut both = args::gather(line, terms, act, candidate.verb, both);
        // What stands before may tell anything; only ids, names of documents and strings of it are meant.
        both.args.retain(|arg| {
            arg.at > act.verb.map_or(candidate.verb, |(verb, _)| verb.min(candidate.verb))
                || arg.what == args::What::Name && arg.key.is_some_and(|key| !matches!(key, Key::Label | Key::Content))
                || arg.what == args::What::Name
                    && candidate.tool == Tool::Continue
                    && matches!(arg.prep, Some(Prep::Responder | Prep::By))
                || lone && matches!(arg.what, args::What::Number(_) | args::What::Range(..))
                || matches!(
                    arg.what,
                    args::What::Id | args::What::IdRange { .. } | args::What::File | args::What::Text { .. }
                )
        });
        return both;
    }
    bag
}

/// What an operation needs of confidence.
fn needed(tool: Tool) -> f32 {
    match tool.spec().side_effect {
        SideEffect::ReadOnly => 0.55,
        SideEffect::Navigation => 0.8,
        SideEffect::Write => 0.7,
        SideEffect::Destructive => 0.8,
    }
}

fn refuse(
    code: RefusalCode,
    line: &str,
    span: Option<Bytes>,
    mut message: String,
    understood: String,
    mut probable: Vec<String>,
) -> Refusal {
    // A refusal is for reading: it does not repeat a megabyte.
    if message.len() > LONGEST_SAID {
        message = message.chars().take(LONGEST_SAID / 4).chain(['…']).collect();
    }
    probable.retain(|command| command.len() <= LONGEST_SAID);
    Refusal { code, span: span.unwrap_or(Bytes { start: 0, end: line.len() }), message, understood, probable }
}

fn unlexed(line: &str, error: LexError) -> Refusal {
    let (span, message) = match error {
        LexError::Unclosed(span) => (span, "a quote is never closed"),
        LexError::Endless(span) => (span, "a block has no line with >>> at its end"),
    };
    refuse(RefusalCode::InvalidSyntax, line, Some(span), message.into(), String::new(), Vec::new())
}

/// A line that asks for nothing that can be run.
fn unasked(line: &str, terms: &[Term], act: &Act) -> Refusal {
    let tool = act.verb.map(|_| ()).and_then(|()| classify::classify(line, terms, act)).map(|candidate| candidate.tool);
    let message = match act.speech {
        Speech::Negated => "it says what shall not be done",
        Speech::Hypothetical => "it supposes something and asks for nothing",
        Speech::Question => "it is a question that no command answers",
        Speech::Several => "it asks for two things; write each on its own line",
        Speech::Choice => "it leaves a choice",
        Speech::Remark => "no command was found in it",
        Speech::Request => "what shall be done with that is not clear",
    };
    let understood = tool.map_or_else(|| "a remark".to_owned(), |tool| format!("something about `{}`", tool.name()));
    let at = terms.get(act.at).map(|term| term.whole);
    // What was denied is not offered.
    let probable = if act.speech == Speech::Negated { Vec::new() } else { probable::commands(line, terms, tool) };
    refuse(RefusalCode::InvalidSyntax, line, at, message.into(), understood, probable)
}

fn unbound(line: &str, terms: &[Term], tool: Tool, error: BindError) -> Refusal {
    let understood = format!("`{}`: {}", tool.name(), tool.spec().help);
    let probable = probable::commands(line, terms, Some(tool));
    match error {
        BindError::Missing(what) => {
            let message = format!("`{}` needs {what}", tool.name());
            refuse(RefusalCode::InvalidSyntax, line, None, message, understood, probable)
        }
        BindError::Left(span) => {
            let message = format!("`{}` has no place for {:?}", tool.name(), span.of(line));
            refuse(RefusalCode::InvalidSyntax, line, Some(span), message, understood, probable)
        }
        BindError::Limit(message, span) => {
            refuse(RefusalCode::LimitExceeded, line, Some(span), message, understood, probable)
        }
    }
}
