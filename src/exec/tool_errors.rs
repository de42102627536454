//! Conversions of errors of lower layers to [`ToolError`]: code, message and hint.

use super::escape::quoted;
use super::node_format::gist;
use crate::{
    arrow::{ParseError, ParseErrorCode},
    ops::OpsError,
    store::StoreError,
    tools::{ErrorCode, ToolError},
    types::SectionError,
};

impl From<OpsError> for ToolError {
    fn from(error: OpsError) -> Self {
        match error {
            OpsError::NotFound { what: "node", text, similar, .. } => {
                let failure = Self::new(ErrorCode::NotFound, format!("no node {} in this tree", bracketed(&text)));
                if similar.is_empty() { failure } else { failure.hint(format!("nearest ids: {}", similar.join(", "))) }
            }
            OpsError::NotFound { what, ref text, .. } => {
                let failure = Self::new(ErrorCode::NotFound, format!("no {what} {}", quoted(text)));
                error.hint_of(quoted).into_iter().fold(failure, Self::hint)
            }
            OpsError::Ambiguous { text, candidates } => {
                let named: Vec<String> = candidates
                    .iter()
                    .map(|node| format!("[{}] {} {}", node.local, node.author_type, gist(node)))
                    .collect();
                let message = format!("{} fits {} nodes", bracketed(&text), candidates.len());
                Self::new(ErrorCode::Ambiguous, message).hint(format!("write more of the id: {}", named.join(" · ")))
            }
            OpsError::AmbiguousTree { text, candidates } => {
                let named: Vec<String> =
                    candidates.iter().take(10).map(|tree| format!("{} ({})", quoted(&tree.title), tree.id)).collect();
                let message = format!("{} fits {} trees", quoted(&text), candidates.len());
                Self::new(ErrorCode::Ambiguous, message).hint(format!("write more, or the id: {}", named.join(" · ")))
            }
            OpsError::Section(SectionError::NotFound { name, known }) => {
                Self::new(ErrorCode::NotFound, format!("no section {}", quoted(&name)))
                    .hint(format!("there are: {known}"))
            }
            OpsError::Section(error) => Self::new(ErrorCode::Ambiguous, error.to_string()),
            OpsError::Invalid(message) => Self::new(ErrorCode::Conflict, message),
            OpsError::LimitExceeded(message) => Self::new(ErrorCode::LimitExceeded, message),
            OpsError::NothingToRevert(_) => Self::new(ErrorCode::Conflict, error.to_string()),
            OpsError::Store(error) => error.into(),
        }
    }
}

impl From<StoreError> for ToolError {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::NotFound { .. } => ErrorCode::NotFound,
            StoreError::Conflict(_) | StoreError::SessionEnded | StoreError::Leased { .. } | StoreError::Refused(_) => {
                ErrorCode::Conflict
            }
            // Locked, full, read-only or damaged: a model cannot fix it, and nothing was changed.
            _ => ErrorCode::Busy,
        };
        let failure = Self::new(code, error.to_string());
        match error {
            StoreError::Leased { .. } => {
                failure.hint("try again later, or write elsewhere: notes and other branches are free")
            }
            _ => failure,
        }
    }
}

impl From<ParseError> for ToolError {
    fn from(refusal: ParseError) -> Self {
        let code = match refusal.code {
            ParseErrorCode::InvalidSyntax => ErrorCode::InvalidSyntax,
            ParseErrorCode::LimitExceeded => ErrorCode::LimitExceeded,
        };
        let message = match refusal.understood.as_str() {
            "" => refusal.message,
            understood => format!("{} (read as {understood})", refusal.message),
        };
        let failure = Self::new(code, message);
        match refusal.suggestions.as_slice() {
            [] => failure,
            probable => failure.hint(probable.join(" · ")),
        }
    }
}

fn bracketed(text: &str) -> String {
    format!("[{}]", crate::types::one_line(text))
}
