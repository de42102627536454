//! A second request in a line: the same one again, the real one behind a beginning, or one too many, with which the line is refused.

use super::{
    ClauseRole, IntentParser, Utterance,
    request::{ClauseReading, Cursor},
};
use crate::arrow::{
    annotate_tokens::AnnotatedToken,
    lexicon::{FunctionWord, Verb},
    phrases,
};

impl IntentParser<'_> {
    /// Reads a second request: the same one again, the real one behind a beginning, or one too many.
    pub(super) fn second_request(&mut self, c: &mut Cursor, second: usize, other: Verb) -> Option<ClauseReading> {
        let Cursor { verb, group, at, .. } = *c;
        let asked = Some((verb, group));
        let tail = c.zone == ClauseRole::Tail;
        // `keep a7x2 in sight, pin it`: the name of the operation is what counts.
        if !tail && (self.is_wish_before_so(verb, at, second) || self.is_said_again(asked, second, other)) {
            return Some(self.restart(second, other));
        }
        if group == Verb::Help && other == Verb::Help && self.names_tool(second + 1) {
            return Some((Utterance::Several, asked, second));
        }
        // `duplicate a7x2 and put the duplicate under the root`
        let places = group == Verb::Copy && other == Verb::Put;
        // `plan(resume)`
        let resumes = group == Verb::Todo && other == Verb::Resume;
        if !tail && !places && !resumes && self.repeats(asked, second, other) {
            // `what does a7x2 say? open it in full`
            let tells =
                |at| matches!(self.func_at(at), Some(FunctionWord::If | FunctionWord::What | FunctionWord::Why));
            let looks = phrases::embeds(group) && phrases::embeds(other);
            let looks = looks && !(second..self.terms.len()).any(tells);
            c.zone = if looks { ClauseRole::Main } else { ClauseRole::Tail };
            c.at = second + 1;
            return None;
        }
        if matches!(other, Verb::Get | Verb::Make) && !self.has_argument(second) {
            c.zone = ClauseRole::Tail;
            c.at += 1;
            return None;
        }
        // `recall count, search "x"`
        let has_text = self.terms[verb..second].iter().any(AnnotatedToken::is_text);
        if group == Verb::Recall && other == Verb::Search && !has_text && self.has_argument(second) {
            c.zone = ClauseRole::Main;
            self.zones[second] = ClauseRole::Main;
            c.at = second + 1;
            return None;
        }
        // `leave this behind and go to the root`
        if group == Verb::Leave && self.text_at(at - 1) == "behind" {
            return Some(self.restart(second, other));
        }
        if phrases::goes_with(group, other, self.line, &self.terms[second..]) {
            c.zone = ClauseRole::Main;
            self.zones[second] = ClauseRole::Main;
            c.at = second + 1;
            return None;
        }
        // `see where a7x2 goes, try four continuations`
        if matches!(other, Verb::Try | Verb::Continue | Verb::Get | Verb::Make)
            && group == Verb::See
            && matches!(self.func_at(verb + 1), Some(FunctionWord::Sub | FunctionWord::What))
            && !self.terms[second..].iter().any(AnnotatedToken::is_id)
        {
            return Some(self.restart(second, other));
        }
        if self.is_only_a_beginning(c, second, other) {
            // `I'd say a7x2 belongs there, move it`
            self.doubtful &= group != Verb::Respond;
            return Some(self.restart(second, other));
        }
        Some((Utterance::Several, asked, second))
    }

    /// `I love a7x2, bookmark it`: true if the first request only leads to the one at `second`.
    fn is_only_a_beginning(&self, c: &Cursor, second: usize, other: Verb) -> bool {
        let Cursor { verb, group, at, .. } = *c;
        let light = matches!(
            group,
            Verb::Take | Verb::Get | Verb::Summarise | Verb::Lift | Verb::Keep | Verb::Recall | Verb::Respond
        );
        let leads = group == Verb::Get
            || other == group
            || self.text_at(verb).eq_ignore_ascii_case("let")
            || self.is_named_first(verb, at);
        // `respond a7x2 "text" and bookmark it` asks for two things.
        let writes = group == Verb::Respond && self.terms[verb..second].iter().any(AnnotatedToken::is_text);
        leads && self.only_points(second) || light && !writes && self.func_at(second + 1) == Some(FunctionWord::It)
    }
}
