//! Host tools: parsed from lines and tool calls, and run with the same checks as the engine's own tools.

use serde_json::Value;

use super::{Answer, ExecRequest, Executor, Position, authorize, escape::escape, help::unknown};
use crate::{
    arrow::{Command, host_tool_args, parse},
    recall,
    tools::{
        ErrorCode, HostTool, NativeAlias, Tool, ToolError,
        parse_tool_call::{self, GivenArguments},
    },
    types::{first_words, one_line},
};

/// Characters of the arguments in the label of a stored result.
const MAX_LABEL_CHARS: usize = 60;

impl Executor<'_> {
    /// Parses a line, with or without its arrow. A first word that is the exact name of a host tool calls that tool.
    #[must_use]
    pub fn read(&self, line: &str) -> ExecRequest {
        read_line(line, self.host.tools())
    }

    /// Parses a provider's tool call: a name of [`native()`](crate::tools::native()) and its arguments as JSON.
    #[must_use]
    pub fn read_call(&self, name: &str, arguments: &str) -> ExecRequest {
        self.read_arguments(name, parse_tool_call::object(arguments))
    }

    /// Converts a tool call like [`Executor::read_call`].
    pub(crate) fn read_arguments(&self, name: &str, mut given: GivenArguments) -> ExecRequest {
        if let Some(form) = NativeAlias::named(name) {
            if let (Tool::Todo, Ok(given)) = (form.tool, &mut given) {
                self.replace_todo_id(given);
            }
            return parse_tool_call::form(form, given).into();
        }
        if let Some(tool) = Tool::named(name) {
            return parse_tool_call::command(tool, given).into();
        }
        match self.host_tool(name) {
            Some(extra) => host_request(extra, given.and_then(|given| host_tool_args::checked(extra, given))),
            None => ExecRequest::Refused(unknown(name, self.host.tools())),
        }
    }

    /// Returns the host tool of this name.
    pub(super) fn host_tool(&self, name: &str) -> Option<&HostTool> {
        self.host.tools().iter().find(|extra| extra.name == name)
    }

    /// Runs a host tool. Its output is untrusted content, so each line is escaped and indented.
    pub(super) fn call_host_tool(&mut self, name: &str, arguments: &Value) -> Result<(Position, Answer), ToolError> {
        let extra = self.host_tool(name).ok_or_else(|| unknown(name, self.host.tools()))?;
        authorize::check_host_tool(extra, arguments, self.agent.profile.permissions)?;
        let here = self.load_position()?;
        let answer = self.host.call(name, arguments)?;
        // A command that ran and failed has the mark of a failure, which its agent and `recall tool:NAME failed` read.
        let mark = if recall::failed_exit(&answer).is_some() { '✗' } else { '✓' };
        let mut text = format!("{mark} {name}");
        for line in escape(answer.trim_end()).lines() {
            text.push('\n');
            text.push_str(if line.is_empty() { "" } else { "  " });
            text.push_str(line);
        }
        Ok((here, Answer::about(text, argument_label(arguments))))
    }
}

/// Parses a line like [`Executor::read`], with these host tools.
pub(crate) fn read_line(line: &str, extras: &[HostTool]) -> ExecRequest {
    if let Some((extra, arguments)) = host_tool_args::read(line, extras) {
        return host_request(extra, arguments);
    }
    if let Some(extra) = host_tool_args::explained(line, extras) {
        return ExecRequest::Command(Command::Help { tool: Some(extra.name.clone()) });
    }
    parse(line).map(|understood| understood.command).map_err(ToolError::from).into()
}

fn host_request(extra: &HostTool, arguments: Result<Value, String>) -> ExecRequest {
    match arguments {
        Ok(arguments) => ExecRequest::HostTool { name: extra.name.clone(), arguments },
        Err(message) => {
            let failure = ToolError::new(ErrorCode::InvalidSyntax, format!("{}: {message}", extra.name));
            ExecRequest::Refused(failure.hint(extra.arguments()))
        }
    }
}

/// Returns a short label of a call from the values of its arguments.
fn argument_label(arguments: &Value) -> String {
    let said = |value: &Value| value.as_str().map_or_else(|| value.to_string(), one_line);
    let values: Vec<String> = arguments.as_object().into_iter().flatten().map(|(_, value)| said(value)).collect();
    first_words(&values.join(" "), MAX_LABEL_CHARS)
}
