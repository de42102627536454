//! The relevant part of a long text.

use crate::{
    text_index::WordTokenizer,
    types::{ceil_char_boundary, floor_char_boundary},
};

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
    let end = floor_char_boundary(text, most);
    let space = text[..end].rfind(char::is_whitespace).filter(|at| *at * 2 > end);
    &text[..space.unwrap_or(end)]
}

/// Number of lines with an error in the excerpt of a failed result.
const MAX_ERROR_LINES: usize = 3;
/// Length in bytes below which the excerpt of a failed result has errors or the end, not both.
const MIN_BYTES_OF_BOTH: usize = 200;
/// Texts that name an error, in lower case, the more certain ones first.
const ERROR_MARKS: [&[&str]; 2] = [
    &["error:", "error ts", "error[", "fatal:", "panicked", "traceback", "no such file", "not found", "exception:"],
    &["error", "failed", "exit code", "permission denied", "cannot "],
];

/// Shortens a failed result to about `most` bytes: a few lines that name an error, then its end.
#[must_use]
pub(crate) fn failure_excerpt(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end_bytes = if most < MIN_BYTES_OF_BOTH { 0 } else { most / 3 };
    let end = end_of(text, end_bytes).trim();
    let before = &text[..text.len() - end_of(text, end_bytes).len()];
    let with_mark = |marks: &&[&str]| {
        let mut lines: Vec<&str> = Vec::new();
        for line in before.lines().map(str::trim) {
            let lower = line.to_lowercase();
            if marks.iter().any(|mark| lower.contains(mark)) && !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.truncate(MAX_ERROR_LINES);
        lines
    };
    let lines = ERROR_MARKS.iter().map(with_mark).find(|lines| !lines.is_empty()).unwrap_or_default();
    if lines.is_empty() {
        return format!("… {}", end_of(text, most).trim());
    }
    // The first line has the longest part.
    let mut room = most - end_bytes;
    let mut kept: Vec<String> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let words = cut_at(line, if at + 1 == lines.len() { room } else { room / 2 }).trim_end();
        room = room.saturating_sub(words.len());
        kept.push(if words.len() < line.len() { format!("… {words} …") } else { format!("… {words}") });
    }
    if !end.is_empty() {
        kept.push(format!("… {end}"));
    }
    kept.join("\n")
}

/// Returns the end of a text, at most `most` bytes, from the start of a word if possible.
#[must_use]
pub(crate) fn end_of(text: &str, most: usize) -> &str {
    let start = ceil_char_boundary(text, text.len().saturating_sub(most));
    let word = text[start..].find(char::is_whitespace).filter(|at| start > 0 && at * 2 < most);
    &text[start + word.unwrap_or(0)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_of_a_failure_has_its_errors_and_its_end() {
        let noise = "Waiting for the debugger to disconnect...\n".repeat(60);
        let text =
            format!("{noise}a.ts(23,35): error TS2345: no ThemeColor\n{noise}npm error code 2\n{noise}script failed");
        for most in [60, 100, 300] {
            let found = failure_excerpt(&text, most);
            assert!(found.contains("error TS2345") && found.len() <= most + 20, "{most}: {found}");
            assert_eq!(found.ends_with("script failed"), most == 300, "{found}");
        }
        let text = format!("{noise}npm error code 2\n{noise}");
        assert!(failure_excerpt(&text, 300).contains("npm error code 2"));
        assert!(failure_excerpt(&noise, 300).ends_with("disconnect..."));
        assert_eq!(failure_excerpt("short", 90), "short");
        assert!(!failure_excerpt(&format!("{}\nerror: é", "日本".repeat(300)), 50).is_empty());
    }

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
