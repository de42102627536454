//! Expected answer type of a question (time, number, name), and detection of such answers in a text. A text with an
//! answer gets a higher score; none is excluded.

use std::collections::HashSet;

use foldhash::fast::RandomState;

/// Words that occur in answers about time.
const TIME_WORDS: &[&str] = &[
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

/// Words that express a number.
const NUMBER_WORDS: &[&str] = &[
    "couple", "dozen", "eight", "eleven", "few", "first", "five", "four", "hundred", "many", "nine", "once", "one",
    "second", "seven", "several", "six", "ten", "third", "thousand", "three", "thrice", "twelve", "twice", "two",
];

/// Answer types that a question expects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct AnswerType {
    time: bool,
    number: bool,
    name: bool,
}

impl AnswerType {
    /// Detects the expected types from the words of a question, in lower case.
    pub(super) fn detect(words: &[String]) -> Self {
        let first = words.first().map_or("", String::as_str);
        let pair = |fits: &dyn Fn(&str, &str) -> bool| words.windows(2).any(|two| fits(&two[0], &two[1]));
        let time = first == "when"
            || pair(&|one, two| {
                one == "when" && matches!(two, "did" | "was" | "is" | "does" | "will")
                    || one == "how" && two == "long"
                    || matches!(one, "what" | "which") && matches!(two, "date" | "day" | "month" | "year" | "time")
            });
        let number = first == "how"
            && words.get(1).is_some_and(|word| matches!(word.as_str(), "many" | "much" | "old" | "often" | "long"));
        Self { time, number, name: matches!(first, "who" | "which" | "where" | "what") }
    }

    /// Factor for the score of a text, at least 1. `known` holds names that are no answer: those in the question, and
    /// those of the speakers.
    pub(super) fn boost(self, text: &str, known: &HashSet<String, RandomState>) -> f64 {
        let mut factor = 1.0;
        if self.time && contains_time(text) {
            factor *= 1.3;
        }
        if self.number && contains_number(text) {
            factor *= 1.3;
        }
        if self.name && contains_new_name(text, known) {
            factor *= 1.15;
        }
        factor
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn contains_time(text: &str) -> bool {
    let known = |word: &str| TIME_WORDS.binary_search(&word).is_ok();
    words(text).any(|word| {
        known(word) || word.starts_with(|c: char| c.is_ascii_uppercase()) && known(&word.to_ascii_lowercase())
    })
}

fn contains_number(text: &str) -> bool {
    let known = |word: &str| NUMBER_WORDS.binary_search(&word.to_ascii_lowercase().as_str()).is_ok();
    words(text).any(|word| word.starts_with(|c: char| c.is_ascii_digit()) || known(word))
}

/// True if a word inside a sentence is written as a name and is not known.
fn contains_new_name(text: &str, known: &HashSet<String, RandomState>) -> bool {
    let mut within = false;
    text.split_whitespace().any(|word| {
        let name = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_name = name.starts_with(char::is_uppercase) && name.chars().nth(1).is_some_and(char::is_lowercase);
        let found = within && is_name && !known.contains(&name.to_lowercase());
        within = word.ends_with(|c: char| c.is_lowercase() || c == ',');
        found
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect_in(question: &str) -> AnswerType {
        AnswerType::detect(&words(&question.to_lowercase()).map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_question_wants_a_kind_of_answer() {
        assert!(
            detect_in("When did she go?").time && detect_in("How long was it?").time && !detect_in("Who goes?").time
        );
        assert!(detect_in("How many are there?").number && !detect_in("How is it?").number);
        assert!(detect_in("Where is it?").name && !detect_in("Is it there?").name);
    }

    #[test]
    fn a_text_has_it_or_not() {
        assert!(contains_time("It was Yesterday.") && !contains_time("It was fun."));
        assert!(contains_number("We were seven") && contains_number("in 3 days") && !contains_number("in days"));
        let known = HashSet::from_iter(["marie".to_owned()]);
        assert!(contains_new_name("she went to Lisbon, alone", &known));
        for text in ["She went. Then I slept", "she went with Marie", "", "HTTP and I"] {
            assert!(!contains_new_name(text, &known), "{text}");
        }
        assert!(TIME_WORDS.is_sorted() && NUMBER_WORDS.is_sorted());
    }
}
