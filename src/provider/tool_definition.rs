//! A tool that a model may call.

use serde_json::Value;

/// A tool that a model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// Name of the tool; providers accept letters, digits, `_` and `-`.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// JSON schema of the arguments, an object.
    pub parameters: Value,
}
