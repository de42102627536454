//! A question: its words with their weights, and its features: named authors, a day or month, the expected answer type,
//! quoted text. Each feature raises the score of some nodes; none excludes a node.

use std::{collections::HashSet, sync::LazyLock};

use foldhash::fast::RandomState;

use super::{answer_type::AnswerType, synonyms::SYNONYMS};
use crate::{
    id::AgentId,
    text_index::WordTokenizer,
    types::{Agent, AuthorType, one_line, truncate_bytes},
};

/// Maximum number of searched words. The first words of a longer question suffice.
const MAX_QUERY_WORDS: usize = 48;
/// Maximum number of bytes of a question that are read.
const MAX_QUESTION_BYTES: usize = 8 * 1024;
/// Weight of a word that describes the question or the conversation instead of its subject.
const QUESTION_WORD_WEIGHT: f64 = 0.5;
/// Weight of an occurrence of a synonym relative to the word itself.
const SYNONYM_WEIGHT: f64 = 0.4;
/// Maximum length in characters of a literal search.
const MAX_PHRASE_CHARS: usize = 400;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Index words of [`QUESTION_WORDS`].
static QUESTION_STEMS: LazyLock<Vec<String>> = LazyLock::new(|| WordTokenizer::default().query(QUESTION_WORDS));
/// Words that describe the question or the conversation: `what kind of tea did the user mention`.
const QUESTION_WORDS: &str = "ask certain conversation current currently describe different discuss explain kind mention \
    name particular reason recent recently say share sort specific suggest talk tell type various way";

/// A searched term of a question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct QueryTerm {
    /// Index of the word that the term stands for: the word itself or a synonym.
    pub(super) word: usize,
    /// Weight of an occurrence: 1 for the word itself.
    pub(super) weight: f64,
}

/// A question with its words and features.
#[derive(Debug, Default)]
pub(super) struct ParsedQuery {
    /// Searched words, each once.
    pub(super) words: Vec<String>,
    /// Words that stand only within identifiers, such as `cmd` in `cmd.exe`. They have no synonyms.
    parts: Vec<String>,
    /// Factor for the weight of each word.
    pub(super) factors: Vec<f64>,
    /// Agents named in the question, in the order of their names there.
    pub(super) authors: Vec<AgentId>,
    /// Quoted texts, in lower case on one line.
    pub(super) phrases: Vec<String>,
    /// The whole question if it is short, in lower case on one line.
    pub(super) whole: String,
    pub(super) months: Vec<i8>,
    pub(super) days: Vec<i8>,
    pub(super) years: Vec<i16>,
    pub(super) answer_type: AnswerType,
    /// Roles named in the question: `what did the user say`.
    pub(super) roles: Vec<AuthorType>,
    /// Names that are no answer, in lower case.
    pub(super) known: HashSet<String, RandomState>,
}

impl ParsedQuery {
    /// Parses a question; `asker` is the meaning of `I`.
    pub(super) fn parse(text: &str, agents: &[Agent], asker: Option<AuthorType>) -> Self {
        let text = truncate_bytes(text, MAX_QUESTION_BYTES);
        let mut reader = WordTokenizer::default();
        let said: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let mut found = Self { phrases: quoted_texts(text), ..Self::default() };
        let line = normalize(text);
        if line.chars().count() <= MAX_PHRASE_CHARS {
            found.whole = line;
        }
        let mut names: Vec<String> = Vec::new();
        for agent in agents {
            // A name starts with a capital: `subject` and `owner` are also common words.
            let parts = || agent.name().split_whitespace();
            if parts().next().is_some_and(|part| part.starts_with(char::is_uppercase))
                && parts().next().is_some_and(|part| said.contains(&part))
            {
                found.authors.push(agent.id());
                names.extend(parts().flat_map(|part| reader.query(part)));
            }
        }
        let place = |agent: &AgentId| {
            let name = agents.iter().find(|known| known.id() == *agent)?.name().split_whitespace().next()?;
            said.iter().position(|word| *word == name)
        };
        found.authors.sort_by_key(place);
        let lower: Vec<String> = said.iter().map(|word| word.to_lowercase()).collect();
        let date_words = found.read_dates(&said, &lower);
        let mut dropped = names;
        dropped.extend(date_words.iter().flat_map(|word| reader.query(word)));
        found.words = reader.query(text);
        if found.words.iter().any(|word| !dropped.contains(word)) {
            found.words.retain(|word| !dropped.contains(word));
        }
        found.words.truncate(MAX_QUERY_WORDS);
        // `re-render` is two words here.
        let pieces = text.split(|c: char| c.is_whitespace() || c == '-').map(|piece| reader.query(piece));
        let (names, alone): (Vec<_>, Vec<_>) = pieces.partition(|words| words.iter().any(|word| word.contains('_')));
        let is_alone = |word: &String| alone.iter().any(|words| words.contains(word));
        found.parts = names.into_iter().flatten().filter(|word| !is_alone(word)).collect();
        let factor = |word| if QUESTION_STEMS.contains(word) { QUESTION_WORD_WEIGHT } else { 1.0 };
        found.factors = found.words.iter().map(factor).collect();
        found.answer_type = AnswerType::detect(&lower);
        found.roles = roles(&lower, asker);
        found.known = agents.iter().flat_map(|agent| agent.name().split_whitespace()).map(str::to_lowercase).collect();
        found.known.extend(lower);
        found
    }

    /// Reads months, days and years. Returns the words of a date with a month: messages of a day do not name it.
    fn read_dates<'t>(&mut self, said: &[&'t str], lower: &[String]) -> Vec<&'t str> {
        let mut words = Vec::new();
        for (word, as_said) in lower.iter().zip(said) {
            let month = (1..).zip(MONTHS).find(|(_, name)| *name == word).map(|(number, _)| number);
            // `may` and `march` are also common words.
            let month = month.filter(|_| as_said.starts_with(char::is_uppercase));
            let year = word.parse::<i16>().ok().filter(|year| (1900..2200).contains(year));
            let day = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            let day = day.parse::<i8>().ok().filter(|day| (1..=31).contains(day));
            if month.is_some() || year.is_some() || day.is_some() {
                words.push(*as_said);
            }
            self.months.extend(month);
            self.years.extend(year);
            self.days.extend(day);
        }
        if self.months.is_empty() { Vec::new() } else { words }
    }

    /// Returns the terms to search: the words, followed by their synonyms.
    pub(super) fn terms(&self) -> (Vec<String>, Vec<QueryTerm>) {
        let mut searched = self.words.clone();
        let mut terms: Vec<QueryTerm> = (0..searched.len()).map(|word| QueryTerm { word, weight: 1.0 }).collect();
        for (at, word) in self.words.iter().enumerate().filter(|(_, word)| !self.parts.contains(word)) {
            for synonym in SYNONYMS.of(word) {
                if !searched.contains(synonym) {
                    searched.push(synonym.clone());
                    terms.push(QueryTerm { word: at, weight: SYNONYM_WEIGHT });
                }
            }
        }
        (searched, terms)
    }

    /// True if a text contains a quoted text or the whole question.
    pub(super) fn is_exact(&self, text: &str) -> bool {
        let whole = self.whole.split(' ').count() > 2;
        if self.phrases.is_empty() && !whole {
            return false;
        }
        if !self.phrases.iter().chain(whole.then_some(&self.whole)).any(|phrase| may_contain(text, phrase)) {
            return false;
        }
        let text = normalize(text);
        !self.phrases.is_empty() && self.phrases.iter().all(|phrase| text.contains(phrase.as_str()))
            || whole && text.contains(&self.whole)
    }
}

/// True if a text is a question.
pub(super) fn is_question(text: &str) -> bool {
    text.trim_end().ends_with(['?', '？'])
}

/// Returns the roles that a question refers to: `what did you suggest`, `the user's address`.
fn roles(words: &[String], asker: Option<AuthorType>) -> Vec<AuthorType> {
    let other = match asker {
        Some(AuthorType::Human) => Some(AuthorType::Model),
        Some(AuthorType::Model) => Some(AuthorType::Human),
        _ => None,
    };
    let mut found = Vec::new();
    for two in words.windows(2) {
        let (before, word) = (two[0].as_str(), two[1].as_str());
        found.extend(match (before, word) {
            ("the" | "a", "user" | "human") => Some(AuthorType::Human),
            ("the" | "a", "assistant" | "model") => Some(AuthorType::Model),
            ("did" | "have" | "had" | "do", "i") => asker,
            ("did" | "have" | "had" | "do", "you") => other,
            _ => None,
        });
    }
    found
}

/// False if a text cannot contain a phrase, because the phrase's longest word is missing. This check needs no
/// normalization.
pub(super) fn may_contain(text: &str, phrase: &str) -> bool {
    let longest = phrase.split(' ').max_by_key(|word| word.len()).unwrap_or_default().as_bytes();
    let stands = |text: &[u8]| text.windows(longest.len()).any(|part| part.eq_ignore_ascii_case(longest));
    !text.is_ascii() || longest.is_empty() || stands(text.as_bytes())
}

/// Normalizes a text for literal comparison.
pub(super) fn normalize(text: &str) -> String {
    one_line(text).to_lowercase()
}

/// Returns the texts in double quotes.
fn quoted_texts(text: &str) -> Vec<String> {
    let text = text.replace(['“', '”', '„', '«', '»'], "\"");
    let parts: Vec<&str> = text.split('"').collect();
    if parts.len() == 1 && is_literal(text.trim()) {
        return vec![normalize(&text)];
    }
    // The last part follows an odd quote or the last quote.
    let inside = parts.iter().skip(1).step_by(2).take(parts.len().saturating_sub(1) / 2);
    inside.map(|part| normalize(part)).filter(|part| !part.is_empty()).take(8).collect()
}

/// True for a single word whose marks matter: `--theme`, `@anna`, `render()`.
fn is_literal(text: &str) -> bool {
    let has_letter = text.contains(char::is_alphanumeric);
    has_letter
        && !text.contains(char::is_whitespace)
        && (text.starts_with(['-', '@', '#', '$', '/', '<']) || text.ends_with("()"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Timestamp;

    #[test]
    fn what_stands_in_quotes_is_a_phrase() {
        assert_eq!(quoted_texts("say \"One  two\" and “three”"), ["one two", "three"]);
        assert_eq!(quoted_texts("an odd \" quote"), [""; 0]);
        assert_eq!(quoted_texts("\"\""), [""; 0]);
        assert_eq!(quoted_texts("--theme"), ["--theme"]);
        assert_eq!(quoted_texts("- theme"), [""; 0]);
    }

    #[test]
    fn a_date_in_the_question_boosts_nodes_of_that_time() {
        // 2023-06-05.
        let june = Timestamp::from_millis(1_685_966_400_000);
        let of = |text| ParsedQuery::parse(text, &[], None).date_boost(june);
        let same = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        same(of("What was it in June 2023?"), 2.0);
        same(of("What was it in June?"), 2.0);
        same(of("What was it on June 3rd?"), 3.0);
        same(of("What was it on 9 June?"), 2.0);
        same(of("What was it in June 2022?"), 1.0);
        same(of("I may go"), 1.0);
    }

    #[test]
    fn a_date_and_words_about_the_question_count_less() {
        let of = |text| {
            let question = ParsedQuery::parse(text, &[], None);
            question.words.into_iter().zip(question.factors).collect::<Vec<_>>()
        };
        let (whole, half) = (1.0, QUESTION_WORD_WEIGHT);
        assert_eq!(of("What kind of tea on 9 June, 2022?"), [("kind".to_owned(), half), ("tea".to_owned(), whole)]);
        assert_eq!(
            of("port 8080 and 2022"),
            [("port", whole), ("8080", whole), ("2022", whole)].map(|(w, f)| (w.to_owned(), f))
        );
        assert_eq!(
            of("June 9"),
            [("june", whole), ("9", whole)].map(|(w, f)| (w.to_owned(), f)),
            "there are no other words"
        );
    }

    #[test]
    fn a_term_stands_for_the_word_it_is_a_synonym_of() {
        let (searched, terms) = ParsedQuery::parse("blue puppy", &[], None).terms();
        assert_eq!(searched, ["blue", "puppi", "dog", "pup"]);
        assert_eq!(terms.iter().map(|term| term.word).collect::<Vec<_>>(), [0, 1, 1, 1]);
        assert!(terms[1].weight > terms[2].weight);
        assert_eq!(ParsedQuery::parse("cmd.exe", &[], None).terms().0, ["cmd_exe", "cmd", "exe"]);
        assert!(ParsedQuery::parse("cmd or cmd.exe", &[], None).terms().0.contains(&"command".to_owned()));
    }

    #[test]
    fn a_role_is_meant_by_its_name_or_by_who_asks() {
        let of = |text, asker| ParsedQuery::parse(text, &[], asker).roles;
        let (human, model) = (AuthorType::Human, AuthorType::Model);
        assert_eq!(of("what did I say about tea", Some(human)), [human]);
        assert_eq!(of("what did you suggest", Some(human)), [model]);
        assert_eq!(of("what did you suggest", Some(model)), [human]);
        assert_eq!(of("what did the user want", Some(model)), [human]);
        assert_eq!(of("which user model did we choose", Some(human)), []);
        assert_eq!(of("what did you suggest", None), []);
    }
}
