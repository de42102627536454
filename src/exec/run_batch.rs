//! A batch of requests: their order, what a failed `switch` and a cancellation keep from running, and the limit of lines.

use super::{CommandReply, ExecRequest, Executor};
use crate::{
    arrow::{Command, NodeRef},
    tools::{ErrorCode, MAX_BATCH_LINES, Tool, ToolError},
};

impl Executor<'_> {
    /// Runs one command.
    pub fn run(&mut self, command: &Command) -> CommandReply {
        let reply = self.run_command(command);
        self.flush_trace();
        reply
    }

    /// Runs the requests of a batch in order and returns one reply each. Requests beyond
    /// [`MAX_BATCH_LINES`] are not run and share one error.
    pub fn run_batch<W: Into<ExecRequest>>(&mut self, lines: Vec<W>) -> Vec<CommandReply> {
        let mut replies = Vec::with_capacity(lines.len().min(MAX_BATCH_LINES + 1));
        self.run_each(lines.into_iter().map(Into::into).collect(), &mut |_, reply| replies.push(reply.clone()));
        replies
    }

    /// Runs a batch like [`Self::run_batch`] and passes each reply with its index to `each` as soon as it exists.
    pub fn run_each(&mut self, requests: Vec<ExecRequest>, each: &mut dyn FnMut(usize, &CommandReply)) {
        let over = requests.len().saturating_sub(MAX_BATCH_LINES);
        // After a failed move, a command would run at a place that its agent does not mean.
        let mut lost: Option<&ExecRequest> = None;
        for (at, request) in requests.iter().take(MAX_BATCH_LINES).enumerate() {
            let reply = match request {
                ExecRequest::Command(command) if lost.is_some_and(|switch| request.depends_on(switch)) => {
                    CommandReply::after_failed_switch(command)
                }
                request => self.run_request(request),
            };
            if request.moves() {
                lost = (!reply.is_ok()).then_some(request);
            }
            each(at, &reply);
        }
        self.planned.clear();
        if over > 0 {
            let message = format!("a batch is at most {MAX_BATCH_LINES} lines; the last {over} were not run");
            each(
                MAX_BATCH_LINES,
                &CommandReply { tool: None, result: Err(ToolError::new(ErrorCode::LimitExceeded, message)) },
            );
        }
        self.flush_trace();
    }

    fn run_request(&mut self, request: &ExecRequest) -> CommandReply {
        if self.host.is_cancelled() {
            let stopped = ToolError::new(ErrorCode::Cancelled, "stopped before it was run");
            return match request {
                ExecRequest::Command(command) => CommandReply { tool: Some(command.tool()), result: Err(stopped) },
                ExecRequest::HostTool { name, .. } => CommandReply { tool: None, result: Err(stopped.for_tool(name)) },
                ExecRequest::Refused(_) => CommandReply { tool: None, result: Err(stopped) },
            };
        }
        match request {
            ExecRequest::Command(command) => self.run_command(command),
            ExecRequest::HostTool { name, arguments } => {
                let result = self.run_host_tool(name, arguments).map_err(|failure| failure.for_tool(name));
                CommandReply { tool: None, result }
            }
            ExecRequest::Refused(failure) => CommandReply { tool: None, result: Err(failure.clone()) },
        }
    }

    fn run_command(&mut self, command: &Command) -> CommandReply {
        CommandReply { tool: Some(command.tool()), result: self.run_checked(command) }
    }
}

impl ExecRequest {
    /// Returns whether a failure of `switch` before it makes the request run at a place that its agent does not mean.
    #[must_use]
    pub(super) fn depends_on(&self, switch: &Self) -> bool {
        let is_sure = !switch.leaves_tree() && self.names_nodes_by_id();
        !is_sure && !self.moves() && !self.ignores_position()
    }

    /// Returns whether the request switches to another tree.
    #[must_use]
    const fn leaves_tree(&self) -> bool {
        matches!(self, Self::Command(Command::Switch { tree: Some(_), .. }))
    }

    /// Returns whether the request names its nodes by their ids, which mean the same at every position of a tree.
    #[must_use]
    fn names_nodes_by_id(&self) -> bool {
        let Self::Command(command) = self else { return false };
        let is_id = |node: &NodeRef| matches!(node, NodeRef::Id(_));
        let mut named = command.nodes().into_iter().flatten().peekable();
        // The other end of a link may be a place, and a delegation begins at the position.
        let needs_position = matches!(command.tool(), Tool::Link | Tool::Unlink | Tool::Delegate);
        named.peek().is_some() && named.all(is_id) && !needs_position
    }

    /// Returns whether the request changes the position, also if its line could not be parsed.
    #[must_use]
    pub(super) fn moves(&self) -> bool {
        match self {
            Self::Command(command) => command.tool() == Tool::Switch,
            Self::Refused(failure) => failure.hint.as_deref().is_some_and(|hint| hint.starts_with("→ switch ")),
            Self::HostTool { .. } => false,
        }
    }

    /// Returns whether the request has the same result wherever in the tree its agent is.
    #[must_use]
    fn ignores_position(&self) -> bool {
        match self {
            Self::Command(command) => matches!(
                command.tool(),
                Tool::Decide | Tool::Help | Tool::Memory | Tool::Read | Tool::Search | Tool::Think | Tool::Todo
            ),
            Self::HostTool { .. } | Self::Refused(_) => true,
        }
    }
}
