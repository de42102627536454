//! Correction of misspelt words other than the verb.

use super::{AnnotatedToken, TokenKind};
use crate::arrow::lexicon::{self, Noun, Prep};

/// Longest line, in terms, whose typos are corrected.
const MAX_CORRECTED: usize = 24;

/// The line with its unknown words replaced by the known ones that they may be typos of; `None` if there are none. Names follow an
/// option or a noun that has them, and stay.
pub(in crate::arrow) fn correct_typos(line: &str, terms: &[AnnotatedToken]) -> Option<String> {
    if terms.len() > MAX_CORRECTED {
        return None;
    }
    let mut corrected = String::new();
    let mut copied = 0;
    for (at, term) in terms.iter().enumerate() {
        let text = term.text.of(line);
        let before = at.checked_sub(1).map(|before| terms[before]);
        let is_named = before.is_some_and(|before| {
            matches!(before.kind, TokenKind::OptionName(_) | TokenKind::Flag | TokenKind::Mark(':' | '=' | '@') | TokenKind::Name)
                || matches!(before.entry.noun, Some(Noun::Agent | Noun::Doc | Noun::Label | Noun::Tool))
                // `tree sumary`
                || at > 1 && before.entry.noun == Some(Noun::Tree)
                || matches!(before.entry.prep, Some(Prep::With | Prep::By | Prep::As))
        });
        let is_word = text.len() > 2 && text.bytes().all(|byte| byte.is_ascii_lowercase());
        // `dpth 2`: a word of four letters may be an id.
        let counts = terms.get(at + 1).is_some_and(|next| matches!(next.kind, TokenKind::Number(_)));
        let is_unknown = term.kind == TokenKind::Name || term.kind == TokenKind::Id && counts && !term.bracketed;
        // `by teh model`
        let is_named = is_named && text != "teh";
        if !is_unknown || is_named || !is_word || lexicon::look_up(text).is_known() {
            continue;
        }
        if let Some(word) = lexicon::correct_typo(text) {
            corrected.push_str(&line[copied..term.text.start]);
            corrected.push_str(word);
            copied = term.text.end;
        }
    }
    corrected.push_str(&line[copied..]);
    (copied > 0).then_some(corrected)
}
