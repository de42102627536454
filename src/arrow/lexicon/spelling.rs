//! Correction of misspelt words.
//!
//! A word that is not in the lexicon may be a typo of one that is: all words of the lexicon with one letter taken out are in a
//! map, so a typo (a letter too many, too few, another, two exchanged) is found by looking up the word and each of its own
//! shortened forms, however large the lexicon is.

use std::collections::HashSet;

use foldhash::fast::FixedState;

use super::{LEXICON, LONGEST, Map, lower, verbs, word_lists};

/// Words that typos are corrected to, and words that are none.
pub(super) struct Typos {
    /// Words with one letter taken out, and the words that they were.
    shortened: Map<Box<[u8]>, Vec<&'static str>>,
    /// Words that are no typo of another one.
    ordinary: HashSet<&'static [u8], FixedState>,
}

impl Typos {
    pub(super) fn build() -> Self {
        let mut shortened: Map<Box<[u8]>, Vec<&'static str>> = Map::default();
        let verbs = verbs::VERBS.iter().flat_map(|(_, bases)| bases.split_whitespace());
        let nouns = word_lists::NOUNS.iter().flat_map(|(_, names)| names.split_whitespace());
        let others = [
            "please", "under", "below", "from", "with", "into", "the", "append", "exact", "full", "scope", "since",
            "which", "what", "where", "about", "again", "first", "newest", "oldest",
        ];
        for word in verbs.chain(nouns).chain(others).filter(|word| word.len() >= 3) {
            shortened.entry(word.as_bytes().into()).or_default().push(word);
            for at in 0..word.len() {
                let form = [&word.as_bytes()[..at], &word.as_bytes()[at + 1..]].concat();
                let words = shortened.entry(form.into()).or_default();
                if !words.contains(&word) {
                    words.push(word);
                }
            }
        }
        let ordinary = verbs::ORDINARY.split(' ').map(str::as_bytes).collect();
        Self { shortened, ordinary }
    }
}

/// The word that `word` may be a typo of, if one is within an edit or an exchange.
pub(in crate::arrow) fn correct_typo(word: &str) -> Option<&'static str> {
    let mut buffer = [0_u8; LONGEST];
    let word = lower(word, &mut buffer)?;
    if word.len() < 3 || !word.iter().all(u8::is_ascii_alphabetic) || LEXICON.typos.ordinary.contains(word) {
        return None;
    }
    let mut short = [0_u8; LONGEST];
    let mut best: Option<&'static str> = None;
    let mut consider = |form: &[u8]| {
        for target in LEXICON.typos.shortened.get(form).into_iter().flatten() {
            // Of several, the one of the same letters: two exchanged is the likeliest typo.
            let better =
                best.is_none_or(|best| same_letters(target.as_bytes(), word) && !same_letters(best.as_bytes(), word));
            // Of three letters two may be exchanged or a fourth left out: too many short words are one letter apart.
            let long = word.len() > 3 || target.len() == 4 || same_letters(target.as_bytes(), word);
            if better && long && within_one_edit(word, target.as_bytes()) {
                best = Some(target);
            }
        }
    };
    consider(word);
    for at in 0..word.len() {
        let (head, tail) = (&word[..at], &word[at + 1..]);
        short[..at].copy_from_slice(head);
        short[at..word.len() - 1].copy_from_slice(tail);
        consider(&short[..word.len() - 1]);
    }
    best
}

fn same_letters(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len()
        && a.iter().fold(0_u32, |sum, c| sum + u32::from(*c)) == b.iter().fold(0, |sum, c| sum + u32::from(*c))
}

/// True if one letter added, left out, changed, or two neighbours exchanged make the one of the other.
pub(in crate::arrow) fn within_one_edit(a: &[u8], b: &[u8]) -> bool {
    let ahead = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[ahead..], &b[ahead..]);
    let behind = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    match (&a[..a.len() - behind], &b[..b.len() - behind]) {
        ([], []) => false,
        ([_], [] | [_]) | ([], [_]) => true,
        ([a, b], [c, d]) => a == d && b == c,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_of_the_lists_is_a_name_of_the_code() {
        let verbs = verbs::VERBS.iter().map(|(_, words)| *words);
        let nouns = word_lists::NOUNS.iter().map(|(_, words)| *words);
        for word in verbs.chain(nouns).chain([verbs::ORDINARY]).flat_map(str::split_whitespace) {
            assert!(!word.contains(|c: char| c == '_' || c.is_ascii_uppercase()), "{word}");
        }
    }

    #[test]
    fn ordinary_words_are_no_typos() {
        assert_eq!(correct_typo("slip"), None);
        assert_eq!(correct_typo("prunne"), Some("prune"));
    }
}
