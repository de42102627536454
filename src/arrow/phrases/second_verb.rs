//! Verbs behind the verb of a request that ask for nothing more: `call it "x"`.

use super::{bears_content, embeds, word};
use crate::arrow::{
    annotate_tokens::{AnnotatedToken, TokenKind},
    lexicon::{Noun, Verb},
};

/// True if a second verb only adds to what the first asks for, as `call it "x"` does.
pub(in crate::arrow) fn goes_with(first: Verb, second: Verb, line: &str, terms: &[AnnotatedToken]) -> bool {
    if first == Verb::Help && !terms.iter().any(AnnotatedToken::is_id) {
        return true;
    }
    let own = terms.iter().skip(1).any(|term| term.is_id() || term.kind == TokenKind::File);
    let text = terms.iter().any(AnnotatedToken::is_text);
    match second {
        Verb::Name => text || !own,
        // `decide: constraint: "x"`
        Verb::Decide if first == Verb::Decide => !own,
        Verb::Limit => true,
        // `duplicate a7x2 and place the duplicate under the root`
        Verb::Put if first == Verb::Copy => !text,
        Verb::Exclude | Verb::Include | Verb::Skip | Verb::Leave => matches!(first, Verb::Search | Verb::Find),
        Verb::Use => matches!(first, Verb::Continue | Verb::Carry | Verb::Try | Verb::Get | Verb::See),
        Verb::Pause if matches!(first, Verb::Tree | Verb::Draw | Verb::See) => !own,
        Verb::Add | Verb::Resume | Verb::Cancel | Verb::Finish | Verb::Check if first == Verb::Todo => true,
        // `item 3 is done, mark it finished`
        Verb::Bookmark if first == Verb::Todo => {
            terms.iter().any(|term| matches!(term.text.of(line), "done" | "finished"))
        }
        Verb::Compare => (embeds(first) || first == Verb::Put) && !own,
        Verb::Pause => {
            matches!(first, Verb::Delegate | Verb::Hand) && word(line, terms, 0).eq_ignore_ascii_case("wait")
        }
        // `search "x" and dig deep`
        Verb::Find => first == Verb::Search && !own && !text,
        // `say five levels deep`
        Verb::Respond if terms.get(1).is_some_and(|next| matches!(next.kind, TokenKind::Number(_))) => true,
        Verb::Annotate => matches!(first, Verb::Link | Verb::Add | Verb::Make | Verb::Put) && !own,
        Verb::Respond => bears_content(first) && !own && word(line, terms, 0).eq_ignore_ascii_case("say"),
        Verb::Write => bears_content(first) && !own && text,
        Verb::Take | Verb::Bring => !own && matches!(first, Verb::Go | Verb::Decide | Verb::Move),
        // `open a7x2 and let me have its annotations`
        Verb::Get if first == Verb::See => !own && terms.iter().any(|term| term.entry.noun == Some(Noun::Annotation)),
        Verb::Get | Verb::Make => !own && first != Verb::See,
        // `make one node of them, merge`: the light verb was only a beginning.
        _ if first == Verb::Make && terms.get(1).is_none_or(|next| matches!(next.kind, TokenKind::Mark(_))) => true,
        _ if own || text => false,
        // `hold a7x2 up against b3k9 and show me the differences`
        Verb::See if first == Verb::Keep => terms.iter().any(names_difference),
        second if second == first => terms.len() <= 1 || word(line, terms, 1) != "it",
        Verb::See | Verb::List => embeds(first) || matches!(first, Verb::Put | Verb::Read | Verb::Bring),
        Verb::Read => embeds(first),
        Verb::Move | Verb::Go | Verb::Carry => false,
        _ => false,
    }
}

/// True for `differences`, and for the verb of `wherein they differ`.
fn names_difference(term: &AnnotatedToken) -> bool {
    term.entry.noun == Some(Noun::Difference) || matches!(term.entry.verb, Some((Verb::Compare, _)))
}
