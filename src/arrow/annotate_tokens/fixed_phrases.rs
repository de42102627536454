//! Phrases that are read as one word or as none: `what hangs below a7x2`, `the branch that ends at a7x2`.

use std::{ops::Range, sync::LazyLock};

use super::{AnnotatedToken, TokenKind};
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

/// Words that say in more words what one says, in the form of [`PHRASES`] with that word. A word with a colon is an option's name.
const PARAPHRASES: &[([&str; 3], &str)] = &[
    // `the tree in words and figures, not as a drawing`
    (["", "in words and|or|& figures|numbers", ""], "summary"),
    (["", ",? not|no|without as? a|the|any? drawing|picture|sketch|diagram", "END|?|.|!|,|please"], "summary"),
    (["", ",? rather than as? a|the? drawing|picture|sketch|diagram", ""], "summary"),
    (["", ",? instead of a|the? drawing|picture|sketch|diagram", ""], "summary"),
    (["tree|structure|outline", "in words", "END|.|!|,|please"], "summary"),
    // `go to the sibling before this one`
    (["", "sibling before|preceding this|mine|here one|node?", ""], "previous"),
    (["", "sibling after|following this|mine|here one|node?", ""], "next"),
    // `delegate "x" and tell them "y"`
    (["TEXT", ",? and|but? tell them|it|him|her|the agent?", "TEXT"], "context:"),
    // `find the places where "x" comes up`
    ([SPOKEN, "where|wherever", "TEXT"], "archive"),
    ([SPOKEN, "in which", "TEXT"], "archive"),
    // `show what stands before and after a7x2`
    (
        [
            "",
            "what|everything|whatever that|which? stands|stood|comes|came|lies|is|was|happened|happens said|written? right|just|directly? before and right|just|directly? after",
            "ID",
        ],
        "around:",
    ),
    (
        [
            "",
            "what|everything|whatever that|which? has|was been? said|happened|written right|just|directly? before and right|just|directly? after",
            "ID",
        ],
        "around:",
    ),
    (["", "what|whatever|everything that? was|is|has been? said|written around", "ID"], "around:"),
    (["", "what|whatever|everything happened|happens|went|goes on? around", "ID"], "around:"),
    (["", "right|just|directly? before and right|just|directly? after", "ID"], "around:"),
    // `continue from a7x2, and what I want is "x"`
    (["", ",|;|—|– and|but? what|all i|we want|need|wish|ask is :?", "TEXT"], "instruction:"),
    (["", "and|but what i|we want|need|wish is :?", "TEXT"], "instruction:"),
    (["", ",? and here is what i|we want|need|have :?", "TEXT"], "instruction:"),
    (["", ",? and here's what i|we want|need|have :?", "TEXT"], "instruction:"),
    (["", ",? and|but? what i|we have|want|need to say|add|reply is :?", "TEXT"], "content:"),
    (
        [
            CONTINUED,
            ",|;|—|–? and|but? tell|ask|instruct it|him|her|them|the author|model|agent|writer|subject? for? :?",
            "TEXT",
        ],
        "instruction:",
    ),
    (
        ["", ",|;|—|–? and|with the|one only rule|condition|wish|constraint|requirement|request is|being :?", "TEXT"],
        "instruction:",
    ),
    // `item 3 is done, and what came of it is "x"`
    (["", ",|;|—|–|:? and|with? what came|comes of it|that is|was :?", "TEXT"], "outcome:"),
    // `delegate "x"; what the agent needs to know is "y"`
    (
        ["", ",|;|—|–|:? and|with? what it|they|he|she|the|you other? agent|model? needs|need to know is :?", "TEXT"],
        "context:",
    ),
    // `stash "x", content of: a7x2`
    (["", "content|contents|text of :", "ID"], "content-of:"),
    (["", "summary of :", "ID"], "summary-of:"),
    // `the node I bookmarked as "x"`
    (
        [
            "node|message|one|place|spot|scene|passage|branch",
            "that|which|i|we|you|is|was? i|we|you|is|was? have|had|has? been|just? bookmarked|starred as|under|with?",
            "TEXT",
        ],
        "bookmark:",
    ),
    // `link a7x2 to b3k9, since "both lie"`
    ([",", "since", "TEXT END|.|!"], "because"),
    // `the node that bears the bookmark "x"`
    (["node|message|one", "that|which bears|has|carries the?", "bookmark TEXT"], "with"),
    // `recall "x" in the scope tree`
    (["", "in|with|within? the? scope", "all|tree|session|workspace"], "scope:"),
    // `done with item 3: "x"`
    (["", "done|finished with", "item|todo|task NUMBER"], "finish"),
    // `I'd like to be at a7x2`
    (["like|love|want|wish to", "be", "at ID|parent|root"], "go"),
    // `put a7x2 in front of me`
    (["put|lay|set|place ID", "in front of me|us", ""], "up"),
    (["put|lay|set|place ID", "before me|us", "END|.|,|!|once|please|again|now"], "up"),
    // `number 2 of the plan`
    (["", "number|point|entry", "NUMBER is|was|has done|finished|complete|completed|cancelled|been"], "item"),
    // `the changes that were taken back`
    (
        [
            "changes|change|operations|operation|steps|step|edits|actions|ones",
            ",? which|that was|were|i|we|you|have|had|has have|had|just|been|only? been|just? undone|reverted|undid|took|taken|rolled back?",
            "",
        ],
        "undone-changes",
    ),
    // `see to it that a7x2 in the context`, without its verb
    (["", "see to it that", "ID in the? context END|.|!"], "keep"),
    (["", "make|be sure that?", "ID in the? context END|.|!"], "keep"),
    // `make the last two undone changes again`
    (["", "undone|reverted", "changes|change|operations|operation|steps|step|edits|edit"], "undone-changes"),
    (
        ["", "apply again|anew", "the change|changes|operation|operations|step|steps|edit|edits that|which? i|we|you"],
        "redo",
    ),
    (["", "apply", "the|my? last? NUMBER? undone|reverted"], "redo"),
    // `the agent "x" is requested to continue a7x2`
    (["agent TEXT", "is|are kindly|hereby? requested|asked|invited to", "continue|carry|go"], "shall"),
];

/// Words before a clause on what was said.
const SPOKEN: &str =
    "recall|remember|find|search|grep|places|place|turns|turn|passages|messages|spots|everywhere|me|us|nodes|times";

/// Words before a clause on what a continuation shall be.
const CONTINUED: &str =
    "ID|parent|root|leaf|here|continuations|continuation|takes|variations|each|apiece|words|tokens|on|it";

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
    let word = |at: usize| terms.get(at).map_or("END", |term| class(line, term));
    TABLE.matches(&word, at).find_map(|(start, phrase)| {
        let end = phrase.idle.end(&word, start)?;
        phrase.behind.end(&word, end).map(|_| (start..end, phrase.word))
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
