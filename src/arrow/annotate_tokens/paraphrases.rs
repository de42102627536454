//! Table of phrases that say in more words what one word or option says: `what stands around a7x2`.

/// Words that say in more words what one says, in the form of `fixed_phrases::PHRASES` with that word. A word with a colon is an option's name.
pub(super) const PARAPHRASES: &[([&str; 3], &str)] = &[
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
            "what|everything|whatever that|which? stands|stood|comes|came|lies|is|was|happened|happens said|written? right|just|directly? before and right|just|directly? after the? node|message|turn|passage?",
            "ID",
        ],
        "around:",
    ),
    (
        [
            "",
            "what|everything|whatever that|which? has|was been? said|happened|written right|just|directly? before and right|just|directly? after the? node|message|turn|passage?",
            "ID",
        ],
        "around:",
    ),
    (
        [
            "",
            "what|whatever|everything that? was|is|has been? said|written around the? node|message|turn|passage?",
            "ID",
        ],
        "around:",
    ),
    (
        ["", "what|whatever|everything happened|happens|went|goes on? around the? node|message|turn|passage?", "ID"],
        "around:",
    ),
    (
        ["", "right|just|directly? before and right|just|directly? after the? node|message|turn|passage?", "ID"],
        "around:",
    ),
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
    // `switch ot a7x2`
    (["", "ot", "ID|the|root|parent"], "to"),
    // `continue from a7x2, written by the agent "Ada"`
    (
        [
            "ID|continuations|continuation|takes|root|parent|here",
            ",? all? written|drafted|composed|made by the? agent|model|author?",
            "TEXT",
        ],
        "agent:",
    ),
    // `continue form a7x2`
    (["", "form", "ID|the|root|parent|here"], "from"),
    // `write "x" in place of what stands under "Costs"`
    (["", "in place|lieu of what|whatever|everything? stands|is? under the? heading|section?", "TEXT"], "replace:"),
    // `results of the tool grep that hold "x"`
    (
        [
            "tool|results|output|outputs|calls",
            "that|which hold|holds|contain|contains|mention|mentions|have|show",
            "TEXT",
        ],
        "words:",
    ),
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
