//! What a question says beside its words: who is named, which month, whether it asks when, what stands in quotes.
//! Each makes some nodes likelier; none rules any out.

use jiff::{Timestamp as Instant, tz::TimeZone};

use crate::{
    id::AgentId,
    model::{Agent, Node, Timestamp, WordReader, one_line},
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

/// Words that say when something was.
const TIMES: &[&str] = &[
    "afternoon",
    "ago",
    "april",
    "august",
    "birthday",
    "day",
    "days",
    "december",
    "evening",
    "february",
    "friday",
    "january",
    "july",
    "june",
    "last",
    "march",
    "may",
    "monday",
    "month",
    "months",
    "morning",
    "next",
    "night",
    "november",
    "october",
    "recently",
    "saturday",
    "september",
    "since",
    "soon",
    "sunday",
    "thursday",
    "today",
    "tomorrow",
    "tonight",
    "tuesday",
    "wednesday",
    "week",
    "weekend",
    "weeks",
    "year",
    "years",
    "yesterday",
];

/// A question as it is understood.
#[derive(Debug, Default)]
pub(super) struct Question {
    /// What is looked for, each word once.
    pub(super) words: Vec<String>,
    /// Whose name is in it.
    pub(super) authors: Vec<AgentId>,
    /// What must stand so, in lower case on one line: what is in quotes.
    pub(super) phrases: Vec<String>,
    /// All of it, in lower case on one line, where it is short.
    pub(super) whole: String,
    months: Vec<u8>,
    years: Vec<i16>,
    when: bool,
}

impl Question {
    pub(super) fn read(text: &str, agents: &[Agent]) -> Self {
        let mut end = text.len().min(READ);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = &text[..end];
        let mut reader = WordReader::default();
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
        }
        found.when = lower.first().is_some_and(|first| first == "when")
            || lower.windows(2).any(|two| {
                matches!(
                    [two[0].as_str(), two[1].as_str()],
                    ["when", "did" | "was" | "is" | "does" | "will"] | ["how", "long"]
                ) || matches!(two[0].as_str(), "what" | "which")
                    && matches!(two[1].as_str(), "date" | "day" | "month" | "year" | "time")
            });
        found
    }

    /// By how much a node is likelier than its words say.
    pub(super) fn factor(&self, node: &Node) -> f64 {
        let mut factor = 1.0;
        if self.authors.contains(&node.author) {
            factor *= 1.7;
        }
        if self.is_month_of(node.created_at) {
            factor *= 2.0;
        }
        if self.when && says_when(&node.content) {
            factor *= 1.3;
        }
        if node.content.trim_end().ends_with(['?', '？']) {
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
        let text = plain(text);
        !self.phrases.is_empty() && self.phrases.iter().all(|phrase| text.contains(phrase.as_str()))
            || whole && text.contains(&self.whole)
    }

    fn is_month_of(&self, at: Timestamp) -> bool {
        if self.months.is_empty() {
            return false;
        }
        let Ok(instant) = Instant::from_millisecond(at.as_millis()) else { return false };
        let date = instant.to_zoned(TimeZone::UTC).date();
        self.months.iter().any(|month| i8::try_from(*month) == Ok(date.month()))
            && (self.years.is_empty() || self.years.contains(&date.year()))
    }
}

/// A text as it is compared literally.
pub(super) fn plain(text: &str) -> String {
    one_line(text).to_lowercase()
}

fn says_when(text: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|word| {
        let known = |word: &str| TIMES.binary_search(&word).is_ok();
        known(word) || word.starts_with(|c: char| c.is_ascii_uppercase()) && known(&word.to_ascii_lowercase())
    })
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
    fn months_and_times_are_understood() {
        let june = Timestamp::from_millis(1_686_000_000_000);
        let read = |text| Question::read(text, &[]);
        assert!(read("What was it in June 2023?").is_month_of(june));
        assert!(read("What was it in June?").is_month_of(june));
        assert!(!read("What was it in June 2022?").is_month_of(june));
        assert!(!read("I may go").is_month_of(june));
        assert!(read("When did she go?").when && read("How long was it?").when && !read("Who goes?").when);
        assert!(says_when("It was Yesterday.") && !says_when("It was fun."));
        assert!(TIMES.is_sorted());
    }
}
