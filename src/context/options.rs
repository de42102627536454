//! Options of a prompt: its window, the tokens of it that the prompt may use, and how it is rendered.

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
