//! Which operation a request means: its verb, seen with its objects.
//!
//! English verbs are loose (`put`, `take`, `bring`, `show` may each be eight operations) and their objects are not: a
//! bookmark, a pin, the context. So a verb belongs to a group, and a table of constructions says what the group means
//! with which objects, the most particular first. That is small enough to read, and to explain: what decided is a row
//! of the table.

mod constructions;
mod cues;

pub(super) use self::{constructions::Construction, cues::Cues};
use super::{
    act::Act,
    lexicon::Verb,
    phrases,
    terms::{Shape, Term},
};
use crate::tools::{TABLE, Tool};

/// What a request was taken for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) tool: Tool,
    pub(super) cues: Cues,
    /// The verb that decided, by its place.
    pub(super) verb: usize,
    pub(super) group: Verb,
}

/// The operation that the request in `act` means, if its verb means one with those objects.
pub(super) fn classify(line: &str, terms: &[Term], act: &Act) -> Option<Candidate> {
    let (verb, group) = cues::deciding(terms, act, act.verb?);
    let cues = cues::cues(line, terms, act);
    // `merge --help`
    let asks_help = terms.iter().any(|term| term.shape == Shape::Flag && matches!(term.text.of(line), "help" | "h"));
    // `remind me how merge works`
    let explains = |at: usize| {
        terms[at].text.of(line) == "how"
            && terms.get(at + 1).is_some_and(|next| TABLE.iter().any(|row| row.name == next.text.of(line)))
            && terms.get(at + 2).is_some_and(|works| works.text.of(line) == "works")
            && !cues.is_concrete()
    };
    if asks_help || phrases::tells(group) && (0..terms.len()).any(explains) {
        return Some(Candidate { tool: Tool::Help, cues, verb, group });
    }
    fitting(group, cues).next().and_then(|row| row.tool).map(|tool| Candidate { tool, cues, verb, group })
}

/// The constructions that fit, the one that decides first.
pub(super) fn fitting(group: Verb, cues: Cues) -> impl Iterator<Item = &'static Construction> {
    constructions::CONSTRUCTIONS.iter().filter(move |row| {
        row.verb == group && cues.all(row.all) && (row.any == Cues::NONE || cues.any(row.any)) && !cues.any(row.none)
    })
}
