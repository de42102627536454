//! Lists and patterns of words. A pattern has words with a space between, `|` between alternatives, and `?` behind words that
//! may be missing. For example `in|across the|this whole? tree`.

use std::collections::HashMap;

use foldhash::fast::FixedState;

/// The most bytes of a word that a pattern begins with.
const LONGEST: usize = 32;

/// A pattern, read once.
pub(super) struct Pattern(Vec<Element>);

/// One word of a pattern.
struct Element {
    words: Vec<&'static str>,
    is_optional: bool,
}

impl Pattern {
    pub(super) fn new(pattern: &'static str) -> Self {
        let element = |text: &'static str| {
            let words = text.strip_suffix('?');
            Element { words: words.unwrap_or(text).split('|').collect(), is_optional: words.is_some() }
        };
        Self(pattern.split_ascii_whitespace().map(element).collect())
    }

    /// The position behind the words from `at` that match.
    pub(super) fn end<'a>(&self, words: &impl Fn(usize) -> &'a str, at: usize) -> Option<usize> {
        end(&self.0, words, at)
    }
}

fn end<'a>(elements: &[Element], words: &impl Fn(usize) -> &'a str, at: usize) -> Option<usize> {
    let Some((element, rest)) = elements.split_first() else { return Some(at) };
    let said = words(at);
    let is_said = element.words.iter().any(|word| word.eq_ignore_ascii_case(said));
    let with = if is_said { end(rest, words, at + 1) } else { None };
    with.or_else(|| if element.is_optional { end(rest, words, at) } else { None })
}

/// Patterns with a value each, found by the words that they may begin with.
pub(super) struct PatternTable<T> {
    rows: Vec<(Pattern, T)>,
    /// Rows by the words in lower case that they may begin with, in the order of the table.
    by_word: HashMap<Box<[u8]>, Vec<usize>, FixedState>,
    first_words: ApproximateWordSet,
}

/// A set of words by the lengths of those with the same first letter. It holds each of its words and some others.
pub(super) struct ApproximateWordSet([u32; 128]);

impl ApproximateWordSet {
    pub(super) fn new<'w>(words: impl IntoIterator<Item = &'w str>) -> Self {
        let mut filter = Self([0; 128]);
        words.into_iter().for_each(|word| filter.add(word));
        filter
    }

    fn add(&mut self, word: &str) {
        if let Some((letter, bit)) = key(word) {
            self.0[letter] |= bit;
        }
    }

    /// False if `word`, in any case, is not in the set.
    pub(super) fn may_hold(&self, word: &str) -> bool {
        key(word).is_some_and(|(letter, bit)| self.0[letter] & bit != 0)
    }
}

impl<T> PatternTable<T> {
    pub(super) fn new(rows: impl IntoIterator<Item = (&'static str, T)>) -> Self {
        let mut table = Self::default();
        rows.into_iter().for_each(|(pattern, value)| table.push(&[pattern], value));
        table
    }

    /// Adds the first of `parts`, which follow each other. The other ones only count for the words that the row may begin with.
    pub(super) fn push(&mut self, parts: &[&'static str], value: T) {
        let row = self.rows.len();
        let patterns: Vec<Pattern> = parts.iter().map(|part| Pattern::new(part)).collect();
        let elements: Vec<&Element> = patterns.iter().flat_map(|pattern| &pattern.0).collect();
        let optional = elements.iter().take_while(|element| element.is_optional).count();
        for word in elements.iter().take(optional + 1).flat_map(|element| &element.words) {
            self.first_words.add(word);
            let rows = self.by_word.entry(word.to_ascii_lowercase().into_bytes().into()).or_default();
            if rows.last() != Some(&row) {
                rows.push(row);
            }
        }
        self.rows.extend(patterns.into_iter().next().map(|pattern| (pattern, value)));
    }

    /// Rows of the table that may begin with `word`, in its order, with their numbers.
    fn candidates<'t>(&'t self, word: &str) -> impl Iterator<Item = (usize, &'t (Pattern, T))> {
        let mut buffer = [0; LONGEST];
        let lowered = buffer.get_mut(..word.len()).filter(|_| self.first_words.may_hold(word));
        let rows = lowered.and_then(|lowered| {
            lowered.copy_from_slice(word.as_bytes());
            lowered.make_ascii_lowercase();
            self.by_word.get(&*lowered)
        });
        let rows = rows.map(Vec::as_slice).unwrap_or_default();
        rows.iter().map(|row| (*row, &self.rows[*row]))
    }

    /// The patterns that match from `at`, in the order of the table: the position behind each, and its value.
    pub(super) fn matches<'t, 'a>(
        &'t self,
        words: &impl Fn(usize) -> &'a str,
        at: usize,
    ) -> impl Iterator<Item = (usize, &'t T)> {
        self.candidates(words(at)).filter_map(move |(_, (pattern, value))| Some((pattern.end(words, at)?, value)))
    }

    /// The value of the first pattern that matches somewhere in `words`.
    pub(super) fn first_in(&self, words: &[&str]) -> Option<&T> {
        let word = |at: usize| words.get(at).copied().unwrap_or_default();
        let matching = (0..words.len()).filter_map(|at| {
            let mut rows = self.candidates(words[at]);
            rows.find_map(|(row, (pattern, _))| pattern.end(&word, at).map(|_| row))
        });
        matching.min().map(|row| &self.rows[row].1)
    }
}

impl<T> Default for PatternTable<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), by_word: HashMap::default(), first_words: ApproximateWordSet([0; 128]) }
    }
}

/// The first byte of a word in lower case, 127 if it is not of ASCII, and the bit of its length. `None` if it is too long.
fn key(word: &str) -> Option<(usize, u32)> {
    let letter = word.bytes().next()?.to_ascii_lowercase().min(127);
    (word.len() < 32).then(|| (usize::from(letter), 1 << word.len()))
}

/// True if `word`, in any case, is one of the `words`, which have a space between.
pub(super) fn is_in(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|other| other.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::{Pattern, PatternTable};

    #[test]
    fn alternatives_and_words_that_may_be_missing() {
        let length = |pattern: &'static str, text: &'static str| {
            let words: Vec<&str> = text.split(' ').collect();
            Pattern::new(pattern).end(&|at| words.get(at).copied().unwrap_or_default(), 0)
        };
        assert_eq!(length("in|across the whole? tree", "across the tree"), Some(3));
        assert_eq!(length("in|across the whole? tree", "In the whole tree now"), Some(4));
        assert_eq!(length("in|across the whole? tree", "in the tall tree"), None);
        assert_eq!(length("once more?", "once"), Some(1));
    }

    #[test]
    fn a_table_finds_its_first_row_that_matches() {
        let table = PatternTable::new([("please? in full", 1), ("full", 2)]);
        assert_eq!(table.first_in(&["view", "it", "Full"]), Some(&2));
        assert_eq!(table.first_in(&["full", "please", "in", "full"]), Some(&1));
        assert_eq!(table.first_in(&["fill"]), None);
    }
}
