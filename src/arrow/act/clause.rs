//! What a part of a line does behind the verb: it holds more arguments, tells something, or asks for another thing.

use super::{Act, Head, Reader, Speech, Zone, is_finite};
use crate::arrow::{
    classify,
    key::Key,
    lexicon::{Form, Func, Noun, Prep, Verb},
    phrases,
    terms::{Shape, Term},
};
use crate::tools::TABLE;

/// What a part of a line does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Segment {
    /// It holds more arguments, from this term on.
    Arguments(usize),
    /// It says what is wanted besides: `I want three of them`.
    Wants(usize),
    /// It says something of what stands before: `view(a7x2) is what it printed`.
    Remarks,
    /// It says what is not meant, up to this term: `not the archive`.
    Contrasts(usize),
    /// It takes back what was asked: `no`.
    Denies,
    /// It tells something.
    Tells,
    /// It makes the request depend on something.
    Supposes,
    /// It asks for something, too.
    Asks(usize, Verb),
}

impl Reader<'_> {
    /// What the part of the line that begins at `at` does.
    pub(super) fn segment(&mut self, at: usize, group: Verb, embedded: bool) -> Segment {
        // `a7x2... actually no`: what follows the last of the points.
        if self.terms.get(at).is_some_and(|term| term.is('.')) {
            return Segment::Arguments(at);
        }
        let mut from = at;
        while matches!(self.func_at(from), Some(Func::Pad | Func::And | Func::Then | Func::Lets | Func::But))
            && self.terms[from].entry.prep.is_none()
        {
            from += 1;
        }
        if let Some((length, _)) = self.terms.get(from..).and_then(|terms| phrases::padding(self.line, terms)) {
            if phrases::wants(self.line, &self.terms[from..]) {
                return Segment::Wants(from + length + 1);
            }
            if self.func_at(from) == Some(Func::Subject) {
                return Segment::Tells;
            }
            from += length;
        }
        let Some(term) = self.terms.get(from).copied() else { return Segment::Arguments(from) };
        // `do it`
        // `prune a7x2, but only its last child`
        let narrows = self.func_at(at) == Some(Func::But) || self.func_at(at - 1) == Some(Func::But);
        if narrows
            && matches!(self.text_at(at), "only" | "but" | "just")
            && matches!(group, Verb::Prune | Verb::Remove | Verb::Restore | Verb::Copy | Verb::Move)
        {
            return Segment::Denies;
        }
        let does_it = matches!(self.text_at(from), "do" | "Do")
            && (self.func_at(from + 1) == Some(Func::It) || matches!(self.text_at(from + 1), "so" | "that"))
            && self.is_idle(from);
        if does_it {
            return Segment::Tells;
        }
        if is_finite(&term)
            && term.entry.func != Some(Func::Clause)
            && !embedded
            && from == at
            && !self.terms[at - 1].is('?')
            && !self.is_gloss(from)
        {
            // `…, is not good`: why. `…, is what it printed` tells of the line itself.
            let telling = self.terms[from + 1..].iter().take(2).any(|term| {
                matches!(term.entry.func, Some(Func::What | Func::It | Func::Sub | Func::Subject))
                    || term.is('?')
                    || term.text.of(self.line) == "that"
            });
            let judges = self.terms[at - 1].is(',') && term.entry.func == Some(Func::Be) && !telling;
            if judges
                && self.is_idle(from)
                && self.terms[from + 1..].len() <= 4
                && !self.terms.iter().any(|t| t.is('?'))
            {
                return Segment::Tells;
            }
            return Segment::Remarks;
        }
        // `bookmark a7x2, it's "the hinge"`
        if term.entry.func == Some(Func::Clause)
            && group == Verb::Bookmark
            && self.terms.get(from + 1).is_some_and(Term::is_text)
        {
            return Segment::Arguments(from + 1);
        }
        // `…, because "it drags"` gives a reason as an argument.
        if term.entry.func == Some(Func::Sub) && self.terms[from + 1..].iter().take(2).any(Term::is_text) {
            return Segment::Arguments(from);
        }
        match (term.shape, term.entry.func) {
            (Shape::Word, Some(Func::Clause | Func::Subject | Func::Would)) => return Segment::Tells,
            (Shape::Word, Some(Func::Sub)) if !embedded => return Segment::Tells,
            (Shape::Word, Some(Func::If)) => {
                let polite = phrases::is_polite_condition(self.line, &self.terms[from..]);
                return if polite { Segment::Tells } else { Segment::Supposes };
            }
            _ => {}
        }
        // `…, it helped nobody`
        let it_does = matches!(self.verb_at(from + 1), Some((_, Form::Past | Form::Third)));
        let so = at > 0 && self.text_at(at - 1) == "so";
        if term.entry.func == Some(Func::It) && (it_does || so) && self.is_idle(from) {
            return Segment::Tells;
        }
        // `…, superseded by d5n7`
        let participle = |text: &str| text.len() > 4 && text.ends_with("ed");
        if term.shape == Shape::Name
            && self.terms[at - 1].is(',')
            && participle(self.text_at(from))
            && matches!(
                self.terms.get(from + 1).and_then(|next| next.entry.prep),
                Some(Prep::By | Prep::In | Prep::Responder | Prep::On | Prep::From)
            )
        {
            return Segment::Tells;
        }
        // `…, and do not wait for it`
        let waits = |not: &usize| {
            self.func_at(*not) == Some(Func::Not)
                && !matches!(group, Verb::Search | Verb::Find)
                && !self.terms[*not - 1].is('=')
                && !matches!(self.terms[*not - 1].shape, Shape::Key(_))
                && self.is_no_wait(*not, group)
        };
        let words = |at: &usize| self.terms.get(*at).is_some_and(|term| term.shape == Shape::Word);
        if let Some(not) = (from..from + 3).take_while(words).find(waits) {
            let waits = |at: &usize| matches!(self.text_at(*at), "wait" | "waiting" | "block" | "blocking");
            return Segment::Arguments((not..not + 5).find(waits).unwrap_or(not + 1));
        }
        if let Some(until) = self.contrast(at, from) {
            return Segment::Contrasts(until);
        }
        // `…, but don't prune it`
        let other_denied = matches!(self.text_at(from), "don't" | "not" | "never")
            && self.func_at(from + 2) == Some(Func::It)
            && self.is_idle(from)
            && (at > 0 && self.func_at(at - 1) == Some(Func::But) || self.func_at(at) == Some(Func::But));
        if other_denied && self.verb_at(from + 1).is_some_and(|(verb, form)| form == Form::Base && verb != group) {
            return Segment::Contrasts(from + 3);
        }
        if phrases::embeds(group) && self.text_at(from) == "complete" && self.is_idle(from) {
            return Segment::Arguments(from);
        }
        if let Head::Request(verb, other) = self.imperative(from, false, false)
            && !(term.entry.noun.is_some() && self.is_argument(verb, group))
        {
            return Segment::Asks(verb, other);
        }
        let denial_length =
            self.terms[from..].iter().take_while(|term| !matches!(term.shape, Shape::Mark(_))).count().max(1);
        let denial = self.terms[from..].iter().take_while(|term| !matches!(term.shape, Shape::Mark(_)));
        if denial.clone().count() <= 3
            && denial.clone().all(|term| term.shape != Shape::Id && term.entry.func != Some(Func::It))
            && denial.last().is_some_and(|term| term.entry.func == Some(Func::Not))
            && self.denies(from + denial_length - 1, group)
        {
            return Segment::Denies;
        }
        for next in from..self.terms.len() {
            if next > from && self.is_boundary(next) {
                break;
            }
            let denies = next > from && self.func_at(next) == Some(Func::Not) && self.denies(next, group);
            if (denies || is_finite(&self.terms[next])) && !embedded && !self.is_gloss(next) {
                return Segment::Tells;
            }
        }
        Segment::Arguments(from)
    }

    /// Whether a word that could be a verb is rather the noun that names an argument: `…, note "why"`.
    pub(super) fn is_argument(&self, at: usize, group: Verb) -> bool {
        let next = self.terms.get(at + 1);
        match self.terms[at].entry.noun {
            Some(Noun::Annotation) => matches!(group, Verb::Link) || phrases::embeds(group),
            Some(Noun::Label) => true,
            // `link a7x2 ⇒ tree "Drafts"`
            Some(Noun::Tree | Noun::Doc) if matches!(group, Verb::Link | Verb::Unlink | Verb::Go) => {
                next.is_some_and(Term::is_text)
            }
            Some(Noun::Copy | Noun::Link | Noun::Pin | Noun::Stash | Noun::Bookmark) => {
                next.is_none_or(|next| next.entry.prep.is_some()) && phrases::embeds(group)
            }
            _ => next.is_some_and(|next| next.is(':') || next.is('=')) && self.terms[at].entry.lead.is_some(),
        }
    }

    /// Whether unquoted content begins at `at`.
    pub(super) fn begins_raw(&self, at: usize, verb: usize) -> bool {
        let todo = self.terms[verb].entry.verb.is_some_and(|(verb, _)| verb == Verb::Todo)
            && matches!(self.verb_at(at), Some((Verb::Add | Verb::Resume | Verb::Cancel | Verb::Finish, _)) | None)
            && (self.verb_at(at).is_some() || self.func_at(at) == Some(Func::Do));
        if todo || self.terms.get(at).is_some_and(|next| next.is('{') || next.is('[')) {
            return false;
        }
        // `settle it: decide "…"`
        let again = self.verb_at(at).is_some_and(|again| self.verb_at(verb) == Some(again));
        if again && self.terms.get(at + 1).is_some_and(Term::is_text) {
            return false;
        }
        if let Some(Shape::Key(key)) =
            at.checked_sub(2).and_then(|before| self.terms.get(before)).map(|term| term.shape)
        {
            // `change a7x2 to: a new text`
            let becomes = key == Key::To && matches!(self.verb_at(verb), Some((Verb::Edit | Verb::Replace, _)));
            return (key.is_content() || becomes && !self.terms.get(at).is_some_and(Term::is_id))
                && self.terms.get(at).is_some_and(|next| next.gap && !next.is_text());
        }
        let named = at.checked_sub(2).filter(|before| *before > verb).is_some_and(|before| {
            let is_role = before > 0 && self.terms[before - 1].entry.prep == Some(Prep::As);
            !is_role && Key::named(self.text_at(before)).is_some_and(|key| !key.is_content())
        });
        self.terms.get(at).is_some_and(|next| {
            let leads = next.entry.lead.is_some()
                || matches!(next.entry.noun, Some(Noun::Label | Noun::Text | Noun::Constraint | Noun::Decision));
            let leads = leads && self.terms[at + 1..].iter().take(3).any(Term::is_text);
            next.gap && !next.is_text() && !matches!(next.shape, Shape::Key(_)) && !leads && !named
        })
    }

    /// `, not the archive`: where what is not meant ends, if no verb is in it.
    fn contrast(&self, at: usize, from: usize) -> Option<usize> {
        // `, nothing else`
        if self.text_at(from) == "nothing" && matches!(self.text_at(from + 1), "else" | "more" | "fancy") {
            return Some(from + 2);
        }
        // `, no summary`
        let no_noun = matches!(self.text_at(from), "no" | "No")
            && self.terms.get(from + 1).is_some_and(|term| term.entry.noun.is_some() && term.entry.verb.is_none());
        // `, not just the opening`
        let what = from + 1 + usize::from(matches!(self.text_at(from + 1), "just" | "only" | "merely" | "on"));
        let named = self.func_at(what) == Some(Func::Det) || self.terms.get(what).is_some_and(Term::is_id);
        let marked = from == at && matches!(self.terms[at - 1].shape, Shape::Mark(',' | '(' | '—' | '–' | ';'));
        if !marked || !(named && matches!(self.text_at(from), "not" | "Not") || no_noun) {
            return None;
        }
        let length = self.terms[from..]
            .iter()
            .take_while(|term| !matches!(term.shape, Shape::Mark(',' | ')' | ';' | '.' | '—' | '–' | '!' | ':')))
            .count();
        let part = &self.terms[from + 1..from + length];
        let verbless = part.iter().all(|term| {
            !is_finite(term)
                && term.shape != Shape::File
                && (term.entry.verb.is_none()
                    || term.entry.noun.is_some()
                    || term.entry.func.is_some()
                    || matches!(term.entry.verb, Some((_, Form::Ing)))
                    || term.shape == Shape::Word && TABLE.iter().any(|row| row.name == term.text.of(self.line)))
                && !matches!(
                    term.entry.func,
                    Some(Func::Subject | Func::Infinitive | Func::If | Func::What | Func::Sub)
                )
                && !term.is('?')
                && !matches!(term.shape, Shape::Key(_))
                && !term.is_text()
        });
        (verbless && part.len() <= 4).then_some(from + length)
    }

    /// Whether the verb at `second` only says again what was asked: `keep a7x2 out, please exclude it`.
    pub(super) fn repeats(&self, asked: Option<(usize, Verb)>, second: usize, other: Verb) -> bool {
        let Some((verb, group)) = asked else { return false };
        let part = &self.terms[second + 1..];
        let own = part.iter().any(|term| {
            let noun = term.entry.noun.filter(|noun| !matches!(noun, Noun::Node | Noun::Branch));
            term.is_id()
                || term.is_text()
                || matches!(term.shape, Shape::File | Shape::Number(_) | Shape::Key(_))
                || phrases::embeds(other) && noun.is_some()
        });
        if own {
            return false;
        }
        // `…, keep the node`
        let contradicts = self.only_points(second) && part.len() == 1;
        if matches!(other, Verb::Keep | Verb::Leave) && group != Verb::Keep && !part.is_empty() && !contradicts {
            return true;
        }
        // `… and see whether it holds`
        if matches!(other, Verb::See | Verb::Find | Verb::Check)
            && part.iter().take(2).any(|term| matches!(term.entry.func, Some(Func::If | Func::What | Func::Why)))
        {
            return true;
        }
        // Nothing in it but what points back: `remove that link`, `put it back in the context`.
        let points = part
            .iter()
            .take_while(|term| !matches!(term.shape, Shape::Mark(',' | ';' | '.' | '!')))
            .all(|term| !matches!(term.shape, Shape::Name) && (term.entry.verb.is_none() || term.entry.noun.is_some()));
        if !points {
            return false;
        }
        let mut act = Act {
            speech: Speech::Request,
            verb: Some((verb, group)),
            zones: self.zones.clone(),
            raw: None,
            doubtful: false,
            nominal: false,
            at: verb,
        };
        let first = classify::classify(self.line, self.terms, &act).map(|first| first.tool);
        act.verb = Some((second, other));
        act.zones[second + 1..].fill(Zone::Main);
        let again = classify::classify(self.line, self.terms, &act).map(|again| again.tool);
        again.is_some() && first == again
    }

    /// Whether the request at `second` says outright, and of what was named before, what the first one only pointed
    /// at: `keep a7x2 in sight, pin it`, `settle it: decide "…"`.
    pub(super) fn is_said_again(&self, asked: Option<(usize, Verb)>, second: usize, other: Verb) -> bool {
        let Some((verb, group)) = asked else { return false };
        let named = |at: usize| TABLE.iter().any(|row| row.name.eq_ignore_ascii_case(self.text_at(at)));
        if !named(second) || named(verb) {
            return false;
        }
        let pointed = self.terms[verb + 1..second].iter().all(|term| {
            matches!(term.entry.func, Some(Func::It | Func::Pad | Func::Then)) || matches!(term.shape, Shape::Mark(_))
        });
        let told = self.terms[second + 1..].iter().any(|term| term.is_text());
        other == group && pointed && told
            || group != Verb::Get && self.only_points(second) && self.repeats(asked, second, other)
    }

    /// `pin of a7x2, remove it`: the first word was a noun.
    pub(super) fn is_named_first(&self, verb: usize, at: usize) -> bool {
        verb == 0
            && self.terms[verb].entry.noun.is_some()
            && matches!(self.terms[verb + 1].entry.prep, Some(Prep::Of | Prep::On | Prep::From))
            && self.terms[at].is(',')
    }

    /// Whether nothing else is asked behind `at`.
    pub(super) fn asks_no_more(&mut self, at: usize) -> bool {
        let about = matches!(self.func_at(at), Some(Func::If | Func::What | Func::Why))
            || matches!(
                self.terms[at].entry.prep,
                Some(Prep::About | Prep::Over | Prep::On | Prep::Through | Prep::Of)
            );
        about && !(at..self.terms.len()).any(|at| {
            self.is_boundary(at)
                && matches!(self.imperative(at + 1, false, false), Head::Request(verb, _) if self.has_argument(verb))
        })
    }

    /// Whether `not` or the like at `at` denies the request, and is no value, no limit, no `wait:no`.
    pub(super) fn denies(&self, at: usize, group: Verb) -> bool {
        let value = at > 0 && (matches!(self.terms[at - 1].shape, Shape::Key(_)) || self.terms[at - 1].is('='));
        !value && !self.is_no_wait(at, group) && !self.is_limit(at)
    }

    /// `the text is "…"`: a verb that only joins an argument to its name.
    pub(super) fn is_gloss(&self, at: usize) -> bool {
        let named = self.terms[..at].last().is_some_and(|term| term.entry.lead.is_some() || term.entry.noun.is_some());
        let given = self.terms[at + 1..]
            .iter()
            .take(2)
            .any(|t| t.is_text() || matches!(t.shape, Shape::Number(_) | Shape::Mark(':')));
        let suffices = |at| matches!(self.text_at(at), "plenty" | "enough" | "sufficient" | "fine" | "do" | "suffice");
        let enough = (suffices(at + 1) || suffices(at) && self.func_at(at - 1) == Some(Func::Modal))
            && self.terms[..at].iter().rev().take(3).any(|term| matches!(term.shape, Shape::Number(_)));
        named && given || enough
    }

    /// The zone that a subordinating word opens.
    pub(super) fn subordinate(&self, at: usize) -> Zone {
        let describes = matches!(self.text_at(at), "which" | "whose" | "whom" | "where");
        if describes && !self.terms[at.saturating_sub(1)].is_id() && !self.terms[at - 1].is_text() {
            Zone::Relative
        } else {
            Zone::Tail
        }
    }

    /// `wait:no`, in words.
    pub(super) fn is_no_wait(&self, at: usize, group: Verb) -> bool {
        let waits = |term: &Term| matches!(term.text.of(self.line), "wait" | "waiting" | "block" | "blocking");
        matches!(group, Verb::Delegate | Verb::Hand | Verb::Put | Verb::Get | Verb::Ask)
            && self.terms[at.saturating_sub(2)..].iter().take(6).any(waits)
            || matches!(group, Verb::Search | Verb::Find)
                && self.terms[at + 1..].iter().take(2).any(|term| term.shape == Shape::File)
    }
}
