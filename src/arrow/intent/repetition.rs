//! Requests that are said twice: the second says the first one again, or what the first only pointed at.

use super::{ClauseRole, ClauseStart, Intent, IntentParser, Utterance};
use crate::arrow::{
    annotate_tokens::TokenKind,
    classify,
    lexicon::{FunctionWord, Noun, Prep, Verb},
    phrases,
};
use crate::tools::TABLE;

impl IntentParser<'_> {
    /// True if the verb at `second` only says again what was asked: `keep a7x2 out, please exclude it`.
    pub(super) fn repeats(&self, asked: Option<(usize, Verb)>, second: usize, other: Verb) -> bool {
        let Some((verb, group)) = asked else { return false };
        let part = &self.terms[second + 1..];
        let own = part.iter().any(|term| {
            let noun = term.entry.noun.filter(|noun| !matches!(noun, Noun::Node | Noun::Branch));
            term.is_id()
                || term.is_text()
                || matches!(term.kind, TokenKind::File | TokenKind::Number(_) | TokenKind::OptionName(_))
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
            && part
                .iter()
                .take(2)
                .any(|term| matches!(term.entry.func, Some(FunctionWord::If | FunctionWord::What | FunctionWord::Why)))
        {
            return true;
        }
        // Nothing in it but what points back: `remove that link`, `put it back in the context`.
        let points =
            part.iter().take_while(|term| !matches!(term.kind, TokenKind::Mark(',' | ';' | '.' | '!'))).all(|term| {
                !matches!(term.kind, TokenKind::Name) && (term.entry.verb.is_none() || term.entry.noun.is_some())
            });
        if !points {
            return false;
        }
        let mut intent = Intent {
            speech: Utterance::Request,
            verb: Some((verb, group)),
            zones: self.zones.clone(),
            raw: None,
            doubtful: false,
            nominal: false,
            at: verb,
        };
        let first = classify::classify(self.line, self.terms, &intent).map(|first| first.tool);
        intent.verb = Some((second, other));
        intent.zones[second + 1..].fill(ClauseRole::Main);
        let again = classify::classify(self.line, self.terms, &intent).map(|again| again.tool);
        again.is_some() && first == again
    }

    /// True if the request at `second` says outright, and of what was named before, what the first one only pointed
    /// at: `keep a7x2 in sight, pin it`, `settle it: decide "…"`.
    pub(super) fn is_said_again(&self, asked: Option<(usize, Verb)>, second: usize, other: Verb) -> bool {
        let Some((verb, group)) = asked else { return false };
        let named = |at: usize| TABLE.iter().any(|row| row.name.eq_ignore_ascii_case(self.text_at(at)));
        if !named(second) || named(verb) {
            return false;
        }
        let pointed = self.terms[verb + 1..second].iter().all(|term| {
            matches!(term.entry.func, Some(FunctionWord::It | FunctionWord::Pad | FunctionWord::Then))
                || matches!(term.kind, TokenKind::Mark(_))
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

    /// True if nothing else is asked behind `at`.
    pub(super) fn asks_no_more(&mut self, at: usize) -> bool {
        let about = matches!(self.func_at(at), Some(FunctionWord::If | FunctionWord::What | FunctionWord::Why))
            || matches!(
                self.terms[at].entry.prep,
                Some(Prep::About | Prep::Over | Prep::On | Prep::Through | Prep::Of)
            );
        about && !(at..self.terms.len()).any(|at| {
            self.is_boundary(at)
                && matches!(self.imperative(at + 1, false, false), ClauseStart::Request(verb, _)
                    if self.has_argument(verb) || self.func_at(at) == Some(FunctionWord::Then) && self.only_points(verb))
        })
    }
}
