//! Phrases that are read as one word or as none: `what hangs below a7x2`, `the branch that ends at a7x2`.

use std::{ops::Range, sync::LazyLock};

use super::{AnnotatedToken, TokenKind};
use crate::arrow::{
    lexicon::{self, Verb},
    word_pattern::{Pattern, PatternTable},
};

/// Words before a limit of results.
const AND_RETURN: &str = ",? and return|show|give|fetch|bring|list|get me|us|back?";

/// The words before, the words that are removed, and those behind, as patterns. `ID`, `FILE`, `TEXT` and `NUMBER` stand for
/// such a token, `GENITIVE` for a name in the genitive, `END` for the end of the line.
const PHRASES: &[[&str; 3]] = &[
    // `rewrite a7x2 as follows: "…"`
    ["", "as follows", ":"],
    // `the branch of a7x2, starting at b3k9`
    ["starting", "at|with", "ID"],
    // `the bookmarks at or below a7x2`: what is below a node begins with it.
    ["", "at or", "under|below|beneath|underneath"],
    // `the branch that ends at a7x2`: a branch is named by its end.
    ["branch|subtree|thread|arm|limb|path|strand|fork", "that ends at|in|with|on", "ID"],
    // `without anything from a.org`
    ["without", "anything|results|pages|hits from", "FILE"],
    // `every note on a7x2 as a list`
    ["", "as a list", "END"],
    // `read doc:"a.md", though only its summary`
    ["", "though|albeit", "only|just|merely"],
    // `pin nothing but the section "s" of a.md`
    ["", "nothing|none but", "the? section|summary"],
    // `four levels deep and no more`; but `undo no more`
    ["", ",? and|but no|nothing more|else|further|deeper", "END|?|.|!"],
    ["levels|level|deep|down|hits|results|tokens|words", ",? and|but? not|no more|further|deeper", "END|?|.|!"],
    // `the tree is kindly to be drawn`
    ["is|are", "kindly|hereby", "to be"],
    // `keep the story going from a7x2`
    ["keep", "the story|tale|scene|thread|conversation|plot|chapter", "going|moving|rolling|running|flowing"],
    // `make a copy of a7x2 and put it under b3k9`
    ["copy of ID", "and put|place|hang|attach|set it|that", "under|below|beneath|to"],
    ["copy of the branch|node|subtree at|from? ID", "and put|place|hang|attach|set it|that", "under|below|beneath|to"],
    // `move a7x2 with all its children under b3k9`: they go with it.
    [
        "move|mv|copy|cp|prune|hide|relocate|transplant ID",
        ",? with all? its|the children|continuations|descendants|replies",
        "",
    ],
    // `go to the root, shall we?`, `list the siblings, would you`
    ["", ",? shall we ?|!", "END"],
    ["", ",? would|will|could|can you", "END|.|!"],
    ["", ",? if you'd|you'll be so good|kind", "END|?|.|!"],
    // `view a7x2, the whole text of it`
    ["whole|full|entire|complete", "text|content|contents|wording of it|that", "END|?|.|!"],
    // `the node just above this one`
    ["node|message|one|passage|post", "just|right|directly|immediately", "above|before this|here|mine"],
    // `search for "x" in what hangs below a7x2`
    [
        "TEXT",
        "in|through|across|over|among what|everything|whatever|all that|which? hangs|stands|is|comes|lies|sits|follows",
        "below|under|beneath|underneath",
    ],
    // `compare Ada's draft a7x2 with b3k9`: the node is named.
    ["", "GENITIVE draft|version|node|message|reply|take|branch|scene|passage|chapter|idea|text|one?", "ID"],
    // `search the web for "x" and return at most six results`
    ["TEXT", AND_RETURN, "NUMBER results|hits|matches|turns|pages|sources"],
    ["TEXT", AND_RETURN, "at most NUMBER"],
    ["TEXT", AND_RETURN, "no more than NUMBER"],
    ["TEXT", AND_RETURN, "up to NUMBER"],
    ["TEXT", AND_RETURN, "only? the top|first|best NUMBER"],
    // `switch to a7x2, which lives in the tree "t"`
    ["ID", ",? which|it|it's|that lives|is|stands|sits|belongs? in|to|inside the?", "tree TEXT"],
    // `divide a7x2 in two parts after "x"`
    ["ID", "in|into NUMBER parts|pieces|halves", "after|at|behind|before|right"],
    // `go back to where I was before`
    ["back", "to where i|we was|were before|earlier|last?", "END|.|!|,"],
    // `put it on record as a decision: "x"`
    ["put", "it|this|that? on the? record", "as"],
    // `up to the parent we go`
    ["ID|parent|root|leaf|sibling|top|start", "we|i go", "END|.|!"],
    // `go one step up, to the parent`
    ["go", "one step|level up ,?", "to"],
    // `the parent of this node` is the parent.
    ["parent", "of this|the current|present? node|message|reply|one|position", ""],
    ["parent", "of here", ""],
    // `what kind of links does a7x2 have?`
    ["what|which", "kind|kinds|sort|sorts of", "links|annotations|notes|continuations|replies|versions|bookmarks"],
    // `return to the place where I was before`
    ["to", "the place|spot|node|point", "where i|we was|were"],
    // `may I ask which continuations a7x2 has?`
    ["", "may|might|could|can i ask", "which|what"],
    // `bookmark a7x2, if only because it is good`, `…, just to see the range`
    ["", "if only", "because|to|for|as|since"],
    ["", "just|only|merely", "to see|check|be|learn|find|know"],
    // `delegate "x" and let it run in the background`
    ["TEXT", ",? and? let it|them run|work", "in the background"],
    ["TEXT", ",? and run it", "in the background"],
];

/// [`PHRASES`] by their first words: what stands before, with the idle words and what stands behind.
static TABLE: LazyLock<PatternTable<[Pattern; 2]>> = LazyLock::new(|| {
    let mut table = PatternTable::default();
    for phrase in PHRASES {
        table.push(phrase, [Pattern::new(phrase[1]), Pattern::new(phrase[2])]);
    }
    table
});

/// Tokens of a line in which idle words are looked for. The limit bounds the time of a long line.
const MAX_SEARCHED: usize = 256;

/// Questions for the continuations of a node.
const CONTINUATIONS: &[&str] = &[
    "what's|whats directly|right|immediately? under|below|beneath|underneath the? ID",
    "what is|are|hangs|stands|lies|comes|sits|follows directly|right|immediately? under|below|beneath|underneath|after the? ID",
    "what|whatever directly|immediately? follows|continues the? ID",
    "which|what nodes|messages|ones|posts are|come|comes|hang|stand|lie|follow directly|right|immediately? under|below|beneath|after the? ID",
    "what|which continuations|replies|nodes|branches? has|have? grew|grows|came|comes|grown out of the? ID",
    "everything that|which directly|immediately follows|continues|comes|hangs|stands after|under|below|beneath? the? ID",
];

/// [`CONTINUATIONS`] by their first words.
static QUESTIONS: LazyLock<PatternTable<()>> =
    LazyLock::new(|| PatternTable::new(CONTINUATIONS.iter().map(|pattern| (*pattern, ()))));

/// Reads a question for what is below a node as its continuations: `what's under a7x2?`, `show me what comes after a7x2`.
pub(super) fn read_continuations(line: &str, terms: &mut Vec<AnnotatedToken>) {
    let word = |at: usize| terms.get(at).map_or("END", |term| class(line, term));
    let is_idle = |term: &AnnotatedToken| {
        let looks = matches!(term.entry.base(), Some(Verb::See | Verb::List | Verb::Tell | Verb::Get | Verb::Find));
        looks || matches!(term.text.of(line), "me" | "us" | "please")
    };
    let at = terms.iter().take_while(|term| is_idle(term)).count();
    let Some((end, ())) = QUESTIONS.matches(&word, at).next() else { return };
    // `what's under a7x2? prune it` asks for more.
    if !terms[end..].iter().all(|term| matches!(term.kind, TokenKind::Mark(_))) {
        return;
    }
    (terms[at].kind, terms[at].entry) = (TokenKind::Word, lexicon::look_up("continuations"));
    terms.drain(at + 1..end - 1);
}

/// Removes the idle words of the phrases.
pub(super) fn drop_idle_words(line: &str, terms: &mut Vec<AnnotatedToken>) {
    let mut at = 0;
    while at < terms.len().min(MAX_SEARCHED) {
        // Behind a colon, content may begin.
        match (at == 0 || !terms[at - 1].is(':')).then(|| idle_words(line, terms, at)).flatten() {
            Some(idle) => drop(terms.drain(idle)),
            None => at += 1,
        }
    }
}

/// The range of the idle words of a phrase that begins at `at`.
fn idle_words(line: &str, terms: &[AnnotatedToken], at: usize) -> Option<Range<usize>> {
    let word = |at: usize| terms.get(at).map_or("END", |term| class(line, term));
    TABLE.matches(&word, at).find_map(|(start, [idle, behind])| {
        let end = idle.end(&word, start)?;
        behind.end(&word, end).map(|_| start..end)
    })
}

/// A token as the patterns write it.
fn class<'l>(line: &'l str, term: &AnnotatedToken) -> &'l str {
    match term.kind {
        _ if term.is_id() => "ID",
        TokenKind::File => "FILE",
        TokenKind::Number(_) => "NUMBER",
        _ if term.is_text() => "TEXT",
        TokenKind::Name if matches!(line.get(term.text.end..term.whole.end), Some("'s" | "’s")) => "GENITIVE",
        _ => term.text.of(line),
    }
}
