//! Word wrapping for terminals, which otherwise break lines within words.

use unicode_width::UnicodeWidthStr as _;

/// Wraps a text that arrives in pieces. A word is returned once its end is known.
#[derive(Debug, Default)]
pub(crate) struct WordWrap {
    column: usize,
    word: String,
}

impl WordWrap {
    /// Returns the pending word and `text` without its last word, in lines of at most `width` columns.
    pub(crate) fn push(&mut self, text: &str, width: usize) -> String {
        let mut wrapped = String::new();
        for c in text.chars() {
            if !c.is_whitespace() {
                self.word.push(c);
                continue;
            }
            wrapped.push_str(&self.end(width));
            if c == '\n' {
                wrapped.push(c);
                self.column = 0;
            } else if self.column < width {
                wrapped.push(c);
                self.column += 1;
            }
        }
        wrapped
    }

    /// Returns the pending word. A word longer than a line is not divided.
    pub(crate) fn end(&mut self, width: usize) -> String {
        let word = std::mem::take(&mut self.word);
        let columns = word.width();
        if columns > 0 && self.column > 0 && self.column + columns > width {
            self.column = columns;
            return format!("\n{word}");
        }
        self.column += columns;
        word
    }
}

/// Returns `text` in lines of at most `width` columns.
pub(crate) fn wrap(text: &str, width: usize) -> String {
    let mut words = WordWrap::default();
    let wrapped = words.push(text, width);
    wrapped + &words.end(width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_keep_their_own_ends() {
        assert_eq!(wrap("the keeper kept jars of rain", 12), "the keeper \nkept jars of\nrain");
        assert_eq!(wrap("a\n\n  indented line", 12), "a\n\n  indented \nline");
        assert_eq!(wrap("averyveryverylongword is left", 8), "averyveryverylongword\nis left");
    }

    #[test]
    fn pieces_make_the_same_lines_as_the_whole() {
        let text = "Once there was a keeper.\nShe kept jars of rain, for later.";
        let mut words = WordWrap::default();
        let mut wrapped: String = text.chars().map(|c| words.push(&c.to_string(), 14)).collect();
        wrapped.push_str(&words.end(14));
        assert_eq!(wrapped, wrap(text, 14));
    }
}
