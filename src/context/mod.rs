//! Context assembly: selects and renders the part of a tree that a model sees.
//!
//! [`assemble`] turns a position in a tree into a prompt and a report of its included and omitted parts. It is a pure
//! function of a snapshot, an agent, a budget and a time: equal input gives equal bytes. The cost depends on the window
//! and not on the size of the tree. The path is read backwards in chunks until the window is full, and every other
//! section has a limit.
//!
//! Sections come in this order:
//!
//!
//!  section
//!  `live`
//!  `stable`
//!
//!
//!  ---
//!  ---
//!  ---
//!
//!
//!  system prompts of the agent and the tree; instructions for aware agents
//!  first
//!  first
//!
//!
//!  session state, operational memory
//!  after them
//!  after the conversation
//!
//!
//!  conversation, with a header per node; command results of this turn after their requests
//!  next
//!  next
//!
//!
//!  ambient block
//!  next
//!  last but one
//!
//!
//!  message to answer, if it is off the path or is the newest node
//!  last
//!  last
//!
//!
//! An agent without the `loom_aware` permission gets only the system prompts and the conversation without headers.
//!
//! **`stable` needs no record of earlier prompts.** The beginning of a stable prompt depends only on immutable facts: a
//! node's header has its author and creation time and no counts. Later changes appear in the ambient block. A full
//! window starts at a node that follows from the depths and lengths of the nodes and moves by up to a quarter at once
//! (half, if it is small); see `window.rs`. Two processes, or one process after a restart, therefore build the same prefix. The cost: a node
//! that was imported with notes is shown without their count, which only the ambient block mentions.
//!
//! **Own commands** are shown as written within their turn, and as one line afterwards; see `own_acts.rs`. Results of
//! host tools stay in the conversation.

mod ambient;
mod assemble;
mod command_rounds;
mod error;
mod memory;
mod message;
mod node;
mod own_acts;
mod path;
mod rendered;
mod report;
mod window;

pub use assemble::{AssembledPrompt, ContextRequest, assemble};
pub use command_rounds::{CommandResult, CommandRound};
pub use error::ContextError;
pub use report::{ContextReport, ContextSection, Inclusion, InclusionReason, NodeReport, PinReport};

use serde::{Deserialize, Serialize};

use crate::{
    store::{Snapshot, StoreError},
    tokens::{TokenCalibration, TokenizerFamily},
};

/// Handling of a conversation that exceeds the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Strategy {
    /// Include the newest nodes that fit.
    #[default]
    RollingWindow,
    /// Include the first nodes, up to a tenth of the budget, and the newest ones.
    Middle,
    /// Return an error.
    Stop,
}

/// Freshness of a prompt against reuse of the provider's cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rendering {
    /// Show current values: ages, counts, and a window that moves with each message.
    Live,
    /// Keep the beginning byte-equal between prompts, so that the provider's cache applies.
    #[default]
    Stable,
}

/// Budget and rendering of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ContextOptions {
    /// Context window of the model, in tokens.
    pub window: u32,
    /// Tokens reserved for the reply. `None`: the smaller of 8,192 and an eighth of the window.
    pub reserve: Option<u32>,
    /// Handling of a full window.
    pub strategy: Strategy,
    /// Number of newest messages that the prompt contains in any case. Long ones are shortened if they do not fit.
    pub recent: u32,
    /// Live or stable rendering.
    pub rendering: Rendering,
    /// Tokenizer family for token estimates.
    #[serde(rename = "vocabulary")]
    pub tokenizer: TokenizerFamily,
    /// Measured ratio of the model's token counts to the estimates.
    #[serde(skip_serializing_if = "TokenCalibration::is_none")]
    #[serde(rename = "correction")]
    pub calibration: TokenCalibration,
}

/// Default window in tokens, which most current models have.
pub const DEFAULT_WINDOW_TOKENS: u32 = 128_000;

/// Maximum tokens reserved for the reply by default.
const DEFAULT_RESERVE_TOKENS: u32 = 8_192;

impl Default for ContextOptions {
    fn default() -> Self {
        Self {
            window: DEFAULT_WINDOW_TOKENS,
            reserve: None,
            strategy: Strategy::default(),
            recent: 1,
            rendering: Rendering::default(),
            tokenizer: TokenizerFamily::default(),
            calibration: TokenCalibration::default(),
        }
    }
}

impl ContextOptions {
    /// Returns these options with the stored token calibration of a model.
    ///
    /// # Errors
    /// If the store fails.
    pub fn calibrated_for(self, reference: &str, snapshot: &dyn Snapshot) -> Result<Self, StoreError> {
        let correction = snapshot.correction(reference)?.unwrap_or(self.calibration);
        Ok(Self { tokenizer: TokenizerFamily::of(reference), calibration: correction, ..self })
    }

    /// Returns these options with a window of at most `model_window` tokens.
    #[must_use]
    pub fn limit_window(self, model_window: Option<usize>) -> Self {
        let limit = model_window.and_then(|window| u32::try_from(window).ok()).unwrap_or(u32::MAX);
        Self { window: self.window.min(limit), ..self }
    }

    /// Returns the prompt's token budget by the estimate. It is corrected so that the model's count stays within
    /// [`ContextOptions::budget`].
    #[must_use]
    pub fn prompt_tokens(&self) -> u32 {
        self.calibration.usable_budget(self.budget())
    }

    /// Returns the prompt's token budget by the model's count.
    #[must_use]
    pub fn budget(&self) -> u32 {
        self.window.saturating_sub(self.reserve.unwrap_or_else(|| DEFAULT_RESERVE_TOKENS.min(self.window / 8)))
    }
}
