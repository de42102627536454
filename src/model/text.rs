//! Small questions about text.

/// The first words of `text` on one line, at most `most` characters, with `…` where something is left out.
#[must_use]
pub fn first_words(text: &str, most: usize) -> String {
    let mut out = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let word_length = word.chars().count();
        let gap = usize::from(length > 0);
        if length + gap + word_length > most {
            if length == 0 {
                out.extend(word.chars().take(most.saturating_sub(1)));
            }
            out.push('…');
            return out;
        }
        if gap == 1 {
            out.push(' ');
        }
        out.push_str(word);
        length += gap + word_length;
    }
    out
}

/// `text` on one line: runs of white space become one space, control characters go.
#[must_use]
pub fn one_line(text: &str) -> String {
    text.split_whitespace()
        .map(|word| word.chars().filter(|c| !c.is_control()).collect::<String>())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_words_end_at_a_word() {
        assert_eq!(first_words("one two three", 100), "one two three");
        assert_eq!(first_words("one\n two three", 8), "one two…");
        assert_eq!(first_words("incomprehensibilities", 6), "incom…");
        assert_eq!(first_words("", 6), "");
    }
}
