//! Words that limit what is looked at or done: whose notes, which agents, when, in which order. No command has such limits.

use super::VerbTail;
use crate::{
    arrow::{
        annotate_tokens::{AnnotatedToken, TokenKind},
        intent::ClauseRole,
        lex::Span,
        lexicon::{Noun, Verb},
        parse::deferrals::PERIODS,
    },
    tools::Tool,
};

impl VerbTail<'_> {
    /// Finds `to the cheapest model`, `to an agent who knows Latin`: a delegation has no choice of agents.
    pub(super) fn chosen_agent(&self) -> Option<Span> {
        self.behind_verb(|at| {
            let article = at + 1 + usize::from(self.is(at + 1, &["the", "a", "an", "our", "my", "your"]));
            let noun = self.terms.get(article + 1).and_then(|term| term.entry.noun);
            let modified = self.kind(article) == Some(TokenKind::Name) && noun == Some(Noun::Agent);
            let chosen = self.is(article + 1, &["who", "that", "which"]);
            self.is(at, &["to"]) && !self.terms[at].is_text() && (modified || chosen)
        })
    }

    /// Finds `every hour` of `view a7x2 every hour`.
    pub(super) fn repeated_look(&self) -> Option<Span> {
        self.behind_verb(|at| {
            let is_period = self.is(at + 1, PERIODS) && !self.is(at + 1, &["time"]) || self.is(at + 1, &["minute"]);
            self.is(at, &["every", "each"]) && is_period
        })
    }

    /// Finds `every morning` and `from last week`: a web search is done once, now, and knows no dates and no exact words.
    pub(super) fn timed_search(&self) -> Option<Span> {
        self.behind_verb(|at| {
            let repeats = self.is(at, &["every", "each"]) && self.is(at + 1, PERIODS);
            let is_past =
                self.is(at, &["last", "past"]) && self.is(at + 1, &["week", "month", "year", "summer", "winter"]);
            let is_time = self.is(at, &["at"]) && self.is(at + 1, &["noon", "midnight"]);
            let is_period = self.is(at, &["daily", "weekly", "hourly", "nightly", "tomorrow", "tonight"]);
            let asked = self.intent.zones.get(at) == Some(&ClauseRole::Main);
            let is_literal = self.is(at, &["exact", "verbatim"]);
            repeats || is_past || is_time || (is_period || is_literal) && asked
        })
    }

    /// Finds the web beside the archive: `search "x" on the web and in the archive`.
    pub(super) fn web_in_recall(&self) -> Option<Span> {
        let recalls = self.candidate.tool == Tool::Recall;
        let is_past = |at: usize| matches!(self.terms[at].entry.noun, Some(Noun::Archive | Noun::Turn | Noun::Memory));
        let names_past = self.find(is_past).is_some();
        let joined = (1..self.terms.len()).any(|at| self.is(at, &["and"]));
        let web = |at: usize| self.terms[at].entry.noun == Some(Noun::Web) && (joined || !names_past);
        self.find(|at| recalls && web(at))
    }

    /// Finds `for tomorrow` behind an item of the plan, which has no date.
    pub(super) fn due_item(&self) -> Option<Span> {
        let days =
            ["tomorrow", "tonight", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
        self.behind_verb(|at| self.is(at - 1, &["for", "by", "on", "until"]) && self.is(at, &days))
    }

    /// Finds `a rest` of `give a7x2 a rest`.
    pub(super) fn given_thing(&self) -> Option<Span> {
        let verb = self.candidate.verb;
        let gives = self.is(verb, &["give", "cut"]) && self.terms.get(verb + 1).is_some_and(AnnotatedToken::is_id);
        let looks = |at: usize| {
            let base = self.terms[at].entry.base();
            self.is(at, &["once-over", "going-over"])
                || matches!(base, Some(Verb::See | Verb::Read | Verb::Check | Verb::Bookmark | Verb::Name))
        };
        let is_thing = |at: usize| {
            let is_word = matches!(self.kind(at), Some(TokenKind::Name | TokenKind::Word));
            self.is(at - 1, &["a", "an", "some"]) && is_word && self.terms[at].entry.noun.is_none() && !looks(at)
        };
        self.behind_verb(|at| gives && at == verb + 3 && is_thing(at))
    }

    /// Finds the second kind of `list the links and annotations of a7x2`, `list its links along with its versions`.
    pub(super) fn second_kind(&self) -> Option<Span> {
        let lists = self.candidate.tool == Tool::List;
        let kind = |at: usize| {
            let noun = self.terms.get(at).filter(|term| !term.is_text()).and_then(|term| term.entry.noun);
            let kinds =
                [Noun::Sibling, Noun::Version, Noun::Bookmark, Noun::Annotation, Noun::Link, Noun::Continuation];
            noun.filter(|noun| kinds.contains(noun))
        };
        let joins = ["and", "or", "with", "plus", "as", "also"];
        self.behind_verb(|at| {
            let next = at + 1 + usize::from(self.is(at + 1, &["the", "its", "all", "with"]));
            let next = next + usize::from(self.is(next, &["its", "the", "all", "as"]));
            let first = (0..at).rev().find_map(kind);
            let both = first.zip(kind(next)).is_some_and(|(first, second)| first != second);
            lists && self.is(at, &joins) && both
        })
    }

    /// Finds `and` of `the results of rg and of pytest`: a recall has one tool.
    pub(super) fn second_tool(&self) -> Option<Span> {
        let recalls = self.candidate.tool == Tool::Recall;
        let of_tool = |at: usize| matches!(self.terms[at].entry.noun, Some(Noun::Tool | Noun::Result));
        let named = (0..self.terms.len()).find(|at| of_tool(*at));
        self.behind_verb(|at| {
            let behind = (at + 1..self.terms.len()).find(|at| !self.is(*at, &["of", "the", "tool", "from"]));
            let is_tool =
                |at: usize| self.kind(at) == Some(TokenKind::Name) || self.terms[at].entry.base() == Some(Verb::Grep);
            let both = is_tool(at - 1) && behind.is_some_and(is_tool);
            recalls && self.is(at, &["and", "or"]) && both && named.is_some_and(|named| named < at)
        })
    }

    /// Finds `that are idle` behind what is listed.
    pub(super) fn chosen_items(&self) -> Option<Span> {
        let lists = self.candidate.tool == Tool::List;
        self.behind_verb(|at| {
            let clause = self.is(at, &["that", "which", "who"]) && self.is(at + 1, &["are", "is"]);
            let is_open = self.kind(at + 2) == Some(TokenKind::Name) || self.is(at + 2, &["older", "newer"]);
            let places = self.is(at, &["where", "whose", "wherein"]);
            // `list the continuations of a7x2 that rhyme`
            let rhymes = self.is(at, &["that", "which", "who"])
                && self.kind(at + 1) == Some(TokenKind::Name)
                && at + 2 == self.terms.len();
            lists && (clause && is_open || rhymes || places && self.terms[at - 1].is_concrete())
        })
    }

    /// Finds `that Ada made` behind what is listed: lists have no author.
    pub(super) fn made_by_other(&self) -> Option<Span> {
        let own = ["i", "we", "you", "i've", "we've", "you've"];
        let makes = |at: usize| self.is(at, &["made", "wrote", "left", "added", "set", "put", "placed"]);
        let lists = self.candidate.tool == Tool::List;
        self.behind_verb(|at| {
            let subject = at + 1 + usize::from(self.is(at + 1, &["the"]));
            let verb = subject + 1 + usize::from(self.is(subject + 1, &["has", "have", "had"]));
            lists && self.is(at, &["that", "which"]) && !self.is(subject, &own) && makes(verb)
        })
    }

    /// Finds `topic sports`: the web has the topics news and general.
    pub(super) fn unknown_topic(&self) -> Option<Span> {
        let is_name = |at: usize| self.kind(at) == Some(TokenKind::Name) && !self.is(at, &["general"]);
        self.behind_verb(|at| self.is(at, &["topic"]) && is_name(at + 1))
    }

    /// Finds an order that a recall or a list does not have: `sorted by length`.
    pub(super) fn unsupported_order(&self) -> Option<Span> {
        let known = ["time", "date", "age", "relevance", "recency", "newest", "oldest", "rank", "the", "their"];
        let behind = |at: usize| at + 2 + usize::from(self.is(at + 2, &["the", "their"]));
        let ranks = self.candidate.tool == Tool::Recall;
        self.behind_verb(|at| {
            let sorts =
                self.is(at, &["sorted", "sort", "ordered", "order", "grouped", "ranked"]) && self.is(at + 1, &["by"]);
            // `longest first`
            let is_superlative = self.terms[at].text.of(self.line).ends_with("est") && self.is(at + 1, &["first"]);
            sorts && (!ranks || !self.is(behind(at), &known[..8])) || is_superlative && !ranks
        })
    }

    /// Finds `and` of `remove the bookmark on a7x2 and hide it`, or of two nodes.
    pub(super) fn second_change(&self) -> Option<Span> {
        let hides = |at: usize| {
            let verb = at + usize::from(self.is(at, &["then", "also", "please", "just"]));
            self.terms.get(verb).and_then(|term| term.entry.base()) == Some(Verb::Prune)
        };
        let joins = |at: &usize| self.is(*at, &["and"]) && (self.terms[at - 1].is_id() || hides(at + 1));
        (1..self.terms.len()).find(joins).map(|at| self.terms[at].whole)
    }

    /// Finds the second tool of `help with merge, also with split`.
    pub(super) fn second_help(&self) -> Option<Span> {
        let is_tool = |at: usize| !self.terms[at].is_text() && Tool::named(self.terms[at].text.of(self.line)).is_some();
        let first = (self.begin()..self.terms.len()).find(|at| is_tool(*at))?;
        let joins = (first + 1..self.terms.len())
            .find(|at| self.is(*at, &["and", "also", "or", "then", "afterwards", "first"]))?;
        (joins + 1..self.terms.len()).find(|at| is_tool(*at)).map(|at| self.terms[at].whole)
    }

    /// Finds `dialogue-only` of `view a7x2 dialogue-only`.
    pub(super) fn part_only(&self) -> Option<Span> {
        self.find(|at| {
            let text = self.terms[at].text.of(self.line);
            !self.terms[at].is_text() && text.ends_with("-only") && !text.contains("summary") && !self.is_value(at)
        })
    }

    /// Finds the unknown word of a limit: `view a7x2, but only the table`.
    pub(super) fn unknown_limit(&self) -> Option<Span> {
        const LEADS: &[&str] = &["only", "just", "merely", "in", "with", "without", "for", "not"];
        const KINDS: &[&str] = &["the", "its", "those", "these", "his", "her"];
        let but = |at: &usize| *at > 0 && self.is(*at, &["but", "though", "albeit"]) && self.is(at + 1, LEADS);
        // `view a7x2, just the dialogue`
        let selects = |at: &usize| self.is(at + 1, &["only", "just", "merely"]) && self.is(at + 2, KINDS);
        let marks = |at: &usize| matches!(self.kind(*at), Some(TokenKind::Mark(',' | '—' | '–' | ';')));
        let at = (self.begin()..self.terms.len()).find(|at| but(at) || marks(at) && selects(at))?;
        // A list and a drawing have no parts.
        let is_whole = matches!(self.candidate.tool, Tool::Tree | Tool::List);
        if is_whole && selects(&at) && !self.is(at + 3, &["summary", "count"]) {
            return Some(self.terms[at + 1].whole);
        }
        let ends = |at: &usize| !matches!(self.terms[*at].kind, TokenKind::Mark(_));
        let mut limit = (at + 1..self.terms.len()).take_while(ends);
        let is_raw = self.intent.raw.is_some_and(|raw| raw.start < self.terms[at].whole.end);
        let is_author = |at: usize| self.is(at, &["human", "humans", "model", "models"]);
        let is_name = |at: &usize| self.kind(*at) == Some(TokenKind::Name) && !self.is_value(*at) && !is_author(*at);
        // `but only the short ones`
        let is_selection = |at: &usize| self.is(*at, &["ones", "one"]);
        limit.find(|at| is_name(at) || is_selection(at)).filter(|_| !is_raw).map(|at| self.terms[at].whole)
    }

    /// Finds a second request by a verb that no command has: `read plan.md and mail it to Ada`.
    pub(super) fn unknown_request(&self) -> Option<Span> {
        self.behind_verb(|at| {
            let follows = self.is(at - 1, &["and"]) && self.terms[..at - 1].iter().any(AnnotatedToken::is_concrete);
            follows && self.kind(at) == Some(TokenKind::Name) && self.is(at + 1, &["it", "them", "that", "this"])
        })
    }
}
