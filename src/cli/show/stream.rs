//! A turn while it happens: words as they stream, each command and its answer as lines of their own.

use std::io::{self, Write};

use loomtree::session::Progress;

use crate::cli::{
    delegation,
    output::{CliOutput, DIM, MARK, count, paint},
    sanitize::{cut, sanitize},
    wrap::WordWrap,
};

/// Lines of an answer that are shown; the agent gets all of them.
const LINES: usize = 6;

/// Prints a turn.
#[derive(Debug, Default)]
pub(crate) struct StreamPrinter {
    /// Whether the last line of words has no end yet.
    open: bool,
    /// Whether anything was printed.
    begun: bool,
    words: WordWrap,
}

impl StreamPrinter {
    /// Prints what is to be seen of an event.
    pub(crate) fn hear(&mut self, progress: &Progress, out: &mut CliOutput) -> io::Result<()> {
        match progress {
            Progress::Text { text, .. } => {
                // The blank lines between words and commands are the commands' own.
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
                writeln!(out, "  {}", paint(DIM, cut(line, out.width.saturating_sub(2))))?;
                let style = if reply.is_ok() { DIM } else { MARK };
                let answer = reply.to_string();
                for shown in answer.lines().take(LINES) {
                    writeln!(out, "    {}", paint(style, cut(shown, out.width.saturating_sub(4))))?;
                }
                let more = answer.lines().count().saturating_sub(LINES);
                if more > 0 {
                    writeln!(out, "    {}", paint(DIM, format!("… {} more", count(more as u64, "line"))))?;
                }
                self.begun = true;
            }
            Progress::OutOfRounds { .. } => {
                self.end_line(out)?;
                writeln!(out, "{}", paint(MARK, "the turn ends here: it had all of its rounds"))?;
            }
            Progress::Delegated { update: told, .. } => {
                self.end_line(out)?;
                if let Some(line) = delegation::line(told, out.width.saturating_sub(4)) {
                    writeln!(out, "    {}", line.trim_end())?;
                }
            }
            Progress::TodosLeftOpen { todos, .. } => {
                self.end_line(out)?;
                let open = count(todos.len() as u64, "item");
                writeln!(out, "{}", paint(MARK, format!("{open} of the plan stayed open:")))?;
                for todo in todos {
                    let line = cut(&format!("{} {}", todo.number, todo.title), out.width.saturating_sub(2));
                    writeln!(out, "  {}", paint(DIM, line))?;
                }
                writeln!(out, "{}", paint(DIM, "a later turn takes them up by → todo resume"))?;
            }
            _ => {}
        }
        out.flush()
    }

    /// Ends a line of words that has no end.
    pub(crate) fn end_line(&mut self, out: &mut CliOutput) -> io::Result<()> {
        let last = self.words.end(out.width);
        self.words = WordWrap::default();
        write!(out, "{last}")?;
        if std::mem::take(&mut self.open) { writeln!(out) } else { Ok(()) }
    }
}
