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
    leading_options(line, terms).or_else(|| leading_phrase(line, terms))
}

/// `n:2 tokens:150 continue`
fn leading_options(line: &str, terms: &[AnnotatedToken]) -> Option<Reordered> {
    let mut at = 0;
    while matches!(terms.get(at)?.kind, TokenKind::OptionName(_)) {
        at += 1 + usize::from(matches!(terms.get(at + 1)?.kind, TokenKind::Mark(':' | '=')));
        // A value, and the comma behind it.
        let value =
            terms.get(at).filter(|value| !matches!(value.kind, TokenKind::Mark(_) | TokenKind::OptionName(_)))?;
        if value.entry.base().is_some() {
            return None;
        }
        at += 1 + usize::from(terms.get(at + 1)?.is(','));
    }
    let (options, request) = terms.split_at(at);
    let begins = options.len() > 1 && request.first()?.entry.base().is_some();
    let before = line[..options.last()?.whole.end].trim_end_matches(',').trim_start_matches(['→', ' ']);
    let behind = &line[request.first()?.whole.start..];
    begins.then(|| Reordered { line: format!("{behind} {before}"), limits: false })
}

fn leading_phrase(line: &str, terms: &[AnnotatedToken]) -> Option<Reordered> {
    let first = terms.first()?;
    let leads = matches!(first.entry.prep, Some(Prep::With | Prep::In | Prep::At | Prep::As | Prep::From | Prep::By));
    let comma = terms.iter().take(MAX_PHRASE).position(|term| term.is(',')).filter(|comma| leads && *comma > 1)?;
    let (phrase, request) = (&terms[..comma], &terms[comma + 1..]);
    let is_part = |term: &AnnotatedToken| {
        let acts = term.entry.base().is_some() && term.entry.noun.is_none() && term.entry.prep.is_none();
        !term.is_text() && !acts && !intent::is_finite(term) && term.entry.func != Some(FunctionWord::Subject)
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
    let behind = &line[begin.whole.start..last.whole.end];
    let before = &line[first.whole.start..phrase[comma - 1].whole.end];
    Some(Reordered { line: format!("{behind} {before}"), limits: phrase.windows(2).any(counts) })
}
