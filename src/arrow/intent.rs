//! Intent of a line: request, negation, question, condition or comment, and the position of the request.
//!
//! An operation's name is also an English noun and verb, so a line that holds one need not ask for it: it may deny it
//! (`don't prune a7x2`), report it (`pruned b3k9`), wonder (`was it pruned?`), suppose, or use the word for
//! something else (`a list would kill the rhythm`). Grammar distinguishes them, not vocabulary: whether a verb
//! stands in its base form where an imperative stands, who is the subject, tense, modality, negation. So the line is
//! cut into clauses at its marks and conjunctions; one of them must ask, and only one; a stating clause (a reason, a
//! remark on the node) may go before or after and is left out of the arguments.

mod asides;
mod clause;
mod clause_start;
mod courtesy;
mod locate;
mod non_requests;
mod predicates;
mod questions;
mod raw_content;
mod repetition;
mod request;
mod second_request;
mod statements;
mod verb_final;
mod wishes;

pub(super) use self::predicates::is_finite;
use super::{
    annotate_tokens::AnnotatedToken,
    lex::Span,
    lexicon::{FunctionWord, Verb},
};

/// Type of utterance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Utterance {
    /// It asks for something.
    Request,
    /// It says what shall not be done.
    Negated,
    /// It supposes something.
    Hypothetical,
    /// It asks whether or why, which no command answers.
    Question,
    /// It asks for two things.
    Several,
    /// It leaves a choice.
    Choice,
    /// It says something; no verb stands where one asks.
    Remark,
}

/// A term's place in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClauseRole {
    /// It holds the line together, or is only polite.
    Skip,
    /// It stands before the clause that asks.
    Before,
    /// It is the verb.
    Verb,
    /// It belongs to what is asked.
    Main,
    /// As [`ClauseRole::Main`], inside a clause that describes a noun: `the branch that starts at a7x2`.
    Relative,
    /// It says what for; the arguments go on behind the next mark.
    Aside,
    /// It belongs to a reason or a remark.
    Tail,
}

/// A line as speech.
#[derive(Debug, Clone)]
pub(super) struct Intent {
    pub(super) speech: Utterance,
    /// The verb's place, and what it does.
    pub(super) verb: Option<(usize, Verb)>,
    pub(super) zones: Vec<ClauseRole>,
    /// Content without quotes, after a colon.
    pub(super) raw: Option<Span>,
    /// True if it is only thought about: `maybe`, `we could`.
    pub(super) doubtful: bool,
    /// True if it only names a thing, without a verb.
    pub(super) nominal: bool,
    /// Index of the token that decided the utterance type.
    pub(super) at: usize,
}

impl Intent {
    /// True if the clause that asks only points at what was named before it: `a7x2 is weak, prune it`.
    pub(super) fn points(&self, terms: &[AnnotatedToken]) -> bool {
        let is_it = |(term, zone): (&AnnotatedToken, &ClauseRole)| {
            *zone == ClauseRole::Main && term.entry.func == Some(FunctionWord::It)
        };
        terms.iter().zip(&self.zones).any(is_it)
    }
}

/// Reading of the start of a clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClauseStart {
    Request(usize, Verb),
    Utterance(Utterance),
    /// It says something, or is a part of a line.
    Other,
}

/// Reads a line's terms.
pub(super) struct IntentParser<'a> {
    line: &'a str,
    terms: &'a mut Vec<AnnotatedToken>,
    zones: Vec<ClauseRole>,
    raw: Option<Span>,
    doubtful: bool,
    polite: bool,
    /// True behind `I'd be glad if`, where a passive asks.
    wished: bool,
    nominal: bool,
    questioned: bool,
    end: usize,
}

/// Finds what `terms` do. Words that are read as misspelt verbs are changed in place.
pub(super) fn read(line: &str, terms: &mut Vec<AnnotatedToken>, end: usize) -> Intent {
    let zones = vec![ClauseRole::Skip; terms.len()];
    let mut reader = IntentParser {
        line,
        terms,
        zones,
        raw: None,
        doubtful: false,
        polite: false,
        wished: false,
        nominal: false,
        questioned: false,
        end,
    };
    let (speech, verb, at) = reader.whole();
    let IntentParser { zones, raw, doubtful, nominal, .. } = reader;
    Intent { speech, verb, zones, raw, doubtful, nominal, at }
}
