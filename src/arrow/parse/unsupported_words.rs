//! Words that ask for something that a command has no argument for: `undo until a7x2`, `edit a7x2 append "t"`. A line with one
//! is refused, since the command would do something else.

mod word_table;

use self::word_table::{
    CHANGING, ENDED, INSTRUCTION, LIMITING_FLAGS, OFF, ON, ON_OR_OFF, OUTCOMES, PROGRAMS, SPOKEN_OF, TIME_WORDS,
    UNSUPPORTED, WordPlace, YES_OR_NO,
};
use crate::{
    arrow::{
        annotate_tokens::{self, AnnotatedToken, TokenKind},
        classify::Candidate,
        intent::{ClauseRole, Intent},
        lex::Span,
        lexicon::{FunctionWord, Noun, Prep},
    },
    tools::{Command, Tool},
};

/// Finds a word that the command of a candidate does not support.
pub(super) fn find(line: &str, terms: &[AnnotatedToken], intent: &Intent, candidate: &Candidate) -> Option<Span> {
    let words = VerbTail { line, terms, intent, candidate };
    let has_text = terms.iter().any(AnnotatedToken::is_text);
    let rows = UNSUPPORTED.iter().filter(|(tools, ..)| tools.contains(&candidate.tool));
    for (_, place, unsupported) in rows {
        let found = words.find(|at| {
            words.is(at, unsupported)
                && match place {
                    WordPlace::Anywhere => !words.is_value(at),
                    WordPlace::BeforeNode => words.is_before_node(at + 1),
                    WordPlace::BeforeNumber => words.kind(at + 1).is_some_and(is_number),
                    WordPlace::AfterNumber => words.kind(at - 1).is_some_and(is_number),
                    WordPlace::BeforeName => words.kind(at + 1) == Some(TokenKind::Name),
                    WordPlace::LastBehindNode => at + 1 == terms.len() && words.kind(at - 1).is_some_and(is_node),
                    WordPlace::BeforeLastNumber => at + 2 == terms.len() && words.kind(at + 1).is_some_and(is_number),
                    WordPlace::BesideText => has_text,
                    WordPlace::BeforeText => terms.get(at + 1).is_some_and(AnnotatedToken::is_text),
                    WordPlace::BesideNode => terms.iter().any(AnnotatedToken::is_id),
                    WordPlace::WithoutText => !has_text,
                }
        });
        if found.is_some() {
            return found;
        }
    }
    // `move a7x2 from b3k9`: only a place to go to is an argument.
    if matches!(candidate.tool, Tool::Move | Tool::Copy)
        && words.find(|at| words.is(at, &["to", "under", "below", "beneath", "into", "onto", "there"])).is_none()
    {
        return words.find(|at| words.is(at, &["from"]) && words.kind(at + 1).is_some_and(is_node));
    }
    words
        .unknown_option()
        .or_else(|| words.switched_off())
        .or_else(|| words.negative_number())
        .or_else(|| words.lost_instruction())
        .or_else(|| words.restrained())
        .or_else(|| words.partial_text())
        .or_else(|| words.unclosed_item())
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
    let Command::Recall { only, turns, search, .. } = command else { return None };
    let words = VerbTail { line, terms, intent, candidate };
    if turns.is_some() {
        // `the last 5 turns`, `turns 5-`, `turns -5`
        return words.find(|at| {
            words.is(at, &["last", "first", "latest", "newest"]) && words.kind(at + 1).is_some_and(is_number)
                || terms[at].is('-')
                    && (words.kind(at - 1).is_some_and(is_number) || words.kind(at + 1).is_some_and(is_number))
        });
    }
    if only.from.is_some() || only.to.is_some() || intent.raw.is_some() || search.is_none() {
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

/// True for the word bookmark, or an option whose text is no label.
fn names_bookmark(term: &AnnotatedToken) -> bool {
    term.entry.noun == Some(Noun::Bookmark) || matches!(term.kind, TokenKind::OptionName(key) if key.is_content())
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

    /// Finds a word of the request behind its verb.
    fn find(&self, fits: impl Fn(usize) -> bool) -> Option<Span> {
        let end = self.intent.raw.map_or(usize::MAX, |raw| raw.start);
        // What says when or how far is an aside of these.
        let asides = matches!(self.candidate.tool, Tool::Undo | Tool::Redo | Tool::Recall);
        (self.candidate.verb + 1..self.terms.len())
            .filter(|at| self.terms[*at].whole.start < end)
            .filter(|at| {
                let asked = matches!(self.intent.zones.get(*at), Some(ClauseRole::Main | ClauseRole::Relative));
                asides || asked || matches!(self.terms[*at].kind, TokenKind::Mark(_))
            })
            .find(|at| fits(*at))
            .map(|at| self.terms[at].whole)
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

    /// Finds a text that a remark behind a `continue` gives: `continue from a7x2, what I want is "t"`.
    fn lost_instruction(&self) -> Option<Span> {
        let is_lost = |at: &usize| {
            self.terms[*at].is_text()
                && self.intent.zones.get(*at) == Some(&ClauseRole::Tail)
                && self.terms[at - 1].entry.func == Some(FunctionWord::Be)
        };
        let mut texts = (1..self.terms.len()).filter(is_lost);
        texts.next().filter(|_| self.candidate.tool == Tool::Continue).map(|at| self.terms[at].whole)
    }

    /// Finds a flag that limits a change, a sign of how it ended, or what marks the line as an example.
    fn restrained(&self) -> Option<Span> {
        if !CHANGING.contains(&self.candidate.tool) {
            return None;
        }
        let verb = self.candidate.verb;
        let end = self.intent.raw.map_or(usize::MAX, |raw| raw.start);
        let labels = [
            "skipped",
            "failed",
            "rejected",
            "cancelled",
            "example",
            "instance",
            "option",
            "output",
            "goal",
            "decided",
            "decision",
            "undone",
        ];
        let last = self.terms.len() - 1;
        let is_restrained = |at: &usize| {
            let term = &self.terms[*at];
            let text = term.text.of(self.line);
            let flag = term.kind == TokenKind::Flag && LIMITING_FLAGS.contains(&text);
            let named = *at < verb && self.terms.get(at + 1).is_some_and(|next| next.is(':') || next.is(','));
            let labelled = named && self.is(*at, &labels) || *at + 1 == verb && self.is(*at, SPOKEN_OF);
            let closes = *at == last || *at + 1 == last && self.terms[last].is(')');
            let reports = *at > verb && (*at == verb + 1 || self.terms[*at - 1].is(':') || self.terms[*at - 1].is('('));
            let behind = *at > verb && (*at == verb + 1 || self.terms[*at - 1].is_id());
            let ended =
                closes && (reports && self.is(*at, &["done", "completed", "ok"]) || behind && self.is(*at, ENDED));
            let from = self.candidate.tool == Tool::Prune && *at == verb + 1 && self.is(*at, &["from", "in"]);
            let foreign = from || *at == 0 && self.is(*at, PROGRAMS);
            let hides =
                matches!(self.candidate.tool, Tool::Prune | Tool::Exclude | Tool::Include | Tool::Restore | Tool::Move);
            let later = hides && *at > verb && self.is(*at, &["until", "till"]);
            let restrained = flag || labelled || ended || foreign || later || text.starts_with(OUTCOMES);
            term.whole.start < end && !term.is_text() && restrained
        };
        (0..self.terms.len()).find(is_restrained).map(|at| self.terms[at].whole)
    }

    /// Finds an instruction in place of a new wording, an end of a document's section in place of the whole, and a text in place of
    /// a node.
    fn misplaced(&self) -> Option<Span> {
        let text = |at: &usize| self.terms[*at].is_text();
        let tool = self.candidate.tool;
        if tool == Tool::Edit
            && let Some(raw) = self.intent.raw
        {
            let first = raw.of(self.line).split_whitespace().next().unwrap_or_default();
            let first = first.trim_end_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
            return INSTRUCTION.contains(&first.as_str()).then_some(raw);
        }
        if tool == Tool::Write {
            let section = self.terms.iter().any(|term| term.entry.noun == Some(Noun::Section));
            let at_place = ["append", "add", "before", "after", "new", "end"];
            return self.find(|at| section && self.is(at, &at_place));
        }
        if tool == Tool::Todo {
            let closes = self.terms.iter().any(|term| ["done", "cancel"].contains(&term.text.of(self.line)));
            return self
                .find(|at| closes && self.is(at, &["add"]) && !self.terms[..at].iter().all(|term| term.is_text()));
        }
        // `bookmark a7x2 as turning point`: one word would be the label.
        if tool == Tool::Bookmark {
            let has_text = self.terms.iter().any(AnnotatedToken::is_text);
            let is_verb = |at: usize| self.terms.get(at).is_some_and(|term| term.entry.verb.is_some());
            let is_cut = |at: usize| is_verb(at + 1) && self.kind(at + 2) == Some(TokenKind::Word);
            return self.find(|at| !has_text && self.is(at, &["as"]) && is_cut(at));
        }
        let bare = matches!(
            self.terms[0].entry.prep,
            Some(Prep::In | Prep::From | Prep::With | Prep::About | Prep::After | Prep::Before)
        ) || self.is(0, &["above", "except", "but", "without"]);
        if tool == Tool::Respond && bare && self.candidate.verb == 0 {
            return Some(self.terms[0].whole);
        }
        // `reply "yes" to "Marie"`
        let names_node = self.terms.iter().any(|term| term.is_id() || names_bookmark(term));
        let mut texts = (0..self.terms.len()).filter(text);
        let (first, second) = (texts.next()?, texts.next());
        let joined = second.is_some_and(|second| (first..second).any(|at| self.is(at, &["to", "and"])));
        (tool == Tool::Respond && joined && !names_node).then(|| self.terms[first].whole)
    }

    /// Finds an old wording that would become the whole text of a node: `fix "t" in a7x2`, `change "t" to "u"`.
    fn partial_text(&self) -> Option<Span> {
        if self.candidate.tool != Tool::Edit {
            return None;
        }
        let texts: Vec<usize> = (0..self.terms.len()).filter(|at| self.terms[*at].is_text()).collect();
        let within = |at: &&usize| {
            self.terms.get(**at + 1).is_some_and(|next| next.entry.prep == Some(Prep::In)) && texts.len() == 1
        };
        let names_node = self.terms.iter().any(|term| {
            let quoted_id = term.is_text() && annotate_tokens::is_id(term.text.of(self.line));
            term.is_id() || quoted_id || names_bookmark(term)
        });
        let old = texts.iter().find(within).or_else(|| texts.first().filter(|_| texts.len() > 1 && !names_node));
        old.map(|at| self.terms[*at].whole)
    }

    /// Finds what is still to be done with an item: `item 2 should be done`.
    fn unclosed_item(&self) -> Option<Span> {
        let ended = ["done", "finished", "completed"];
        let is_due = |at: &usize| self.is(*at, &["be", "get", "getting"]) && self.is(at + 1, &ended);
        let due = (0..self.terms.len()).find(is_due).filter(|_| self.candidate.tool == Tool::Todo);
        due.map(|at| self.terms[at].whole)
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
