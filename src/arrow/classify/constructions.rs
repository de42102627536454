//! The constructions: which operation a verb means with which objects. The first that fits decides.

use super::cues::Cues;
use crate::{
    arrow::lexicon::{Noun, Prep, Verb},
    tools::Tool,
};

/// A verb with what has to be there and what must not.
#[derive(Debug)]
pub(in crate::arrow) struct Construction {
    pub(super) verb: Verb,
    pub(super) all: Cues,
    pub(super) any: Cues,
    pub(super) none: Cues,
    /// The operation; `None` where the verb with that object is no operation.
    pub(in crate::arrow) tool: Option<Tool>,
}

const fn n(noun: Noun) -> Cues {
    Cues::noun(noun)
}

const fn p(prep: Prep) -> Cues {
    Cues::prep(prep)
}

const fn of(cues: &[Cues]) -> Cues {
    let mut sum = Cues::NONE;
    let mut at = 0;
    while at < cues.len() {
        sum = sum.or(cues[at]);
        at += 1;
    }
    sum
}

macro_rules! constructions {
    ($($verb:ident { $($tool:tt $(if $($all:expr),+)? $(=> any $($any:expr),+)? $(=> but $($none:expr),+)?;)* })*) => {
        &[$($(Construction {
            verb: Verb::$verb,
            all: of(&[$($($all),+)?]),
            any: of(&[$($($any),+)?]),
            none: of(&[$($($none),+)?]),
            tool: constructions!(@tool $tool),
        },)*)*]
    };
    (@tool _) => { None };
    (@tool $tool:ident) => { Some(Tool::$tool) };
}

const DOC: Cues = n(Noun::Doc).or(Cues::FILE);
const TODO: Cues = n(Noun::Todo).or(n(Noun::Plan));
const LISTED: Cues =
    n(Noun::Sibling).or(n(Noun::Continuation)).or(n(Noun::Version)).or(n(Noun::Link)).or(n(Noun::Bookmark));
const DECISION: Cues = n(Noun::Decision).or(n(Noun::Constraint));
const PAST: Cues = n(Noun::Archive).or(n(Noun::Turn)).or(n(Noun::Memory));
const PLACE: Cues = of(&[n(Noun::Root), n(Noun::Parent), n(Noun::Next), n(Noun::Previous), n(Noun::Leaf)]);
const SPOKEN: Cues = of(&[n(Noun::Instruction), n(Noun::Reply), n(Noun::Continuation), n(Noun::Background)]);

/// All of them. Within a verb the more particular come first.
pub(super) const CONSTRUCTIONS: &[Construction] = constructions! {
    See {
        Help if n(Noun::Help) => but Cues::ID;
        Diff if n(Noun::Difference) => but n(Noun::Alternative), n(Noun::Continuation);
        Diff if Cues::IDS => any p(Prep::Side), p(Prep::Apart), p(Prep::Between), p(Prep::Against);
        Search if n(Noun::Web);
        Search if p(Prep::Up), Cues::TEXT => but Cues::ID, n(Noun::Stash), n(Noun::Doc), n(Noun::Archive);
        Continue if n(Noun::Token);
        Continue if n(Noun::Alternative), Cues::NUMBER;
        Memory if n(Noun::Memory);
        Memory if n(Noun::Trace);
        Recall if n(Noun::Stash), Cues::TEXT;
        Recall if n(Noun::Turn);
        Memory if n(Noun::Stash);
        List => any LISTED;
        List if n(Noun::Annotation) => but Cues::ANNOTATED;
        Todo => any TODO;
        Read => any DOC;
        Recall if n(Noun::Result);
        Tree if n(Noun::Tree);
        Read if n(Noun::Summary), p(Prep::Of), Cues::TEXT => but Cues::ID, n(Noun::Stash), n(Noun::Turn);
        Recall if n(Noun::Summary) => but Cues::ID;
        Recall if n(Noun::Archive);
        View;
    }
    Get {
        Recall if p(Prep::Away), Cues::TEXT => but Cues::ID;
        Recall if p(Prep::Aside), Cues::TEXT => but Cues::ID;
        Respond if n(Noun::Background), Cues::ID, Cues::TEXT;
        Delegate if n(Noun::Agent), Cues::TEXT => but Cues::ID;
        Edit if Cues::ID, Cues::TEXT => any n(Noun::Text), n(Noun::Version);
        Continue if Cues::NUMBER, p(Prep::From), Cues::ID => but DOC, n(Noun::Line), n(Noun::Turn);
        _ if p(Prep::Out), Cues::ID => but n(Noun::Context);
        Diff if Cues::IDS => any p(Prep::Against), p(Prep::Between), p(Prep::Side) => but Cues::TEXT, n(Noun::Link);
        Respond if n(Noun::Instruction), Cues::TEXT;
        Respond if n(Noun::Context), Cues::ID, Cues::TEXT;
        Switch if p(Prep::Back), p(Prep::To) => any PLACE;
        Copy if n(Noun::Copy), Cues::IDS;
        Link if n(Noun::Link), Cues::NEW, Cues::IDS;
        Annotate if n(Noun::Annotation), Cues::ID, Cues::TEXT;
        Bookmark if n(Noun::Bookmark), Cues::ID, Cues::TEXT;
        Restore if n(Noun::Restoration), Cues::ID;
        Restore if p(Prep::Back), Cues::ID => but Cues::ME, p(Prep::To);
        Exclude if n(Noun::Context), p(Prep::Out);
        Include if n(Noun::Context), Cues::ID => but Cues::TEXT;
        Merge if p(Prep::Together), Cues::IDS;
        Switch if Cues::ME, Cues::ID => any p(Prep::To), p(Prep::Back) => but LISTED, n(Noun::Alternative);
        Switch if p(Prep::Back), p(Prep::To), Cues::ID;
        Todo if p(Prep::Up), n(Noun::Todo);
        Recall if n(Noun::Archive) => but n(Noun::Version);
        Help if n(Noun::Help) => but Cues::ID;
        Diff if n(Noun::Difference) => but n(Noun::Alternative), n(Noun::Continuation);
        Continue if n(Noun::Token);
        Continue if n(Noun::Continuation), Cues::NUMBER;
        Continue if n(Noun::Alternative), Cues::NUMBER;
        Memory if n(Noun::Memory);
        Memory if n(Noun::Trace);
        Recall if n(Noun::Stash);
        Recall if n(Noun::Turn);
        Bookmark if n(Noun::Bookmark), Cues::NEW;
        Annotate if n(Noun::Annotation), Cues::NEW;
        Link if n(Noun::Link), Cues::NEW;
        List => any LISTED;
        List if n(Noun::Annotation) => but Cues::ANNOTATED;
        Todo => any TODO;
        Read => any DOC;
        Recall if n(Noun::Result);
        Tree if n(Noun::Tree);
        Read if n(Noun::Summary), p(Prep::Of), Cues::TEXT => but Cues::ID, n(Noun::Stash), n(Noun::Turn);
        Recall if n(Noun::Summary) => but Cues::ID;
        Merge if Cues::IDS, Cues::TEXT;
        View;
    }
    List {
        Memory if n(Noun::Stash);
        Memory if n(Noun::Memory);
        List => any LISTED, n(Noun::Annotation);
        Todo => any TODO;
        Tree if n(Noun::Branch) => but Cues::ID;
        List;
    }
    Check {
        Exclude if n(Noun::Context), p(Prep::From), Cues::ID;
        Search if Cues::TEXT => any n(Noun::Web), n(Noun::News);
        Todo if p(Prep::Off);
        Todo if n(Noun::Todo);
        _ if p(Prep::Out) => but Cues::ID;
        Switch if p(Prep::Out), Cues::ID;
        Memory if n(Noun::Memory);
        List => any LISTED, n(Noun::Annotation);
        Read => any DOC;
        Tree if n(Noun::Tree);
        View;
    }
    Go {
        Read if Cues::FILE;
        View if p(Prep::Through), Cues::ME, Cues::ID;
        Undo if n(Noun::Change), p(Prep::Back);
        Continue if p(Prep::On), Cues::ID => any p(Prep::From), p(Prep::After);
        Continue if p(Prep::On) => but Cues::ID, p(Prep::To), p(Prep::Before), PLACE, n(Noun::Node);
        Search if n(Noun::Web);
        Switch;
    }
    Compare { Diff; }
    Continue {
        _ if p(Prep::As) => but Cues::TEXT;
        Respond if n(Noun::Text), Cues::TEXT, Cues::ID;
        Delegate if n(Noun::Agent), Cues::NEW, Cues::TEXT => but Cues::ID;
        Continue;
    }
    Respond { _ if Cues::ME => but Cues::ID; Annotate if n(Noun::Annotation), Cues::ID => but n(Noun::Instruction), n(Noun::Context); Respond; }
    Annotate { Decide => any DECISION => but Cues::ID; Write if Cues::FILE => but Cues::ID; Annotate; }
    Link { Link; }
    Edit { Write => any DOC, n(Noun::Section); Todo if n(Noun::Todo); _ if n(Noun::Bookmark); Edit; }
    Merge { Link if Cues::ID => any DOC => but Cues::IDS, Cues::TEXT; Merge; }
    Bookmark {
        Annotate if n(Noun::Annotation), Cues::NEW, Cues::TEXT;
        Todo if n(Noun::Todo);
        Todo if Cues::DONE, Cues::NUMBER => but Cues::ID;
        _ => any n(Noun::Text), n(Noun::Thought) => but Cues::ID, Cues::TEXT;
        Unbookmark if p(Prep::Off), Cues::ID => but Cues::TEXT;
        Bookmark;
    }
    Unbookmark { Unbookmark; }
    Prune {
        Split if p(Prep::After), Cues::TEXT;
        Split if p(Prep::In), Cues::NUMBER;
        Split if p(Prep::At), Cues::NUMBER;
        Unlink if n(Noun::Link);
        Unbookmark if n(Noun::Bookmark);
        Exclude if n(Noun::Context);
        Prune;
    }
    Remove {
        Unbookmark if n(Noun::Bookmark);
        Drop if n(Noun::Pin);
        Drop if n(Noun::Stash);
        Unlink if n(Noun::Link);
        Exclude if n(Noun::Context);
        Todo if n(Noun::Todo);
        _ => any n(Noun::Annotation), DOC, n(Noun::Section), n(Noun::Memory);
        Prune;
    }
    Restore {
        Redo if n(Noun::Change) => but Cues::ID;
        Include if n(Noun::Context);
        Recall if n(Noun::Stash);
        Restore;
    }
    Undo {
        Unbookmark if n(Noun::Bookmark), Cues::ID;
        Unlink if n(Noun::Link), Cues::IDS;
        _ => any Cues::ID, n(Noun::Everything);
        Undo;
    }
    Redo { Redo; } Copy { Copy; }
    Move {
        Exclude if n(Noun::Context), p(Prep::Out);
        Include if n(Noun::Context);
        Move if Cues::IDS;
        Switch if Cues::ID => any p(Prep::To), p(Prep::Over), p(Prep::On);
        Switch => any PLACE, p(Prep::Back);
        Move;
    }
    Split { Split; }
    Exclude { Exclude; } Include { Include; } Unlink { Unlink; }
    Read {
        _ if p(Prep::Between), n(Noun::Line) => but Cues::NUMBER;
        Memory if n(Noun::Memory);
        Recall if n(Noun::Turn);
        Read => any DOC;
        List => any LISTED;
        View if Cues::ID;
        Read;
    }
    Write {
        _ if p(Prep::Off);
        Todo if n(Noun::Todo) => but DOC;
        Write => any DOC;
        Continue if p(Prep::On), Cues::ID => but Cues::TEXT;
        Annotate if n(Noun::Annotation);
        Decide => any DECISION;
        Respond if Cues::ID;
        Write;
    }
    Pin { _ if p(Prep::Down); Pin; } Unpin { Drop; }
    Stash { Bookmark if n(Noun::Bookmark); Write if Cues::FILE, Cues::TEXT; Stash; }
    Recall { Recall; } Grep { Recall; }
    Drop {
        Drop if n(Noun::Pin);
        Drop if n(Noun::Stash);
        Annotate if n(Noun::Annotation), Cues::NEW;
        Bookmark if n(Noun::Bookmark), Cues::NEW;
        Link if n(Noun::Link), Cues::NEW;
        Unbookmark if n(Noun::Bookmark);
        Unlink if n(Noun::Link);
        Exclude if n(Noun::Context), p(Prep::From);
        Todo if n(Noun::Todo);
        Drop;
    }
    Decide { Switch if Cues::ID, p(Prep::At) => but Cues::TEXT; Decide; }
    Record {
        Decide => any DECISION;
        Todo => any TODO;
        Annotate if n(Noun::Annotation);
        Annotate if Cues::ID;
        Write => any DOC;
        Decide;
    }
    Memory { Memory; } Tree { _ if n(Noun::Restoration); Tree; }
    Draw { Link if n(Noun::Link), Cues::ID; _ => any DOC; Tree; }
    Todo { Todo; }
    Delegate { Delegate; }
    Hand { Delegate => any p(Prep::Off), p(Prep::Over), p(Prep::To), p(Prep::Out), p(Prep::On), n(Noun::Agent); }
    Search { Recall => any PAST; _ => any n(Noun::Doc), Cues::ID; Search; }
    Find {
        Recall => any PAST;
        Recall if n(Noun::Stash);
        Search if Cues::TEXT => but Cues::ID;
        Search if n(Noun::Web);
        View if Cues::ID => but Cues::TEXT;
    }
    Think { Think; }
    Help { Help; }
    Put {
        Diff if p(Prep::Side), Cues::IDS;
        Diff if p(Prep::Against), Cues::IDS;
        Switch if n(Noun::Here), Cues::ID => but Cues::TEXT;
        Diff if n(Noun::Difference), Cues::IDS;
        Diff if n(Noun::Next), Cues::IDS => but Cues::TEXT;
        Copy if n(Noun::Copy);
        Merge if p(Prep::Together);
        Todo => any TODO;
        Bookmark if n(Noun::Bookmark);
        Exclude if n(Noun::Context), p(Prep::Out);
        Include if n(Noun::Context), p(Prep::Back);
        Restore if p(Prep::Back), Cues::ID;
        Delegate if n(Noun::Agent), Cues::TEXT;
        Stash => any n(Noun::Stash), p(Prep::Aside), p(Prep::Away);
        Pin if n(Noun::Pin);
        Write => any DOC;
        Decide => any DECISION;
        Edit if n(Noun::Text), p(Prep::Of), Cues::ID, Cues::TEXT;
        Respond if n(Noun::Context), Cues::TEXT;
        Respond => any SPOKEN;
        Annotate if n(Noun::Annotation);
        Link if n(Noun::Link);
        Include if n(Noun::Context);
        Switch if Cues::ME;
        Move if Cues::IDS => but Cues::TEXT;
        Respond if Cues::ID, Cues::TEXT;
        Switch if Cues::ID, p(Prep::Over) => but Cues::TEXT;
        View if p(Prep::Up), Cues::ID => but Cues::TEXT;
    }
    Add {
        Todo => any TODO;
        Bookmark if n(Noun::Bookmark);
        Annotate if n(Noun::Annotation);
        Link if n(Noun::Link);
        Stash if n(Noun::Stash);
        Pin if n(Noun::Pin);
        Write => any DOC;
        Decide => any DECISION;
        Include if n(Noun::Context) => but Cues::TEXT;
        Respond => any SPOKEN, n(Noun::Context);
        Respond if Cues::ID, Cues::TEXT;
    }
    Make {
        Switch if n(Noun::Here), Cues::ID => but Cues::TEXT;
        Copy if n(Noun::Copy);
        Link if n(Noun::Link);
        Bookmark if n(Noun::Bookmark);
        Annotate if n(Noun::Annotation);
        Tree if n(Noun::Tree);
        Todo => any TODO;
        Decide => any DECISION;
        Stash if n(Noun::Stash);
        Continue => any n(Noun::Continuation), n(Noun::Alternative), n(Noun::Token);
        Edit if Cues::ID, Cues::TEXT, Cues::SAYS;
        Edit if n(Noun::Text), Cues::ID, Cues::TEXT;
        Diff if n(Noun::Difference) => but n(Noun::Alternative), n(Noun::Continuation);
        Merge if Cues::IDS;
        Pin if n(Noun::Pin);
        Search if n(Noun::Web);
    }
    Leave { Annotate if n(Noun::Annotation); Bookmark if n(Noun::Bookmark); Exclude if p(Prep::Out); Respond => any SPOKEN; }
    Summarise { Tree if n(Noun::Tree); Read => any DOC; Stash => any n(Noun::Stash), n(Noun::Label); Recall if n(Noun::Everything); Recall if n(Noun::Archive); }
    Replace { Write => any DOC, n(Noun::Section); Edit if Cues::ID; Edit if n(Noun::Text); }
    Take {
        Unbookmark if n(Noun::Bookmark);
        Drop if n(Noun::Pin);
        Drop if n(Noun::Stash), p(Prep::Out);
        Exclude if n(Noun::Context), p(Prep::Out);
        Include if n(Noun::Context);
        Unlink if n(Noun::Link);
        Switch if Cues::ME;
        Undo if p(Prep::Back) => but Cues::ID;
        Stash if n(Noun::Stash);
        Continue if p(Prep::Onward), Cues::ID;
        Annotate if n(Noun::Annotation);
        Prune if p(Prep::Out), Cues::ID;
    }
    Bring {
        Merge if p(Prep::Together);
        Include if n(Noun::Context);
        Recall if n(Noun::Stash);
        Recall if n(Noun::Turn);
        Restore if p(Prep::Back), Cues::ID;
        Recall if p(Prep::Back), Cues::TEXT;
        Redo if p(Prep::Back), n(Noun::Change);
        Tree if n(Noun::Tree);
        Memory if n(Noun::Memory);
        List => any LISTED;
        Read => any DOC;
        Switch if Cues::ME;
        View if p(Prep::Up);
    }
    Lift { Move if Cues::IDS; Unbookmark if n(Noun::Bookmark); Drop if n(Noun::Pin); Exclude if n(Noun::Context), p(Prep::Out); }
    Finish { Todo => any TODO; Todo if Cues::NUMBER => but Cues::ID; }
    Cancel { Todo => any TODO; Todo if Cues::NUMBER => but Cues::ID; }
    Resume { Todo => any TODO; Continue if Cues::ID; Todo; }
    Use { Continue if n(Noun::Agent) => any Cues::ID, n(Noun::Continuation), n(Noun::Alternative); }
    Tell { Diff if n(Noun::Difference) => but n(Noun::Alternative), n(Noun::Continuation); Delegate if n(Noun::Agent), Cues::TEXT => but Cues::ID; Help if n(Noun::Help); List => any LISTED; Memory if n(Noun::Memory); Respond if Cues::ID, Cues::TEXT; }
    Try { Continue if p(Prep::From), Cues::ID, Cues::NUMBER; Link if n(Noun::Link), Cues::IDS; Diff if n(Noun::Difference), Cues::IDS; Search if n(Noun::Web), Cues::TEXT; Continue if p(Prep::On), Cues::ID; Continue if p(Prep::Onward), Cues::ID; Continue if n(Noun::Continuation), Cues::NUMBER; Tree if n(Noun::Tree); Continue => any n(Noun::Continuation), n(Noun::Alternative), n(Noun::Token), n(Noun::Version); }
    Carry {
        Switch if Cues::ME, Cues::ID;
        Todo => any TODO;
        Continue => any p(Prep::On), p(Prep::Onward);
        Continue if p(Prep::Up), p(Prep::From);
        Continue if p(Prep::Up), Cues::ID;
    }
    Keep {
        Move if Cues::IDS, p(Prep::Under);
        Bookmark if n(Noun::Bookmark), Cues::ID;
        Diff if p(Prep::Against), Cues::IDS;
        Pin if p(Prep::On), p(Prep::To), Cues::ID;
        Exclude if n(Noun::Context), p(Prep::Out);
        Pin if n(Noun::Context);
        Pin if n(Noun::Pin);
        Stash if n(Noun::Stash);
        Continue if p(Prep::On), p(Prep::From);
        Continue => but Cues::ID, Cues::TEXT, Cues::FILE, n(Noun::Doc), n(Noun::Bookmark);
        Pin if Cues::ID => any p(Prep::In), p(Prep::At), p(Prep::Responder), p(Prep::Up), p(Prep::Before), p(Prep::Side), n(Noun::Here);
        Pin if Cues::ID, Cues::ME;
        Pin => any DOC;
    }
    Roll { Merge if Cues::IDS, Cues::TEXT, p(Prep::Into); Undo if p(Prep::Back); }
    Break { Unlink if n(Noun::Link); Split; }
    Turn { Merge if Cues::IDS, Cues::TEXT, p(Prep::Into); Switch if p(Prep::Back); Switch if p(Prep::To), Cues::ID => but Cues::TEXT; }
    Remind { _ if p(Prep::To); View if Cues::ID => but Cues::TEXT; Todo if Cues::TEXT; }
    Name { Bookmark if n(Noun::Bookmark); Bookmark if Cues::ID, Cues::TEXT; }
    Ask { Restore if p(Prep::Back), Cues::ID => but Cues::TEXT, n(Noun::Context); Exclude if n(Noun::Context), p(Prep::Out); Continue if Cues::ID => any n(Noun::Continuation), n(Noun::Alternative), n(Noun::Token); Delegate if n(Noun::Agent), Cues::TEXT => but Cues::ID; Include if n(Noun::Context); Continue if Cues::ID, p(Prep::From) => but Cues::TEXT; Edit if Cues::ID, Cues::TEXT, Cues::SAYS; Help if n(Noun::Help); Delegate if n(Noun::Agent), Cues::TEXT; Recall if n(Noun::Stash); }
};
