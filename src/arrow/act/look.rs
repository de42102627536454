//! What stands where in a line.

use super::{Reader, is_finite};
use crate::arrow::{
    lexicon::{Form, Func, Noun, Prep, Verb},
    phrases,
    terms::{Shape, Term},
};

impl Reader<'_> {
    /// Whether the verb at `at` has an object, if only a word that points back.
    pub(super) fn points_at_something(&self, at: usize) -> bool {
        self.terms[at + 1..].iter().any(|term| {
            term.is_id()
                || term.is_text()
                || matches!(term.shape, Shape::File | Shape::Number(_) | Shape::Key(_))
                || term.entry.noun.is_some()
                || matches!(term.entry.func, Some(Func::It | Func::One | Func::Det))
        })
    }

    /// Whether the verb at `at` has an argument.
    pub(super) fn has_argument(&self, at: usize) -> bool {
        self.terms[at + 1..].iter().any(|term| {
            term.is_id()
                || term.is_text()
                || matches!(term.shape, Shape::File | Shape::Number(_) | Shape::Key(_))
                || term.entry.noun.is_some()
        })
    }

    /// Whether what is left of the clause at `at` names nothing: no id, no string, no number.
    pub(super) fn is_idle(&self, at: usize) -> bool {
        let rest = self.terms[at..]
            .iter()
            .take_while(|term| !matches!(term.shape, Shape::Mark(',' | ';' | '.' | '?' | '!' | ')' | ':' | '—')));
        !rest.clone().any(|term| {
            term.is_id()
                || term.is_text()
                || matches!(term.shape, Shape::File | Shape::Number(_) | Shape::Range(..) | Shape::Key(_) | Shape::Flag)
        })
    }

    /// Whether the terms before `end` tell something.
    pub(super) fn tells(&self, end: usize) -> bool {
        self.terms[..end].iter().any(|term| {
            is_finite(term)
                || term.entry.func == Some(Func::Subject)
                || term.shape == Shape::Word && matches!(term.entry.verb, Some((_, Form::Past)))
        })
    }

    pub(super) fn verb_at(&self, at: usize) -> Option<(Verb, Form)> {
        self.terms.get(at).filter(|term| term.shape == Shape::Word).and_then(|term| term.entry.verb)
    }

    pub(super) fn func_at(&self, at: usize) -> Option<Func> {
        self.terms
            .get(at)
            .filter(|term| matches!(term.shape, Shape::Word | Shape::Number(_)))
            .and_then(|t| t.entry.func)
    }

    pub(super) fn text_at(&self, at: usize) -> &str {
        self.terms.get(at).map_or("", |term| term.text.of(self.line))
    }

    /// Whether a clause may end at `at`: a mark, or a conjunction.
    pub(super) fn is_boundary(&self, at: usize) -> bool {
        let Some(term) = self.terms.get(at) else { return false };
        match term.shape {
            Shape::Mark(
                ',' | ';' | '.' | '!' | '?' | '—' | '–' | '(' | ')' | ':' | '→' | '➜' | '⇒' | '➔' | '⟶' | '-' | '>',
            ) => true,
            Shape::Word => {
                matches!(term.entry.func, Some(Func::And | Func::Or | Func::But | Func::Then))
                    || self.text_at(at) == "so"
            }
            _ => false,
        }
    }

    pub(super) fn is_finite_at(&self, at: usize) -> bool {
        self.terms.get(at).is_some_and(is_finite)
    }

    /// What a line asks for that only names a thing: the verb's place, past the end where there is none.
    pub(super) fn named(&self) -> (usize, Verb) {
        // Of a document the string is the name.
        let texts = self.terms.iter().filter(|term| term.is_text()).count();
        let document = self.terms.iter().any(|term| term.entry.noun == Some(Noun::Doc));
        let text = texts > usize::from(document);
        let verb = self.terms.iter().position(|term| {
            term.shape == Shape::Word
                && term.entry.base().is_some()
                && term.entry.func.is_none()
                && term.entry.noun.is_none()
        });
        // `outputs of the search tool`
        let verb = verb.filter(|at| self.terms.get(at + 1).is_none_or(|next| next.entry.noun != Some(Noun::Tool)));
        let verb = verb.and_then(|at| self.terms[at].entry.base().map(|verb| (at, verb)));
        let pads = |term: &&Term| {
            matches!(term.entry.func, Some(Func::Pad | Func::Then)) || matches!(term.shape, Shape::Mark(_))
        };
        let start = self.terms.iter().take_while(pads).count().min(self.terms.len() - 1);
        match verb {
            Some((at, verb)) => (at, verb),
            // `off to a7x2`, `okay then, on to a7x2`
            None if self.terms[start].entry.prep.is_some()
                && self.terms.get(start + 1).is_some_and(|to| to.entry.prep == Some(Prep::To)) =>
            {
                (start, Verb::Go)
            }
            None if matches!(self.terms[0].entry.prep, Some(Prep::Back | Prep::Up)) => (0, Verb::Go),
            // `the previous sibling, please`
            None if !self.terms.iter().any(Term::is_id)
                && self.terms.iter().any(|t| {
                    matches!(t.entry.noun, Some(Noun::Next | Noun::Previous | Noun::Parent | Noun::Root | Noun::Leaf))
                }) =>
            {
                (self.terms.len(), Verb::Go)
            }
            // `the latest news on "x"`
            None if text && self.terms.iter().any(|term| matches!(term.entry.noun, Some(Noun::News | Noun::Web))) => {
                (self.terms.len(), Verb::Search)
            }
            None => (self.terms.len(), if text { Verb::Put } else { Verb::Get }),
        }
    }

    /// `no more than`: a limit, no denial.
    pub(super) fn is_limit(&self, at: usize) -> bool {
        self.func_at(at) == Some(Func::Not) && self.text_at(at + 2) == "than"
    }

    /// Whether the verb at `at` has no argument of its own but `it`.
    pub(super) fn only_points(&self, at: usize) -> bool {
        !self.terms[at + 1..].iter().any(|term| term.is_id() || term.shape == Shape::File)
            && self.terms[at + 1..].iter().take(2).any(|term| matches!(term.entry.func, Some(Func::It)))
    }

    /// Whether a verb at `at` belongs to a clause that describes the noun before an id: `the versions a7x2 has been through`.
    pub(super) fn is_contact_clause(&self, at: usize) -> bool {
        let described = at.checked_sub(2).and_then(|noun| self.terms[noun].entry.noun);
        self.terms[at - 1].is_id()
            && described
                .is_some_and(|noun| matches!(noun, Noun::Version | Noun::Annotation | Noun::Link | Noun::Continuation))
            && self.func_at(at) != Some(Func::Be)
    }

    /// `a7x2, the funeral scene`: a noun says again what the id before it names.
    pub(super) fn names_again(&self, at: usize, from: usize) -> bool {
        matches!(self.terms[at].shape, Shape::Mark(',' | '—' | '–' | '(' | '-'))
            && at > 0
            && self.terms[at - 1].is_id()
            && self.func_at(from) == Some(Func::Det)
            && self.is_idle(from)
            && self.terms[from..].iter().any(|term| term.shape == Shape::Name)
    }

    /// Whether the clause at `at` has words that the lexicon does not know.
    pub(super) fn is_strange(&self, at: usize) -> bool {
        let clause = self.terms[at..]
            .iter()
            .take_while(|term| !matches!(term.shape, Shape::Mark(',' | ';' | '.' | '?' | '!' | ')')));
        // `prune a7x2, useless`
        let last = at + 1 == self.terms.len() && self.terms[at.saturating_sub(2)].is_id();
        let acts = !(0..at).any(|at| matches!(self.verb_at(at), Some((verb, _)) if phrases::bears_content(verb)));
        clause.clone().any(|term| term.shape == Shape::Name) && (clause.count() > 1 || last && acts)
    }
}
