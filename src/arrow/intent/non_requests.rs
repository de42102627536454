//! Rejections of lines whose verb is in request position but that request nothing now: deferred, spoken by another
//! person, or a heading.
//!
//! A line in the imperative may still not be for now (`prune a7x2 after lunch`), nor the writer's own (`Maria: prune
//! a7x2`, `prune a7x2, he said`). These are properties of what stands around the request, whatever it asks for.

use super::{ClauseStart, IntentParser};
use crate::{
    arrow::{
        annotate_tokens::{AnnotatedToken, TokenKind},
        lexicon::{Form, FunctionWord, Noun, Prep, Verb},
        phrases,
    },
    tools::TABLE,
};

impl IntentParser<'_> {
    /// True if the word at `at` puts the request off: `later`, `in a minute`, `after the review`.
    pub(super) fn is_deferred(&self, at: usize, group: Verb) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.terms[before].entry.prep);
        match self.terms[at].entry.prep {
            // `for later` says what for, `as Friday` a name.
            None => {
                self.func_at(at) == Some(FunctionWord::Later)
                    && !matches!(before, Some(Prep::For | Prep::As | Prep::Under))
            }
            Some(Prep::In) => {
                let unit = at + 2;
                matches!(self.text_at(at + 1), "a" | "an" | "one")
                    && matches!(self.text_at(unit), "minute" | "moment" | "second" | "bit" | "while" | "hour" | "day")
                    && self.ends(unit + 1)
            }
            // `after "words"` and `after the paragraph` are places.
            Some(Prep::After) if self.text_at(at) == "after" && !matches!(group, Verb::Split | Verb::Break) => {
                let named = usize::from(self.func_at(at + 1) == Some(FunctionWord::Det));
                let next = at + 1 + named;
                let tells = self.func_at(next) == Some(FunctionWord::Subject)
                    || self.verb_at(next).is_some_and(|(_, form)| form == Form::Ing || named > 0)
                        && self.terms[next].entry.noun.is_none()
                    || self.terms.get(next).is_some_and(|term| term.kind == TokenKind::Name && !self.continues(group));
                tells && !self.terms[at..].iter().take(5).any(|term| term.is_text())
            }
            _ => false,
        }
    }

    const fn continues(&self, group: Verb) -> bool {
        matches!(group, Verb::Continue | Verb::Carry | Verb::Go | Verb::Write | Verb::Get | Verb::Try | Verb::See)
    }

    /// True if the line holds nothing but names of operations, three and more: `undo, undo, undo`, `view list tree`.
    pub(super) fn only_names(&self) -> bool {
        let name =
            |term: &AnnotatedToken| TABLE.iter().any(|row| row.name.eq_ignore_ascii_case(term.text.of(self.line)));
        let named = |term: &AnnotatedToken| !term.is_text() && name(term);
        let words = self.terms.iter().filter(|term| !matches!(term.kind, TokenKind::Mark(_)));
        words.clone().count() > 2
            && words.clone().all(named)
            && self.verb_at(0).is_none_or(|(verb, _)| verb != Verb::Help)
    }

    /// True if a verb stands at `at` behind nothing but the place that its text goes to: `at the end of letter.md add "x"`.
    pub(super) fn is_placed(&self, at: usize) -> bool {
        let place = &self.terms[..at];
        // `in the document "plot" add "x"`, `in "plot.md" add "x"`: the name of a document, and no text.
        let names_doc = |term: usize| {
            let by_noun = place[..term].last().is_some_and(|noun| noun.entry.noun == Some(Noun::Doc));
            let name = self.text_at(term);
            place[term].is_text() && (by_noun || name.contains('.') && !name.contains(char::is_whitespace))
        };
        let is_name = |at: &usize| place[*at].is_id() || place[*at].kind == TokenKind::File || names_doc(*at);
        let Some(last) = (0..at).rev().find(is_name) else { return false };
        // `in the document "plot" don't add "x"`, `outside letter.md add "x"`
        let said = [
            "let", "me", "us", "i", "we", "i'd", "we'd", "i'll", "we'll", "would", "will", "like", "want", "to",
            "please",
        ];
        let is_joint = |at: usize| {
            matches!(place[at].kind, TokenKind::Mark(',' | ':' | '–' | '—'))
                || self.func_at(at) == Some(FunctionWord::Pad) && !self.is_word(at, &["later", "tomorrow"])
                || self.is_word(at, &said)
        };
        let is_outside = self.is_word(0, &["outside", "about", "without", "beyond", "against", "like"])
            || self.is_word(0, &["after", "before"]) && !(1..last).any(|at| self.is_word(at, &["line", "lines"]));
        place.first().is_some_and(|first| first.entry.prep.is_some())
            && !is_outside
            && (last + 1..at).all(is_joint)
            && (0..at).all(|at| names_doc(at) || !place[at].is_text() && place[at].kind != TokenKind::Name)
            && !self.contains_statement(at)
            && self.verb_at(at).is_some_and(|(verb, form)| {
                form == Form::Base && phrases::bears_content(verb) && self.terms[at].entry.noun.is_none()
            })
            && self
                .terms
                .get(at + 1)
                .is_some_and(|next| next.is_text() || next.is(':') || next.entry.func == Some(FunctionWord::Det))
            && self.terms[at..].iter().any(|term| term.is_text())
    }

    /// The request for the opposite behind a denial: `don't show a7x2 to the model, exclude it`.
    pub(super) fn opposite(&mut self) -> Option<(usize, Verb)> {
        let end = (1..self.terms.len()).find(|at| self.is_boundary(*at))?;
        let ids = self.terms[..end].iter().filter(|term| term.is_id()).count();
        if ids != 1 || !matches!(self.terms[end].kind, TokenKind::Mark(',' | ':' | ';' | '.' | '—' | '–')) {
            return None;
        }
        match self.imperative(end + 1, false, false) {
            ClauseStart::Request(verb, group @ (Verb::Exclude | Verb::Unbookmark | Verb::Unlink))
                if self.has_argument(verb) || self.only_points(verb) =>
            {
                Some((verb, group))
            }
            // `don't let me lose a7x2, pin it`
            ClauseStart::Request(verb, group @ (Verb::Pin | Verb::Bookmark))
                if self.only_points(verb) && (1..end).any(|at| self.is_word(at, &["lose", "forget"])) =>
            {
                Some((verb, group))
            }
            _ => None,
        }
    }

    /// True if an operation is named behind `at`.
    pub(super) fn names_tool(&self, at: usize) -> bool {
        (at..self.terms.len()).any(|at| TABLE.iter().any(|row| row.name.eq_ignore_ascii_case(self.text_at(at))))
    }

    /// True if the word at `at` begs for what follows: `in plan.md please append "x"`.
    pub(super) fn has_please(&self, at: usize) -> bool {
        matches!(self.text_at(at), "please" | "pls" | "plz" | "kindly")
            && self.terms[..at].iter().any(|term| {
                term.is_id() || term.is_text() || matches!(term.kind, TokenKind::File | TokenKind::Range(..))
            })
    }

    /// The request that the verb at `verb`, with nothing to act on, is only the beginning of: `I may want this later,
    /// stash "x"`, `let's get a second opinion: have Ada continue a7x2`, `pause here and think`.
    pub(super) fn light_verb_only(&mut self, verb: usize, group: Verb) -> Option<(usize, Verb)> {
        let light = matches!(
            group,
            Verb::Get
                | Verb::Find
                | Verb::See
                | Verb::Check
                | Verb::Try
                | Verb::Make
                | Verb::Take
                | Verb::Keep
                | Verb::Pause
        );
        let named = TABLE.iter().any(|row| row.name.eq_ignore_ascii_case(self.text_at(verb)));
        if !light && !matches!(group, Verb::Bookmark | Verb::Pin | Verb::Stash)
            || named && (light || group == Verb::Stash)
        {
            return None;
        }
        let end = (verb + 1..self.terms.len()).find(|at| self.is_boundary(*at))?;
        let vague = |term: &AnnotatedToken| {
            matches!(term.kind, TokenKind::Word | TokenKind::Name | TokenKind::Number(1 | 2))
                && matches!(term.entry.noun, None | Some(Noun::Here | Noun::Node | Noun::Times | Noun::Thought))
                && !matches!(term.entry.func, Some(FunctionWord::Not | FunctionWord::If | FunctionWord::What))
        };
        let told = matches!(self.terms[end].kind, TokenKind::Mark(',' | ':' | ';' | '.' | '!' | '—' | '–'))
            || group == Verb::Pause;
        if !told || !self.terms[verb + 1..end].iter().all(vague) || verb + 1 == end && group != Verb::Pause {
            return None;
        }
        match self.head(end + 1, false) {
            ClauseStart::Request(second, other)
                if (light || other == group || group == Verb::Stash)
                    && (self.has_argument(second) || other == Verb::Think) =>
            {
                Some((second, other))
            }
            _ => None,
        }
    }

    /// True if the line or its clause is over at `at`.
    pub(super) fn ends(&self, at: usize) -> bool {
        at >= self.terms.len() || self.is_boundary(at)
    }

    /// True if what stands before the colon at `at` says who speaks, or that something is only shown: `Maria:`,
    /// `the last agent wrote:`, `for example:`. A colon behind what the request is about names that: `b3k9:`.
    pub(super) fn quotes(&self, at: usize) -> bool {
        if !self.terms[at].is(':') {
            return false;
        }
        let before = &self.terms[..at];
        let says = (0..at).any(|at| {
            matches!(
                self.verb_at(at),
                Some((Verb::Respond | Verb::Write | Verb::Tell | Verb::Read, Form::Past | Form::Third))
            )
        });
        let about = before.iter().any(|term| {
            term.is_id()
                || term.is_text()
                || term.kind == TokenKind::File
                || matches!(term.kind, TokenKind::OptionName(_))
        });
        let strange = before.iter().any(|term| term.kind == TokenKind::Name || term.entry.noun == Some(Noun::Agent));
        // `someone new has walked in: append "Ilse" to cast.md`: a sentence, and no speaker.
        let is_sentence = at > 3 && (0..at).any(|at| self.is_finite_at(at));
        !about && (says || strange && !is_sentence)
    }

    /// True if the words before the verb at `at` report a past action or an opinion.
    pub(super) fn reports(&self, at: usize) -> bool {
        let past = |at: usize| {
            matches!(self.text_at(at), "was" | "were" | "had" | "got")
                || matches!(self.verb_at(at), Some((verb, Form::Past)) if verb == Verb::Ask || verb == Verb::Tell || verb == Verb::Get)
        };
        let thinks = |at: usize| {
            self.func_at(at) == Some(FunctionWord::Subject)
                && self.terms.get(at + 1).is_some_and(|next| next.kind == TokenKind::Name)
                && self.text_at(at + 2) == "that"
        };
        (0..at).any(|at| past(at) || thinks(at))
    }

    /// True if the part of the line that begins at `at` says whose words stand before it: `he said`, `wrote Maria`.
    pub(super) fn attributes(&self, at: usize) -> bool {
        let length = (at..self.terms.len()).take_while(|at| !self.is_boundary(*at)).count();
        let says = |at: usize| {
            matches!(self.verb_at(at), Some((Verb::Respond | Verb::Write | Verb::Tell, Form::Past | Form::Third)))
                && self.terms[at].entry.option.is_none_or(|_| length <= 3)
        };
        let third = |at: usize| {
            !matches!(self.text_at(at), "i" | "I" | "we" | "you")
                && (self.func_at(at) == Some(FunctionWord::Subject)
                    || self.terms.get(at).is_some_and(|term| {
                        term.kind == TokenKind::Name || matches!(term.entry.noun, Some(Noun::Agent | Noun::Parent))
                    }))
        };
        (2..=4).contains(&length)
            && (says(at) && third(at + length - 1) || says(at + length - 1) && third(at + length - 2))
    }
}
