//! `loom do`: arrow lines, run as an agent with its permissions, answered as a model would be.
//!
//! An argument is one line, with its arrow or without. Standard input is read as a model's output is: only arrow lines
//! are run, and prose, quotes and fenced code are passed over.

use std::{
    io::{self, Read as _, Write as _},
    ops::Range,
};

use loomtree::arrow::{
    self, Command, Event,
    run::{CommandReply, ErrorCode, ExecRequest, Executor, ToolError},
};
use serde::Serialize;

use crate::cli::{
    command_context::CommandContext,
    env,
    error::{CliError, Result},
    models::{self, CtrlC},
    output::{DIM, count, paint},
    sanitize::{one_line, sanitize},
};

/// What `do` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Lines to run, such as 'view a7x2', one an argument [default: standard input, where only arrow lines are run]
    lines: Vec<String>,
}

/// A line and what it came to.
pub(super) struct InputLine {
    /// Its number in the text that it was read from.
    number: Option<usize>,
    pub(super) text: String,
    pub(super) wanted: ExecRequest,
}

/// The answer to a line, as it is printed.
#[derive(Serialize)]
struct DoAnswer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a Command>,
    #[serde(flatten)]
    reply: &'a CommandReply,
}

/// Runs the lines.
pub(crate) fn run(args: Args, desk: &mut CommandContext<'_>) -> Result<()> {
    let read = |line: &str| arrow::run::read(line).into();
    let typed = |lines: Vec<String>| {
        lines.into_iter().map(|text| InputLine { number: None, wanted: read(&text), text }).collect()
    };
    let batches: Vec<Vec<InputLine>> =
        if args.lines.is_empty() { batches(&stdin()?, &read) } else { vec![typed(args.lines)] };
    if batches.is_empty() {
        return Err(CliError::usage("there is no arrow line; write one, such as loom do 'view a7x2'"));
    }
    let (_, session, _) = desk.work()?;
    let runtime = env::runtime()?;
    let stop = CtrlC::listen(&runtime);
    let hosting = models::hosting(desk, desk.agent.id(), &runtime, stop.begin());
    let mut runner = Executor::new(desk.loom.clone(), desk.agent.clone(), session, &hosting);
    let (mut failed, mut all) = (0u64, 0u64);
    for batch in batches {
        let replies = runner.run_batch(batch.iter().map(|line| line.wanted.clone()).collect());
        for (at, reply) in replies.iter().enumerate() {
            all += 1;
            failed += u64::from(!reply.is_ok());
            if desk.out.json {
                let line = batch.get(at).filter(|_| at < arrow::run::BATCH);
                let command = line.and_then(|line| match &line.wanted {
                    ExecRequest::Command(command) => Some(command),
                    ExecRequest::Extra { .. } | ExecRequest::Refused(_) => None,
                });
                desk.out.json(&DoAnswer { line: line.map(|line| line.text.as_str()), command, reply })?;
            } else {
                let failed = batch.get(at).filter(|_| !reply.is_ok());
                if let Some((number, line)) = failed.and_then(|line| Some((line.number?, line))) {
                    writeln!(desk.out, "{}", paint(DIM, format!("line {number}: {}", one_line(&line.text))))?;
                }
                writeln!(desk.out, "{}", sanitize(&reply.to_string()))?;
            }
        }
    }
    models::wait(&hosting.tool_access.background, &runtime, &stop)?;
    match failed {
        0 => Ok(()),
        _ => Err(CliError::failed(format!("{failed} of {} not done", count(all, "line")))),
    }
}

fn stdin() -> Result<String> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(|e| CliError::io("reading standard input", e))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The batches of arrow lines in a text, each line read by `read`.
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
                let wanted = if call.closed {
                    read(call.text)
                } else {
                    ExecRequest::Refused(ToolError::new(ErrorCode::InvalidSyntax, "its quote or block is never closed"))
                };
                batch.push(InputLine { number: number(&call.span), text: call.text.to_owned(), wanted });
            }
            Event::Thought(thought) => {
                let wanted = ExecRequest::Command(Command::Think { content: Some(thought.text.to_owned()) });
                batch.push(InputLine { number: number(&thought.span), text: "→ think".to_owned(), wanted });
            }
            Event::BatchEnd => batches.push(std::mem::take(&mut batch)),
        }
    }
    if !batch.is_empty() {
        batches.push(batch);
    }
    batches
}
