//! Constructions of verbs that change or keep something: `put`, `add`, `take`, `prune`.

use super::*;

pub(super) const RULES: &[VerbRules] = rules! {
    Respond {
        _ if Features::ME => but Features::ID;
        Annotate if n(Noun::Annotation), Features::ID => but n(Noun::Instruction), n(Noun::Context);
        Respond;
    }
    Annotate {
        Decide => any DECISION => but Features::ID;
        Write if Features::FILE => but Features::ID;
        Annotate;
    }
    Link { Link; }
    Edit {
        Switch if p(Prep::To) => any PLACE => but Features::TEXT, Features::ID, n(Noun::Tree), n(Noun::Bookmark);
        Write => any DOC, n(Noun::Section);
        Todo if n(Noun::Todo);
        _ if n(Noun::Bookmark);
        Edit;
    }
    Merge {
        Link if Features::ID => any DOC => but Features::IDS, Features::TEXT;
        Merge;
    }
    Bookmark {
        Annotate if n(Noun::Annotation), Features::NEW, Features::TEXT;
        Annotate if n(Noun::Annotation), p(Prep::In), Features::TEXT;
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
        Unbookmark if n(Noun::Bookmark);
        Decide if Features::TEXT => any DECISION;
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
        Unlink if n(Noun::Link), Features::IDS;
        Decide if Features::TEXT => any DECISION;
        _ => any Features::ID, n(Noun::Everything), n(Noun::Undone);
        Undo;
    }
    Redo { Redo; }
    Copy { Copy; }
    Move {
        Exclude if n(Noun::Context), p(Prep::Out);
        Include if n(Noun::Context);
        Move if Features::IDS;
        Switch if Features::ID => any p(Prep::To), p(Prep::Over), p(Prep::On);
        Switch => any PLACE, p(Prep::Back);
        Move;
    }
    Split { Split; }
    Exclude { Exclude; }
    Include { Include; }
    Unlink { Unlink; }
    Write {
        _ if p(Prep::Off);
        Todo if n(Noun::Todo) => but DOC;
        Continue if n(Noun::Continuation), Features::NUMBER, Features::ID => but Features::TEXT, DOC;
        Write => any DOC;
        Continue if p(Prep::On), Features::ID => but Features::TEXT;
        Annotate if n(Noun::Annotation);
        Decide => any DECISION;
        Respond if Features::ID;
        Write;
    }
    Pin {
        _ if p(Prep::Down);
        Pin;
    }
    Unpin { Drop; }
    Stash {
        Bookmark if n(Noun::Bookmark);
        Write if Features::FILE, Features::TEXT;
        Stash;
    }
    Drop {
        Drop if n(Noun::Pin);
        Decide if Features::TEXT => any DECISION;
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
    Decide {
        Link if n(Noun::Link), Features::ID;
        Switch if Features::ID, p(Prep::At) => but Features::TEXT;
        Decide;
    }
    Record {
        Decide => any DECISION;
        Todo => any TODO;
        Annotate if n(Noun::Annotation);
        Annotate if Features::ID;
        Write => any DOC;
        Decide;
    }
    Todo { Todo; }
    Put {
        Redo => any n(Noun::Undone) => but Features::ID, Features::TEXT;
        Continue if n(Noun::Continuation), Features::NUMBER, p(Prep::From);
        Continue if n(Noun::Continuation), n(Noun::Instruction), Features::ID;
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
        Write if n(Noun::Doc), Features::TEXT;
        Todo => any TODO;
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
        Redo => any n(Noun::Undone) => but Features::ID, Features::TEXT;
        List if n(Noun::List) => any n(Noun::Agent), n(Noun::Doc), n(Noun::Change), LISTED => but Features::TEXT, Features::FILE;
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
    Leave {
        Annotate if n(Noun::Annotation);
        Bookmark if n(Noun::Bookmark);
        Exclude if p(Prep::Out);
        Respond => any SPOKEN;
    }
    Replace {
        Write => any DOC, n(Noun::Section);
        Edit if Features::ID;
        Edit if n(Noun::Text);
    }
    Take {
        Unbookmark if n(Noun::Bookmark);
        Decide if p(Prep::Back), Features::TEXT => any DECISION;
        Drop if n(Noun::Pin);
        Drop if n(Noun::Stash), p(Prep::Out);
        Exclude if n(Noun::Context), p(Prep::Out);
        Include if n(Noun::Context);
        Unlink if n(Noun::Link);
        List if p(Prep::Through) => any LISTED;
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
        Switch if Features::ME, p(Prep::To), Features::ID;
        Tree if n(Noun::Tree);
        Memory if n(Noun::Memory);
        List => any LISTED;
        Read => any DOC;
        Switch if Features::ME;
        View if p(Prep::Up);
    }
    Lift {
        Move if Features::IDS;
        Unbookmark if n(Noun::Bookmark);
        Drop if n(Noun::Pin);
        Exclude if n(Noun::Context), p(Prep::Out);
    }
    Finish {
        Todo => any TODO;
        Todo if Features::NUMBER => but Features::ID;
    }
    Cancel {
        Decide if Features::TEXT => any DECISION;
        Todo => any TODO;
        Todo if Features::NUMBER => but Features::ID;
    }
    Keep {
        Move if Features::IDS, p(Prep::Under);
        Bookmark if n(Noun::Bookmark), Features::ID;
        Diff if p(Prep::Against), Features::IDS;
        _ if p(Prep::On), p(Prep::With);
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
    Roll {
        Merge if Features::IDS, Features::TEXT, p(Prep::Into);
        Undo if p(Prep::Back);
    }
    Break {
        Unlink if n(Noun::Link);
        Split;
    }
    Turn {
        Merge if Features::IDS, Features::TEXT, p(Prep::Into);
        Switch if p(Prep::Back);
        Switch if p(Prep::To), Features::ID => but Features::TEXT;
    }
    Name {
        Bookmark if n(Noun::Bookmark);
        Bookmark if Features::ID, Features::TEXT;
    }
};
