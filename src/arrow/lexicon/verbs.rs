//! Verbs by what they do, and their inflections that no rule makes.

use super::Verb;

/// Verbs in their base form, by what they do. Their inflections are made from them, or are in [`IRREGULAR`].
pub(super) const VERBS: &[(Verb, &str)] = &[
    (
        Verb::See,
        "reproduce exhibit know quote recite present unfold unroll browse explore scan peruse consult view see look show display inspect reread re-read revisit reopen open peek examine render preview reveal study glance print eyeball review \
         observe visualise visualize expand hear examine reexamine scrutinise scrutinize witness zoom prettyprint page watch",
    ),
    (
        Verb::Get,
        "gimme supply provide feed get fetch give grab pull retrieve want need like love wish have surface dump load receive request",
    ),
    (Verb::List, "list ls enumerate itemise itemize lst ll dir tabulate tally"),
    (
        Verb::Go,
        "nip stand come enter go goto switch jump checkout cd navigate head hop step return climb walk travel descend ascend proceed visit \
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
    (
        Verb::Respond,
        "whisper discuss mention talk speak respond reply answer say post retort rejoin interject chime riposte",
    ),
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
    (
        Verb::Bookmark,
        "dog-ear dogear earmark bookmark star mark flag favourite favorite book-mark bm bkmk bmk asterisk fav",
    ),
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
    (Verb::Undo, "unmake reverse unwind undo ctrl-z revert rollback un-do retract revoke rescind ctrl+z"),
    (Verb::Redo, "redo reapply re-do ctrl-y ctrl+y"),
    (Verb::Copy, "copy duplicate clone cp replicate dup photocopy cherry-pick"),
    (
        Verb::Move,
        "rehome drag slide rebase shunt move mv relocate transplant graft transfer reparent shift rehang reattach resettle replant rehouse transpose",
    ),
    (Verb::Split, "slice halve bisect partition split divide cleave sunder cleave dissect"),
    (Verb::Exclude, "mute withhold exclude omit suppress blacklist un-include unlist"),
    (Verb::Include, "unmute include readmit reinclude un-exclude unexclude"),
    (
        Verb::Unlink,
        "unlink dissolve disconnect detach untie sever unhook decouple dissociate disassociate uncouple unbind unpair un-link unchain delink",
    ),
    (Verb::Read, "read cat skim less sed"),
    (Verb::Write, "pen type write append prepend insert echo"),
    (Verb::Pin, "pin affix fasten"),
    (Verb::Unpin, "unpin unstash un-pin"),
    (Verb::Stash, "bank stash save store squirrel tuck stow park shelve hoard deposit"),
    (Verb::Recall, "recall remember recollect"),
    (Verb::Grep, "grep rg ack count"),
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
    (Verb::Find, "hunt scour comb dig find lookup research investigate"),
    (Verb::Think, "deliberate think ponder reflect muse contemplate mull brainstorm ruminate meditate"),
    (Verb::Pause, "pause stop wait"),
    (Verb::Help, "help man usage explain"),
    (Verb::Put, "tack slap send put place set lay pop stick plant "),
    (Verb::Add, "add attach create enter"),
    (Verb::Make, "make draft compose"),
    (Verb::Leave, "leave"),
    (Verb::Summarise, "summarise summarize recap sum"),
    (Verb::Replace, "replace swap substitute overwrite"),
    (Verb::Take, "take"),
    (Verb::Bring, "bring"),
    (Verb::Finish, "finish complete close tick accomplish"),
    (Verb::Check, "cross strike knock check"),
    (Verb::Cancel, "cancel abandon scratch"),
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
    ("withdrew", "withdraw"),
    ("withdrawn", "withdraw"),
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
    act adapt age aims ample annotated ant art attack aunt await back bake ban band bark barn batch bear beat \
    became beep bent big bird bits blank blink blog bold bone book boot bother brain brake bread break brew \
    bring brown browser build bump bunk bust cage came cart carve cast catch catches center chair chance charge \
    chat cheap cheat check cheek chew chip choir choke chose cites clap claw clean closer clout clove coast coat \
    coax code cold comb come compete cond consent contract cool coop cope copies core cost costs count cove \
    cover craft crate crawl create crest crop crown cull curb curl curse damp dark dash days dead deal dear \
    death deck decode deed deem degenerate demo dies dime dine ding dip discord divine dock dodge don done doubt \
    dove drain drift drink drip droop drown drum duel dumb dung dust ease eats edict edits elect emerge emit \
    even ever exit exits extent fake fall falls fast faster fear fee feel feet fell fetched field fill fills fin \
    fine fire firm fish fist fitness flat flaw flaws flee flip float floor flow fold fond font foot form free \
    freed frown fry full fuss gang gaze gist git giver gold gone grain grant great grey grind grip grown guild gust \
    hack hall handy hard harm hash haste hatch haul haven heap hear heart heat heck heir held hell herd hide \
    hike hint hints hire hold hole home hood hope horse host hosts house hover hull hunk hurt ide ill indeed ink \
    inline jobs joint kelp kick kind kinds king knead kneel knew knob known lacks lag lane lark last latch lawyers \
    layer lazy lead leak leap lens les lest lick lie lies like lime line lint lints lis list lit live lives load \
    lock lone loop loose lose loss losses lost lots love luck lung lure lust main man many march marge marks \
    mars mask masks mast match math mean meet men mere mess met mild mill mime mind mist moan modal mode models \
    modes mood moon mope more most mote mouse mover movie mul must mutex near neat need nest news nod node nose \
    note notes nudge nuke null nurse oath old open outlive oven over pack pain paint pane papers park parse \
    party past paste patch patent pave peak peck peer phrase phrases pie pike pile pinch pine pink pins pint \
    pitch place plain plane plate play plead pluck pod poke poll port ports post pour precise pretend prevent \
    prick prim printer probe product prompts prone prop prove provider prude pry pulp pure purse quit quite \
    quota race rack rage rand rang rant raw reader ready real reap reasons receiver recipe red reed reject \
    relies rely remain remote rent replay reserve reuse review rhyme ride ring rink rip road roam roast role \
    room rope rot rough rover row rule rules rust sack safe sage sail sake sale same sampler sane sang save \
    scenes score scout scrape sed seed seek seem sell sender sent severe sew shake shave shed shell shield shim \
    ship shoe shop shore short shot shout shrug shut side sides sigh simple sin sing sink sip sit sizes skid \
    skill slash slim sling slip slop slot slow smart smash smell smile snake snap sneak snow soak sock sold some \
    sort sow space span spare spat speak spend spice spill spit splint spray squeal stab stack stage stake stale \
    stalk stamp stand stare stark start state stay stays steak steal steel steer stem stick sting stock stone \
    store story stout stove stray stride string strive stroll structure suck sunk sway swear sweep swim \
    switching swoop sword tale talk talks tame tang tar taste tease ted tee tempt tend test tests thank thaw \
    their there these thick thin thing think this those threat three tide tied tier ties time timed tine tips \
    toe toil told tone torn trace track tracks trade trail train tram trash trea tread treat trees trial trick \
    trip trout true tug twirl twist typo under undue unfair unfill unit units unpark user vast verge vie vied \
    void vote wage waist wait waits walk want waste watch wed weed week weep went wheel which whip white whole \
    wide wind wing wink wins wipe witch with wonder word wording worked world wove wrap wreck writer wrote yawn \
    year yelp yield zone";
