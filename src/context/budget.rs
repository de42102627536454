//! Tokens of a window that a prompt may use: the window without what is reserved for the reply.

use super::ContextOptions;

/// Maximum tokens reserved for the reply by default.
const DEFAULT_RESERVE_TOKENS: u32 = 8_192;

impl ContextOptions {
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
