//! The constructions: which operation a verb means with which objects. The first that fits decides.

mod changing;
mod looking;

use super::features::Features;
use crate::{
    arrow::lexicon::{Noun, Prep, Verb},
    tools::Tool,
};

/// The constructions of one verb, the more particular first.
type VerbRules = (Verb, &'static [Rule]);

/// Features that a request needs beside its verb, and those that it must not have.
#[derive(Debug)]
pub(in crate::arrow) struct Rule {
    pub(super) all: Features,
    pub(super) any: Features,
    pub(super) none: Features,
    /// The operation; `None` where the verb with that object is no operation.
    pub(in crate::arrow) tool: Option<Tool>,
}

const fn n(noun: Noun) -> Features {
    Features::noun(noun)
}

const fn p(prep: Prep) -> Features {
    Features::prep(prep)
}

const fn of(features: &[Features]) -> Features {
    let mut sum = Features::NONE;
    let mut at = 0;
    while at < features.len() {
        sum = sum.or(features[at]);
        at += 1;
    }
    sum
}

macro_rules! rules {
    ($($verb:ident { $($tool:tt $(if $($all:expr),+)? $(=> any $($any:expr),+)? $(=> but $($none:expr),+)?;)* })*) => {
        &[$((Verb::$verb, &[$(Rule {
            all: of(&[$($($all),+)?]),
            any: of(&[$($($any),+)?]),
            none: of(&[$($($none),+)?]),
            tool: rules!(@tool $tool),
        },)*]),)*]
    };
    (@tool _) => { None };
    (@tool $tool:ident) => { Some(Tool::$tool) };
}

use rules;

const DOC: Features = n(Noun::Doc).or(Features::FILE);
const TODO: Features = n(Noun::Todo).or(n(Noun::Plan));
const LISTED: Features =
    n(Noun::Sibling).or(n(Noun::Continuation)).or(n(Noun::Version)).or(n(Noun::Link)).or(n(Noun::Bookmark));
const DECISION: Features = n(Noun::Decision).or(n(Noun::Constraint));
const PAST: Features = n(Noun::Archive).or(n(Noun::Turn)).or(n(Noun::Memory));
const PLACE: Features = of(&[n(Noun::Root), n(Noun::Parent), n(Noun::Next), n(Noun::Previous), n(Noun::Leaf)]);
const SPOKEN: Features = of(&[n(Noun::Instruction), n(Noun::Reply), n(Noun::Continuation), n(Noun::Background)]);

/// The constructions of `verb`.
pub(super) fn of_verb(verb: Verb) -> &'static [Rule] {
    let mut groups = looking::RULES.iter().chain(changing::RULES);
    groups.find(|(group, _)| *group == verb).map_or(&[], |(_, rules)| rules)
}
