//! About how many tokens a text is, without any model's vocabulary.
//!
//! Tokenizers cut a text into pieces (words with the blank before them, runs of digits, of signs, of line ends) and these
//! by their vocabulary. The first half is done here, in one pass over the bytes without allocating; of the second only
//! the means are known: what a piece of each kind and length comes to, fitted against OpenAI's `cl100k` and `o200k` on
//! English, Rust, Python, Markdown and JSON. `docs/benchmarks.md` says how close that is.
//!
//! For Chinese, Japanese and Korean tokenizers differ by half: `o200k` needs as many tokens as `cl100k` with a third off.
//! The estimate holds to the larger, because a prompt that is too long is refused, and one that is too short only leaves
//! something out.

/// What pieces come to, in hundredths of a token.
mod cost {
    /// A word after a blank, and each of its letters beyond the seventh.
    pub(super) const WORD: (u64, u64) = (100, 4);
    /// A word after anything else, and each letter beyond the sixth.
    pub(super) const JOINED: (u64, u64) = (65, 39);
    /// A part of a word that begins with its capital, and each letter beyond the sixth.
    pub(super) const HUMP: (u64, u64) = (18, 39);
    /// A run of capitals, and each but the first.
    pub(super) const CAPITALS: (u64, u64) = (60, 24);
    /// Up to three digits, and a blank before digits.
    pub(super) const DIGITS: (u64, u64) = (115, 100);
    /// A run of ASCII signs, and each but the first.
    pub(super) const SIGNS: (u64, u64) = (84, 20);
    /// A run of line ends.
    pub(super) const LINE: u64 = 90;
    /// Two blanks or more.
    pub(super) const BLANKS: u64 = 40;
    /// A letter of a European or Semitic script beyond ASCII.
    pub(super) const TWO_BYTES: u64 = 42;
    /// A dash, curly quote, arrow, or line of a box.
    pub(super) const TYPOGRAPHY: u64 = 130;
    /// A Chinese character, also in Japanese.
    pub(super) const HAN: u64 = 105;
    /// A Japanese syllable.
    pub(super) const KANA: u64 = 90;
    /// A Korean syllable.
    pub(super) const HANGUL: u64 = 112;
    /// East Asian punctuation, full-width forms.
    pub(super) const WIDE: u64 = 75;
    /// A letter of another script.
    pub(super) const THREE_BYTES: u64 = 90;
    /// An emoji, a rare character.
    pub(super) const FOUR_BYTES: u64 = 200;
}

/// About how many tokens a text is.
#[must_use]
pub fn estimated_tokens(text: &str) -> u32 {
    let bytes = text.as_bytes();
    let (mut at, mut hundredths) = (0, 0u64);
    // What the piece before ends with.
    let mut before = b'\n';
    while let Some(&byte) = bytes.get(at) {
        let (end, cost) = match byte {
            b'a'..=b'z' | b'A'..=b'Z' => word(bytes, at, before),
            b'0'..=b'9' => {
                let end = run(bytes, at, |byte| byte.is_ascii_digit());
                let blank = if before == b' ' { cost::DIGITS.1 } else { 0 };
                (end, (end - at).div_ceil(3) as u64 * cost::DIGITS.0 + blank)
            }
            b'\n' | b'\r' => (run(bytes, at, |byte| matches!(byte, b'\n' | b'\r')), cost::LINE),
            b' ' | b'\t' => {
                let end = run(bytes, at, |byte| matches!(byte, b' ' | b'\t'));
                (end, if end - at > 1 { cost::BLANKS } else { 0 })
            }
            ..0x80 => {
                let sign = |byte: u8| byte < 0x80 && !byte.is_ascii_alphanumeric() && !b" \t\n\r".contains(&byte);
                let end = run(bytes, at, sign);
                (end, cost::SIGNS.0 + (end - at - 1) as u64 * cost::SIGNS.1)
            }
            ..0xe0 => (at + 2, cost::TWO_BYTES),
            ..0xf0 => (at + 3, three_bytes(byte, bytes.get(at + 1).copied().unwrap_or(0))),
            _ => (at + 4, cost::FOUR_BYTES),
        };
        hundredths += cost;
        before = if bytes[end.min(bytes.len()) - 1] == b'\t' { b' ' } else { bytes[end.min(bytes.len()) - 1] };
        at = end;
    }
    u32::try_from(hundredths.div_ceil(100)).unwrap_or(u32::MAX)
}

/// Where a run that begins at `at` ends.
fn run(bytes: &[u8], at: usize, belongs: impl Fn(u8) -> bool) -> usize {
    let mut end = at + 1;
    while bytes.get(end).is_some_and(|byte| belongs(*byte)) {
        end += 1;
    }
    end
}

/// The end of a part of a word, and what it comes to: capitals, or letters with perhaps a capital before them.
fn word(bytes: &[u8], at: usize, before: u8) -> (usize, u64) {
    let capitals = if bytes[at].is_ascii_uppercase() { run(bytes, at, |byte| byte.is_ascii_uppercase()) } else { at };
    let end = if bytes.get(capitals).is_some_and(u8::is_ascii_lowercase) {
        run(bytes, capitals, |byte| byte.is_ascii_lowercase())
    } else {
        capitals
    };
    let each =
        |(whole, more): (u64, u64), letters: usize, free: usize| whole + letters.saturating_sub(free) as u64 * more;
    let (upper, all) = (capitals - at, end - at);
    let cost = match (upper, all) {
        // `NASA`.
        (2.., _) if upper == all => each(cost::CAPITALS, all, 1),
        // `HTTPServer`: the last capital belongs to what follows.
        (2.., _) => (upper - 1) as u64 * cost::CAPITALS.1 + each(cost::HUMP, all - upper + 1, 6),
        _ if before == b' ' => each(cost::WORD, all, 7),
        _ if before.is_ascii_alphabetic() => each(cost::HUMP, all, 6),
        _ => each(cost::JOINED, all, 6),
    };
    (end, cost)
}

/// What a character of three bytes comes to, by the first two.
fn three_bytes(first: u8, second: u8) -> u64 {
    match (first, second) {
        (0xe2, _) => cost::TYPOGRAPHY,
        (0xe3, 0x80) | (0xef, 0xbc..) => cost::WIDE,
        (0xe3, 0x81..=0x83) => cost::KANA,
        (0xe3, 0x90..) | (0xe4..=0xe9, _) => cost::HAN,
        (0xea, 0xb0..) | (0xeb | 0xec, _) | (0xed, ..0x9f) => cost::HANGUL,
        _ => cost::THREE_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_told_apart() {
        let table = [
            ("", 0),
            ("a cat", 2),
            ("information", 3),
            ("the information", 2),
            ("get_user_by_id(42)", 8),
            ("NASA", 2),
            ("HTTPServer", 2),
            ("in 2023", 4),
            ("漢字", 3),
            ("ひらがな", 4),
            ("한국어", 4),
            ("«é»", 2),
            ("\u{1f98a}", 2),
            ("one\n\n\n    two", 3),
            ("=========", 3),
        ];
        for (text, tokens) in table {
            assert_eq!(estimated_tokens(text), tokens, "{text:?}");
        }
    }

    #[test]
    fn a_whole_is_about_its_parts() {
        let text = "The lighthouse was dark; nobody went there (any more).\n".repeat(40);
        let lines: u32 = text.split_inclusive('\n').map(estimated_tokens).sum();
        assert!(lines.abs_diff(estimated_tokens(&text)) * 10 < lines);
    }
}
