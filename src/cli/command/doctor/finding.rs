//! A finding of `loom doctor`.

use serde::Serialize;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Severity {
    /// No action is needed.
    Ok,
    /// An improvement is possible.
    Note,
    /// A part does not work.
    Problem,
}

impl Severity {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Problem => "problem",
        }
    }
}

/// A fact about the installation, with advice unless it is [`Severity::Ok`].
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) area: &'static str,
    pub(super) severity: Severity,
    pub(super) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) advice: Option<String>,
}

impl Finding {
    pub(super) fn ok(area: &'static str, message: impl Into<String>) -> Self {
        Self { area, severity: Severity::Ok, message: message.into(), advice: None }
    }

    pub(super) fn note(area: &'static str, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { area, severity: Severity::Note, message: message.into(), advice: Some(advice.into()) }
    }

    pub(super) fn problem(area: &'static str, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { area, severity: Severity::Problem, message: message.into(), advice: Some(advice.into()) }
    }
}
