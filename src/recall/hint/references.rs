//! Reading a message: which of its words may refer to something said before.

use std::collections::HashSet;

use super::lexicon::{BACK, DEFINITE, VAGUE};
use crate::text_index::{WordTokenizer, is_stopword};

/// Words of a message that are read. Whoever says more than that says what is meant.
const WORDS: usize = 160;
/// Words of a definite reference, at the most.
const LONG: usize = 3;

/// Something in a message that may have been said before.
#[derive(Debug)]
pub(super) struct Reference {
    /// As it stands in the message.
    pub(super) said: String,
    /// The words that tell: their stems, and as they stand there.
    pub(super) words: Vec<(String, String)>,
    /// Those that were not seen yet.
    pub(super) missing: HashSet<String>,
}

/// A word of a message.
struct ReferenceWord<'t> {
    text: &'t str,
    lower: String,
    /// What is looked for; nothing for a word that tells nothing.
    stems: Vec<String>,
    /// Whether a mark stands behind it.
    closes: bool,
    /// Whether its sentence ends with it.
    ends: bool,
}

/// What in a text may refer to something said before.
pub(super) fn references(text: &str) -> Vec<Reference> {
    let words = words(text);
    let mut found = Vec::new();
    let mut known: HashSet<&str> = HashSet::new();
    for sentence in words.split_inclusive(|word| word.ends) {
        if points_back(sentence) {
            found.extend(reference(sentence, &HashSet::new()));
        }
        let mut at = 0;
        while at < sentence.len() {
            let part = &sentence[at..at + definite(&sentence[at..]).max(1)];
            let is_name = at > 0 && !sentence[at - 1].closes && names(part[0].text);
            if part.len() > 1 {
                // What the message itself brought up is no reference to anything else.
                found.extend(reference(&part[1..], &known));
            } else if is_name || is_identifier(part[0].text) {
                found.extend(reference(part, &known));
            }
            known.extend(part.iter().flat_map(|word| word.stems.iter().map(String::as_str)));
            at += part.len();
        }
    }
    found
}

/// The words of a text outside of code, up to a limit.
fn words(text: &str) -> Vec<ReferenceWord<'_>> {
    let mut reader = WordTokenizer::default();
    let mut found: Vec<ReferenceWord<'_>> = Vec::new();
    let mut code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            code = !code;
            continue;
        }
        // What is quoted line by line, or pasted with a log's marks, speaks for itself.
        if code || line.starts_with(['>', '|', '\t']) || line.starts_with("    ") {
            continue;
        }
        for piece in line.split_whitespace().take(WORDS - found.len()) {
            let text = piece.trim_matches(|c: char| !c.is_alphanumeric());
            if text.is_empty() {
                continue;
            }
            let after = piece.trim_end_matches(['"', '\'', ')', ']', '”', '’', '*', '`']);
            let lower = text.to_lowercase();
            let stems = if is_vague(&lower) { Vec::new() } else { reader.query(text) };
            let closes = after.ends_with([',', ';', ':', '.', '?', '!', '…']);
            found.push(ReferenceWord { text, lower, stems, closes, ends: after.ends_with(['.', '?', '!', '…']) });
        }
        if let Some(last) = found.last_mut() {
            (last.closes, last.ends) = (true, true);
        }
    }
    found
}

/// The words as a reference, if any of them tells something that is not `known`.
fn reference(words: &[ReferenceWord<'_>], known: &HashSet<&str>) -> Option<Reference> {
    let last = words.iter().rev().find_map(|word| word.stems.last())?;
    if known.contains(last.as_str()) {
        return None;
    }
    let said = words.iter().map(|word| word.text).collect::<Vec<_>>().join(" ");
    let stem = |word: &ReferenceWord<'_>| {
        word.stems.iter().map(|stem| (stem.clone(), word.text.to_owned())).collect::<Vec<_>>()
    };
    let told: Vec<(String, String)> = words.iter().flat_map(stem).collect();
    Some(Reference { said, missing: told.iter().map(|(stem, _)| stem.clone()).collect(), words: told })
}

/// How many words a definite reference has that begins here, with the word that makes it definite; 0 if none does.
fn definite(words: &[ReferenceWord<'_>]) -> usize {
    if words.first().is_none_or(|first| first.closes || !DEFINITE.contains(&first.lower.as_str())) {
        return 0;
    }
    let mut count = 1;
    for word in &words[1..] {
        if count > LONG || is_stopword(&word.lower) {
            break;
        }
        count += 1;
        if word.closes {
            break;
        }
    }
    if count > 1 { count } else { 0 }
}

/// Whether a sentence has a turn of phrase that points back.
fn points_back(words: &[ReferenceWord<'_>]) -> bool {
    BACK.iter().any(|cue| {
        let cue: Vec<&str> = cue.split(' ').collect();
        let fits = |part: &[ReferenceWord<'_>]| {
            part.iter().zip(&cue).all(|(word, choice)| choice.split('|').any(|one| one == word.lower))
        };
        words.windows(cue.len()).any(fits)
    })
}

/// Whether a word within a sentence is written as a name.
fn names(word: &str) -> bool {
    word.starts_with(char::is_uppercase) && word.chars().skip(1).any(char::is_lowercase)
}

/// Whether a word is written as no sentence has it: `src/auth.py`, `tax_client`, `E0382`.
fn is_identifier(word: &str) -> bool {
    let (letters, digits) = (word.contains(char::is_alphabetic), word.contains(|c: char| c.is_ascii_digit()));
    word.is_ascii() && letters && (word.contains(['_', '/', '\\']) || word.contains("::") || digits && word.len() > 3)
}

/// Whether a word names nothing in particular, in whichever form.
fn is_vague(word: &str) -> bool {
    let known = |word: &str| VAGUE.binary_search(&word).is_ok();
    known(word)
        || ["s", "d", "es", "ed", "ing"].iter().any(|end| {
            word.strip_suffix(end).is_some_and(|base| {
                let doubled = base.len() > 2 && base.as_bytes()[base.len() - 1] == base.as_bytes()[base.len() - 2];
                known(base)
                    || doubled && base.is_ascii() && known(&base[..base.len() - 1])
                    || *end == "ing" && known(&format!("{base}e"))
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        references(text).into_iter().map(|reference| reference.said).collect()
    }

    #[test]
    fn definite_references_names_and_identifiers_are_found() {
        assert_eq!(read("Write tests for the refresh tokens and log it"), ["refresh tokens"]);
        assert_eq!(read("Is the limit, for Redis, enough?"), ["limit", "Redis"]);
        assert_eq!(read("why does src/auth.py raise E0382"), ["src/auth.py", "E0382"]);
        assert_eq!(read("As we discussed, no ORM."), ["As we discussed no ORM"]);
    }

    #[test]
    fn what_says_nothing_of_anything_before_is_no_reference() {
        for text in ["", "Hello!", "Write a poem about the sea", "What is a monad?", "the", "the of the", "\0 \u{202e}"]
        {
            assert_eq!(read(text), [""; 0], "{text}");
        }
        // What the message itself brought up, and what was pasted.
        assert_eq!(read("I get an error. What does that error mean?"), [""; 0]);
        assert_eq!(read("```\nfix the gasket\n```\n> and the pump"), [""; 0]);
        assert_eq!(read(&"fix the gasket. ".repeat(10_000)), ["gasket"]);
    }

    #[test]
    fn words_are_vague_in_every_form() {
        assert!(VAGUE.is_sorted());
        for word in ["thing", "things", "used", "using", "putting", "asked", "said"] {
            assert!(is_vague(word), "{word}");
        }
        assert!(!is_vague("gasket"));
    }
}
