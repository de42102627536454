//! Content without quotes behind a colon: where it begins and ends.

use super::{IntentParser, request::Cursor};
use crate::arrow::{
    annotate_tokens::{AnnotatedToken, TokenKind},
    intent::ClauseRole,
    lexicon::{Form, FunctionWord, Noun, Prep, Verb},
    option_name::OptionName,
};

impl IntentParser<'_> {
    /// The end of the unquoted content that begins at `at`. Behind words to search for, options may follow.
    pub(super) fn end_of_raw(&mut self, at: usize, verb: usize) -> usize {
        let searches = matches!(self.terms[verb].entry.base(), Some(Verb::Recall | Verb::Search));
        let is_option = |term: &AnnotatedToken| matches!(term.kind, TokenKind::OptionName(_)) && term.gap;
        let option = self.terms.iter().skip(at + 1).position(is_option).filter(|_| searches);
        let Some(option) = option.map(|option| at + 1 + option) else { return self.end };
        self.zones[option..].fill(ClauseRole::Main);
        self.terms[option].whole.start
    }

    /// `continue from a7x2: make it darker`: true if an unquoted instruction begins behind the colon at the cursor.
    pub(super) fn begins_instruction(&self, c: &Cursor) -> bool {
        let rest = &self.terms[c.at + 1..];
        let is_plain = |term: &AnnotatedToken| {
            matches!(term.kind, TokenKind::Word | TokenKind::Name | TokenKind::Mark(',' | '.' | ';' | '!'))
        };
        matches!(c.group, Verb::Continue)
            && self.terms[c.at - 1].is_id()
            && rest.len() > 1
            && rest.iter().all(is_plain)
            && rest[0].entry.func != Some(FunctionWord::Not)
            && !rest.iter().any(|term| term.entry.func == Some(FunctionWord::If))
    }

    /// True if unquoted content begins at `at`.
    pub(super) fn begins_raw(&self, at: usize, verb: usize) -> bool {
        let todo = self.terms[verb].entry.verb.is_some_and(|(verb, _)| verb == Verb::Todo)
            && matches!(self.verb_at(at), Some((Verb::Add | Verb::Resume | Verb::Cancel | Verb::Finish, _)) | None)
            && (self.verb_at(at).is_some() || self.func_at(at) == Some(FunctionWord::Do));
        // `recall: search "x" by:human`
        if self.is_word(verb, &["recall"])
            && self.is_word(at, &["search"])
            && self.terms.get(at + 1).is_some_and(AnnotatedToken::is_text)
        {
            return false;
        }
        // `star: a7x2 | name: "x"`
        let divided = self.terms.get(at + 1).is_some_and(|next| next.is('|'));
        if todo || divided || self.terms.get(at).is_some_and(|next| next.is('{') || next.is('[')) {
            return false;
        }
        // `the outcome is to be recorded: append "…" to plan.md`
        if matches!(self.verb_at(verb), Some((_, Form::Past)))
            && matches!(self.verb_at(at), Some((_, Form::Base)))
            && self.terms[at + 1..].iter().any(AnnotatedToken::is_text)
        {
            return false;
        }
        // `write notes.md: replace section "Plan" with "…"`: how it is written.
        let places = self.is_word(at, &["replace", "append", "insert", "prepend"]);
        if places
            && matches!(self.verb_at(verb), Some((Verb::Write | Verb::Edit, _)))
            && self.terms.last().is_some_and(AnnotatedToken::is_text)
        {
            return false;
        }
        // `stash "opening": a7x2`: the node's words.
        let is_node = self.terms.get(at).is_some_and(AnnotatedToken::is_id) && at + 1 == self.terms.len();
        if is_node && matches!(self.verb_at(verb), Some((Verb::Stash, _))) {
            return false;
        }
        // `settle it: decide "…"`
        let again = self.verb_at(at).is_some_and(|again| self.verb_at(verb) == Some(again));
        if again && self.terms.get(at + 1).is_some_and(AnnotatedToken::is_text) {
            return false;
        }
        if let Some(TokenKind::OptionName(key)) =
            at.checked_sub(2).and_then(|before| self.terms.get(before)).map(|term| term.kind)
        {
            // `change a7x2 to: a new text`
            let becomes = key == OptionName::To && matches!(self.verb_at(verb), Some((Verb::Edit | Verb::Replace, _)));
            return (key.is_content() || becomes && !self.terms.get(at).is_some_and(AnnotatedToken::is_id))
                && self.terms.get(at).is_some_and(|next| next.gap && !next.is_text());
        }
        let named = at.checked_sub(2).filter(|before| *before > verb).is_some_and(|before| {
            let is_role = before > 0 && self.terms[before - 1].entry.prep == Some(Prep::As);
            !is_role && OptionName::named(self.text_at(before)).is_some_and(|key| !key.is_content())
        });
        self.terms.get(at).is_some_and(|next| {
            let leads = next.entry.option.is_some()
                || matches!(next.entry.noun, Some(Noun::Label | Noun::Text | Noun::Constraint | Noun::Decision));
            let leads = leads && self.terms[at + 1..].iter().take(3).any(AnnotatedToken::is_text);
            next.gap && !next.is_text() && !matches!(next.kind, TokenKind::OptionName(_)) && !leads && !named
        })
    }
}
