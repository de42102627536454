//! Where the words of a query stand in a text, for display.

use std::ops::Range;

use crate::text_index::WordTokenizer;

/// The bytes of a text that hold any of a search's words ([`super::Found::words`]), in order and apart. With no words, where
/// `text` stands as it is, whatever its case.
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
        // Where lower case has another length, the places differ.
        if lower.len() == content.len() {
            found.extend(lower.match_indices(&text).map(|(at, text)| at..at + text.len()));
            found.retain(|range| content.get(range.clone()).is_some());
        }
    }
    found
}

/// Runs of letters and digits with their places; a character of a script without spaces is a run with its neighbour.
fn pieces(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|piece| !piece.is_empty()).map(move |piece| {
        // A part of the text itself, so its place is the distance between both.
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
        assert_eq!(highlights("a -> b", &[], "->"), [2..4]);
        assert!(highlights("", &words, "").is_empty());
    }
}
