//! Verbs by what they do, and their inflections that no rule makes.

use super::Verb;

/// Verbs in their base form, by what they do. Their inflections are made from them, or are in [`IRREGULAR`].
pub(super) const VERBS: &[(Verb, &str)] = &[
    (
        Verb::See,
        "know quote recite present unfold browse explore scan peruse consult view see look show display inspect reread re-read revisit open peek examine render preview reveal study glance print eyeball review \
         observe visualise visualize expand hear examine reexamine scrutinise scrutinize witness zoom prettyprint page watch",
    ),
    (Verb::Get, "get fetch give grab pull retrieve want need like love wish have surface dump load receive request"),
    (Verb::List, "list ls enumerate itemise itemize lst ll dir tabulate tally"),
    (
        Verb::Go,
        "come enter go goto switch jump checkout cd navigate head hop step return climb walk travel descend ascend proceed visit \
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
        "throw toss bin axe nix ditch remove delete rm clear erase strip discard kill scrap del lose purge eliminate unlist eject withdraw",
    ),
    (
        Verb::Restore,
        "un-prune unprune un-hide rescue salvage restore unprune revive unhide recover resurrect undelete reinstate unremove un-delete regrow reanimate unkill undelete un-remove reopen unarchive",
    ),
    (Verb::Undo, "reverse unwind undo ctrl-z revert rollback un-do retract ctrl+z"),
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
    (Verb::Memory, "memory"),
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
    (Verb::Keep, "keep hold hang"),
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
    annotated bark bear beat bent blink bold bone boot brain brake bread break build came catch cheat check \
    cheek clove cold come cope copies cost cove cover create crest crop cull curse dark dead decode deed dies \
    dear ding dip divine don done dove drain drink drip droop edict edits emerge emit even ever exit fall feed \
    field fill fist fold fond free full fuss gist gold gone grain great guild hall haste heap hear heat held \
    hell hide hike hire hold home hope horse host house hover indeed ink kelp lark last latch lead lest like \
    line lint lis list lit live load loose lose lost love lust march marge marks mars mask match men mere \
    mist mode mood moon more most mote mouse mover movie need news node nose note notes nurse old open oven \
    over pane park parse past paste patch pie pile pinch pine pink pins pint pitch place plane plate poll \
    post printer prone prop prude purse quite ready red reed rent review ride rink road role rope rover rule \
    safe sale same save score sed seed sent shake shield shoe shop shore short shot side sing sink slash \
    sling slip slow smash snake snow sold some sort space spat speak spice spit splint stack stage stake \
    stare stark start steak steal steel stick sting stock stone store story stove stray string switching \
    sword tale talk tame taste ted tee thank their there these thick thin thing think this those three tied \
    tier ties time toe told tone trace track train trash trea tread treat trees twist under undue verge vie \
    vied vote waist wait waits walk want waste watch weed went wheel which white whole wink witch with word \
    wording world wove wreck wrote yelp yield zone";
