//! The check of permissions and limits that every command passes, from a line, a tool call or a program.

use serde_json::Value;

use super::Executor;
use crate::{
    arrow::Command,
    tools::{
        ErrorCode, HostTool, MAX_CONTENT_BYTES, MAX_CONTINUATIONS, MAX_SEARCH_RESULTS, MAX_TREE_DEPTH, SideEffect,
        ToolError, missing_permission,
    },
    types::{Permission, Permissions},
};

/// Rights of an executor that differ from those of its agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExecRights {
    /// The permissions; `None`: those of the agent's profile.
    pub permissions: Option<Permissions>,
    /// Refuses commands that change the tree, documents or the agent's operational memory. The position can still be moved.
    pub read_only: bool,
}

impl Executor<'_> {
    /// Sets rights that differ from those of the agent.
    #[must_use]
    pub fn with_rights(mut self, rights: ExecRights) -> Self {
        self.rights = rights;
        self
    }
}

/// Checks that an agent with these permissions may run a command and that its arguments are within the limits.
pub(super) fn check(command: &Command, held: Permissions, read_only: bool) -> Result<(), ToolError> {
    if let Some(missing) = command.missing_permission(held) {
        return Err(permission_denied(missing));
    }
    // A thought is no change of the conversation, but a node.
    let writes = command.side_effect() >= SideEffect::Write || matches!(command, Command::Think { .. });
    if read_only && writes {
        let message = "the program was started read-only: it reads and changes nothing";
        return Err(ToolError::new(ErrorCode::PermissionDenied, message));
    }
    let numbers = match command {
        Command::Continue { n, .. } => ("n", *n, MAX_CONTINUATIONS),
        Command::Tree { depth, .. } => ("depth", *depth, MAX_TREE_DEPTH),
        Command::Search { max, .. } => ("max", *max, MAX_SEARCH_RESULTS),
        _ => ("", None, 0),
    };
    if let (name, Some(value), most) = numbers
        && value > most
    {
        return Err(ToolError::new(
            ErrorCode::LimitExceeded,
            format!("{name} is at most {most}, and {value} was asked for"),
        ));
    }
    check_size("content is", content_bytes(command))
}

/// Checks the permission and the size of the arguments of a host tool's call.
pub(super) fn check_host_tool(extra: &HostTool, arguments: &Value, held: Permissions) -> Result<(), ToolError> {
    match missing_permission(extra.permission, held) {
        Some(missing) => Err(permission_denied(missing)),
        None => check_size("arguments are", arguments.to_string().len()),
    }
}

fn permission_denied(missing: Permission) -> ToolError {
    ToolError::new(ErrorCode::PermissionDenied, format!("this needs the permission {missing}"))
}

fn check_size(what: &str, bytes: usize) -> Result<(), ToolError> {
    if bytes <= MAX_CONTENT_BYTES {
        return Ok(());
    }
    Err(ToolError::new(
        ErrorCode::LimitExceeded,
        format!("{what} at most {MAX_CONTENT_BYTES} bytes, and this has {bytes}"),
    ))
}

/// Returns the bytes of the texts that a command adds to the store or to a prompt.
fn content_bytes(command: &Command) -> usize {
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    match command {
        Command::Respond { content, .. }
        | Command::Annotate { content, .. }
        | Command::Edit { content, .. }
        | Command::Merge { content, .. }
        | Command::Write { content, .. }
        | Command::Decide { content, .. } => content.len(),
        Command::Stash { content, .. } | Command::Think { content } => length(content),
        Command::Todo { add, outcome, .. } => {
            let items = add.iter().map(|item| item.title.len() + item.context.len() + item.criteria.len());
            items.sum::<usize>() + length(outcome)
        }
        Command::Delegate { goal, context, .. } => length(goal) + length(context),
        Command::Continue { instruction, .. } => length(instruction),
        Command::Bookmark { label, .. } => length(label),
        Command::Link { note, .. } => length(note),
        _ => 0,
    }
}
