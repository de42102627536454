//! Words around an argument that name or describe it.

use crate::arrow::{
    annotate_tokens::{AnnotatedToken, TokenKind},
    lexicon::{Form, FunctionWord, Noun, Verb},
    option_name::OptionName,
};

/// True if the word at `at` only describes the node that is named behind it, or a noun: `the funeral scene a7x2`,
/// `a rough summary`, `from the pruned pile`.
pub(in crate::arrow) fn describes(terms: &[AnnotatedToken], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| &terms[before]);
    let next = terms.get(at + 1);
    let noun =
        next.is_some_and(|next| next.kind == TokenKind::Word && next.entry.noun.is_some() && next.entry.verb.is_none());
    // `two fresh continuations`
    let leads = |before: &AnnotatedToken| {
        before.entry.func == Some(FunctionWord::Det) || matches!(before.kind, TokenKind::Number(_))
    };
    let names_tool = next.is_some_and(|next| next.entry.noun == Some(Noun::Tool));
    if noun && !names_tool && before.is_some_and(leads) {
        return true;
    }
    if before.is_some_and(|before| matches!(before.entry.verb, Some((Verb::Prune | Verb::Remove, Form::Past)))) {
        return true;
    }
    let is_part = |term: &AnnotatedToken| {
        matches!(term.kind, TokenKind::Name)
            || matches!(term.entry.func, Some(FunctionWord::Adjective | FunctionWord::One))
            || term.kind == TokenKind::Word && term.entry.noun.is_some()
    };
    let ahead = terms[at + 1..].iter().position(|term| !is_part(term)).map(|n| at + 1 + n);
    // `the funeral scene, a7x2`
    let ahead = ahead.and_then(|ahead| terms.get(ahead + usize::from(terms[ahead].is(','))));
    let behind = terms[..at].iter().rposition(|term| !is_part(term)).map(|n| &terms[n]);
    ahead.is_some_and(AnnotatedToken::is_id)
        && behind
            .is_some_and(|term| term.entry.func == Some(FunctionWord::Det) || matches!(term.kind, TokenKind::Number(_)))
}

/// True if a verb may stand among the arguments: it leads to one, or says how the operation is done.
pub(in crate::arrow) const fn helps(verb: Verb) -> bool {
    matches!(
        verb,
        Verb::Name
            | Verb::Limit
            | Verb::Exclude
            | Verb::Include
            | Verb::Use
            | Verb::Skip
            | Verb::See
            | Verb::Get
            | Verb::Respond
            | Verb::Add
            | Verb::Finish
            | Verb::Cancel
            | Verb::Resume
            | Verb::Search
            | Verb::Grep
            | Verb::Pause
            | Verb::Compare
            | Verb::Go
            | Verb::Leave
            | Verb::Annotate
            | Verb::Write
            | Verb::Read
            | Verb::Carry
            | Verb::List
    )
}

/// The option that a flag names.
pub(in crate::arrow) fn flag(name: &str) -> Option<OptionName> {
    match name {
        "m" => Some(OptionName::Content),
        "view" => Some(OptionName::What),
        name => OptionName::named(name),
    }
}

/// The part of a name that this noun stands behind.
pub(in crate::arrow) const fn behind_name(noun: Noun) -> Option<OptionName> {
    match noun {
        Noun::Section | Noun::Doc | Noun::Tree | Noun::Agent | Noun::Tool => named(noun),
        Noun::Stash => Some(OptionName::Stash),
        _ => None,
    }
}

/// The part that an argument has behind this noun.
pub(in crate::arrow) const fn named(noun: Noun) -> Option<OptionName> {
    Some(match noun {
        Noun::Label => OptionName::Label,
        Noun::Section => OptionName::Section,
        Noun::Doc => OptionName::Doc,
        Noun::Agent => OptionName::Agent,
        Noun::Tool => OptionName::Tool,
        Noun::Outcome => OptionName::Outcome,
        Noun::Background => OptionName::Context,
        Noun::Query => OptionName::Query,
        Noun::Depth => OptionName::Depth,
        Noun::Maximum => OptionName::Limit,
        Noun::Reason => OptionName::Note,
        Noun::Text => OptionName::Content,
        Noun::Tree => OptionName::Tree,
        Noun::Site => OptionName::Include,
        _ => return None,
    })
}

/// Resolves `\"`, `\\`, `\n` and `\t`; what else a backslash stands before stays as it is.
pub(in crate::arrow) fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match characters.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some(c) if is_escapable(c) => plain.push(c),
            Some(c) => plain.extend(['\\', c]),
            None => plain.push('\\'),
        }
    }
    plain
}

/// True for a character that a backslash before it escapes.
pub(in crate::arrow) const fn is_escapable(c: char) -> bool {
    matches!(c, 'n' | 't' | '"' | '\\' | '\'' | '“' | '”' | '’' | '»')
}

/// `node="a7x2"`, `from=verge`: an id, because it is said to be one. A prefix of one has two characters at least.
pub(in crate::arrow) fn names_node(key: Option<OptionName>, value: &str) -> bool {
    matches!(
        key,
        Some(
            OptionName::Node
                | OptionName::From
                | OptionName::To
                | OptionName::Branch
                | OptionName::ContentOf
                | OptionName::Path
                | OptionName::Below
        )
    ) && value.len() > 1
        && !["none", "null", "nil", "true", "false", "undefined"].iter().any(|word| value.eq_ignore_ascii_case(word))
        && value.bytes().all(|b| b.is_ascii_alphanumeric())
}
