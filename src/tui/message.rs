//! What can happen, and what is to be done about it. An update takes a [`Message`] and answers with [`Effect`]s; it does
//! nothing itself. Both are plain data, so what a key comes to can be tested without a terminal or a store.

use std::sync::Arc;

use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::text::Line;

use super::{
    buffer_editor::BufferEdit,
    screen_query::{ScreenData, ScreenQuery},
};
use crate::{
    id::{DocumentId, NodeId, SessionId, TreeId},
    session::ApprovalRequest,
};

/// Something that happened.
#[derive(Debug)]
pub enum ScreenMessage {
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The mouse did something.
    Mouse(MouseEvent),
    /// The screen has another size.
    Resize(u16, u16),
    /// Something from the background; see [`Report`].
    Report(BackgroundReport),
}

/// What the background reports.
#[derive(Debug)]
pub struct BackgroundReport(pub(crate) BackgroundEvent);

impl BackgroundReport {
    /// Whether more of its kind comes at any moment, so that nobody waits for this one.
    pub(super) fn is_stream_text(&self) -> bool {
        matches!(self.0, BackgroundEvent::Generation(_, GenerationEvent::Text { .. }))
    }
}

/// What the background reports.
#[derive(Debug)]
pub(crate) enum BackgroundEvent {
    /// A look is done.
    ScreenLoaded(u64, Result<Box<ScreenData>, String>),
    /// A question is answered.
    QueryDone(ScreenLookup, Result<LookupResult, String>),
    /// A deed is done, or was not.
    WriteDone(Result<Box<WriteResult>, String>),
    /// Something of a generation.
    Generation(u64, GenerationEvent),
    /// Arrow lines of the person's are done.
    CommandsDone(u64, Result<Box<WriteResult>, String>),
    /// The colours of code that is shown are known.
    HighlightReady,
    /// A question was passed over for a newer one.
    Superseded,
    /// An agent asks whether it may do something.
    ApprovalRequested(u64, ApprovalRequest),
    /// Nobody waits for the answer any more.
    ApprovalWithdrawn(u64),
    /// The store was changed, by whomever.
    StoreChanged,
    /// What came back from the editor; `None`: nothing was changed.
    EditorClosed(InputPurpose, Option<String>),
}

/// What a text is written for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum InputPurpose {
    /// The next node, or arrow lines.
    Append,
    /// A command of the program's.
    Command,
    /// How many continuations.
    Count,
    /// A note on a node.
    Annotate(NodeId),
    /// The label of a bookmark.
    Label(NodeId),
    /// Another wording.
    Edit(NodeId),
    /// A node that draws on others.
    Merge(Vec<NodeId>),
    /// Where a node is cut: the cursor.
    Split(NodeId),
}

/// Something to be looked up.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ScreenLookup {
    Trees,
    Sessions,
    Bookmarks,
    Pruned,
    Documents,
    Document(DocumentId),
    /// What a model would be sent from a node, by whom it would be written.
    Context(NodeId),
    /// What the next prompt takes.
    Cost(NodeId),
    /// A text, and how far to look.
    Search(String, LookupScope),
    /// Two ends of branches.
    Diff(NodeId, NodeId),
    /// How much hangs below a node.
    DescendantCount(NodeId),
    /// What is in the store: a node's whole text.
    Text(NodeId, InputPurpose),
    /// The models there are.
    Models,
    /// The node with an id as somebody writes it.
    Find(String),
}

impl ScreenLookup {
    /// Whether its answer opens something, or leads elsewhere: what is typed then is for there.
    pub(crate) const fn changes_focus(&self) -> bool {
        matches!(self, Self::Document(_) | Self::Diff(..) | Self::DescendantCount(_) | Self::Text(..) | Self::Find(_))
    }
}

/// How far a search looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum LookupScope {
    Path,
    #[default]
    Tree,
    Everything,
}

impl LookupScope {
    pub(crate) fn next(self) -> Self {
        match self {
            Self::Path => Self::Tree,
            Self::Tree => Self::Everything,
            Self::Everything => Self::Path,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Path => "this path",
            Self::Tree => "this tree",
            Self::Everything => "everything",
        }
    }
}

/// What was looked up.
#[derive(Debug, Clone)]
pub(crate) enum LookupResult {
    /// Things to choose from.
    Items(Vec<ListItem>),
    /// Something to read.
    Page(String, Vec<Line<'static>>),
    /// What a prompt takes, and costs if that is known.
    Cost { tokens: u32, budget: u32, money: Option<String> },
    /// So many nodes, or more than somebody counts.
    DescendantCount(usize, bool),
    /// A node's text.
    Text(String),
    /// A node that was meant.
    Node(NodeId),
}

/// Something to choose.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ListItem {
    pub(crate) line: Line<'static>,
    /// What is searched when the list is narrowed down.
    pub(crate) words: String,
    pub(crate) action: ItemAction,
}

/// What choosing comes to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ItemAction {
    /// Go to a node, perhaps of another tree.
    GoToNode(TreeId, NodeId),
    /// Take up a tree.
    OpenTree(TreeId),
    /// Go on with a session.
    ResumeSession(SessionId),
    /// Bring a branch back.
    Restore(NodeId),
    /// Read a document.
    ShowDocument(DocumentId),
    /// Take a model, or leave it out.
    ToggleModel(String),
    /// A node of the context.
    ContextPart(Option<NodeId>),
}

/// Something to be done to the store, in the order in which it was asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WriteRequest {
    Append(NodeId, String),
    Edit(NodeId, String),
    Annotate(NodeId, String),
    Bookmark(NodeId, Option<String>),
    Prune(NodeId),
    /// Prunes what was not chosen of what was generated.
    PruneAll(Vec<NodeId>),
    Restore(NodeId),
    Undo,
    Redo,
    Exclude(NodeId, bool),
    Pin(NodeId, bool),
    Merge(Vec<NodeId>, String),
    /// A node and the character before which it is cut.
    Split(NodeId, usize),
    Copy(NodeId, NodeId),
    Move(NodeId, NodeId),
    Title(String),
    NewTree(String, bool),
    ChooseVersion(NodeId),
    /// What was written in the text of a path that ends at a node.
    SaveBuffer(NodeId, BufferEdit),
    /// From where one stands, has another wording of a node read: the next or the previous one.
    CycleVersion(NodeId, NodeId, bool),
    /// Where the person stands, so that other programs and the next time find it.
    SetPosition(NodeId),
    /// Another tree is worked on, at this node or where one was last.
    OpenTree(TreeId, Option<NodeId>),
    /// A session goes on, the person's or an agent's.
    Resume(SessionId),
    /// Arrow lines led into this session of the person's; what is done next is done there.
    AdoptSession(SessionId),
}

impl WriteRequest {
    /// Whether it may lead to another node or tree.
    pub(crate) const fn changes_focus(&self) -> bool {
        !matches!(
            self,
            Self::Annotate(..)
                | Self::Bookmark(..)
                | Self::PruneAll(_)
                | Self::Exclude(..)
                | Self::Pin(..)
                | Self::Title(_)
                | Self::ChooseVersion(_)
                | Self::SetPosition(_)
                | Self::AdoptSession(_)
        )
    }
}

/// What a deed came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct WriteResult {
    /// In words; empty: nothing to say.
    pub(crate) message: String,
    /// Where to go.
    pub(crate) position: Option<NodeId>,
    /// The tree that is worked on now.
    pub(crate) tree: Option<TreeId>,
    /// The session in it.
    pub(crate) session: Option<SessionId>,
    /// Whether undo takes it back.
    pub(crate) undoable: bool,
    /// Versions that the session reads.
    pub(crate) versions: Option<Vec<NodeId>>,
    /// More to read than a line.
    pub(crate) page: Option<(String, Vec<Line<'static>>)>,
    /// Who answers from now on, in which session of theirs; nobody: the collaborator.
    pub(crate) responder: Option<Option<Responder>>,
}

/// Somebody who answers, in a session of theirs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Responder {
    pub(crate) name: String,
    pub(crate) session: SessionId,
}

/// Arrow lines of the person's, to be run from a node.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CommandJob {
    pub(crate) number: u64,
    pub(crate) from: NodeId,
    pub(crate) text: String,
    /// Whether who works on what they delegate has the tools for the folder.
    pub(crate) tools: bool,
}

/// What is heard of a generation.
#[derive(Debug, Clone)]
pub(crate) enum GenerationEvent {
    /// Columns more: one for each continuation that began, named by its model.
    Started(Vec<String>),
    Text(usize, String),
    Saved(usize, NodeId, String),
    /// Something happened in work that was handed over.
    DelegationNote(usize, String),
    /// A command was run: the line, and the first line of its answer.
    CommandRan(usize, String, String),
    Failed(usize, String, Option<NodeId>),
    /// All have ended. The node where the agent stands, if it acted.
    Finished(Option<String>, Option<NodeId>),
}

/// What to generate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GenerationJob {
    pub(crate) number: u64,
    pub(crate) from: NodeId,
    pub(crate) versions: Vec<NodeId>,
    pub(crate) models: Vec<String>,
    pub(crate) n: usize,
    /// The agent that answers with commands; else the subject continues.
    pub(crate) turn: bool,
    /// Whether it has the tools for the folder.
    pub(crate) tools: bool,
    /// Who answers; `None`: the collaborator, in its newest session here.
    pub(crate) responder: Option<Responder>,
}

/// Something to be done outside of the model.
#[derive(Debug, Clone)]
pub(crate) enum ScreenEffect {
    LoadScreen(Arc<ScreenQuery>),
    Query(ScreenLookup),
    Write(WriteRequest),
    Generate(GenerationJob),
    /// Runs arrow lines.
    RunCommands(CommandJob),
    /// Ends a generation, or one continuation of it.
    Cancel(u64, Option<usize>),
    /// Answers an agent: whether it may, and whether that goes for all others like it.
    AnswerApproval(u64, bool, bool),
    /// Opens a text in the person's editor.
    OpenEditor(String, InputPurpose),
    Redraw,
    Suspend,
    Quit,
}
