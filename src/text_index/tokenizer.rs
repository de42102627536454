//! Text as words to search by: the same for what is said and for what is looked for, so that the two meet.
//!
//! A word is lower case, without accents, an irregular form as its common one (`went` as `go`), and by its English stem.
//! Other languages go by Unicode's words. Text without spaces (Chinese, Japanese, Korean, Thai) goes by single
//! characters and overlapping pairs, so that one or two characters find it. An identifier (`snake_case`, `camelCase`,
//! `src/auth.py`) is one word with `_` in it, and then its parts. Words that stand everywhere are left out.
//!
//! What comes out is kept in an index: a change here needs another [`WORD_RULES`].

use std::collections::HashMap;

use foldhash::fast::RandomState;
use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization as _;
use unicode_segmentation::UnicodeSegmentation as _;

use super::stopwords::{is_common, regular};

/// The number of these rules. An index that was made by others is made anew.
pub const WORD_RULES: u32 = 1;
/// Passages of a text at the most.
pub const PASSAGES: usize = 256;

/// The longest word in bytes; what is longer is cut. Nobody looks for the end of a key or an encoded file.
const LONGEST: usize = 64;
/// Words of a passage: longer texts are cut, so that each part is judged by itself.
const PASSAGE: usize = 120;
/// Pieces of text remembered at the most, and the longest of them in bytes: about 2 MB.
const REMEMBERED: usize = 16_384;
const MEMORABLE: usize = 32;

/// A part of a text, as its words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Passage {
    /// The words, each followed by a space.
    pub words: String,
    /// How many they are.
    pub count: u32,
}

/// Reads text as words. It remembers what it read, so one that is kept is five times faster than a fresh one.
pub struct WordTokenizer {
    stemmer: Stemmer,
    /// What stands between gaps in ASCII, as its words with spaces between them: people use the same few thousand.
    pieces: HashMap<Box<str>, Box<str>, RandomState>,
}

impl std::fmt::Debug for WordTokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WordReader").finish_non_exhaustive()
    }
}

impl Default for WordTokenizer {
    fn default() -> Self {
        Self { stemmer: Stemmer::create(Algorithm::English), pieces: HashMap::default() }
    }
}

impl WordTokenizer {
    /// Calls `each` with every word of a text, in order; those that stand everywhere are left out.
    pub fn each(&mut self, text: &str, each: &mut dyn FnMut(&str)) {
        for piece in text.split(is_gap).filter(|piece| !piece.is_empty()) {
            if piece.is_ascii() {
                self.piece(piece.trim_matches(|c: char| !c.is_ascii_alphanumeric()), each);
            } else {
                self.other(&piece.replace(['\u{2019}', '\u{2bc}'], "'"), each);
            }
        }
    }

    /// The words of a query, each once, in order.
    pub fn query(&mut self, text: &str) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        self.each(text, &mut |word| {
            // Of a run without spaces the pairs say more than the characters that they are made of.
            if !found.iter().any(|known| known == word) {
                found.push(word.to_owned());
            }
        });
        let pairs: Vec<String> =
            found.iter().filter(|word| is_spaceless(word) && word.chars().count() == 2).cloned().collect();
        found.retain(|word| {
            let single = is_spaceless(word) && word.chars().count() == 1;
            !single || !pairs.iter().any(|pair| pair.contains(word.as_str()))
        });
        found
    }

    /// A text's passages. A short text is one; one without words is none.
    pub fn passages(&mut self, text: &str) -> Vec<Passage> {
        let mut found: Vec<Passage> = Vec::new();
        // Each word has a byte of its own.
        let most = u32::try_from(PASSAGE.max(text.len() / (PASSAGES - 1) + 1)).unwrap_or(u32::MAX);
        self.each(text, &mut |word| {
            if found.last().is_none_or(|passage| passage.count >= most) {
                found.push(Passage::default());
            }
            if let Some(passage) = found.last_mut() {
                passage.words.push_str(word);
                passage.words.push(' ');
                passage.count += 1;
            }
        });
        found
    }

    /// ASCII without gaps, remembered.
    fn piece(&mut self, piece: &str, each: &mut dyn FnMut(&str)) {
        if let Some(words) = self.pieces.get(piece) {
            return words.split_ascii_whitespace().for_each(each);
        }
        if piece.len() > MEMORABLE {
            return self.identifier(piece, each);
        }
        let mut words = String::new();
        self.identifier(piece, &mut |word| {
            words.push_str(word);
            words.push(' ');
        });
        words.split_ascii_whitespace().for_each(each);
        if self.pieces.len() >= REMEMBERED {
            self.pieces.clear();
        }
        self.pieces.insert(piece.into(), words.into());
    }

    /// ASCII without gaps: a word, or an identifier with its parts.
    fn identifier(&self, piece: &str, each: &mut dyn FnMut(&str)) {
        let piece = piece.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        if piece.is_empty() {
            return;
        }
        if piece.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return self.word(piece, each);
        }
        for run in piece.split(|c: char| !c.is_ascii_alphanumeric() && !CONNECTORS.contains(&c)) {
            let run = run.trim_matches(|c: char| !c.is_ascii_alphanumeric());
            let run = without_contraction(run);
            let parts: Vec<&str> = run.split(|c: char| !c.is_ascii_alphanumeric()).flat_map(humps).collect();
            // `well-known` and `and/or` are words beside each other; `a.b`, `a_b` and `aB` are names.
            let named = parts.len() > 1 && run.len() <= LONGEST && !run.contains('\'');
            if named {
                each(&parts.join("_").to_ascii_lowercase());
            }
            for part in parts {
                self.word(&part.to_ascii_lowercase(), each);
            }
        }
    }

    /// Text in any script.
    fn other(&self, piece: &str, each: &mut dyn FnMut(&str)) {
        let mut run: Vec<char> = Vec::new();
        for word in piece.split_word_bounds() {
            let without_spaces = word.chars().any(spaceless);
            if !without_spaces {
                pairs(&mut run, each);
            }
            if without_spaces {
                for c in word.nfkc().flat_map(char::to_lowercase) {
                    if spaceless(c) {
                        run.push(c);
                        continue;
                    }
                    pairs(&mut run, each);
                    if c.is_alphanumeric() {
                        each(c.encode_utf8(&mut [0; 4]));
                    }
                }
            } else if word.is_ascii() {
                self.identifier(word, each);
            } else if word.chars().any(char::is_alphanumeric) {
                let plain: String = word
                    .nfkd()
                    .filter(|c| !('\u{300}'..='\u{36f}').contains(c))
                    .flat_map(char::to_lowercase)
                    .nfc()
                    .collect();
                // Some words have marks in them that would divide them in the index.
                for part in plain.split(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric()) {
                    if part.is_ascii() { self.identifier(part, each) } else { each(cut(part)) }
                }
            } else {
                word.chars().filter(|c| is_picture(*c)).for_each(|c| each(c.encode_utf8(&mut [0; 4])));
            }
        }
        pairs(&mut run, each);
    }

    /// One lower-case ASCII word.
    fn word(&self, word: &str, each: &mut dyn FnMut(&str)) {
        if word.is_empty() || is_common(word) {
            return;
        }
        if word.len() > LONGEST || word.bytes().any(|byte| byte.is_ascii_digit()) {
            return each(cut(word));
        }
        each(&self.stemmer.stem(regular(word)));
    }
}

/// What joins the parts of a name.
const CONNECTORS: [char; 8] = ['_', '-', '.', '/', '\\', ':', '@', '\''];

/// What no word has in it: white space, and marks that are not ASCII. ASCII marks may join names.
fn is_gap(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, '\t'..='\r' | ' ');
    }
    c.is_whitespace()
        || matches!(c, '\u{2010}'..='\u{2018}' | '\u{201a}'..='\u{205e}' | '\u{3000}'..='\u{3004}' | '\u{3008}'..='\u{301f}'
            | '«' | '»' | '·' | '¿' | '¡' | '\u{fe0f}' | '→' | '\u{ff01}'..='\u{ff0f}')
}

/// Scripts that are written without spaces, and Hangul, whose words carry their particles.
fn spaceless(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3005}'..='\u{3007}'
        | '\u{3040}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}')
}

fn is_spaceless(word: &str) -> bool {
    word.chars().all(spaceless)
}

/// Pictures such as emoji: the one kind of mark that somebody looks for.
fn is_picture(c: char) -> bool {
    matches!(c, '\u{1f000}'..='\u{1faff}' | '\u{2600}'..='\u{27bf}')
}

/// The characters of a run and its overlapping pairs.
fn pairs(run: &mut Vec<char>, each: &mut dyn FnMut(&str)) {
    let mut text = String::with_capacity(8);
    for (at, c) in run.iter().enumerate() {
        text.clear();
        text.push(*c);
        each(&text);
        if let Some(next) = run.get(at + 1) {
            text.push(*next);
            each(&text);
        }
    }
    run.clear();
}

/// `it's`, `we'll` and `didn't` without what the apostrophe joins.
fn without_contraction(word: &str) -> &str {
    match word.rsplit_once('\'') {
        Some((stem, "t" | "T")) => stem.strip_suffix(['n', 'N']).unwrap_or(stem),
        Some((stem, end)) if end.len() <= 2 && end.bytes().all(|byte| byte.is_ascii_alphabetic()) => stem,
        _ => word,
    }
}

/// The parts of `camelCase` and `HTTPServer`.
fn humps(word: &str) -> Vec<&str> {
    let bytes = word.as_bytes();
    let mut parts = Vec::with_capacity(1);
    let mut start = 0;
    for at in 1..bytes.len() {
        let (before, here) = (bytes[at - 1], bytes[at]);
        let after = bytes.get(at + 1);
        let up = !before.is_ascii_uppercase() && before.is_ascii_alphabetic() && here.is_ascii_uppercase();
        let last_of_capitals =
            before.is_ascii_uppercase() && here.is_ascii_uppercase() && after.is_some_and(u8::is_ascii_lowercase);
        if (up || last_of_capitals) && at - start > 1 {
            parts.push(&word[start..at]);
            start = at;
        }
    }
    if start < word.len() {
        parts.push(&word[start..]);
    }
    parts
}

fn cut(word: &str) -> &str {
    let mut end = word.len().min(LONGEST);
    while !word.is_char_boundary(end) {
        end -= 1;
    }
    &word[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        let passages = WordTokenizer::default().passages(text);
        passages.iter().map(|passage| passage.words.trim_end()).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn english_goes_by_its_stems_without_what_stands_everywhere() {
        assert_eq!(words("She went to the painting classes, didn't she?"), "go paint class");
        assert_eq!(words("GOING gone Goes"), "go go go");
        assert_eq!(words("Caroline’s children and the child's mice"), "carolin child child mous");
        assert_eq!(words("the of and"), "");
    }

    #[test]
    fn identifiers_are_found_whole_and_by_part() {
        assert_eq!(words("`read_file(path)`"), "read_file read file path");
        assert_eq!(words("in src/auth.py:12"), "src_auth_py_12 src auth py 12");
        assert_eq!(words("getUserName, HTTPServer"), "get_user_name get user name http_server http server");
        assert_eq!(words("error E0308 at [a7x2kq]"), "error e0308 a7x2kq");
        assert_eq!(words("“src/auth.py”"), words("src/auth.py"));
        assert_eq!(words("snake_case"), words("SNAKE_CASE"));
    }

    #[test]
    fn other_languages_go_by_unicode() {
        assert_eq!(words("Café naïve"), words("cafe naive"));
        assert_eq!(words("Пошёл домой"), "пошел домои");
        assert_eq!(words("我喜欢"), "我 我喜 喜 喜欢 欢");
        assert_eq!(words("データ"), "デ デー ー ータ タ");
        assert_eq!(words("사과를"), "사 사과 과 과를 를");
        assert_eq!(words("用Rust写"), "用 rust 写");
        assert_eq!(words("नमस्ते दुनिया").split(' ').count(), 2);
        assert_eq!(words("done 🎉!"), "done 🎉");
        let mut reader = WordTokenizer::default();
        assert_eq!(reader.query("喜欢 猫"), ["喜欢", "猫"]);
        assert_eq!(reader.query("painting paints"), ["paint"]);
    }

    #[test]
    fn long_texts_are_cut_into_passages() {
        let text = |count: usize| (0..count).map(|n| format!("word{n} ")).collect::<String>();
        let cut = |text: &str| WordTokenizer::default().passages(text);
        assert_eq!(cut(&text(120)).len(), 1);
        assert_eq!(cut(&text(121)).len(), 2);
        assert_eq!(cut("").len(), 0);
        for long in [text(200_000), "a1 ".repeat(500_000), "我".repeat(300_000), "x".repeat(100_000)] {
            let passages = cut(&long);
            assert!((1..=PASSAGES).contains(&passages.len()), "{}", passages.len());
        }
    }

    proptest::proptest! {
        #[test]
        fn a_word_has_no_gap_in_it(text in "\\PC{0,60}") {
            let mut reader = WordTokenizer::default();
            reader.each(&text, &mut |word| {
                assert!(!word.is_empty() && word.len() <= LONGEST);
                assert!(word.chars().all(|c| c.is_alphanumeric() || c == '_' || !c.is_ascii()), "{word:?}");
                assert!(!word.bytes().any(|b| b.is_ascii_uppercase()), "{word:?}");
            });
        }
    }
}
