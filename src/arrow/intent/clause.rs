//! Type of a clause behind the verb: more arguments, a statement, or another request.

use super::{ClauseRole, ClauseStart, IntentParser, is_finite};
use crate::arrow::{
    annotate_tokens::{AnnotatedToken, TokenKind},
    lexicon::{Form, FunctionWord, Noun, Prep, Verb},
    phrases,
};
use crate::tools::TABLE;

/// Type of a clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clause {
    /// It holds more arguments, from this term on.
    Arguments(usize),
    /// It says what is wanted besides: `I want three of them`.
    Desire(usize),
    /// It says something of what stands before: `view(a7x2) is what it printed`.
    Comment,
    /// It says what is not meant, up to this term: `not the archive`.
    Contrast(usize),
    /// It takes back what was asked: `no`.
    Negation,
    /// States a fact, requests nothing.
    Statement,
    /// It makes the request depend on something.
    Condition,
    /// It asks for something, too.
    Request(usize, Verb),
}

impl IntentParser<'_> {
    /// Type of the clause that begins at `at`.
    pub(super) fn segment(&mut self, at: usize, group: Verb, embedded: bool) -> Clause {
        // `a7x2... actually no`: what follows the last of the points.
        if self.terms.get(at).is_some_and(|term| term.is('.')) {
            return Clause::Arguments(at);
        }
        // `move a7x2 so that it hangs under b3k9`, `pin a7x2 so that it stays`
        let hangs = self.func_at(at) == Some(FunctionWord::It)
            && matches!(group, Verb::Move | Verb::Copy)
            && !self.has_no_argument(at);
        if (self.text_at(at) == "that" || hangs) && self.text_at(at - 1) == "so" {
            let places = matches!(group, Verb::Move | Verb::Copy) || !self.has_no_argument(at);
            return if places { Clause::Desire(at + 1) } else { Clause::Statement };
        }
        let mut from = at;
        while matches!(
            self.func_at(from),
            Some(FunctionWord::Pad | FunctionWord::And | FunctionWord::Then | FunctionWord::Lets | FunctionWord::But)
        ) && self.terms[from].entry.prep.is_none()
        {
            from += 1;
        }
        // `…, and I don't want to wait for it`
        let is_word = |at: &usize| self.terms.get(*at).is_some_and(|term| term.kind == TokenKind::Word);
        let said = (from..from + 4).take_while(is_word).find(|at| self.func_at(*at) == Some(FunctionWord::Not));
        let not = said.filter(|not| {
            matches!(group, Verb::Delegate | Verb::Hand | Verb::Get) && *not > from && self.is_no_wait(*not, group)
        });
        let waits = |at: &usize| matches!(self.text_at(*at), "wait" | "waiting" | "block" | "blocking");
        if let Some(wait) = not.and_then(|not| (not..not + 5).find(waits)) {
            return Clause::Arguments(wait);
        }
        if let Some((length, _)) = self.terms.get(from..).and_then(|terms| phrases::padding(self.line, terms)) {
            if phrases::wants(self.line, &self.terms[from..]) {
                // `I will need it for the next steps` is a reason.
                let wanted = from + length + 1;
                let reason = self.func_at(wanted) == Some(FunctionWord::It)
                    && self.terms.get(wanted + 1).is_none_or(|next| next.entry.prep == Some(Prep::For));
                let reason = reason || self.names_purpose(from + length);
                return if reason { Clause::Statement } else { Clause::Desire(wanted) };
            }
            if self.func_at(from) == Some(FunctionWord::Subject) {
                return Clause::Statement;
            }
            from += length;
        }
        let Some(term) = self.terms.get(from).copied() else { return Clause::Arguments(from) };
        let remark = self
            .judgement(at, from, group, embedded)
            .or_else(|| self.reason(at, from, group, embedded))
            .or_else(|| self.exception(at, from, group));
        if let Some(clause) = remark {
            return clause;
        }
        if let ClauseStart::Request(verb, other) = self.imperative(from, false, false)
            && !(term.entry.noun.is_some() && self.is_argument(verb, group))
        {
            return Clause::Request(verb, other);
        }
        let denial_length =
            self.terms[from..].iter().take_while(|term| !matches!(term.kind, TokenKind::Mark(_))).count().max(1);
        let denial = self.terms[from..].iter().take_while(|term| !matches!(term.kind, TokenKind::Mark(_)));
        if denial.clone().count() <= 3
            && denial.clone().all(|term| term.kind != TokenKind::Id && term.entry.func != Some(FunctionWord::It))
            && denial.last().is_some_and(|term| term.entry.func == Some(FunctionWord::Not))
            && self.denies(from + denial_length - 1, group)
        {
            return Clause::Negation;
        }
        for next in from..self.terms.len() {
            if next > from && (self.is_boundary(next) || matches!(self.text_at(next), "because" | "since")) {
                break;
            }
            let denies = next > from && self.func_at(next) == Some(FunctionWord::Not) && self.denies(next, group);
            let states = is_finite(&self.terms[next]) || self.is_predicate(from, next);
            if (denies || states) && !embedded && !self.is_gloss(next) {
                return Clause::Statement;
            }
        }
        Clause::Arguments(from)
    }

    /// A clause that narrows the request, or that judges what stands before it.
    fn judgement(&self, at: usize, from: usize, group: Verb, embedded: bool) -> Option<Clause> {
        let term = self.terms[from];
        // `prune a7x2, but only its last child`
        let narrows = self.func_at(at) == Some(FunctionWord::But) || self.func_at(at - 1) == Some(FunctionWord::But);
        let first = at + usize::from(self.text_at(at) == "but");
        if narrows
            && matches!(self.text_at(first), "only" | "just")
            && matches!(group, Verb::Prune | Verb::Remove | Verb::Restore | Verb::Copy | Verb::Move)
        {
            return Some(Clause::Negation);
        }
        // `do it`
        let does_it = matches!(self.text_at(from), "do" | "Do")
            && (self.func_at(from + 1) == Some(FunctionWord::It) || matches!(self.text_at(from + 1), "so" | "that"))
            && self.has_no_argument(from);
        if does_it {
            return Some(Clause::Statement);
        }
        if is_finite(&term)
            && term.entry.func != Some(FunctionWord::Clause)
            && !embedded
            && from == at
            && !self.terms[at - 1].is('?')
            && !self.is_gloss(from)
        {
            // `…, is not good`: why. `…, is what it printed` tells of the line itself.
            let telling = self.terms[from + 1..].iter().take(2).any(|term| {
                matches!(
                    term.entry.func,
                    Some(FunctionWord::What | FunctionWord::It | FunctionWord::Sub | FunctionWord::Subject)
                ) || term.is('?')
                    || term.text.of(self.line) == "that"
            });
            let judges = matches!(self.terms[at - 1].kind, TokenKind::Mark(',' | '('))
                && term.entry.func == Some(FunctionWord::Be)
                && !telling;
            if judges
                && self.has_no_argument(from)
                && self.terms[from + 1..].len() <= 4
                && !self.terms.iter().any(|t| t.is('?'))
            {
                return Some(Clause::Statement);
            }
            return Some(Clause::Comment);
        }
        None
    }

    /// A clause that gives a reason, a condition or a result.
    fn reason(&self, at: usize, from: usize, group: Verb, embedded: bool) -> Option<Clause> {
        let term = self.terms[from];
        // `draw the tree, to see where it grows`
        let purpose = term.entry.prep == Some(Prep::To)
            && matches!(self.verb_at(from + 1), Some((Verb::See | Verb::Check, Form::Base)));
        if purpose && from == at && self.terms[at - 1].is(',') && self.has_no_argument(from) {
            return Some(Clause::Statement);
        }
        // `bookmark a7x2, it's "the hinge"`
        if term.entry.func == Some(FunctionWord::Clause)
            && group == Verb::Bookmark
            && self.terms.get(from + 1).is_some_and(AnnotatedToken::is_text)
        {
            return Some(Clause::Arguments(from + 1));
        }
        // `…, because "it drags"` gives a reason as an argument.
        if term.entry.func == Some(FunctionWord::Sub)
            && self.terms[from + 1..].iter().take(2).any(AnnotatedToken::is_text)
        {
            return Some(Clause::Arguments(from));
        }
        // `…, had it not that ending`, `…, but what would it show?`
        let subject = |at| matches!(self.func_at(at), Some(FunctionWord::It | FunctionWord::Subject));
        if matches!(self.text_at(from), "had" | "were" | "should") && subject(from + 1) {
            return Some(Clause::Condition);
        }
        let asks = matches!(term.entry.func, Some(FunctionWord::What | FunctionWord::Why));
        if asks
            && from > at
            && self.func_at(from - 1) == Some(FunctionWord::But)
            && self.terms.last().is_some_and(|last| last.is('?'))
        {
            return Some(Clause::Comment);
        }
        match (term.kind, term.entry.func) {
            (TokenKind::Word, Some(FunctionWord::Clause | FunctionWord::Subject | FunctionWord::Would)) => {
                return Some(Clause::Statement);
            }
            (TokenKind::Word, Some(FunctionWord::Sub)) if !embedded => return Some(Clause::Statement),
            (TokenKind::Word, Some(FunctionWord::If)) => {
                let polite = phrases::is_polite_condition(self.line, &self.terms[from..]);
                return Some(if polite { Clause::Statement } else { Clause::Condition });
            }
            _ => {}
        }
        // `fix a7x2, it should say "…"`
        let said = self.terms[from..].iter().take(4).position(AnnotatedToken::is_text);
        if term.entry.func == Some(FunctionWord::It)
            && self.func_at(from + 1) == Some(FunctionWord::Modal)
            && let Some(said) = said
            && phrases::bears_content(group)
        {
            return Some(Clause::Arguments(from + said));
        }
        // `…, it helped nobody`
        let third = self.terms.get(from + 1).is_some_and(|next| next.kind == TokenKind::Name)
            && self.text_at(from + 1).ends_with('s');
        let it_does = third || matches!(self.verb_at(from + 1), Some((_, Form::Past | Form::Third)));
        let so = at > 0 && self.text_at(at - 1) == "so";
        // `…, it says the same thing twice`
        let judged = it_does && self.terms[at - 1].is(',') && !phrases::counts(group) && self.names_nothing(from);
        if term.entry.func == Some(FunctionWord::It) && ((it_does || so) && self.has_no_argument(from) || judged) {
            return Some(Clause::Statement);
        }
        // `…, superseded by d5n7`
        let participle = |text: &str| text.len() > 4 && text.ends_with("ed");
        if term.kind == TokenKind::Name
            && self.terms[at - 1].is(',')
            && participle(self.text_at(from))
            && matches!(
                self.terms.get(from + 1).and_then(|next| next.entry.prep),
                Some(Prep::By | Prep::In | Prep::With | Prep::On | Prep::From)
            )
        {
            return Some(Clause::Statement);
        }
        None
    }

    /// A clause that says what is not meant, or how the request is not to be done.
    fn exception(&self, at: usize, from: usize, group: Verb) -> Option<Clause> {
        // `…, and do not wait for it`
        let waits = |not: &usize| {
            self.func_at(*not) == Some(FunctionWord::Not)
                && !matches!(group, Verb::Search | Verb::Find)
                && !matches!(self.terms[*not - 1].kind, TokenKind::Mark('=' | ':'))
                && !matches!(self.terms[*not - 1].kind, TokenKind::OptionName(_))
                && self.is_no_wait(*not, group)
        };
        let words = |at: &usize| self.terms.get(*at).is_some_and(|term| term.kind == TokenKind::Word);
        if let Some(not) = (from..from + 3).take_while(words).find(waits) {
            let waits = |at: &usize| matches!(self.text_at(*at), "wait" | "waiting" | "block" | "blocking");
            return Some(Clause::Arguments((not..not + 5).find(waits).unwrap_or(not + 1)));
        }
        if let Some(until) = self.contrast(at, from, group) {
            return Some(Clause::Contrast(until));
        }
        // `…, but don't prune it`
        let not = from + usize::from(self.text_at(from) == "do" && self.text_at(from + 1) == "not");
        let other_denied = matches!(self.text_at(not), "don't" | "not" | "never")
            && self.func_at(not + 2) == Some(FunctionWord::It)
            && self.has_no_argument(from)
            && (at > 0 && self.func_at(at - 1) == Some(FunctionWord::But)
                || self.func_at(at) == Some(FunctionWord::But));
        if other_denied && self.verb_at(not + 1).is_some_and(|(verb, form)| form == Form::Base && verb != group) {
            return Some(Clause::Contrast(not + 3));
        }
        if phrases::embeds(group) && self.text_at(from) == "complete" && self.has_no_argument(from) {
            return Some(Clause::Arguments(from));
        }
        None
    }

    /// True if a word that could be a verb is rather the noun that names an argument: `…, note "why"`.
    pub(super) fn is_argument(&self, at: usize, group: Verb) -> bool {
        let next = self.terms.get(at + 1);
        match self.terms[at].entry.noun {
            Some(Noun::Annotation) => matches!(group, Verb::Link) || phrases::embeds(group),
            Some(Noun::Label) => true,
            // `link a7x2 ⇒ tree "Drafts"`
            Some(Noun::Tree | Noun::Doc) if matches!(group, Verb::Link | Verb::Unlink | Verb::Go) => {
                next.is_some_and(AnnotatedToken::is_text)
            }
            Some(Noun::Copy | Noun::Link | Noun::Pin | Noun::Stash | Noun::Bookmark) => {
                next.is_none_or(|next| next.entry.prep.is_some()) && phrases::embeds(group)
            }
            _ => next.is_some_and(|next| next.is(':') || next.is('=')) && self.terms[at].entry.option.is_some(),
        }
    }

    /// `, not the archive`: where what is not meant ends, if no verb is in it.
    fn contrast(&self, at: usize, from: usize, group: Verb) -> Option<usize> {
        // `, nothing else`
        if self.text_at(from) == "nothing" && matches!(self.text_at(from + 1), "else" | "more" | "fancy") {
            return Some(from + 2);
        }
        // `, no summary`
        let looks = matches!(group, Verb::Tree | Verb::See | Verb::List | Verb::Get | Verb::Read | Verb::Recall);
        let is_noun = |term: &AnnotatedToken| {
            term.entry.noun.is_some() && term.entry.verb.is_none()
                || looks && term.entry.base().is_none() && self.ends(from + 2)
        };
        let no_noun = matches!(self.text_at(from), "no" | "No") && self.terms.get(from + 1).is_some_and(is_noun);
        // `, not just the opening`
        let what = from + 1 + usize::from(matches!(self.text_at(from + 1), "just" | "only" | "merely" | "on" | "as"));
        let named =
            self.func_at(what) == Some(FunctionWord::Det) || self.terms.get(what).is_some_and(AnnotatedToken::is_id);
        let marked = from == at && matches!(self.terms[at - 1].kind, TokenKind::Mark(',' | '(' | '—' | '–' | ';'));
        if !marked || !(named && matches!(self.text_at(from), "not" | "Not") || no_noun) {
            return None;
        }
        let length = self.terms[from..]
            .iter()
            .take_while(|term| {
                !matches!(term.kind, TokenKind::Mark(',' | ')' | ';' | '.' | '—' | '–' | '!' | '?' | ':'))
            })
            .count();
        let part = &self.terms[from + 1..from + length];
        let verbless = part.iter().all(|term| {
            !is_finite(term)
                && term.kind != TokenKind::File
                && (term.entry.verb.is_none()
                    || term.entry.noun.is_some()
                    || term.entry.func.is_some()
                    || matches!(term.entry.verb, Some((_, Form::Ing)))
                    || term.kind == TokenKind::Word && TABLE.iter().any(|row| row.name == term.text.of(self.line)))
                && !matches!(
                    term.entry.func,
                    Some(
                        FunctionWord::Subject
                            | FunctionWord::Infinitive
                            | FunctionWord::If
                            | FunctionWord::What
                            | FunctionWord::Sub
                    )
                )
                && !term.is('?')
                && !matches!(term.kind, TokenKind::OptionName(_))
                && !term.is_text()
        });
        (verbless && part.len() <= 4).then_some(from + length)
    }

    /// True if `not` or the like at `at` denies the request, and is no value, no limit, no `wait:no`.
    pub(super) fn denies(&self, at: usize, group: Verb) -> bool {
        let value =
            at > 0 && (matches!(self.terms[at - 1].kind, TokenKind::OptionName(_)) || self.terms[at - 1].is('='));
        !value && !self.is_no_wait(at, group) && !self.is_limit(at)
    }

    /// `the text is "…"`: a verb that only joins an argument to its name.
    pub(super) fn is_gloss(&self, at: usize) -> bool {
        let named =
            self.terms[..at].last().is_some_and(|term| term.entry.option.is_some() || term.entry.noun.is_some());
        let given = self.terms[at + 1..]
            .iter()
            .take(2)
            .any(|t| t.is_text() || matches!(t.kind, TokenKind::Number(_) | TokenKind::Mark(':')));
        let suffices = |at| matches!(self.text_at(at), "plenty" | "enough" | "sufficient" | "fine" | "do" | "suffice");
        let enough = (suffices(at + 1) || suffices(at) && self.func_at(at - 1) == Some(FunctionWord::Modal))
            && self.terms[..at].iter().rev().take(3).any(|term| matches!(term.kind, TokenKind::Number(_)));
        named && given || enough
    }

    /// The zone that a subordinating word opens.
    pub(super) fn subordinate(&self, at: usize) -> ClauseRole {
        let describes = matches!(self.text_at(at), "which" | "whose" | "whom" | "where");
        if describes && !self.terms[at.saturating_sub(1)].is_id() && !self.terms[at - 1].is_text() {
            ClauseRole::Relative
        } else {
            ClauseRole::Tail
        }
    }

    /// `wait:no`, in words.
    pub(super) fn is_no_wait(&self, at: usize, group: Verb) -> bool {
        let waits =
            |term: &AnnotatedToken| matches!(term.text.of(self.line), "wait" | "waiting" | "block" | "blocking");
        matches!(group, Verb::Delegate | Verb::Hand | Verb::Put | Verb::Get | Verb::Ask)
            && self.terms[at.saturating_sub(2)..].iter().take(6).any(waits)
            || matches!(group, Verb::Search | Verb::Find)
                && self.terms[at + 1..].iter().take(3).any(|term| term.kind == TokenKind::File)
    }
}
