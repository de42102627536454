//! Verbs by what they do, and their inflections that no rule makes.

use super::Verb;

/// Verbs in their base form, by what they do. Their inflections are made from them, or are in [`IRREGULAR`].
pub(super) const VERBS: &[(Verb, &str)] = &[
    (
        Verb::See,
        "exhibit know quote recite present unfold browse explore scan peruse consult view see look show display inspect reread re-read revisit reopen open peek examine render preview reveal study glance print eyeball review \
         observe visualise visualize expand hear examine reexamine scrutinise scrutinize witness zoom prettyprint page watch",
    ),
    (
        Verb::Get,
        "feed get fetch give grab pull retrieve want need like love wish have surface dump load receive request",
    ),
    (Verb::List, "list ls enumerate itemise itemize lst ll dir tabulate tally"),
    (
        Verb::Go,
        "stand come enter go goto switch jump checkout cd navigate head hop step return climb walk travel descend ascend proceed visit \
         backtrack teleport hopover skipto follow rewind teleport chdir pushd popd land",
    ),
    (
        Verb::Compare,
        "weigh juxtapose diff compare contrast differ diverge part deviate separate distinguish vimdiff sdiff colordiff cmp collate",
    ),
    (
        Verb::Continue,
        "cont spawn grow develop continue generate sample extend elaborate prolong regenerate autocomplete gen autogenerate extrapolate lengthen improvise",
    ),
    (Verb::Respond, "speak respond reply answer say post retort rejoin interject chime riposte"),
    (Verb::Annotate, "scrawl pencil annotate comment jot remark scribble note gloss footnote scribe"),
    (
        Verb::Link,
        "point couple wire reference link connect tie relate associate crosslink crossreference cross-reference hook ln bind interlink associate crossref xref symlink tether",
    ),
    (
        Verb::Edit,
        "polish rework redraft recast retouch edit rewrite reword revise rephrase change amend alter modify correct update tweak fix reformulate retype retouch restate sharpen overhaul patch",
    ),
    (
        Verb::Merge,
        "become knit stitch braid meld merge combine fuse fold squash synthesise synthesize unify unite blend weave join consolidate collapse marry amalgamate splice melt conflate mash condense",
    ),
    (Verb::Bookmark, "dog-ear dogear earmark bookmark star mark flag favourite favorite book-mark bm asterisk fav"),
    (Verb::Unbookmark, "unbookmark unstar unmark unflag un-star un-mark un-bookmark unfavourite unfavorite"),
    (Verb::Prune, "cull weed prune hide trim lop chop cut snip amputate excise uproot"),
    (
        Verb::Remove,
        "throw toss bin axe nix ditch remove delete rm clear erase strip discard kill nuke scrap del lose purge eliminate unlist eject withdraw",
    ),
    (
        Verb::Restore,
        "un-prune unprune un-hide rescue salvage restore unprune revive unhide recover resurrect undelete reinstate unremove un-delete regrow reanimate unkill undelete un-remove unarchive",
    ),
    (Verb::Undo, "unmake reverse unwind undo ctrl-z revert rollback un-do retract ctrl+z"),
    (Verb::Redo, "redo reapply re-do ctrl-y ctrl+y"),
    (Verb::Copy, "copy duplicate clone cp replicate dup photocopy cherry-pick"),
    (
        Verb::Move,
        "rehome drag slide rebase shunt move mv relocate transplant graft transfer reparent shift rehang reattach resettle replant rehouse transpose",
    ),
    (Verb::Split, "slice halve bisect partition split divide cleave sunder cleave dissect"),
    (Verb::Exclude, "mute exclude omit suppress blacklist un-include unlist"),
    (Verb::Include, "unmute include readmit reinclude un-exclude unexclude"),
    (
        Verb::Unlink,
        "unlink disconnect detach untie sever unhook decouple dissociate disassociate uncouple unbind unpair un-link unchain delink",
    ),
    (Verb::Read, "read cat skim less sed"),
    (Verb::Write, "pen type write append prepend insert echo"),
    (Verb::Pin, "pin affix fasten"),
    (Verb::Unpin, "unpin unstash un-pin"),
    (Verb::Stash, "bank stash save store squirrel tuck stow park shelve hoard deposit"),
    (Verb::Recall, "recall remember recollect"),
    (Verb::Grep, "grep rg ack"),
    (Verb::Drop, "drop release dismiss forget"),
    (Verb::Decide, "establish adopt agree decide resolve settle ratify stipulate"),
    (Verb::Record, "record log register capture enshrine codify"),
    (Verb::Memory, "memory mem"),
    (Verb::Tree, "tree"),
    (Verb::Draw, "draw map sketch plot chart outline overview"),
    (Verb::Todo, "todo plan"),
    (Verb::Delegate, "delegate assign outsource entrust subcontract dispatch offload"),
    (Verb::Hand, "hand pass farm"),
    (Verb::Search, "search google websearch ddg bing duckduckgo web-search"),
    (Verb::Find, "hunt scour dig find lookup research investigate"),
    (Verb::Think, "deliberate think ponder reflect muse contemplate mull brainstorm ruminate meditate"),
    (Verb::Pause, "pause stop wait"),
    (Verb::Help, "help man usage explain"),
    (Verb::Put, "tack send put place set lay pop stick plant "),
    (Verb::Add, "add attach create enter"),
    (Verb::Make, "make draft compose"),
    (Verb::Leave, "leave"),
    (Verb::Summarise, "summarise summarize recap"),
    (Verb::Replace, "replace swap substitute overwrite"),
    (Verb::Take, "take"),
    (Verb::Bring, "bring"),
    (Verb::Finish, "finish complete close tick accomplish"),
    (Verb::Check, "cross strike knock check"),
    (Verb::Cancel, "cancel abandon"),
    (Verb::Resume, "resume"),
    (Verb::Name, "call name label title tag"),
    (Verb::Ask, "ask let"),
    (Verb::Tell, "tell"),
    (Verb::Try, "try run produce spin furnish shoot"),
    (Verb::Carry, "carry push press pick"),
    (Verb::Keep, "preserve retain keep hold hang"),
    (Verb::Remind, "remind"),
    (Verb::Use, "use"),
    (Verb::Limit, "limit cap"),
    (Verb::Skip, "skip avoid refrain hesitate refuse neglect ignore"),
    (Verb::Lift, "lift peel"),
    (Verb::Roll, "roll"),
    (Verb::Break, "break"),
    (Verb::Turn, "turn"),
];

/// Forms that no rule makes: the form, the base, whether it is the past tense or participle.
pub(super) const IRREGULAR: &[(&str, &str)] = &[
    ("saw", "see"),
    ("seen", "see"),
    ("shown", "show"),
    ("got", "get"),
    ("gotten", "get"),
    ("gave", "give"),
    ("given", "give"),
    ("had", "have"),
    ("went", "go"),
    ("gone", "go"),
    ("said", "say"),
    ("tied", "tie"),
    ("rewrote", "rewrite"),
    ("rewritten", "rewrite"),
    ("wove", "weave"),
    ("woven", "weave"),
    ("hid", "hide"),
    ("hidden", "hide"),
    ("undid", "undo"),
    ("undone", "undo"),
    ("redid", "redo"),
    ("redone", "redo"),
    ("wrote", "write"),
    ("written", "write"),
    ("found", "find"),
    ("thought", "think"),
    ("made", "make"),
    ("left", "leave"),
    ("took", "take"),
    ("taken", "take"),
    ("brought", "bring"),
    ("kept", "keep"),
    ("forgot", "forget"),
    ("forgotten", "forget"),
    ("drew", "draw"),
    ("drawn", "draw"),
    ("laid", "lay"),
    ("broke", "break"),
    ("broken", "break"),
    ("lost", "lose"),
    ("struck", "strike"),
    ("knitted", "knit"),
    ("held", "hold"),
    ("stuck", "stick"),
    ("came", "come"),
    ("grown", "grow"),
    ("grew", "grow"),
    ("spoke", "speak"),
    ("dug", "dig"),
    ("thrown", "throw"),
    ("threw", "throw"),
    ("slid", "slide"),
    ("hung", "hang"),
    ("sent", "send"),
    ("heard", "hear"),
    ("told", "tell"),
];

/// Bases whose past tense is the base again.
pub(super) const UNCHANGED: &[&str] = &["cut", "put", "set", "read", "split", "let"];

/// Bases that double their last consonant before `-ed` and `-ing`.
pub(super) const DOUBLING: &[&str] = &[
    "put", "set", "cut", "lop", "chop", "jot", "hop", "step", "pin", "unpin", "cap", "drop", "stop", "omit", "let",
    "get", "rm", "trim", "star", "unstar", "tag", "log", "flag", "unflag", "chat", "plot", "map", "run", "mull",
    "skip", "swap", "recap", "transfer", "split", "forget", "refer", "strip", "scrap", "plan", "snip", "spin", "grab",
    "cancel", "label", "travel",
];

/// Ordinary words that look like a slip of a verb, and are none.
pub(super) const ORDINARY: &str = "\
    act adapt age aims annotated art attack await back ban bark barn batch bear beat became bent big bird \
    bits blank blink blog bold bone book boot bother brain brake bread break bring brown browser build bump \
    bunk bust cage came catch catches center chance charge cheap cheat check cheek choke chose cites closer \
    clout clove code cold come compete consent contract cool cope copies core cost costs count cove cover \
    craft crate create crest crop crown cull curse dark dash days dead dear death deck decode deed deem demo \
    dies dime ding dip divine dock don done doubt dove drain drink drip droop drown duel dumb dung dust ease \
    edict edits elect emerge emit even ever exit exits extent fake fall falls fast faster fear feel \
    fell field fill fills fine fire firm fish fist fitness flat flaws floor fold fond foot form free frown \
    full fuss gist gold gone grain grant great grey grown guild gust hack hall handy hard harm hash haste \
    hatch heap hear heart heat heck held hell hide hike hint hints hire hold hole home hope horse host hosts \
    house hover hunk hurt indeed ink inline jobs joint kelp kick kinds king knew known lacks lark last latch \
    lawyers layer lazy lead leap lest lick lies like lime line lint lints lis list lit live lives load lock \
    lone loose lose loss losses lost lots love luck lung lust main man march marge marks mars mask masks \
    mast match math mean meet men mere mess met mild mime mind mist modal mode models modes mood moon more \
    most mote mouse mover movie must near neat need nest news node nose note notes nuke nurse old open oven \
    over pack pain paint pane papers park parse party past paste patch patent peak peer phrase phrases pie \
    pile pinch pine pink pins pint pitch place plain plane plate play poll port ports post precise pretend \
    printer probe product prompts prone prop prove prude pure purse quite race rack rage raw reader ready \
    real reap reasons recipe red reed reject relies rely remote rent replay reuse review rhyme ride ring \
    rink road role room rope rough rover row rule rules rust sack safe sage sake sale same sane save scenes \
    score scout sed seed seek seem sell sent severe shake shell shield ship shoe shop shore short shot shout \
    shut side sides simple sin sing sink sit sizes skill slash sling slip slot slow smart smash snake snow \
    sock sold some sort space spat speak spend spice spit splint stack stage stake stale stand stare stark \
    start state stay stays steak steal steel stem stick sting stock stone store story stout stove stray \
    string strive structure suck sunk switching sword tale talk talks tame taste ted tee tend test tests \
    thank their there these thick thin thing think this those threat three tied tier ties time timed tine \
    tips toe told tone torn trace track tracks trade trail train trash trea tread treat trees trial trick \
    trip trout true twist typo under undue unfair unit units user vast verge vie vied void vote wage waist \
    wait waits walk want waste watch weed week went wheel which white whole wide wind wing wink wins witch \
    with wonder word wording worked world wove wreck writer wrote year yelp yield zone";
