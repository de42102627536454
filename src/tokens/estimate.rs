//! Token estimate for a text, without a model's vocabulary.
//!
//! A tokenizer splits a text into pieces (words with the preceding space, runs of digits, punctuation or line ends),
//! and splits these by its vocabulary. This module does the first step in one pass over the bytes, without allocation.
//! For the second it uses mean costs per kind and length of a piece. They are fitted to three vocabularies on English,
//! Rust, Python, Markdown, JSON, Chinese, Japanese and Korean. `docs/benchmarks.md` has the errors.
//!
//! There are three cost tables, because vocabularies differ. For the same Korean text, `o200k` needs two thirds of the
//! tokens of `cl100k`, and a small English vocabulary more than twice as many.

/// Family of a model's vocabulary, as far as it changes the estimate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenizerFamily {
    /// OpenAI's newer vocabulary of 200,000 tokens.
    O200k,
    /// OpenAI's older vocabulary of 100,000 tokens, also used for unknown models. It overestimates most of them:
    /// providers reject a prompt that is too long, while a prompt that is too short only omits content.
    #[default]
    Cl100k,
    /// Vocabularies of about 50,000 English and code tokens, such as that of SmolLM2.
    Small,
}

impl TokenizerFamily {
    /// Known models, by a part of their reference.
    const KNOWN: [(&str, Self); 9] = [
        ("gpt-4o", Self::O200k),
        ("gpt-4.1", Self::O200k),
        ("gpt-4.5", Self::O200k),
        ("gpt-5", Self::O200k),
        ("gpt-oss", Self::O200k),
        ("openai:o1", Self::O200k),
        ("openai:o3", Self::O200k),
        ("openai:o4", Self::O200k),
        ("smollm", Self::Small),
    ];

    /// Returns the family of a model by its reference. `openrouter:openai/o3` equals `openai:o3`.
    #[must_use]
    pub fn of(reference: &str) -> Self {
        let name = reference.to_ascii_lowercase().replace('/', ":");
        Self::KNOWN.iter().find(|(part, _)| name.contains(part)).map_or_else(Self::default, |(_, known)| *known)
    }

    /// Estimates the number of tokens of a text.
    ///
    /// An automaton reads each byte once. The cost of a byte depends on its class and on the state after the previous
    /// bytes. One table lookup per byte is faster than branches at word ends.
    #[must_use]
    pub fn tokens(self, text: &str) -> u32 {
        let steps = match self {
            Self::O200k => &const { steps(&TokenCosts::O200K) },
            Self::Cl100k => &const { steps(&TokenCosts::CL100K) },
            Self::Small => &const { steps(&TokenCosts::SMALL) },
        };
        let (mut state, mut biased) = (LINE_END, 0u64);
        for &byte in text.as_bytes() {
            let step = steps[(usize::from(state) << 5 | usize::from(CLASSES[usize::from(byte)])) % steps.len()];
            state = (step & 0x3f) as u8;
            biased += u64::from(step >> 6);
        }
        let hundredths = biased.saturating_sub(u64::from(BIAS.unsigned_abs()) * text.len() as u64);
        u32::try_from(hundredths.div_ceil(100)).unwrap_or(u32::MAX)
    }
}

/// Estimates the number of tokens of a text for an unknown model, by the default family.
#[must_use]
pub fn estimated_tokens(text: &str) -> u32 {
    TokenizerFamily::default().tokens(text)
}

/// Costs of pieces, in hundredths of a token.
struct TokenCosts {
    /// A word after a space, and each of its letters beyond the seventh.
    word: (i16, i16),
    /// A word after another character, and each letter beyond the sixth.
    joined: (i16, i16),
    /// A part of a word that starts with a capital. Letters beyond the sixth cost as in a joined word.
    hump: i16,
    /// A run of capitals, and each capital but the first.
    capitals: (i16, i16),
    /// Up to three digits, and a space before digits.
    digits: (i16, i16),
    /// A run of ASCII punctuation, and each character but the first.
    signs: (i16, i16),
    /// A run of line ends.
    line: i16,
    /// A run of at least two spaces.
    blanks: i16,
    /// A letter of two UTF-8 bytes: European or Semitic scripts.
    two_bytes: i16,
    /// A dash, curly quote, arrow or box-drawing character.
    typography: i16,
    /// A Chinese character, also in Japanese.
    han: i16,
    /// A Japanese syllable.
    kana: i16,
    /// A Korean syllable.
    hangul: i16,
    /// East Asian punctuation, full-width forms.
    wide: i16,
    /// A letter of another script.
    three_bytes: i16,
    /// An emoji, a rare character.
    four_bytes: i16,
}

impl TokenCosts {
    const O200K: Self = Self {
        word: (98, 11),
        joined: (74, 40),
        hump: 29,
        capitals: (55, 24),
        digits: (144, 109),
        signs: (83, 20),
        line: 87,
        blanks: 53,
        two_bytes: 42,
        typography: 119,
        han: 84,
        kana: 72,
        hangul: 71,
        wide: 57,
        three_bytes: 94,
        four_bytes: 260,
    };
    const CL100K: Self = Self {
        word: (101, 10),
        joined: (68, 39),
        hump: 29,
        capitals: (55, 24),
        digits: (144, 108),
        signs: (84, 23),
        line: 87,
        blanks: 52,
        two_bytes: 43,
        typography: 117,
        han: 120,
        kana: 99,
        hangul: 115,
        wide: 61,
        three_bytes: 94,
        four_bytes: 260,
    };
    const SMALL: Self = Self {
        word: (98, 8),
        joined: (127, 30),
        hump: 34,
        capitals: (70, 32),
        digits: (182, 101),
        signs: (107, 27),
        line: 62,
        blanks: 23,
        two_bytes: 50,
        typography: 182,
        han: 185,
        kana: 177,
        hangul: 283,
        wide: 80,
        three_bytes: 134,
        four_bytes: 400,
    };
}

/// Offset of each cost in the table, because some costs are negative.
const BIAS: i16 = 100;

// Classes of bytes.
const LOWER: u8 = 0;
const UPPER: u8 = 1;
const DIGIT: u8 = 2;
const BLANK: u8 = 3;
const LINE: u8 = 4;
const SIGN: u8 = 5;
/// First of seven classes of UTF-8 continuation bytes, divided at script boundaries.
const CONTINUATION: u8 = 6;
const LEAD: u8 = 13;

/// Class of each byte.
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
            0x80 => CONTINUATION,
            0x81..=0x83 => CONTINUATION + 1,
            0x84..=0x8f => CONTINUATION + 2,
            0x90..=0x9e => CONTINUATION + 3,
            0x9f..=0xaf => CONTINUATION + 4,
            0xb0..=0xbb => CONTINUATION + 5,
            0xbc..=0xbf => CONTINUATION + 6,
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

// States: kinds of the preceding bytes.
/// A sign, and what else a word can follow without a blank.
const OTHER: u8 = 0;
const LINE_END: u8 = 1;
const ONE_BLANK: u8 = 2;
const BLANKS: u8 = 3;
/// One digit of a group of three; the next two states follow for the second and third.
const DIGITS: u8 = 4;
const SIGNS: u8 = 7;
/// A word after a space: letter count minus one, at most 7.
const WORD: u8 = 8;
/// A word after another character, or a part after a capital: letter count minus one, at most 6.
const JOINED: u8 = 16;
/// One capital after a space; the next two states: after another character, after a lower-case letter.
const CAPITAL: u8 = 23;
const CAPITALS: u8 = 26;
/// Number of remaining bytes of a character, minus one.
const REST: u8 = 27;
/// First byte of a character whose second byte identifies the script: `E3`, `EA`, `ED`, `EF`.
const SECOND: u8 = 30;
const STATES: u8 = 34;

/// Builds the transition table: the next state in the low 6 bits, the biased cost above.
const fn steps(costs: &TokenCosts) -> [u16; 2048] {
    let mut steps = [0u16; 2048];
    let mut state = 0;
    while state < STATES {
        let mut class = 0;
        while class < LEAD + 10 {
            let (next, cost) = step(costs, state, class);
            steps[(state as usize) << 5 | class as usize] = (cost + BIAS).cast_unsigned() << 6 | next as u16;
            class += 1;
        }
        state += 1;
    }
    steps
}

const fn step(costs: &TokenCosts, state: u8, class: u8) -> (u8, i16) {
    match class {
        LOWER => lower_step(costs, state),
        UPPER => upper_step(costs, state),
        DIGIT => match state {
            DIGITS | 5 => (state + 1, 0),
            ONE_BLANK | BLANKS => (DIGITS, costs.digits.0 + costs.digits.1),
            _ => (DIGITS, costs.digits.0),
        },
        BLANK => match state {
            ONE_BLANK => (BLANKS, costs.blanks),
            BLANKS => (BLANKS, 0),
            _ => (ONE_BLANK, 0),
        },
        LINE => (LINE_END, if state == LINE_END { 0 } else { costs.line }),
        SIGN => (SIGNS, if state == SIGNS { costs.signs.1 } else { costs.signs.0 }),
        CONTINUATION..LEAD => continuation_step(costs, state, class - CONTINUATION),
        _ => lead_step(costs, class - LEAD),
    }
}

const fn lower_step(costs: &TokenCosts, state: u8) -> (u8, i16) {
    match state {
        ONE_BLANK | BLANKS => (WORD, costs.word.0),
        WORD..14 => (state + 1, 0),
        14 | 15 => (15, costs.word.1),
        JOINED..21 => (state + 1, 0),
        21 | 22 => (22, costs.joined.1),
        CAPITAL => (WORD + 1, 0),
        24 | 25 => (JOINED + 1, 0),
        // In `HTTPServer` the last capital belongs to the next part.
        CAPITALS => (JOINED + 1, costs.hump - costs.capitals.0),
        _ => (JOINED, costs.joined.0),
    }
}

const fn upper_step(costs: &TokenCosts, state: u8) -> (u8, i16) {
    match state {
        ONE_BLANK | BLANKS => (CAPITAL, costs.word.0),
        WORD..CAPITAL => (25, costs.hump),
        // The second capital identifies a run.
        CAPITAL => (CAPITALS, costs.capitals.0 + costs.capitals.1 - costs.word.0),
        24 => (CAPITALS, costs.capitals.0 + costs.capitals.1 - costs.joined.0),
        25 => (CAPITALS, costs.capitals.0 + costs.capitals.1 - costs.hump),
        CAPITALS => (CAPITALS, costs.capitals.1),
        _ => (24, costs.joined.0),
    }
}

/// Transition on a UTF-8 continuation byte.
const fn continuation_step(costs: &TokenCosts, state: u8, class: u8) -> (u8, i16) {
    let cost = match (state, class) {
        (30, 0) | (33, 6..) => costs.wide,
        (30, 1) => costs.kana,
        (30, 3..) => costs.han,
        (31, 5..) | (32, ..=3) => costs.hangul,
        (30..=33, _) => costs.three_bytes,
        _ => 0,
    };
    match state {
        28 | 29 => (state - 1, cost),
        SECOND..STATES => (REST, cost),
        _ => (OTHER, cost),
    }
}

/// Transition on the first byte of a non-ASCII character.
const fn lead_step(costs: &TokenCosts, class: u8) -> (u8, i16) {
    match class {
        0 => (REST, costs.two_bytes),
        1 => (REST + 1, costs.typography),
        2 => (SECOND, 0),
        3 => (REST + 1, costs.han),
        4 => (SECOND + 1, 0),
        5 => (REST + 1, costs.hangul),
        6 => (SECOND + 2, 0),
        7 => (SECOND + 3, 0),
        8 => (REST + 1, costs.three_bytes),
        _ => (REST + 2, costs.four_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_each_kind_have_their_cost() {
        let table = [
            ("", 0),
            ("a cat", 2),
            ("information", 3),
            ("the information", 3),
            ("get_user_by_id(42)", 9),
            ("NASA", 2),
            ("HTTPServer", 2),
            ("in 2023", 5),
            ("漢字", 3),
            ("ひらがな", 4),
            ("한국어", 4),
            ("«é»", 2),
            ("\u{1f98a}", 3),
            ("one\n\n\n    two", 4),
            ("=========", 3),
        ];
        for (text, tokens) in table {
            assert_eq!(estimated_tokens(text), tokens, "{text:?}");
        }
    }

    #[test]
    fn a_reference_determines_the_family() {
        let of = TokenizerFamily::of;
        assert_eq!(
            (of("openai:gpt-4o-mini"), of("openai:o3"), of("ollama:gpt-oss:20b")),
            (TokenizerFamily::O200k, TokenizerFamily::O200k, TokenizerFamily::O200k)
        );
        assert_eq!(of("openrouter:openai/o3"), TokenizerFamily::O200k);
        assert_eq!((of("local:smollm2"), of("ollama:SmolLM2:135m")), (TokenizerFamily::Small, TokenizerFamily::Small));
        assert_eq!(
            (of("openai:gpt-4"), of("anthropic:claude-x"), of("")),
            (TokenizerFamily::Cl100k, TokenizerFamily::Cl100k, TokenizerFamily::Cl100k)
        );
        let korean = "대화는 나무처럼 갈라진다";
        let [wide, usual, small] =
            [TokenizerFamily::O200k, TokenizerFamily::Cl100k, TokenizerFamily::Small].map(|one| one.tokens(korean));
        assert!(wide < usual && usual < small, "{wide} {usual} {small}");
    }

    #[test]
    fn the_estimate_of_a_text_is_near_the_sum_of_its_lines() {
        let text = "The lighthouse was dark; nobody went there (any more).\n".repeat(40);
        let lines: u32 = text.split_inclusive('\n').map(estimated_tokens).sum();
        assert!(lines.abs_diff(estimated_tokens(&text)) * 10 < lines);
    }
}
