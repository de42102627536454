//! The relevant part of a long text.

use crate::text_index::WordTokenizer;

/// Returns the part of a text with most of the query's words, about `most` bytes from the start of its line. A shorter
/// text is returned whole. `words` are those of [`super::SearchResults::words`].
#[must_use]
pub fn excerpt(text: &str, words: &[String], most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut reader = WordTokenizer::default();
    let piece = most.max(40);
    let (mut best, mut most, mut start) = (0, 0, 0);
    while start < text.len() {
        let end = start + cut_at(&text[start..], piece).len().max(1);
        let mut found = reader.query(&text[start..end.min(text.len())]);
        found.retain(|word| words.contains(word));
        if found.len() > most {
            (best, most) = (start, found.len());
        }
        start = end;
    }
    // Start at the line's start if it is near.
    let before = &text[..best];
    let from = before.rfind('\n').map_or(0, |at| at + 1);
    let from = if best - from <= piece / 2 { from } else { best };
    let kept = cut_at(&text[from..], best - from + piece);
    let (lead, end) = (if from > 0 { "… " } else { "" }, if from + kept.len() < text.len() { " …" } else { "" });
    format!("{lead}{}{end}", kept.trim_end())
}

/// Truncates a text to at most `most` bytes, between words if possible.
#[must_use]
pub(crate) fn cut_at(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let space = text[..end].rfind(char::is_whitespace).filter(|at| *at * 2 > end);
    &text[..space.unwrap_or(end)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_holds_what_was_asked_for() {
        let words = ["gasket".to_owned()];
        let text =
            format!("{}\nthe GASKETS of pump two leak\n{}", "ä long line of nothing ".repeat(40), "日本".repeat(900));
        for most in [1, 40, 100, 400] {
            let found = excerpt(&text, &words, most);
            assert!(found.contains("GASKETS") && found.len() <= 2 * most.max(40) + 8, "{most}: {found}");
        }
        assert_eq!(excerpt("short", &words, 5), "short");
        assert!(excerpt(&text, &[], 50).starts_with('ä'));
        assert!(excerpt(&"日本".repeat(50), &words, 40).ends_with(" …"));
    }
}
