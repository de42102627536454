//! Constructions of verbs that look, go on or hand over: `show`, `get`, `find`, `continue`.

use super::*;

pub(super) const RULES: &[VerbRules] = rules! {
    See {
        Recall if n(Noun::Annotation), Features::TEXT, p(Prep::Through), p(Prep::For) => but Features::ID, DOC;
        _ if Features::TEXT, p(Prep::Through), p(Prep::For) => any n(Noun::Doc), n(Noun::Bookmark), n(Noun::Link), TODO;
        _ if Features::TEXT, p(Prep::In), p(Prep::For) => any n(Noun::Bookmark), n(Noun::Link), TODO => but Features::ID;
        Recall if Features::SAYS, Features::TEXT => but Features::ID, Features::FILE, n(Noun::Doc), n(Noun::Web);
        Recall if Features::TEXT, Features::ID, p(Prep::For), p(Prep::Under);
        Recall if Features::TEXT, n(Noun::Tree), p(Prep::For) => but Features::ID, n(Noun::Web);
        List if n(Noun::List) => any n(Noun::Agent), n(Noun::Doc), n(Noun::Change);
        Help if n(Noun::Help) => but Features::ID;
        Delegate if n(Noun::Delegation) => but Features::ID, Features::TEXT;
        Diff if n(Noun::Difference) => but n(Noun::Alternative), n(Noun::Continuation);
        Diff if Features::IDS => any p(Prep::Side), p(Prep::Apart), p(Prep::Between), p(Prep::Against);
        Search if n(Noun::Web);
        Search if p(Prep::Up), Features::TEXT => but Features::ID, n(Noun::Stash), n(Noun::Doc), n(Noun::Archive);
        Continue if n(Noun::Token);
        Continue if n(Noun::Alternative), Features::NUMBER;
        Memory if n(Noun::Memory);
        Memory if n(Noun::Trace);
        Recall if n(Noun::Stash), Features::TEXT;
        Recall if n(Noun::Turn);
        Memory if n(Noun::Stash);
        List if Features::PRUNED => but Features::ID, Features::TEXT, n(Noun::Tree);
        List if Features::KIND => but Features::ID, Features::TEXT, Features::FILE, Features::NUMBER;
        Recall if Features::SAYS, Features::TEXT, p(Prep::For) => but Features::ID, n(Noun::Web), n(Noun::News);
        Read if n(Noun::Version), Features::NUMBER => any DOC;
        List => any LISTED;
        List if n(Noun::Annotation) => but Features::ANNOTATED;
        Todo => any TODO;
        Search if n(Noun::Web), Features::TEXT;
        Read => any DOC;
        Recall if n(Noun::Result);
        Tree if n(Noun::Tree);
        Read if n(Noun::Summary), p(Prep::Of), Features::TEXT => but Features::ID, n(Noun::Stash), n(Noun::Turn);
        Recall if n(Noun::Summary) => but Features::ID;
        Recall if n(Noun::Archive);
        View;
    }
    Get {
        List if n(Noun::List) => any n(Noun::Agent), n(Noun::Doc), n(Noun::Change);
        Read if n(Noun::Version), Features::NUMBER => any DOC;
        Delegate if n(Noun::Delegation) => but Features::ID, Features::TEXT;
        Recall if p(Prep::Away), Features::TEXT => but Features::ID;
        Recall if p(Prep::Aside), Features::TEXT => but Features::ID;
        Respond if n(Noun::Background), Features::ID, Features::TEXT;
        Delegate if n(Noun::Agent), Features::TEXT => but Features::ID;
        Continue if n(Noun::Continuation), Features::NUMBER, p(Prep::From), Features::ID;
        Continue if n(Noun::Continuation), Features::NUMBER, Features::ID;
        Continue if n(Noun::Continuation), n(Noun::Instruction), Features::ID;
        Continue if n(Noun::Alternative), Features::NUMBER, Features::ID, Features::TEXT;
        Edit if Features::ID, Features::TEXT => any n(Noun::Text), n(Noun::Version);
        Continue if Features::NUMBER, p(Prep::From), Features::ID => but DOC, n(Noun::Line), n(Noun::Turn), n(Noun::Tree);
        Edit if Features::TEXT, n(Noun::Text) => any n(Noun::Parent), n(Noun::Root), n(Noun::Here);
        _ if p(Prep::Out), Features::ID => but n(Noun::Context);
        Diff if Features::IDS => any p(Prep::Against), p(Prep::Between), p(Prep::Side) => but Features::TEXT, n(Noun::Link);
        Continue if n(Noun::Instruction), n(Noun::Continuation), Features::NUMBER;
        Respond if n(Noun::Instruction), Features::TEXT;
        Respond if n(Noun::Context), Features::ID, Features::TEXT;
        Edit if Features::SAYS, Features::ID, Features::TEXT => but n(Noun::Annotation), n(Noun::Continuation), n(Noun::Instruction), n(Noun::Reply), n(Noun::Context), n(Noun::Bookmark), n(Noun::Link), DOC;
        Switch if p(Prep::Back), p(Prep::To) => any PLACE;
        Switch if p(Prep::Back) => but Features::ID, Features::TEXT, DOC, LISTED, n(Noun::Change), n(Noun::Stash), n(Noun::Context), n(Noun::Node), n(Noun::Turn);
        Copy if n(Noun::Copy), Features::IDS;
        Copy if n(Noun::Copy), p(Prep::Of), p(Prep::Under);
        Link if n(Noun::Link), Features::NEW, Features::IDS;
        Pin if n(Noun::Pin), Features::NEW => but Features::TEXT;
        Annotate if n(Noun::Annotation), Features::ID, Features::TEXT;
        Bookmark if n(Noun::Bookmark), Features::ID, Features::TEXT;
        Restore if n(Noun::Restoration), Features::ID;
        Restore if p(Prep::Back), Features::ID => but Features::ME, p(Prep::To), n(Noun::Context);
        Exclude if n(Noun::Context), p(Prep::Out);
        Recall if n(Noun::Context), p(Prep::Of), Features::ID => but Features::TEXT, p(Prep::Into), p(Prep::In), p(Prep::To), p(Prep::Back);
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
        Memory if n(Noun::Memory);
        Memory if n(Noun::Trace);
        Recall if n(Noun::Stash);
        Recall if n(Noun::Turn);
        Bookmark if n(Noun::Bookmark), Features::NEW;
        Annotate if n(Noun::Annotation), Features::NEW;
        Link if n(Noun::Link), Features::NEW;
        List if Features::PRUNED => but Features::ID, Features::TEXT, n(Noun::Tree);
        List if Features::KIND => but Features::ID, Features::TEXT, Features::FILE, Features::NUMBER;
        List => any LISTED;
        List if n(Noun::Annotation) => but Features::ANNOTATED;
        Todo => any TODO;
        Search if n(Noun::Web), Features::TEXT;
        Read => any DOC;
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
        Help if n(Noun::Help) => but Features::ID;
        Recall if Features::SAYS, Features::TEXT => but Features::ID, Features::FILE, n(Noun::Doc), n(Noun::Web);
        Delegate if n(Noun::Delegation) => but Features::ID, Features::TEXT;
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
        Read if n(Noun::Doc), Features::NUMBER, Features::TEXT;
        List if p(Prep::Through) => any LISTED, n(Noun::Annotation);
        View if p(Prep::Through), Features::ME, Features::ID;
        Undo if n(Noun::Change), p(Prep::Back);
        Switch if p(Prep::To), p(Prep::On), p(Prep::From), Features::ID => but Features::NUMBER, Features::IDS;
        Continue if p(Prep::On), Features::ID => any p(Prep::From), p(Prep::After);
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
        Todo => any TODO => but Features::ID, Features::TEXT;
        Continue;
    }
    Read {
        _ if p(Prep::Between), n(Noun::Line) => but Features::NUMBER;
        Memory if n(Noun::Memory);
        Recall if n(Noun::Turn);
        Read => any DOC;
        List => any LISTED;
        View if Features::ID;
        Read;
    }
    Recall { Recall; }
    Grep { Recall; }
    Memory { Memory; }
    Tree {
        _ if n(Noun::Restoration);
        Tree;
    }
    Draw {
        Link if n(Noun::Link), Features::ID;
        _ => any DOC;
        Tree;
    }
    Delegate { Delegate; }
    Hand {
        Switch if p(Prep::To) => any PLACE => but Features::TEXT, Features::ID;
        Recall if n(Noun::Stash), Features::ME, Features::TEXT;
        Delegate => any p(Prep::Off), p(Prep::Over), p(Prep::To), p(Prep::Out), p(Prep::On), n(Noun::Agent);
    }
    Search {
        Recall if p(Prep::By), Features::TEXT => but n(Noun::Web), n(Noun::Site), n(Noun::News), Features::FILE;
        Recall if n(Noun::Annotation), Features::TEXT => but n(Noun::Web), n(Noun::Site), n(Noun::News);
        Recall => any PAST;
        Recall if Features::SAYS, Features::TEXT => but n(Noun::Web), n(Noun::Site), n(Noun::News);
        Recall if n(Noun::Tree), Features::TEXT => but n(Noun::Web), n(Noun::Site), n(Noun::News);
        Recall if Features::ID, Features::TEXT, p(Prep::Under) => but n(Noun::Web), n(Noun::Site), n(Noun::News);
        _ => any n(Noun::Doc), Features::ID;
        Recall if n(Noun::Result), p(Prep::Of), Features::TEXT => but n(Noun::Web), n(Noun::Site), n(Noun::News);
        Search;
    }
    Find {
        Recall if p(Prep::By), Features::TEXT => but n(Noun::Web), n(Noun::Site), n(Noun::News), Features::FILE;
        Recall if n(Noun::Tool), n(Noun::Result);
        Recall if n(Noun::Result), p(Prep::Of), p(Prep::In), Features::TEXT => but n(Noun::Web), n(Noun::Site), n(Noun::News);
        Recall if n(Noun::Annotation), Features::TEXT => but n(Noun::Web), n(Noun::Site), n(Noun::News);
        Recall if n(Noun::Reply), Features::TEXT => but Features::ID, n(Noun::Web), n(Noun::Site), n(Noun::News);
        Recall if Features::TEXT, Features::ID => but n(Noun::Web), n(Noun::Site), n(Noun::News);
        Recall => any PAST;
        Recall if Features::SAYS, Features::TEXT => but n(Noun::Web), n(Noun::Site), n(Noun::News);
        Recall if n(Noun::Stash);
        Search if Features::TEXT => but Features::ID;
        Search if n(Noun::Web);
        View if Features::ID => but Features::TEXT;
    }
    Think { Think; }
    Help { Help; }
    Summarise {
        Tree if n(Noun::Tree);
        Read => any DOC;
        Stash => any n(Noun::Stash), n(Noun::Label);
        Recall if n(Noun::Everything);
        Recall if n(Noun::Archive);
    }
    Resume {
        Delegate if n(Noun::Delegation), Features::ID;
        Todo => any TODO;
        Continue if Features::ID;
        Todo;
    }
    Use {
        Continue if n(Noun::Agent) => any Features::ID, n(Noun::Continuation), n(Noun::Alternative);
    }
    Tell {
        Diff if n(Noun::Difference) => but n(Noun::Alternative), n(Noun::Continuation);
        Delegate if n(Noun::Agent), Features::TEXT => but Features::ID;
        Help if n(Noun::Help);
        List => any LISTED;
        Memory if n(Noun::Memory);
        Respond if Features::ID, Features::TEXT;
    }
    Try {
        Delegate if n(Noun::Delegation), Features::ID;
        Continue if p(Prep::From), Features::ID, Features::NUMBER;
        Link if n(Noun::Link), Features::IDS;
        Diff if n(Noun::Difference), Features::IDS;
        Search if n(Noun::Web), Features::TEXT;
        Continue if p(Prep::On), Features::ID;
        Continue if p(Prep::Onward), Features::ID;
        Continue if n(Noun::Continuation), Features::NUMBER;
        Tree if n(Noun::Tree);
        List if p(Prep::Through) => any LISTED;
        Continue => any n(Noun::Continuation), n(Noun::Alternative), n(Noun::Token), n(Noun::Version);
    }
    Carry {
        Switch if Features::ME, Features::ID;
        Todo => any TODO;
        Continue => any p(Prep::On), p(Prep::Onward);
        Continue if p(Prep::Up), p(Prep::From);
        Continue if p(Prep::Up), Features::ID;
    }
    Remind {
        Recall if n(Noun::Stash), Features::TEXT;
        Recall if n(Noun::Archive);
        Recall if n(Noun::Turn), Features::NUMBER;
        Recall if n(Noun::Everything) => but Features::ID, Features::TEXT;
        _ if p(Prep::To);
        Recall if n(Noun::Turn);
        Recall if Features::SAYS, Features::TEXT => but Features::ID;
        Recall if n(Noun::Summary) => but Features::ID;
        View if Features::ID => but Features::TEXT;
        Todo if Features::TEXT;
    }
    Ask {
        Continue if n(Noun::Agent), n(Noun::Continuation), Features::NUMBER;
        Move if Features::IDS, p(Prep::Under) => but Features::TEXT;
        Restore if p(Prep::Back), Features::ID => but Features::TEXT, n(Noun::Context);
        Exclude if n(Noun::Context), p(Prep::Out);
        Continue if Features::ID => any n(Noun::Continuation), n(Noun::Alternative), n(Noun::Token);
        Delegate if n(Noun::Agent), Features::TEXT => but Features::ID;
        Include if n(Noun::Context);
        Continue if Features::ID, p(Prep::From) => but Features::TEXT;
        Edit if Features::ID, Features::TEXT, Features::SAYS;
        Help if n(Noun::Help);
        Delegate if n(Noun::Agent), Features::TEXT;
        Recall if n(Noun::Stash);
        Continue if n(Noun::Continuation), Features::NUMBER => but Features::TEXT;
    }
};
