//! Where in a line the request stands: at its beginning, behind a mark, behind what it is about.

use super::{Head, Reader, Speech, Zone};
use crate::arrow::{
    lexicon::{Form, Func, Verb},
    phrases,
    terms::{Shape, Term},
};

impl Reader<'_> {
    /// What the whole line does, the verb that asks, and where that was decided.
    pub(super) fn whole(&mut self) -> (Speech, Option<(usize, Verb)>, usize) {
        self.drop_courtesy();
        if self.only_names() {
            return (Speech::Several, None, 0);
        }
        // `e.g. prune a7x2`
        if matches!(self.text_at(0).to_ascii_lowercase().as_str(), "e.g" | "eg" | "i.e" | "ie" | "cf" | "viz") {
            return (Speech::Remark, None, 0);
        }
        match self.head(0, true) {
            Head::Request(verb, group) => return self.request(verb, group),
            Head::Speech(Speech::Question) => {
                // `what came of a7x2? list its continuations`
                for at in 0..self.terms.len() {
                    if self.terms[at].is('?')
                        && let Head::Request(verb, group) = self.head(at + 1, false)
                        && (phrases::embeds(group)
                            || matches!(group, Verb::Recall | Verb::Search | Verb::Grep | Verb::Help | Verb::Continue))
                        && (self.points_at_something(verb) || group == Verb::Help)
                    {
                        self.zones[..at].fill(Zone::Before);
                        return self.request(verb, group);
                    }
                }
                return (Speech::Question, None, 0);
            }
            Head::Speech(Speech::Negated) => {
                let Some((verb, group)) = self.opposite() else { return (Speech::Negated, None, 0) };
                self.zones[..verb].fill(Zone::Before);
                return self.request(verb, group);
            }
            Head::Speech(speech) => return (speech, None, 0),
            Head::Other => {}
        }
        // `it is hereby decided: "x"`
        if let Some(verb) =
            (0..self.terms.len().min(4)).find(|at| self.verb_at(*at) == Some((Verb::Decide, Form::Past)))
            && matches!(self.text_at(0).to_ascii_lowercase().as_str(), "it" | "it's" | "decided" | "resolved")
            && self.terms[verb + 1..].iter().take(2).any(Term::is_text)
            && !(0..verb).any(|at| matches!(self.text_at(at), "was" | "were" | "had"))
        {
            return self.request(verb, Verb::Decide);
        }
        // Something stands before: what it is about (`b3k9: prune it`), or why (`it drags, prune it`).
        let mut at = 0;
        while at < self.terms.len() {
            // `with a7x2 and b3k9 I want a diff`
            if at > 1
                && self.func_at(at) == Some(Func::Subject)
                && phrases::wants(self.line, &self.terms[at..])
                && !self.tells(at)
                && let Head::Request(verb, group) = self.head(at, false)
            {
                self.zones[..at].fill(Zone::Before);
                return self.request(verb, group);
            }
            // `at the end of letter.md add "x"`
            if self.is_placed(at)
                && let Head::Request(verb, group) = self.imperative(at, false, false)
            {
                self.zones[..at].fill(Zone::Main);
                return self.request(verb, group);
            }
            if self.is_boundary(at)
                && let Some((verb, group)) = self.behind().filter(|(verb, _)| *verb < at)
                && matches!(self.verb_at(verb), Some((_, Form::Past)))
                && !(0..verb).any(|at| matches!(self.func_at(at), Some(Func::Not | Func::If)))
            {
                return self.request_behind(verb, group);
            }
            if (self.is_boundary(at) && self.func_at(at) != Some(Func::Or) || self.begs(at))
                && let Head::Request(verb, group) = self.head(at + 1, false)
                && (self.points_at_something(verb)
                    || !self.tells(at)
                    || verb + 1 == self.terms.len() && matches!(group, Verb::Undo | Verb::Redo))
            {
                let arrow = matches!(self.terms[at].shape, Shape::Mark('→' | '➜' | '⇒' | '➔' | '⟶'));
                if arrow && (self.tells(at) || self.terms[..at].iter().any(|term| term.shape == Shape::Name)) {
                    return (Speech::Remark, None, at);
                }
                if self.quotes(at) {
                    return (Speech::Remark, None, at);
                }
                if matches!(self.text_at(0), "once" | "until" | "after" | "Once" | "Until" | "After") {
                    return (Speech::Hypothetical, None, 0);
                }
                self.zones[..at].fill(Zone::Before);
                return self.request(verb, group);
            }
            at += 1;
        }
        if let Some((verb, group)) = self.behind() {
            if (0..verb).any(|at| matches!(self.func_at(at), Some(Func::Not | Func::If))) {
                return (Speech::Negated, None, 0);
            }
            // `before anyone prunes it, its sources should be checked`
            let when = matches!(self.text_at(0), "before" | "Before" | "after" | "After" | "once" | "until");
            if self.reports(verb) || when {
                return (Speech::Remark, None, 0);
            }
            return self.request_behind(verb, group);
        }
        // An id alone says nothing of what shall be done with it.
        if self.is_nominal() && (self.terms.len() > 1 || self.terms[0].entry.is_known()) {
            self.zones.fill(Zone::Main);
            self.nominal = true;
            return (Speech::Request, Some(self.named()), 0);
        }
        (Speech::Remark, None, 0)
    }

    /// Reads on from a verb that stands behind what it is about.
    fn request_behind(&mut self, verb: usize, group: Verb) -> (Speech, Option<(usize, Verb)>, usize) {
        self.zones[..verb].fill(Zone::Main);
        // `b3k9 is void and should be pruned`: what is told of it is no argument.
        if let Some(and) = (1..verb).rev().find(|at| self.func_at(*at) == Some(Func::And))
            && self.func_at(and + 1) == Some(Func::Modal)
            && let Some(tells) = (1..and).find(|at| self.is_finite_at(*at))
        {
            self.zones[tells..=and].fill(Zone::Tail);
        }
        // `there is a typo in a7x2, it should read "x"`
        if let Some(comma) = (1..verb).rev().find(|at| self.terms[*at].is(','))
            && self.func_at(comma + 1) == Some(Func::It)
        {
            for at in (0..comma).filter(|at| self.terms[*at].shape == Shape::Name) {
                self.zones[at] = Zone::Tail;
            }
        }
        self.request(verb, group)
    }
}
