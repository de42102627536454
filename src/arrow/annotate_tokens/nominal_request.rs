//! Requests in the form of a noun: `the relocation of a7x2 below b3k9 is requested`.

use super::AnnotatedToken;
use crate::arrow::{
    lexicon::{self, FunctionWord, Prep},
    word_pattern::is_in,
};

/// Nouns of operations, and the verbs that ask for them.
const NOMINALS: &[(&str, &str)] = &[
    ("relocation", "move"),
    ("transfer", "move"),
    ("removal", "prune"),
    ("deletion", "prune"),
    ("pruning", "prune"),
    ("restoration", "restore"),
    ("reinstatement", "restore"),
    ("reversal", "undo"),
    ("undoing", "undo"),
    ("readmission", "include"),
    ("inclusion", "include"),
    ("exclusion", "exclude"),
    ("omission", "exclude"),
    ("comparison", "compare"),
    ("merger", "merge"),
    ("merging", "merge"),
    ("fusion", "merge"),
    ("division", "split"),
    ("splitting", "split"),
    ("duplication", "copy"),
    ("copying", "copy"),
    ("enumeration", "list"),
    ("listing", "list"),
    ("list", "list"),
    ("presentation", "show"),
    ("display", "show"),
    ("inspection", "show"),
    ("viewing", "show"),
    ("bookmarking", "bookmark"),
    ("pinning", "pin"),
    ("unpinning", "unpin"),
    ("linking", "link"),
    ("unlinking", "unlink"),
    ("disconnection", "unlink"),
    ("generation", "generate"),
    ("delegation", "delegate"),
    ("search", "search"),
    ("reading", "read"),
    ("drawing", "draw"),
    ("explanation", "explain"),
    ("rewording", "edit"),
];

/// Adverbs before the participle.
const ADVERBS: &str = "kindly hereby respectfully now also herewith urgently";

/// Words that limit what is requested in a way that an imperative would not keep.
const LIMITS: &str = "limited restricted confined exclusively exception excluding except only those not no whose";

/// Makes an imperative of a request in the form of a noun. What is not requested, or was, stays as it is.
pub(super) fn make_imperative(line: &str, terms: &mut Vec<AnnotatedToken>) {
    let is =
        |at: usize, words: &str| terms.get(at).is_some_and(|term| !term.is_text() && is_in(words, term.text.of(line)));
    let begin = usize::from(terms.first().is_some_and(|first| first.entry.func == Some(FunctionWord::Det)));
    let Some(noun) = terms.get(begin).map(|noun| noun.text.of(line)) else { return };
    let Some((_, verb)) = NOMINALS.iter().find(|(nominal, _)| noun.eq_ignore_ascii_case(nominal)) else { return };
    let last = terms.iter().rposition(|term| !(term.is('.') || term.is('!'))).unwrap_or(0);
    let of = begin + 1;
    let joins = terms.get(of).is_some_and(|of| matches!(of.entry.prep, Some(Prep::Of | Prep::For)));
    let be = (of..last).rev().find(|at| !is(*at, ADVERBS)).filter(|at| is(*at, "is are"));
    let is_limited = (begin..last).any(|at| is(at, LIMITS));
    let Some(be) = be.filter(|_| joins && !is_limited && is(last, "requested desired wished")) else { return };
    // `the removal of a7x2, which …, is requested`
    let end = be - usize::from(terms[be - 1].is(','));
    terms.truncate(end);
    terms[begin].entry = lexicon::look_up(verb);
    terms[begin].kind = super::TokenKind::Word;
    terms.remove(of);
    terms.drain(..begin);
}
