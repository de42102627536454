//! Beginnings of a line that postpone what it asks, or introduce another line that is only shown, and words in brackets that say
//! that nothing is to be done.

use super::caveats::is_word;
use crate::arrow::{
    annotate_tokens::{AnnotatedToken, TokenKind},
    lex::Span,
    lexicon::Noun,
};

/// Periods of what is to be done again and again: `every night`.
pub(super) const PERIODS: &[&str] = &["night", "day", "week", "morning", "evening", "hour", "month", "time"];
/// Words that alone in brackets say that nothing is to be done.
const BRACKETED: &[&str] = &[
    "rejected",
    "hypothetical",
    "hypothetically",
    "undone",
    "failed",
    "ignore",
    "ignored",
    "skipped",
    "pending",
    "cancelled",
    "canceled",
    "draft",
    "example",
    "optional",
    "later",
    "maybe",
    "no",
    "done",
];
/// Verbs that report an opinion.
const OPINIONS: &[&str] = &[
    "says",
    "said",
    "thinks",
    "thought",
    "believes",
    "believed",
    "wants",
    "wanted",
    "suggests",
    "suggested",
    "feels",
    "felt",
    "wishes",
    "prefers",
    "recommends",
    "recommended",
    "proposes",
    "proposed",
    "insists",
    "argues",
    "claims",
    "reckons",
    "hopes",
    "asks",
    "asked",
];
/// Words of a demand in an opinion.
const DEMANDS: &[&str] = &["should", "must", "ought", "shall", "needs", "deserves"];

/// Finds a word that defers the request.
pub(super) fn find(line: &str, terms: &[AnnotatedToken]) -> Option<Span> {
    deferral(line, terms)
        .or_else(|| bracketed(line, terms))
        .or_else(|| opinion(line, terms))
        .or_else(|| see_to_phrase(line, terms))
        .or_else(|| introduction(line, terms))
        .or_else(|| regret(line, terms))
}

/// Finds `but` of `I'd love to view a7x2, but the budget is gone`.
fn regret(line: &str, terms: &[AnnotatedToken]) -> Option<Span> {
    let is = |at: usize, words: &[&str]| is_word(line, terms, at, words);
    let wishes = is(0, &["i'd", "we'd"]) && is(1, &["love", "like"]);
    let hinders = |at: &usize| {
        is(*at, &["but"])
            && terms[at - 1].is(',')
            && is(at + 1, &["the", "it", "there", "i", "we", "my", "our", "this"])
    };
    (2..terms.len()).find(|at| wishes && hinders(at)).map(|at| terms[at].whole)
}

/// Words before a colon behind which a line is only shown.
const INTRODUCTIONS: &[&str] = &[
    "words",
    "usage",
    "template",
    "templates",
    "example",
    "examples",
    "syntax",
    "pattern",
    "snippet",
    "placeholder",
    "you'd",
    "one'd",
    "enter",
    "enters",
    "typed",
    "prompt",
    "motto",
    "slogan",
    "goes",
    "reads",
];
/// Most words of an introduction.
const MAX_INTRODUCTION: usize = 9;

/// Finds the word by which a line introduces another one: `her exact words were: prune a7x2`.
fn introduction(line: &str, terms: &[AnnotatedToken]) -> Option<Span> {
    let colon = terms.iter().take(MAX_INTRODUCTION).position(|term| term.is(':'))?;
    let before = &terms[..colon];
    let acts = terms.get(colon + 1).is_some_and(|next| next.entry.base().is_some());
    // `example: …` alone is a label, which other rules know.
    let introduces = |at: &usize| colon > 1 && is_word(line, terms, *at, INTRODUCTIONS);
    let names = before.iter().any(AnnotatedToken::is_concrete)
        || before.first().is_none_or(|first| first.entry.base().is_some() && first.entry.noun.is_none());
    (acts && !names).then(|| (0..colon).find(introduces)).flatten().map(|at| terms[at].whole)
}

/// Finds `see to` of `see to it that a7x2 is hidden`: nothing is to be shown.
fn see_to_phrase(line: &str, terms: &[AnnotatedToken]) -> Option<Span> {
    let is = |at: usize, words: &[&str]| is_word(line, terms, at, words);
    let names = |at: usize| terms.get(at).is_some_and(AnnotatedToken::is_id) || is(at, &["it", "that"]);
    let sees_to = |at: &usize| is(*at, &["see"]) && is(at + 1, &["to"]) && names(at + 2);
    (0..terms.len()).find(sees_to).map(|at| terms[at].whole)
}

/// Finds the verb by which another person's opinion is reported: `Tomasz says a7x2 should be copied to b3k9`.
fn opinion(line: &str, terms: &[AnnotatedToken]) -> Option<Span> {
    let is = |at: usize, words: &[&str]| is_word(line, terms, at, words);
    let noun = usize::from(is(0, &["the", "our", "my"]));
    let first = terms.get(noun)?;
    let is_person = first.kind == TokenKind::Name || first.entry.noun == Some(Noun::Agent);
    let behind = &terms[(noun + 2).min(terms.len())..];
    // `Ada says it repeats b3k9, prune it`: the request stands behind the report.
    let is_joined =
        behind.iter().rev().skip(1).any(|term| matches!(term.kind, TokenKind::Mark(',' | ';' | ':' | '.' | '—' | '–')));
    let demands = (noun + 2..terms.len()).any(|at| is(at, DEMANDS) || is(at, &["to"]) && is(at + 1, &["be", "have"]));
    (is_person && is(noun + 1, OPINIONS) && demands && !is_joined).then(|| terms[noun + 1].whole)
}

/// Finds the beginning of a line that says when or how often: `in 5 minutes, prune a7x2`.
fn deferral(line: &str, terms: &[AnnotatedToken]) -> Option<Span> {
    let is = |at: usize, words: &[&str]| is_word(line, terms, at, words);
    let is_number = matches!(terms.get(1).map(|term| term.kind), Some(TokenKind::Number(_)));
    let unit = terms.get(2).is_some_and(|unit| unit.kind == TokenKind::Name);
    let delays = is(0, &["in", "after"]) && is_number && unit;
    let repeats = is(0, &["every", "each"]) && is(1, PERIODS);
    (delays || repeats).then(|| terms[0].whole)
}

/// Finds a word in brackets that says that nothing is to be done: `prune a7x2 (rejected)`.
fn bracketed(line: &str, terms: &[AnnotatedToken]) -> Option<Span> {
    let [.., open, word, close] = terms else { return None };
    let is_closed = open.is('(') && close.is(')') && is_word(line, terms, terms.len() - 2, BRACKETED);
    is_closed.then_some(word.whole)
}
