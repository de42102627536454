//! A phrase before a request: `with 200 tokens each, continue from a7x2`. Its words are arguments, so the line is read with the
//! phrase behind the request.

use crate::arrow::{
    annotate_tokens::{AnnotatedToken, TokenKind},
    intent,
    lexicon::{FunctionWord, Noun, Prep},
};

/// Most tokens of a phrase.
const MAX_PHRASE: usize = 9;

/// A line with its leading phrase behind the request.
pub(super) struct Reordered {
    pub(super) line: String,
    /// True if the phrase has a limit, such as a number of tokens. Without the phrase, the request would mean something else.
    pub(super) limits: bool,
}

/// Puts the phrase or the options that begin the line behind the request.
pub(super) fn reordered(line: &str, terms: &[AnnotatedToken]) -> Option<Reordered> {
    leading_options(line, terms).or_else(|| leading_document(line, terms)).or_else(|| leading_phrase(line, terms))
}

/// `in the doc "SLA" pin the section "Penalties"`
fn leading_document(line: &str, terms: &[AnnotatedToken]) -> Option<Reordered> {
    let leads = matches!(terms.first()?.entry.prep, Some(Prep::In | Prep::Of | Prep::From));
    let article = 1 + usize::from(terms.get(1)?.entry.func == Some(FunctionWord::Det));
    let titled = article + usize::from(terms.get(article)?.entry.noun == Some(Noun::Doc));
    let title = terms.get(titled)?;
    let is_document = title.kind == TokenKind::File || titled > article && title.is_text();
    let begin = titled + 1 + usize::from(terms.get(titled + 1)?.is(','));
    let object = terms.get(begin + 1)?;
    let has_object = object.is_text()
        || matches!(object.entry.func, Some(FunctionWord::Det | FunctionWord::Adjective))
        || matches!(object.kind, TokenKind::OptionName(_));
    let asks = terms[begin].entry.base().is_some() && (has_object || terms[begin].entry.noun.is_none());
    let behind = line[terms[begin].whole.start..terms.last()?.whole.end].trim_end_matches(['.', '!', ' ']);
    let before = &line[terms[0].whole.start..title.whole.end];
    (leads && is_document && asks).then(|| Reordered { line: format!("{behind} {before}"), limits: true })
}

/// `n:2 tokens:150 continue`, `n:3, ~60 words, from a7x2 — continue`
fn leading_options(line: &str, terms: &[AnnotatedToken]) -> Option<Reordered> {
    let mut at = 0;
    while let Some(length) = option_length(&terms[at..]) {
        at += length;
        // `n=3 please, continue`
        at += usize::from(terms.get(at)?.entry.func == Some(FunctionWord::Pad));
        at += usize::from(terms.get(at)?.is(','));
    }
    let dash = usize::from(at > 0 && matches!(terms.get(at)?.kind, TokenKind::Mark('—' | '–' | '-')));
    let (options, request) = (&terms[..at], terms.get(at + dash..)?);
    let begins = options.len() > 1
        && matches!(terms[0].kind, TokenKind::OptionName(_))
        && request.first()?.entry.base().is_some();
    let before = line[..options.last()?.whole.end].trim_end_matches(',').trim_start_matches(['→', ' ']);
    // A comment stays out.
    let behind = &line[request.first()?.whole.start..terms.last()?.whole.end];
    begins.then(|| Reordered { line: format!("{behind} {before}"), limits: true })
}

/// The tokens of the option that `terms` begin with: `n:3`, `~60 words`, `from a7x2`.
fn option_length(terms: &[AnnotatedToken]) -> Option<usize> {
    let first = terms.first()?;
    if matches!(first.kind, TokenKind::OptionName(_)) {
        let value = 1 + usize::from(matches!(terms.get(1)?.kind, TokenKind::Mark(':' | '=')));
        let is_value = !matches!(terms.get(value)?.kind, TokenKind::Mark(_) | TokenKind::OptionName(_));
        return (is_value && terms[value].entry.base().is_none()).then_some(value + 1);
    }
    if first.entry.prep == Some(Prep::From) {
        return terms.get(1)?.is_id().then_some(2);
    }
    let about = usize::from(first.is('~'));
    let unit = matches!(terms.get(about + 1)?.entry.noun, Some(Noun::Token | Noun::Text));
    (unit && matches!(terms[about].kind, TokenKind::Number(_))).then_some(about + 2)
}

fn leading_phrase(line: &str, terms: &[AnnotatedToken]) -> Option<Reordered> {
    let first = terms.first()?;
    let leads = matches!(first.entry.prep, Some(Prep::With | Prep::In | Prep::At | Prep::As | Prep::From | Prep::By))
        || first.text.of(line).eq_ignore_ascii_case("using");
    let comma = terms.iter().take(MAX_PHRASE).position(|term| term.is(',')).filter(|comma| leads && *comma > 1)?;
    let (phrase, request) = (&terms[..comma], &terms[comma + 1..]);
    // `using the agent "Marlowe", continue from a7x2`
    let names_agent = phrase.iter().any(|term| term.entry.noun == Some(Noun::Agent));
    let is_part = |term: &AnnotatedToken| {
        let acts = term.entry.base().is_some() && term.entry.noun.is_none() && term.entry.prep.is_none();
        (!term.is_text() || names_agent)
            && !acts
            && !intent::is_finite(term)
            && term.entry.func != Some(FunctionWord::Subject)
    };
    let begin = request.first()?;
    let asks = begin.entry.base().is_some()
        || matches!(
            begin.entry.func,
            Some(FunctionWord::Pad | FunctionWord::Modal | FunctionWord::Would | FunctionWord::Lets)
        );
    let last = request.iter().rfind(|term| !matches!(term.kind, TokenKind::Mark(_)))?;
    if !asks || !phrase.iter().all(is_part) {
        return None;
    }
    let counts = |pair: &[AnnotatedToken]| {
        let unit = matches!(pair[1].entry.noun, Some(Noun::Token | Noun::Text | Noun::Level | Noun::Result));
        unit && matches!(pair[0].kind, TokenKind::Number(_))
    };
    let names_option = |term: &AnnotatedToken| matches!(term.kind, TokenKind::OptionName(_));
    let behind = &line[begin.whole.start..last.whole.end];
    let before = &line[first.whole.start..phrase[comma - 1].whole.end];
    Some(Reordered {
        line: format!("{behind} {before}"),
        limits: phrase.windows(2).any(counts) || phrase.iter().any(names_option),
    })
}
