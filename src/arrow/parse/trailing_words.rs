//! Words behind the last argument of a command in its written form: `prune a7x2 later`, `restore a7x2 failed`. Such a command
//! is complete, so a further word without a mark before it changes what is asked. The words that are known not to do so are
//! listed; with any other one the line is refused.

use super::penalties::is_light;
use crate::{
    arrow::{
        Command,
        annotate_tokens::{AnnotatedToken, TokenKind},
        args::Arguments,
        classify::Candidate,
        intent::{ClauseRole, Intent},
        lex::Span,
        lexicon::{FunctionWord, Noun, Prep, Verb},
    },
    tools::{SideEffect, Tool},
};

/// Words that ask again, politely or at once.
const IDLE: &[&str] = &[
    "please",
    "pls",
    "plz",
    "plss",
    "plsss",
    "plese",
    "plis",
    "thx",
    "thanks",
    "cheers",
    "pleas",
    "kindly",
    "btw",
    "svp",
    "asap",
    "porfa",
    "yaar",
    "bro",
    "guys",
    "pray",
    "rq",
    "fr",
    "tbh",
    "immediately",
    "straightaway",
    "quick",
    "quickly",
    "again",
    "agian",
    "now",
    "too",
    "instead",
    "back",
    "away",
    "onward",
    "already",
    "also",
    "yes",
    "no",
    "true",
    "false",
    "on",
    "everything",
    "whole",
    "full",
    "entirely",
    "completely",
    "in",
    "together",
    "apiece",
    "each",
    "times",
    "pinned",
    "long",
    "tops",
    "maximum",
    "max",
    "exactly",
    "down",
    "as",
    "for",
];
/// Pairs of such words.
const PAIRS: &[[&str; 2]] = &[
    ["without", "waiting"],
    ["after", "all"],
    ["once", "more"],
    ["once", "again"],
    ["right", "away"],
    ["thank", "you"],
];
/// Words that begin a reason, a purpose or a clause about the argument.
const CLAUSES: &[&str] = &[
    "because", "since", "so", "that", "which", "who", "where", "while", "and", "is", "isn't", "has", "was", "i", "we",
    "it's",
];

/// Finds the first word behind the arguments that is not known to leave the command as it is.
pub(super) fn find(
    terms: &[AnnotatedToken],
    intent: &Intent,
    arguments: &Arguments<'_>,
    candidate: &Candidate,
    command: &Command,
) -> Option<Span> {
    // The words of a label need no quotes.
    if matches!(command, Command::Bookmark { label: Some(_), .. }) {
        return None;
    }
    let line = arguments.line;
    let changes = !matches!(candidate.tool.spec().side_effect, SideEffect::ReadOnly);
    let first = terms.iter().position(|term| !matches!(term.kind, TokenKind::Mark(_)))?;
    let begins = intent.zones.get(first) == Some(&ClauseRole::Verb) && first == candidate.verb;
    if !changes || !begins || says_more(candidate.group) || intent.raw.is_some() || candidate.tool == Tool::Think {
        return None;
    }
    let asked = |at: usize| matches!(intent.zones[at], ClauseRole::Main | ClauseRole::Relative);
    let is_argument = |at: &usize| terms[*at].is_concrete() && asked(*at);
    let last = (first + 1..terms.len()).rfind(is_argument)?;
    let next = terms.get(last + 1).filter(|next| matches!(next.kind, TokenKind::Word | TokenKind::Name))?;
    // A name that an argument took is gone from the rest.
    let is_taken = next.kind == TokenKind::Name && arguments.items.iter().all(|arg| arg.at != last + 1);
    (!is_taken && !is_free(line, terms, last + 1, candidate.tool)).then_some(next.whole)
}

/// True if the word at `at`, behind the last argument, leaves the command as it is.
fn is_free(line: &str, terms: &[AnnotatedToken], at: usize, tool: Tool) -> bool {
    let word = &terms[at];
    let is = |at: usize, words: &[&str]| {
        terms.get(at).is_some_and(|term| words.iter().any(|word| term.text.of(line).eq_ignore_ascii_case(word)))
    };
    // The value of an option, a number's unit, the noun of a place: `wait no`, `200 tokens`, `the previous sibling`,
    // `a7x2's bookmark`.
    let before = &terms[at - 1];
    let named = matches!(before.kind, TokenKind::OptionName(_) | TokenKind::Flag)
        || matches!(before.kind, TokenKind::Number(_) | TokenKind::Range(..) | TokenKind::Place(_))
        || before.is_id() && before.whole.end > before.text.end && !before.bracketed && word.entry.noun.is_some();
    if named || word.entry.option.is_some() {
        return true;
    }
    let hides = matches!(tool, Tool::Prune | Tool::Restore | Tool::Exclude | Tool::Include | Tool::Copy | Tool::Move);
    if hides && (is(at, &["for"]) && is(at + 1, &["later", "tomorrow"]) || is(at, &["under"])) {
        return false;
    }
    // A clause that denies or doubts takes the request back: `which I refuse`, `I guess not`. A reason may say anything.
    if is(at, CLAUSES) {
        let doubts = |at: usize| {
            matches!(terms[at].entry.func, Some(FunctionWord::Not | FunctionWord::Modal))
                || is(at, &["refuse", "guess", "wrong", "would", "wait"])
        };
        let doubted = (at..terms.len()).any(doubts);
        return is(at, &["because", "since", "so", "and"]) || !hides || !doubted;
    }
    // `todo 7 done`
    if tool == Tool::Todo && is(at, &["done", "finished", "completed"]) {
        return true;
    }
    match word.entry.prep {
        Some(Prep::As | Prep::With | Prep::To | Prep::Under | Prep::Into | Prep::From | Prep::Out | Prep::Off) => true,
        // `in the context`, `on the todo list`; but `in the future`
        Some(Prep::In | Prep::On | Prep::At | Prep::For | Prep::Of) => {
            let small = |term: &&AnnotatedToken| {
                term.entry.func == Some(FunctionWord::Det) || term.entry.func == Some(FunctionWord::Adjective)
            };
            let object = terms[at + 1..].iter().find(|term| !small(term));
            let known = object.is_some_and(|object| {
                object.entry.noun.is_some_and(|noun| !matches!(noun, Noun::End | Noun::Start | Noun::Times))
            });
            known || is(at, &["for"]) || tool == Tool::Write || object.is_none_or(|object| object.entry.prep.is_some())
        }
        _ => {
            is(at, IDLE)
                || word.corrected
                || PAIRS.iter().any(|[first, second]| is(at, &[first]) && is(at + 1, &[second]))
        }
    }
}

/// True for verbs behind whose objects more words are parts of what they say.
const fn says_more(verb: Verb) -> bool {
    let joins = matches!(verb, Verb::Hand | Verb::Tell | Verb::Try | Verb::Use | Verb::See);
    joins || is_light(verb) && !matches!(verb, Verb::Drop)
}
