//! Words that ask for something that a command has no argument for: `undo until a7x2`, `edit a7x2 append "t"`. A line with one
//! is refused, since the command would do something else.

mod limiting_words;
mod misplaced_words;
mod word_table;

use std::sync::LazyLock;

pub(super) use self::word_table::OUTCOMES;
use self::word_table::{OFF, ON, ON_OR_OFF, TIME_WORDS, UNSUPPORTED, WordPlace, YES_OR_NO};
use crate::{
    arrow::{
        annotate_tokens::{AnnotatedToken, TokenKind},
        classify::Candidate,
        intent::{ClauseRole, Intent},
        lex::Span,
        lexicon::Noun,
        word_pattern::ApproximateWordSet,
    },
    tools::{Command, Tool},
};

/// The words of [`UNSUPPORTED`].
static SUSPECTS: LazyLock<ApproximateWordSet> =
    LazyLock::new(|| ApproximateWordSet::new(UNSUPPORTED.iter().flat_map(|(_, _, words)| words.iter().copied())));

/// Finds a word that the command of a candidate does not support.
pub(super) fn find(line: &str, terms: &[AnnotatedToken], intent: &Intent, candidate: &Candidate) -> Option<Span> {
    let words = VerbTail { line, terms, intent, candidate };
    if let Some(found) = words.in_table() {
        return Some(found);
    }
    // `move a7x2 from b3k9`: only a place to go to is an argument.
    if matches!(candidate.tool, Tool::Move | Tool::Copy)
        && !(0..terms.len()).any(|at| words.is(at, &["to", "under", "below", "beneath", "into", "onto", "there"]))
    {
        let away = words.find(|at| words.is(at, &["from"]) && words.kind(at + 1).is_some_and(is_node));
        if away.is_some() {
            return away;
        }
    }
    words
        .unknown_option()
        .or_else(|| words.switched_off())
        .or_else(|| words.negative_number())
        .or_else(|| words.restrained())
        .or_else(|| words.transformed())
        .or_else(|| words.narrowed())
        .or_else(|| words.unknown_limit())
        .or_else(|| words.part_only())
        .or_else(|| words.unknown_request())
        .or_else(|| words.misplaced())
}

/// Finds a limit of time or of turns that a recall does not have.
pub(super) fn lost_limit(
    line: &str,
    terms: &[AnnotatedToken],
    intent: &Intent,
    candidate: &Candidate,
    command: &Command,
) -> Option<Span> {
    let Command::Recall { only, turns, search, label, .. } = command else { return None };
    let words = VerbTail { line, terms, intent, candidate };
    if turns.is_some() {
        // `the last 5 turns`, `turns 5-`, `turns -5`
        if words.is(0, &["last", "first", "latest", "newest"]) {
            return Some(terms[0].whole);
        }
        return words.find(|at| {
            words.is(at, &["last", "first", "latest", "newest"]) && words.kind(at + 1).is_some_and(is_number)
                || terms[at].is('-')
                    && (words.kind(at - 1).is_some_and(is_number) || words.kind(at + 1).is_some_and(is_number))
        });
    }
    if only.from.is_some() || only.to.is_some() || intent.raw.is_some() || search.is_none() && label.is_none() {
        return None;
    }
    words.find(|at| words.is(at, TIME_WORDS) || is_date(terms[at].text.of(line)) && !terms[at].is_text())
}

fn is_date(text: &str) -> bool {
    text.len() == 10
        && text
            .bytes()
            .enumerate()
            .all(|(at, byte)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() })
}

fn is_node(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Id | TokenKind::Place(_) | TokenKind::BookmarkLabel { .. })
}

fn is_number(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Number(_))
}

/// The words behind the verb of a line.
struct VerbTail<'r> {
    line: &'r str,
    terms: &'r [AnnotatedToken],
    intent: &'r Intent,
    candidate: &'r Candidate,
}

impl VerbTail<'_> {
    fn kind(&self, at: usize) -> Option<TokenKind> {
        self.terms.get(at).map(|term| term.kind)
    }

    fn is(&self, at: usize, words: &[&str]) -> bool {
        self.terms.get(at).is_some_and(|term| {
            !term.is_text() && words.iter().any(|word| term.text.of(self.line).eq_ignore_ascii_case(word))
        })
    }

    /// True for the value of an option or of a noun that has a name: `doc:today`.
    fn is_value(&self, at: usize) -> bool {
        let marked = usize::from(at > 0 && matches!(self.terms[at - 1].kind, TokenKind::Mark(':' | '=')));
        let name = at.checked_sub(1 + marked).map(|name| &self.terms[name]);
        name.is_some_and(|name| {
            let names =
                matches!(name.entry.noun, Some(Noun::Doc | Noun::Label | Noun::Stash | Noun::Agent | Noun::Tree));
            matches!(name.kind, TokenKind::OptionName(_)) || names
        })
    }

    /// True for a node, also for a place in words behind an article.
    fn is_before_node(&self, at: usize) -> bool {
        let is_place = |noun| matches!(noun, Noun::Root | Noun::Parent | Noun::Leaf);
        let term = self.terms.get(at + usize::from(self.is(at, &["the", "its"])));
        term.is_some_and(|term| is_node(term.kind) || !term.is_text() && term.entry.noun.is_some_and(is_place))
    }

    /// Finds a word of [`UNSUPPORTED`] at its place.
    fn in_table(&self) -> Option<Span> {
        let suspects: Vec<usize> =
            self.positions().filter(|at| SUSPECTS.may_hold(self.terms[*at].text.of(self.line))).collect();
        if suspects.is_empty() {
            return None;
        }
        let has_text = self.terms.iter().any(AnnotatedToken::is_text);
        let fits = |at: usize, place: WordPlace| match place {
            WordPlace::Anywhere => !self.is_value(at),
            WordPlace::BeforeNode => self.is_before_node(at + 1),
            WordPlace::BeforeNumber => self.kind(at + 1).is_some_and(is_number),
            WordPlace::AfterNumber => self.kind(at - 1).is_some_and(is_number),
            WordPlace::BeforeName => self.kind(at + 1) == Some(TokenKind::Name),
            WordPlace::LastBehindNode => at + 1 == self.terms.len() && self.kind(at - 1).is_some_and(is_node),
            WordPlace::BeforeLastNumber => at + 2 == self.terms.len() && self.kind(at + 1).is_some_and(is_number),
            WordPlace::BesideText => has_text,
            WordPlace::BeforeText => self.terms.get(at + 1).is_some_and(AnnotatedToken::is_text),
            WordPlace::BesideNode => self.terms.iter().any(AnnotatedToken::is_id),
            WordPlace::WithoutText => !has_text,
        };
        let rows = UNSUPPORTED.iter().filter(|(tools, ..)| tools.contains(&self.candidate.tool));
        let mut found = rows.filter_map(|(_, place, unsupported)| {
            suspects.iter().find(|at| self.is(**at, unsupported) && fits(**at, *place))
        });
        found.next().map(|at| self.terms[*at].whole)
    }

    /// Finds a word of the request behind its verb.
    fn find(&self, fits: impl Fn(usize) -> bool) -> Option<Span> {
        self.positions().find(|at| fits(*at)).map(|at| self.terms[at].whole)
    }

    /// Finds a word behind the verb, also in a remark.
    fn behind_verb(&self, fits: impl Fn(usize) -> bool) -> Option<Span> {
        (self.begin()..self.terms.len()).find(|at| fits(*at)).map(|at| self.terms[at].whole)
    }

    /// Position behind the verb; of a line without a verb, behind its first word.
    fn begin(&self) -> usize {
        if self.candidate.verb < self.terms.len() { self.candidate.verb + 1 } else { 1 }
    }

    /// Positions of the request behind its verb.
    fn positions(&self) -> impl Iterator<Item = usize> {
        let end = self.intent.raw.map_or(usize::MAX, |raw| raw.start);
        // What says when or how far is an aside of these.
        let asides = matches!(self.candidate.tool, Tool::Undo | Tool::Redo | Tool::Recall);
        (self.begin()..self.terms.len()).filter(move |at| self.terms[*at].whole.start < end).filter(move |at| {
            let asked = matches!(self.intent.zones.get(*at), Some(ClauseRole::Main | ClauseRole::Relative));
            asides || asked || matches!(self.terms[*at].kind, TokenKind::Mark(_))
        })
    }

    /// Finds `colour:sepia`: a name and a value without a space between them, which no option is.
    fn unknown_option(&self) -> Option<Span> {
        self.find(|at| {
            let [name, mark, value] = &self.terms[at..self.terms.len().min(at + 3)] else { return false };
            let word = |term: &AnnotatedToken| matches!(term.kind, TokenKind::Name | TokenKind::Word);
            // `steps=5`, `failed=true`
            let known = name.entry.noun.is_some() || self.is(at, ON_OR_OFF);
            word(name)
                && !known
                && matches!(mark.kind, TokenKind::Mark(':' | '='))
                && (word(value) || is_number(value.kind))
                && name.whole.end == mark.whole.start
                && mark.whole.end == value.whole.start
        })
    }

    /// Finds `full:false`, `wait no` and `--no-failed`.
    fn switched_off(&self) -> Option<Span> {
        self.find(|at| {
            // A mark may stand between an option's name and its value.
            let marked = matches!(self.kind(at - 1), Some(TokenKind::Mark('=' | ':')));
            let name = (at - 1).saturating_sub(usize::from(marked));
            let named = marked || matches!(self.kind(name), Some(TokenKind::OptionName(_)));
            let waits = self.is(at - 1, &["wait"]) && self.kind(at - 1) == Some(TokenKind::Word);
            let valued = self.is(at, OFF) && (named && self.is(name, ON_OR_OFF) || waits);
            // `full:maybe`
            let adjoins = self.terms[at].whole.start == self.terms[at - 1].whole.end;
            let word = matches!(self.kind(at), Some(TokenKind::Word | TokenKind::Name));
            let unclear = named && adjoins && word && self.is(name, YES_OR_NO) && !self.is(at, ON) && !self.is(at, OFF);
            // `--no-wait` is an option.
            let flag = self.terms[at].text.of(self.line);
            valued || unclear || self.terms[at].kind == TokenKind::Flag && flag.starts_with("no-") && flag != "no-wait"
        })
    }

    /// Finds a number below 0 where a count is asked for.
    fn negative_number(&self) -> Option<Span> {
        if !matches!(self.candidate.tool, Tool::Undo | Tool::Redo | Tool::Todo | Tool::Continue) {
            return None;
        }
        self.find(|at| {
            let number = self.kind(at).is_some_and(is_number);
            let minus = self.terms[at - 1].is('-')
                && self.terms[at - 1].whole.end == self.terms[at].whole.start
                && !self.kind(at.saturating_sub(2)).is_some_and(is_number);
            number && minus
        })
    }
}
