//! What kind of answer a question wants, and which texts have one: a time, a number, a name. It makes them a little
//! likelier, and rules none out.

use std::collections::HashSet;

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

/// Words that say how many.
const NUMBERS: &[&str] = &[
    "couple", "dozen", "eight", "eleven", "few", "first", "five", "four", "hundred", "many", "nine", "once", "one",
    "second", "seven", "several", "six", "ten", "third", "thousand", "three", "thrice", "twelve", "twice", "two",
];

/// What is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct AnswerType {
    time: bool,
    number: bool,
    name: bool,
}

impl AnswerType {
    /// What a question of these words wants, in lower case.
    pub(super) fn of(words: &[String]) -> Self {
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

    /// By how much a text is likelier, since it has what is wanted. `known` are names that answer nothing: those in the
    /// question, and of whoever talks.
    pub(super) fn factor(self, text: &str, known: &HashSet<String>) -> f64 {
        let mut factor = 1.0;
        if self.time && says_when(text) {
            factor *= 1.3;
        }
        if self.number && says_how_many(text) {
            factor *= 1.3;
        }
        if self.name && names_something(text, known) {
            factor *= 1.15;
        }
        factor
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn says_when(text: &str) -> bool {
    let known = |word: &str| TIMES.binary_search(&word).is_ok();
    words(text).any(|word| {
        known(word) || word.starts_with(|c: char| c.is_ascii_uppercase()) && known(&word.to_ascii_lowercase())
    })
}

fn says_how_many(text: &str) -> bool {
    let known = |word: &str| NUMBERS.binary_search(&word.to_ascii_lowercase().as_str()).is_ok();
    words(text).any(|word| word.starts_with(|c: char| c.is_ascii_digit()) || known(word))
}

/// Whether a word within a sentence is written as a name.
fn names_something(text: &str, known: &HashSet<String>) -> bool {
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

    fn wants(question: &str) -> AnswerType {
        AnswerType::of(&words(&question.to_lowercase()).map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_question_wants_a_kind_of_answer() {
        assert!(wants("When did she go?").time && wants("How long was it?").time && !wants("Who goes?").time);
        assert!(wants("How many are there?").number && !wants("How is it?").number);
        assert!(wants("Where is it?").name && !wants("Is it there?").name);
    }

    #[test]
    fn a_text_has_it_or_not() {
        assert!(says_when("It was Yesterday.") && !says_when("It was fun."));
        assert!(says_how_many("We were seven") && says_how_many("in 3 days") && !says_how_many("in days"));
        let known = HashSet::from(["marie".to_owned()]);
        assert!(names_something("she went to Lisbon, alone", &known));
        for text in ["She went. Then I slept", "she went with Marie", "", "HTTP and I"] {
            assert!(!names_something(text, &known), "{text}");
        }
        assert!(TIMES.is_sorted() && NUMBERS.is_sorted());
    }
}
