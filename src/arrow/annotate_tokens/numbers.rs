//! Numbers in a line, in digits and in words.

use super::{AnnotatedToken, Span, TokenKind, lexicon};

/// Joins the digits of a count of words or tokens: `words:1,000`, `1,000 tokens`. Elsewhere a comma may separate two numbers.
fn join_thousands(line: &str, terms: &mut Vec<AnnotatedToken>) {
    let is_unit = |term: Option<&AnnotatedToken>| {
        term.is_some_and(|term| matches!(term.text.of(line), "words" | "tokens" | "max-tokens" | "max_tokens"))
    };
    let digits = |term: &AnnotatedToken, length: std::ops::RangeInclusive<usize>| {
        let text = term.text.of(line);
        let is_number = matches!(term.kind, TokenKind::Number(_)) && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number && length.contains(&text.len())
    };
    let found = (0..terms.len().saturating_sub(2)).find(|at| {
        let [first, comma, last] = &terms[*at..*at + 3] else { return false };
        let marked = at.checked_sub(1).is_some_and(|mark| matches!(terms[mark].kind, TokenKind::Mark(':' | '=')));
        let name = at.checked_sub(1 + usize::from(marked)).and_then(|name| terms.get(name));
        let counted = is_unit(name) || is_unit(terms.get(at + 3));
        let joined = comma.is(',') && !comma.gap && !last.gap;
        joined && counted && digits(first, 1..=3) && digits(last, 3..=3)
    });
    let Some(at) = found else { return };
    // Each group of three digits.
    while let [first, comma, last, ..] = &terms[at..]
        && comma.is(',')
        && !comma.gap
        && !last.gap
        && digits(last, 3..=3)
        && let (TokenKind::Number(value), TokenKind::Number(rest)) = (first.kind, last.kind)
    {
        let (value, end) = (value.saturating_mul(1_000).saturating_add(rest), *last);
        let first = &mut terms[at];
        (first.kind, first.text.end, first.whole.end) = (TokenKind::Number(value), end.text.end, end.whole.end);
        terms.drain(at + 1..at + 3);
    }
}

/// Joins the words of a number: `two hundred and forty two`, `a hundred and twenty`, `2 hundred`.
pub(super) fn join(line: &str, terms: &mut Vec<AnnotatedToken>) {
    join_thousands(line, terms);
    // `undo x 2`
    if let Some(at) = (1..terms.len().saturating_sub(1)).find(|at| {
        terms[*at].kind == TokenKind::Name
            && terms[*at].text.of(line) == "x"
            && terms[*at - 1].entry.verb.is_some()
            && matches!(terms[*at + 1].kind, TokenKind::Number(_))
    }) {
        terms.remove(at);
    }
    let number = |at: usize| match terms.get(at)?.kind {
        TokenKind::Number(number) => Some(number),
        _ => None,
    };
    // Neither an ordinal nor a word for a count: `the second hundred`, `hundred single`.
    let is_ordinal = |word: &str| matches!(word, "first" | "second" | "third") || word.ends_with("th");
    let is_count = |word: &str| matches!(word, "couple" | "pair" | "dozen" | "twice" | "single");
    let cardinal = |at: usize| {
        let word = terms.get(at)?.text.of(line);
        let is_word = word.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
        number(at).filter(|_| is_word && !is_ordinal(word) && !is_count(word))
    };
    let is_hundred = |at: usize| terms.get(at).is_some_and(|term| term.text.of(line) == "hundred");
    let Some(hundred) = (0..terms.len()).find(|at| is_hundred(*at)) else { return };
    let is_factor = |at: &usize| {
        let is_digits = terms[*at].text.of(line).bytes().all(|byte| byte.is_ascii_digit());
        number(*at).is_some_and(|factor| (1..100).contains(&factor)) && (is_digits || cardinal(*at).is_some())
    };
    let factor = hundred.checked_sub(1).filter(is_factor);
    let mut value = factor.and_then(number).unwrap_or(1) * 100;
    let mut end = hundred + 1;
    let and = usize::from(terms.get(end).is_some_and(|term| term.text.of(line) == "and"));
    if let Some(rest) = cardinal(end + and).filter(|rest| *rest < 100) {
        (value, end) = (value + rest, end + and + 1);
        if rest >= 20
            && rest % 10 == 0
            && let Some(units) = cardinal(end).filter(|units| (1..10).contains(units))
        {
            (value, end) = (value + units, end + 1);
        }
    }
    let (at, last) = (factor.unwrap_or(hundred), terms[end - 1]);
    let first = &mut terms[at];
    first.kind = TokenKind::Number(value);
    first.text = Span { start: first.text.start, end: last.text.end };
    first.whole = Span { start: first.whole.start, end: last.whole.end };
    terms.drain(at + 1..end);
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
        [b'x' | b'X' | b'n', rest @ ..] if short && !rest.is_empty() => &text[1..],
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
