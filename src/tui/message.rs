//! Messages that the update receives and effects that it returns. Both are plain data, so keys are tested without a
//! terminal or a store. The update performs no effect itself.

use std::sync::Arc;

use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::text::Line;

use super::{
    buffer_editor::BufferEdit,
    screen_query::{ScreenData, ScreenQuery},
    search_scope::LookupScope,
};
use crate::{
    arrow::{Command, NodeRef},
    id::{AgentId, DocumentId, NodeId, SessionId, TreeId},
    session::ApprovalRequest,
    tools::Tool,
};

/// An input or report that the screen has to process.
#[derive(Debug)]
pub enum ScreenMessage {
    /// A key event; releases are ignored.
    Key(KeyEvent),
    /// Text of a bracketed paste.
    Paste(String),
    /// A click, drag or turn of the wheel.
    Mouse(MouseEvent),
    /// New size of the screen, in columns and rows.
    Resize(u16, u16),
    /// A report of a background thread.
    Report(BackgroundReport),
}

/// Report of a background thread; hosts pass it on unread.
#[derive(Debug)]
pub struct BackgroundReport(pub(crate) BackgroundEvent);

impl BackgroundReport {
    /// True if it is streamed text: more follows at once, so a frame can wait.
    pub(super) fn is_stream_text(&self) -> bool {
        matches!(self.0, BackgroundEvent::Generation(_, GenerationEvent::Text { .. }))
    }
}

/// Content of a [`BackgroundReport`].
#[derive(Debug)]
pub(crate) enum BackgroundEvent {
    /// Result of a screen query, with its number.
    ScreenLoaded(u64, Result<Box<ScreenData>, String>),
    /// Result of a lookup.
    QueryDone(ScreenLookup, Result<LookupResult, String>),
    /// Result of a write request.
    WriteDone(Result<Box<WriteResult>, String>),
    /// An event of the generation job with this number.
    Generation(u64, GenerationEvent),
    /// Result of the command job with this number.
    CommandsDone(u64, Result<Box<WriteResult>, String>),
    /// Highlighting of visible code has finished.
    HighlightReady,
    /// A read request was dropped because a newer one of its kind replaced it.
    Superseded,
    /// An agent requests an approval, identified by this number.
    ApprovalRequested(u64, ApprovalRequest),
    /// The agent no longer waits for this approval.
    ApprovalWithdrawn(u64),
    /// Progress or the end of a delegation in the background, as a line.
    DelegationNotice(String),
    /// Bytes that the running import or export has read or written, and all bytes; 0 if unknown.
    FileProgress(u64, u64),
    /// Any process changed the store.
    StoreChanged,
    /// Text from the external editor. `None`: it is unchanged.
    EditorClosed(InputPurpose, Result<Option<String>, String>),
}

/// Purpose of a text input.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum InputPurpose {
    /// The next node, or arrow lines to run.
    Append,
    /// A command of the `:` line, without the colon.
    Command,
    /// Number of continuations per generation.
    Count,
    /// The text, label or place of a command that changes the tree; and the cursor's node after it.
    Change(NodeId, Box<Command>),
}

impl InputPurpose {
    /// Creates the purpose of a change of one node.
    pub(crate) fn change(node: NodeId, build: impl FnOnce(Option<NodeRef>) -> Command) -> Self {
        Self::Change(node, Box::new(build(Some(node.into()))))
    }

    /// Returns the tool of a change; `None` for other inputs.
    pub(crate) fn tool(&self) -> Option<Tool> {
        match self {
            Self::Change(_, command) => Some(command.tool()),
            _ => None,
        }
    }

    /// True if the input selects a place in a text that it cannot change.
    pub(crate) fn is_place(&self) -> bool {
        self.tool() == Some(Tool::Split)
    }
}

/// A lookup in the store for a list, page or dialog.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ScreenLookup {
    Trees,
    Sessions,
    Bookmarks,
    Pruned,
    /// Changes of the tree by all agents.
    Log,
    Documents,
    Document(DocumentId),
    /// Prompt of a model that continues the node, section by section.
    Context(NodeId),
    /// Tokens and price of the next prompt.
    Cost(NodeId),
    /// Search text and its scope.
    Search(String, LookupScope),
    /// Last nodes of the two branches to compare.
    Diff(NodeId, NodeId),
    /// Number of visible descendants of a node.
    DescendantCount(NodeId),
    /// Whole contents of nodes, with blank lines between them, to edit for this purpose.
    Text(Vec<NodeId>, InputPurpose),
    Models,
    /// Node by an id that the user typed; a prefix is enough.
    Find(String),
}

impl ScreenLookup {
    /// True if the result opens a dialog or moves the cursor: input typed after it has to wait.
    pub(crate) const fn changes_focus(&self) -> bool {
        matches!(self, Self::Document(_) | Self::Diff(..) | Self::DescendantCount(_) | Self::Text(..) | Self::Find(_))
    }
}

/// Result of a lookup.
#[derive(Debug, Clone)]
pub(crate) enum LookupResult {
    /// Items of a list.
    Items(Vec<ListItem>),
    /// Title and lines of a page.
    Page(String, Vec<Line<'static>>),
    /// Size of a prompt and its price, if known.
    Cost { tokens: u32, budget: u32, money: Option<String> },
    /// Number of descendants; `true` if counting stopped at the limit.
    DescendantCount(usize, bool),
    /// Contents of nodes.
    Text(String),
    /// Node that the id refers to.
    Node(NodeId),
}

/// Item of a list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ListItem {
    pub(crate) line: Line<'static>,
    /// Lines that a search shows below its list while the item is selected.
    pub(crate) detail: Vec<Line<'static>>,
    /// Text that the list filter matches.
    pub(crate) words: String,
    pub(crate) action: ItemAction,
}

/// Action of choosing a list item.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ItemAction {
    /// Moves the cursor to a node; opens its tree first if needed.
    GoToNode(TreeId, NodeId),
    /// Opens a tree at its last position.
    OpenTree(TreeId),
    /// Resumes a session at its stored position.
    ResumeSession(SessionId),
    /// Restores a pruned branch.
    Restore(NodeId),
    /// Asks whether to undo the last change of an agent; the text is the question.
    OfferUndo(AgentId, String),
    /// Shows a document as a page.
    ShowDocument(DocumentId),
    /// Adds a model to the selection, or removes it.
    ToggleModel(String),
    /// A section of the context, or a node of it and whether that is excluded.
    ContextPart(Option<(NodeId, bool)>),
}

/// Write request; the write thread executes requests in order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WriteRequest {
    Append(NodeId, String),
    /// Runs a command that changes the tree. The session moves to the node first, except to prune or restore it.
    Change(NodeId, Box<Command>),
    /// Prunes the continuations that the user did not choose.
    PruneAll(Vec<NodeId>),
    Undo,
    /// Undoes the last change of another agent.
    UndoOf(AgentId),
    Redo,
    Pin(NodeId, bool),
    Title(String),
    NewTree(String, bool),
    ChooseVersion(NodeId),
    /// Saves the changed text of the path that ends at this node.
    SaveBuffer(NodeId, BufferEdit),
    /// Selects the next (`true`) or previous version of the second node; the first is the cursor.
    CycleVersion(NodeId, NodeId, bool),
    /// Stores the cursor as the session's position, for other programs and the next start.
    SetPosition(NodeId),
    /// Shows others the cursor while the user walks. It has no reply.
    ShowCursor(NodeId),
    /// Imports a file, and opens the first tree of it.
    Import(std::path::PathBuf),
    /// Writes the conversation that ends at a node in a format into a new file.
    Export(NodeId, String, std::path::PathBuf),
    /// Opens a tree at this node, or at its last position.
    OpenTree(TreeId, Option<NodeId>),
    /// Continues a session of the user or of an agent.
    Resume(SessionId),
    /// Begins, names, ends or resets the conversation in this session, or in the collaborator's newest.
    Session(Option<SessionId>, SessionRequest),
    /// Continues writing in this session of the user; arrow lines switched to it.
    AdoptSession(SessionId),
}

/// Change of the conversation's session.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SessionRequest {
    /// Begins another conversation, in a new tree.
    Begin(Option<String>),
    Name(String),
    End,
    /// Begins the conversation again at a fresh root.
    Reset,
}

impl WriteRequest {
    /// Creates the request for a change of one node.
    pub(crate) fn change(node: NodeId, build: impl FnOnce(Option<NodeRef>) -> Command) -> Self {
        Self::Change(node, Box::new(build(Some(node.into()))))
    }

    /// True if the request may move the cursor or open another tree.
    pub(crate) fn changes_focus(&self) -> bool {
        use Tool::{Annotate, Bookmark, Exclude, Include, Unbookmark};
        match self {
            Self::Change(_, command) => !matches!(command.tool(), Annotate | Bookmark | Unbookmark | Exclude | Include),
            Self::PruneAll(_)
            | Self::Pin(..)
            | Self::Title(_)
            | Self::ChooseVersion(_)
            | Self::SetPosition(_)
            | Self::ShowCursor(_)
            | Self::Export(..)
            | Self::AdoptSession(_) => false,
            _ => true,
        }
    }
}

/// Result of a write request or command job.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct WriteResult {
    /// Message for the user; may be empty.
    pub(crate) message: String,
    /// New position of the cursor.
    pub(crate) position: Option<NodeId>,
    /// Tree that is open now.
    pub(crate) tree: Option<TreeId>,
    /// Session of the user in that tree.
    pub(crate) session: Option<SessionId>,
    /// True if undo reverts it.
    pub(crate) undoable: bool,
    /// Versions selected in the session.
    pub(crate) versions: Option<Vec<NodeId>>,
    /// Title and lines of a page, for results longer than a line.
    pub(crate) page: Option<(String, Vec<Line<'static>>)>,
    /// Agent that answers from now on; inner `None`: the collaborator.
    pub(crate) responder: Option<Option<Responder>>,
}

/// Agent that answers, in this session of its own.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Responder {
    pub(crate) name: String,
    pub(crate) session: SessionId,
}

/// Arrow lines of the user, to run from a node.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CommandJob {
    pub(crate) number: u64,
    pub(crate) from: NodeId,
    pub(crate) text: String,
    /// True if delegated workers get the tools of the folder.
    pub(crate) tools: bool,
}

/// Event of a generation job; the first field is the column's index.
#[derive(Debug, Clone)]
pub(crate) enum GenerationEvent {
    /// Adds a column for each continuation, named by its model.
    Started(Vec<String>),
    Text(usize, String),
    Saved(usize, NodeId, String),
    /// A line on the progress of a delegation.
    DelegationNote(usize, String),
    /// A command was run: its line and the first line of its result.
    CommandRan(usize, String, String),
    /// The turn left todos open: a line that names them.
    TodosLeftOpen(usize, String),
    Failed(usize, String, Option<NodeId>),
    /// All continuations have ended: an error, and the agent's position if it ran commands.
    Finished(Option<String>, Option<NodeId>),
}

/// Request to generate continuations or an agent's turn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GenerationJob {
    pub(crate) number: u64,
    pub(crate) from: NodeId,
    pub(crate) versions: Vec<NodeId>,
    pub(crate) models: Vec<String>,
    pub(crate) n: usize,
    /// True if an agent answers with commands; else the subject continues.
    pub(crate) turn: bool,
    /// True if the agent gets the tools of the folder.
    pub(crate) tools: bool,
    /// Agent that answers. `None`: the collaborator, in its newest session here.
    pub(crate) responder: Option<Responder>,
}

/// Effect that the application performs outside of the model.
#[derive(Debug, Clone)]
pub(crate) enum ScreenEffect {
    LoadScreen(Arc<ScreenQuery>),
    Query(ScreenLookup),
    Write(WriteRequest),
    Generate(GenerationJob),
    RunCommands(CommandJob),
    /// Cancels a job, or one continuation of it.
    Cancel(u64, Option<usize>),
    /// Cancels the running import or export.
    CancelFile,
    /// Answers an approval request: its number, yes or no, and whether all like it are allowed.
    AnswerApproval(u64, bool, bool),
    /// Opens a text in the user's editor.
    OpenEditor(String, InputPurpose),
    Redraw,
    Suspend,
    Quit,
}
