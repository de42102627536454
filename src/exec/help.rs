//! The command `help`.

use super::{Answer, AnswerResult, Executor, escape::quoted};
use crate::{
    tools::{self, ErrorCode, HostTool, Tool, ToolError},
    types::one_line,
};

/// Returns the error for an unknown tool, with the nearest names.
pub(super) fn unknown(name: &str, extras: &[HostTool]) -> ToolError {
    let wanted = name.trim().to_lowercase();
    let failure = ToolError::new(ErrorCode::NotFound, format!("no tool {}", quoted(name)));
    let mut near: Vec<&str> = Tool::ALL.iter().map(|tool| tool.name()).collect();
    near.extend(extras.iter().map(|extra| extra.name.as_str()));
    near.sort_by_key(|tool| strsim::osa_distance(tool, &wanted));
    near.truncate(3);
    failure.hint(format!("did you mean {}? → help lists all", near.join(", ")))
}

impl Executor<'_> {
    pub(super) fn help(&self, name: Option<&str>) -> AnswerResult {
        let extras = self.host.tools();
        let Some(name) = name else { return Ok(tools::overview(self.agent.profile.permissions, extras).into()) };
        if let Some(extra) = self.host_tool(name) {
            return Ok(Answer::about(tools::explain_host_tool(extra), name));
        }
        let wanted = name.trim().to_lowercase();
        let found = Tool::ALL.iter().copied().find(|tool| {
            let spec = tool.spec();
            spec.name == wanted || spec.synonyms.contains(&wanted.as_str())
        });
        match found {
            Some(tool) => {
                // What a person has to type holds this agent's name.
                let own = format!("loom --as {}", one_line(self.agent.name()));
                Ok(Answer::about(tools::explain(tool).replace("loom --as NAME", &own), tool.name()))
            }
            None => Err(unknown(name, extras)),
        }
    }
}
