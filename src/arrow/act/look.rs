//! What stands where in a line.

use super::{Reader, is_finite};
use crate::arrow::{
    lexicon::{Form, Func, Verb},
    terms::Shape,
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
}
