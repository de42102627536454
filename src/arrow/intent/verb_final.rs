//! Lines whose verb does not come first: it stands behind what it is about, or there is none.

use super::{IntentParser, is_finite};
use crate::arrow::{
    annotate_tokens::{AnnotatedToken, TokenKind},
    args,
    lexicon::{Form, FunctionWord, Noun, Prep, Verb},
    phrases,
};

impl IntentParser<'_> {
    /// A verb behind what it is about: `a7x2 view`, `b3k9 should be pruned`.
    pub(super) fn behind(&mut self) -> Option<(usize, Verb)> {
        let subject = self.terms.iter().position(|term| {
            term.is_id() || term.is_text() || term.kind == TokenKind::File || term.entry.noun.is_some()
        })?;
        for at in subject + 1..self.terms.len() {
            // `a7x2 should read "…"`
            let before = (subject..at).rev().find(|at| self.func_at(*at) != Some(FunctionWord::Pad)).unwrap_or(subject);
            let shall = matches!(self.text_at(before), "should" | "must" | "to" | "shall");
            if let Some(request) = self.modal_request(subject, at, before, shall) {
                return Some(request);
            }
            if shall
                && matches!(self.verb_at(at), Some((Verb::Read | Verb::Respond, Form::Base)))
                && self.terms[at + 1..].iter().take(4).any(AnnotatedToken::is_text)
            {
                return Some((at, Verb::Edit));
            }
            match self.verb_at(at) {
                Some((verb, Form::Past))
                    if self.wished && matches!(self.text_at(before), "be" | "were" | "was" | "is") =>
                {
                    return Some((at, verb));
                }
                Some((verb, Form::Past)) if phrases::is_passive_request(self.line, &self.terms[..at]) => {
                    return Some((at, verb));
                }
                // `a7x2 should be split at 120`
                Some((verb @ (Verb::Split | Verb::Prune), Form::Base))
                    if matches!(self.text_at(at), "split" | "cut")
                        && phrases::is_passive_request(self.line, &self.terms[..at]) =>
                {
                    return Some((at, verb));
                }
                // `a7x2 can lose its bookmark`
                Some((Verb::Remove, Form::Base))
                    if self.func_at(at - 1) == Some(FunctionWord::Modal)
                        && self.terms[at..]
                            .iter()
                            .any(|term| matches!(term.entry.noun, Some(Noun::Bookmark | Noun::Pin | Noun::Link))) =>
                {
                    return Some((at, Verb::Remove));
                }
                Some((verb, Form::Ing)) if self.text_at(at - 1) == "needs" => return Some((at, verb)),
                Some((verb, Form::Base))
                    if at == subject + 1
                        && !self.is_finite_at(at + 1)
                        && (self.terms[subject].is_id() || self.terms[subject].kind == TokenKind::File) =>
                {
                    return Some((at, verb));
                }
                Some((verb, Form::Base)) if at + 1 == self.terms.len() && self.polite => return Some((at, verb)),
                _ => {}
            }
        }
        None
    }

    /// `a7x2 deserves a bookmark`, `a7x2 should point to b3k9`: the verb that asks for what the sentence wishes.
    fn modal_request(&self, subject: usize, at: usize, before: usize, shall: bool) -> Option<(usize, Verb)> {
        // `a7x2 deserves a bookmark`
        if at <= subject + 2
            && matches!(self.text_at(at), "deserves" | "needs" | "wants" | "merits" | "gets" | "requires" | "warrants")
            && matches!(self.text_at(at + 1), "a" | "an")
            && self.terms[at + 2..]
                .iter()
                .take(2)
                .any(|term| matches!(term.entry.noun, Some(Noun::Annotation | Noun::Bookmark | Noun::Pin | Noun::Link)))
            && (self.terms[subject].is_id()
                || matches!(self.terms[subject].entry.noun, Some(Noun::Parent | Noun::Root | Noun::Node | Noun::Leaf)))
        {
            return Some((at, Verb::Add));
        }
        // `this node needs a new wording: "x"`
        let is_node = self.terms[subject].is_id()
            || matches!(self.terms[subject].entry.noun, Some(Noun::Parent | Noun::Root | Noun::Node | Noun::Leaf));
        if at <= subject + 2
            && is_node
            && matches!(self.text_at(at), "needs" | "gets" | "requires" | "deserves")
            && (at + 1..at + 4).any(|at| matches!(self.text_at(at), "wording" | "text" | "rewording"))
            && self.terms[at + 1..].iter().any(AnnotatedToken::is_text)
        {
            return Some((at, Verb::Edit));
        }
        // `the agent "x" shall continue a7x2`
        let is_agent = self.terms[..before].iter().take(3).any(|term| term.entry.noun == Some(Noun::Agent));
        if is_agent
            && matches!(self.text_at(before), "shall" | "should" | "must" | "is")
            && self.verb_at(at) == Some((Verb::Continue, Form::Base))
        {
            return Some((at, Verb::Continue));
        }
        // `item 5 is done`, `task 2 has been cancelled`
        if self.terms[subject].entry.noun == Some(Noun::Todo)
            && matches!(self.text_at(before), "is" | "are" | "was" | "be" | "been" | "'s")
            && self.terms[subject..before].iter().any(|term| matches!(term.kind, TokenKind::Number(_)))
        {
            match self.text_at(at) {
                "done" | "finished" | "completed" | "complete" => return Some((at, Verb::Finish)),
                "cancelled" | "canceled" | "abandoned" => return Some((at, Verb::Cancel)),
                _ => {}
            }
        }
        // `a7x2 should point to b3k9`, `a7x2 may return to the context`
        if self.func_at(before) == Some(FunctionWord::Modal)
            && self.terms[..before].iter().any(AnnotatedToken::is_id)
            && !matches!(self.text_at(before), "could" | "might" | "would")
        {
            let back = self.terms[at..]
                .iter()
                .any(|term| term.entry.prep == Some(Prep::Back) || term.entry.noun == Some(Noun::Context));
            match (self.text_at(at), self.verb_at(at)) {
                ("come" | "return", _) if back => return Some((at, Verb::Bring)),
                ("point", _) => return Some((at, Verb::Link)),
                ("become", _) => return Some((at, Verb::Merge)),
                _ => {}
            }
        }
        // `the bookmark on a7x2 can go`, `a7x2 should stay out of the context`, `the text of a7x2 should be "…"`
        if self.func_at(before) == Some(FunctionWord::Modal) && self.terms[..before].iter().any(AnnotatedToken::is_id) {
            let names = |noun| self.terms.iter().any(|term| term.entry.noun == Some(noun));
            let kept = names(Noun::Bookmark) || names(Noun::Pin);
            let out = names(Noun::Context) && self.terms[at..].iter().any(|t| t.entry.prep == Some(Prep::Out));
            match self.text_at(at) {
                "go" if kept && self.ends(at + 1) => return Some((at, Verb::Remove)),
                "come" if kept && self.text_at(at + 1) == "off" => return Some((at, Verb::Remove)),
                "stay" | "remain" if out && shall => return Some((at, Verb::Keep)),
                "be" if shall && names(Noun::Text) && self.terms.get(at + 1).is_some_and(AnnotatedToken::is_text) => {
                    return Some((at, Verb::Edit));
                }
                _ => {}
            }
        }
        None
    }

    /// True if the line names a thing before `end` and says nothing of it: `the siblings of a7x2, please`.
    pub(super) fn is_nominal(&self, end: usize) -> bool {
        let continues = |term: &AnnotatedToken| term.entry.noun == Some(Noun::Continuation);
        self.terms[..end].iter().enumerate().all(|(at, term)| {
            let tells = matches!(
                term.entry.func,
                Some(
                    FunctionWord::Not
                        | FunctionWord::If
                        | FunctionWord::Or
                        | FunctionWord::Subject
                        | FunctionWord::Clause
                        | FunctionWord::Would
                        | FunctionWord::Sub
                        | FunctionWord::What
                        | FunctionWord::Why
                        | FunctionWord::Doubt
                )
            );
            // `a search for "x"`: a verb behind an article is a noun.
            let noun = at > 0
                && (matches!(self.func_at(at - 1), Some(FunctionWord::Det | FunctionWord::Adjective))
                    || self.terms[at - 1].entry.noun.is_some())
                && term.entry.base().is_some();
            // `the pruned nodes`, `a list of pruned nodes`
            let describes = at > 0
                && (self.func_at(at - 1) == Some(FunctionWord::Det)
                    || self.terms[at - 1].entry.prep == Some(Prep::Of)
                        && self.terms.get(at + 1).is_some_and(|next| next.entry.noun.is_some())
                    // `a list of the nodes pruned`
                    || self.ends(at + 1)
                        && self.terms[..at].iter().take(2).any(|term| term.entry.noun == Some(Noun::List)));
            let past = matches!(term.entry.verb, Some((_, Form::Past))) && !describes;
            let acts = past
                || !noun
                    && term.entry.verb.is_some()
                    && term.entry.noun.is_none()
                    && term.entry.func.is_none()
                    && term.entry.option.is_none();
            // `the note on a7x2 reads "x"` tells what it says, `a note that says "x"` does not.
            let reads = matches!(term.entry.verb, Some((_, Form::Third)))
                && term.entry.noun.is_none()
                && at > 0
                && !matches!(self.text_at(at - 1), "that" | "which");
            let named = term.kind == TokenKind::Name
                && !args::describes(self.terms, at)
                && !(at > 0 && matches!(self.terms[at - 1].entry.noun, Some(Noun::Tool | Noun::Agent)))
                // `three continuations of a7x2 by claude`
                && !(at > 0 && self.terms[at - 1].entry.prep == Some(Prep::By) && self.terms[..at].iter().any(continues));
            (!tells || self.is_limit(at)) && !acts && !is_finite(term) && !named && !reads
        })
    }
}
