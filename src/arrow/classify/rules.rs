//! The constructions: which operation a verb means with which objects. The first that fits decides.

use super::features::Features;
use crate::{
    arrow::lexicon::{Noun, Prep, Verb},
    tools::Tool,
};

/// A verb with what has to be there and what must not.
#[derive(Debug)]
pub(in crate::arrow) struct Rule {
    pub(super) verb: Verb,
    pub(super) all: Features,
    pub(super) any: Features,
    pub(super) none: Features,
    /// The operation; `None` where the verb with that object is no operation.
    pub(in crate::arrow) tool: Option<Tool>,
}

const fn n(noun: Noun) -> Features {
    Features::noun(noun)
}

const fn p(prep: Prep) -> Features {
    Features::prep(prep)
}

const fn of(features: &[Features]) -> Features {
    let mut sum = Features::NONE;
    let mut at = 0;
    while at < features.len() {
        sum = sum.or(features[at]);
        at += 1;
    }
    sum
}

macro_rules! rules {
    ($($verb:ident { $($tool:tt $(if $($all:expr),+)? $(=> any $($any:expr),+)? $(=> but $($none:expr),+)?;)* })*) => {
        &[$($(Rule {
            verb: Verb::$verb,
            all: of(&[$($($all),+)?]),
            any: of(&[$($($any),+)?]),
            none: of(&[$($($none),+)?]),
            tool: rules!(@tool $tool),
        },)*)*]
    };
    (@tool _) => { None };
    (@tool $tool:ident) => { Some(Tool::$tool) };
}

const DOC: Features = n(Noun::Doc).or(Features::FILE);
const TODO: Features = n(Noun::Todo).or(n(Noun::Plan));
const LISTED: Features =
    n(Noun::Sibling).or(n(Noun::Continuation)).or(n(Noun::Version)).or(n(Noun::Link)).or(n(Noun::Bookmark));
const DECISION: Features = n(Noun::Decision).or(n(Noun::Constraint));
const PAST: Features = n(Noun::Archive).or(n(Noun::Turn)).or(n(Noun::Memory));
const PLACE: Features = of(&[n(Noun::Root), n(Noun::Parent), n(Noun::Next), n(Noun::Previous), n(Noun::Leaf)]);
const SPOKEN: Features = of(&[n(Noun::Instruction), n(Noun::Reply), n(Noun::Continuation), n(Noun::Background)]);

/// All of them. Within a verb the more particular come first.
pub(super) const RULES: &[Rule] = rules! {
    See {
        Recall if Features::SAYS, Features::TEXT => but Features::ID, Features::FILE, n(Noun::Doc), n(Noun::Web); List if n(Noun::List) => any n(Noun::Agent), n(Noun::Doc), n(Noun::Change);
        Help if n(Noun::Help) => but Features::ID;
        Delegate if n(Noun::Delegation) => but Features::ID, Features::TEXT;
        Diff if n(Noun::Difference) => but n(Noun::Alternative), n(Noun::Continuation);
        Diff if Features::IDS => any p(Prep::Side), p(Prep::Apart), p(Prep::Between), p(Prep::Against);
        Search if n(Noun::Web);
        Search if p(Prep::Up), Features::TEXT => but Features::ID, n(Noun::Stash), n(Noun::Doc), n(Noun::Archive);
        Continue if n(Noun::Token);
        Continue if n(Noun::Alternative), Features::NUMBER;
        Memory if n(Noun::Memory); Memory if n(Noun::Trace);
        Recall if n(Noun::Stash), Features::TEXT;
        Recall if n(Noun::Turn);
        Memory if n(Noun::Stash);
        List if Features::PRUNED => but Features::ID, Features::TEXT, n(Noun::Tree);
        List if Features::KIND => but Features::ID, Features::TEXT, Features::FILE, Features::NUMBER;
        Recall if Features::SAYS, Features::TEXT, p(Prep::For) => but Features::ID, n(Noun::Web), n(Noun::News);
        Read if n(Noun::Version), Features::NUMBER => any DOC;
        List => any LISTED;
        List if n(Noun::Annotation) => but Features::ANNOTATED;
        Todo => any TODO; Read => any DOC;
        Recall if n(Noun::Result);
        Tree if n(Noun::Tree);
        Read if n(Noun::Summary), p(Prep::Of), Features::TEXT => but Features::ID, n(Noun::Stash), n(Noun::Turn);
        Recall if n(Noun::Summary) => but Features::ID;
        Recall if n(Noun::Archive);
        View;
    }
    Get {
        List if n(Noun::List) => any n(Noun::Agent), n(Noun::Doc), n(Noun::Change);
        Delegate if n(Noun::Delegation) => but Features::ID, Features::TEXT;
        Recall if p(Prep::Away), Features::TEXT => but Features::ID;
        Recall if p(Prep::Aside), Features::TEXT => but Features::ID;
        Respond if n(Noun::Background), Features::ID, Features::TEXT;
        Delegate if n(Noun::Agent), Features::TEXT => but Features::ID;
        Continue if n(Noun::Continuation), Features::NUMBER, p(Prep::From), Features::ID;
        Edit if Features::ID, Features::TEXT => any n(Noun::Text), n(Noun::Version);
        Continue if Features::NUMBER, p(Prep::From), Features::ID => but DOC, n(Noun::Line), n(Noun::Turn), n(Noun::Tree);
        _ if p(Prep::Out), Features::ID => but n(Noun::Context);
        Diff if Features::IDS => any p(Prep::Against), p(Prep::Between), p(Prep::Side) => but Features::TEXT, n(Noun::Link);
        Continue if n(Noun::Instruction), n(Noun::Continuation), Features::NUMBER;
        Respond if n(Noun::Instruction), Features::TEXT;
        Respond if n(Noun::Context), Features::ID, Features::TEXT;
        Switch if p(Prep::Back), p(Prep::To) => any PLACE;
        Copy if n(Noun::Copy), Features::IDS;
        Link if n(Noun::Link), Features::NEW, Features::IDS;
        Annotate if n(Noun::Annotation), Features::ID, Features::TEXT;
        Bookmark if n(Noun::Bookmark), Features::ID, Features::TEXT;
        Restore if n(Noun::Restoration), Features::ID;
        Restore if p(Prep::Back), Features::ID => but Features::ME, p(Prep::To);
        Exclude if n(Noun::Context), p(Prep::Out);
        Include if n(Noun::Context), Features::ID => but Features::TEXT;
        Merge if p(Prep::Together), Features::IDS;
        Switch if Features::ME, Features::ID => any p(Prep::To), p(Prep::Back) => but LISTED, n(Noun::Alternative), n(Noun::Annotation);
        Switch if p(Prep::Back), p(Prep::To), Features::ID;
        Todo if p(Prep::Up), n(Noun::Todo);
        Recall if n(Noun::Archive) => but n(Noun::Version);
        Help if n(Noun::Help) => but Features::ID;
        Diff if n(Noun::Difference) => but n(Noun::Alternative), n(Noun::Continuation);
        Continue if n(Noun::Token);
        Continue if n(Noun::Continuation), Features::NUMBER;
        Continue if n(Noun::Alternative), Features::NUMBER;
        Memory if n(Noun::Memory); Memory if n(Noun::Trace);
        Recall if n(Noun::Stash);
        Recall if n(Noun::Turn);
        Bookmark if n(Noun::Bookmark), Features::NEW;
        Annotate if n(Noun::Annotation), Features::NEW;
        Link if n(Noun::Link), Features::NEW;
        List if Features::PRUNED => but Features::ID, Features::TEXT, n(Noun::Tree);
        List if Features::KIND => but Features::ID, Features::TEXT, Features::FILE, Features::NUMBER;
        List => any LISTED;
        List if n(Noun::Annotation) => but Features::ANNOTATED;
        Todo => any TODO; Read => any DOC;
        Recall if n(Noun::Result);
        Tree if n(Noun::Tree);
        Read if n(Noun::Summary), p(Prep::Of), Features::TEXT => but Features::ID, n(Noun::Stash), n(Noun::Turn);
        Recall if n(Noun::Summary) => but Features::ID;
        Merge if Features::IDS, Features::TEXT;
        View;
    }
    List {
        Delegate if n(Noun::Delegation);
        Memory if n(Noun::Stash);
        Memory if n(Noun::Memory);
        List => any LISTED, n(Noun::Annotation);
        Todo => any TODO;
        Tree if n(Noun::Branch) => but Features::ID;
        List;
    }
    Check {
        Recall if Features::SAYS, Features::TEXT => but Features::ID, Features::FILE, n(Noun::Doc), n(Noun::Web); Delegate if n(Noun::Delegation) => but Features::ID, Features::TEXT;
        Exclude if n(Noun::Context), p(Prep::From), Features::ID;
        Search if Features::TEXT => any n(Noun::Web), n(Noun::News);
        Todo if p(Prep::Off);
        Todo if n(Noun::Todo);
        _ if p(Prep::Out) => but Features::ID;
        Switch if p(Prep::Out), Features::ID;
        Memory if n(Noun::Memory);
        List => any LISTED, n(Noun::Annotation);
        Read => any DOC;
        Tree if n(Noun::Tree);
        View;
    }
    Go {
        Read if Features::FILE;
        List if p(Prep::Through) => any LISTED, n(Noun::Annotation); View if p(Prep::Through), Features::ME, Features::ID;
        Undo if n(Noun::Change), p(Prep::Back);
        Switch if p(Prep::To), p(Prep::On), p(Prep::From), Features::ID => but Features::NUMBER, Features::IDS; Continue if p(Prep::On), Features::ID => any p(Prep::From), p(Prep::After);
        Todo if p(Prep::On), n(Noun::Todo) => but Features::ID, Features::TEXT;
        Continue if p(Prep::On) => but Features::ID, p(Prep::To), p(Prep::Before), PLACE, n(Noun::Node);
        Search if n(Noun::Web);
        Recall if n(Noun::Turn) => any p(Prep::Over), p(Prep::Through);
        Switch;
    }
    Compare { Diff; }
    Continue {
        _ if p(Prep::As) => but Features::TEXT;
        Respond if n(Noun::Text), Features::TEXT, Features::ID => but n(Noun::Agent), Features::NUMBER;
        Delegate if n(Noun::Delegation), Features::ID;
        Delegate if n(Noun::Agent), Features::NEW, Features::TEXT => but Features::ID;
        Todo if n(Noun::Todo) => but Features::ID, Features::TEXT; Continue;
    }
    Respond { _ if Features::ME => but Features::ID; Annotate if n(Noun::Annotation), Features::ID => but n(Noun::Instruction), n(Noun::Context); Respond; }
    Annotate { Decide => any DECISION => but Features::ID; Write if Features::FILE => but Features::ID; Annotate; }
    Link { Link; }
    Edit { Switch if p(Prep::To) => any PLACE => but Features::TEXT, Features::ID, n(Noun::Tree), n(Noun::Bookmark); Write => any DOC, n(Noun::Section); Todo if n(Noun::Todo); _ if n(Noun::Bookmark); Edit; }
    Merge { Link if Features::ID => any DOC => but Features::IDS, Features::TEXT; Merge; }
    Bookmark {
        Annotate if n(Noun::Annotation), Features::NEW, Features::TEXT;
        Todo if n(Noun::Todo);
        Todo if Features::DONE, Features::NUMBER => but Features::ID;
        _ => any n(Noun::Text), n(Noun::Thought) => but Features::ID, Features::TEXT;
        Unbookmark if p(Prep::Off), Features::ID => but Features::TEXT;
        Bookmark;
    }
    Unbookmark { Unbookmark; }
    Prune {
        Split if p(Prep::After), Features::TEXT;
        Split if p(Prep::In), Features::NUMBER;
        Split if p(Prep::At), Features::NUMBER;
        Unlink if n(Noun::Link);
        Unbookmark if n(Noun::Bookmark);
        Exclude if n(Noun::Context);
        Prune;
    }
    Remove {
        Unbookmark if n(Noun::Bookmark); Decide if Features::TEXT => any DECISION;
        Drop if n(Noun::Pin);
        Drop if n(Noun::Stash);
        Unlink if n(Noun::Link);
        Exclude if n(Noun::Context);
        Todo if n(Noun::Todo);
        _ => any n(Noun::Annotation), DOC, n(Noun::Section), n(Noun::Memory);
        Prune;
    }
    Restore {
        Redo if n(Noun::Change) => but Features::ID;
        Include if n(Noun::Context);
        Recall if n(Noun::Stash);
        Restore;
    }
    Undo {
        Unbookmark if n(Noun::Bookmark), Features::ID;
        Unlink if n(Noun::Link), Features::IDS; Decide if Features::TEXT => any DECISION;
        _ => any Features::ID, n(Noun::Everything); Undo;
    }
    Redo { Redo; } Copy { Copy; }
    Move {
        Exclude if n(Noun::Context), p(Prep::Out);
        Include if n(Noun::Context);
        Move if Features::IDS;
        Switch if Features::ID => any p(Prep::To), p(Prep::Over), p(Prep::On);
        Switch => any PLACE, p(Prep::Back);
        Move;
    }
    Split { Split; }
    Exclude { Exclude; } Include { Include; } Unlink { Unlink; }
    Read {
        _ if p(Prep::Between), n(Noun::Line) => but Features::NUMBER;
        Memory if n(Noun::Memory);
        Recall if n(Noun::Turn);
        Read => any DOC;
        List => any LISTED;
        View if Features::ID;
        Read;
    }
    Write {
        _ if p(Prep::Off); Todo if n(Noun::Todo) => but DOC;
        Continue if n(Noun::Continuation), Features::NUMBER, Features::ID => but Features::TEXT, DOC;
        Write => any DOC;
        Continue if p(Prep::On), Features::ID => but Features::TEXT;
        Annotate if n(Noun::Annotation);
        Decide => any DECISION;
        Respond if Features::ID;
        Write;
    }
    Pin { _ if p(Prep::Down); Pin; } Unpin { Drop; }
    Stash { Bookmark if n(Noun::Bookmark); Write if Features::FILE, Features::TEXT; Stash; }
    Recall { Recall; } Grep { Recall; }
    Drop {
        Drop if n(Noun::Pin); Decide if Features::TEXT => any DECISION;
        Drop if n(Noun::Stash);
        Annotate if n(Noun::Annotation), Features::NEW;
        Bookmark if n(Noun::Bookmark), Features::NEW;
        Link if n(Noun::Link), Features::NEW;
        Unbookmark if n(Noun::Bookmark);
        Unlink if n(Noun::Link);
        Exclude if n(Noun::Context), p(Prep::From);
        Todo if n(Noun::Todo);
        Drop;
    }
    Decide { Switch if Features::ID, p(Prep::At) => but Features::TEXT; Decide; }
    Record {
        Decide => any DECISION;
        Todo => any TODO;
        Annotate if n(Noun::Annotation);
        Annotate if Features::ID;
        Write => any DOC;
        Decide;
    }
    Memory { Memory; } Tree { _ if n(Noun::Restoration); Tree; }
    Draw { Link if n(Noun::Link), Features::ID; _ => any DOC; Tree; }
    Todo { Todo; }
    Delegate { Delegate; }
    Hand { Recall if n(Noun::Stash), Features::ME, Features::TEXT; Delegate => any p(Prep::Off), p(Prep::Over), p(Prep::To), p(Prep::Out), p(Prep::On), n(Noun::Agent); }
    Search { Recall => any PAST; Recall if Features::SAYS, Features::TEXT => but n(Noun::Web), n(Noun::Site), n(Noun::News); _ => any n(Noun::Doc), Features::ID; Search; }
    Find {
        Recall if n(Noun::Reply), Features::TEXT => but Features::ID, n(Noun::Web), n(Noun::Site), n(Noun::News); Recall if Features::TEXT, Features::ID => but n(Noun::Web), n(Noun::Site), n(Noun::News);
        Recall => any PAST;
        Recall if Features::SAYS, Features::TEXT => but n(Noun::Web), n(Noun::Site), n(Noun::News);
        Recall if n(Noun::Stash);
        Search if Features::TEXT => but Features::ID;
        Search if n(Noun::Web);
        View if Features::ID => but Features::TEXT;
    }
    Think { Think; }
    Help { Help; }
    Put {
        Continue if n(Noun::Continuation), Features::NUMBER, p(Prep::From);
        Diff if p(Prep::Side), Features::IDS;
        Diff if p(Prep::Against), Features::IDS;
        Switch if n(Noun::Here), Features::ID => but Features::TEXT;
        Diff if n(Noun::Difference), Features::IDS;
        Diff if n(Noun::Next), Features::IDS => but Features::TEXT;
        Copy if n(Noun::Copy);
        Merge if p(Prep::Together);
        Todo => any TODO;
        Bookmark if n(Noun::Bookmark);
        Exclude if n(Noun::Context), p(Prep::Out);
        Include if n(Noun::Context), p(Prep::Back);
        Restore if p(Prep::Back), Features::ID;
        Delegate if n(Noun::Agent), Features::TEXT;
        Stash => any n(Noun::Stash), p(Prep::Aside), p(Prep::Away);
        Pin if n(Noun::Pin);
        Write => any DOC;
        Decide => any DECISION;
        Edit if n(Noun::Text), p(Prep::Of), Features::ID, Features::TEXT;
        Respond if n(Noun::Context), Features::TEXT;
        Respond => any SPOKEN;
        Annotate if n(Noun::Annotation);
        Link if n(Noun::Link);
        Include if n(Noun::Context);
        Switch if Features::ME;
        Move if Features::IDS => but Features::TEXT;
        Respond if Features::ID, Features::TEXT;
        Switch if Features::ID, p(Prep::Over) => but Features::TEXT;
        View if p(Prep::Up), Features::ID => but Features::TEXT;
    }
    Add {
        Write if n(Noun::Doc), Features::TEXT; Todo => any TODO;
        Bookmark if n(Noun::Bookmark);
        Annotate if n(Noun::Annotation);
        Link if n(Noun::Link);
        Stash if n(Noun::Stash);
        Pin if n(Noun::Pin);
        Write => any DOC;
        Decide => any DECISION;
        Include if n(Noun::Context) => but Features::TEXT;
        Respond => any SPOKEN, n(Noun::Context);
        Respond if Features::ID, Features::TEXT;
    }
    Make {
        Switch if n(Noun::Here), Features::ID => but Features::TEXT;
        Copy if n(Noun::Copy);
        Link if n(Noun::Link);
        Bookmark if n(Noun::Bookmark);
        Annotate if n(Noun::Annotation);
        Tree if n(Noun::Tree);
        Todo => any TODO;
        Decide => any DECISION;
        Stash if n(Noun::Stash);
        Continue => any n(Noun::Continuation), n(Noun::Alternative), n(Noun::Token);
        Edit if Features::ID, Features::TEXT, Features::SAYS;
        Edit if n(Noun::Text), Features::ID, Features::TEXT;
        Diff if n(Noun::Difference) => but n(Noun::Alternative), n(Noun::Continuation);
        Merge if Features::IDS;
        Pin if n(Noun::Pin);
        Search if n(Noun::Web);
    }
    Leave { Annotate if n(Noun::Annotation); Bookmark if n(Noun::Bookmark); Exclude if p(Prep::Out); Respond => any SPOKEN; }
    Summarise { Tree if n(Noun::Tree); Read => any DOC; Stash => any n(Noun::Stash), n(Noun::Label); Recall if n(Noun::Everything); Recall if n(Noun::Archive); }
    Replace { Write => any DOC, n(Noun::Section); Edit if Features::ID; Edit if n(Noun::Text); }
    Take {
        Unbookmark if n(Noun::Bookmark); Decide if p(Prep::Back), Features::TEXT => any DECISION;
        Drop if n(Noun::Pin);
        Drop if n(Noun::Stash), p(Prep::Out);
        Exclude if n(Noun::Context), p(Prep::Out);
        Include if n(Noun::Context);
        Unlink if n(Noun::Link); List if p(Prep::Through) => any LISTED;
        Switch if Features::ME;
        Undo if p(Prep::Back) => but Features::ID;
        Stash if n(Noun::Stash);
        Continue if p(Prep::Onward), Features::ID;
        Annotate if n(Noun::Annotation);
        Prune if p(Prep::Out), Features::ID;
    }
    Bring {
        Delegate if n(Noun::Delegation) => but Features::ID, Features::TEXT;
        Merge if p(Prep::Together);
        Include if n(Noun::Context);
        Recall if n(Noun::Stash);
        Recall if n(Noun::Turn);
        Restore if p(Prep::Back), Features::ID;
        Recall if p(Prep::Back), Features::TEXT;
        Redo if p(Prep::Back), n(Noun::Change);
        Tree if n(Noun::Tree);
        Memory if n(Noun::Memory);
        List => any LISTED;
        Read => any DOC;
        Switch if Features::ME;
        View if p(Prep::Up);
    }
    Lift { Move if Features::IDS; Unbookmark if n(Noun::Bookmark); Drop if n(Noun::Pin); Exclude if n(Noun::Context), p(Prep::Out); }
    Finish { Todo => any TODO; Todo if Features::NUMBER => but Features::ID; }
    Cancel { Decide if Features::TEXT => any DECISION; Todo => any TODO; Todo if Features::NUMBER => but Features::ID; }
    Resume { Delegate if n(Noun::Delegation), Features::ID; Todo => any TODO; Continue if Features::ID; Todo; }
    Use { Continue if n(Noun::Agent) => any Features::ID, n(Noun::Continuation), n(Noun::Alternative); }
    Tell { Diff if n(Noun::Difference) => but n(Noun::Alternative), n(Noun::Continuation); Delegate if n(Noun::Agent), Features::TEXT => but Features::ID; Help if n(Noun::Help); List => any LISTED; Memory if n(Noun::Memory); Respond if Features::ID, Features::TEXT; }
    Try { Continue if p(Prep::From), Features::ID, Features::NUMBER; Link if n(Noun::Link), Features::IDS; Diff if n(Noun::Difference), Features::IDS; Search if n(Noun::Web), Features::TEXT; Continue if p(Prep::On), Features::ID; Continue if p(Prep::Onward), Features::ID; Continue if n(Noun::Continuation), Features::NUMBER; Tree if n(Noun::Tree); List if p(Prep::Through) => any LISTED; Continue => any n(Noun::Continuation), n(Noun::Alternative), n(Noun::Token), n(Noun::Version); }
    Carry {
        Switch if Features::ME, Features::ID;
        Todo => any TODO;
        Continue => any p(Prep::On), p(Prep::Onward);
        Continue if p(Prep::Up), p(Prep::From);
        Continue if p(Prep::Up), Features::ID;
    }
    Keep {
        Move if Features::IDS, p(Prep::Under);
        Bookmark if n(Noun::Bookmark), Features::ID;
        Diff if p(Prep::Against), Features::IDS;
        Pin if p(Prep::On), p(Prep::To), Features::ID;
        Exclude if n(Noun::Context), p(Prep::Out);
        Pin if n(Noun::Context);
        Pin if n(Noun::Pin);
        Stash if n(Noun::Stash);
        Continue if p(Prep::On), p(Prep::From);
        Continue => but Features::ID, Features::TEXT, Features::FILE, n(Noun::Doc), n(Noun::Bookmark);
        Pin if Features::ID => any p(Prep::In), p(Prep::At), p(Prep::With), p(Prep::Up), p(Prep::Before), p(Prep::Side), n(Noun::Here);
        Pin if Features::ID, Features::ME;
        Pin => any DOC;
    }
    Roll { Merge if Features::IDS, Features::TEXT, p(Prep::Into); Undo if p(Prep::Back); }
    Break { Unlink if n(Noun::Link); Split; }
    Turn { Merge if Features::IDS, Features::TEXT, p(Prep::Into); Switch if p(Prep::Back); Switch if p(Prep::To), Features::ID => but Features::TEXT; }
    Remind { _ if p(Prep::To); Recall if n(Noun::Turn); Recall if Features::SAYS, Features::TEXT => but Features::ID; Recall if n(Noun::Summary) => but Features::ID; View if Features::ID => but Features::TEXT; Todo if Features::TEXT; }
    Name { Bookmark if n(Noun::Bookmark); Bookmark if Features::ID, Features::TEXT; }
    Ask { Restore if p(Prep::Back), Features::ID => but Features::TEXT, n(Noun::Context); Exclude if n(Noun::Context), p(Prep::Out); Continue if Features::ID => any n(Noun::Continuation), n(Noun::Alternative), n(Noun::Token); Delegate if n(Noun::Agent), Features::TEXT => but Features::ID; Include if n(Noun::Context); Continue if Features::ID, p(Prep::From) => but Features::TEXT; Edit if Features::ID, Features::TEXT, Features::SAYS; Help if n(Noun::Help); Delegate if n(Noun::Agent), Features::TEXT; Recall if n(Noun::Stash); }
};
