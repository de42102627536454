//! `loom do`: runs arrow lines as an agent with its permissions, and prints the replies that a model would get.
//!
//! An argument is one line, with or without its arrow. Standard input is read like a model's output: only arrow lines
//! run; prose, quotes and fenced code are ignored.

use std::{
    io::{self, Read as _, Write as _},
    ops::Range,
};

use loomtree::{
    arrow::{self, Command, Event},
    exec::{CommandReply, ExecRequest, Executor},
    tools::{ErrorCode, ToolError},
};
use serde::Serialize;

use crate::cli::{
    cancel_on_ctrl_c::CtrlC,
    command_context::CommandContext,
    error::{CliError, Result},
    output::{DIM, count, paint},
    process_setup, program_host,
    sanitize::{one_line, sanitize},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Arrow lines to run, such as 'view a7x2', one for each argument [default: the arrow lines of standard input]
    lines: Vec<String>,
}

/// An arrow line and its parsed request.
pub(super) struct InputLine {
    /// The line number in standard input, from 1; `None` for an argument.
    number: Option<usize>,
    pub(super) text: String,
    pub(super) request: ExecRequest,
}

/// The JSON form of a reply.
#[derive(Serialize)]
struct DoAnswer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a Command>,
    #[serde(flatten)]
    reply: &'a CommandReply,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let read = |line: &str| loomtree::exec::read(line).into();
    let from_args = |lines: Vec<String>| {
        lines.into_iter().map(|text| InputLine { number: None, request: read(&text), text }).collect()
    };
    let batches: Vec<Vec<InputLine>> =
        if args.lines.is_empty() { batches(&stdin()?, &read) } else { vec![from_args(args.lines)] };
    if batches.is_empty() {
        return Err(CliError::usage("no arrow line given; pass one, such as loom do 'view a7x2'"));
    }
    let (_, session, _) = cx.ensure_session()?;
    let runtime = process_setup::runtime()?;
    let ctrl_c = CtrlC::listen(&runtime);
    let host = program_host::session_host(cx, cx.agent.id(), None, &runtime, ctrl_c.arm());
    let mut executor = Executor::new(cx.loom.clone(), cx.agent.clone(), session, &host);
    let (mut failed, mut all) = (0u64, 0u64);
    for batch in batches {
        let replies = executor.run_batch(batch.iter().map(|line| line.request.clone()).collect());
        for (at, reply) in replies.iter().enumerate() {
            all += 1;
            failed += u64::from(!reply.is_ok());
            if cx.out.json {
                let line = batch.get(at).filter(|_| at < loomtree::tools::MAX_BATCH_LINES);
                let command = line.and_then(|line| match &line.request {
                    ExecRequest::Command(command) => Some(command),
                    ExecRequest::HostTool { .. } | ExecRequest::Refused(_) => None,
                });
                cx.out.json(&DoAnswer { line: line.map(|line| line.text.as_str()), command, reply })?;
            } else {
                let failed = batch.get(at).filter(|_| !reply.is_ok());
                if let Some((number, line)) = failed.and_then(|line| Some((line.number?, line))) {
                    writeln!(cx.out, "{}", paint(DIM, format!("line {number}: {}", one_line(&line.text))))?;
                }
                writeln!(cx.out, "{}", sanitize(&reply.to_string()))?;
            }
        }
    }
    program_host::wait_for_background(&host.tool_access.background, &runtime, &ctrl_c)?;
    match failed {
        0 => Ok(()),
        _ => Err(CliError::failed(format!("{failed} of {} failed", count(all, "line")))),
    }
}

fn stdin() -> Result<String> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(|e| CliError::io("reading standard input", e))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the batches of arrow lines in a text. `read` parses a line.
pub(super) fn batches(text: &str, read: &dyn Fn(&str) -> ExecRequest) -> Vec<Vec<InputLine>> {
    let (mut batches, mut batch) = (Vec::new(), Vec::new());
    let number = |span: &Range<usize>| {
        let blanks = text[span.clone()].len() - text[span.clone()].trim_start().len();
        Some(text[..span.start + blanks].matches('\n').count() + 1)
    };
    for event in arrow::scan(text) {
        match event {
            Event::Prose(_) => {}
            Event::Call(call) => {
                let request = if call.closed {
                    read(call.text)
                } else {
                    ExecRequest::Refused(ToolError::new(ErrorCode::InvalidSyntax, "the quote or block is not closed"))
                };
                batch.push(InputLine { number: number(&call.span), text: call.text.to_owned(), request });
            }
            Event::Thought(thought) => {
                let request = ExecRequest::Command(Command::Think { content: Some(thought.text.to_owned()) });
                batch.push(InputLine { number: number(&thought.span), text: "→ think".to_owned(), request });
            }
            Event::BatchEnd => batches.push(std::mem::take(&mut batch)),
        }
    }
    if !batch.is_empty() {
        batches.push(batch);
    }
    batches
}
