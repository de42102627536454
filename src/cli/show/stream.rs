//! Prints a turn while it runs: text as it streams, each command and its reply on lines of their own.

use std::io::{self, Write};

use loomtree::session::Progress;
use unicode_width::UnicodeWidthStr as _;

use crate::cli::{
    delegation,
    output::{CliOutput, DIM, MARK, count, paint},
    sanitize::{cut, sanitize},
    wrap::{WordWrap, wrap},
};

/// Lines of a command, and of its reply, that are printed; the agent gets all.
const MAX_LINES: usize = 6;

/// The printer of a turn.
#[derive(Debug, Default)]
pub(crate) struct StreamPrinter {
    /// True if the last line of text has no line feed yet.
    open: bool,
    /// True once text or a command was printed.
    begun: bool,
    words: WordWrap,
}

impl StreamPrinter {
    /// Prints a progress event.
    pub(crate) fn on_progress(&mut self, progress: &Progress, out: &mut CliOutput) -> io::Result<()> {
        match progress {
            Progress::Text { text, .. } => {
                // Commands print their own separation from text.
                let text = if self.begun && !self.open { text.trim_start_matches('\n') } else { text };
                match out.wrap() {
                    Some(width) => write!(out, "{}", self.words.push(&sanitize(text), width))?,
                    None => write!(out, "{}", sanitize(text))?,
                }
                if !text.is_empty() {
                    (self.open, self.begun) = (!text.ends_with('\n'), true);
                }
            }
            Progress::Ran { line, reply, .. } => {
                self.end_line(out)?;
                print_lines(out, line, "  ", DIM)?;
                print_lines(out, &reply.to_string(), "    ", if reply.is_ok() { DIM } else { MARK })?;
                self.begun = true;
            }
            Progress::OutOfRounds { .. } => {
                self.end_line(out)?;
                writeln!(out, "{}", paint(MARK, "the turn ended: it reached its limit of rounds"))?;
            }
            Progress::Delegated { update, .. } => {
                self.end_line(out)?;
                if let Some(line) = delegation::update_line(update, out.width.saturating_sub(4)) {
                    writeln!(out, "    {}", line.trim_end())?;
                }
            }
            Progress::TodosLeftOpen { todos, .. } => {
                self.end_line(out)?;
                let open = count(todos.len() as u64, "item");
                writeln!(out, "{}", paint(MARK, format!("{open} of the plan left open:")))?;
                for todo in todos {
                    let line = cut(&format!("{} {}", todo.number, todo.title), out.width.saturating_sub(2));
                    writeln!(out, "  {}", paint(DIM, line))?;
                }
                writeln!(out, "{}", paint(DIM, "a later turn continues them with → todo resume"))?;
            }
            _ => {}
        }
        out.flush()
    }

    /// Ends an open line of text.
    pub(crate) fn end_line(&mut self, out: &mut CliOutput) -> io::Result<()> {
        let last = self.words.end(out.width);
        self.words = WordWrap::default();
        write!(out, "{last}")?;
        if std::mem::take(&mut self.open) { writeln!(out) } else { Ok(()) }
    }
}

/// Prints the first lines of a text, wrapped, and the number of the others.
fn print_lines(out: &mut CliOutput, text: &str, indent: &str, style: anstyle::Style) -> io::Result<()> {
    let width = out.width.saturating_sub(indent.len());
    let wrapped = wrap(&sanitize(text), width);
    for line in wrapped.lines().take(MAX_LINES) {
        // A word is not divided, and can be longer than a line.
        let line = if line.width() > width { cut(line, width) } else { line.trim_end().to_owned() };
        writeln!(out, "{indent}{}", paint(style, line))?;
    }
    match wrapped.lines().count().saturating_sub(MAX_LINES) {
        0 => Ok(()),
        more => writeln!(out, "{indent}{}", paint(DIM, format!("… {} more", count(more as u64, "line")))),
    }
}
