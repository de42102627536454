//! Coverage of a line: a command runs only if nothing that it names is dropped.
//!
//! A noun that belongs neither to the operation nor to an argument, or a name that a preposition joins to the request
//! (`with Claude`), may change what was meant. Such a line is refused instead of being run without the word. A command
//! that only looks is refused if the word could have chosen another node or another way of looking.

use super::target;
use crate::{
    arrow::{
        annotate_tokens::{AnnotatedToken, TokenKind},
        args::{Arg, ArgKind, Arguments},
        classify::Candidate,
        intent::{ClauseRole, Intent},
        lex::Span,
        lexicon::{FunctionWord, Noun, Prep, Verb},
    },
    tools::{SideEffect, Tool},
};

/// The first word of a request that neither the operation nor an argument took.
pub(super) fn dropped_word(
    terms: &[AnnotatedToken],
    intent: &Intent,
    arguments: &Arguments<'_>,
    candidate: &Candidate,
) -> Option<Span> {
    let looks = matches!(candidate.tool.spec().side_effect, SideEffect::ReadOnly);
    if matches!(candidate.tool, Tool::Think | Tool::Search | Tool::Delegate | Tool::Help) {
        return None;
    }
    let name = arguments.items.iter().find(|arg| is_joined(arguments.line, arg, looks, candidate.tool));
    let asked = |at: usize| matches!(intent.zones.get(at), Some(ClauseRole::Main));
    let noun = terms.iter().enumerate().find(|(at, term)| {
        asked(*at)
            && *at != candidate.verb
            && term.kind == TokenKind::Word
            // The value of an option, as in `around:previous`.
            && !matches!(terms[at.saturating_sub(1)].kind, TokenKind::OptionName(_))
            && (term.entry.verb.is_none() || terms[at.saturating_sub(1)].entry.func == Some(FunctionWord::Det))
            && term.entry.func.is_none()
            && term.entry.option.is_none()
            // `its sibling a7x2`
            && !(term.entry.noun == Some(Noun::Sibling) && terms.get(at + 1).is_some_and(AnnotatedToken::is_id))
            // `after the word "harbour"`
            && !(term.entry.noun == Some(Noun::Word) && terms.get(at + 1).is_some_and(AnnotatedToken::is_text))
            && term.entry.noun.is_some_and(|noun| {
                let by_node = looks || matches!(candidate.tool, Tool::Undo | Tool::Redo);
                let dropped =
                    if by_node { chooses_node(candidate.tool, noun) } else { !belongs(candidate.tool, noun) };
                // `unpin the doc "d"`
                let pinned = candidate.group == Verb::Unpin && matches!(noun, Noun::Doc | Noun::Section);
                dropped && !pinned
                    || is_other_branch(arguments.line, terms, *at, candidate)
                    || is_manner(terms, *at, noun, candidate.tool)
            })
    });
    let repeats = matches!(candidate.tool, Tool::Undo | Tool::Redo | Tool::Continue | Tool::Switch);
    let twice = terms.iter().enumerate().find(|(at, term)| {
        !repeats && asked(*at) && !term.is_text() && matches!(term.text.of(arguments.line), "twice" | "thrice")
    });
    let described = terms
        .iter()
        .enumerate()
        .find(|(at, _)| asked(*at) && *at != candidate.verb && is_described(arguments.line, terms, *at, candidate));
    let form = terms
        .iter()
        .enumerate()
        .find(|(at, _)| asked(*at) && is_unknown_form(arguments.line, terms, *at, candidate.tool));
    let adverb = terms.iter().enumerate().find(|(at, term)| {
        !looks
            && asked(*at)
            && term.kind == TokenKind::Name
            // `a friendly note`
            && terms[at.saturating_sub(1)].entry.func != Some(FunctionWord::Det)
            && is_telling_adverb(term.text.of(arguments.line))
    });
    let whom = terms.iter().enumerate().find(|(at, _)| candidate.tool == Tool::Todo && is_addressee(terms, *at));
    // `at temperature 0.2`: an option that the operation does not have.
    let setting = terms.iter().enumerate().find(|(at, term)| {
        let number = terms.get(at + 1).is_some_and(|next| {
            next.gap && !next.is_id() && next.text.of(arguments.line).starts_with(|c: char| c.is_ascii_digit())
        });
        let joined =
            at.checked_sub(1).is_some_and(|before| matches!(terms[before].entry.prep, Some(Prep::With | Prep::At)));
        !looks && asked(*at) && term.kind == TokenKind::Name && joined && number
    });
    // `write doc:"d" append {"k":1}`: a text without quotes around it.
    let object = terms.iter().enumerate().find(|(at, term)| {
        !looks && term.is('{') && asked(at + 1) && terms.get(at + 1).is_some_and(AnnotatedToken::is_text)
    });
    name.map(|arg| arg.text).or_else(|| {
        object.or(noun).or(twice).or(whom).or(setting).or(form).or(adverb).or(described).map(|(_, term)| term.text)
    })
}

/// True for a name that a preposition joins to the request: `look at a7x2 with fresh eyes`.
fn is_joined(line: &str, arg: &Arg, looks: bool, tool: Tool) -> bool {
    let joined = arg.prep == Some(Prep::By)
        || !looks && matches!(arg.prep, Some(Prep::With | Prep::For | Prep::At | Prep::In))
        || limits(line, arg, tool);
    let is_idle = arg.prep == Some(Prep::In) && IN_PHRASES.contains(&arg.text.of(line));
    arg.kind == ArgKind::Name && joined && !is_idle
}

/// Words of phrases behind `in` that limit nothing: `in case we want it back`, `cut it in half`.
const IN_PHRASES: &[&str] = &["case", "half", "halves", "brief", "haste", "order", "front", "workspace"];

/// True for the name of `recall search "x" on weekdays`, `view a7x2 in red` or `respond a7x2 "x" as Ada`.
fn limits(line: &str, arg: &Arg, tool: Tool) -> bool {
    let words: &[&str] = match tool {
        Tool::Recall => &["in", "on", "from", "with"],
        Tool::View | Tool::Tree | Tool::List | Tool::Read | Tool::Diff | Tool::Memory | Tool::Help => &["in"],
        Tool::Respond => &["as"],
        // `continue a7x2 from the dog's view`
        Tool::Continue => return arg.prep == Some(Prep::From),
        _ => return false,
    };

    let before = line[..arg.text.start].split_whitespace().rfind(|word| !matches!(*word, "a" | "an"));
    let is_role = matches!(arg.text.of(line), "human" | "humans" | "user" | "owner");
    !is_role && before.is_some_and(|before| words.contains(&before))
}

/// `add a todo "x" for the researcher`
fn is_addressee(terms: &[AnnotatedToken], at: usize) -> bool {
    let lead = terms[..at].iter().rfind(|term| term.entry.func != Some(FunctionWord::Det));
    let is_for = lead.is_some_and(|lead| lead.entry.prep == Some(Prep::For));
    is_for && terms[at].kind == TokenKind::Word && terms[at].entry.noun == Some(Noun::Agent)
}

/// `view a7x2 as a table`: a form that the operation does not have.
fn is_unknown_form(line: &str, terms: &[AnnotatedToken], at: usize, tool: Tool) -> bool {
    const FORMS: &[&str] = &["table", "chart", "diagram", "graph", "grid", "spreadsheet", "timeline", "matrix"];
    let known = ["usual", "always", "promised", "agreed", "discussed", "planned", "before"];
    let lead = terms[..at].iter().rfind(|term| term.entry.func != Some(FunctionWord::Det));
    let is_as = lead.is_some_and(|lead| lead.entry.prep == Some(Prep::As) && lead.text.of(line) == "as");
    let ends = terms.get(at + 1).is_none_or(|next| matches!(next.kind, TokenKind::Mark(_)));
    let shows = matches!(tool, Tool::View | Tool::List | Tool::Tree | Tool::Diff | Tool::Read);
    let is_name = terms[at].kind == TokenKind::Name && !known.contains(&terms[at].text.of(line));
    // `view a7x2 as a side-by-side table`
    let is_said = |at: usize, words: &[&str]| !terms[at].is_text() && words.contains(&terms[at].text.of(line));
    let is_described = (is_said(at, FORMS) || tool == Tool::View && is_said(at, &["list"]))
        && (at.saturating_sub(5)..at.saturating_sub(1))
            .any(|lead| is_said(lead, &["as"]) && is_said(lead + 1, &["a", "an"]));
    shows && ends && (is_as && is_name || is_described)
}

/// `permanently`, `anonymously`: it says how, which no operation knows. The lexicon has those that only colour a request.
fn is_telling_adverb(word: &str) -> bool {
    word.len() > 4 && word.ends_with("ly")
}

/// `the human message`, `my last reply`: it describes a node, but the line names none, so the position would be taken.
fn is_described(line: &str, terms: &[AnnotatedToken], at: usize, candidate: &Candidate) -> bool {
    let on_node = candidate.tool.acts_on_nodes();
    let names_node = |term: &AnnotatedToken| {
        term.is_id()
            || matches!(
                term.kind,
                TokenKind::Place(_) | TokenKind::BookmarkLabel { .. } | TokenKind::AgentPosition { .. }
            )
    };
    let is_node = matches!(terms[at].entry.noun, Some(Noun::Node | Noun::Reply | Noun::Branch));
    // `link the human message to a7x2`: the id is not what is linked.
    let targets = matches!(candidate.tool, Tool::Link | Tool::Switch | Tool::Copy | Tool::Move);
    let is_target = |at: usize| {
        let before = terms[..at].iter().rev().find(|term| term.entry.func != Some(FunctionWord::Det));
        targets && before.is_some_and(|before| matches!(before.entry.prep, Some(Prep::To | Prep::Under | Prep::Into)))
    };
    let is_named = terms.iter().enumerate().any(|(other, term)| names_node(term) && (other < at || !is_target(other)));
    if !on_node || !is_node || is_named {
        return false;
    }
    let modifies = |term: &&AnnotatedToken| {
        let word = term.kind == TokenKind::Word
            && (term.entry.func == Some(FunctionWord::Adjective) || term.entry.noun.is_some());
        word || matches!(term.kind, TokenKind::Name | TokenKind::Number(_))
    };
    let count = terms[..at].iter().rev().take_while(modifies).count();
    let here = ["current", "present", "actual", "whole", "entire", "full", "complete", "new", "own", "single", "same"];
    let Some(article) = (at - count).checked_sub(1) else { return false };
    let both = terms[article].text.of(line) == "both";
    // `the scene where Ida lies`, but `the node where we are`
    let clause = terms.get(at + 1).is_some_and(|next| matches!(next.text.of(line), "where" | "in" | "with" | "about"))
        && terms.get(at + 2).is_some_and(|next| next.kind == TokenKind::Name);
    let tells = both || clause || terms[at - count..at].iter().any(|term| !here.contains(&term.text.of(line)));
    let definite = matches!(terms[article].text.of(line), "the" | "my" | "his" | "her" | "their" | "your" | "both");
    let joined = article.checked_sub(1).is_some_and(|before| {
        matches!(terms[before].entry.prep, Some(Prep::Of | Prep::From | Prep::At | Prep::Under | Prep::On | Prep::To))
    });
    let is_object = match candidate.tool {
        // `list the human messages` lists them.
        Tool::List | Tool::Tree => joined,
        // `go from the human message to a7x2`
        Tool::Switch => !joined,
        _ => true,
    };
    tells && definite && is_object
}

/// True if the noun beside the arguments of a looking command could have chosen another node.
fn chooses_node(tool: Tool, noun: Noun) -> bool {
    // `next to b3k9` is a preposition.
    let relative = matches!(noun, Noun::Parent | Noun::Previous | Noun::Leaf);
    match tool {
        Tool::List => relative || noun == Noun::Root,
        Tool::Undo | Tool::Redo => matches!(noun, Noun::Parent | Noun::Root | Noun::Leaf | Noun::Sibling),
        Tool::View | Tool::Tree | Tool::Diff | Tool::Read | Tool::Memory | Tool::Recall => {
            relative || noun == Noun::Sibling
        }
        _ => false,
    }
}

/// `the other branches`: no operation on nodes knows which that is.
fn is_other_branch(line: &str, terms: &[AnnotatedToken], at: usize, candidate: &Candidate) -> bool {
    let other = at.checked_sub(1).is_some_and(|before| matches!(terms[before].text.of(line), "other" | "others"));
    let lists = matches!(candidate.tool, Tool::List | Tool::Tree | Tool::Diff | Tool::Recall);
    let named = candidate.tool != Tool::View && candidate.features.has_explicit_target();
    !lists && !named && other && matches!(terms[at].entry.noun, Some(Noun::Branch | Noun::Node))
}

/// `in the background`, `with the researcher`: how it is run, which only `delegate` and `continue` take.
fn is_manner(terms: &[AnnotatedToken], at: usize, noun: Noun, tool: Tool) -> bool {
    let before = terms[..at].iter().rev().find(|term| term.entry.func != Some(FunctionWord::Det));
    match before.and_then(|before| before.entry.prep) {
        Some(Prep::In) => noun == Noun::Background,
        Some(Prep::With | Prep::By) => noun == Noun::Agent && !matches!(tool, Tool::Continue | Tool::Recall),
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
        Tool::Continue => matches!(noun, Noun::Agent | Noun::Instruction | Noun::Line | Noun::Maximum | Noun::Next),
        Tool::Pin => matches!(noun, Noun::Doc | Noun::Section),
        Tool::Prune | Tool::Copy | Tool::Move => matches!(noun, Noun::Everything | Noun::End),
        Tool::Respond => noun == Noun::Line,
        Tool::Merge => noun == Noun::Result,
        _ => false,
    };
    own || noun == Noun::Times || target::takes(tool, noun, None)
}
