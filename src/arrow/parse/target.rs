//! Target of an operation: the named node, or something at it or beside it.
//!
//! `delete the last sentence of a7x2` names a node and is not about it. So a noun that a preposition joins to an id, or
//! that the id possesses, has to be one that the operation takes the node for, or makes there.

use crate::{
    arrow::{
        annotate_tokens::{AnnotatedToken, TokenKind},
        classify::Candidate,
        intent::{ClauseRole, Intent},
        lexicon::{FunctionWord, Noun, Prep},
        option_name::OptionName,
    },
    tools::Tool,
};

/// True if what the request is about is something else than the node it names.
pub(super) fn is_other(terms: &[AnnotatedToken], intent: &Intent, candidate: &Candidate) -> bool {
    let asked = |at: usize| matches!(intent.zones.get(at), Some(ClauseRole::Main | ClauseRole::Relative));
    terms.iter().enumerate().skip(candidate.verb).any(|(at, term)| {
        // `everything but a7x2`
        if (term.entry.func == Some(FunctionWord::But)
            || at > candidate.verb && term.entry.option == Some(OptionName::Exclude))
            && terms.get(at + 1).is_some_and(AnnotatedToken::is_id)
            && asked(at + 1)
        {
            return true;
        }
        // `include more snow in a7x2`
        let bare = matches!(
            candidate.tool,
            Tool::Prune | Tool::Restore | Tool::Exclude | Tool::Include | Tool::Copy | Tool::Move | Tool::Pin
        );
        let object = at.checked_sub(1).is_some_and(|before| {
            terms[before].entry.prep.is_none()
                && !matches!(terms[before].kind, TokenKind::OptionName(_) | TokenKind::Flag | TokenKind::Mark(_))
        });
        if bare
            && object
            && asked(at)
            && at > candidate.verb
            && (term.kind == TokenKind::Name
                || term.kind == TokenKind::Word
                    && term.entry.noun.is_none()
                    && term.entry.func.is_none()
                    && terms[at - 1].entry.func == Some(FunctionWord::Det))
            && matches!(joined(terms, at), Some(Prep::Of | Prep::In | Prep::From | Prep::On | Prep::After))
        {
            return terms[candidate.verb + 1..at].iter().any(|term| term.entry.func.is_some());
        }
        if !asked(at) || term.kind != TokenKind::Word {
            return false;
        }
        let Some(noun) = term.entry.noun else { return false };
        // `prune a7x2 over my dead body`
        let governs = terms[candidate.verb + 1..at.max(candidate.verb + 1)]
            .iter()
            .rev()
            .take(3)
            .find(|term| !matches!(term.entry.func, Some(FunctionWord::Det | FunctionWord::Adjective)))
            .and_then(|term| term.entry.prep);
        let acts = matches!(candidate.tool, Tool::Prune | Tool::Restore | Tool::Undo | Tool::Redo);
        if acts && matches!(governs, Some(Prep::Over | Prep::Against | Prep::About | Prep::Through)) {
            return true;
        }
        let joined = joined(terms, at);
        let possessed = terms[at.saturating_sub(3)..at]
            .iter()
            .any(|owner| owner.kind == TokenKind::Id && !owner.bracketed && owner.whole.end > owner.text.end);
        (joined.is_some() || possessed) && !takes(candidate.tool, noun, joined)
    })
}

/// The preposition that joins the term at `at` to an id.
fn joined(terms: &[AnnotatedToken], at: usize) -> Option<Prep> {
    let next = terms.get(at + 1).and_then(|next| next.entry.prep);
    next.filter(|_| terms[at + 2..].iter().take(2).any(AnnotatedToken::is_id))
}

/// True if the operation may be said to be about this at a node.
pub(super) fn takes(tool: Tool, noun: Noun, joined: Option<Prep>) -> bool {
    if matches!(noun, Noun::Node | Noun::Branch | Noun::Here) {
        return true;
    }
    match tool {
        Tool::Continue => matches!(
            noun,
            Noun::Continuation | Noun::Alternative | Noun::Version | Noun::Reply | Noun::Text | Noun::Token
        ),
        Tool::Stash => matches!(noun, Noun::Summary | Noun::Text | Noun::Stash | Noun::Label),
        Tool::Restore => noun == Noun::Restoration,
        Tool::Prune => noun == Noun::Everything && joined == Some(Prep::From),
        Tool::Annotate => matches!(noun, Noun::Annotation | Noun::Text),
        Tool::Bookmark | Tool::Unbookmark => matches!(noun, Noun::Bookmark | Noun::Label),
        Tool::Respond => matches!(
            noun,
            Noun::Agent
                | Noun::Context
                | Noun::Background
                | Noun::Instruction
                | Noun::Reply
                | Noun::Continuation
                | Noun::Text
        ),
        Tool::Link | Tool::Unlink => matches!(noun, Noun::Link | Noun::Doc | Noun::Tree),
        Tool::Drop => matches!(noun, Noun::Pin | Noun::Stash | Noun::Label),
        Tool::Pin => matches!(noun, Noun::Pin | Noun::Context | Noun::Text),
        Tool::Copy => noun == Noun::Copy,
        Tool::Split => matches!(noun, Noun::Text | Noun::Character),
        Tool::Exclude | Tool::Include => noun == Noun::Context,
        Tool::Edit => matches!(noun, Noun::Text | Noun::Version),
        Tool::Merge => matches!(noun, Noun::Version | Noun::Text | Noun::Continuation | Noun::Reply),
        Tool::Switch => noun == Noun::Tree,
        Tool::Move => false,
        _ => true,
    }
}
