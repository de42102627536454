//! Beginnings of a line that postpone what it asks, and words in brackets that say that nothing is to be done.

use super::caveats::is_word;
use crate::arrow::{
    annotate_tokens::{AnnotatedToken, TokenKind},
    lex::Span,
};

/// Beginnings of a line that postpone what is asked, or only speak of it.
const DEFERRALS: &[&[&str]] = &[
    &["in", "a", "moment"],
    &["in", "a", "minute"],
    &["in", "a", "while"],
    &["in", "case", "of"],
    &["in", "theory"],
    &["as", "soon"],
    &["once", "a"],
    &["at", "midnight"],
    &["at", "noon"],
    &["next", "turn"],
    &["next", "time"],
    &["next", "week"],
    &["i'd", "hate"],
    &["i'd", "have", "to"],
    &["i'd", "never"],
    &["i", "would", "have", "to"],
    &["i", "refuse"],
    &["i", "hesitate"],
    &["i", "agree", "to"],
    &["i", "usually"],
    &["thought"],
];
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

/// Finds a word that defers the request.
pub(super) fn find(line: &str, terms: &[AnnotatedToken]) -> Option<Span> {
    deferral(line, terms).or_else(|| bracketed(line, terms))
}

/// Finds the beginning of a line that postpones what it asks, or only speaks of it: `in 5 minutes, prune a7x2`.
fn deferral(line: &str, terms: &[AnnotatedToken]) -> Option<Span> {
    let is = |at: usize, words: &[&str]| is_word(line, terms, at, words);
    let starts = |phrase: &&&[&str]| (0..).zip(**phrase).all(|(at, word)| is(at, &[word]));
    // `thought: …`, and not `thought about it, prune a7x2`
    let is_label = |phrase: &&[&str]| phrase.len() > 1 || terms.get(1).is_some_and(|mark| mark.is(':'));
    let defers = DEFERRALS.iter().filter(starts).any(is_label);
    let is_number = matches!(terms.get(1).map(|term| term.kind), Some(TokenKind::Number(_)));
    let unit = terms.get(2).is_some_and(|unit| unit.kind == TokenKind::Name);
    let delays = is(0, &["in", "after"]) && is_number && unit;
    let repeats = is(0, &["every", "each"]) && is(1, PERIODS);
    (defers || delays || repeats).then(|| terms[0].whole)
}

/// Finds a word in brackets that says that nothing is to be done: `prune a7x2 (rejected)`.
fn bracketed(line: &str, terms: &[AnnotatedToken]) -> Option<Span> {
    let [.., open, word, close] = terms else { return None };
    let is_closed = open.is('(') && close.is(')') && is_word(line, terms, terms.len() - 2, BRACKETED);
    is_closed.then_some(word.whole)
}
