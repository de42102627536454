//! Phrases that are read as one word or as none: `what hangs below a7x2`, `the branch that ends at a7x2`.

use std::{ops::Range, sync::LazyLock};

use super::{AnnotatedToken, TokenKind, paraphrases::PARAPHRASES};
use crate::arrow::{
    lexicon::{self, Entry, Verb},
    option_name::OptionName,
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
    // `open n4c7, no sorry, I meant t6r8`
    [
        "",
        "ID .? .? ,|.|…|—|–|-|?|( no|nope|oops|wait|er|ah? ,? sorry|correction|oops ,|:? i? mean|meant? to|from|under|below|at|of?",
        CORRECT,
    ],
    ["", "ID .? .? ,|.|…|—|–|-|?|( no|nope|oops|wait|er|ah? ,? i mean|meant to|from|under|below|at|of?", CORRECT],
    ["", "ID .? .? ,|.|…|—|–|-|?|( no|nope|oops|wait|er|ah? ,? make that|it", CORRECT],
    // `show me what I have hidden in this tree`: each of these belongs to a tree.
    [
        "pruned|hidden|changes|made|agents|documents",
        "in|of|within|across this|the|our|my whole|entire|current? tree",
        "END|?|.|!|,",
    ],
    // `take back your last three operations`
    ["", "your", "last|latest|most NUMBER|recent operations|changes|steps|edits|actions|NUMBER"],
    // `all the way up to the root`
    ["", "all the way", "up|down|back|to"],
    // `the siblings of this node here`
    ["this|the|that node|message|position|one", "here", "END|?|.|!"],
    // `the node I'm standing on`
    ["i'm|we're", "standing|sitting|currently|now|still", "on|at|in"],
    ["node|message|one", "i'm|we're on|at|in", ": TEXT"],
    // `jot something on a7x2: "x"`
    ["jot|note|write|say|add|put|scribble", "something", "down? on|under|to|at|below|beneath the? ID"],
    ["jot|note|write|say|add|put|scribble", "something down?", "here"],
    // `record this as decided: "x"`
    ["record|register|log|recorded|registered|logged", "this|it|that? as decided|agreed|settled|resolved", ":|TEXT"],
    // `everything you keep in your memory`
    [
        "",
        "everything|all|whatever|what that|which? you|i|we've have? keep|kept|have|got|hold|store|stored|know|remember? got? in|from the|your|my|our?",
        "memory",
    ],
    [
        "",
        "everything|all|whatever|what that|which? you|i|we keep|kept|have|hold|store|know|remember got|stored? in|from the|your|my|our?",
        "memory",
    ],
    // `drop the stash "x", I need it no more`
    ["", ",|– i|we need it|that|this|them no|not more|longer", "END|.|!|,"],
    // `todo ad "x"`
    ["todo|todos|plan", "ad", "TEXT"],
    // `what a7x2 deserves is a bookmark`
    ["", "what", "the|this? ID|parent|root|node needs|deserves is a|an"],
    ["ID|parent|root|node needs|deserves", "is", "a|an"],
    // `my answer to a7x2 is "x"`
    ["my answer|reply|response|note|comment|remark to|on|for|at the? ID|root|parent", "is this? :?", "TEXT"],
    // `describe the tree in words`
    ["", "describe", "the? tree|structure"],
    // `move a7x2 with everything below to b3k9`
    [
        "move|mv|copy|cp|prune|hide|relocate|transplant|shift ID",
        ",? with|and everything|all that? hangs|is|stands? below|beneath|under|underneath it?",
        "to|under|below|beneath|END|.|!",
    ],
    // `turns 100 up to 108`
    ["NUMBER", "up", "to NUMBER"],
    // `item 3 of the plan is done`
    [
        "item|task|todo|number|point|entry NUMBER",
        "of|on|in|from the|my|our? plan|todo|todos|agenda|checklist|todo-list list|items?",
        "",
    ],
    // `see to it that a7x2 stays in the context`
    ["see to it that ID", "stays|remains|is", "in the? context END|.|!"],
    ["make|be sure that? ID", "stays|remains|is", "in the? context END|.|!"],
    // `unpin a7x2 pretty please`
    ["", "pretty", "please|pls|plz"],
    // `plan three things: "a", "b" and "c"`
    ["plan", "NUMBER things|items|tasks|points|steps", ": TEXT"],
    // `prune a7x2, it says the same as b3k9`
    [
        "ID|parent|node|root|branch|it",
        ",|—|–|;|( it|this|that|they says|say exactly|much|just? the same thing? as|than|again|twice? ID? )?",
        "END|.|!",
    ],
    // `it's nothing but noise`
    ["it's|is|was|are", "nothing|none but", ""],
    // `80 words or so each`
    ["words|tokens|levels|results", "or so", ""],
    // `find "x" exactly in those words, and only on the path to a7x2`
    ["exactly|exact|verbatim|precisely", ",? in those|these|just|the|that same? words|wording", ""],
    ["", ",? and only", "on|below|under|beneath|in|from|by"],
    // `decide this much: "x"`
    ["decide|record|log|settle", "this|so much", ": TEXT"],
    // `the turns where "x" comes up`
    [
        "where|which TEXT",
        "is|was|were|has|have been? ever? said|mentioned|discussed|raised|named|brought|written|talked up|about?",
        "",
    ],
    ["where|which TEXT", "comes|came|crops|cropped|turns|turned|shows|showed|pops|popped up", ""],
    ["where|which TEXT", "occurs|occurred|appears|appeared|stands|stood|arises|arose|is", ""],
];

/// The right node behind words that correct the one before them, where nothing is said of it.
const CORRECT: &str = "ID END|.|!|,|)|—|–|:|please|full|in|with|as|TEXT";

/// A phrase behind what stands before it.
struct Phrase {
    idle: Pattern,
    behind: Pattern,
    /// The word in place of the idle ones.
    word: Option<&'static str>,
}

/// [`PHRASES`] and [`PARAPHRASES`] by their first words.
static TABLE: LazyLock<PatternTable<Phrase>> = LazyLock::new(|| {
    let mut table = PatternTable::default();
    let paraphrases = PARAPHRASES.iter().map(|(phrase, word)| (phrase, Some(*word)));
    for (phrase, word) in PHRASES.iter().map(|phrase| (phrase, None)).chain(paraphrases) {
        table.push(phrase, Phrase { idle: Pattern::new(phrase[1]), behind: Pattern::new(phrase[2]), word });
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
    let word = |at: usize| terms.get(at).map_or("END", |term| pattern_word(line, term));
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

/// Removes the idle words of the phrases, and puts a word in place of the paraphrases.
pub(super) fn drop_idle_words(line: &str, terms: &mut Vec<AnnotatedToken>) {
    let mut at = 0;
    while at < terms.len().min(MAX_SEARCHED) {
        // Behind a colon, content may begin.
        match (at == 0 || !terms[at - 1].is(':')).then(|| idle_words(line, terms, at)).flatten() {
            Some((idle, None)) if terms[idle.start].is_id() && hides(terms) => at += 1,
            Some((idle, None)) => drop(terms.drain(idle)),
            Some((idle, Some(word))) => {
                let option = word.strip_suffix(':').and_then(OptionName::named);
                let first = &mut terms[idle.start];
                first.kind = option.map_or(TokenKind::Word, TokenKind::OptionName);
                first.entry = if option.is_some() { Entry::default() } else { lexicon::look_up(word) };
                terms.drain(idle.start + 1..idle.end);
                at += 1;
            }
            None => at += 1,
        }
    }
}

/// True if a verb hides a node. Which one is meant by `prune a7x2, I mean b3k9` is not guessed.
fn hides(terms: &[AnnotatedToken]) -> bool {
    terms.iter().any(|term| matches!(term.entry.base(), Some(Verb::Prune | Verb::Remove)))
}

/// The range of the idle words of a phrase that begins at `at`, and the word in place of them.
fn idle_words(line: &str, terms: &[AnnotatedToken], at: usize) -> Option<(Range<usize>, Option<&'static str>)> {
    let word = |at: usize| terms.get(at).map_or("END", |term| pattern_word(line, term));
    TABLE.matches(&word, at).find_map(|(start, phrase)| {
        let end = phrase.idle.end(&word, start)?;
        phrase.behind.end(&word, end).map(|_| (start..end, phrase.word))
    })
}

/// A token as the patterns write it.
pub(in crate::arrow) fn pattern_word<'l>(line: &'l str, term: &AnnotatedToken) -> &'l str {
    match term.kind {
        _ if term.is_id() => "ID",
        TokenKind::File => "FILE",
        TokenKind::Number(_) => "NUMBER",
        _ if term.is_text() => "TEXT",
        TokenKind::Name if matches!(line.get(term.text.end..term.whole.end), Some("'s" | "’s")) => "GENITIVE",
        _ => term.text.of(line),
    }
}
