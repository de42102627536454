//! Nodes among the arguments that do not look like ids: words without digits, places and labels.

use super::collect_args;
use crate::{
    arrow::{
        Relative,
        annotate_tokens::{self, AnnotatedToken, TokenKind},
        args::{self, Arguments},
        classify::Candidate,
        intent::Intent,
        lexicon::{self, Noun, Prep},
        node_words,
    },
    tools::Tool,
};

/// `move rage to fade`: what is moved and where to, though one of them has no digit and so did not count as an id.
pub(super) fn names_two(line: &str, arguments: &Arguments<'_>, candidate: &Candidate) -> bool {
    let node = |arg: &args::Arg| {
        arg.kind == args::ArgKind::Id
            || arg.kind == args::ArgKind::Name && annotate_tokens::could_be_id(arg.text.of(line))
    };
    match arguments.items.as_slice() {
        [what, to] => {
            what.at == candidate.verb + 1 && matches!(to.prep, Some(Prep::To | Prep::Under)) && node(what) && node(to)
        }
        _ => false,
    }
}

/// `move a7x2 under the root`: two nodes, one of them a place.
pub(super) fn moves_place(line: &str, terms: &[AnnotatedToken], intent: &Intent, candidate: &Candidate) -> bool {
    let mut trial = Candidate { tool: Tool::Move, ..*candidate };
    let mut terms = terms.to_vec();
    let mut arguments = collect_args(line, &terms, intent, &trial);
    let promoted = node_words::promote_places(line, &mut terms, intent, &mut arguments, &mut trial);
    let node = |arg: &&args::Arg| match arg.kind {
        // `move back to a7x2` goes there.
        args::ArgKind::Place(place) => place != Relative::Back || arg.prep == Some(Prep::To),
        // `move a7x2 under "the opening"`
        args::ArgKind::Text { .. } => matches!(arg.prep, Some(Prep::To | Prep::Under)),
        kind => matches!(
            kind,
            args::ArgKind::Id | args::ArgKind::BookmarkLabel { .. } | args::ArgKind::AgentPosition { .. }
        ),
    };
    promoted.is_ok() && arguments.items.iter().filter(node).count() == 2
}

/// Takes words that could be ids without digits for ids, where the operation wants a node and a node stands.
///
/// One id in ten has no digit. Short ones look like words, so these count only beside another argument.
pub(super) fn promote_bare_ids(
    line: &str,
    terms: &[AnnotatedToken],
    arguments: &mut Arguments<'_>,
    candidate: &Candidate,
    said: &str,
) {
    let wanted = match candidate.tool {
        tool if node_words::takes_two(tool) => 2,
        tool => usize::from(tool.acts_on_nodes()),
    };
    let is_id =
        |arg: &args::Arg| matches!(arg.kind, args::ArgKind::Id | args::ArgKind::IdRange { .. } | args::ArgKind::File);
    let found = arguments.items.iter().filter(|arg| is_id(arg)).count();
    let beside = arguments.items.iter().any(|arg| arg.kind != args::ArgKind::Name);
    // `view fade`: an operation's own name and nothing else.
    // `link fade to rage`: its name and the two that it wants.
    let outright = candidate.verb <= 1 && arguments.items.len() == wanted.max(1) && said == candidate.tool.name();
    let lists =
        |terms: &[AnnotatedToken], at: usize| matches!(terms[at].kind, TokenKind::Mark(',' | '+' | '/' | '&' | '|'));
    let mut missing = wanted.max(found) - found;
    // Where the last id stands: another one may follow it.
    let mut last = None;
    for arg in &mut arguments.items {
        let text = arg.text.of(line);
        let before = arg.at.checked_sub(1).and_then(|at| terms.get(at));
        let stands = arg.at == candidate.verb + 1
            || before.is_some_and(|term| matches!(term.entry.noun, Some(Noun::Node | Noun::Branch)))
            || wanted == 2
                && last.is_some_and(|last| last + 1 == arg.at || last + 2 == arg.at && lists(terms, last + 1))
            || before.is_some_and(|term| term.entry.prep.is_some() || term.entry.func.is_none())
                && matches!(
                    arg.prep,
                    Some(
                        Prep::From
                            | Prep::To
                            | Prep::Into
                            | Prep::Under
                            | Prep::On
                            | Prep::Of
                            | Prep::At
                            | Prep::Against
                    )
                )
            || wanted == 2 && matches!(arg.prep, Some(Prep::With | Prep::Between));
        if missing > 0
            && arg.kind == args::ArgKind::Name
            && arg.key.is_none()
            && stands
            && !(candidate.tool == Tool::Switch && candidate.features.names_place())
            && annotate_tokens::could_be_id(text)
            && !is_misspelt_place(text)
            && (beside || text.len() > 5 || outright)
        {
            arg.kind = args::ArgKind::Id;
            missing -= 1;
        }
        if is_id(arg) {
            last = Some(arg.at);
        }
    }
}

/// True for a typo of a place: `go to parnet`.
fn is_misspelt_place(text: &str) -> bool {
    lexicon::correct_typo(text).is_some_and(|word| matches!(word, "parent" | "root" | "leaf" | "sibling"))
}
