//! What speaks against having understood a line.

use crate::{
    arrow::{
        act::{Act, Zone},
        args::{self, Bag},
        classify::Candidate,
        lex::Bytes,
        lexicon::{self, Form, Func, Noun, Prep, Verb},
        terms::{Shape, Term},
        understand::object,
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

/// A preposition, a conjunction or an option's name that the line ends with, though something has to follow it.
pub(super) fn dangling(line: &str, terms: &[Term], act: &Act, candidate: &Candidate) -> Option<Bytes> {
    let at = terms.iter().rposition(|term| !matches!(term.shape, Shape::Mark(_)))?;
    let last = &terms[at];
    // `what it is linked to`, `where I came from`
    let clause = terms.iter().enumerate().any(|(place, term)| {
        matches!(term.entry.func, Some(Func::What | Func::Sub | Func::Clause | Func::Be))
            || place > candidate.verb && term.entry.func == Some(Func::Subject)
    });
    let leads = match last.shape {
        Shape::Word => {
            matches!(
                last.entry.prep,
                Some(Prep::To | Prep::Into | Prep::Of | Prep::From | Prep::Responder | Prep::As | Prep::At | Prep::For)
            ) && matches!(
                last.text.of(line).to_ascii_lowercase().as_str(),
                "to" | "into" | "onto" | "of" | "from" | "with" | "as" | "at" | "for"
            ) || matches!(last.entry.func, Some(Func::And | Func::Or)) && last.entry.prep.is_none()
                || matches!(last.text.of(line), "a" | "an" | "the" | "after" | "between" | "against")
        }
        Shape::Key(key) => !key.is_switch(),
        _ => false,
    };
    let asked = matches!(act.zones.get(at), Some(Zone::Main | Zone::Skip | Zone::Aside)) && at != candidate.verb;
    (leads && asked && !clause && act.raw.is_none()).then_some(last.whole)
}

/// What speaks against having understood, each with what it takes of confidence.
pub(super) fn doubts(terms: &[Term], act: &Act, bag: &Bag<'_>, candidate: &Candidate) -> Vec<(&'static str, f32)> {
    let line = bag.line;
    let mut doubts = Vec::new();
    #[allow(clippy::cast_precision_loss)] // a few words
    let strange = (bag.strange + other_verbs(line, terms, act, candidate)) as f32;
    let changes =
        !matches!(candidate.tool.spec().side_effect, SideEffect::ReadOnly) && candidate.tool != Tool::Continue;
    if strange > 0.0 {
        // Beside an argument a word more may describe it; without any it is the line that is about something else.
        // A light verb means what its objects say, so there an unknown word may be the object.
        let light = matches!(
            candidate.group,
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
        );
        let each = match (candidate.cues.is_concrete(), light) {
            (true, false) => match candidate.tool.spec().side_effect {
                SideEffect::Destructive => 0.25,
                _ if changes => 0.19,
                _ => 0.15,
            },
            (true, true) => 0.35,
            (false, _) => 0.5,
        };
        doubts.push(("words that were not understood", each * strange));
    }
    // `look, I already pruned it`: it only calls for attention.
    if candidate.tool == Tool::View && act.zones.contains(&Zone::Tail) && !act.zones.contains(&Zone::Main) {
        doubts.push(("it could be a remark", 0.5));
    }
    // `pin the blame on a7x2`: the verb's own object is something else.
    let object = terms.get(candidate.verb + 1).filter(|term| term.entry.func == Some(Func::Det));
    if changes && object.is_some() && bag.args.iter().any(|arg| arg.at == candidate.verb + 2) {
        doubts.push(("its object was not understood", 0.35));
    }
    // `prune --dry-run a7x2`: a flag that no operation has may turn it round.
    let on_nodes = changes && candidate.tool != Tool::Todo;
    if on_nodes
        && bag.flags.iter().any(|flag| flag.len() > 2 && !FLAGS.contains(flag) && !lexicon::look_up(flag).is_known())
    {
        doubts.push(("a flag was not understood", 0.5));
    }
    // `undo the undo`, `copy the fix from a7x2`; but `the present node` is one.
    let describes = terms.get(candidate.verb + 3).is_some_and(|term| term.entry.noun.is_some());
    let acts = |term: &Term| term.entry.noun.is_none() && term.entry.func.is_none() && term.entry.verb.is_some();
    if on_nodes && object.is_some() && terms.get(candidate.verb + 2).is_some_and(acts) && !describes {
        doubts.push(("its object was not understood", 0.5));
    }
    if changes && object::is_other(terms, act, candidate) {
        doubts.push(("it is about something at the node, or beside it", 0.5));
    }
    if changes && is_quantified(line, terms, candidate) {
        doubts.push(("it is about what is described, not about the node", 0.5));
    }
    if changes && bag.signs.whole && !candidate.cues.is_concrete() && needs_object(candidate.tool) {
        doubts.push(("which ones it is about is not said", 0.5));
    }
    if bag.close > 0 {
        doubts.push(("the verb could be a noun", 0.25));
    }
    if act.nominal {
        doubts.push(("it has no verb", 0.2));
    }
    // `note: the tone shifts` may as well be a remark; `note on a7x2: …` is none.
    let bare = act.raw.is_some_and(|raw| terms.get(candidate.verb).is_some_and(|verb| raw.start <= verb.whole.end + 3));
    if bare
        && matches!(
            candidate.tool,
            Tool::Edit | Tool::Annotate | Tool::Respond | Tool::Link | Tool::Bookmark | Tool::Merge
        )
    {
        doubts.push(("it could be a remark", 0.35));
    }
    if act.doubtful {
        // `could we perhaps go up`: where little is at stake a request may hesitate.
        let little = matches!(candidate.tool, Tool::Switch | Tool::Continue);
        doubts.push(("it is only thought about", if little { 0.15 } else { 0.35 }));
    }
    if terms.get(candidate.verb).is_some_and(|term| term.slipped) {
        doubts.push(("the verb is misspelt", 0.1));
    }
    doubts
}

/// `prune every node that mentions a7x2`, `delete all the branches under a7x2`.
fn is_quantified(line: &str, terms: &[Term], candidate: &Candidate) -> bool {
    terms.iter().enumerate().skip(candidate.verb + 1).any(|(at, term)| {
        let small = |term: &&Term| term.entry.func == Some(Func::Det) || term.entry.prep == Some(Prep::Of);
        let noun = at + 1 + terms[at + 1..].iter().take_while(small).count();
        matches!(term.text.of(line), "every" | "each" | "all" | "any")
            && terms.get(noun).is_some_and(|noun| matches!(noun.entry.noun, Some(Noun::Node | Noun::Branch)))
            && terms.get(noun + 1).is_some_and(|next| next.shape == Shape::Word)
            && terms[noun + 1..].iter().any(Term::is_id)
    })
}

/// Whether the operation acts on a node that `all` cannot name.
const fn needs_object(tool: Tool) -> bool {
    matches!(
        tool,
        Tool::Prune | Tool::Restore | Tool::Unbookmark | Tool::Bookmark | Tool::Pin | Tool::Exclude | Tool::Include
    )
}

/// How many verbs among the arguments have nothing to do with the operation.
fn other_verbs(line: &str, terms: &[Term], act: &Act, candidate: &Candidate) -> u32 {
    let names_verbs = matches!(candidate.tool, Tool::Help | Tool::Recall);
    if candidate.tool == Tool::Think {
        return 0;
    }
    let tells = matches!(candidate.tool.spec().side_effect, SideEffect::ReadOnly);
    let mut count = 0;
    for (at, term) in terms.iter().enumerate() {
        let entry = term.entry;
        let idle = entry.noun.is_none() && entry.func.is_none() && entry.prep.is_none() && entry.lead.is_none();
        let asked = at == candidate.verb || act.verb.is_some_and(|(verb, _)| verb == at);
        if act.zones[at] == Zone::Main
            && term.shape == Shape::Word
            && idle
            && !asked
            && !at.checked_sub(1).is_some_and(|before| matches!(terms[before].shape, Shape::Key(_)))
            // `the annotations made on a7x2`
            && !(tells && at > 0 && terms[at - 1].entry.noun.is_some() && matches!(entry.verb, Some((_, Form::Past))))
            // `roll back the last edits with undo`
            && !TABLE.iter().any(|row| row.tool == candidate.tool && row.name == term.text.of(line))
            // `redo what was undone`
            && !terms[..at].iter().any(|term| term.entry.func == Some(Func::What))
            && matches!(entry.verb, Some((verb, form @ (Form::Past | Form::Base))) if !(args::helps(verb) || names_verbs && form == Form::Base) && verb != candidate.group)
        {
            count += 1;
        }
    }
    count
}
