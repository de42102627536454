//! What a question says beside its words: who is named, which day or month, what kind of answer it wants, what stands in
//! quotes. Each makes some nodes likelier; none rules any out.

use std::collections::HashSet;

use jiff::{Timestamp as Instant, tz::TimeZone};

use super::answer_type::AnswerType;
use crate::{
    id::AgentId,
    text_index::WordTokenizer,
    types::{Agent, AuthorType, Node, Timestamp, one_line},
};

/// Words looked for at the most. A longer question says the same by its first ones.
const WORDS: usize = 48;
/// Bytes of a question that are read.
const READ: usize = 8 * 1024;
/// Characters of what is looked for literally.
const PHRASE: usize = 400;

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

/// A question as it is understood.
#[derive(Debug, Default)]
pub(super) struct ParsedQuery {
    /// What is looked for, each word once.
    pub(super) words: Vec<String>,
    /// Whose name is in it.
    pub(super) authors: Vec<AgentId>,
    /// What must stand so, in lower case on one line: what is in quotes.
    pub(super) phrases: Vec<String>,
    /// All of it, in lower case on one line, where it is short.
    pub(super) whole: String,
    months: Vec<i8>,
    days: Vec<i8>,
    years: Vec<i16>,
    wants: AnswerType,
    /// Whose words are meant, where a role is named: `what did the user say`.
    roles: Vec<AuthorType>,
    /// Names that are no answer, in lower case.
    known: HashSet<String>,
}

impl ParsedQuery {
    /// Reads a question; `asker` is what `I` means in it.
    pub(super) fn read(text: &str, agents: &[Agent], asker: Option<AuthorType>) -> Self {
        let mut end = text.len().min(READ);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = &text[..end];
        let mut reader = WordTokenizer::default();
        let said: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let mut found = Self { phrases: quoted(text), ..Self::default() };
        let line = plain(text);
        if line.chars().count() <= PHRASE {
            found.whole = line;
        }
        let mut names: Vec<String> = Vec::new();
        for agent in agents {
            // A name is written as one; `subject` and `owner` are words.
            let parts = || agent.name().split_whitespace();
            if parts().next().is_some_and(|part| part.starts_with(char::is_uppercase))
                && parts().next().is_some_and(|part| said.contains(&part))
            {
                found.authors.push(agent.id());
                names.extend(parts().flat_map(|part| reader.query(part)));
            }
        }
        found.words = reader.query(text);
        if found.words.iter().any(|word| !names.contains(word)) {
            found.words.retain(|word| !names.contains(word));
        }
        found.words.truncate(WORDS);
        let lower: Vec<String> = said.iter().map(|word| word.to_lowercase()).collect();
        for (word, as_said) in lower.iter().zip(&said) {
            let month = (1..).zip(MONTHS).find(|(_, name)| *name == word).map(|(number, _)| number);
            // `may` and `march` are words too.
            found.months.extend(month.filter(|_| as_said.starts_with(char::is_uppercase)));
            found.years.extend(word.parse::<i16>().ok().filter(|year| (1900..2200).contains(year)));
            let day = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            found.days.extend(day.parse::<i8>().ok().filter(|day| (1..=31).contains(day)));
        }
        found.wants = AnswerType::of(&lower);
        found.roles = roles(&lower, asker);
        found.known = agents.iter().flat_map(|agent| agent.name().split_whitespace()).map(str::to_lowercase).collect();
        found.known.extend(lower);
        found
    }

    /// By how much a node is likelier than its words say.
    pub(super) fn factor(&self, node: &Node) -> f64 {
        let mut factor = 1.0;
        if self.authors.contains(&node.author) || self.roles.contains(&node.author_type) {
            factor *= 1.7;
        }
        factor *= self.date_of(node.created_at);
        factor *= self.wants.factor(&node.content, &self.known);
        if asks(&node.content) {
            factor *= 0.8;
        }
        factor
    }

    /// Whether a text holds what was quoted, or the whole question.
    pub(super) fn is_exact(&self, text: &str) -> bool {
        let whole = self.whole.split(' ').count() > 2;
        if self.phrases.is_empty() && !whole {
            return false;
        }
        if !self.phrases.iter().chain(whole.then_some(&self.whole)).any(|phrase| may_hold(text, phrase)) {
            return false;
        }
        let text = plain(text);
        !self.phrases.is_empty() && self.phrases.iter().all(|phrase| text.contains(phrase.as_str()))
            || whole && text.contains(&self.whole)
    }

    /// By how much a node of this time is likelier: what happened on a day is told then or in the days after.
    fn date_of(&self, at: Timestamp) -> f64 {
        if self.months.is_empty() {
            return 1.0;
        }
        let Ok(instant) = Instant::from_millisecond(at.as_millis()) else { return 1.0 };
        let date = instant.to_zoned(TimeZone::UTC).date();
        let year = self.years.is_empty() || self.years.contains(&date.year());
        if !year || !self.months.contains(&date.month()) {
            return 1.0;
        }
        if self.days.iter().any(|day| (0..=7).contains(&(date.day() - day))) { 3.0 } else { 2.0 }
    }
}

/// Whether a text is a question.
pub(super) fn asks(text: &str) -> bool {
    text.trim_end().ends_with(['?', '？'])
}

/// Whose words are meant by a question of these words: `what did you suggest`, `the user's address`.
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

/// Whether a text may hold a phrase: most do not have its longest word, which is found out without wording them anew.
pub(super) fn may_hold(text: &str, phrase: &str) -> bool {
    let longest = phrase.split(' ').max_by_key(|word| word.len()).unwrap_or_default().as_bytes();
    let stands = |text: &[u8]| text.windows(longest.len()).any(|part| part.eq_ignore_ascii_case(longest));
    !text.is_ascii() || longest.is_empty() || stands(text.as_bytes())
}

/// A text as it is compared literally.
pub(super) fn plain(text: &str) -> String {
    one_line(text).to_lowercase()
}

/// What stands in double quotes.
fn quoted(text: &str) -> Vec<String> {
    let text = text.replace(['“', '”', '„', '«', '»'], "\"");
    let parts: Vec<&str> = text.split('"').collect();
    // The last part stands after an odd quote, or after all.
    let inside = parts.iter().skip(1).step_by(2).take(parts.len().saturating_sub(1) / 2);
    inside.map(|part| plain(part)).filter(|part| !part.is_empty()).take(8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_quotes_is_a_phrase() {
        assert_eq!(quoted("say \"One  two\" and “three”"), ["one two", "three"]);
        assert_eq!(quoted("an odd \" quote"), [""; 0]);
        assert_eq!(quoted("\"\""), [""; 0]);
    }

    #[test]
    fn dates_are_understood() {
        // The fifth of June.
        let june = Timestamp::from_millis(1_685_966_400_000);
        let of = |text| ParsedQuery::read(text, &[], None).date_of(june);
        let same = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        same(of("What was it in June 2023?"), 2.0);
        same(of("What was it in June?"), 2.0);
        same(of("What was it on June 3rd?"), 3.0);
        same(of("What was it on 9 June?"), 2.0);
        same(of("What was it in June 2022?"), 1.0);
        same(of("I may go"), 1.0);
    }

    #[test]
    fn a_role_is_meant_by_its_name_or_by_who_asks() {
        let of = |text, asker| ParsedQuery::read(text, &[], asker).roles;
        let (human, model) = (AuthorType::Human, AuthorType::Model);
        assert_eq!(of("what did I say about tea", Some(human)), [human]);
        assert_eq!(of("what did you suggest", Some(human)), [model]);
        assert_eq!(of("what did you suggest", Some(model)), [human]);
        assert_eq!(of("what did the user want", Some(model)), [human]);
        assert_eq!(of("which user model did we choose", Some(human)), []);
        assert_eq!(of("what did you suggest", None), []);
    }
}
