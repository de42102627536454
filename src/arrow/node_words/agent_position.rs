//! The position of an agent in words: `where the planner is`, `planner's position`.

use crate::arrow::{
    annotate_tokens::{AnnotatedToken, TokenKind},
    lex::Span,
    lexicon::{FunctionWord, Noun, Prep, Verb},
};

/// The agent of `where the planner is`, which begins at `at`, and the index behind it.
pub(super) fn where_agent_is(line: &str, terms: &[AnnotatedToken], at: usize) -> Option<(TokenKind, Span, usize)> {
    // What follows another word describes that: `I want to stand where the uncle stands`.
    let before = &terms[at - 1];
    let leads = before.entry.prep.is_some() || before.entry.func == Some(FunctionWord::And);
    let det = terms.get(at + 1).is_some_and(|next| next.entry.func == Some(FunctionWord::Det));
    let subject = at + 1 + usize::from(det);
    // `where the agent "reviewer" is`
    let titled = terms.get(subject).is_some_and(|term| term.entry.noun == Some(Noun::Agent))
        && terms.get(subject + 1).is_some_and(|name| name.is_text() || name.kind == TokenKind::Name);
    let subject = subject + usize::from(titled);
    let agent = terms.get(subject).filter(|term| {
        titled || term.kind == TokenKind::Name || term.entry.noun == Some(Noun::Agent) && term.entry.func.is_none()
    })?;
    let leads = leads || before.entry.base() == Some(Verb::Go) && subject + 2 >= terms.len();
    // `where the planner currently is`
    let adverb = terms.get(subject + 1).is_some_and(|term| term.text.of(line).ends_with("ly"));
    let subject = subject + usize::from(adverb);
    let verb = terms.get(subject + 1).map_or("", |verb| verb.text.of(line));
    let shown = at > 1 && before.text.of(line) == "me" && (at == 2 || terms[at - 2].entry.base() == Some(Verb::See));
    // `the node where the human is`
    let is_place = before.entry.noun == Some(Noun::Node) || matches!(before.text.of(line), "place" | "spot");
    let of_node = is_place
        && at > 1
        && (terms[at - 2].entry.func == Some(FunctionWord::Det) || terms[at - 2].entry.prep.is_some());
    let stands = (at == 1 || shown || leads || of_node) && matches!(verb, "is" | "stands" | "reads" | "works");
    let escapes = agent.kind == (TokenKind::Text { escapes: true });
    stands.then_some((TokenKind::AgentPosition { escapes }, agent.text, subject + 2))
}

/// True for `planner's`, but not for `today's` or `it's`.
pub(super) fn is_owner(line: &str, term: &AnnotatedToken) -> bool {
    let is_name = term.kind == TokenKind::Name || term.entry.noun == Some(Noun::Agent);
    is_name && matches!(line.get(term.text.end..term.whole.end), Some("'s" | "’s"))
}

pub(super) fn is_position(line: &str, terms: &[AnnotatedToken], at: usize) -> bool {
    terms.get(at).is_some_and(|term| matches!(term.text.of(line), "position" | "place" | "spot"))
}

/// The agent of `position of the agent "editor"`, which begins at `at`, and the index behind it.
pub(super) fn position_of_agent(terms: &[AnnotatedToken], at: usize) -> Option<(TokenKind, Span, usize)> {
    let of = terms.get(at + 1).is_some_and(|of| of.entry.prep == Some(Prep::Of));
    let det = terms.get(at + 2).is_some_and(|next| next.entry.func == Some(FunctionWord::Det));
    let noun = at + 2 + usize::from(det);
    let titled = terms.get(noun).is_some_and(|noun| noun.entry.noun == Some(Noun::Agent));
    let end = noun + usize::from(titled);
    let name = terms.get(end).filter(|name| name.kind == TokenKind::Name || titled && name.is_text())?;
    let escapes = name.kind == (TokenKind::Text { escapes: true });
    (of && at > 0).then_some((TokenKind::AgentPosition { escapes }, name.text, end + 1))
}
