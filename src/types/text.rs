//! Text functions: shorten, split into sentences, escape characters that a terminal would not display as they are.

/// Maximum characters of a title, a document's name or a bookmark's label where others stand beside it.
pub(crate) const MAX_SHOWN_NAME_CHARS: usize = 120;

/// Returns the last character boundary at or before `at`, at most the text's length. The standard library has both functions
/// since Rust 1.91.
#[must_use]
pub(crate) fn floor_char_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Returns the first character boundary at or after `at`, at most the text's length.
#[must_use]
pub(crate) fn ceil_char_boundary(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// Returns the beginning of a text: as many whole characters as fit into `most` bytes.
#[must_use]
pub(crate) fn truncate_bytes(text: &str, most: usize) -> &str {
    &text[..floor_char_boundary(text, most)]
}

/// Shortens a text to whole words on one line, at most `most` characters. `…` marks an omission.
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

/// Shortens a command to whole words on one line, at most `most` characters, as [`first_words`] does, but keeps the spaces
/// between quotation marks.
#[must_use]
pub(crate) fn first_words_of_command(text: &str, most: usize) -> String {
    let (mut line, mut quoted, mut escaped) = (String::with_capacity(text.len()), false, false);
    for c in text.trim().chars() {
        let c = if c.is_control() || c.is_whitespace() { ' ' } else { c };
        quoted ^= c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        if c != ' ' || quoted || !line.ends_with(' ') {
            line.push(c);
        }
    }
    let Some((end, _)) = line.char_indices().nth(most) else { return line };
    let cut = line[..end].rfind(' ').filter(|cut| *cut > 0).unwrap_or(end);
    format!("{}…", line[..cut].trim_end())
}

/// Joins a text into one line: white space becomes one space, control characters are removed.
#[must_use]
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace()
        .map(|word| word.chars().filter(|c| !c.is_control()).collect::<String>())
        .collect::<Vec<_>>()
        .join(" ")
}

/// True for characters of no width (`Default_Ignorable_Code_Point` of Unicode) and for the blank Braille pattern.
#[must_use]
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Escapes characters that are not displayed as themselves, such as `\u{1b}`. These are control characters, characters
/// of no width or that change the text direction, and white space other than a space. Line feeds and tabs are not
/// escaped.
#[must_use]
pub(crate) fn literal(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let hidden = c.is_control() || is_invisible(c) || c != ' ' && c.is_whitespace();
        match c {
            '\n' | '\t' => shown.push(c),
            _ if hidden => shown.extend(c.escape_unicode()),
            _ => shown.push(c),
        }
    }
    shown
}

/// [`literal`] on one line: line feeds are `\n`, tabs `\t`.
#[must_use]
pub(crate) fn literal_line(text: &str) -> String {
    literal(text).replace('\n', "\\n").replace('\t', "\\t")
}

/// True for characters that a terminal executes or that change the text direction. Line feed and tab are not.
#[must_use]
pub fn is_harmful(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t' || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Replaces a control character by its visible symbol. Other characters are returned unchanged.
#[must_use]
pub fn strip_control(c: char) -> char {
    match u32::from(c) {
        _ if !is_harmful(c) => c,
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or('\u{fffd}'),
        0x7f => '␡',
        _ => '\u{fffd}',
    }
}

/// Splits a text into sentences, trimmed. A sentence ends with `.`, `!`, `?` or a full-width form before white space,
/// or with a blank line.
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim();
    std::iter::from_fn(move || {
        let end = sentence_end(rest)?;
        let (sentence, after) = rest.split_at(end);
        rest = after.trim_start();
        Some(sentence.trim_end())
    })
}

/// Byte position of the end of the first sentence; `None` if the text is empty.
fn sentence_end(text: &str) -> Option<usize> {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let after = at + c.len_utf8();
        let next = chars.peek().map(|(_, next)| *next);
        let ends = match c {
            '。' | '！' | '？' => true,
            '.' | '!' | '?' | '"' | '”' | ')' => {
                let closes = matches!(c, '"' | '”' | ')');
                let marked = !closes || text[..at].ends_with(['.', '!', '?']);
                marked && next.is_none_or(char::is_whitespace)
            }
            '\n' => next == Some('\n'),
            _ => false,
        };
        if ends {
            return Some(after);
        }
    }
    (!text.is_empty()).then_some(text.len())
}

/// Returns the first sentence on one line, at most 30 words and 200 characters. `…` marks an omission. It replaces a
/// summary where there is none.
#[must_use]
pub(crate) fn first_sentence(text: &str) -> String {
    let first = one_line(sentences(text).next().unwrap_or(""));
    let cut = match first.match_indices(' ').nth(29) {
        Some((at, _)) => format!("{} …", &first[..at]),
        None => first,
    };
    if cut.chars().count() > 200 { first_words(&cut, 200) } else { cut }
}

/// Minimum characters of an excerpt that omits something.
const MIN_EXCERPT_CHARS: usize = 80;
/// Characters per word above which a length is given in characters: a script without spaces.
const MAX_CHARS_PER_WORD: usize = 24;

/// Returns the beginning of a text on one line, at most `most` characters (at least 80), with the length of the rest:
/// `… (+41 words)`. Headings at the start are omitted. The excerpt ends with a sentence if that leaves 80 characters.
#[must_use]
pub(crate) fn excerpt(text: &str, most: usize) -> String {
    let most = most.max(MIN_EXCERPT_CHARS);
    let whole = one_line(text);
    if whole.chars().count() <= most {
        return whole;
    }
    let is_heading = |line: &&str| line.trim().is_empty() || line.starts_with('#');
    let body = one_line(&text.lines().skip_while(is_heading).collect::<Vec<_>>().join("\n"));
    let body = if body.is_empty() { &whole } else { &body };
    let shown = first_sentences(body, most).map_or_else(|| first_words(body, most), str::to_owned);
    let shown = shown.trim_end_matches(['…', ' ']);
    let words = |text: &str| text.split(' ').filter(|word| !word.is_empty()).count();
    let (words, chars) =
        (words(&whole).saturating_sub(words(shown)).max(1), whole.chars().count() - shown.chars().count());
    let (rest, unit) = if chars > words * MAX_CHARS_PER_WORD { (chars, "character") } else { (words, "word") };
    format!("{shown} … (+{rest} {unit}{})", if rest == 1 { "" } else { "s" })
}

/// Returns the first sentences of a line, 80 to `most` characters; `None` if no sentence ends there.
fn first_sentences(line: &str, most: usize) -> Option<&str> {
    let mut end = 0;
    let mut found = None;
    for sentence in sentences(line) {
        end = line[end..].find(sentence).map_or(end, |at| end + at) + sentence.len();
        let length = line[..end].chars().count();
        if length > most {
            break;
        }
        found = (length >= MIN_EXCERPT_CHARS).then_some(&line[..end]).or(found);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_with_their_mark_or_a_blank_line() {
        let all = |text| sentences(text).collect::<Vec<_>>();
        assert_eq!(all("One. Two? “Three!” Four"), ["One.", "Two?", "“Three!”", "Four"]);
        assert_eq!(all("# Title\n\nversion 1.2 of it\nis out."), ["# Title", "version 1.2 of it\nis out."]);
        assert_eq!(all("一。二！"), ["一。", "二！"]);
        assert_eq!(all(" \n\n"), [""; 0]);
        assert_eq!(first_sentence("A  b\nc. D."), "A b c.");
        assert_eq!(first_sentence(&"word ".repeat(40)), format!("{}…", "word ".repeat(30)));
        assert!(first_sentence(&"x".repeat(500)).chars().count() <= 200);
        assert_eq!(first_sentence(""), "");
    }

    #[test]
    fn texts_are_cut_between_characters() {
        let text = "aé漢";
        let boundaries = |cut: fn(&str, usize) -> usize| [0, 1, 2, 3, 4, 5, 6, 9].map(|at| cut(text, at));
        assert_eq!(boundaries(floor_char_boundary), [0, 1, 1, 3, 3, 3, 6, 6]);
        assert_eq!(boundaries(ceil_char_boundary), [0, 1, 3, 3, 6, 6, 6, 6]);
        assert_eq!([truncate_bytes(text, 2), truncate_bytes(text, 9), truncate_bytes("", 1)], ["a", text, ""]);
    }

    #[test]
    fn first_words_end_at_a_word() {
        assert_eq!(first_words("one two three", 100), "one two three");
        assert_eq!(first_words("one\n two three", 8), "one two…");
        assert_eq!(first_words("incomprehensibilities", 6), "incom…");
        assert_eq!(first_words("", 6), "");
    }

    #[test]
    fn excerpt_names_the_length_of_the_rest() {
        assert_eq!(excerpt("Good. Who is sending it?", 120), "Good. Who is sending it?");
        let long = format!("# Notes\n\nGood. {}. The end.", "word ".repeat(20).trim());
        let shown = excerpt(&long, 120);
        assert_eq!(shown, format!("Good. {}. The end. … (+2 words)", "word ".repeat(20).trim()));
        let shown = excerpt(&"word ".repeat(100), 120);
        assert!(shown.ends_with("word … (+76 words)") && shown.chars().count() > 80, "{shown}");
        let shown = excerpt(&"漢字".repeat(200), 120);
        assert!(shown.ends_with(" characters)") && shown.chars().count() > 100, "{shown}");
        assert_eq!(excerpt(&format!("# {}", "x ".repeat(100)), 80).split(' ').next(), Some("#"));
    }
}
