//! Coverage of a line: a changing command runs only if nothing that it names is dropped.
//!
//! A noun that belongs neither to the operation nor to an argument, or a name that a preposition joins to the request
//! (`with Claude`), may change what was meant. Such a line is refused instead of being run without the word.

use super::target;
use crate::{
    arrow::{
        annotate_tokens::{AnnotatedToken, TokenKind},
        args::{ArgKind, Arguments},
        classify::Candidate,
        intent::{ClauseRole, Intent},
        lex::Span,
        lexicon::{FunctionWord, Noun, Prep},
    },
    tools::{SideEffect, Tool},
};

/// The first word of a changing request that neither the operation nor an argument took.
pub(super) fn dropped_word(
    terms: &[AnnotatedToken],
    intent: &Intent,
    arguments: &Arguments<'_>,
    candidate: &Candidate,
) -> Option<Span> {
    let looks = matches!(candidate.tool.spec().weight, SideEffect::Looks);
    if looks || matches!(candidate.tool, Tool::Think | Tool::Search | Tool::Delegate) {
        return None;
    }
    let joined = |prep: Option<Prep>| matches!(prep, Some(Prep::With | Prep::By));
    let name = arguments.items.iter().find(|arg| arg.kind == ArgKind::Name && joined(arg.prep));
    let asked = |at: usize| matches!(intent.zones.get(at), Some(ClauseRole::Main));
    let noun = terms.iter().enumerate().find(|(at, term)| {
        asked(*at)
            && *at != candidate.verb
            && term.kind == TokenKind::Word
            && (term.entry.verb.is_none() || terms[at.saturating_sub(1)].entry.func == Some(FunctionWord::Det))
            && term.entry.func.is_none()
            && term.entry.option.is_none()
            && term
                .entry
                .noun
                .is_some_and(|noun| !belongs(candidate.tool, noun) || is_manner(terms, *at, noun, candidate.tool))
    });
    name.map(|arg| arg.text).or_else(|| noun.map(|(_, term)| term.text))
}

/// `in the background`, `with the researcher`: how it is run, which only `delegate` and `continue` take.
fn is_manner(terms: &[AnnotatedToken], at: usize, noun: Noun, tool: Tool) -> bool {
    let before = terms[..at].iter().rev().find(|term| term.entry.func != Some(FunctionWord::Det));
    match before.and_then(|before| before.entry.prep) {
        Some(Prep::In) => noun == Noun::Background,
        Some(Prep::With | Prep::By) => noun == Noun::Agent && tool != Tool::Continue,
        _ => false,
    }
}

/// True if the operation may name this beside its arguments.
fn belongs(tool: Tool, noun: Noun) -> bool {
    let own = match tool {
        Tool::Switch => matches!(
            noun,
            Noun::Parent
                | Noun::Root
                | Noun::Next
                | Noun::Previous
                | Noun::Leaf
                | Noun::Sibling
                | Noun::Start
                | Noun::End
                | Noun::Level
        ),
        Tool::Continue => matches!(noun, Noun::Agent | Noun::Line | Noun::Maximum | Noun::Next),
        Tool::Pin => matches!(noun, Noun::Doc | Noun::Section),
        Tool::Prune => matches!(noun, Noun::Everything | Noun::End),
        Tool::Respond => noun == Noun::Line,
        Tool::Merge => noun == Noun::Result,
        _ => false,
    };
    own || noun == Noun::Times || target::takes(tool, noun, None)
}
