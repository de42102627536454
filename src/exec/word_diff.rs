//! Differences of two texts, word by word.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};
use unicode_segmentation::UnicodeSegmentation as _;

/// Time after which a comparison takes a longer way instead of the shortest.
const MAX_COMPARE_TIME: Duration = Duration::from_secs(1);
/// Bytes from which equal text between two changes is shown as equal, however long they are.
const MIN_COMMON_BYTES: usize = 24;

/// A change, and the text before it that both have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WordChange {
    pub(crate) same: String,
    pub(crate) gone: String,
    pub(crate) added: String,
}

impl WordChange {
    fn is_change(&self) -> bool {
        !self.gone.is_empty() || !self.added.is_empty()
    }

    fn len(&self) -> usize {
        self.gone.len().max(self.added.len())
    }
}

/// Compares two texts. Changes that only spaces or a few words separate are one: a sentence that was rewritten is shown as a
/// whole instead of as its scattered words.
pub(crate) fn word_changes(before: &str, after: &str) -> Vec<WordChange> {
    let split = |text| -> Vec<&str> { str::split_word_bounds(text).collect() };
    let (before, after) = (split(before), split(after));
    let diff = TextDiff::configure().timeout(MAX_COMPARE_TIME).diff_slices(&before, &after);
    let mut changes = vec![WordChange::default()];
    for change in diff.iter_all_changes() {
        let is_equal = change.tag() == ChangeTag::Equal;
        if is_equal && changes.last().is_some_and(WordChange::is_change) {
            changes.push(WordChange::default());
        }
        let Some(last) = changes.last_mut() else { continue };
        let text = match change.tag() {
            ChangeTag::Equal => &mut last.same,
            ChangeTag::Delete => &mut last.gone,
            ChangeTag::Insert => &mut last.added,
        };
        text.push_str(change.value());
    }
    let mut joined: Vec<WordChange> = Vec::with_capacity(changes.len());
    for change in changes {
        match joined.last_mut() {
            Some(last) if change.is_change() && is_island(last, &change) => {
                last.gone.push_str(&change.same);
                last.added.push_str(&change.same);
                last.gone.push_str(&change.gone);
                last.added.push_str(&change.added);
            }
            _ => joined.push(change),
        }
    }
    joined
}

/// True if the text before `after` is too short beside the changes around it to be distinguished from them.
fn is_island(before: &WordChange, after: &WordChange) -> bool {
    let wordless = !after.same.contains(char::is_alphanumeric);
    let short = after.same.len() < before.len().max(after.len()).min(MIN_COMMON_BYTES);
    (wordless || short) && !after.same.contains("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scattered_words_of_a_rewritten_sentence_are_one_change() {
        let changes = |before, after| -> Vec<(String, String, String)> {
            word_changes(before, after).into_iter().map(|change| (change.same, change.gone, change.added)).collect()
        };
        let owned = |same: &str, gone: &str, added: &str| (same.to_owned(), gone.to_owned(), added.to_owned());
        assert_eq!(changes("a quick fox", "a slow fox"), [owned("a ", "quick", "slow"), owned(" fox", "", "")]);
        assert_eq!(changes("one", "one two"), [owned("one", "", " two")]);
        let rewritten = changes(
            "Under her own last line, in her own hand, stood the number of ships: one, and sinking.",
            "In her hand stood one ship, sinking.",
        );
        assert!(
            rewritten.iter().filter(|(_, gone, added)| !gone.is_empty() || !added.is_empty()).count() <= 2,
            "{rewritten:?}"
        );
        assert_eq!(changes("same", "same"), [owned("same", "", "")]);
    }
}
