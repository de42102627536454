//! Lists and patterns of words. A pattern has words with a space between, `|` between alternatives, and `?` behind words that
//! may be missing. For example `in|across the|this whole? tree`.

/// The position behind the words from `at` that match `pattern`.
pub(super) fn matched<'a>(pattern: &str, words: &impl Fn(usize) -> &'a str, at: usize) -> Option<usize> {
    let Some((element, rest)) = pattern.split_once(' ').or((!pattern.is_empty()).then_some((pattern, ""))) else {
        return Some(at);
    };
    let optional = element.strip_suffix('?');
    let said = words(at);
    let is_said = optional.unwrap_or(element).split('|').any(|word| word.eq_ignore_ascii_case(said));
    let with = if is_said { matched(rest, words, at + 1) } else { None };
    with.or_else(|| optional.and_then(|_| matched(rest, words, at)))
}

/// True if `word`, in any case, is one of the `words`, which have a space between.
pub(super) fn is_in(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|other| other.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::matched;

    #[test]
    fn alternatives_and_words_that_may_be_missing() {
        let length = |pattern: &str, text: &'static str| {
            let words: Vec<&str> = text.split(' ').collect();
            matched(pattern, &|at| words.get(at).copied().unwrap_or_default(), 0)
        };
        assert_eq!(length("in|across the whole? tree", "across the tree"), Some(3));
        assert_eq!(length("in|across the whole? tree", "In the whole tree now"), Some(4));
        assert_eq!(length("in|across the whole? tree", "in the tall tree"), None);
        assert_eq!(length("once more?", "once"), Some(1));
    }
}
