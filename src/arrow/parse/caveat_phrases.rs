//! Phrases that take a request back, postpone it, make it depend on something, or say that it is only spoken about.

use std::sync::LazyLock;

use crate::arrow::{
    annotate_tokens::{AnnotatedToken, TokenKind, pattern_word},
    lex::Span,
    lexicon::{Form, FunctionWord, Verb},
    word_pattern::PatternTable,
};

/// The part of a line in which a phrase is a caveat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Begin,
    /// Behind the first words.
    Behind,
    End,
}

/// Beginnings of a line that postpone what is asked, or only speak of it, as patterns of words.
const BEGINNINGS: &[&str] = &[
    "in a moment|minute|while",
    "in case of",
    "in theory",
    "as soon",
    "once a",
    "at midnight|noon",
    "next turn|time|week",
    "i'd hate|never",
    "i'd|we'd have|need to",
    "i|we would have|need to",
    "such as :?",
    "i|we already|just|once|never put|cut|split|set|read a|an|the|ID|my|our|doc|TEXT|FILE",
    "i refuse|hesitate|usually",
    "i agree to",
    "thought :",
    "depending|contingent|conditional on|upon",
    "i|we read doc|FILE|TEXT",
    "i|we wish someone|somebody|anyone|anybody|they|he|she|you|we|i|it had|could|would|hadn't|wouldn't",
    "am|are i|we allowed|supposed|able|permitted|meant|expected to",
    "an|another|one|the example of|would|is|might|could|in|from",
    "as the|an example|manual|help|docs|documentation|tutorial has|says|shows|puts|goes|reads|it",
    "my|our|the last|latest|previous|earlier action|command|line|step|request|operation|message , roughly|: :?",
    "my|our|the last|latest|previous|earlier action|command|line|step|request|operation|message :|was|is|read",
    "continue|think|undo|view|read|search|split|merge|move|link|prune she|he|they did|does|would",
    "in|from the|our|its|his|her tutorial|manual|docs|documentation|handbook|readme|guide|example they|it|you|there|one|we|is|says|:",
];

/// Phrases behind the first words of a line with which it asks for nothing that is done now, or for one of two things. `ID`,
/// `FILE`, `TEXT` and `NUMBER` stand for such a token.
const PHRASES: &[&str] = &[
    // `prune a7x2, but only once Ada agrees`
    "only|just if|once|unless|when|whenever|while",
    "iff|ifff|iif",
    "only|just where it|it's|they|they're|he|she",
    "only after|before the|i|we|he|she|they|it|you|my|our|your|a|an|everyone|everybody|nobody",
    "on|under the? condition|proviso|understanding|premise|assumption that|of|,|:",
    "long as the|it|i|we|he|she|they|you|no|nobody|there|that|this|my|our|its|nothing",
    ",|—|–|(|but|and|; provided|providing|assuming|supposing|presuming that|the|it|i|we|he|she|they|you|no|nobody|there|this|my|our",
    "depending|contingent|conditional on|upon",
    ",|—|–|-|(|;|but|and it|that|this? depends on|upon",
    "in the event that|of",
    ", in case nobody|noone|no-one|no",
    ",|—|–|-|(|;|but|TEXT|ID once the|we|i|he|she|it|they|you|my|our|your|her|his|their|nobody|everyone",
    "one|either|any of the|these|those two|three|both",
    "actually ,? nah|no|nope|not|don't|dont",
    "sleep on it|this|that",
    "where|so|which only he|she|i|we|they|you",
    // `bookmark a7x2, subject to Ada's approval`
    ",|—|–|-|(|; postponed|deferred|withdrawn|tentatively|provisionally",
    ",|—|–|-|(|; subject to",
    "though|although|but|and on reflection|second",
    "might|may|could be|have|serve|do better|best|safer|gentler|wiser|clearer",
    ", which request|command|order|instruction|line",
    // `switch to a7x2, that is to say to b3k9`
    "that is to say? to|,? ID",
    "pruning|hiding|deleting|removing|dropping the|its? original|originals|rest|others|old|source",
    "in the same breath|go|step|motion",
    "and|,|also while|since we're|you're|i'm|we|you are? there|here|at it",
    "it|that|this|them while|since we're|you're|i'm there|here|at it",
    ", next help|view|show|prune|bookmark|tree|diff|list|read|recall|pin|copy|undo",
    ",|—|– wait ,? a|an|maybe|perhaps|the|or|should",
    "subject to the|your|his|her|their|my|our approval|review|agreement|consent|confirmation",
    // `prune a7x2, or perhaps only exclude it`
    "or perhaps|maybe|possibly|better|rather|preferably",
    "or should|shall|may|could|would|might|can|do|must|is|was|were i|we|it|that|you|this",
    "or is|was|were that|it|there",
    // `link a7x2 to b3k9 — actually skip it`
    "actually|no|wait|hm|hmm|er|sorry|nah skip|scratch|forget|ignore|disregard|cancel|scrap it|that|this",
    // `view a7x2, then do the same for b3k9`
    "do the? same",
    "the? same thing? for|with|to|on|goes ID|FILE|TEXT|for",
    "likewise|ditto for|with|to|on|from",
    "as well as the|my|our",
    ", plus the|my|our|its",
    "just|but till|until",
    ", skipping the|all|its|over|every",
    "each by|from|with a|another different|other|new|separate",
    // `the hint suggested edit a7x2 "…"`
    "hint|error|help|manual|message|prompt|tool|parser|log|docs suggested|suggests|proposed|proposes|offered|offers|printed|prints",
    // `recall "x" but leave out the model`
    "but|and|, leave|leaving out whatever|everything|all|anything|what|the|those|any|its|his|her|ID|TEXT",
    "but skip|skipping|ignore|ignoring|omit|omitting|spare|sparing|excluding whatever|everything|all|anything|what|the|those|any|its|his|her|ID|TEXT",
    "ignoring|disregarding",
    "nvm|nevermind i|we|found|it|,",
    "normally|usually|typically|generally|often type|types|write|writes|use|uses|say|says|run|runs",
    // `read plan.md every third line`
    "every second|third|fourth|fifth|other",
    // `search "x" returned nothing`
    "TEXT|ID|FILE returned|worked|helped|yielded|crashed",
    // `the prompt starts with "think"`
    "starts|begins|ends|opens|started|began|ended|opened with TEXT",
];

/// Ends of a line that take back what was asked.
const ENDINGS: &[&str] = &[
    "i|we won't|can't",
    "we shouldn't",
    "you mustn't",
    "i|we may not",
    "rather|better|maybe not",
    "not allowed to",
    "take that back",
    "for example|instance",
    "in theory|part",
    "partly",
    "permission pending",
    "next week|month|year",
    "in a minute|while",
    "at some point",
    "some day|time",
    "one day",
    "another time|day",
    "down the road",
    "hold on",
    "bad idea",
    "an idea",
    "not now",
    "not|didn't agree",
    "second thoughts",
    "be asked",
    "asked first",
    "think about it",
    "think it over",
    "make up my mind",
    "should i|we",
    "example only",
    "do you think",
    "be nice",
    "already done",
    "where|if|as needed",
    "of yesterday",
    "dry run",
    "pending approval",
    "after review",
    "long as it fits",
    "nevermind",
    "never mind",
    "nvm",
    "excepted",
    "line|lines|sentence|sentences|paragraph|paragraphs|half|part|bit|bits|word|words only",
    "forget|scratch|skip|cancel|scrap it|that",
    "non|no|nein merci|gracias|danke|thanks",
    WRONG_NODE,
];

/// The end of a line that takes a request back, unless it says why something is undone.
const WRONG_NODE: &str = "wrong node|one";

/// [`BEGINNINGS`], [`PHRASES`] and [`ENDINGS`] by their first words.
static TABLE: LazyLock<PatternTable<(Part, &'static str)>> = LazyLock::new(|| {
    let rows = [(BEGINNINGS, Part::Begin), (PHRASES, Part::Behind), (ENDINGS, Part::End)];
    PatternTable::new(rows.into_iter().flat_map(|(phrases, part)| phrases.iter().map(move |row| (*row, (part, *row)))))
});

/// Finds the first word of a phrase that is a caveat. The words of the line end before `last`.
pub(super) fn find(line: &str, terms: &[AnnotatedToken], last: usize) -> Option<Span> {
    let word = |at: usize| {
        terms.get(at).map_or("", |term| match (term.kind, term.text.of(line)) {
            // `asked first`
            (TokenKind::Number(_), text) if text.starts_with(char::is_alphabetic) => text,
            _ => pattern_word(line, term),
        })
    };
    // `undo (wrong node)` says why.
    let undoes = terms[0].entry.base() == Some(Verb::Undo);
    let is_caveat = |at: usize| {
        TABLE.matches(&word, at).any(|(end, (part, row))| match part {
            Part::Begin => at == 0,
            Part::Behind => at > 0,
            Part::End => {
                let explains = undoes && *row == WRONG_NODE;
                at > 1 && end == last && !explains && !follows_subject(line, terms, at)
            }
        })
    };
    (0..last).find(|at| is_caveat(*at)).map(|at| terms[at].whole)
}

/// True if a sentence of its own holds the phrase that begins at `at`: `…, we talk of it next week`.
fn follows_subject(line: &str, terms: &[AnnotatedToken], at: usize) -> bool {
    const OWN: &[&str] = &["i", "we", "you", "rather", "take", "not", "be", "asked", "think", "make"];
    let begins = terms[..at]
        .iter()
        .rposition(|term| matches!(term.kind, TokenKind::Mark(',' | ';' | '.')))
        .map_or(0, |at| at + 1);
    let first = terms[at].text.of(line);
    !OWN.iter().any(|word| word.eq_ignore_ascii_case(first))
        && begins > 0
        && terms[begins..at].iter().any(|term| {
            matches!(
                term.entry.func,
                Some(FunctionWord::Subject | FunctionWord::It | FunctionWord::Clause | FunctionWord::Be)
            ) || matches!(term.entry.verb, Some((_, Form::Third)))
        })
}
