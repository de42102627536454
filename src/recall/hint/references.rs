//! Detection of references to earlier content in a message.

use std::collections::HashSet;

use super::phrases::{BACK_PHRASES, DEFINITE, LY_NOUNS, NAMELESS, PHRASES_WITHOUT_NOUN, SUPPOSITIONS, VAGUE};
use crate::text_index::{WordTokenizer, is_stopword};

/// Maximum number of words of a message that are read. A longer message explains itself.
const MAX_READ_WORDS: usize = 160;
/// Maximum number of words of a definite reference.
const MAX_REFERENCE_WORDS: usize = 3;

/// A possible reference to earlier content.
#[derive(Debug)]
pub(super) struct Reference {
    /// Text of the reference in the message.
    pub(super) text: String,
    /// Significant words: their stems, and as written.
    pub(super) words: Vec<(String, String)>,
    /// Stems that have not been seen in the window yet.
    pub(super) missing: HashSet<String>,
    /// True for a definite noun, a name or an identifier; false for all words of a sentence that refers back.
    pub(super) is_named: bool,
}

/// A word of a message.
struct ReferenceWord<'t> {
    text: &'t str,
    lower: String,
    /// Stems to be searched; empty for an insignificant word.
    stems: Vec<String>,
    /// True if punctuation follows the word.
    punctuated: bool,
    /// True if the sentence ends with the word.
    ends_sentence: bool,
}

/// Returns the possible references in a text. If there are none, also a phrase without a noun that refers back.
pub(super) fn references(text: &str) -> (Vec<Reference>, Option<String>) {
    let words = words(text);
    let mut found = Vec::new();
    let mut known: HashSet<&str> = HashSet::new();
    for sentence in words.split_inclusive(|word| word.ends_sentence) {
        if refers_back(sentence) {
            found.extend(reference(sentence, &HashSet::new()).map(|all| Reference { is_named: false, ..all }));
        }
        let is_supposition = phrase(sentence, SUPPOSITIONS).is_some() && !refers_back(sentence);
        let mut at = 0;
        while at < sentence.len() {
            let part = &sentence[at..at + definite_length(&sentence[at..]).max(1)];
            let is_name = at > 0 && !sentence[at - 1].punctuated && is_name(part[0].text);
            if part.len() > 1 && (is_supposition || part.last().is_some_and(|head| head.stems.is_empty())) {
                // `the whole thing` names nothing, whatever stands before its noun. `perhaps the clock is slow` is new.
            } else if part.len() > 1 {
                // A word that the message itself introduced is no reference.
                found.extend(reference(&part[1..], &known));
            } else if is_name || is_identifier(part[0].text) {
                found.extend(reference(part, &known));
            }
            known.extend(part.iter().flat_map(|word| word.stems.iter().map(String::as_str)));
            at += part.len();
        }
    }
    let mut sentences = words.split_inclusive(|word| word.ends_sentence);
    let phrase =
        if found.is_empty() { sentences.find_map(|sentence| phrase(sentence, PHRASES_WITHOUT_NOUN)) } else { None };
    (found, phrase.map(|words| words.iter().map(|word| word.text).collect::<Vec<_>>().join(" ")))
}

/// Splits a text into words, without code, up to [`MAX_READ_WORDS`].
fn words(text: &str) -> Vec<ReferenceWord<'_>> {
    let mut reader = WordTokenizer::default();
    let mut found: Vec<ReferenceWord<'_>> = Vec::new();
    let mut code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            code = !code;
            continue;
        }
        // Quoted lines and pasted logs contain no references.
        if code || line.starts_with(['>', '|', '\t']) || line.starts_with("    ") {
            continue;
        }
        for piece in line.split_whitespace().take(MAX_READ_WORDS - found.len()) {
            let text = piece.trim_matches(|c: char| !c.is_alphanumeric());
            if text.is_empty() {
                continue;
            }
            let after = piece.trim_end_matches(['"', '\'', ')', ']', '”', '’', '*', '`']);
            let lower = text.to_lowercase();
            let stems = if is_vague(&lower) { Vec::new() } else { reader.query(text) };
            let punctuated = after.ends_with([',', ';', ':', '.', '?', '!', '…']);
            found.push(ReferenceWord {
                text,
                lower,
                stems,
                punctuated,
                ends_sentence: after.ends_with(['.', '?', '!', '…']),
            });
        }
        if let Some(last) = found.last_mut() {
            (last.punctuated, last.ends_sentence) = (true, true);
        }
    }
    found
}

/// Builds a reference from words; `None` if all significant words are in `known`.
fn reference(words: &[ReferenceWord<'_>], known: &HashSet<&str>) -> Option<Reference> {
    let last = words.iter().rev().find_map(|word| word.stems.last())?;
    if known.contains(last.as_str()) {
        return None;
    }
    let text = words.iter().map(|word| word.text).collect::<Vec<_>>().join(" ");
    let stem = |word: &ReferenceWord<'_>| {
        word.stems.iter().map(|stem| (stem.clone(), word.text.to_owned())).collect::<Vec<_>>()
    };
    let significant: Vec<(String, String)> = words.iter().flat_map(stem).collect();
    Some(Reference {
        text,
        missing: significant.iter().map(|(stem, _)| stem.clone()).collect(),
        words: significant,
        is_named: true,
    })
}

/// Length in words of the definite reference that starts here, with its article; 0 if there is none.
fn definite_length(words: &[ReferenceWord<'_>]) -> usize {
    if words.first().is_none_or(|first| first.punctuated || !DEFINITE.contains(&first.lower.as_str())) {
        return 0;
    }
    let mut count = 1;
    for word in &words[1..] {
        if count > MAX_REFERENCE_WORDS || is_stopword(&word.lower) {
            break;
        }
        count += 1;
        if word.punctuated {
            break;
        }
    }
    if count > 1 { count } else { 0 }
}

/// True if a sentence contains a phrase that refers back.
fn refers_back(words: &[ReferenceWord<'_>]) -> bool {
    phrase(words, BACK_PHRASES).is_some()
}

/// Returns the words of the first of the phrases that a sentence contains.
fn phrase<'w, 't>(words: &'w [ReferenceWord<'t>], phrases: &[&str]) -> Option<&'w [ReferenceWord<'t>]> {
    phrases.iter().find_map(|phrase| {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        let fits = |part: &&[ReferenceWord<'_>]| {
            part.iter().zip(&phrase).all(|(word, choice)| choice.split('|').any(|one| one == word.lower))
        };
        words.windows(phrase.len()).find(fits)
    })
}

/// True if a word is written as a name.
fn is_name(word: &str) -> bool {
    word.starts_with(char::is_uppercase) && word.chars().skip(1).any(char::is_lowercase)
}

/// True if a word is written as an identifier: `src/auth.py`, `tax_client`, `E0382`.
fn is_identifier(word: &str) -> bool {
    let (letters, digits) = (word.contains(char::is_alphabetic), word.contains(|c: char| c.is_ascii_digit()));
    word.is_ascii() && letters && (word.contains(['_', '/', '\\']) || word.contains("::") || digits && word.len() > 3)
}

/// True if a word is too general to be searched, in any form.
fn is_vague(word: &str) -> bool {
    let known = |word: &str| VAGUE.contains(word) || NAMELESS.contains(&word);
    let is_adverb = word.len() > 5 && word.ends_with("ly") && !LY_NOUNS.contains(&word);
    known(word)
        || is_adverb
        || ["ied", "ies"].iter().any(|end| word.strip_suffix(end).is_some_and(|base| known(&format!("{base}y"))))
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
        references(text).0.into_iter().map(|reference| reference.text).collect()
    }

    #[test]
    fn definite_references_names_and_identifiers_are_found() {
        assert_eq!(read("Write tests for the refresh tokens and log it"), ["refresh tokens"]);
        assert_eq!(read("Is the limit, for Redis, enough?"), ["limit", "Redis"]);
        assert_eq!(read("why does src/auth.py raise E0382"), ["src/auth.py", "E0382"]);
        assert_eq!(read("As we discussed, no ORM."), ["As we discussed no ORM"]);
        assert_eq!(read("An idea for later: perhaps the clock in the lamp room is slow."), [""; 0]);
    }

    #[test]
    fn what_says_nothing_of_anything_before_is_no_reference() {
        for text in ["", "Hello!", "Write a poem about the sea", "What is a monad?", "the", "the of the", "\0 \u{202e}"]
        {
            assert_eq!(read(text), [""; 0], "{text}");
        }
        // Words that the message introduced, and pasted text.
        assert_eq!(read("I get an error. What does that error mean?"), [""; 0]);
        assert_eq!(read("```\nfix the gasket\n```\n> and the pump"), [""; 0]);
        assert_eq!(read(&"fix the gasket. ".repeat(10_000)), ["gasket"]);
    }

    #[test]
    fn a_phrase_without_a_noun_refers_back() {
        let phrase = |text: &str| references(text).1;
        for (text, words) in [
            ("Go on as we discussed.", "as we discussed"),
            ("Thanks. Do it like before, please.", "like before"),
            ("What did we decide?", "did we decide"),
            ("Do you remember?", "you remember"),
            ("Remember when we did it?", "Remember when"),
            ("Go back to it.", "Go back to it"),
            ("Use the previous one.", "the previous one"),
            ("We already did this.", "We already did"),
        ] {
            assert_eq!(phrase(text).as_deref(), Some(words), "{text}");
        }
        for text in ["Go on.", "What do you think?", "What did you say?", "Again, please.", "As we discussed, no ORM."]
        {
            assert_eq!(phrase(text), None, "{text}");
        }
    }

    #[test]
    fn words_are_vague_in_every_form() {
        for word in
            ["thing", "things", "used", "using", "putting", "asked", "said", "exactly", "since", "decided", "tried"]
        {
            assert!(is_vague(word), "{word}");
        }
        assert!(!is_vague("gasket"));
    }
}
