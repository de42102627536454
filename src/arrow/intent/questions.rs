//! Lines that begin as a question: those that a command answers, and those that end in a request.

use super::{ClauseRole, ClauseStart, IntentParser, Utterance, request::ClauseReading};
use crate::arrow::{
    annotate_tokens::{AnnotatedToken, TokenKind},
    lexicon::{Form, FunctionWord, Noun, Verb},
    phrases,
};

impl IntentParser<'_> {
    /// Reading of a clause that opens as a question does.
    pub(super) fn question_opening(&mut self, at: usize, first: bool) -> Option<ClauseStart> {
        let text = self.text_at(at);
        match self.func_at(at) {
            Some(FunctionWord::What) if first => Some(self.question(at)),
            Some(FunctionWord::Sub) if first && matches!(text, "which" | "where" | "Which" | "Where") => {
                Some(self.question(at))
            }
            Some(FunctionWord::Why) => Some(ClauseStart::Utterance(Utterance::Question)),
            // `having read a7x2, continue it`: a participle.
            Some(FunctionWord::Have) if text.eq_ignore_ascii_case("having") => Some(ClauseStart::Other),
            // `do not show a7x2 to the model, exclude it`
            Some(FunctionWord::Do) if first && text.eq_ignore_ascii_case("do") && self.is_word(at + 1, &["not"]) => {
                Some(ClauseStart::Utterance(Utterance::Negated))
            }
            // `do it again, redo`
            Some(FunctionWord::Do)
                if first
                    && text.eq_ignore_ascii_case("do")
                    && matches!(self.func_at(at + 1), Some(FunctionWord::It)) =>
            {
                Some(ClauseStart::Other)
            }
            Some(FunctionWord::Be | FunctionWord::Do | FunctionWord::Have | FunctionWord::Modal) if first => {
                Some(self.asking(at))
            }
            _ => None,
        }
    }

    /// A line that begins with a word for a question: what it asks for, if that can be shown.
    pub(super) fn question(&mut self, at: usize) -> ClauseStart {
        match phrases::question(self.line, &self.terms[at..]) {
            Some(verb) => {
                self.questioned = true;
                ClauseStart::Request(at, verb)
            }
            None => ClauseStart::Utterance(Utterance::Question),
        }
    }

    /// A line that begins with an auxiliary verb: `could Gemini carry on from a7x2`.
    pub(super) fn asking(&mut self, at: usize) -> ClauseStart {
        let modal = self.func_at(at) == Some(FunctionWord::Modal) && !self.text_at(at).eq_ignore_ascii_case("will");
        // `can the agent "Poet" continue a7x2`
        let names = |term: &&AnnotatedToken| {
            matches!(term.kind, TokenKind::Name | TokenKind::Text { .. })
                || term.entry.func == Some(FunctionWord::Det)
                || term.entry.noun == Some(Noun::Agent)
        };
        let named = self.terms[at + 1..].iter().take_while(names).count();
        let behind = at + 1 + named;
        match self.verb_at(behind) {
            Some((verb @ (Verb::Continue | Verb::Carry), Form::Base)) if modal && named > 0 => {
                self.zones[at + 1..behind].fill(ClauseRole::Main);
                self.polite = true;
                ClauseStart::Request(behind, verb)
            }
            // `could a7x2 be merged`
            _ if modal
                && !self.text_at(at).eq_ignore_ascii_case("should")
                && (at..self.terms.len()).any(|at| self.text_at(at) == "be") =>
            {
                self.polite = true;
                ClauseStart::Other
            }
            // `did anyone mention "the lighthouse"?`
            _ if !modal && phrases::question(self.line, &self.terms[at..]) == Some(Verb::Recall) => {
                self.questioned = true;
                ClauseStart::Request(at, Verb::Recall)
            }
            _ => ClauseStart::Utterance(Utterance::Question),
        }
    }

    /// `what came of a7x2? list its continuations`, `who could help — list the agents`: the request behind a question.
    pub(super) fn request_after_question(&mut self) -> Option<ClauseReading> {
        for at in 0..self.terms.len() {
            if matches!(self.terms[at].kind, TokenKind::Mark('?' | '—' | '–'))
                && let ClauseStart::Request(verb, group) = self.head(at + 1, false)
                && (phrases::embeds(group)
                    || matches!(group, Verb::Recall | Verb::Search | Verb::Grep | Verb::Help | Verb::Continue))
                && (self.has_object(verb) || matches!(group, Verb::Help | Verb::Memory))
            {
                self.zones[..at].fill(ClauseRole::Before);
                return Some(self.request(verb, group));
            }
        }
        None
    }
}
