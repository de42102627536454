//! Correction of misspelt words other than the verb.

use super::{AnnotatedToken, TokenKind};
use crate::arrow::lexicon::{self, Noun, Prep};

/// Longest line, in terms, whose typos are corrected.
const MAX_CORRECTED: usize = 24;

/// Reads unknown words as the known ones that they may be typos of. Names follow an option or a noun that has them, and stay.
/// Returns true if a word changed.
pub(in crate::arrow) fn correct_typos(line: &str, terms: &mut [AnnotatedToken]) -> bool {
    if terms.len() > MAX_CORRECTED {
        return false;
    }
    let mut is_changed = false;
    for at in 0..terms.len() {
        let text = terms[at].text.of(line);
        let before = at.checked_sub(1).map(|before| terms[before]);
        let is_named = before.is_some_and(|before| {
            matches!(before.kind, TokenKind::OptionName(_) | TokenKind::Mark(':' | '=' | '@') | TokenKind::Name)
                || matches!(before.entry.noun, Some(Noun::Agent | Noun::Doc | Noun::Label | Noun::Tool))
                // `tree sumary`
                || at > 1 && before.entry.noun == Some(Noun::Tree)
                || matches!(before.entry.prep, Some(Prep::With | Prep::By | Prep::As))
        });
        let is_word = text.len() > 2 && text.bytes().all(|byte| byte.is_ascii_lowercase());
        if terms[at].kind != TokenKind::Name || is_named || !is_word {
            continue;
        }
        if let Some(word) = lexicon::correct_typo(text) {
            let entry = lexicon::look_up(word);
            (terms[at].entry, terms[at].kind, terms[at].corrected) = (entry, TokenKind::Word, true);
            is_changed = true;
        }
    }
    is_changed
}
