//! Standing orders: sentences of a person that hold for longer than the turn, caught by their form and kept as they
//! were said.
//!
//! A form is words and gaps: `…` stands for one word or more, `*` for any number, `a|b` for either word. It has to begin
//! where a clause does, or begin with a gap. What is asked, quoted, reported or code is no order; nor is a form whose
//! gap begins with one of the words after which it means something else (`never mind`, `always on my mind`). A false
//! catch stays in view for long, so where it is a toss-up a sentence is left to recall.
//!
//! Most turns hold none, and every turn of a person is looked at: [`Cues`] tells in one pass over the bytes, without
//! allocating, whether all words of any form are there at all.

use serde::{Deserialize, Serialize};

use super::{ExtractionRules, LONGEST, RecordKind};
use crate::types::sentences;

/// Orders of one message at the most: more of them are a text about rules.
const MOST: usize = 5;
/// Bytes of a message that is read whole; of a longer one, which holds something pasted, its ends.
const WHOLE: usize = 4_000;
const END: usize = 1_000;
/// Bytes of a sentence that may be an order; what is longer is no sentence.
const LONG: usize = 1_200;

/// A form of speech that holds for longer than the turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Directive {
    /// What it makes: a decision or a constraint.
    pub kind: RecordKind,
    /// The form: words in lower case, `…` for one word or more, `*` for any number, `a|b` for either.
    pub form: String,
    /// Words with which the form's first gap may not begin; `*ed` is any with that end, `+need` one that may after all.
    #[serde(default)]
    pub unless: Vec<String>,
}

use RecordKind::{Constraint, Decision};

/// No verb in its base form, or one that only tells.
const TELLS: &str = "mind again heard been said seen had have has got was were is are am did does knew know thought went gone came \
    left made felt meant found saw kept told wrote took gave a an the on in at to of with for from by as my your his her its our \
    their this that these those i you he she it we they will would could can should might too quite really so very more less \
    enough before after not ready happy late early available wrong right true false there here good bad nice fun great slow fast \
    busy possible welcome sure easy hard better worse best been up down forget wonder wondered out off back only just also \
    thus hence and or but if when because where *ed *ing *s +*ss +need +embed +feed +exceed +proceed +succeed +seed +speed \
    +focus +bring +ping +sing";
const WE_TELL: &str = "mind again heard been said seen had have has got get was were is are did does do knew know thought think \
    went gone came left made felt feel meant mean found find saw see kept told wrote took gave end seem want need like love \
    hate forget wonder a an the on in at to of with for from by as my your his her its our their this that these those i you \
    he she it we they will would could can should might too quite really so very *ed *ing +need +embed +feed +exceed +proceed \
    +succeed +bring +ping";
const MUST_BE: &str =
    "be have know mean think see feel happen occur work fail exist matter seem look sound come get admit say";

/// The usual forms.
pub(super) const FORMS: &[(RecordKind, &str, &str)] = &[
    (Constraint, "never …", TELLS),
    (Constraint, "always …", TELLS),
    (Constraint, "* from now on *", ""),
    (Constraint, "from here on …", "it he she they i"),
    (Constraint, "henceforth …", ""),
    (Constraint, "going forward …", "with to in into on"),
    (Constraint, "… going forward", ""),
    (Constraint, "for the rest of this|the|our session|conversation|project|chat …", ""),
    (Constraint, "… for the rest of this|the|our session|conversation|project|chat", ""),
    (Constraint, "don't ever …", "think forget"),
    (Constraint, "do not ever …", "think forget"),
    (Constraint, "under no circumstances …", ""),
    (Constraint, "… under any circumstances", ""),
    (Constraint, "… at all times", ""),
    (Constraint, "only ever …", TELLS),
    (Constraint, "… must never …", MUST_BE),
    (Constraint, "… must always …", MUST_BE),
    (Constraint, "… should never …", MUST_BE),
    (Constraint, "… should always …", MUST_BE),
    (Constraint, "… shall never|always …", MUST_BE),
    (Constraint, "you must …", MUST_BE),
    (Constraint, "we never …", WE_TELL),
    (Constraint, "we always …", WE_TELL),
    (Constraint, "i never want …", "to"),
    (Constraint, "i never want to see|hear|find …", ""),
    (Constraint, "i want|need you to always|never …", ""),
    (Constraint, "i'd like you to always|never …", ""),
    (Constraint, "stop using|writing|adding|calling|doing|apologizing|apologising …", "it that this"),
    (Constraint, "don't … unless i|we …", "worry know"),
    (Constraint, "do not … unless i|we …", ""),
    (Constraint, "don't … without asking|my *", ""),
    (Constraint, "do not … without asking|my *", ""),
    (Decision, "we'll|we're|let's use|using … instead of …", ""),
    (Decision, "we'll|we're|let's use|using … rather than …", ""),
    (Decision, "we will use … instead of …", ""),
    (Decision, "we will use … rather than …", ""),
    (Decision, "let us use … instead of …", ""),
    (Decision, "we're going to use … instead of …", ""),
    (Decision, "we are going to use … instead of …", ""),
    (Decision, "let's|we'll|i'll go|stick|stay with …", GO_WITH),
    (Decision, "let us go|stick|stay with …", GO_WITH),
    (Decision, "we will go|stick|stay with …", GO_WITH),
    (Decision, "we're going with …", GO_WITH),
    (Decision, "we are going with …", GO_WITH),
    (Decision, "let's settle on …", ""),
    (Decision, "we've|i've decided …", "nothing not"),
    (Decision, "we|i have decided …", "nothing not"),
];
const GO_WITH: &str = "him her them me us you someone somebody friends my our";

/// What may stand before a form and changes nothing about it.
pub(super) const LEADS: &str = "please also ok okay so well now then right yes no and but again remember note important reminder \
    rule actually alternatively finally first second third lastly just make_sure_to be_sure_to make_sure_you remember_to as_i_said \
    like_i_said i_said i_repeat one_more_thing in_general generally you_should you_must you_are_to thanks great good sure fine \
    cool hey btw by_the_way plus yeah yep alright";
/// After these, what follows was said by somebody else, or is a name.
const REPORTS: &str = "said says say saying told tells asked asks wrote writes claims claimed suggests suggested recommends \
    recommended insists insisted thinks thought believes believed called titled named reads sings song quote lyrics";
/// Whose clause goes on over an `and`: `it is slow and always fails`.
const SUBJECTS: &str = "i he she it they we you the this that these those there my your his her our their its a an what who which \
    everyone everybody nobody someone people";
/// A sentence that begins so asks, also where its mark is missing.
const ASKS: &str = "why how what who whom whose which where when_do when_does when_did do_you do_we do_i do_they does did is are was were has have had \
    should shall would could can will may might isn't aren't don't_you doesn't won't can't couldn't wouldn't shouldn't haven't \
    didn't am";
const JOINS: &str = "and but then so or";

/// A word of a sentence.
struct DirectiveWord {
    /// In lower case, without marks around it; empty for what is quoted.
    text: String,
    /// Whether a clause begins with it.
    begins: bool,
    /// Where it begins in the sentence.
    at: usize,
}

/// The standing orders of a message, in their order, each as it was said.
pub(super) fn standing(rules: &ExtractionRules, content: &str) -> Vec<(RecordKind, String)> {
    let mut found: Vec<(RecordKind, String)> = Vec::new();
    for paragraph in paragraphs(content) {
        for sentence in sentences(&paragraph) {
            if let Some((kind, at)) = order(rules, sentence) {
                let long = sentence.chars().nth(LONGEST).is_some();
                let said = if long { &sentence[at..] } else { sentence };
                found.push((kind, said.to_owned()));
                if found.len() == MOST {
                    return found;
                }
            }
        }
    }
    found
}

/// The paragraphs of a message that are its writer's own words; list items count as such. Of a long message, the ends.
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
        let pasted = content.len() > WHOLE && from > END && passed + END < content.len();
        blank = trimmed.is_empty();
        if fence.is_some() || mark.is_some() || code || pasted || blank || trimmed.starts_with(['>', '|', '→']) {
            found.push(String::new());
            continue;
        }
        let (item, words) = item(trimmed);
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

/// Whether a line begins an item of a list or a heading, and its words.
fn item(line: &str) -> (bool, &str) {
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

/// What a sentence orders, and where the clause that says it begins.
fn order(rules: &ExtractionRules, sentence: &str) -> Option<(RecordKind, usize)> {
    if sentence.len() > LONG || sentence.trim_end_matches(['"', '”', ')', '*', '_', ' ']).ends_with(['?', '？']) {
        return None;
    }
    let words = words(sentence);
    if phrases(ASKS).any(|asks| begins(&words, &asks)) {
        return None;
    }
    let opening: Vec<bool> = (0..words.len()).map(|at| opens(rules, &words, at)).collect();
    rules.orders.iter().find_map(|order| {
        let form: Vec<&str> = order.form.split_whitespace().collect();
        let free = matches!(form.first(), Some(&("…" | "*")));
        let starts = (0..words.len()).filter(|at| if free { *at == 0 } else { opening[*at] });
        for start in starts {
            if let Some(cue) = fits(&form, &words[start..], &order.unless)
                && !reported(&words[..start + cue])
            {
                let clause = (0..=start + cue).rev().find(|at| words[*at].begins).unwrap_or(0);
                return Some((order.kind, words[clause].at));
            }
        }
        None
    })
}

/// Words with `_` for the spaces in them, one after another.
fn phrases(list: &str) -> impl Iterator<Item = Vec<&str>> {
    list.split_whitespace().map(|phrase| phrase.split('_').collect())
}

fn begins(words: &[DirectiveWord], phrase: &[&str]) -> bool {
    words.len() >= phrase.len() && words.iter().zip(phrase).all(|(word, other)| word.text == *other)
}

fn has(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|other| other == word)
}

/// Whether a clause begins at a word, or has nothing before it that would make it say something else.
fn opens(rules: &ExtractionRules, words: &[DirectiveWord], at: usize) -> bool {
    let first = (0..=at).rev().find(|at| words[*at].begins).unwrap_or(0);
    let mut from = first;
    while from < at {
        let lengths = rules.leads.iter().filter_map(|lead| {
            let phrase: Vec<&str> = lead.split('_').collect();
            begins(&words[from..at], &phrase).then_some(phrase.len())
        });
        match lengths.max() {
            Some(length) => from += length,
            // `use tabs and never use spaces`
            None => return has(JOINS, &words[at - 1].text) && !has(SUBJECTS, &words[first].text),
        }
    }
    true
}

/// Whether what follows these words was said by somebody else.
fn reported(before: &[DirectiveWord]) -> bool {
    before.iter().enumerate().any(|(at, word)| {
        let own = at > 0 && before[at - 1].text == "i";
        has(REPORTS, &word.text) && !own
    })
}

/// Whether a form fits words from their beginning to their end; the number of words before its first own one.
fn fits(form: &[&str], words: &[DirectiveWord], unless: &[String]) -> Option<usize> {
    let (least, rest) = match form.split_first() {
        Some((&"…", rest)) => (1, rest),
        Some((&"*", rest)) => (0, rest),
        _ => return follows(form, words, unless).then_some(0),
    };
    (least..words.len()).find(|skip| follows(rest, &words[*skip..], unless))
}

/// Whether words are the rest of a form; its next gap does not begin with a word of `unless`.
fn follows(form: &[&str], words: &[DirectiveWord], unless: &[String]) -> bool {
    let Some((token, rest)) = form.split_first() else { return words.is_empty() };
    let least = match *token {
        "…" => 1,
        "*" => 0,
        token => {
            let Some((word, after)) = words.split_first() else { return false };
            return token.split('|').any(|other| other == word.text) && follows(rest, after, unless);
        }
    };
    let barred = words.first().is_some_and(|word| bars(unless, &word.text));
    !barred && (least..=words.len()).any(|skip| follows(rest, &words[skip..], &[]))
}

/// Whether a gap may not begin with a word.
fn bars(unless: &[String], word: &str) -> bool {
    let fits = |pattern: &str| match pattern.strip_prefix('*') {
        Some(end) => word.len() > end.len() && word.ends_with(end),
        None => pattern == word,
    };
    let freed = unless.iter().filter_map(|pattern| pattern.strip_prefix('+')).any(fits);
    !freed && unless.iter().any(|pattern| fits(pattern))
}

/// The words of a sentence; what is quoted is one word without letters.
fn words(sentence: &str) -> Vec<DirectiveWord> {
    let mut found: Vec<DirectiveWord> = Vec::new();
    let (mut begins, mut quote, mut start) = (true, None::<char>, None::<usize>);
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
            let text = plain(&sentence[from..at]);
            found.push(DirectiveWord { text, begins: std::mem::take(&mut begins), at: from });
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
            found.push(DirectiveWord { text: String::new(), begins: std::mem::take(&mut begins), at });
        }
        begins |=
            matches!(c, ',' | ';' | ':' | '—' | '–' | '(' | ')' | '/') || c == '-' && sentence[..at].ends_with(' ');
    }
    found
}

/// A word as forms have it.
fn plain(word: &str) -> String {
    let lower = word.to_lowercase().replace('’', "'");
    match lower.trim_end_matches('\'') {
        "dont" => "don't".to_owned(),
        "lets" => "let's".to_owned(),
        word => word.to_owned(),
    }
}

/// The words of all forms, to be looked for in one pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DirectiveTriggers {
    /// By first letter: the word, and the bits of the places in forms that it fills.
    words: Vec<(String, u128)>,
    /// Of each form: the bits that it needs.
    forms: Vec<u128>,
    /// There are more places than bits, so every text may hold one.
    all: bool,
}

impl DirectiveTriggers {
    pub(super) fn of(orders: &[Directive]) -> Self {
        let mut places: Vec<&str> = orders.iter().flat_map(|order| order.form.split_whitespace()).collect();
        places.retain(|place| !matches!(*place, "…" | "*"));
        places.sort_unstable();
        places.dedup();
        let mut cues = Self { all: places.len() > 128, ..Self::default() };
        if cues.all {
            return cues;
        }
        let bit = |token: &str| places.binary_search(&token).map_or(0, |at| 1_u128 << at);
        for place in &places {
            for word in place.split('|') {
                match cues.words.iter_mut().find(|(known, _)| known == word) {
                    Some((_, bits)) => *bits |= bit(place),
                    None => cues.words.push((word.to_owned(), bit(place))),
                }
            }
        }
        cues.forms = orders.iter().map(|o| o.form.split_whitespace().map(bit).fold(0, |all, one| all | one)).collect();
        cues
    }

    /// Whether all words of a form stand somewhere in a text.
    pub(super) fn may_stand_in(&self, text: &str) -> bool {
        if self.all {
            return true;
        }
        let mut found = 0;
        for word in text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '’')) {
            found |= self.bits(word);
        }
        self.forms.iter().any(|form| form & !found == 0)
    }

    fn bits(&self, word: &str) -> u128 {
        let Some(first) = word.bytes().next() else { return 0 };
        let first = first.to_ascii_lowercase();
        let same = |known: &str| {
            known.as_bytes()[0] == first
                && (known.eq_ignore_ascii_case(word)
                    || word.contains('’') && known.eq_ignore_ascii_case(&word.replace('’', "'"))
                    || matches!(known, "don't" | "let's") && known.replace('\'', "").eq_ignore_ascii_case(word))
        };
        self.words.iter().find(|(known, _)| same(known)).map_or(0, |(_, bits)| *bits)
    }
}
