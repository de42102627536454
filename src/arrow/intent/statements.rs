//! Clauses that state a fact or a purpose: by their verbs, and by their subjects.

use super::IntentParser;
use crate::arrow::{annotate_tokens::TokenKind, lexicon::FunctionWord};

/// Verbs of a purpose: `I want to know more`.
const PURPOSES: &[&str] =
    &["know", "test", "compare", "come", "save", "understand", "avoid", "remember", "verify", "learn"];
/// Past forms that are no participles.
pub(super) const PASTS: &[&str] = &[
    "had", "wrote", "went", "came", "took", "gave", "saw", "did", "ran", "began", "broke", "fell", "knew", "spoke",
    "chose",
];

impl IntentParser<'_> {
    /// `I want to be sure of it`: true if the verb at `at` says what the request is for, and names none of its arguments.
    pub(super) fn names_purpose(&self, at: usize) -> bool {
        let verb = self.text_at(at);
        let tries =
            verb == "try" && !matches!(self.terms.get(at + 1).map(|next| next.kind), Some(TokenKind::Number(_)));
        let assures = verb == "be" && matches!(self.text_at(at + 1), "sure" | "certain" | "able");
        // `…, I want to know first`
        let open = |at: usize| {
            matches!(self.func_at(at), Some(FunctionWord::If | FunctionWord::Doubt | FunctionWord::Or))
                || matches!(self.text_at(at), "first" | "beforehand" | "before")
        };
        (tries || assures || PURPOSES.contains(&verb))
            && self.text_at(at - 1) == "to"
            && self.names_nothing(at)
            && !(at..self.terms.len()).any(open)
    }

    /// `two scenes live in it`, `the second half deserves more`: true if the verb of a statement stands at `at`, behind the
    /// subject that begins at `from`. A subject begins with an article or a number.
    pub(super) fn is_predicate(&self, from: usize, at: usize) -> bool {
        let term = &self.terms[at];
        let counted = matches!(self.terms[from].kind, TokenKind::Number(_));
        if at < from + 2 || !(counted || self.func_at(from) == Some(FunctionWord::Det)) || !self.names_nothing(from) {
            return false;
        }
        let pronoun = self.text_at(at - 1) == "one";
        let text = self.text_at(at);
        let remains = matches!(text, "stays" | "remains" | "wins" | "goes" | "holds" | "suffices");
        let third = term.kind == TokenKind::Name && text.ends_with('s') && !text.ends_with("ss") && !remains;
        let object =
            matches!(self.func_at(at + 1), Some(FunctionWord::Det | FunctionWord::It | FunctionWord::Adjective));
        // `two scenes live in it`
        let plural = counted
            && self.terms[at - 1].kind == TokenKind::Name
            && self.text_at(at - 1).ends_with('s')
            && term.kind == TokenKind::Name
            && !self.ends(at + 1);
        PASTS.contains(&text) || third && (pronoun || object) || plural
    }
}
