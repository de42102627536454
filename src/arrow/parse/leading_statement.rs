//! A statement before a request: `both threads have converged: merge a7x2 and b3k9`. What it says is no argument, so a
//! line that cannot be read as a whole is read again from behind it.

use crate::arrow::{
    annotate_tokens::{AnnotatedToken, TokenKind},
    intent::is_finite,
    lexicon::{Form, FunctionWord},
};

/// Fewest words of a statement: fewer are a label, such as `note:`.
const MIN_WORDS: usize = 3;
/// Words that make of what follows a report, an example or a thing to choose, or that leave it open; separated by spaces.
const REPORTS: &str = "say says said saying tell tells told write writes wrote written ask asks asked answer answered suggest \
    suggests suggested propose proposes proposed think thinks claims claimed reads means meant called named quote \
    quoted example instance usage rule plan idea option choice alternative advice suggestion title heading \
    command line question syntax form theory tempting wrong mistake joke maybe perhaps unsure later tomorrow \
    yesterday supposed pretend imagine wish hope nobody never hardly refuse refuses refused forbidden allowed";

/// Finds where the request begins behind a statement that names nothing.
pub(super) fn request_start(line: &str, terms: &[AnnotatedToken]) -> Option<usize> {
    let is = |at: usize, words: &[&str]| {
        terms.get(at).is_some_and(|term| words.iter().any(|word| term.text.of(line).eq_ignore_ascii_case(word)))
    };
    let names = |term: &AnnotatedToken| {
        term.is_concrete() && !matches!(term.kind, TokenKind::Number(_)) || term.bracketed || term.is('?')
    };
    let end = terms.iter().position(names).unwrap_or(terms.len());
    let boundary = (MIN_WORDS..end).rev().find(|at| match terms[*at].kind {
        TokenKind::Mark(';' | ':' | '.' | '—' | '–') => terms.get(at + 1).is_some_and(|next| next.gap),
        TokenKind::Mark(',') => is(at + 1, &["so"]),
        _ => false,
    })?;
    let (statement, start) = (&terms[..boundary], boundary + 1 + usize::from(is(boundary + 1, &["so"])));
    let words = statement.iter().filter(|term| !matches!(term.kind, TokenKind::Mark(_))).count();
    let opens = |term: &AnnotatedToken| {
        matches!(
            term.entry.func,
            Some(
                FunctionWord::If
                    | FunctionWord::Not
                    | FunctionWord::Modal
                    | FunctionWord::Would
                    | FunctionWord::What
                    | FunctionWord::Why
                    | FunctionWord::Doubt
                    | FunctionWord::Or
            )
        )
    };
    let asks = |(at, term): (usize, &AnnotatedToken)| {
        let is_verb = matches!(term.entry.verb, Some((_, Form::Base))) && term.entry.noun.is_none();
        at == 0 && term.kind == TokenKind::Word && is_verb
    };
    let blocked = statement.iter().any(opens)
        || REPORTS.split(' ').any(|word| (0..boundary).any(|at| is(at, &[word])))
        || statement.iter().enumerate().any(asks);
    let states = statement.iter().any(is_finite) || (1..boundary).any(|at| is(at, &["have"]));
    (words >= MIN_WORDS && states && !blocked && start < terms.len()).then_some(start)
}
