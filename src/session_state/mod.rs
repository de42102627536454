//! Session state: facts of a session that remain in the context, extracted by rules and never by a model.
//!
//! A [`SessionState`] ingests the turns of a session in order, and entries recorded explicitly. It keeps directives
//! verbatim, decisions, changed files and resolved errors. The rules are data ([`ExtractionRules`]), which a host
//! extends. The commit that appends a turn also updates the state. The state derives from the archive alone, so it can
//! be rebuilt.
//!
//! The newest message, the counts of the session and its todos are not part of the state. They change every turn and
//! are read when the state is rendered.

mod command_errors;
mod directives;
mod extraction_rules;
mod session_yaml;
mod state;
mod tool_results;

pub use directives::Directive;
pub use extraction_rules::{CompiledRules, ExtractionRules, FileWriteTool};
pub use session_yaml::{MAX_YAML_TOKENS, SessionInfo};
pub use state::{FileChange, RecordKind, SessionRecord, SessionState, StateEntry, TurnRecord};

#[cfg(test)]
mod tests;
