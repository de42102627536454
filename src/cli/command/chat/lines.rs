//! The user's messages in a chat: from the command line, a pipe or a terminal with line editing.

use std::{
    io::{self, BufRead as _, Write as _},
    sync::Arc,
};

use loomtree::arrow::{self, Event};
use rustyline::{DefaultEditor, ExternalPrinter as _, error::ReadlineError};

use super::Chat;
use crate::cli::{
    command_context::CommandContext,
    error::{CliError, Result},
    output::{BOLD, DIM, ID, paint},
    sanitize::{cut, one_line},
    terminal_lock::{LinePrinter, TerminalLock},
};

/// Prints notices of background work.
pub(super) fn print_notices(cx: &mut CommandContext<'_>) -> Result<()> {
    for notice in cx.terminal_lock.take_notices() {
        writeln!(cx.out, "{notice}")?;
    }
    Ok(())
}

/// True if the text needs another line: it ends with a backslash, or an arrow line has an open quote or block.
fn is_incomplete(text: &str) -> bool {
    let open = |event: &Event<'_>| match event {
        Event::Call(call) => !call.closed,
        Event::Thought(thought) => !thought.closed,
        _ => false,
    };
    text.ends_with('\\') || arrow::is_command(text) && arrow::scan(text).iter().any(open)
}

/// Reads the next message with its continuation lines. Returns `None` at the end of input.
pub(super) fn read_message(lines: &mut dyn LineSource, cx: &mut CommandContext<'_>) -> Result<Option<String>> {
    loop {
        print_notices(cx)?;
        cx.out.flush()?;
        let Some(mut text) = lines.next(false)? else { return Ok(None) };
        while is_incomplete(&text) {
            let Some(more) = lines.next(true)? else { break };
            if text.ends_with('\\') {
                text.pop();
            }
            text.push('\n');
            text.push_str(&more);
        }
        if !text.trim().is_empty() {
            return Ok(Some(text));
        }
    }
}

/// Source of the user's messages.
pub(super) trait LineSource {
    /// Returns the next line without its line feed, or `None` at the end. `more` is true for a continuation line.
    fn next(&mut self, more: bool) -> Result<Option<String>>;

    /// True if the user can continue after an error.
    fn is_interactive(&self) -> bool {
        false
    }

    fn greet(&self, _: &Chat, _: &mut CommandContext<'_>) -> Result<()> {
        Ok(())
    }
}

/// A single message of the command line.
pub(super) struct SingleLine(pub(super) Option<String>);

impl LineSource for SingleLine {
    fn next(&mut self, _: bool) -> Result<Option<String>> {
        Ok(self.0.take())
    }
}

/// Lines of standard input that is not a terminal.
pub(super) struct PipedLines;

impl LineSource for PipedLines {
    fn next(&mut self, _: bool) -> Result<Option<String>> {
        let mut bytes = Vec::new();
        let read = io::stdin().lock().read_until(b'\n', &mut bytes);
        if read.map_err(|e| CliError::io("reading standard input", e))? == 0 {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&bytes);
        Ok(Some(text.trim_end_matches(['\n', '\r']).to_owned()))
    }
}

/// Lines of a terminal, with line editing and history.
pub(super) struct ReadlineLines {
    editor: DefaultEditor,
    terminal_lock: Arc<TerminalLock>,
}

impl ReadlineLines {
    pub(super) fn new(terminal_lock: Arc<TerminalLock>) -> Result<Self> {
        let editor = DefaultEditor::new().map_err(|error| terminal_error(&error))?;
        Ok(Self { editor, terminal_lock })
    }

    /// Returns a callback that prints a notice above the edited line.
    fn line_printer(&mut self) -> Option<LinePrinter> {
        let mut printer = self.editor.create_external_printer().ok()?;
        Some(Box::new(move |line| _ = printer.print(format!("{line}\n"))))
    }
}

impl LineSource for ReadlineLines {
    fn next(&mut self, more: bool) -> Result<Option<String>> {
        loop {
            let printer = self.line_printer();
            match self.terminal_lock.lock_prompt(printer, || self.editor.readline(if more { "…  " } else { ">  " })) {
                Ok(line) => {
                    // The history is a convenience; the line is sent even if it cannot be added.
                    let _ = self.editor.add_history_entry(&line);
                    return Ok(Some(line));
                }
                // Ctrl-C discards the line.
                Err(ReadlineError::Interrupted) => {}
                Err(ReadlineError::Eof) => return Ok(None),
                Err(error) => return Err(terminal_error(&error)),
            }
        }
    }

    fn is_interactive(&self) -> bool {
        true
    }

    fn greet(&self, chat: &Chat, cx: &mut CommandContext<'_>) -> Result<()> {
        let current = cx.position()?;
        let (title, name) = (cut(&current.tree.title, 60), one_line(chat.with.name()));
        let model = one_line(chat.model.reference());
        writeln!(cx.out, "{}  {}", paint(BOLD, title), paint(ID, &current.position.local))?;
        let options = format!("{name} by {model} · → begins a command · Ctrl-C stops a reply · Ctrl-D ends");
        writeln!(cx.out, "{}", paint(DIM, options))?;
        chat.offer_sessions(cx)
    }
}

fn terminal_error(error: &ReadlineError) -> CliError {
    CliError::io("reading the terminal", io::Error::other(error.to_string()))
}
