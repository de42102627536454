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
    pub(super) const WORD: (i16, i16) = (100, 4);
    /// A word after anything else, and each letter beyond the sixth.
    pub(super) const JOINED: (i16, i16) = (65, 39);
    /// A part of a word that begins with its capital; its letters beyond the sixth are as those of a joined word.
    pub(super) const HUMP: i16 = 18;
    /// A run of capitals, and each but the first.
    pub(super) const CAPITALS: (i16, i16) = (60, 24);
    /// Up to three digits, and a blank before digits.
    pub(super) const DIGITS: (i16, i16) = (115, 100);
    /// A run of ASCII signs, and each but the first.
    pub(super) const SIGNS: (i16, i16) = (84, 20);
    /// A run of line ends.
    pub(super) const LINE: i16 = 90;
    /// Two blanks or more.
    pub(super) const BLANKS: i16 = 40;
    /// A letter of a European or Semitic script beyond ASCII.
    pub(super) const TWO_BYTES: i16 = 42;
    /// A dash, curly quote, arrow, or line of a box.
    pub(super) const TYPOGRAPHY: i16 = 130;
    /// A Chinese character, also in Japanese.
    pub(super) const HAN: i16 = 102;
    /// A Japanese syllable.
    pub(super) const KANA: i16 = 88;
    /// A Korean syllable.
    pub(super) const HANGUL: i16 = 109;
    /// East Asian punctuation, full-width forms.
    pub(super) const WIDE: i16 = 73;
    /// A letter of another script.
    pub(super) const THREE_BYTES: i16 = 90;
    /// An emoji, a rare character.
    pub(super) const FOUR_BYTES: i16 = 200;
}

/// About how many tokens a text is.
///
/// An automaton reads each byte once: what a byte costs depends on its class and on the state that the bytes before it
/// left. A look into a table for each costs less than the branches that a word's end would take.
#[must_use]
pub fn estimated_tokens(text: &str) -> u32 {
    let (mut state, mut biased) = (LINE_END, 0u64);
    for &byte in text.as_bytes() {
        let step = STEPS[(usize::from(state) << 5 | usize::from(CLASSES[usize::from(byte)])) % STEPS.len()];
        state = (step & 0x3f) as u8;
        biased += u64::from(step >> 6);
    }
    let hundredths = biased.saturating_sub(u64::from(BIAS.unsigned_abs()) * text.len() as u64);
    u32::try_from(hundredths.div_ceil(100)).unwrap_or(u32::MAX)
}

/// What is added to each cost in the table, because some are negative.
const BIAS: i16 = 100;

// Classes of bytes.
const LOWER: u8 = 0;
const UPPER: u8 = 1;
const DIGIT: u8 = 2;
const BLANK: u8 = 3;
const LINE: u8 = 4;
const SIGN: u8 = 5;
/// The first of seven classes of bytes that go on with a character, by where scripts begin and end.
const MORE: u8 = 6;
const LEAD: u8 = 13;

/// The class of each byte.
const CLASSES: [u8; 256] = {
    let mut classes = [SIGN; 256];
    let mut byte = 0;
    while byte < 256 {
        #[allow(clippy::cast_possible_truncation)] // under 256
        let class = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b' ' | b'\t' => BLANK,
            b'\n' | b'\r' => LINE,
            0x00..=0x7f => SIGN,
            0x80 => MORE,
            0x81..=0x83 => MORE + 1,
            0x84..=0x8f => MORE + 2,
            0x90..=0x9e => MORE + 3,
            0x9f..=0xaf => MORE + 4,
            0xb0..=0xbb => MORE + 5,
            0xbc..=0xbf => MORE + 6,
            0xc0..=0xdf => LEAD,
            0xe2 => LEAD + 1,
            0xe3 => LEAD + 2,
            0xe4..=0xe9 => LEAD + 3,
            0xea => LEAD + 4,
            0xeb | 0xec => LEAD + 5,
            0xed => LEAD + 6,
            0xef => LEAD + 7,
            0xe0 | 0xe1 | 0xee => LEAD + 8,
            0xf0..=0xff => LEAD + 9,
        };
        classes[byte] = class;
        byte += 1;
    }
    classes
};

// States: what the bytes before were.
/// A sign, and what else a word can follow without a blank.
const OTHER: u8 = 0;
const LINE_END: u8 = 1;
const ONE_BLANK: u8 = 2;
const BLANKS: u8 = 3;
/// One digit of a group of three, two, three.
const DIGITS: u8 = 4;
const SIGNS: u8 = 7;
/// A word after a blank: so many letters less one, from 7 on as many as one likes.
const WORD: u8 = 8;
/// A word after something else, or a hump: so many letters less one, from 6 on as many as one likes.
const JOINED: u8 = 16;
/// One capital: after a blank, after something else, after a small letter.
const CAPITAL: u8 = 23;
const CAPITALS: u8 = 26;
/// So many bytes of a character are still to come, less one.
const REST: u8 = 27;
/// The first byte of a character whose second byte tells the script: `E3`, `EA`, `ED`, `EF`.
const SECOND: u8 = 30;
const STATES: u8 = 34;

/// Where a byte of each class leads from each state, and above that what it costs.
const STEPS: [u16; 2048] = {
    let mut steps = [0u16; 2048];
    let mut state = 0;
    while state < STATES {
        let mut class = 0;
        while class < LEAD + 10 {
            let (next, cost) = step(state, class);
            steps[(state as usize) << 5 | class as usize] = (cost + BIAS).cast_unsigned() << 6 | next as u16;
            class += 1;
        }
        state += 1;
    }
    steps
};

const fn step(state: u8, class: u8) -> (u8, i16) {
    match class {
        LOWER => small(state),
        UPPER => capital(state),
        DIGIT => match state {
            DIGITS | 5 => (state + 1, 0),
            ONE_BLANK | BLANKS => (DIGITS, cost::DIGITS.0 + cost::DIGITS.1),
            _ => (DIGITS, cost::DIGITS.0),
        },
        BLANK => match state {
            ONE_BLANK => (BLANKS, cost::BLANKS),
            BLANKS => (BLANKS, 0),
            _ => (ONE_BLANK, 0),
        },
        LINE => (LINE_END, if state == LINE_END { 0 } else { cost::LINE }),
        SIGN => (SIGNS, if state == SIGNS { cost::SIGNS.1 } else { cost::SIGNS.0 }),
        MORE..LEAD => more(state, class - MORE),
        _ => lead(class - LEAD),
    }
}

const fn small(state: u8) -> (u8, i16) {
    match state {
        ONE_BLANK | BLANKS => (WORD, cost::WORD.0),
        WORD..14 => (state + 1, 0),
        14 | 15 => (15, cost::WORD.1),
        JOINED..21 => (state + 1, 0),
        21 | 22 => (22, cost::JOINED.1),
        CAPITAL => (WORD + 1, 0),
        24 | 25 => (JOINED + 1, 0),
        // `HTTPServer`: the last capital belongs to what follows.
        CAPITALS => (JOINED + 1, cost::HUMP - cost::CAPITALS.0),
        _ => (JOINED, cost::JOINED.0),
    }
}

const fn capital(state: u8) -> (u8, i16) {
    match state {
        ONE_BLANK | BLANKS => (CAPITAL, cost::WORD.0),
        WORD..CAPITAL => (25, cost::HUMP),
        // The second one tells that it is a run.
        CAPITAL => (CAPITALS, cost::CAPITALS.0 + cost::CAPITALS.1 - cost::WORD.0),
        24 => (CAPITALS, cost::CAPITALS.0 + cost::CAPITALS.1 - cost::JOINED.0),
        25 => (CAPITALS, cost::CAPITALS.0 + cost::CAPITALS.1 - cost::HUMP),
        CAPITALS => (CAPITALS, cost::CAPITALS.1),
        _ => (24, cost::JOINED.0),
    }
}

/// A byte that goes on with a character.
const fn more(state: u8, class: u8) -> (u8, i16) {
    let cost = match (state, class) {
        (30, 0) | (33, 6..) => cost::WIDE,
        (30, 1) => cost::KANA,
        (30, 3..) => cost::HAN,
        (31, 5..) | (32, ..=3) => cost::HANGUL,
        (30..=33, _) => cost::THREE_BYTES,
        _ => 0,
    };
    match state {
        28 | 29 => (state - 1, cost),
        SECOND..STATES => (REST, cost),
        _ => (OTHER, cost),
    }
}

/// The first byte of a character beyond ASCII.
const fn lead(class: u8) -> (u8, i16) {
    match class {
        0 => (REST, cost::TWO_BYTES),
        1 => (REST + 1, cost::TYPOGRAPHY),
        2 => (SECOND, 0),
        3 => (REST + 1, cost::HAN),
        4 => (SECOND + 1, 0),
        5 => (REST + 1, cost::HANGUL),
        6 => (SECOND + 2, 0),
        7 => (SECOND + 3, 0),
        8 => (REST + 1, cost::THREE_BYTES),
        _ => (REST + 2, cost::FOUR_BYTES),
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
