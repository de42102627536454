//! Nouns by what they name, and the small words that hold a line together.

use super::{FunctionWord, Noun, Prep};

/// Nouns by what they name, singular and plural as they come.
pub(super) const NOUNS: &[(Noun, &str)] = &[
    (
        Noun::Node,
        "node nodes message messages post posts entry leafnode id ids passage moment spot spots places scene point piece fragment snippet stanza excerpt",
    ),
    (
        Noun::Branch,
        "branch branches subtree thread arm limb path strand offshoot fork forks twig limbs arms twigs strands threads offshoots subtrees bough",
    ),
    (Noun::Tree, "tree trees map outline overview shape layout structure drawing diagram"),
    (Noun::Root, "home root beginning trunk origin outset"),
    (Noun::Parent, "parent ancestor mother father"),
    (Noun::Next, "next"),
    (Noun::Previous, "previous prev"),
    (Noun::Leaf, "leaf tip bottommost"),
    (Noun::Sibling, "sibling siblings brothers sisters cousins peers brethren sister brother"),
    (
        Noun::Continuation,
        "continuation continuations conts child children kids variation variations replies take takes successors successor offspring descendants follow-ups followups successions sequels progeny",
    ),
    (
        Noun::Alternative,
        "samples openings endings attempts attempt tries stabs way ways direction directions alternative alternatives option options completions completion candidate candidates",
    ),
    (
        Noun::Annotation,
        "annotation annotations with-annotations margin note notes comment comments remark remarks annots footnote footnotes gloss glosses marginalia jotting jottings observation observations scribble scribbles margins",
    ),
    (
        Noun::Link,
        "tie ties link links connection connections crossreferences cross-references crosslinks crosslink crossreference reference references relation relations tether edge edges",
    ),
    (
        Noun::Version,
        "ver vers version versions revision revisions wordings rewordings edits drafts redrafts rewrites variants variant iterations rewordings editions edition",
    ),
    (Noun::Bookmark, "bookmark bookmarks mark star stars flag flags dogear dog-ear dogears dog-ears earmark earmarks"),
    (Noun::Pin, "pin pins"),
    (Noun::Stash, "stash stashes stashed shelf"),
    (
        Noun::Todo,
        "todo todos to-do to-dos task tasks item items todo-list checklist to-dos chores chore duties errands action-item",
    ),
    (Noun::Delegation, "delegation delegations"),
    (Noun::Memory, "memory"),
    (Noun::Doc, "doc docs document documents file files paper manuscript notebook memo"),
    (Noun::Section, "section sections sect heading chapter"),
    (Noun::Line, "line lines bullet bullets row rows"),
    (Noun::Turn, "turn turns"),
    (Noun::Summary, "summary-of summary gist digest synopsis recap precis abstract nutshell summaries tldr tl;dr"),
    (Noun::Text, "content-of text texts content contents words wrds body wording sentence paragraph"),
    (
        Noun::Agent,
        "agent model helper assistant subagent sub-agent colleague worker bot assistants helpers agents sub-agents subagents minion apprentice researcher intern someone somebody",
    ),
    (Noun::Tool, "tool tools command commands op operation"),
    (Noun::Help, "help usage manual documentation instructions syntax"),
    (Noun::Context, "context prompt ctx"),
    (Noun::Background, "background"),
    (Noun::Web, "web internet online net www"),
    (Noun::Label, "label name title heading key tag"),
    (Noun::Decision, "decision decisions resolution ruling verdict resolve"),
    (Noun::Constraint, "constraint constraints rule"),
    (Noun::Trace, "trace actions footprints doings trail traces"),
    (
        Noun::Archive,
        "session archive history transcript log logs conversation chat dialogue discussion transcripts backlog",
    ),
    (Noun::Change, "thing things ops change changes action step steps operations edit edits move moves"),
    (Noun::Instruction, "instruction directive instructed guideline guidance"),
    (Noun::Level, "level levels lvl lvls deeply deep layers generations tiers tier rungs rung floors"),
    (Noun::Token, "token tokens tok toks tkns"),
    (
        Noun::Result,
        "result results hits hit matches call calls output outputs sources findings pages mentions occurrences",
    ),
    (Noun::Start, "start top beginning"),
    (Noun::End, "end bottom"),
    (Noun::Times, "while bit part little moment- times time moment"),
    (
        Noun::Difference,
        "different difference differences diff comparison delta contrast discrepancies discrepancy deltas disparity",
    ),
    (Noun::Here, "here current position"),
    (Noun::Goal, "goal job"),
    (Noun::Site, "site sites domain domains"),
    (Noun::News, "news"),
    (Noun::Prose, "prose"),
    (Noun::Outcome, "outcome"),
    (Noun::List, "list listing enumeration inventory rollcall roll-call"),
    (Noun::Plan, "plan agenda"),
    (Noun::Character, "character characters chars char offset"),
    (Noun::Copy, "copy duplicate clone"),
    (Noun::Reply, "reply response answer"),
    (Noun::Thought, "thought thoughts"),
    (Noun::Everything, "everything"),
    (Noun::Word, "word phrase"),
    (Noun::Reason, "reason why"),
    (Noun::Query, "query"),
    (Noun::Depth, "depth"),
    (Noun::Restoration, "life restoration reinstatement recovery revival"),
    (Noun::Undone, "undone-changes"),
    (Noun::Maximum, "max maximum limit ceiling"),
    (Noun::State, "state status overview progress"),
];

/// Words that hold a line together.
pub(super) const FUNCTIONS: &[(FunctionWord, &str)] = &[
    (
        FunctionWord::Pad,
        "svp fyi btw pray porfa yaar bro guys rq fr tbh hereby promptly duly therefore thus nevermind oops whoops okey ta merci tia respectfully straightaway asap please plese pleas plase pleaes pls plz plss plsss plzz plis always thx thanx tks thankyou thnks thks tnx kindly just now ok okay alright well also first finally quickly again too both really \
         actually simply straight quite very right here's hey hi thanks thank cheers far around rooted sitting standing hanging lying presently altogether commencing briefly roughly maybe-not \
         entirely completely carefully properly exactly approximately circa safely gently suddenly badly lastly firstly namely obviously clearly \
         certainly definitely shortly quietly cleanly accordingly honestly hopefully merely truly freshly newly recently previously immediately directly currently still already \
         instead together-with yes yeah sure anyway hmm oh ah so-far somewhere perhaps-not afresh anew else early today hitherto henceforth forthwith meanwhile otherwise alone apiece altogether beforehand indeed far \
         more once mind myself ourselves yourself me us for-me",
    ),
    (FunctionWord::Doubt, "maybe perhaps possibly presumably supposedly almost probably"),
    (
        FunctionWord::Det,
        "the a an my mine our ours its his her their your this that these those some any another other same each every all whatever whichever",
    ),
    (FunctionWord::Subject, "i we you u he she they someone somebody everyone nobody anyone"),
    (FunctionWord::It, "it them em itself there lot"),
    (FunctionWord::One, "one ones"),
    (
        FunctionWord::Adjective,
        "fail remains remaining required available active small tiny bird bird's-eye eye than tops possible only exist exists most least deeper longer shorter number numbers work works working used far-off full whole entire entirety unabridged uncut exact failed last latest newest oldest earliest recent new old full-text short long quick brief good better best current \
         actual original own certain following above given pruned hidden deleted removed stashed pinned bookmarked \
         linked complete plenty enough sufficient previous-one labelled-one existing single separate different quiet weak dead strong important key \
         earlier funny little second third operational",
    ),
    (FunctionWord::And, "and plus n'"),
    (FunctionWord::Or, "or nor either"),
    (FunctionWord::But, "but yet"),
    (FunctionWord::Then, "then afterwards afterward"),
    (
        FunctionWord::Later,
        "later tomorrow tonight someday eventually soon monday tuesday wednesday thursday friday saturday sunday",
    ),
    (
        FunctionWord::Sub,
        "so because bc cuz coz b/c since lest while which whose whom where until till although though whereas cause 'cause cos that's-why",
    ),
    (
        FunctionWord::If,
        "if suppose supposing unless whether assuming imagine when whenever provided theoretically hypothetically rhetorically allegedly",
    ),
    (FunctionWord::What, "what which who how what's who's where's how's"),
    (FunctionWord::Why, "why"),
    (FunctionWord::Be, "is are was were am isn't aren't wasn't weren't ain't"),
    (FunctionWord::Infinitive, "be been being"),
    (FunctionWord::Do, "do does did done"),
    (FunctionWord::Have, "has having"),
    (FunctionWord::Modal, "can could would will may might shall should must ought"),
    (
        FunctionWord::Clause,
        "it's that's there's here's i'm we're you're they're he's she's i've we've they've you've we'll they'll you'll \
         it'll that'll it'd this's nothing's everything's i'd've who's",
    ),
    (FunctionWord::Would, "i'd we'd i'll"),
    (FunctionWord::Lets, "let's lets"),
    (
        FunctionWord::Not,
        "not no never rather don't dont doesn't doesnt didn't didnt won't wont wouldn't shouldn't couldn't can't cannot cant \
         haven't hasn't hadn't mustn't needn't none neither mightn't without hardly nowhere nothing nay w/o kidding joking jk nah nope",
    ),
];

/// Prepositions and particles.
pub(super) const PREPOSITIONS: &[(Prep, &str)] = &[
    (Prep::To, "to"),
    (Prep::Into, "into onto in-to"),
    (Prep::Of, "of 's"),
    (Prep::From, "from frm starts begins starting beginning-at"),
    (Prep::In, "in inside within"),
    (Prep::On, "on upon beside"),
    (Prep::At, "at ending ends"),
    (Prep::Under, "under below beneath underneath"),
    (Prep::With, "with w alongside plus-with along bearing"),
    (Prep::As, "as like"),
    (Prep::For, "for regarding concerning"),
    (Prep::By, "by via"),
    (Prep::About, "about abt"),
    (Prep::Through, "through thru until-turn"),
    (Prep::After, "after past behind following follows"),
    (Prep::Before, "before"),
    (Prep::Against, "against versus vs"),
    (Prep::Between, "between btwn betw"),
    (Prep::Up, "up"),
    (Prep::Back, "back"),
    (Prep::Out, "out outside"),
    (Prep::Off, "off"),
    (Prep::Down, "down downward downwards"),
    (Prep::Aside, "aside"),
    (Prep::Away, "away"),
    (Prep::Together, "together"),
    (Prep::Apart, "apart"),
    (Prep::Over, "over across"),
    (Prep::Side, "side"),
    (Prep::Onward, "onward onwards further forward ahead on-from"),
];

/// Words that say what the next argument is for.
pub(super) const OPTION_WORDS: &[(super::OptionName, &str)] = &[
    (super::OptionName::Label, "labelled labeled called named titled tagged"),
    (super::OptionName::Content, "saying reading says reads that-says content text contents"),
    (super::OptionName::Note, "noting because note reason explaining"),
    (super::OptionName::Exclude, "excluding except minus"),
    (super::OptionName::Include, "including"),
    (super::OptionName::Agent, "using"),
    (super::OptionName::Section, "headed"),
    (super::OptionName::Criteria, "criteria criterion"),
];

/// Numbers in words.
pub(super) const NUMBERS: &[(&str, u8)] = &[
    ("zero", 0),
    ("one", 1),
    ("two", 2),
    ("three", 3),
    ("four", 4),
    ("five", 5),
    ("six", 6),
    ("seven", 7),
    ("eight", 8),
    ("nine", 9),
    ("ten", 10),
    ("eleven", 11),
    ("twelve", 12),
    ("thirteen", 13),
    ("fourteen", 14),
    ("fifteen", 15),
    ("sixteen", 16),
    ("seventeen", 17),
    ("eighteen", 18),
    ("nineteen", 19),
    ("twenty", 20),
    ("thirty", 30),
    ("forty", 40),
    ("fifty", 50),
    ("sixty", 60),
    ("seventy", 70),
    ("eighty", 80),
    ("ninety", 90),
    ("hundred", 100),
    ("couple", 2),
    ("pair", 2),
    ("dozen", 12),
    ("twice", 2),
    ("single", 1),
    ("first", 1),
    ("second", 2),
    ("third", 3),
    ("fourth", 4),
    ("fifth", 5),
    ("sixth", 6),
    ("seventh", 7),
    ("eighth", 8),
    ("ninth", 9),
    ("tenth", 10),
];
