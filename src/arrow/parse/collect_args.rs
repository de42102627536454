//! The arguments of a request, from the clause that asks and, where that only points, from what stands before it.

use crate::{
    arrow::{
        annotate_tokens::{AnnotatedToken, TokenKind},
        args::{self, Arguments},
        classify::Candidate,
        intent::{self, ClauseRole, Intent},
        lexicon::{FunctionWord, Noun, Prep},
        option_name::OptionName,
    },
    tools::Tool,
};

/// The arguments: those of the clause that asks; where it only points (`prune it`), also what stands before.
pub(super) fn collect_args<'a>(
    line: &'a str,
    terms: &[AnnotatedToken],
    intent: &Intent,
    candidate: &Candidate,
) -> Arguments<'a> {
    let asked = |zone| matches!(zone, ClauseRole::Main | ClauseRole::Relative);
    let arguments = args::gather(line, terms, intent, candidate.verb, asked);
    let has_before = intent.zones.contains(&ClauseRole::Before);
    let points = terms.get(candidate.verb + 1).is_some_and(|term| term.entry.func == Some(FunctionWord::It));
    let concrete =
        |arg: &args::Arg| matches!(arg.kind, args::ArgKind::Id | args::ArgKind::IdRange { .. } | args::ArgKind::File);
    // `a7x2: copy under b3k9`
    let pair = matches!(candidate.tool, Tool::Copy | Tool::Move | Tool::Link | Tool::Unlink | Tool::Diff | Tool::Merge);
    let few = usize::from(pair);
    // `with Claude, continue from a7x2`
    let with = candidate.tool == Tool::Continue
        && terms.first().is_some_and(|first| matches!(first.entry.prep, Some(Prep::With | Prep::By)));
    let counts = candidate.tool == Tool::Continue && counts_before(terms, intent);
    let needs_more =
        has_before && (points || with || counts || arguments.items.iter().filter(|arg| concrete(arg)).count() <= few);
    if needs_more {
        let both = |zone| asked(zone) || zone == ClauseRole::Before;
        let lone = arguments.items.iter().all(|arg| matches!(arg.kind, args::ArgKind::Text { .. }));
        let mut both = args::gather(line, terms, intent, candidate.verb, both);
        // What stands before may tell anything; only ids, names of documents and strings of it are meant.
        both.items.retain(|arg| {
            arg.at > intent.verb.map_or(candidate.verb, |(verb, _)| verb.min(candidate.verb))
                || arg.kind == args::ArgKind::Name
                    && arg.key.is_some_and(|key| !matches!(key, OptionName::Label | OptionName::Content))
                || arg.kind == args::ArgKind::Name
                    && candidate.tool == Tool::Continue
                    && matches!(arg.prep, Some(Prep::With | Prep::By))
                || (lone || arg.key.is_some())
                    && matches!(arg.kind, args::ArgKind::Number(_) | args::ArgKind::Range(..))
                || counts && matches!(arg.kind, args::ArgKind::Number(_))
                || matches!(
                    arg.kind,
                    args::ArgKind::Id
                        | args::ArgKind::IdRange { .. }
                        | args::ArgKind::BookmarkLabel { .. }
                        | args::ArgKind::AgentPosition { .. }
                        | args::ArgKind::File
                        | args::ArgKind::Text { .. }
                )
        });
        return both;
    }
    // `reword a7x2, it drags: "She ran."`
    let has_text = arguments.items.iter().any(|arg| matches!(arg.kind, args::ArgKind::Text { .. }));
    let takes_text = matches!(candidate.tool, Tool::Edit | Tool::Annotate | Tool::Respond);
    if takes_text && !has_text && is_text_at_end(terms) {
        let mut all = args::gather(line, terms, intent, candidate.verb, |_| true);
        let last = terms.len() - 1;
        let known: Vec<usize> = arguments.items.iter().map(|arg| arg.at).collect();
        all.items.retain(|arg| arg.at == last || known.contains(&arg.at));
        return all;
    }
    arguments
}

/// `two takes, please, continuing from a7x2`: true if what stands before the request says how many are wanted.
fn counts_before(terms: &[AnnotatedToken], intent: &Intent) -> bool {
    let counted = |noun: Noun| matches!(noun, Noun::Continuation | Noun::Version | Noun::Reply);
    let before =
        || terms.iter().zip(&intent.zones).filter(|(_, zone)| **zone == ClauseRole::Before).map(|(term, _)| term);
    // `the 2 versions differ` tells of others.
    let counts = before().next().is_some_and(|first| matches!(first.kind, TokenKind::Number(_)));
    let acts = |term: &AnnotatedToken| term.entry.verb.is_some() && term.entry.noun.is_none();
    counts
        && !before().any(|term| intent::is_finite(term) || acts(term))
        && before().skip(1).take(3).any(|term| term.entry.noun.is_some_and(counted))
}

/// True if the line ends with a colon and a text in quotes.
fn is_text_at_end(terms: &[AnnotatedToken]) -> bool {
    let [.., mark, text] = terms else { return false };
    text.is_text() && mark.is(':')
}
