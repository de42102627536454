//! Numbers in a line, in digits and in words.

use super::{AnnotatedToken, Span, TokenKind, lexicon};

/// Joins the words of a number: `two hundred and forty`, `a hundred and twenty`, `three thousand`.
pub(super) fn join(line: &str, terms: &mut Vec<AnnotatedToken>) {
    let word_number = |term: &AnnotatedToken| match term.kind {
        TokenKind::Number(number)
            if term.text.of(line).bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-') =>
        {
            Some(number)
        }
        _ => None,
    };
    let mut at = 0;
    while at < terms.len() {
        let scale = |at: usize| terms.get(at).and_then(word_number).filter(|number| matches!(number, 100 | 1_000));
        let factor = word_number(&terms[at]).filter(|number| (1..100).contains(number) && scale(at + 1).is_some());
        let Some(large) = scale(at + usize::from(factor.is_some())) else {
            at += 1;
            continue;
        };
        let mut number = factor.unwrap_or(1) * large;
        let mut end = at + 1 + usize::from(factor.is_some());
        let and = usize::from(terms.get(end).is_some_and(|term| term.text.of(line) == "and"));
        if let Some(rest) = terms.get(end + and).and_then(word_number).filter(|rest| *rest < 100) {
            (number, end) = (number + rest, end + and + 1);
        }
        let last = terms[end - 1];
        let first = &mut terms[at];
        first.kind = TokenKind::Number(number);
        first.text = Span { start: first.text.start, end: last.text.end };
        first.whole = Span { start: first.whole.start, end: last.whole.end };
        terms.drain(at + 1..end);
        at += 1;
    }
}

/// Returns the number of two words that a hyphen joins: `forty-two`.
pub(super) fn hyphenated(tens_word: &str, units_word: &str) -> Option<u32> {
    Some(tens(tens_word)? + units(units_word)?)
}

/// `forty`, of `forty-two`.
fn tens(word: &str) -> Option<u32> {
    lexicon::look_up(word).number.map(u32::from).filter(|n| (20..100).contains(n) && n % 10 == 0)
}

/// `two`, of `forty-two`.
fn units(word: &str) -> Option<u32> {
    lexicon::look_up(word).number.map(u32::from).filter(|n| (1..10).contains(n))
}

/// Digits, also with an `x` for times (`x3`, `3x`), a hash or the ending of an ordinal.
pub(in crate::arrow) fn number(text: &str) -> Option<TokenKind> {
    let bytes = text.as_bytes();
    let short = bytes.len() <= 3;
    let digits = match bytes {
        [b'x' | b'X', rest @ ..] if short && !rest.is_empty() => &text[1..],
        [.., b'x' | b'X'] if short && bytes.len() > 1 => &text[..text.len() - 1],
        _ => text,
    };
    // A short id is six characters long at least, so that none is an ordinal.
    let ends: &[&str] = match bytes.len() {
        ..=3 => &["st", "nd", "rd", "th", "p"],
        4..=5 => &["st", "nd", "rd", "th"],
        _ => &[],
    };
    let digits = ends.iter().find_map(|end| digits.strip_suffix(end)).unwrap_or(digits);
    // Six digits and more are an id that happens to have no letter.
    if digits.is_empty() || digits.len() >= 6 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().map(TokenKind::Number)
}
