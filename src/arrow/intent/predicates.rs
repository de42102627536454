//! Predicates on the tokens of a line.

use super::IntentParser;
use crate::arrow::{
    annotate_tokens::{AnnotatedToken, TokenKind},
    lex::ARROWS,
    lexicon::{Form, FunctionWord, Noun, Prep, Verb},
    option_name::OptionName,
    phrases,
};

/// Nouns of what belongs to a place: `the links of the parent` names no place to go to.
const LISTED: [Noun; 7] =
    [Noun::Continuation, Noun::Annotation, Noun::Link, Noun::Version, Noun::Summary, Noun::Sibling, Noun::Bookmark];

impl IntentParser<'_> {
    /// True if the verb at `at` has an object, if only a word that points back.
    pub(super) fn has_object(&self, at: usize) -> bool {
        self.terms[at + 1..].iter().any(|term| {
            term.is_id()
                || term.is_text()
                || matches!(term.kind, TokenKind::File | TokenKind::Number(_) | TokenKind::OptionName(_))
                || term.entry.noun.is_some()
                || matches!(term.entry.func, Some(FunctionWord::It | FunctionWord::One | FunctionWord::Det))
        })
    }

    /// True if the verb at `at` has an argument.
    pub(super) fn has_argument(&self, at: usize) -> bool {
        self.terms[at + 1..].iter().any(|term| {
            term.is_id()
                || term.is_text()
                || matches!(term.kind, TokenKind::File | TokenKind::Number(_) | TokenKind::OptionName(_))
                || term.entry.noun.is_some()
        })
    }

    /// True if what is left of the clause at `at` names nothing: no id, no string, no number.
    pub(super) fn has_no_argument(&self, at: usize) -> bool {
        let rest = self.terms[at..]
            .iter()
            .take_while(|term| !matches!(term.kind, TokenKind::Mark(',' | ';' | '.' | '?' | '!' | ')' | ':' | '—')));
        !rest.clone().any(AnnotatedToken::is_concrete)
    }

    /// True if no node, text, place or option stands from `at` to the end of the clause.
    pub(super) fn names_nothing(&self, at: usize) -> bool {
        let ends = |term: &&AnnotatedToken| !matches!(term.kind, TokenKind::Mark(_));
        let is_number = |term: &AnnotatedToken| matches!(term.kind, TokenKind::Number(_));
        !self.terms[at..].iter().take_while(ends).any(|term| term.is_concrete() && !is_number(term))
    }

    /// True if what stands before `so` only states the reason: `I need to get the lamp right, so let's search the web for "t"`.
    pub(super) fn is_wish_before_so(&self, verb: usize, at: usize, second: usize) -> bool {
        let is_so = (at..second).any(|at| self.is_word(at, &["so"]));
        is_so && self.polite && !self.has_concrete(verb..at)
    }

    /// True if the mark at `at` leads to the content, with which the line ends: `…, since both are weak: "t"`, `reword a7x2,
    /// because it limps, to "t"`.
    pub(super) fn gives_content(&self, at: usize, group: Verb) -> bool {
        let texts = self.terms.iter().filter(|term| term.is_text()).count();
        let joined = self.terms[at].is(',') && self.is_word(at + 1, &["to", "into", "with"]);
        let text = at + 1 + usize::from(joined);
        let last = text + 1 == self.terms.len() && self.terms[text].is_text();
        // `reword a7x2, because it limps, and b3k9, to "t"`
        let one = !joined || self.terms.iter().filter(|term| term.is_id()).count() <= 1;
        (self.terms[at].is(':') || joined) && one && last && texts == 1 && phrases::bears_content(group)
    }

    /// True if `that` at `at` opens the clause of a decision.
    pub(super) fn is_decided_clause(&self, at: usize, group: Verb) -> bool {
        let rest = &self.terms[at + 1..];
        let is_plain = rest.iter().all(|term| !term.is_text() && !term.is_id() && !term.is('?') && !term.is(':'));
        // `to decide that …`, `I would decide that …`
        let is_asked = at < 2 || !self.is_word(at - 2, &["to", "would", "could", "might", "may"]);
        group == Verb::Decide && self.text_at(at) == "that" && rest.len() > 2 && is_plain && is_asked
    }

    /// True if the terms before `end` tell something.
    pub(super) fn contains_statement(&self, end: usize) -> bool {
        self.terms[..end].iter().any(|term| {
            is_finite(term)
                || term.entry.func == Some(FunctionWord::Subject)
                || term.kind == TokenKind::Word && matches!(term.entry.verb, Some((_, Form::Past)))
        })
    }

    pub(super) fn verb_at(&self, at: usize) -> Option<(Verb, Form)> {
        self.terms.get(at).filter(|term| term.kind == TokenKind::Word).and_then(|term| term.entry.verb)
    }

    pub(super) fn func_at(&self, at: usize) -> Option<FunctionWord> {
        self.terms
            .get(at)
            .filter(|term| matches!(term.kind, TokenKind::Word | TokenKind::Number(_)))
            .and_then(|t| t.entry.func)
    }

    pub(super) fn text_at(&self, at: usize) -> &str {
        self.terms.get(at).map_or("", |term| term.text.of(self.line))
    }

    fn text_of(&self, term: &AnnotatedToken) -> &str {
        term.text.of(self.line)
    }

    /// True if a clause may end at `at`: a mark, or a conjunction.
    pub(super) fn is_boundary(&self, at: usize) -> bool {
        let Some(term) = self.terms.get(at) else { return false };
        match term.kind {
            TokenKind::Mark(',' | ';' | '.' | '!' | '?' | '—' | '–' | '(' | ')' | ':' | '-' | '>') => true,
            TokenKind::Mark(mark) => ARROWS.contains(&mark),
            TokenKind::Word => {
                matches!(
                    term.entry.func,
                    Some(FunctionWord::And | FunctionWord::Or | FunctionWord::But | FunctionWord::Then)
                ) || self.text_at(at) == "so"
            }
            _ => false,
        }
    }

    pub(super) fn is_finite_at(&self, at: usize) -> bool {
        self.terms.get(at).is_some_and(is_finite)
    }

    /// Verb of a line that only names a thing, with its index; past the end where the line has no verb.
    pub(super) fn named(&self) -> (usize, Verb) {
        // Of a document the string is the name.
        let texts = self.terms.iter().filter(|term| term.is_text()).count();
        let has = |noun| self.terms.iter().any(|term| term.entry.noun == Some(noun));
        let document = has(Noun::Doc);
        // `the section "Methods" of report.md`
        let section = has(Noun::Section) && (document || self.terms.iter().any(|term| term.kind == TokenKind::File));
        // `three continuations of a7x2, and what I want is "x"`: an instruction is no content.
        let instructs = |term: &AnnotatedToken| {
            term.kind == TokenKind::OptionName(OptionName::Content)
                && OptionName::named(term.text.of(self.line)) != Some(OptionName::Content)
        };
        let instructed = has(Noun::Continuation) && self.terms.iter().any(instructs);
        let text = texts > usize::from(document) + usize::from(section) && !instructed;
        let verb = self.terms.iter().position(|term| {
            term.kind == TokenKind::Word
                && term.entry.base().is_some()
                && term.entry.func.is_none()
                && term.entry.noun.is_none()
        });
        // `outputs of the search tool`
        let verb = verb.filter(|at| self.terms.get(at + 1).is_none_or(|next| next.entry.noun != Some(Noun::Tool)));
        let verb = verb.and_then(|at| self.terms[at].entry.base().map(|verb| (at, verb)));
        let pads = |term: &&AnnotatedToken| {
            matches!(term.entry.func, Some(FunctionWord::Pad | FunctionWord::Then))
                || matches!(term.kind, TokenKind::Mark(_))
        };
        let start = self.terms.iter().take_while(pads).count().min(self.terms.len() - 1);
        // `a new wording for a7x2: "x"`
        let rewords = |term: &AnnotatedToken| {
            !term.is_text() && matches!(self.text_of(term), "wording" | "rewording" | "rephrasing" | "rewrite")
        };
        match verb {
            Some((at, verb)) => (at, verb),
            // `around a7x2`
            None if self.is_word(0, &["around"]) && self.terms.len() < 4 => (self.terms.len(), Verb::Recall),
            None if texts == 1 && self.terms.iter().take(4).any(rewords) => (self.terms.len(), Verb::Edit),
            // `off to a7x2`, `okay then, on to a7x2`
            None if self.terms[start].entry.prep.is_some()
                && self.terms.get(start + 1).is_some_and(|to| to.entry.prep == Some(Prep::To)) =>
            {
                (start, Verb::Go)
            }
            None if matches!(self.terms[0].entry.prep, Some(Prep::Back | Prep::Up)) => (0, Verb::Go),
            // `the previous sibling, please`
            None if !self.terms.iter().any(AnnotatedToken::is_id)
                && !LISTED.into_iter().any(has)
                && self.terms.iter().any(|t| {
                    matches!(t.entry.noun, Some(Noun::Next | Noun::Previous | Noun::Parent | Noun::Root | Noun::Leaf))
                }) =>
            {
                (self.terms.len(), Verb::Go)
            }
            // `a list of the pruned nodes`
            None if self.terms.iter().take(3).any(|term| term.entry.noun == Some(Noun::List)) => {
                (self.terms.len(), Verb::List)
            }
            // `the words under "M" in report.md`, `what is under "M" in report.md?`
            None if texts == 1
                && self.terms.iter().any(|term| term.kind == TokenKind::File)
                && self.terms.iter().any(|term| term.entry.prep == Some(Prep::Under) || term.is('?')) =>
            {
                (self.terms.len(), Verb::Read)
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
        self.func_at(at) == Some(FunctionWord::Not) && self.text_at(at + 2) == "than"
    }

    /// True if the verb at `at` has no argument of its own but `it`.
    pub(super) fn only_points(&self, at: usize) -> bool {
        !self.terms[at + 1..].iter().any(|term| term.is_id() || term.kind == TokenKind::File)
            && self.terms[at + 1..].iter().take(2).any(|term| matches!(term.entry.func, Some(FunctionWord::It)))
    }

    /// True if a verb at `at` belongs to a clause that describes the noun before an id: `the versions a7x2 has been through`.
    pub(super) fn is_contact_clause(&self, at: usize) -> bool {
        let described = at.checked_sub(2).and_then(|noun| self.terms[noun].entry.noun);
        self.terms[at - 1].is_id()
            && described
                .is_some_and(|noun| matches!(noun, Noun::Version | Noun::Annotation | Noun::Link | Noun::Continuation))
            && self.func_at(at) != Some(FunctionWord::Be)
    }

    /// `a7x2, the funeral scene`: a noun says again what the id before it names.
    pub(super) fn names_again(&self, at: usize, from: usize) -> bool {
        matches!(self.terms[at].kind, TokenKind::Mark(',' | '—' | '–' | '(' | '-'))
            && at > 0
            && self.terms[at - 1].is_id()
            && self.func_at(from) == Some(FunctionWord::Det)
            && self.has_no_argument(from)
            && self.terms[from..].iter().any(|term| term.kind == TokenKind::Name)
    }

    /// `…, by the planner`, `…, agent scout`: true if the clause at `at` names who did it or does it.
    pub(super) fn names_author(&self, at: usize) -> bool {
        let at = at + usize::from(self.is_word(at, &["only", "just"]));
        let names = |at: usize| self.terms.get(at).is_some_and(|name| name.kind == TokenKind::Name);
        if self.is_word(at, &["agent", "model"]) && names(at + 1) && self.ends(at + 2) {
            return true;
        }
        let article = usize::from(self.func_at(at + 1) == Some(FunctionWord::Det));
        let from_role = || self.is_word(at + 1 + article, &["human", "user", "person", "owner", "model"]);
        self.terms
            .get(at)
            .is_some_and(|term| term.entry.prep == Some(Prep::By) || term.entry.prep == Some(Prep::From) && from_role())
            && self.terms.get(at + 1 + article).is_some_and(|name| name.kind == TokenKind::Name)
            && self.ends(at + 2 + article)
    }

    /// True if the clause at `at` has words that the lexicon does not know.
    pub(super) fn is_strange(&self, at: usize) -> bool {
        let clause = self.terms[at..]
            .iter()
            .take_while(|term| !matches!(term.kind, TokenKind::Mark(',' | ';' | '.' | '?' | '!' | ')')));
        // `prune a7x2, useless`
        let last = at + 1 == self.terms.len() && self.terms[at.saturating_sub(2)].is_id();
        let acts = !(0..at).any(|at| matches!(self.verb_at(at), Some((verb, _)) if phrases::bears_content(verb)));
        clause.clone().any(|term| term.kind == TokenKind::Name) && (clause.count() > 1 || last && acts)
    }
}

/// True if a term is a verb that a subject goes with: `is`, `has`, `seems`.
pub(in crate::arrow) fn is_finite(term: &AnnotatedToken) -> bool {
    if !matches!(term.kind, TokenKind::Word) || term.entry.noun.is_some() {
        return false;
    }
    match term.entry.func {
        Some(FunctionWord::Be | FunctionWord::Have | FunctionWord::Modal | FunctionWord::Clause) => true,
        Some(FunctionWord::Do) => term.text.end - term.text.start != 4,
        _ => matches!(term.entry.verb, Some((_, Form::Third))) && term.entry.option.is_none(),
    }
}
