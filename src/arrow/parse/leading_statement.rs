//! A statement before a request: `both threads have converged: merge a7x2 and b3k9`. What it says is no argument, so a
//! line that cannot be read as a whole is read again from behind it.

use crate::arrow::{
    annotate_tokens::{AnnotatedToken, TokenKind},
    intent::is_finite,
    lexicon::{Form, FunctionWord, Noun},
    word_pattern,
};

/// Fewest words of a statement: fewer are a label, such as `note:`.
const MIN_WORDS: usize = 3;
/// Words that make of what follows a report, an example or a thing to choose, or that leave it open; separated by spaces.
const REPORTS: &str = "say says said saying tell tells told write writes wrote written ask asks asked answer answered suggest \
    suggests suggested propose proposes proposed think thinks claims claimed reads means meant called named quote \
    quoted example instance usage rule plan idea option choice alternative advice suggestion title heading \
    command line question syntax form theory tempting wrong mistake joke maybe perhaps unsure later tomorrow \
    yesterday supposed pretend imagine wish hope nobody never hardly refuse refuses refused forbidden allowed";

/// Words behind `so` where no request follows: `so that it fits`, `so did b3k9`.
const NO_CONSEQUENCES: &str = "that that's as far much many long did does is are was were would will to";
/// Words that point back to the reason.
const REFERENCES: &str = "that this those these such there";

/// Most words of a label.
const MAX_LABEL_WORDS: usize = 6;
/// Labels of what is not to be done, or not now.
const NOTICES: &str = "note todo warning reminder remember tip hint caution danger log result error output next afterwards finally \
    optional draft question answer step user human assistant system manual command expected previously earlier \
    critic owner author editor test case dry run pending approval bad bug job turn";

/// The beginning of a request.
#[derive(Clone, Copy)]
pub(super) struct RequestStart {
    pub(super) at: usize,
    /// True behind a label, or a reason without a verb. It may be the title of a text or a condition, so nothing is changed by
    /// what follows.
    pub(super) only_looks: bool,
}

/// Finds where the request begins behind a statement or a label that names nothing.
pub(super) fn request_start(line: &str, terms: &[AnnotatedToken]) -> Option<RequestStart> {
    let names = |term: &AnnotatedToken| {
        term.is_concrete() && !matches!(term.kind, TokenKind::Number(_)) || term.bracketed || term.is('?')
    };
    let end = terms.iter().position(names).unwrap_or(terms.len());
    let boundary = (1..end).rev().find(|at| {
        let is_mark = matches!(terms[*at].kind, TokenKind::Mark(';' | ':' | '.' | '—' | '–'));
        is_mark && terms.get(at + 1).is_some_and(|next| next.gap)
    });
    let Some(boundary) = boundary else { return consequence(line, terms) };
    let (statement, start) = (&terms[..boundary], boundary + 1);
    let words = statement.iter().filter(|term| !matches!(term.kind, TokenKind::Mark(_))).count();
    let begins = matches!(terms.get(start)?.entry.verb, Some((_, Form::Base)));
    let opens = |term: &AnnotatedToken| {
        use FunctionWord::{Doubt, If, Modal, Not, Or, What, Why, Would};
        let is_empty = is_in(line, term, "nowhere nothing none");
        matches!(term.entry.func, Some(What | Why | If | Not | Modal | Would | Doubt | Or)) && !is_empty
    };
    let asks = |(at, term): (usize, &AnnotatedToken)| {
        let is_verb = matches!(term.entry.verb, Some((_, Form::Base))) && term.entry.noun.is_none();
        at == 0 && term.kind == TokenKind::Word && is_verb
    };
    let is_said = |words: &str| statement.iter().any(|term| is_in(line, term, words));
    let blocked = statement.iter().any(opens) || is_said(REPORTS) || statement.iter().enumerate().any(asks);
    let states = statement.iter().any(is_finite) || statement[1..].iter().any(|term| is_in(line, term, "have"));
    // `Dana found a bug: view a7x2`; of `ideas found so far` the form is a participle.
    let reports = (1..boundary).any(|at| {
        matches!(terms[at].entry.verb, Some((_, Form::Past))) && terms[at - 1].entry.func.is_none() && at + 1 < boundary
    });
    let is_statement = words >= MIN_WORDS && (states || reports);
    // `market scan: search the web for "x"`
    let is_label = !states
        && (2..=MAX_LABEL_WORDS).contains(&words)
        && !statement.iter().any(|term| is_participle(line, term))
        && terms[0].entry.func.is_none_or(|func| func == FunctionWord::Det)
        && terms[0].entry.prep.is_none()
        && terms[boundary].is(':')
        && (begins || terms[start].entry.noun == Some(Noun::Tree))
        && !is_said(NOTICES);
    let begin = RequestStart { at: start, only_looks: is_label || !states };
    let begin = ((is_statement || is_label) && !blocked && start < terms.len()).then_some(begin);
    begin.or_else(|| consequence(line, terms))
}

/// A request behind its reason that is whole without it: `a7x2 explains why b3k9 failed, so link a7x2 to b3k9`, `I can't read all
/// of them, so delegate "x"`.
fn consequence(line: &str, terms: &[AnnotatedToken]) -> Option<RequestStart> {
    let is = |at: usize, words: &str| terms.get(at).is_some_and(|term| is_in(line, term, words));
    let so = (1..terms.len()).rfind(|at| is(*at, "so hence therefore thus") && terms[at - 1].is(','))?;
    let (reason, request) = (&terms[..so - 1], &terms[so + 1..]);
    let words = reason.iter().filter(|term| !matches!(term.kind, TokenKind::Mark(_))).count();
    let begins = matches!(terms[0].entry.verb, Some((_, Form::Base))) && terms[0].entry.noun.is_none();
    let refers = |term: &AnnotatedToken| {
        term.kind == TokenKind::Word && (term.entry.func == Some(FunctionWord::It) || is_in(line, term, REFERENCES))
    };
    let leaves_open = |term: &AnnotatedToken| {
        matches!(term.entry.func, Some(FunctionWord::If | FunctionWord::Doubt)) || term.is_text() || term.is('?')
    };
    // What a reason without a node cannot name is no reference to it.
    let names_node = reason.iter().any(AnnotatedToken::is_id);
    let points_back = names_node && request.iter().any(refers);
    let is_whole = !is(so + 1, NO_CONSEQUENCES) && !points_back;
    let is_reason = words >= MIN_WORDS && !begins && !reason.iter().any(leaves_open);
    let asks = |term: &AnnotatedToken| matches!(term.entry.func, Some(FunctionWord::What | FunctionWord::Why));
    let only_looks = reason.iter().any(|term| is_in(line, term, REPORTS) || asks(term) && !names_node);
    (is_whole && is_reason && !request.is_empty()).then_some(RequestStart { at: so + 1, only_looks })
}

fn is_in(line: &str, term: &AnnotatedToken, words: &str) -> bool {
    word_pattern::is_in(words, term.text.of(line))
}

/// True for a word such as `rejected` or `insists`, by its ending.
fn is_participle(line: &str, term: &AnnotatedToken) -> bool {
    let text = term.text.of(line);
    term.kind == TokenKind::Name && (text.ends_with("ed") || text.ends_with('s'))
        || matches!(term.entry.verb, Some((_, Form::Past | Form::Third)))
}
