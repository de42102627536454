//! The terminal: branching by hand. What `loom` alone opens.
//!
//! Four parts, kept apart. The *model* is one value with everything that the screen shows. A *message* says what happened:
//! a key, a size, something from the background. The *update* takes a message into the model and says what is to be done;
//! it does nothing itself. The *view* draws a model and changes nothing. So what a key does can be tested without a
//! terminal, and what a screen shows without a key.
//!
//! What is to be done is done by threads: one reads (what is on the screen and a screen around it, never a whole tree), one
//! writes, in the order in which things were asked for, and models stream on tokio's. The reader watches the
//! store, ten times a second, for what other processes do; at rest nothing else happens.
//! The thread that hears keys and draws waits for none of them.
//!
//! [`run`] is the whole program around a terminal; [`App`] is the same without one, for another backend of ratatui's, or
//! for a test.

mod app;
mod approval_queue;
mod buffer_editor;
mod command_job;
mod delegation_lines;
mod editor;
mod generate;
mod highlight;
mod keys;
mod layout;
mod markdown;
mod message;
mod model;
mod outline;
mod overlays;
mod path_cache;
mod path_layout;
mod queries;
mod query_threads;
mod screen_query;
mod soft_wrap;
mod terminal;
mod text;
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
pub use generate::COLLABORATOR;
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

/// What the screen is opened on, and what a host brings along.
#[derive(Clone)]
pub struct ScreenSetup {
    /// The store.
    pub loom: Loom,
    /// Who sits there.
    pub agent: Agent,
    /// The folder that the work belongs to.
    pub workspace: String,
    /// The tree.
    pub tree: TreeId,
    /// Where in it.
    pub position: NodeId,
    /// The session that goes on; `None`: one is begun by the first change.
    pub session: Option<SessionId>,
    /// The versions that are read.
    pub versions: Vec<NodeId>,
    /// What agents may do by commands, and how their models are opened.
    pub commands: ToolAccess,
    /// The model that continues where nobody picked one, as it is written.
    pub model: Option<String>,
    /// The same where the person turned the tools for the folder on; they ask [`ScreenSetup::consent`]. `None`: there are none.
    pub tools: Option<ToolAccess>,
    /// What asks the person on this screen.
    pub consent: ApprovalQueue,
    /// Names of models to pick from.
    pub models: Vec<String>,
    /// How much models are shown.
    pub context: context::ContextOptions,
    /// Where words are kept while they stream.
    pub drafts: Option<PathBuf>,
    /// What tokens cost.
    pub prices: Prices,
    /// How many continuations are asked for at first.
    pub count: usize,
    /// Which colours.
    pub palette: Palette,
    /// Which keys.
    pub keys: KeyMap,
    /// The command that edits a file.
    pub editor: String,
    /// Whether the tour begins.
    pub tour: bool,
}
