//! Configuration of a turn: its commands and its limit of rounds.

/// Configuration of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TurnConfig {
    /// True if arrow lines in a reply are commands. Otherwise the turn is one round of text.
    pub(crate) commands: bool,
    /// Maximum rounds, at least 1. Open todos raise the limit, up to [`TurnConfig::MAX_ROUNDS`].
    pub(crate) rounds: u32,
}

impl TurnConfig {
    /// Default of [`TurnConfig::rounds`].
    pub(crate) const DEFAULT_ROUNDS: u32 = 10;
    /// Upper bound of rounds, also with open todos.
    pub(crate) const MAX_ROUNDS: u32 = 50;

    /// Configuration with commands and the default rounds.
    #[must_use]
    pub(crate) const fn with_commands() -> Self {
        Self { commands: true, rounds: Self::DEFAULT_ROUNDS }
    }

    /// Configuration of one reply without commands.
    #[must_use]
    pub(crate) const fn text_only() -> Self {
        Self { commands: false, rounds: 1 }
    }
}
