//! Questions that a command answers.

use super::word;
use crate::{
    arrow::{
        annotate_tokens::{AnnotatedToken, TokenKind},
        lexicon::{Form, FunctionWord, Noun, Prep, Verb},
    },
    tools::TABLE,
};

/// The verb of the command that answers a question, if one does.
pub(in crate::arrow) fn question(line: &str, terms: &[AnnotatedToken]) -> Option<Verb> {
    let end = terms.iter().position(|term| term.is('?')).unwrap_or(terms.len());
    let terms = &terms[..end];
    let known = terms.iter().all(|term| {
        (term.kind != TokenKind::Name || word(line, std::slice::from_ref(term), 0) == "many")
            && !matches!(
                term.entry.func,
                Some(FunctionWord::If | FunctionWord::Or | FunctionWord::Modal | FunctionWord::Not)
            )
    });
    // `what a note on a7x2!`
    if matches!(word(line, terms, 1), "a" | "an") {
        return None;
    }
    let all = terms;
    let first = word(line, terms, 0).to_ascii_lowercase();
    let ids = terms.iter().filter(|term| term.is_id()).count();
    let nouns = |noun: Noun| terms.iter().any(|term| term.entry.noun == Some(noun));
    let other = terms.iter().any(|term| {
        matches!(term.entry.verb, Some((verb, form)) if term.entry.noun.is_none() && form != Form::Third
            && !matches!(verb, Verb::Get | Verb::See | Verb::Respond | Verb::Read | Verb::Compare | Verb::Stash | Verb::Go | Verb::Pin | Verb::Link
                | Verb::Bookmark | Verb::Leave | Verb::Keep | Verb::Put | Verb::Add | Verb::Make | Verb::Carry | Verb::Write | Verb::Name))
    });
    let names_tool =
        terms.iter().skip(1).any(|term| TABLE.iter().any(|row| row.name.eq_ignore_ascii_case(term.text.of(line))));
    if matches!(first.as_str(), "what" | "what's")
        && ids == 0
        && names_tool
        && !nouns(Noun::Memory)
        && terms.iter().any(|term| matches!(word(line, std::slice::from_ref(term), 0), "do" | "mean"))
        && terms.len() <= 6
    {
        return Some(Verb::Help);
    }
    if all.iter().filter(|term| term.kind == TokenKind::File).count() == 1
        && ids == 0
        && matches!(first.as_str(), "what" | "what's")
        && !other
    {
        return Some(Verb::See);
    }
    let asks = |words: &[&str]| {
        terms.iter().any(|term| words.iter().any(|w| word(line, std::slice::from_ref(term), 0).eq_ignore_ascii_case(w)))
    };
    if ids == 2
        && matches!(first.as_str(), "what" | "what's" | "how")
        && asks(&[
            "differ",
            "different",
            "changed",
            "changes",
            "differs",
            "separates",
            "distinguishes",
            "compared",
            "new",
        ])
    {
        return Some(Verb::Compare);
    }
    if matches!(first.as_str(), "how" | "how's")
        && ids == 0
        && nouns(Noun::Tree)
        && asks(&["look", "looks", "looking", "does", "is"])
        && asks(&["tree"])
        && !asks(&["use", "draw", "call"])
    {
        return Some(Verb::See);
    }
    if first == "how" && ids == 0 && names_tool {
        return Some(Verb::Help);
    }
    let listed = [
        Noun::Sibling,
        Noun::Continuation,
        Noun::Annotation,
        Noun::Link,
        Noun::Version,
        Noun::Bookmark,
        Noun::Memory,
        Noun::Stash,
        Noun::Todo,
        Noun::Plan,
        Noun::Difference,
    ];
    if ids == 2 && terms.iter().any(|term| term.entry.prep == Some(Prep::Between)) {
        return Some(Verb::Compare);
    }
    let counted = terms.iter().any(|term| matches!(term.kind, TokenKind::Number(_) | TokenKind::Range(..)));
    if nouns(Noun::Turn) && counted && ids == 0 && first == "what" {
        return Some(Verb::Recall);
    }
    if first == "what" && ids == 0 && nouns(Noun::Tool) && nouns(Noun::Result) && names_tool {
        return Some(Verb::Recall);
    }
    if first == "what" && ids == 0 && nouns(Noun::Tool) && asks(&["are", "do", "can", "have"]) && terms.len() <= 6 {
        return Some(Verb::Help);
    }
    if !known || other {
        return None;
    }
    let asks_how = terms.iter().any(|term| matches!(term.entry.noun, Some(Noun::Help | Noun::Alternative)));
    if first == "what" && names_tool && asks_how && ids == 0 {
        return Some(Verb::Help);
    }
    match first.as_str() {
        "how" if word(line, terms, 1) == "many" && listed.iter().any(|noun| nouns(*noun)) => Some(Verb::See),
        // `where am I`
        "where" if ids == 0 && matches!(word(line, terms, 1), "am" | "are") && asks(&["i", "we"]) => Some(Verb::Tree),
        "where" => (ids == 2 && terms.iter().any(|term| matches!(term.entry.verb, Some((Verb::Compare, _)))))
            .then_some(Verb::Compare),
        "what" | "which" | "who" | "what's" | "who's" if listed.iter().any(|noun| nouns(*noun)) => Some(Verb::See),
        "what" | "what's" if ids == 1 => Some(Verb::See),
        "how" if ids == 2 => Some(Verb::Compare),
        _ => None,
    }
}
