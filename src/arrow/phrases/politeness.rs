//! Table of polite openings that stand before a request and add no meaning.

use std::sync::LazyLock;

use super::Politeness;
use crate::arrow::{annotate_tokens::AnnotatedToken, word_pattern::PatternTable};

pub(super) const PLAIN: Politeness = Politeness { polite: false, doubtful: false, gerund: false };
pub(super) const POLITE: Politeness = Politeness { polite: true, doubtful: false, gerund: false };
pub(super) const GERUND: Politeness = Politeness { polite: true, doubtful: false, gerund: true };
pub(super) const DOUBTFUL: Politeness = Politeness { polite: false, doubtful: true, gerund: false };

/// Openings that only mark the request behind them, as patterns of words. Of several that match, the longest counts.
const PHRASES: &[(&str, Politeness)] = &[
    ("would you be so kind|good as? to", POLITE),
    ("be so kind|good as? to", POLITE),
    ("be so kind|good and", POLITE),
    ("would you be able|willing to", POLITE),
    ("do me a favor|favour and", POLITE),
    ("be a|an dear|angel|darling|sport|love|pal and", PLAIN),
    ("would you mind", GERUND),
    ("do you mind", GERUND),
    ("mind", GERUND),
    ("please you", GERUND),
    ("please doing", POLITE),
    ("please to", POLITE),
    ("do please", PLAIN),
    ("care to", PLAIN),
    ("would it be too much trouble? to ask? you? to", POLITE),
    ("without further ado", PLAIN),
    ("no hurry|rush but?", PLAIN),
    ("it may please you to", POLITE),
    ("may it please you to", POLITE),
    ("would it be possible to", POLITE),
    ("would it be possible for you to", POLITE),
    ("is it? possible to", POLITE),
    ("it would assist|help me to", POLITE),
    ("it would be lovely|nice|great|good|helpful|wonderful if i|you could", POLITE),
    ("any chance you could|can|might|would", POLITE),
    ("any chance we|i could", PLAIN),
    ("i wonder if|whether you could|might|would|can", POLITE),
    ("i wonder if|whether you'd", POLITE),
    ("i wonder if|whether i might|could", DOUBTFUL),
    ("i'm wondering if|whether you could|might|would|can", POLITE),
    ("i was|am wondering if|whether you could|might|would|can", POLITE),
    ("i was wondering if|whether you'd", POLITE),
    ("i was hoping that? you could|might|would", POLITE),
    ("may|might|could|can i trouble you to|for", POLITE),
    ("may|might|could|can i ask you to", POLITE),
    ("i|we ask you? to", POLITE),
    ("i|we am|are asking you? to", POLITE),
    ("i'm|we're asking you? to", POLITE),
    ("i|we request to", POLITE),
    ("i'd|we'd ask you to", POLITE),
    ("i|we would ask you to", POLITE),
    ("i|we would appreciate", POLITE),
    ("i'd|we'd appreciate", POLITE),
    ("i|we would appreciate it if you could|would", POLITE),
    ("i'd|we'd appreciate it if you could|would", POLITE),
    ("i'd|we'd be grateful|glad|obliged|thankful|pleased|delighted if you'd", POLITE),
    ("i am wanting to", POLITE),
    ("i|we should like to", POLITE),
    ("i|we would like you to", POLITE),
    ("i'd|we'd like you to", POLITE),
    ("i|we want|need|beg|wish you to", POLITE),
    ("i|we would prefer to", POLITE),
    ("i'd|we'd prefer to", PLAIN),
    ("i|we had better", PLAIN),
    ("i'd|we'd|you'd better", PLAIN),
    ("i have to", POLITE),
    ("we have to", PLAIN),
    ("i hereby", POLITE),
    ("i|we suggest|propose that? we|you", PLAIN),
    ("my request is to", PLAIN),
    ("the|my next step is to", PLAIN),
    ("the plan is to", PLAIN),
    ("what|all i|we want is to", POLITE),
    ("you may|can", POLITE),
    ("do not hesitate to", POLITE),
    ("do not forget to", POLITE),
    ("don't forget to", POLITE),
    ("i|we think it's time to", PLAIN),
    ("i|we think we should", PLAIN),
    ("i|we think it makes sense to", PLAIN),
    ("it makes sense to", PLAIN),
    ("i'll|we'll start|begin by", GERUND),
    ("i|we think i'm|we're ready to", PLAIN),
    ("i|we think i'll|we'll", PLAIN),
    ("i'm|we're going|ready to", PLAIN),
    ("i am going|ready to", PLAIN),
    ("we are going|ready to", PLAIN),
    ("now is the time to", PLAIN),
    ("it's time to", PLAIN),
    ("it is time to", PLAIN),
    ("it is necessary to", POLITE),
    ("it's necessary to", POLITE),
    ("it's worth", GERUND),
    ("it is worth", GERUND),
    ("time to", PLAIN),
    ("time we", PLAIN),
    ("time for", GERUND),
    ("proceed|need|want|have|going|wish|try to", PLAIN),
    ("try|stop|pause|sit and", PLAIN),
    ("pause|stop to", PLAIN),
    ("go ahead|on and", PLAIN),
    ("be|make sure to", PLAIN),
    ("make sure you", PLAIN),
    ("feel free to", PLAIN),
    ("allow|permit|let|help me to", POLITE),
    ("help me", POLITE),
    ("let me|us|him", PLAIN),
    ("let me|us see|think ,", PLAIN),
    ("go on then|now? ,", PLAIN),
    ("off|here|there we go ,", PLAIN),
    ("let's just", PLAIN),
    ("why don't we|you", DOUBTFUL),
    ("why not", DOUBTFUL),
    ("how about we", POLITE),
    ("how about i", PLAIN),
    ("how|what about", GERUND),
    ("before anything else", PLAIN),
    ("before i|we forget", POLITE),
    ("before we|i continue|proceed", PLAIN),
    ("before we|i go on|further", PLAIN),
    ("before going on|further", GERUND),
    ("as a first|next step", PLAIN),
    ("while i'm|we're|you're at it", PLAIN),
    ("first of all", PLAIN),
    ("to start|begin with", PLAIN),
    ("by the way", PLAIN),
    ("in the meantime", PLAIN),
    ("from now on", PLAIN),
    ("one more time", PLAIN),
    ("just in case", PLAIN),
    ("to be safe", PLAIN),
    ("of course", PLAIN),
    ("sure thing", PLAIN),
    ("sounds good", PLAIN),
    ("good idea", PLAIN),
    ("got it", PLAIN),
    ("all right", PLAIN),
    ("no worries|problem", PLAIN),
    ("fair enough", PLAIN),
    ("for reference|now", PLAIN),
    ("on second thought|thoughts", PLAIN),
    ("first step", PLAIN),
    ("next up|step|we|i|i'll", PLAIN),
    ("at the moment", PLAIN),
    ("right now", PLAIN),
    ("after that|which", PLAIN),
    ("before that", PLAIN),
    ("at last|once", PLAIN),
    ("take a moment|minute|second to|and", PLAIN),
    ("take one more", PLAIN),
    ("take|have a|another", PLAIN),
    ("run|perform|do a", PLAIN),
    ("do the", PLAIN),
    ("sudo|git|loom", PLAIN),
    ("gonna|wanna|gotta|lemme", PLAIN),
];

/// Words of which one stands in a condition that only asks for leave: `if you do not mind`.
pub(in crate::arrow) const LEAVE: &[&str] = &[
    "mind",
    "minds",
    "hand",
    "trouble",
    "bother",
    "please",
    "convenient",
    "possible",
    "may",
    "can",
    "could",
    "would",
    "kind",
    "allowed",
    "permitted",
    "feasible",
    "want",
    "wish",
    "like",
    "ask",
    "ok",
    "okay",
    "will",
    "exists",
    "imposition",
    "nuisance",
    "inconvenient",
];

/// Words of which one stands in a clause that only leaves the time open: `when you have a moment`.
pub(in crate::arrow) const LEISURE: &[&str] =
    &["moment", "minute", "second", "time", "chance", "can", "may", "like", "want", "wish", "ready", "free"];

/// The other words of such conditions.
const LEAVE_WORDS: &[&str] = &[
    "i", "we", "you", "it", "it's", "its", "that", "that's", "this", "is", "isn't", "are", "am", "i'm", "you're",
    "we're", "be", "not", "no", "too", "much", "any", "a", "an", "the", "some", "to", "do", "does", "don't", "doesn't",
    "won't", "have", "has", "get", "find", "of", "your", "so", "all", "for", "me", "us", "at", "ever", "next", "able",
    "really", "just", "only", "there", "great", "big", "many", "spare", "say", "put", "way", "good", "as", "you'd",
    "i'd", "once", "more", "again", "another", "nobody", "they", "they're", "my", "still", "asking", "show",
];

/// [`PHRASES`] by their first words.
static TABLE: LazyLock<PatternTable<Politeness>> = LazyLock::new(|| PatternTable::new(PHRASES.iter().copied()));

/// The longest opening that `words` begin with: its length in words, and its effect.
pub(super) fn opening<'a>(words: impl Fn(usize) -> &'a str) -> Option<(usize, Politeness)> {
    TABLE.matches(&words, 0).map(|(length, politeness)| (length, *politeness)).max_by_key(|(length, _)| *length)
}

/// True if the words of a condition only ask for leave, or leave the time open. One of `keys` has to be among them.
pub(in crate::arrow) fn leaves_open(line: &str, condition: &[AnnotatedToken], keys: &[&str]) -> bool {
    let is = |term: &AnnotatedToken, words: &[&str]| {
        !term.is_text() && words.iter().any(|word| word.eq_ignore_ascii_case(term.text.of(line)))
    };
    let has = |words: &[&str]| condition.iter().any(|term| is(term, words));
    // `if that is not possible` is a condition, `if you do not mind` is none.
    let denies = has(&["not", "no", "isn't", "don't", "doesn't", "won't"]);
    let minds = has(&["mind", "minds", "trouble", "bother", "imposition", "nuisance", "inconvenient"]);
    has(keys) && condition.iter().all(|term| is(term, keys) || is(term, LEAVE_WORDS)) && (!denies || minds)
}
