//! Word lists of the reference detection: phrases that refer back, and words that refer to nothing in particular.

use std::{collections::HashSet, sync::LazyLock};

/// Phrases that refer back, with alternatives per word. They make all words of their sentence searched, not only its
/// definite references.
pub(super) const BACK_PHRASES: &[&str] = &[
    "as|like|what|which|that|than we|i|you|they agreed|chose|decided|described|did|discussed|explained|gave|had|listed|meant|mentioned|planned|promised|proposed|recommended|said|settled|suggested|told|used|wanted|wrote",
    "did|had|have we|i|you",
    "do you remember|recall",
    "we|you|i agreed|chose|decided|discussed|listed|mentioned|planned|promised|proposed|recommended|said|settled|suggested|talked|told",
    "we|i|you already",
    "remember",
    "remind me",
    "go|going|come|coming|get|getting|jump|return|switch back to",
    "return to",
    "back to the|that|our|my|your",
    "as|like|than before|earlier|previously",
    "last time",
    "the other day",
    "at|in the beginning|start|outset",
    "the|that|your|my|our|this previous|earlier|former|original|initial|aforementioned",
    "earlier|previously we|i|you",
    "was|were the|your|my|our|that|it",
    "supposed to",
    "again",
    "still",
    "by your|my|our",
    "the same",
    "the|that one|ones i|that|they|we|which|who|with|you",
    "so far",
];

/// Phrases that refer back without a noun of their own, in the same form. They point to the newest messages outside the
/// window.
pub(super) const PHRASES_WITHOUT_NOUN: &[&str] = &[
    "as|like|what|that|than we|i agreed|chose|decided|described|did|discussed|explained|had|listed|meant|mentioned|planned|proposed|said|settled|suggested|told|wanted|wrote",
    "as|like|what|that|than you planned|promised|proposed|recommended|suggested",
    "did we agree|choose|decide|discuss|plan|propose|say|settle|suggest|talk|want",
    "we agreed|decided|discussed|settled|talked",
    "as|like|than before|earlier|previously",
    "last time",
    "the other day",
    "at|in the beginning|start|outset",
    "remind me",
    "you remember|recall",
    "remember when",
    "go|come back to it|that|this",
    "the previous|earlier|former one|ones",
    "we already did|discussed|decided|agreed|settled|talked",
    "you said so earlier|before|already",
    "earlier|previously we|i|you",
];

/// Phrases that mark a new thought, in the same form. A definite noun beside them refers to nothing in particular.
pub(super) const SUPPOSITIONS: &[&str] = &["perhaps", "maybe", "imagine", "suppose", "what if"];

/// Nouns in `ly`; other long words in `ly` are adverbs, which refer to nothing.
pub(super) const LY_NOUNS: &[&str] =
    &["ally", "anomaly", "assembly", "butterfly", "family", "italy", "jelly", "lily", "monopoly", "reply", "supply"];

/// Words that make a reference definite.
pub(super) const DEFINITE: &[&str] =
    &["her", "his", "its", "my", "our", "that", "the", "their", "these", "this", "those", "your"];

/// Particles, directions, quantities and degrees. They name nothing, alone or before a word that is too general.
pub(super) const NAMELESS: &[&str] = &[
    "across", "ago", "ahead", "along", "alone", "apart", "aside", "away", "back", "behind", "beside", "beyond",
    "double", "down", "enough", "entire", "far", "forth", "forward", "forwards", "full", "half", "home", "inside",
    "instead", "left", "none", "off", "onwards", "out", "outside", "over", "overall", "own", "plenty", "rest", "right",
    "round", "several", "through", "together", "total", "twice", "under", "up", "upwards", "whole",
];

/// Words too general to be searched.
pub(super) static VAGUE: LazyLock<HashSet<&'static str>> = LazyLock::new(|| VAGUE_WORDS.split_whitespace().collect());

const VAGUE_WORDS: &str = "
able account actual add afternoon agree air allow almost already alternative although always among amount another
answer anyway apart appear apply around ask available away back bad became began beginning best better big bit body
born bottom bring brought bug call came case change check choose chose chosen city come compare concept conclude
correct country couple course create current day decide decision definition describe despite detail differ difference
different direction discuss done door down draw drop earlier early earth easy economy either else end enough entire
evening ever every everything example exist explain expression face fact far feel felt few finally find fine first fit
five floor following found four front full future gave general get give given go gone good got government great ground
guess half hand happen hard head held help hence high hold hope hour however idea important include indeed inside
instead internet issue job just keep kept kind knew know known language large last late latest latter law leave left
less let life like likely line list little long look lot low made main make many market matter maybe mean meant
mention middle mind minute moment money month moon morning most move much must name nature near need never new news
next nice night nobody none nothing number ocean often old once one onto open opposite order original other otherwise
outside page part past people perhaps person phrase pick place plan play please point possible power present pretty
previous problem process propose put question quick quite rain ran rather ready real reason recommend refuse remember
remind rest result return right run said saw say sea second see seen send sense sent sentence set settle several short
show shown side simple since single situation six sky small somebody someone something sometimes somewhere soon sort
sound space start state step still stop stuff suggest sun suppose sure take taken talk tell thank therefore thing
think though thought three thus time today together told tomorrow too took top topic total true truth try turn two
type understand universe unless use usual value version very view wait want war way weather web week well went
whatever whether whole within without wonder word work world write written wrong wrote year yes yesterday yet
bookmark branch fork loom message node sibling stand stay tree
";
