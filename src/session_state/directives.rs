//! Directives: sentences of a user that apply beyond the turn, found by their form and stored verbatim.
//!
//! A form consists of words and gaps: `…` matches at least one word, `_` one, `*` any number, `a|b` either word. It must start
//! at the start of a clause, or with a gap. Questions, quotations, reported speech and code never match. A form also
//! fails if its gap starts with a word that changes its meaning (`never mind`, `always on my mind`). A false match
//! remains visible for long, so doubtful sentences are left to recall.
//!
//! Most turns contain no directive, and every turn of a user is read. [`DirectiveTriggers`] checks in one pass over the
//! bytes, without allocation, that all words of at least one form are present.

mod forms;

use std::{collections::HashSet, sync::LazyLock};

use serde::{Deserialize, Serialize};

use self::forms::{CONJUNCTIONS, QUESTION_STARTS, REPORTING_WORDS, SUBJECTS};
pub(super) use self::forms::{DEFAULT_FORMS, LEAD_PHRASES};
use super::{ExtractionRules, RecordKind, state::MAX_ENTRY_CHARS};
use crate::types::sentences;

/// Maximum number of directives of a message. A message with more is a text about rules.
const MAX_DIRECTIVES: usize = 5;
/// Maximum size in bytes of a message that is read completely. A longer one contains pasted text: only its ends are
/// read.
const MAX_WHOLE_BYTES: usize = 4_000;
const EXCERPT_BYTES: usize = 1_000;
/// Maximum size in bytes of a directive. A longer sentence is no sentence.
const MAX_SENTENCE_BYTES: usize = 1_200;

/// A form of sentence that applies beyond the turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Directive {
    /// Kind of the recorded entry: a decision or a constraint.
    pub kind: RecordKind,
    /// The form: words in lower case, `…` for at least one word, `_` for one, `*` for any number, `a|b` for either.
    pub form: String,
    /// Words that the first gap of the form must not start with. `*ed` is a suffix pattern, `+need` an exception, `give_up` a
    /// phrase.
    #[serde(default)]
    pub unless: Vec<String>,
}

/// A word of a sentence.
struct DirectiveWord {
    /// Lower case, without surrounding punctuation; empty for a quotation.
    text: String,
    /// True if a clause starts with this word.
    starts_clause: bool,
    /// Byte position in the sentence.
    at: usize,
}

/// Returns the directives of a message, in order and verbatim. `triggers` are those of the rules.
pub(super) fn extract(
    rules: &ExtractionRules,
    triggers: &DirectiveTriggers,
    content: &str,
) -> Vec<(RecordKind, String)> {
    let mut found: Vec<(RecordKind, String)> = Vec::new();
    for paragraph in paragraphs(content) {
        for sentence in sentences(&paragraph) {
            if let Some((kind, at)) = match_sentence(rules, triggers, sentence) {
                let long = sentence.chars().nth(MAX_ENTRY_CHARS).is_some();
                let said = if long { &sentence[at..] } else { sentence };
                found.push((kind, said.to_owned()));
                if found.len() == MAX_DIRECTIVES {
                    return found;
                }
            }
        }
    }
    found
}

/// Returns the paragraphs that the user wrote; each list item is one. Code, quotations, tables and the middle of a long
/// message are omitted.
fn paragraphs(content: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let (mut fence, mut blank, mut code, mut passed) = (None::<&str>, true, false, 0);
    for line in content.lines() {
        let (from, trimmed) = (passed, line.trim());
        passed += line.len() + 1;
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        let indented = line.starts_with("    ") || line.starts_with('\t');
        code = indented && (blank || code);
        let pasted = content.len() > MAX_WHOLE_BYTES && from > EXCERPT_BYTES && passed + EXCERPT_BYTES < content.len();
        blank = trimmed.is_empty();
        if fence.is_some() || mark.is_some() || code || pasted || blank || trimmed.starts_with(['>', '|', '→']) {
            found.push(String::new());
            continue;
        }
        let (item, words) = list_item(trimmed);
        if item {
            found.push(String::new());
        }
        if let Some(last) = found.last_mut() {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(words);
        }
    }
    found.retain(|paragraph| !paragraph.is_empty());
    found
}

/// Splits off a list or heading marker. True if there was one.
fn list_item(line: &str) -> (bool, &str) {
    let bullet = line.trim_start_matches(['-', '*', '+', '•', '#']);
    if bullet.len() < line.len() && bullet.starts_with(' ') {
        return (true, bullet.trim_start());
    }
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    match number.strip_prefix(['.', ')']) {
        Some(rest) if number.len() < line.len() && rest.starts_with(' ') => (true, rest.trim_start()),
        _ => (false, line),
    }
}

/// Matches a sentence against the forms whose words it has. Returns the kind and the start of the matching clause.
fn match_sentence(
    rules: &ExtractionRules,
    triggers: &DirectiveTriggers,
    sentence: &str,
) -> Option<(RecordKind, usize)> {
    let present = triggers.present(sentence);
    let mut possible = rules.directives.iter().enumerate().filter(|(at, _)| triggers.fits(*at, present)).peekable();
    possible.peek()?;
    if sentence.len() > MAX_SENTENCE_BYTES
        || sentence.trim_end_matches(['"', '”', ')', '*', '_', ' ']).ends_with(['?', '？'])
    {
        return None;
    }
    let words = words(sentence);
    if phrases(QUESTION_STARTS).any(|asks| starts_with_phrase(&words, asks)) {
        return None;
    }
    possible.find_map(|(_, directive)| {
        let form: Vec<&str> = directive.form.split_whitespace().collect();
        let free = matches!(form.first(), Some(&("…" | "*")));
        let starts = if free { 0..words.len().min(1) } else { 0..words.len() };
        // Few words are the first of a form, so the clauses are read for these only.
        let starts = starts.filter(|at| free || begins_form(&form, &words[*at]) && starts_clause(rules, &words, *at));
        for start in starts {
            if let Some(cue) = match_form(&form, &words[start..], &directive.unless)
                && !is_reported(&words[..start + cue])
            {
                let clause = (0..=start + cue).rev().find(|at| words[*at].starts_clause).unwrap_or(0);
                return Some((directive.kind, words[clause].at));
            }
        }
        None
    })
}

/// Splits a list into phrases; `_` separates the words of a phrase.
fn phrases(list: &str) -> impl Iterator<Item = &str> {
    list.split_whitespace()
}

fn starts_with_phrase(words: &[DirectiveWord], phrase: &str) -> bool {
    let mut words = words.iter();
    phrase.split('_').all(|other| words.next().is_some_and(|word| word.text == other))
}

/// False if a form cannot match from a word on: its first token is another word.
fn begins_form(form: &[&str], word: &DirectiveWord) -> bool {
    form.first().is_none_or(|token| *token == "_" || token.split('|').any(|other| other == word.text))
}

type WordSet = LazyLock<HashSet<&'static str, foldhash::fast::FixedState>>;

static CONJUNCTION_SET: WordSet = LazyLock::new(|| CONJUNCTIONS.split_whitespace().collect());
static SUBJECT_SET: WordSet = LazyLock::new(|| SUBJECTS.split_whitespace().collect());
static REPORTING_SET: WordSet = LazyLock::new(|| REPORTING_WORDS.split_whitespace().collect());

/// True if a clause starts at the word, or if only lead phrases and conjunctions precede it in the clause.
fn starts_clause(rules: &ExtractionRules, words: &[DirectiveWord], at: usize) -> bool {
    let first = (0..=at).rev().find(|at| words[*at].starts_clause).unwrap_or(0);
    let mut from = first;
    while from < at {
        let fitting = rules.leads.iter().filter(|lead| starts_with_phrase(&words[from..at], lead));
        let lengths = fitting.map(|lead| lead.split('_').count());
        match lengths.max() {
            Some(length) => from += length,
            // As in `use tabs and never use spaces`.
            None => {
                return CONJUNCTION_SET.contains(&*words[at - 1].text) && !SUBJECT_SET.contains(&*words[first].text);
            }
        }
    }
    true
}

/// True if the preceding words mark reported speech. The user's own `I said` does not.
fn is_reported(before: &[DirectiveWord]) -> bool {
    before.iter().enumerate().any(|(at, word)| {
        let own = at > 0 && before[at - 1].text == "i";
        !own && REPORTING_SET.contains(&*word.text)
    })
}

/// Matches a form against all words. Returns the number of words before the form's first fixed word.
fn match_form(form: &[&str], words: &[DirectiveWord], unless: &[String]) -> Option<usize> {
    let (least, rest) = match form.split_first() {
        Some((&"…", rest)) => (1, rest),
        Some((&"*", rest)) => (0, rest),
        _ => return match_rest(form, words, unless).then_some(0),
    };
    (least..words.len()).find(|skip| match_rest(rest, &words[*skip..], unless))
}

/// Matches the rest of a form against all words. Its next gap must not start with a word of `unless`.
fn match_rest(form: &[&str], words: &[DirectiveWord], unless: &[String]) -> bool {
    let Some((token, rest)) = form.split_first() else { return words.is_empty() };
    let least = match *token {
        "…" => 1,
        "*" => 0,
        "_" => {
            let Some((word, after)) = words.split_first() else { return false };
            return !word.text.is_empty() && !is_barred(unless, words) && match_rest(rest, after, &[]);
        }
        token => {
            let Some((word, after)) = words.split_first() else { return false };
            return token.split('|').any(|other| other == word.text) && match_rest(rest, after, unless);
        }
    };
    !is_barred(unless, words) && (least..=words.len()).any(|skip| match_rest(rest, &words[skip..], &[]))
}

/// True if a gap must not start as `words` do.
fn is_barred(unless: &[String], words: &[DirectiveWord]) -> bool {
    let Some(word) = words.first().map(|word| word.text.as_str()) else { return false };
    let fits = |pattern: &str| match pattern.strip_prefix('*') {
        Some(end) => word.len() > end.len() && word.ends_with(end),
        None => starts_with_phrase(words, pattern),
    };
    let freed = unless.iter().filter_map(|pattern| pattern.strip_prefix('+')).any(fits);
    !freed && unless.iter().any(|pattern| fits(pattern))
}

/// Splits a sentence into words; a quotation is one word without text.
fn words(sentence: &str) -> Vec<DirectiveWord> {
    let mut found: Vec<DirectiveWord> = Vec::new();
    let (mut starts_clause, mut quote, mut start) = (true, None::<char>, None::<usize>);
    for (at, c) in sentence.char_indices().chain([(sentence.len(), ' ')]) {
        if let Some(close) = quote {
            if c == close {
                quote = None;
            }
            continue;
        }
        if c.is_alphanumeric() || matches!(c, '\'' | '’') && start.is_some() {
            start.get_or_insert(at);
            continue;
        }
        if let Some(from) = start.take() {
            let text = normalize(&sentence[from..at]);
            found.push(DirectiveWord { text, starts_clause: std::mem::take(&mut starts_clause), at: from });
        }
        let close = match c {
            '"' => Some('"'),
            '“' | '„' => Some('”'),
            '«' => Some('»'),
            '`' => Some('`'),
            '‘' => Some('’'),
            _ => None,
        };
        if let Some(close) = close.filter(|close| sentence[at + c.len_utf8()..].contains(*close)) {
            quote = Some(close);
            found.push(DirectiveWord { text: String::new(), starts_clause: std::mem::take(&mut starts_clause), at });
        }
        starts_clause |=
            matches!(c, ',' | ';' | ':' | '—' | '–' | '(' | ')' | '/') || c == '-' && sentence[..at].ends_with(' ');
    }
    found
}

/// Normalizes a word to the spelling of the forms.
fn normalize(word: &str) -> String {
    let lower = word.to_lowercase().replace('’', "'");
    match lower.trim_end_matches('\'') {
        "dont" => "don't".to_owned(),
        "lets" => "let's".to_owned(),
        word => word.to_owned(),
    }
}

const APOSTROPHES: [char; 2] = ['\'', '’'];

/// Index of the words of all forms, for a check in one pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DirectiveTriggers {
    /// Each word, with the bits of the form tokens that it satisfies. Sorted by the first byte.
    words: Vec<(String, u128)>,
    /// For each first byte, the end of its words. They start where the words of the byte before end.
    ends: Vec<usize>,
    /// Bits required by each form.
    forms: Vec<u128>,
    /// True if the forms have more tokens than bits: then every text may match.
    all: bool,
}

impl DirectiveTriggers {
    pub(super) fn new(directives: &[Directive]) -> Self {
        let mut places: Vec<&str> = directives.iter().flat_map(|directive| directive.form.split_whitespace()).collect();
        places.retain(|place| !matches!(*place, "…" | "*" | "_"));
        places.sort_unstable();
        places.dedup();
        let mut triggers = Self { all: places.len() > 128, ..Self::default() };
        if triggers.all {
            return triggers;
        }
        let bit = |token: &str| places.binary_search(&token).map_or(0, |at| 1_u128 << at);
        for place in &places {
            for word in place.split('|') {
                match triggers.words.iter_mut().find(|(known, _)| known == word) {
                    Some((_, bits)) => *bits |= bit(place),
                    None => triggers.words.push((word.to_owned(), bit(place))),
                }
            }
        }
        triggers.words.sort_by_key(|(word, _)| word.bytes().next());
        let ends = |byte: u8| triggers.words.partition_point(|(word, _)| word.bytes().next() <= Some(byte));
        triggers.ends = (0..=u8::MAX).map(ends).collect();
        triggers.forms =
            directives.iter().map(|o| o.form.split_whitespace().map(bit).fold(0, |all, one| all | one)).collect();
        triggers
    }

    /// True if a text contains all words of at least one form.
    pub(super) fn may_match(&self, text: &str) -> bool {
        let present = self.present(text);
        self.all || self.forms.iter().any(|form| form & !present == 0)
    }

    /// Returns the bits of the words of a text.
    fn present(&self, text: &str) -> u128 {
        if self.all {
            return 0;
        }
        text.split(|c: char| !c.is_alphanumeric() && !APOSTROPHES.contains(&c))
            .fold(0, |bits, word| bits | self.bits(word))
    }

    /// True if all words of a form are present, or if that is not known.
    fn fits(&self, form: usize, present: u128) -> bool {
        self.all || self.forms[form] & !present == 0
    }

    fn bits(&self, word: &str) -> u128 {
        // Quotation marks at the ends of a word are no part of it.
        let word = word.trim_matches(APOSTROPHES);
        let Some(first) = word.bytes().next() else { return 0 };
        let first = usize::from(first.to_ascii_lowercase());
        let start = first.checked_sub(1).map_or(0, |before| self.ends[before]);
        let known = &self.words[start..self.ends[first]];
        if known.is_empty() {
            return 0;
        }
        let plain = word.contains('’').then(|| word.replace('’', "'"));
        let word = plain.as_deref().unwrap_or(word);
        let same = |known: &str| {
            known.eq_ignore_ascii_case(word)
                || known.len() == word.len() + 1
                    && matches!(known, "don't" | "let's")
                    && known.replace('\'', "").eq_ignore_ascii_case(word)
        };
        known.iter().find(|(known, _)| same(known)).map_or(0, |(_, bits)| *bits)
    }
}
