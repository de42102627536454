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

mod ahead;
mod app;
mod areas;
mod colours;
mod consent;
mod delegated;
mod editor;
mod errand;
mod generate;
mod kept;
mod keys;
mod look;
mod lookup;
mod markdown;
mod message;
mod model;
mod outline;
mod page;
mod panels;
mod pictures;
mod prose;
mod reader;
mod rows;
mod terminal;
mod text;
mod theme;
mod tour;
mod update;
mod view;
mod writer;

use std::path::PathBuf;

pub use app::App;
pub use consent::Consent;
pub use generate::COLLABORATOR;
pub use keys::{Action, Binding, Group, KEYS, KeyMap};
pub use message::{Message, Report};
pub use terminal::{TerminalError, run};
pub use theme::Palette;

use crate::{
    context,
    id::{NodeId, SessionId, TreeId},
    model::Agent,
    ops::Loom,
    provider::Prices,
    session::Commands,
};

/// What the screen is opened on, and what a host brings along.
#[derive(Clone)]
pub struct Setup {
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
    pub commands: Commands,
    /// The model that continues where nobody picked one, as it is written.
    pub model: Option<String>,
    /// The same where the person turned the tools for the folder on; they ask [`Setup::consent`]. `None`: there are none.
    pub tools: Option<Commands>,
    /// What asks the person on this screen.
    pub consent: Consent,
    /// Names of models to pick from.
    pub models: Vec<String>,
    /// How much models are shown.
    pub context: context::Options,
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
