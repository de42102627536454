//! Terminal interface for branching by hand; `loom` without arguments opens it.
//!
//! It has four parts. The *model* is one value with everything that the screen shows. A *message* is an event: a key, a
//! resize, a report of a background thread. The *update* applies a message to the model and returns effects; it
//! performs no I/O. The *view* draws a model and changes nothing. So keys are tested without a terminal, and frames
//! without keys.
//!
//! Threads perform the effects. One reads the visible part of the tree and one screen around it, never a whole tree.
//! One answers lookups, one writes in request order, and models stream on tokio's threads. The reading thread polls the
//! store for changes of other processes ten times a second; an idle screen does nothing else. The thread that reads
//! keys and draws never blocks on the others.
//!
//! [`run`] is the whole program on a terminal. [`App`] is the same without one, for another ratatui backend or a test.

mod app;
mod approval_queue;
mod buffer_editor;
mod command_job;
mod cursor_sharing;
mod delegation_lines;
mod editor;
mod editor_wrap;
mod generation_jobs;
pub(crate) mod highlight;
mod import_export;
mod keys;
mod layout;
pub(crate) mod line_wrap;
pub(crate) mod markdown;
mod message;
mod model;
mod overlays;
mod path_cache;
mod path_layout;
mod queries;
mod query_threads;
mod screen_query;
mod search_scope;
mod terminal;
pub(crate) mod text;
mod theme;
mod tour;
mod type_ahead;
mod update;
mod view;
mod wide_graphemes;
mod write_thread;

use std::path::PathBuf;

pub use app::App;
pub use approval_queue::ApprovalQueue;
pub use generation_jobs::COLLABORATOR;
pub use keys::{Binding, KEYS, KeyAction, KeyGroup, KeyMap};
pub use message::{BackgroundReport, ScreenMessage};
pub use terminal::{TerminalError, run};
pub use theme::Palette;

use crate::{
    context,
    id::{NodeId, SessionId, TreeId},
    ops::Loom,
    provider::Prices,
    session::ToolAccess,
    types::Agent,
};

/// Configuration of a screen: the store, the position it opens at, and the tools of the host.
#[derive(Clone)]
pub struct ScreenSetup {
    /// Handle on the store.
    pub loom: Loom,
    /// Agent of the user at the screen.
    pub agent: Agent,
    /// Workspace folder of new sessions.
    pub workspace: String,
    /// Tree that is opened first.
    pub tree: TreeId,
    /// Node under the cursor at the start.
    pub position: NodeId,
    /// Session to continue. `None`: the first change starts one.
    pub session: Option<SessionId>,
    /// Versions selected in the session.
    pub versions: Vec<NodeId>,
    /// Commands that agents may run, and the resolver of their models.
    pub commands: ToolAccess,
    /// Reference of the default model for continuations.
    pub model: Option<String>,
    /// Commands after the user enabled the tools of the folder; their approvals go to [`ScreenSetup::consent`]. `None`:
    /// the host has no such tools.
    pub tools: Option<ToolAccess>,
    /// Queue that shows approval requests on this screen.
    pub consent: ApprovalQueue,
    /// Names of models that the model list offers.
    pub models: Vec<String>,
    /// Options of context assembly: budget and content.
    pub context: context::ContextOptions,
    /// Folder of partial replies, which survive a crash. `None`: they are not stored.
    pub drafts: Option<PathBuf>,
    /// Prices of tokens, by model.
    pub prices: Prices,
    /// Initial number of continuations per generation.
    pub count: usize,
    /// Color palette of the screen.
    pub palette: Palette,
    /// Key bindings of the screen.
    pub keys: KeyMap,
    /// Shell command that edits a file; it gets the path as its last argument.
    pub editor: String,
    /// True if the first-run tour starts.
    pub tour: bool,
}
