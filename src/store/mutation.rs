//! The one write door: a change is an operation's name and the mutations that make it up, applied all or not at all.

use serde::{Deserialize, Serialize};

use crate::{
    id::{AgentId, DocumentId, LinkId, LocalId, NodeId, SessionId, TodoId, TreeId},
    session_state::RecordKind,
    types::{
        AgentAction, Json, Link, NewAgent, NewNode, NewSession, NewTodo, NewTree, Op, PinTarget, SessionPatch,
        StashContent, SummarySubject, Timestamp, TodoStatus, TreePatch, coded,
    },
};

/// One change to one thing. Each leaves one entry in the journal, with what takes it back; what says nothing of the
/// conversation leaves none: [`Mutation::Act`], a stashed result, and everything from [`Mutation::Lease`] to
/// [`Mutation::Reckon`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mutation {
    /// Makes a tree, without its root.
    CreateTree(NewTree),
    /// Adds a node.
    Append(Box<NewNode>),
    /// Hides a node and what hangs on it.
    Prune {
        /// Which.
        node: NodeId,
    },
    /// Shows exactly what pruning this node hid.
    Restore {
        /// Which.
        node: NodeId,
    },
    /// Keeps a node out of contexts, or lets it back in.
    SetExcluded {
        /// Which.
        node: NodeId,
        /// Out or in.
        excluded: bool,
    },
    /// Sets, changes or (with `None`) takes away a bookmark.
    SetBookmark {
        /// On which node.
        node: NodeId,
        /// What it says.
        label: Option<String>,
    },
    /// Makes a link.
    Link(Link),
    /// Takes a link away, or brings it back.
    SetLinkRemoved {
        /// Which.
        link: LinkId,
        /// Away or back.
        removed: bool,
    },
    /// Copies a node and what is visible below it.
    CopyBranch {
        /// The node to copy.
        from: NodeId,
        /// The copy's parent, in this or another tree.
        to: NodeId,
        /// The id of the copy of `from`; its descendants get fresh ones.
        id: NodeId,
    },
    /// Changes a tree's words.
    UpdateTree {
        /// Which.
        tree: TreeId,
        /// What changes.
        patch: TreePatch,
    },
    /// Puts a tree away, or takes it out again.
    SetArchived {
        /// Which.
        tree: TreeId,
        /// Away or out.
        archived: bool,
    },
    /// Makes a document with its first version.
    CreateDocument {
        /// The document's ULID, made by the caller.
        id: DocumentId,
        /// Unique among documents.
        name: String,
        /// The first version's text.
        content: String,
    },
    /// Writes a document's next version.
    WriteDocument {
        /// Which.
        document: DocumentId,
        /// The version that the text was made from; if it is not the newest any more, the change is a conflict.
        base: u64,
        /// The whole new text.
        content: String,
    },
    /// Writes a next version with the text of an earlier one.
    RevertDocument {
        /// Which.
        document: DocumentId,
        /// The version whose text comes back.
        to: u64,
    },
    /// Takes a document out of use, or brings it back.
    SetDocumentRemoved {
        /// Which.
        document: DocumentId,
        /// Out or back.
        removed: bool,
    },
    /// Makes an agent.
    CreateAgent(NewAgent),
    /// Gives an agent a new profile; its id and kind stay.
    UpdateAgent(NewAgent),
    /// Takes an agent out of use, or brings it back.
    SetAgentRemoved {
        /// Which.
        agent: AgentId,
        /// Out or back.
        removed: bool,
    },
    /// Starts a session.
    CreateSession(NewSession),
    /// Changes a session.
    UpdateSession {
        /// Which.
        session: SessionId,
        /// What changes.
        patch: SessionPatch,
    },
    /// Records a decision or a constraint in a session's state register, beside what is said.
    Record {
        /// In which session.
        session: SessionId,
        /// What it is.
        kind: RecordKind,
        /// The words.
        content: String,
        /// After which turn; the newest if not said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u64>,
    },
    /// Takes a record back, or sets it again.
    SetRecordRemoved {
        /// Which, by the store's number.
        record: u64,
        /// Back or again.
        removed: bool,
    },
    /// Keeps something in the context of the agent that makes the change.
    Pin {
        /// In which tree.
        tree: TreeId,
        /// What.
        target: PinTarget,
        /// Where it stood, if it comes back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stood: Option<PriorPlacement>,
    },
    /// Lets go of a pin.
    Unpin {
        /// In which tree.
        tree: TreeId,
        /// What.
        target: PinTarget,
    },
    /// Puts something aside under a label, for the agent that makes the change; what was there is replaced.
    Stash {
        /// In which tree.
        tree: TreeId,
        /// The label.
        label: String,
        /// What.
        content: StashContent,
        /// About how long it is.
        tokens: u32,
        /// Where it stood, if it comes back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stood: Option<PriorPlacement>,
    },
    /// Lets go of a stash.
    Unstash {
        /// In which tree.
        tree: TreeId,
        /// The label.
        label: String,
    },
    /// Keeps what the agent did, where the tree's journal does not tell.
    Act {
        /// In which tree.
        tree: TreeId,
        /// What.
        action: AgentAction,
    },
    /// Takes a position for an agent that generates there, or holds it for longer; in the session of the change.
    Lease {
        /// The position: what continues it is theirs to write, in any version of it.
        node: NodeId,
        /// Who generates.
        agent: AgentId,
        /// Until when; at most [`crate::types::Lease::MAX_DURATION_MS`] from the change's time.
        until: Timestamp,
    },
    /// Lets go of a lease that was taken in the session of the change, if it is still held.
    Release {
        /// The position.
        node: NodeId,
        /// Who generated.
        agent: AgentId,
    },
    /// Keeps what a model said that something is about, in the place of what was said before.
    Summarize {
        /// What it is of.
        of: SummarySubject,
        /// A document's version, how many nodes a tree had; 0 of a node.
        made_of: u64,
        /// The journal's last entry when the words were read: if something was purged since, the change is a conflict.
        after: u64,
        /// The model that said it.
        model: String,
        /// What it said.
        content: String,
    },
    /// Keeps vectors of what nodes say, in the place of older ones.
    Embed {
        /// The model that made them.
        model: String,
        /// Each with the number of its node.
        vectors: Vec<(u64, Vec<f32>)>,
    },
    /// Keeps how many tokens a model counted in a prompt of so many estimated ones.
    Reckon {
        /// The model's reference.
        model: String,
        /// The prompt by the estimate.
        estimated: u64,
        /// The prompt by the provider's count.
        reported: u64,
    },
    /// Adds an item to a turn's plan.
    AddTodo(Box<NewTodo>),
    /// Says what became of an open item.
    FinishTodo {
        /// Which.
        todo: TodoId,
        /// Completed or cancelled.
        status: TodoStatus,
        /// What came of it, or why it was given up.
        outcome: String,
    },
    /// Takes an open item up into the plan of another turn of its session.
    TakeUpTodo {
        /// Which.
        todo: TodoId,
        /// The turn.
        turn: u64,
    },
    /// Keeps what happened in a delegation.
    Delegation {
        /// Its head.
        node: NodeId,
        /// The event's number, from 1; if another one has it already, the change is a conflict.
        number: u32,
        /// The event. It names nodes, and holds none of their words.
        event: Json,
    },
    /// Removes content for good.
    Purge(PurgeTarget),
    /// Applies what takes back each change of a group, the last first.
    Undo {
        /// The group's first entry.
        group: u64,
    },
}

/// Where among its like something stood that an undo brings back: it stands there again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorPlacement {
    /// Its number in the store.
    pub number: u64,
    /// Since when.
    pub since: Timestamp,
}

/// What a purge empties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PurgeTarget {
    /// One node.
    Node(NodeId),
    /// Every node that a session caused, and the session's state.
    Session(SessionId),
    /// Every node of a tree, and the tree's words.
    Tree(TreeId),
}

coded! {
    /// The kind of a mutation, as the journal keeps it. Those that leave no entry have one all the same.
    ChangeKind {
        /// See [`Mutation::CreateTree`].
        CreateTree = "create_tree", 0;
        /// See [`Mutation::Append`].
        Append = "append", 1;
        /// See [`Mutation::Prune`].
        Prune = "prune", 2;
        /// See [`Mutation::Restore`].
        Restore = "restore", 3;
        /// See [`Mutation::SetExcluded`].
        SetExcluded = "set_excluded", 4;
        /// See [`Mutation::SetBookmark`].
        SetBookmark = "set_bookmark", 5;
        /// See [`Mutation::Link`].
        Link = "link", 6;
        /// See [`Mutation::SetLinkRemoved`].
        SetLinkRemoved = "set_link_removed", 7;
        /// See [`Mutation::CopyBranch`].
        CopyBranch = "copy_branch", 8;
        /// See [`Mutation::UpdateTree`].
        UpdateTree = "update_tree", 9;
        /// See [`Mutation::SetArchived`].
        SetArchived = "set_archived", 10;
        /// See [`Mutation::CreateDocument`].
        CreateDocument = "create_document", 11;
        /// See [`Mutation::WriteDocument`].
        WriteDocument = "write_document", 12;
        /// See [`Mutation::RevertDocument`].
        RevertDocument = "revert_document", 13;
        /// See [`Mutation::SetDocumentRemoved`].
        SetDocumentRemoved = "set_document_removed", 14;
        /// See [`Mutation::CreateAgent`].
        CreateAgent = "create_agent", 15;
        /// See [`Mutation::UpdateAgent`].
        UpdateAgent = "update_agent", 16;
        /// See [`Mutation::SetAgentRemoved`].
        SetAgentRemoved = "set_agent_removed", 17;
        /// See [`Mutation::CreateSession`].
        CreateSession = "create_session", 18;
        /// See [`Mutation::UpdateSession`].
        UpdateSession = "update_session", 19;
        /// See [`Mutation::Purge`].
        Purge = "purge", 20;
        /// See [`Mutation::Pin`].
        Pin = "pin", 21;
        /// See [`Mutation::Unpin`].
        Unpin = "unpin", 22;
        /// See [`Mutation::Stash`].
        Stash = "stash", 23;
        /// See [`Mutation::Unstash`].
        Unstash = "unstash", 24;
        /// See [`Mutation::Act`].
        Act = "act", 25;
        /// See [`Mutation::Lease`].
        Lease = "lease", 26;
        /// See [`Mutation::Release`].
        Release = "release", 27;
        /// See [`Mutation::Summarize`].
        Summarize = "summarize", 28;
        /// See [`Mutation::Reckon`].
        Reckon = "reckon", 29;
        /// See [`Mutation::AddTodo`].
        AddTodo = "add_todo", 30;
        /// See [`Mutation::FinishTodo`].
        FinishTodo = "finish_todo", 31;
        /// See [`Mutation::TakeUpTodo`].
        TakeUpTodo = "take_up_todo", 32;
        /// See [`Mutation::Embed`].
        Embed = "embed", 33;
        /// See [`Mutation::Delegation`].
        Delegation = "delegation", 34;
        /// See [`Mutation::Record`].
        Record = "record", 35;
        /// See [`Mutation::SetRecordRemoved`].
        SetRecordRemoved = "set_record_removed", 36;
    }
}

/// What is committed together: all of it or nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// What the agent did.
    pub op: Op,
    /// Who.
    pub agent: AgentId,
    /// In which session; nodes that are appended get its next turn numbers.
    pub session: Option<SessionId>,
    /// When, by the caller's clock.
    pub at: Timestamp,
    /// What changes, in order; later ones see earlier ones.
    pub mutations: Vec<Mutation>,
}

/// What a commit did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Receipt {
    /// The journal's number of the change's first entry: the group that an undo names. 0 if nothing changed.
    pub group: u64,
    /// The number of its last entry.
    pub seq: u64,
    /// The nodes that were added, in order.
    pub nodes: Vec<AppendedNode>,
    /// How many nodes were hidden or shown, copied or purged.
    pub affected: u64,
}

/// A node that a commit added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AppendedNode {
    /// Its ULID.
    pub id: NodeId,
    /// Its short id.
    #[serde(rename = "local_id")]
    pub local: LocalId,
    /// Its insertion sequence.
    pub seq: u64,
    /// Its turn in the session that caused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
}
