//! Classification of a request: the operation that its verb and its objects mean.
//!
//! English verbs are loose (`put`, `take`, `bring`, `show` may each be eight operations) and their objects are not: a
//! bookmark, a pin, the context. So a verb belongs to a group, and a table of constructions says what the group means
//! with which objects, the most particular first. That is small enough to read, and to explain: what decided is a row
//! of the table.

mod features;
mod rules;

pub(super) use self::{features::Features, rules::Rule};
use super::{
    annotate_tokens::{AnnotatedToken, TokenKind},
    intent::Intent,
    lexicon::{Noun, Verb},
    phrases,
};
use crate::tools::{TABLE, Tool};

/// Operation that a request was classified as.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) tool: Tool,
    pub(super) features: Features,
    /// The verb that decided, by its place.
    pub(super) verb: usize,
    pub(super) group: Verb,
}

/// The operation that the request in `act` means, if its verb means one with those objects.
pub(super) fn classify(line: &str, terms: &[AnnotatedToken], intent: &Intent) -> Option<Candidate> {
    let (verb, group) = features::deciding_verb(line, terms, intent, intent.verb?);
    let features = features::features(line, terms, intent);
    // `merge --help`
    let asks_help = terms.iter().any(|term| term.kind == TokenKind::Flag && matches!(term.text.of(line), "help" | "h"));
    // `remind me how merge works`, `how the merge command works`
    let explains = |at: usize| {
        let name = at + 1 + usize::from(terms.get(at + 1).is_some_and(|the| the.text.of(line) == "the"));
        let noun = terms.get(name + 1).is_some_and(|noun| noun.entry.noun == Some(Noun::Tool));
        terms[at].text.of(line) == "how"
            && terms.get(name).is_some_and(|name| TABLE.iter().any(|row| row.name == name.text.of(line)))
            && terms.get(name + 1 + usize::from(noun)).is_some_and(|works| works.text.of(line) == "works")
            && !features.has_explicit_target()
    };
    if asks_help || phrases::asks_for_information(group) && (0..terms.len()).any(explains) {
        return Some(Candidate { tool: Tool::Help, features, verb, group });
    }
    fitting(group, features).next().and_then(|row| row.tool).map(|tool| Candidate { tool, features, verb, group })
}

/// The constructions that fit, the one that decides first.
pub(super) fn fitting(group: Verb, features: Features) -> impl Iterator<Item = &'static Rule> {
    rules::of_verb(group).iter().filter(move |row| {
        features.all(row.all) && (row.any == Features::NONE || features.any(row.any)) && !features.any(row.none)
    })
}
