//! Words of a recall besides its arguments: whose turns, where, from when, in which order, and which turns.

use std::{ops::Range, sync::LazyLock};

use crate::arrow::{
    RecallScope, RecallSort, lexicon,
    word_pattern::{PatternTable, is_in},
};

/// Scopes in words.
static SCOPES: LazyLock<PatternTable<RecallScope>> = LazyLock::new(|| {
    PatternTable::new([
        ("all|every the|my? trees|tree", RecallScope::All),
        ("in|across|over all|every the? scopes|scope", RecallScope::All),
        ("across|over trees", RecallScope::All),
        ("this|our|my|current session", RecallScope::Session),
        ("in|within|across|over|from|throughout the current|whole|entire? session", RecallScope::Session),
        ("this|our|whole|entire workspace", RecallScope::Workspace),
        ("in|within|across|over|from|throughout|grep|search the workspace", RecallScope::Workspace),
        ("this|whole|entire tree", RecallScope::Tree),
        ("in|within|across|from|throughout the tree", RecallScope::Tree),
    ])
});
/// Orders in words.
static ORDERS: LazyLock<PatternTable<RecallSort>> = LazyLock::new(|| {
    PatternTable::new([
        ("newest|latest|freshest ones|hits|results|matches|turns|messages? first", RecallSort::Time),
        ("most recent ones|hits|results|matches|turns|messages? first", RecallSort::Time),
        ("oldest|earliest ones|hits|results|matches|turns|messages? first", RecallSort::Oldest),
        ("sorted|sort|ordered|order by the? time|date|recency", RecallSort::Time),
        ("chronologically", RecallSort::Oldest),
        ("in chronological order", RecallSort::Oldest),
    ])
});
/// Words that ask for the text as it is written.
static EXACT: LazyLock<PatternTable<()>> = LazyLock::new(|| {
    PatternTable::new(
        [
            "word for word",
            "letter for letter",
            "to the letter",
            "verbatim",
            "exact phrase|words|wording|string|match|matches",
            "exactly this|these|those|the phrase|words|word|wording|string",
            "exactly as it|they stands|stand|is|was|are|were|written|reads",
            "exactly as written|quoted",
            "exactly like that|this|so",
            "in exactly this|these|those words",
            "exactly|precisely in just? this|these|those|the same? words|wording",
        ]
        .map(|pattern| (pattern, ())),
    )
});
/// Words that ask for the number of results.
static COUNT: LazyLock<PatternTable<()>> = LazyLock::new(|| {
    PatternTable::new(
        [
            "counts|count only",
            "only|just the? count|counts|number",
            "the count of",
            "how many times",
            "how often",
            "how many turns|messages|times|calls|results|hits",
        ]
        .map(|pattern| (pattern, ())),
    )
});
/// Words that ask for annotations alone.
static ANNOTATIONS: LazyLock<PatternTable<()>> = LazyLock::new(|| {
    PatternTable::new(
        [
            "in|among|within|from|across the|my|our|all? annotations|notes",
            "only need|want? the? annotations",
            "annotations only",
        ]
        .map(|pattern| (pattern, ())),
    )
});
/// Words for what comes before and after a node.
static AROUND: LazyLock<PatternTable<()>> = LazyLock::new(|| {
    PatternTable::new(
        ["before and right|just|directly? after", "around", "surroundings of", "context of"]
            .map(|pattern| (pattern, ())),
    )
});
/// Verbs that follow the author's name.
const SPEECH_VERBS: &str = "spoke speaks say said says saying wrote write mention mentions mentioned ask asked told claimed suggested proposed answered \
    replied";
/// Words that precede the author's name.
const AUTHOR_LEADS: &str = "which what where when whatever did has had does that which anything everything something things all time times turn \
    turns place places how once";
/// Words between the author's name and the verb.
const AUTHOR_FILLERS: &str =
    "has have had did ever already once earlier just also previously really actually first last originally";
/// Roles of those who speak, as they are said and as `by` takes them.
const ROLES: &[(&str, &str)] = &[
    ("human", "human"),
    ("humans", "human"),
    ("user", "human"),
    ("person", "human"),
    ("people", "human"),
    ("model", "model"),
    ("models", "model"),
    ("assistant", "model"),
    ("system", "system"),
    ("owner", "owner"),
];
/// Words that begin with a capital letter and are no names.
const CAPITALIZED_WORDS: &str = "I We You They He She It What Who That Did Has Have";
/// Words before the subject of a recall.
const TOPIC_LEADS: &str = "about concerning regarding";
/// Words that end a subject, or that cannot be one.
const TOPIC_ENDS: &str = "it this that these those them since until from by in within over during across please newest oldest latest \
    earliest again earlier before after so because and or but when where if then now today yesterday which who is \
    was only at to exact count";
/// Longest subject, in words.
const MAX_TOPIC_WORDS: usize = 5;
/// Units of time, as they are said and as an age has them.
const UNITS: &[(&str, &str)] = &[
    ("minutes", "min"),
    ("minute", "min"),
    ("hours", "h"),
    ("hour", "h"),
    ("days", "d"),
    ("day", "d"),
    ("weeks", "w"),
    ("week", "w"),
    ("months", "mo"),
    ("month", "mo"),
    ("years", "y"),
    ("year", "y"),
];

/// The words of a line outside its quotes.
pub(super) struct RecallWords<'l> {
    line: &'l str,
    words: Vec<&'l str>,
}

impl<'l> RecallWords<'l> {
    pub(super) fn of(line: &'l str) -> Self {
        let mut words = Vec::new();
        let (mut quoted, mut begins, mut escaped) = (false, 0, false);
        let curly = !line.contains('"');
        for (at, c) in line.char_indices() {
            if (c == '"' || curly && matches!(c, '“' | '”' | '„' | '«' | '»' | '‹' | '›')) && !escaped {
                if !quoted {
                    words.extend(split(&line[begins..at]));
                }
                quoted = !quoted;
                begins = at + c.len_utf8();
            }
            escaped = c == '\\' && !escaped;
        }
        if !quoted {
            words.extend(split(&line[begins..]));
        }
        Self { line, words }
    }

    /// Offset of the word at `at` in the line.
    fn start(&self, at: usize) -> usize {
        self.words[at].as_ptr() as usize - self.line.as_ptr() as usize
    }

    /// The place of the subject of a recall without quotes: `ferry fares` of `what we said about the ferry fares`.
    pub(super) fn topic(&self) -> Option<Range<usize>> {
        let lead = self.words.iter().position(|word| is_in(TOPIC_LEADS, word))?;
        let article = usize::from(matches!(self.word(lead + 1), "the" | "a" | "an" | "our" | "my"));
        let first = lead + 1 + article;
        let follows = |at: usize| {
            let between = &self.line[self.start(at - 1) + self.words[at - 1].len()..self.start(at)];
            at <= first || between.trim().is_empty()
        };
        let is_part = |at: &usize| follows(*at) && !is_in(TOPIC_ENDS, self.words[*at]);
        let count = (first..self.words.len()).take_while(is_part).count();
        let last = (first + count).checked_sub(1).filter(|_| (1..=MAX_TOPIC_WORDS).contains(&count))?;
        Some(self.start(first)..self.start(last) + self.words[last].len())
    }

    fn word(&self, at: usize) -> &'l str {
        self.words.get(at).copied().unwrap_or_default()
    }

    /// The name before `tool`: `the grep tool`.
    pub(super) fn tool(&self) -> Option<&'l str> {
        let noun = (2..self.words.len()).find(|at| self.words[*at] == "tool")?;
        let name = self.words[noun - 1];
        let is_name = self.word(noun - 2) == "the" || lexicon::look_up(name).verb.is_none();
        (is_name && lexicon::look_up(name).func.is_none()).then_some(name)
    }

    pub(super) fn scope(&self) -> Option<RecallScope> {
        SCOPES.first_in(&self.words).copied()
    }

    pub(super) fn order(&self) -> Option<RecallSort> {
        ORDERS.first_in(&self.words).copied()
    }

    pub(super) fn is_exact(&self) -> bool {
        EXACT.first_in(&self.words).is_some()
    }

    pub(super) fn counts(&self) -> bool {
        COUNT.first_in(&self.words).is_some()
    }

    pub(super) fn names_annotations(&self) -> bool {
        ANNOTATIONS.first_in(&self.words).is_some()
    }

    pub(super) fn asks_for_surroundings(&self) -> bool {
        AROUND.first_in(&self.words).is_some()
    }

    /// True if a switch stands there: `count`, `--count`, `count=true`. `--count 5` is a limit.
    pub(super) fn switched(&self, name: &str) -> bool {
        (0..self.words.len()).any(|at| {
            let word = self.words[at];
            let word = ["=true", ":true", "=yes", ":yes"].iter().find_map(|yes| word.strip_suffix(yes)).unwrap_or(word);
            let bare = word.strip_prefix("--");
            let has_value = bare.is_some() && self.word(at + 1).starts_with(|c: char| c.is_ascii_digit());
            bare.unwrap_or(word).eq_ignore_ascii_case(name) && !has_value
        })
    }

    /// Returns the author: `what Ada said about it`, `Ada's turns`, `by the human`. A name as it is, a role as `by` takes it.
    pub(super) fn author(&self) -> Option<&'l str> {
        let spoke = |at: usize| {
            let speaks = is_in(SPEECH_VERBS, self.words[at]);
            let who = speaks.then(|| (0..at).rev().find(|at| !is_in(AUTHOR_FILLERS, self.words[*at])))??;
            // `what Marie and Hollis said` names two, `the user says that …` introduces a statement.
            let before =
                (0..who).rev().find(|at| !matches!(self.words[*at], "the" | "a" | "any" | "our" | "my" | "agent"))?;
            let leads = is_in(AUTHOR_LEADS, self.words[before]);
            self.speaker(self.words[who], who).filter(|_| leads)
        };
        let owns = |at: usize| {
            let who = self.words[at].strip_suffix("'s").or_else(|| self.words[at].strip_suffix("’s"));
            let noun = matches!(self.word(at + 1), "turns" | "messages" | "replies" | "words" | "remarks" | "lines");
            let role = ROLES.iter().find(|(said, _)| *said == self.words[at]).map(|(_, role)| *role);
            let turns = matches!(self.word(at + 1), "turns" | "messages");
            who.filter(|_| noun).and_then(|who| self.speaker(who, at)).or(role.filter(|_| turns))
        };
        let is_by = |at: &usize| matches!(self.words[*at], "by" | "from");
        let named = || {
            let at = (0..self.words.len()).find(is_by)? + 1;
            let role = |at: usize| ROLES.iter().find(|(said, _)| *said == self.word(at)).map(|(_, role)| *role);
            role(at).or_else(|| role(at + 1).filter(|_| matches!(self.word(at), "the" | "a" | "an")))
        };
        (1..self.words.len()).find_map(spoke).or_else(|| (0..self.words.len()).find_map(owns)).or_else(named)
    }

    fn speaker(&self, who: &'l str, at: usize) -> Option<&'l str> {
        let role = ROLES.iter().find(|(said, _)| *said == who).map(|(_, role)| *role);
        // `the agent reviewer`
        let is_agent = at > 0 && self.words[at - 1] == "agent";
        let is_name = at > 0 && who.starts_with(char::is_uppercase) && !is_in(CAPITALIZED_WORDS, who);
        // `the reviewer`: agents are named by what they do.
        let is_doer = at > 0 && self.words[at - 1] == "the" && !lexicon::look_up(who).is_known() && is_doer(who);
        role.or((is_name || is_agent || is_doer).then_some(who))
    }

    /// The age that the turns have at most: `in the last 3 hours`, `since two days ago`, `no older than a week`. The second value
    /// holds the words of it.
    pub(super) fn last(&self) -> Option<(String, Vec<&'l str>)> {
        let unit = |at: usize| UNITS.iter().find(|(said, _)| *said == self.word(at)).map(|(_, unit)| *unit);
        let is = |at: usize, words: &[&str]| words.contains(&self.word(at));
        let counted = |at: usize| {
            let said = self.word(at);
            let article = matches!(said, "a" | "an").then_some(1);
            let count = article.or_else(|| said.parse::<u32>().ok());
            let count = count.or_else(|| lexicon::look_up(said).number.map(u32::from))?;
            Some((format!("{count}{}", unit(at + 1)?), vec![said, self.word(at + 1)]))
        };
        (0..self.words.len()).find_map(|at| {
            let within = is(at, &["last", "past"])
                && at > 1
                && is(at - 1, &["the"])
                && is(at - 2, &["in", "within", "over", "during", "from", "for", "of"]);
            if within {
                let one = || Some((format!("1{}", unit(at + 1)?), vec![self.word(at + 1)]));
                return one().or_else(|| counted(at + 1));
            }
            let is_limit = is(at, &["older"]) && at > 0 && is(at - 1, &["no", "not"]) && is(at + 1, &["than"]);
            match () {
                () if is_limit => counted(at + 2),
                () if is(at, &["since", "from"]) && is(at + 3, &["ago"]) => counted(at + 1),
                () => None,
            }
        })
    }

    /// The two ends of a time: `between 2026-02-10 and 2026-02-14`, `from 2026-02-10 to 2026-02-14`.
    pub(super) fn between(&self) -> Option<[&'l str; 2]> {
        let ends = |at: usize| {
            let joint = match self.words[at] {
                "between" | "Between" => "and",
                "from" => "to",
                _ => return None,
            };
            (self.word(at + 2) == joint).then(|| [self.word(at + 1), self.word(at + 3)])
        };
        (0..self.words.len()).find_map(ends)
    }
}

/// True for a word such as `reviewer` or `editor`, by its ending.
fn is_doer(word: &str) -> bool {
    const OTHERS: &str = "letter paper chapter number order other mother father brother sister former latter folder poster newsletter \
                          trailer ledger register disclaimer header footer";
    (word.ends_with("er") || word.ends_with("or") || word.ends_with("ist")) && word.len() > 4 && !is_in(OTHERS, word)
}

/// The words of a text, without the marks around them.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| c.is_whitespace() || "()[]{};,?!".contains(c));
    parts.map(|word| word.trim_end_matches(['.', ':'])).filter(|word| !word.is_empty())
}
