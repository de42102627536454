//! Tools of the program around the engine: read by lines and calls, run at the same door as the table's.

use serde_json::Value;

use super::{
    CommandOutput, ErrorCode, ExecRequest, Executor, Position, ToolError, call, escape::escape, help::unknown, limits,
};
use crate::{
    arrow::{Command, host_tool_args, parse},
    tools::{HostTool, NativeAlias, Tool},
    types::{first_words, one_line},
};

/// Characters of a call's arguments that its result is named by.
const ABOUT: usize = 60;

impl Executor<'_> {
    /// What a line asks for, with or without its arrow: one of the host's tools, if its exact name is the first word,
    /// else what is understood.
    #[must_use]
    pub fn read(&self, line: &str) -> ExecRequest {
        let extras = self.host.tools();
        if let Some((extra, arguments)) = host_tool_args::read(line, extras) {
            return wanted(extra, arguments);
        }
        if let Some(extra) = host_tool_args::explained(line, extras) {
            return ExecRequest::Command(Command::Help { tool: Some(extra.name.clone()) });
        }
        parse(line).map(|understood| understood.command).map_err(ToolError::from).into()
    }

    /// What a provider's tool call asks for: the name of a tool as [`native()`](crate::tools::native()) gives it, and its arguments
    /// as JSON.
    #[must_use]
    pub fn read_call(&self, name: &str, arguments: &str) -> ExecRequest {
        if let Some(form) = NativeAlias::named(name) {
            return call::form(form, arguments).into();
        }
        if let Some(tool) = Tool::named(name) {
            return call::command(tool, arguments).into();
        }
        match self.extra(name) {
            Some(extra) => {
                wanted(extra, call::object(arguments).and_then(|given| host_tool_args::checked(extra, given)))
            }
            None => ExecRequest::Refused(unknown(name, self.host.tools())),
        }
    }

    /// The host's tool of this name.
    pub(super) fn extra(&self, name: &str) -> Option<&HostTool> {
        self.host.tools().iter().find(|extra| extra.name == name)
    }

    /// Has the host run one of its tools. Its words are content: nobody vouches that they do not look like an answer.
    pub(super) fn call(&mut self, name: &str, arguments: &Value) -> Result<(Position, CommandOutput), ToolError> {
        let extra = self.extra(name).ok_or_else(|| unknown(name, self.host.tools()))?;
        limits::check_extra(extra, arguments, self.agent.profile.permissions)?;
        let here = self.here()?;
        let answer = self.host.call(name, arguments)?;
        let mut text = format!("✓ {name}");
        for line in escape(answer.trim_end()).lines() {
            text.push('\n');
            text.push_str(if line.is_empty() { "" } else { "  " });
            text.push_str(line);
        }
        Ok((here, CommandOutput::about(text, about(arguments))))
    }
}

fn wanted(extra: &HostTool, arguments: Result<Value, String>) -> ExecRequest {
    match arguments {
        Ok(arguments) => ExecRequest::Extra { name: extra.name.clone(), arguments },
        Err(message) => {
            let failure = ToolError::new(ErrorCode::InvalidSyntax, format!("{}: {message}", extra.name));
            ExecRequest::Refused(failure.hint(extra.arguments()))
        }
    }
}

/// What tells one call of a tool from another, in few words: the values of its arguments.
fn about(arguments: &Value) -> String {
    let said = |value: &Value| value.as_str().map_or_else(|| value.to_string(), one_line);
    let values: Vec<String> = arguments.as_object().into_iter().flatten().map(|(_, value)| said(value)).collect();
    first_words(&values.join(" "), ABOUT)
}
