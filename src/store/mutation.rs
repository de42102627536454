//! The write interface: a change is an operation's name and its mutations, which are applied all or not at all.

use serde::{Deserialize, Serialize};

use super::{PriorPlacement, PurgeTarget};
use crate::{
    id::{AgentId, DocumentId, LinkId, NodeId, SessionId, TodoId, TreeId},
    session_state::RecordKind,
    types::{
        AgentAction, Json, Link, NewAgent, NewNode, NewSession, NewTodo, NewTree, Op, PinTarget, SessionPatch,
        StashContent, SummarySubject, Timestamp, TodoPatch, TodoStatus, TreePatch, coded,
    },
};

/// A single write. Each mutation appends one journal entry with its inverse. Mutations that do not change the
/// conversation append none: [`Mutation::RecordActions`], a stashed result, and everything from [`Mutation::Lease`] to
/// [`Mutation::RecordTokenUsage`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Mutation {
    /// Creates a tree without a root.
    CreateTree(NewTree),
    /// Appends a node.
    Append(Box<NewNode>),
    /// Hides a node and its descendants.
    Prune {
        /// Root of the branch to hide.
        node: NodeId,
    },
    /// Shows exactly the nodes that pruning this node hid.
    Restore {
        /// Root of the pruned branch.
        node: NodeId,
    },
    /// Excludes a node from contexts, or includes it again.
    SetExcluded {
        /// Node to exclude or include.
        node: NodeId,
        /// True to exclude.
        excluded: bool,
    },
    /// Sets, changes or (with `None`) removes a bookmark.
    SetBookmark {
        /// Bookmarked node.
        node: NodeId,
        /// New label; `None` removes the bookmark.
        label: Option<String>,
    },
    /// Creates a link.
    Link(Link),
    /// Removes a link, or restores it.
    SetLinkRemoved {
        /// Link to remove or restore.
        link: LinkId,
        /// True to remove.
        removed: bool,
    },
    /// Copies a node and its visible descendants.
    CopyBranch {
        /// The node to copy.
        from: NodeId,
        /// The copy's parent, in this or another tree.
        to: NodeId,
        /// The id of the copy of `from`; copies of its descendants get new ids.
        id: NodeId,
    },
    /// Changes a tree's title, description or system context.
    UpdateTree {
        /// Tree to change.
        tree: TreeId,
        /// New values; absent fields keep theirs.
        patch: TreePatch,
    },
    /// Archives a tree, or restores it.
    SetArchived {
        /// Tree to archive or restore.
        tree: TreeId,
        /// True to archive.
        archived: bool,
    },
    /// Creates a document with its first version.
    CreateDocument {
        /// The document's ULID, made by the caller.
        id: DocumentId,
        /// Name, unique among documents.
        name: String,
        /// The first version's text.
        content: String,
    },
    /// Appends a version to a document.
    WriteDocument {
        /// Document to change.
        document: DocumentId,
        /// The version that the text is based on. If it is not the newest, the change is a conflict.
        base: u64,
        /// The complete new text.
        content: String,
    },
    /// Appends a version with the text of an earlier one.
    RevertDocument {
        /// Document to revert.
        document: DocumentId,
        /// The version whose text is used.
        to: u64,
    },
    /// Removes a document, or restores it.
    SetDocumentRemoved {
        /// Document to remove or restore.
        document: DocumentId,
        /// True to remove.
        removed: bool,
    },
    /// Creates an agent.
    CreateAgent(NewAgent),
    /// Replaces an agent's profile; its id and kind cannot change.
    UpdateAgent(NewAgent),
    /// Removes an agent, or restores it.
    SetAgentRemoved {
        /// Agent to remove or restore.
        agent: AgentId,
        /// True to remove.
        removed: bool,
    },
    /// Starts a session.
    CreateSession(NewSession),
    /// Changes a session's position, tree, model or other fields.
    UpdateSession {
        /// Session to change.
        session: SessionId,
        /// New values; absent fields keep theirs.
        patch: SessionPatch,
    },
    /// Records a decision or a constraint in a session's state.
    Record {
        /// Session to record in.
        session: SessionId,
        /// Decision or constraint.
        kind: RecordKind,
        /// Text of the record.
        content: String,
        /// Turn after which it applies; `None`: the newest turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u64>,
    },
    /// Makes a person's message that another session appended a turn of this session as well. Has no effect on a message
    /// that is a turn of the session already.
    ReceiveTurn {
        /// Receiving session.
        session: SessionId,
        /// Received message.
        node: NodeId,
        /// Number of the turn; `None`: the next.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u64>,
    },
    /// Removes a record, or restores it.
    SetRecordRemoved {
        /// Row number of the record.
        record: u64,
        /// True to remove.
        removed: bool,
    },
    /// Pins content into the context of the acting agent.
    Pin {
        /// Tree of the pin.
        tree: TreeId,
        /// Pinned node or document.
        target: PinTarget,
        /// Former position in the list of pins; only set by the inverse of an unpin.
        #[serde(rename = "stood", default, skip_serializing_if = "Option::is_none")]
        placement: Option<PriorPlacement>,
    },
    /// Removes a pin.
    Unpin {
        /// Tree of the pin.
        tree: TreeId,
        /// Pinned node or document.
        target: PinTarget,
    },
    /// Stashes content under a label for the acting agent, replacing an earlier stash of that label.
    Stash {
        /// Tree of the stash.
        tree: TreeId,
        /// Label, unique for an agent in a tree.
        label: String,
        /// Stashed content.
        content: StashContent,
        /// Estimated length in tokens.
        tokens: u32,
        /// Former position in the list of stashes; only set by the inverse of another mutation.
        #[serde(rename = "stood", default, skip_serializing_if = "Option::is_none")]
        placement: Option<PriorPlacement>,
    },
    /// Removes a stash.
    Unstash {
        /// Tree of the stash.
        tree: TreeId,
        /// Label of the stash.
        label: String,
    },
    /// Records an agent's action that leaves no entry in the tree's journal.
    #[serde(rename = "act")]
    RecordActions {
        /// Tree of the action.
        tree: TreeId,
        /// Recorded action.
        action: AgentAction,
    },
    /// Acquires or renews the lease of a position for a generating agent, in the session of the change.
    Lease {
        /// The position. Only the holder may append continuations to any version of it.
        node: NodeId,
        /// Generating agent.
        agent: AgentId,
        /// Expiry; at most [`crate::types::Lease::MAX_DURATION_MS`] after the change's time.
        until: Timestamp,
    },
    /// Releases a lease that was acquired in the session of the change, if it is still held.
    Release {
        /// The leased position.
        node: NodeId,
        /// Agent that generated.
        agent: AgentId,
    },
    /// Shows where a person reads, in the session of the change.
    ShowCursor {
        /// Node under the cursor, in the session's tree.
        node: NodeId,
    },
    /// Saves a model's summary, replacing an older one.
    #[serde(rename = "summarize")]
    SaveSummary {
        /// Summarized node, tree or document.
        of: SummarySubject,
        /// A document's version or a tree's node count at that time; 0 for a node.
        made_of: u64,
        /// The last journal entry when the text was read. If a purge followed, the change is a conflict.
        after: u64,
        /// Reference of the model.
        model: String,
        /// Text of the summary.
        content: String,
    },
    /// Saves embedding vectors of nodes, replacing older ones of the same model.
    #[serde(rename = "embed")]
    SaveEmbeddings {
        /// Embedding model.
        model: String,
        /// First and last sequence number of the batch. All nodes between them count as embedded.
        range: (u64, u64),
        /// Sequence number of each node and its vector.
        vectors: Vec<(u64, Vec<f32>)>,
    },
    /// Records the estimated and the reported token count of a prompt.
    #[serde(rename = "reckon")]
    RecordTokenUsage {
        /// The model's reference.
        model: String,
        /// Tokens of the prompt by the estimate.
        estimated: u64,
        /// Tokens of the prompt by the provider's count.
        reported: u64,
    },
    /// Records the system prompt that a session's model was sent, if it differs from the one before.
    #[serde(rename = "system_prompt")]
    RecordSystemPrompt {
        /// Session of the model.
        session: SessionId,
        /// Text of the prompt.
        content: String,
    },
    /// Adds an item to a turn's plan.
    AddTodo(Box<NewTodo>),
    /// Closes an open todo.
    FinishTodo {
        /// Todo to close.
        todo: TodoId,
        /// Completed or cancelled.
        status: TodoStatus,
        /// Result, or the reason for cancelling.
        outcome: String,
    },
    /// Changes the text or the position of an open todo.
    UpdateTodo {
        /// Todo to change.
        todo: TodoId,
        /// The changes.
        patch: TodoPatch,
    },
    /// Moves an open todo into the plan of another turn of its session.
    #[serde(rename = "take_up_todo")]
    CarryOverTodo {
        /// Todo to move.
        todo: TodoId,
        /// Target turn.
        turn: u64,
    },
    /// Appends an event to a delegation.
    #[serde(rename = "delegation")]
    AppendDelegationEvent {
        /// Head node of the delegation.
        node: NodeId,
        /// The event's number, from 1. If it exists already, the change is a conflict.
        number: u32,
        /// The event. It refers to nodes by id and holds none of their text.
        event: Json,
    },
    /// Removes content permanently.
    Purge(PurgeTarget),
    /// Applies the inverse of each change of a group, the last first.
    Undo {
        /// Number of the group's first entry.
        group: u64,
    },
}

coded! {
    /// The kind of a mutation as stored in the journal. Mutations without an entry have a kind too.
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
        /// See [`Mutation::RecordActions`].
        RecordActions = "act", 25;
        /// See [`Mutation::Lease`].
        Lease = "lease", 26;
        /// See [`Mutation::Release`].
        Release = "release", 27;
        /// See [`Mutation::SaveSummary`].
        SaveSummary = "summarize", 28;
        /// See [`Mutation::RecordTokenUsage`].
        RecordTokenUsage = "reckon", 29;
        /// See [`Mutation::AddTodo`].
        AddTodo = "add_todo", 30;
        /// See [`Mutation::FinishTodo`].
        FinishTodo = "finish_todo", 31;
        /// See [`Mutation::CarryOverTodo`].
        CarryOverTodo = "take_up_todo", 32;
        /// See [`Mutation::SaveEmbeddings`].
        SaveEmbeddings = "embed", 33;
        /// See [`Mutation::AppendDelegationEvent`].
        AppendDelegationEvent = "delegation", 34;
        /// See [`Mutation::Record`].
        Record = "record", 35;
        /// See [`Mutation::SetRecordRemoved`].
        SetRecordRemoved = "set_record_removed", 36;
        /// See [`Mutation::ReceiveTurn`].
        ReceiveTurn = "receive_turn", 37;
        /// See [`Mutation::ShowCursor`].
        ShowCursor = "show_cursor", 38;
        /// See [`Mutation::RecordSystemPrompt`].
        RecordSystemPrompt = "system_prompt", 39;
        /// See [`Mutation::UpdateTodo`].
        UpdateTodo = "update_todo", 40;
    }
}

/// An atomic group of mutations with its author and time.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The operation, as listed in the journal.
    pub op: Op,
    /// Acting agent.
    pub agent: AgentId,
    /// Session of the change; appended nodes get its next turn numbers.
    pub session: Option<SessionId>,
    /// Time of the change by the caller's clock.
    pub at: Timestamp,
    /// Mutations in order; later ones see the effects of earlier ones.
    pub mutations: Vec<Mutation>,
}
