//! The default forms of directives, and the word lists of their recognition.

use crate::session_state::RecordKind::{self, Constraint, Decision};

/// Words that do not start an imperative.
const NON_IMPERATIVES: &str = "mind again heard been said seen had have has got was were is are am did does knew know thought went gone came \
    left made felt meant found saw kept told wrote took gave a an the on in at to of with for from by as my your his her its our \
    their this that these those i you he she it we they will would could can should might too quite really so very more less \
    enough before after not ready happy late early available wrong right true false there here good bad nice fun great slow fast \
    busy possible welcome sure easy hard better worse best been up down forget wonder wondered out off back only just also \
    thus hence and or but if when because where full calm able give_up quit say_never let_me let_us let_you *ful *ous *ed *ing *s +*ss +need +embed +feed +exceed +proceed +succeed +seed +speed \
    +focus +bring +ping +sing";
const NON_IMPERATIVES_AFTER_WE: &str = "mind again heard been said seen had have has got get was were is are did does do knew know thought think \
    went gone came left made felt feel meant mean found find saw see kept told wrote took gave end seem want need like love \
    hate forget wonder a an the on in at to of with for from by as my your his her its our their this that these those i you \
    he she it we they will would could can should might too quite really so very look enjoy go come try hope wish laugh talk eat give_up *ed *ing +need +embed +feed +exceed +proceed \
    +succeed +bring +ping";
const STATEMENTS_AFTER_MODAL: &str = "be have know mean think see feel happen occur work fail exist matter seem look sound come get admit say love enjoy miss really";

/// Default forms: kind, form, and the words that its first gap must not start with.
pub(in crate::session_state) const DEFAULT_FORMS: &[(RecordKind, &str, &str)] = &[
    (Constraint, "never …", NON_IMPERATIVES),
    (Constraint, "always …", NON_IMPERATIVES),
    (Constraint, "* from now on *", ""),
    (Constraint, "from here on …", "it he she they i"),
    (Constraint, "henceforth …", ""),
    (Constraint, "going forward …", "with to in into on"),
    (Constraint, "… going forward", ""),
    (Constraint, "for the rest of this|the|our session|conversation|project|chat …", ""),
    (Constraint, "… for the rest of this|the|our session|conversation|project|chat", ""),
    (Constraint, "don't ever …", "think forget quit give_up"),
    (Constraint, "do not ever …", "think forget quit give_up"),
    (Constraint, "under no circumstances …", ""),
    (Constraint, "… under any circumstances", ""),
    (Constraint, "… at all times", ""),
    (Constraint, "only ever …", NON_IMPERATIVES),
    (Constraint, "… must never …", STATEMENTS_AFTER_MODAL),
    (Constraint, "… must always …", STATEMENTS_AFTER_MODAL),
    (Constraint, "… should never …", STATEMENTS_AFTER_MODAL),
    (Constraint, "… should always …", STATEMENTS_AFTER_MODAL),
    (Constraint, "… shall never|always …", STATEMENTS_AFTER_MODAL),
    (Constraint, "you must …", STATEMENTS_AFTER_MODAL),
    (Constraint, "we never …", NON_IMPERATIVES_AFTER_WE),
    (Constraint, "we always …", NON_IMPERATIVES_AFTER_WE),
    (Constraint, "i never want …", "to"),
    (Constraint, "i never want to see|hear|find …", ""),
    (Constraint, "i want|need you to always|never …", ""),
    (Constraint, "i'd like you to always|never …", ""),
    (Constraint, "stop using|writing|adding|calling|doing|apologizing|apologising …", "it that this"),
    (Constraint, "don't … unless i|we …", "worry know"),
    (Constraint, "do not … unless i|we …", ""),
    (Constraint, "don't … without asking|my *", ""),
    (Constraint, "do not … without asking|my *", ""),
    (Decision, "we'll|we're|let's use|using … instead of …", ""),
    (Decision, "we'll|we're|let's use|using … rather than …", ""),
    (Decision, "we will use … instead of …", ""),
    (Decision, "we will use … rather than …", ""),
    (Decision, "let us use … instead of …", ""),
    (Decision, "we're going to use … instead of …", ""),
    (Decision, "we are going to use … instead of …", ""),
    (Decision, "let's|we'll|i'll go|stick|stay with …", COMPANIONS),
    (Decision, "let us go|stick|stay with …", COMPANIONS),
    (Decision, "we will go|stick|stay with …", COMPANIONS),
    (Decision, "we're going with …", COMPANIONS),
    (Decision, "we are going with …", COMPANIONS),
    (Decision, "let's settle on …", ""),
    (Decision, "we've|i've decided …", "nothing not"),
    (Decision, "we|i have decided …", "nothing not"),
    (Decision, "we decided|agreed|settled on …", ""),
    (Decision, "we|i chose|picked …", "it him her them me us up out that this badly not"),
    (Decision, "using … for|as …", ARTICLES),
    (Decision, "we use … for|as …", ARTICLES),
    (Decision, "we're|we'll|let's use|using … for|as …", ARTICLES),
    (Decision, "we are using … for|as …", ARTICLES),
    (Decision, "we're switching|moving|migrating to|from …", ""),
    (Decision, "we are switching|moving|migrating to|from …", ""),
    (Decision, "going with …", COMPANIONS),
    (Decision, "_ over _", NO_ALTERNATIVES),
    (Decision, "_ over _ for|in|on …", NO_ALTERNATIVES),
    (Decision, "we|i prefer … over …", "to"),
    (Decision, "decision …", "is was to by on of time tree trees point making table support fatigue"),
    (Decision, "_ it is", NO_CHOICES),
    (Decision, "_ _ it is", NO_CHOICES),
    (Constraint, "no … only", NO_RULES),
    (Constraint, "no _", NO_RULES),
    (Constraint, "no new _", ""),
    (Constraint, "no _ _ please", NO_RULES),
    (Constraint, "no _ in|on|for|from|without …", NO_RULES),
    (Constraint, "no new _ in|on|for|from|without …", NO_RULES),
    (Constraint, FORBIDDEN_CHANGES, THIS_CASE),
    (Constraint, FORBIDDEN_ADDITIONS, THIS_CASE),
    (Constraint, "do not touch|use|modify|edit|add|commit|install|delete|rename …", THIS_CASE),
    (Constraint, "only use …", THIS_CASE),
    (Constraint, "use only …", THIS_CASE),
    (Constraint, "the … is|are off limits", ""),
    (Constraint, "keep … under|below …", "it going me him her them us this that"),
    (Constraint, "stick to …", "it that this your"),
    (Constraint, "all|every … must …", "of"),
    (Constraint, "_ must not …", "it he she i you they that this the there one"),
];
const FORBIDDEN_CHANGES: &str = "don't touch|use|modify|edit|add|commit|install|delete|rename …";
const FORBIDDEN_ADDITIONS: &str = "don't introduce|mock|log|expose …";
/// Words about the case at hand, which are no rule.
const THIS_CASE: &str = "it this that these those them yet anymore one two three when if to as";
const ARTICLES: &str = "the a an this that it my your these those";
/// Words before `over` that are no alternative.
const NO_ALTERNATIVES: &str = "go going went gone hand take taking move look looked run ran start all game it is was i we they he she you moved \
    come came fall fell bring turn turned carry roll pull talk think left right start hang bent knock pass leave well";
/// Words before `it is` that are no choice.
const NO_CHOICES: &str = "yes no here there so as what how that where which when why who like sure maybe because if now then \
    clearly indeed yeah true know see think of";
/// Words after `no` in an answer or an observation.
const NO_RULES: &str = "one idea luck problem problems need worries way error errors warning warnings change changes result results \
    output difference differences sign trace hurry rush reason doubt wonder matter thanks thank answer response reply news \
    progress such longer more not it i that this we you they he she there but and wait don't do please clue kidding dice comment \
    pressure offense offence tests test failures failure kind sorry never just what is the can could should worse rest big biggie prob probs";

const COMPANIONS: &str = "him her them me us you someone somebody friends my our";

/// Phrases that may precede a form without changing its meaning.
pub(in crate::session_state) const LEAD_PHRASES: &str = "please also ok okay so well now then right yes no and but again remember note important reminder \
    rule actually alternatively finally first second third lastly just make_sure_to be_sure_to make_sure_you remember_to as_i_said \
    like_i_said i_said i_repeat one_more_thing in_general generally you_should you_must you_are_to thanks great good sure fine \
    cool hey btw by_the_way plus yeah yep alright";
/// Words that mark reported speech or a name: a match after them is dropped.
pub(super) const REPORTING_WORDS: &str = "said says say saying told tells asked asks wrote writes claims claimed suggests suggested recommends \
    recommended insists insisted thinks thought believes believed called titled named reads sings song quote lyrics";
/// Subjects of a clause that continues after `and`: `it is slow and always fails`.
pub(super) const SUBJECTS: &str = "i he she it they we you the this that these those there my your his her our their its a an what who which \
    everyone everybody nobody someone people";
/// Phrases that start a question, even without a question mark.
pub(super) const QUESTION_STARTS: &str = "why how what who whom whose which where when_do when_does when_did do_you do_we do_i do_they does did is are was were has have had \
    should shall would could can will may might isn't aren't don't_you doesn't won't can't couldn't wouldn't shouldn't haven't \
    didn't am";
pub(super) const CONJUNCTIONS: &str = "and but then so or";
