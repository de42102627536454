//! Numbers in a line, in digits and in words.

use super::{TokenKind, lexicon};

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
