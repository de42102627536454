//! Context: what a model is shown.
//!
//! [`assemble`] turns a place in a tree into a prompt for a model, and a report that says what is in it and what is not.
//! It is a pure function of a snapshot, an agent, a budget and a time: the same input gives the same bytes. Its cost
//! depends on the window, never on the size of the tree: the path is read backwards in chunks until the window is full,
//! and everything around it is bounded.
//!
//! The parts stand in this order:
//!
//! | part | `live` | `stable` |
//! | --- | --- | --- |
//! | system prompts: the agent's, the tree's, what an aware agent has to know | first | first |
//! | the session's state, operational memory | after them | after the conversation |
//! | the conversation, each node with its header; what this turn's commands were answered, after what asked | then | then |
//! | the ambient block | then | last but one |
//! | what the model is to answer, where it stands no longer on the path or is its newest node | last | last |
//!
//! An agent without the permission `loom_aware` gets the system prompts and the bare conversation, as if there were no
//! tree around it.
//!
//! **`stable` needs no memory of what was shown.** What stands early in the prompt depends only on what never changes:
//! a node's header has its author and the clock time of its making, and no counts, as when it was new. What has changed
//! since stands in the ambient block. A full window begins at a place that follows from the nodes' depths and lengths
//! alone, and moves by up to a quarter at once; see `window.rs`. So two processes, or one after a restart, make the same
//! prefix. The price is that a node which was imported with its notes is shown first without their number, and that
//! the ambient block tells it.
//!
//! **What is left out:** an agent's own thoughts and the results of earlier turns hang beside the path and are not read.

mod ambient;
mod assemble;
mod command_rounds;
mod error;
mod memory;
mod message;
mod node;
mod path;
mod rendered;
mod report;
mod window;

pub use assemble::{AssembledPrompt, ContextRequest, assemble};
pub use command_rounds::{CommandResult, CommandRound, RoundAnswer, RoundCall};
pub use error::ContextError;
pub use message::{MessageRole, PromptMessage, RenderedPrompt};
pub use report::{ContextReport, ContextSection, Inclusion, InclusionReason, NodeReport, PinReport};

use serde::{Deserialize, Serialize};

use crate::{
    store::{Snapshot, StoreError},
    types::{TokenCalibration, TokenizerFamily},
};

/// How a full window is dealt with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// The newest nodes that fit.
    #[default]
    RollingWindow,
    /// The first nodes, up to a tenth of the budget, and the newest.
    Middle,
    /// An error.
    Stop,
}

/// Whether a prompt says what is true now, or begins with what it said last time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rendering {
    /// Everything as it is now: ages, counts, a window that slides by a message.
    Live,
    /// What was shown stays, byte for byte, so that providers find it in their cache.
    #[default]
    Stable,
}

/// What a prompt may take, and how it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ContextOptions {
    /// The model's context window, in tokens.
    pub window: u32,
    /// Tokens kept for the reply; `None`: the smaller of 8,192 and an eighth of the window.
    pub reserve: Option<u32>,
    /// What happens when the window is full.
    pub strategy: Strategy,
    /// Live or stable.
    pub rendering: Rendering,
    /// By which vocabulary tokens are estimated.
    #[serde(rename = "vocabulary")]
    pub tokenizer: TokenizerFamily,
    /// What the model counts of what is estimated here.
    #[serde(skip_serializing_if = "TokenCalibration::is_none")]
    #[serde(rename = "correction")]
    pub calibration: TokenCalibration,
}

/// The window where nobody says how large it is: what most models that are served today have.
pub const DEFAULT_WINDOW_TOKENS: u32 = 128_000;

/// The most that is kept for a reply unless somebody says otherwise.
const DEFAULT_RESERVE_TOKENS: u32 = 8_192;

impl Default for ContextOptions {
    fn default() -> Self {
        Self {
            window: DEFAULT_WINDOW_TOKENS,
            reserve: None,
            strategy: Strategy::default(),
            rendering: Rendering::default(),
            tokenizer: TokenizerFamily::default(),
            calibration: TokenCalibration::default(),
        }
    }
}

impl ContextOptions {
    /// These options for a model: with what is known of how it counts.
    ///
    /// # Errors
    /// If the store fails.
    pub fn calibrated_for(self, reference: &str, snapshot: &dyn Snapshot) -> Result<Self, StoreError> {
        let correction = snapshot.correction(reference)?.unwrap_or(self.calibration);
        Ok(Self { tokenizer: TokenizerFamily::of(reference), calibration: correction, ..self })
    }

    /// Tokens that the prompt may have by the estimate: so many that the model counts no more than [`Options::budget`].
    #[must_use]
    pub fn prompt_tokens(&self) -> u32 {
        self.calibration.room_in(self.budget())
    }

    /// Tokens that the prompt may have by the model's count.
    #[must_use]
    pub fn budget(&self) -> u32 {
        self.window.saturating_sub(self.reserve.unwrap_or_else(|| DEFAULT_RESERVE_TOKENS.min(self.window / 8)))
    }
}
