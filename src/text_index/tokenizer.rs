//! Tokenizer of the search index. Texts and queries use the same one, so that their words match.
//!
//! A word is lower case, without accents, and reduced to its English stem; an irregular form becomes its base form
//! first (`went` to `go`), and British spelling American. Other languages use the word boundaries of Unicode. Scripts without spaces (Chinese,
//! Japanese, Korean, Thai) give single characters and overlapping pairs, so that a query of one or two characters
//! matches. An identifier (`snake_case`, `camelCase`, `src/auth.py`) gives one word with `_`, and then its parts.
//! Stopwords are omitted.
//!
//! The index stores the words: a change here requires a new [`TOKENIZER_VERSION`].

use std::collections::HashMap;

use foldhash::fast::RandomState;
use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization as _;
use unicode_segmentation::UnicodeSegmentation as _;

use super::{
    spelling::american,
    stopwords::{base_form, is_stopword},
};
use crate::types::truncate_bytes;

/// Version of these rules and of those for the text of calls. The store rebuilds an index of another version.
pub(crate) const TOKENIZER_VERSION: u32 = 3;
/// Maximum number of passages of a text.
pub(crate) const MAX_PASSAGES: usize = 256;

/// Maximum length of a word in bytes; longer words are truncated. A key or encoded data is not searched by its end.
const MAX_WORD_BYTES: usize = 64;
/// Minimum length in words at which a text is split into passages. Ranking scores each passage separately.
const PASSAGE_WORDS: usize = 120;
/// Maximum number of cached pieces, and maximum length in bytes of a cached piece: about 2 MB in total.
const MAX_CACHED_PIECES: usize = 16_384;
const MAX_CACHED_PIECE_BYTES: usize = 32;

/// A part of a text as index words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Passage {
    /// Index words, each followed by a space.
    pub(crate) words: String,
    /// Number of words.
    pub(crate) count: u32,
}

/// Splits text into index words. It caches results: a reused tokenizer is five times as fast as a new one.
pub(crate) struct WordTokenizer {
    stemmer: Stemmer,
    /// Cache from ASCII pieces between gaps to their words, separated by spaces.
    pieces: HashMap<Box<str>, Box<str>, RandomState>,
}

impl std::fmt::Debug for WordTokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WordTokenizer").finish_non_exhaustive()
    }
}

impl Default for WordTokenizer {
    fn default() -> Self {
        Self { stemmer: Stemmer::create(Algorithm::English), pieces: HashMap::default() }
    }
}

impl WordTokenizer {
    /// Calls `each` with every word of a text in order, without stopwords.
    pub(crate) fn each(&mut self, text: &str, each: &mut dyn FnMut(&str)) {
        for piece in text.split(is_gap).filter(|piece| !piece.is_empty()) {
            if piece.is_ascii() {
                self.cached_piece(piece.trim_matches(|c: char| !c.is_ascii_alphanumeric()), each);
            } else {
                self.unicode_words(&piece.replace(['\u{2019}', '\u{2bc}'], "'"), each);
            }
        }
    }

    /// Returns the distinct words of a query, in order.
    pub(crate) fn query(&mut self, text: &str) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        self.each(text, &mut |word| {
            if !found.iter().any(|known| known == word) {
                found.push(word.to_owned());
            }
        });
        let pairs: Vec<String> =
            found.iter().filter(|word| is_unspaced(word) && word.chars().count() == 2).cloned().collect();
        found.retain(|word| {
            let single = is_unspaced(word) && word.chars().count() == 1;
            !single || !pairs.iter().any(|pair| pair.contains(word.as_str()))
        });
        found
    }

    /// Splits a text into passages. A short text has one, a text without words none.
    pub(crate) fn passages(&mut self, text: &str) -> Vec<Passage> {
        let mut found: Vec<Passage> = Vec::new();
        // A word has at least one byte, so this bounds the number of passages.
        let most = u32::try_from(PASSAGE_WORDS.max(text.len() / (MAX_PASSAGES - 1) + 1)).unwrap_or(u32::MAX);
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

    /// Emits the words of an ASCII piece without gaps, from the cache if possible.
    fn cached_piece(&mut self, piece: &str, each: &mut dyn FnMut(&str)) {
        if let Some(words) = self.pieces.get(piece) {
            return words.split_ascii_whitespace().for_each(each);
        }
        if piece.len() > MAX_CACHED_PIECE_BYTES {
            return self.identifier_words(piece, each);
        }
        let mut words = String::new();
        self.identifier_words(piece, &mut |word| {
            words.push_str(word);
            words.push(' ');
        });
        words.split_ascii_whitespace().for_each(each);
        if self.pieces.len() >= MAX_CACHED_PIECES {
            self.pieces.clear();
        }
        self.pieces.insert(piece.into(), words.into());
    }

    /// Emits the words of an ASCII piece without gaps: one word, or an identifier and its parts.
    fn identifier_words(&self, piece: &str, each: &mut dyn FnMut(&str)) {
        let piece = piece.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        if piece.is_empty() {
            return;
        }
        if piece.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return self.stem_word(piece, each);
        }
        for run in piece.split(|c: char| !c.is_ascii_alphanumeric() && !CONNECTORS.contains(&c)) {
            let run = run.trim_matches(|c: char| !c.is_ascii_alphanumeric());
            let run = without_contraction(run);
            let parts: Vec<&str> = run.split(|c: char| !c.is_ascii_alphanumeric()).flat_map(split_camel_case).collect();
            // `well-known`, `a.b`, `a_b` and `aB` are names with parts.
            let named = parts.len() > 1 && run.len() <= MAX_WORD_BYTES && !run.contains('\'');
            if named {
                each(&parts.join("_").to_ascii_lowercase());
            }
            for part in parts {
                self.stem_word(&part.to_ascii_lowercase(), each);
            }
        }
    }

    /// Emits the words of text in any script.
    fn unicode_words(&self, piece: &str, each: &mut dyn FnMut(&str)) {
        let mut run: Vec<char> = Vec::new();
        for word in piece.split_word_bounds() {
            let without_spaces = word.chars().any(is_unspaced_script);
            if !without_spaces {
                flush_bigrams(&mut run, each);
            }
            if without_spaces {
                for c in word.nfkc().flat_map(char::to_lowercase) {
                    if is_unspaced_script(c) {
                        run.push(c);
                        continue;
                    }
                    flush_bigrams(&mut run, each);
                    if c.is_alphanumeric() {
                        each(c.encode_utf8(&mut [0; 4]));
                    }
                }
            } else if word.is_ascii() {
                self.identifier_words(word, each);
            } else if word.chars().any(char::is_alphanumeric) {
                let plain: String = word
                    .nfkd()
                    .filter(|c| !('\u{300}'..='\u{36f}').contains(c))
                    .flat_map(char::to_lowercase)
                    .nfc()
                    .collect();
                // Some words contain ASCII marks, which would split them in the index.
                for part in plain.split(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric()) {
                    if part.is_ascii() {
                        self.identifier_words(part, each)
                    } else {
                        each(truncate_bytes(part, MAX_WORD_BYTES))
                    }
                }
            } else {
                word.chars().filter(|c| is_emoji(*c)).for_each(|c| each(c.encode_utf8(&mut [0; 4])));
            }
        }
        flush_bigrams(&mut run, each);
    }

    /// Emits the stem of a lower-case ASCII word, unless it is a stopword.
    fn stem_word(&self, word: &str, each: &mut dyn FnMut(&str)) {
        if word.is_empty() || is_stopword(word) {
            return;
        }
        if word.len() > MAX_WORD_BYTES || word.bytes().any(|byte| byte.is_ascii_digit()) {
            return each(truncate_bytes(word, MAX_WORD_BYTES));
        }
        each(&self.stemmer.stem(&american(base_form(word))));
    }
}

/// Characters that join the parts of a name.
const CONNECTORS: [char; 8] = ['_', '-', '.', '/', '\\', ':', '@', '\''];

/// True for characters that separate pieces: white space and non-ASCII marks. ASCII marks may join names.
fn is_gap(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, '\t'..='\r' | ' ');
    }
    c.is_whitespace()
        || matches!(c, '\u{2010}'..='\u{2018}' | '\u{201a}'..='\u{205e}' | '\u{3000}'..='\u{3004}' | '\u{3008}'..='\u{301f}'
            | '«' | '»' | '·' | '¿' | '¡' | '\u{fe0f}' | '→' | '\u{ff01}'..='\u{ff0f}')
}

/// True for scripts without spaces, and for Hangul, whose words include particles.
pub(crate) fn is_unspaced_script(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3005}'..='\u{3007}'
        | '\u{3040}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}')
}

fn is_unspaced(word: &str) -> bool {
    word.chars().all(is_unspaced_script)
}

/// True for emoji and pictographs, the only marks that are indexed.
fn is_emoji(c: char) -> bool {
    matches!(c, '\u{1f000}'..='\u{1faff}' | '\u{2600}'..='\u{27bf}')
}

/// Emits the characters of a run and its overlapping pairs, and clears the run.
fn flush_bigrams(run: &mut Vec<char>, each: &mut dyn FnMut(&str)) {
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

/// Removes the contraction of `it's`, `we'll` and `didn't`.
fn without_contraction(word: &str) -> &str {
    match word.rsplit_once('\'') {
        Some((stem, "t" | "T")) => stem.strip_suffix(['n', 'N']).unwrap_or(stem),
        Some((stem, end)) if end.len() <= 2 && end.bytes().all(|byte| byte.is_ascii_alphabetic()) => stem,
        _ => word,
    }
}

/// Splits `camelCase` and `HTTPServer` into parts.
fn split_camel_case(word: &str) -> Vec<&str> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        let passages = WordTokenizer::default().passages(text);
        passages.iter().map(|passage| passage.words.trim_end()).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn english_words_are_stemmed_without_stopwords() {
        assert_eq!(words("She went to the painting classes, didn't she?"), "go paint class");
        assert_eq!(words("GOING gone Goes"), "go go go");
        assert_eq!(words("Caroline’s children and the child's mice"), "carolin child child mous");
        assert_eq!(words("the of and"), "");
    }

    #[test]
    fn identifiers_give_the_whole_and_the_parts() {
        assert_eq!(words("`read_file(path)`"), "read_file read file path");
        assert_eq!(words("in src/auth.py:12"), "src_auth_py_12 src auth py 12");
        assert_eq!(words("getUserName, HTTPServer"), "get_user_name get user name http_server http server");
        assert_eq!(words("error E0308 at [a7x2kq]"), "error e0308 a7x2kq");
        assert_eq!(words("“src/auth.py”"), words("src/auth.py"));
        assert_eq!(words("snake_case"), words("SNAKE_CASE"));
    }

    #[test]
    fn other_languages_use_unicode_word_boundaries() {
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
    fn long_texts_are_split_into_passages() {
        let text = |count: usize| (0..count).map(|n| format!("word{n} ")).collect::<String>();
        let cut = |text: &str| WordTokenizer::default().passages(text);
        assert_eq!(cut(&text(120)).len(), 1);
        assert_eq!(cut(&text(121)).len(), 2);
        assert_eq!(cut("").len(), 0);
        for long in [text(200_000), "a1 ".repeat(500_000), "我".repeat(300_000), "x".repeat(100_000)] {
            let passages = cut(&long);
            assert!((1..=MAX_PASSAGES).contains(&passages.len()), "{}", passages.len());
        }
    }

    proptest::proptest! {
        #[test]
        fn a_word_contains_no_separator(text in "\\PC{0,60}") {
            let mut reader = WordTokenizer::default();
            reader.each(&text, &mut |word| {
                assert!(!word.is_empty() && word.len() <= MAX_WORD_BYTES);
                assert!(word.chars().all(|c| c.is_alphanumeric() || c == '_' || !c.is_ascii()), "{word:?}");
                assert!(!word.bytes().any(|b| b.is_ascii_uppercase()), "{word:?}");
            });
        }
    }
}
