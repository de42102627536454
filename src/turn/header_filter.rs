//! Filter for echoed node headers. The context shows each message under a header (`[a7x2kq] model · 14:05`, `---`), and
//! models tend to start their replies with one. The engine writes headers itself, so the filter drops an echoed header
//! from the text. The raw reply keeps it.

/// Maximum bytes of a first line that can be a header.
const MAX_HEADER_BYTES: usize = 160;
/// Author types as headers name them.
const AUTHOR_TYPES: [&str; 4] = ["human", "model", "tool", "system"];

/// Beginning of a reply, buffered while it can still be a header.
#[derive(Debug, Default)]
pub(super) struct HeaderFilter {
    held: String,
    passed: bool,
}

impl HeaderFilter {
    /// Adds text and returns the part that is known not to be a header.
    pub(super) fn push(&mut self, text: &str) -> String {
        if self.passed {
            return text.to_owned();
        }
        self.held.push_str(text);
        self.release(false)
    }

    /// Returns the rest of the buffer at the end of the reply.
    pub(super) fn end(&mut self) -> String {
        if self.passed { String::new() } else { self.release(true) }
    }

    fn release(&mut self, whole: bool) -> String {
        let begun = self.held.trim_start();
        let words = match begun.split_once('\n') {
            _ if begun.is_empty() && !whole => return String::new(),
            None if !whole && begun.starts_with('[') && begun.len() < MAX_HEADER_BYTES => return String::new(),
            None => (!is_header(begun)).then_some(self.held.as_str()),
            Some((line, _)) if !is_header(line) => Some(self.held.as_str()),
            Some((_, rest)) => match rest.split_once('\n') {
                None if !whole && "---".starts_with(rest.trim_end()) => return String::new(),
                None if rest.trim_end() == "---" => None,
                Some((rule, words)) if rule.trim_end() == "---" => Some(words),
                _ => Some(rest),
            },
        };
        let words = words.unwrap_or("").to_owned();
        (self.held, self.passed) = (String::new(), true);
        words
    }
}

/// True if a line is a node header.
fn is_header(line: &str) -> bool {
    if line.starts_with("[did: ") {
        return true;
    }
    let Some((id, rest)) = line.strip_prefix('[').and_then(|line| line.split_once("] ")) else { return false };
    // An agent's name can follow the type.
    let who = rest.split_once(" · ").and_then(|(who, _)| who.split([' ', ',']).next());
    (2..=26).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && who.is_some_and(|who| AUTHOR_TYPES.contains(&who))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_filter(reply: &str, words: &str) {
        for size in [1, 2, 3, 7, reply.len().max(1)] {
            let (mut echo, mut text) = (HeaderFilter::default(), String::new());
            let characters: Vec<char> = reply.chars().collect();
            for piece in characters.chunks(size) {
                text.push_str(&echo.push(&piece.iter().collect::<String>()));
            }
            text.push_str(&echo.end());
            assert_eq!(text, words, "in pieces of {size}");
        }
    }

    #[test]
    fn an_echoed_header_is_dropped() {
        check_filter("[a7x2kq] model · 14:05\n---\nYes.\nSo.", "Yes.\nSo.");
        check_filter("\n[a7x2kq] human · 2023-11-14 14:05\nYes.", "Yes.");
        check_filter("[a7x2kq] model · just now\n--- and so on", "--- and so on");
        check_filter("[a7x2kq] model · just now\n---", "");
        check_filter("[a7x2kq] model · just now", "");
    }

    #[test]
    fn other_text_is_unchanged() {
        for words in
            ["", "Yes.", "[a7x2kq] says so.", "[1] model · 3\n", "[link](x)\n---\nYes.", "---\nYes.", "\n\nYes."]
        {
            check_filter(words, words);
        }
        check_filter("So:\n[a7x2kq] model · 14:05\n---\nYes.", "So:\n[a7x2kq] model · 14:05\n---\nYes.");
    }
}
