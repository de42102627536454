//! Penalties on the confidence of a parse.

use crate::{
    arrow::{
        annotate_tokens::{AnnotatedToken, TokenKind},
        args::{self, Arguments},
        classify::Candidate,
        intent::{ClauseRole, Intent},
        lex::Span,
        lexicon::{self, Form, FunctionWord, Noun, Prep, Verb},
        parse::target,
    },
    tools::{SideEffect, TABLE, Tool},
};

/// Flags of shells and of git that change nothing of what is asked.
const FLAGS: &[&str] = &[
    "force",
    "yes",
    "quiet",
    "recursive",
    "verbose",
    "hard",
    "append",
    "full",
    "whole",
    "summary",
    "wait",
    "no-wait",
    "nowait",
    "symbolic",
    "stat",
    "oneline",
    "deep",
    "once",
];

/// Confidence that an operation needs.
pub(super) fn confidence_threshold(tool: Tool) -> f32 {
    match tool.spec().side_effect {
        SideEffect::ReadOnly => 0.55,
        SideEffect::Navigation => 0.8,
        SideEffect::Write => 0.7,
        SideEffect::Destructive => 0.8,
    }
}

/// A preposition, a conjunction or an option's name that the line ends with, though something has to follow it.
pub(super) fn incomplete_tail(
    line: &str,
    terms: &[AnnotatedToken],
    intent: &Intent,
    candidate: &Candidate,
) -> Option<Span> {
    let at = terms.iter().rposition(|term| !matches!(term.kind, TokenKind::Mark(_)))?;
    let last = &terms[at];
    // `what it is linked to`, `where I came from`
    let clause = terms.iter().enumerate().any(|(place, term)| {
        matches!(
            term.entry.func,
            Some(FunctionWord::What | FunctionWord::Sub | FunctionWord::Clause | FunctionWord::Be)
        ) || place > candidate.verb && term.entry.func == Some(FunctionWord::Subject)
    });
    let leads = match last.kind {
        TokenKind::Word => {
            matches!(
                last.entry.prep,
                Some(Prep::To | Prep::Into | Prep::Of | Prep::From | Prep::With | Prep::As | Prep::At | Prep::For)
            ) && matches!(
                last.text.of(line).to_ascii_lowercase().as_str(),
                "to" | "into" | "onto" | "of" | "from" | "with" | "as" | "at" | "for"
            ) || matches!(last.entry.func, Some(FunctionWord::And | FunctionWord::Or)) && last.entry.prep.is_none()
                || matches!(last.text.of(line), "a" | "an" | "the" | "after" | "between" | "against")
        }
        TokenKind::OptionName(key) => !key.is_switch(),
        _ => false,
    };
    let asked = matches!(intent.zones.get(at), Some(ClauseRole::Main | ClauseRole::Skip | ClauseRole::Aside))
        && at != candidate.verb;
    (leads && asked && !clause && intent.raw.is_none()).then_some(last.whole)
}

/// Penalties, each with its reason and the confidence it takes.
pub(super) fn penalties(
    terms: &[AnnotatedToken],
    intent: &Intent,
    arguments: &Arguments<'_>,
    candidate: &Candidate,
) -> Vec<(&'static str, f32)> {
    let line = arguments.line;
    let mut penalties = Vec::new();
    #[allow(clippy::cast_precision_loss)] // a few words
    let unknown_words = (arguments.unknown_words + other_verbs(line, terms, intent, candidate)) as f32;
    let changes =
        !matches!(candidate.tool.spec().side_effect, SideEffect::ReadOnly) && candidate.tool != Tool::Continue;
    if unknown_words > 0.0 {
        penalties.push(("words that were not understood", unknown_word_penalty(candidate, changes) * unknown_words));
    }
    // `look, I already pruned it`: it only calls for attention.
    if candidate.tool == Tool::View
        && intent.zones.contains(&ClauseRole::Tail)
        && !intent.zones.contains(&ClauseRole::Main)
    {
        penalties.push(("it could be a remark", 0.5));
    }
    // `pin the blame on a7x2`: the verb's own object is something else.
    let object = terms.get(candidate.verb + 1).filter(|term| term.entry.func == Some(FunctionWord::Det));
    if changes && object.is_some() && arguments.items.iter().any(|arg| arg.at == candidate.verb + 2) {
        penalties.push(("its object was not understood", 0.35));
    }
    // `prune --dry-run a7x2`: a flag that no operation has may turn it round.
    let on_nodes = changes && candidate.tool != Tool::Todo;
    if !matches!(candidate.tool, Tool::Todo | Tool::Think | Tool::Help)
        && arguments
            .flags
            .iter()
            .any(|flag| flag.len() > 2 && !FLAGS.contains(flag) && !lexicon::look_up(flag).is_known())
    {
        penalties.push(("a flag was not understood", 0.5));
    }
    // `undo the undo`, `copy the fix from a7x2`; but `the present node` is one.
    let describes = terms.get(candidate.verb + 3).is_some_and(|term| term.entry.noun.is_some());
    let acts =
        |term: &AnnotatedToken| term.entry.noun.is_none() && term.entry.func.is_none() && term.entry.verb.is_some();
    if on_nodes && object.is_some() && terms.get(candidate.verb + 2).is_some_and(acts) && !describes {
        penalties.push(("its object was not understood", 0.5));
    }
    if changes && target::is_other(terms, intent, candidate) {
        penalties.push(("it is about something at the node, or beside it", 0.5));
    }
    if changes && is_quantified(line, terms, candidate) {
        penalties.push(("it is about what is described, not about the node", 0.5));
    }
    if changes && arguments.modifiers.whole && !candidate.features.has_explicit_target() && needs_object(candidate.tool)
    {
        penalties.push(("which ones it is about is not said", 0.5));
    }
    if arguments.unknown_near_verb > 0 {
        penalties.push(("the verb could be a noun", 0.25));
    }
    if intent.nominal {
        penalties.push(("it has no verb", 0.2));
    }
    if is_bare_content(terms, intent, candidate) {
        penalties.push(("it could be a remark", 0.35));
    }
    if intent.doubtful {
        // `could we perhaps go up`: where little is at stake a request may hesitate.
        let little = matches!(candidate.tool, Tool::Switch | Tool::Continue);
        penalties.push(("it is only thought about", if little { 0.15 } else { 0.35 }));
    }
    if terms.get(candidate.verb).is_some_and(|term| term.corrected) {
        // `prun` alone would hide the position.
        let takes_position = matches!(candidate.tool, Tool::Prune | Tool::Move | Tool::Drop)
            && !candidate.features.has_explicit_target();
        penalties.push(("the verb is misspelt", if takes_position { 0.5 } else { 0.1 }));
    }
    penalties
}

/// `note: the tone shifts` may as well be a remark; `note on a7x2: …` is none.
fn is_bare_content(terms: &[AnnotatedToken], intent: &Intent, candidate: &Candidate) -> bool {
    intent.raw.is_some_and(|raw| terms.get(candidate.verb).is_some_and(|verb| raw.start <= verb.whole.end + 3))
        && matches!(
            candidate.tool,
            Tool::Edit | Tool::Annotate | Tool::Respond | Tool::Link | Tool::Bookmark | Tool::Merge
        )
}

/// True for verbs that mean what their objects say.
pub(super) const fn is_light(verb: Verb) -> bool {
    matches!(
        verb,
        Verb::Get
            | Verb::Put
            | Verb::Add
            | Verb::Make
            | Verb::Take
            | Verb::Bring
            | Verb::Keep
            | Verb::Ask
            | Verb::Carry
            | Verb::Leave
            | Verb::Turn
            | Verb::Drop
            | Verb::Go
    )
}

/// Confidence that each unknown word takes.
fn unknown_word_penalty(candidate: &Candidate, changes: bool) -> f32 {
    // Beside an argument a word more may describe it; without any it is the line that is about something else.
    // A light verb means what its objects say, so there an unknown word may be the object.
    let light = is_light(candidate.group);
    match (candidate.features.has_explicit_target(), light) {
        (true, false) => match candidate.tool.spec().side_effect {
            SideEffect::Destructive => 0.25,
            _ if changes => 0.19,
            _ => 0.15,
        },
        (true, true) => 0.35,
        (false, _) => 0.5,
    }
}

/// `prune every node that mentions a7x2`, `delete all the branches under a7x2`.
fn is_quantified(line: &str, terms: &[AnnotatedToken], candidate: &Candidate) -> bool {
    terms.iter().enumerate().skip(candidate.verb + 1).any(|(at, term)| {
        let small =
            |term: &&AnnotatedToken| term.entry.func == Some(FunctionWord::Det) || term.entry.prep == Some(Prep::Of);
        let noun = at + 1 + terms[at + 1..].iter().take_while(small).count();
        matches!(term.text.of(line), "every" | "each" | "all" | "any")
            && terms.get(noun).is_some_and(|noun| matches!(noun.entry.noun, Some(Noun::Node | Noun::Branch)))
            && terms.get(noun + 1).is_some_and(|next| next.kind == TokenKind::Word)
            && terms[noun + 1..].iter().any(AnnotatedToken::is_id)
    })
}

/// True if the operation acts on a node that `all` cannot name.
const fn needs_object(tool: Tool) -> bool {
    matches!(
        tool,
        Tool::Prune | Tool::Restore | Tool::Unbookmark | Tool::Bookmark | Tool::Pin | Tool::Exclude | Tool::Include
    )
}

/// Number of verbs among the arguments that do not belong to the operation.
fn other_verbs(line: &str, terms: &[AnnotatedToken], intent: &Intent, candidate: &Candidate) -> u32 {
    let names_verbs = matches!(candidate.tool, Tool::Help | Tool::Recall);
    if candidate.tool == Tool::Think {
        return 0;
    }
    let tells = matches!(candidate.tool.spec().side_effect, SideEffect::ReadOnly);
    let mut count = 0;
    for (at, term) in terms.iter().enumerate() {
        let entry = term.entry;
        let idle = entry.noun.is_none() && entry.func.is_none() && entry.prep.is_none() && entry.option.is_none();
        let asked = at == candidate.verb || intent.verb.is_some_and(|(verb, _)| verb == at);
        if intent.zones[at] == ClauseRole::Main
            && term.kind == TokenKind::Word
            && idle
            && !asked
            && !at.checked_sub(1).is_some_and(|before| matches!(terms[before].kind, TokenKind::OptionName(_)))
            // `the annotations made on a7x2`
            && !(tells && at > 0 && terms[at - 1].entry.noun.is_some() && matches!(entry.verb, Some((_, Form::Past))))
            // `roll back the last edits with undo`
            && !TABLE.iter().any(|row| row.tool == candidate.tool && row.name == term.text.of(line))
            // `redo what was undone`
            && !terms[..at].iter().any(|term| term.entry.func == Some(FunctionWord::What))
            && matches!(entry.verb, Some((verb, form @ (Form::Past | Form::Base))) if !(args::helps(verb) || names_verbs && form == Form::Base) && verb != candidate.group)
        {
            count += 1;
        }
    }
    count
}
