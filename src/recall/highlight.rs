//! Positions of a query's words in a text, for display.

use std::ops::Range;

use crate::text_index::WordTokenizer;

/// Returns the byte ranges of a text that contain a word of a search ([`super::SearchResults::words`]), in order and
/// disjoint. Without words, it returns the occurrences of `text`, ignoring case.
#[must_use]
pub fn highlights(content: &str, words: &[String], text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut reader = WordTokenizer::default();
    for (start, piece) in pieces(content) {
        let end = start + piece.len();
        if reader.query(piece).iter().any(|word| words.contains(word)) {
            found.push(start..end);
        }
    }
    if found.is_empty() && !text.is_empty() {
        let (lower, text) = (content.to_lowercase(), text.to_lowercase());
        // If lower case changes the length, positions differ.
        if lower.len() == content.len() {
            found.extend(lower.match_indices(&text).map(|(at, text)| at..at + text.len()));
            found.retain(|range| content.get(range.clone()).is_some());
        }
    }
    found
}

/// Iterates over runs of letters and digits with their positions. In a script without spaces, a character and its
/// neighbour are a run.
fn pieces(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|piece| !piece.is_empty()).map(move |piece| {
        // The piece is a slice of the text, so the address difference is its position.
        (piece.as_ptr().addr() - text.as_ptr().addr(), piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_word_is_marked() {
        let words = ["rain".to_owned()];
        let text = "It rained. Raining, the train; rain";
        let marked: Vec<&str> = highlights(text, &words, "rain").into_iter().map(|range| &text[range]).collect();
        assert_eq!(marked, ["rained", "Raining", "rain"]);
        assert_eq!(highlights("a -> b", &[], "->"), vec![2..4; 1]);
        assert!(highlights("", &words, "").is_empty());
    }
}
