//! Standard output: locked once, buffered, without colours where no terminal reads it.
//!
//! Writing to a pipe that the reader closed is an error that [`super::main`] takes for the end of the program's work.

use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write};

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
pub(crate) use loomtree::arrow::run::escape::count;
use serde::Serialize;

use super::{args::ColorChoice, sanitize::escape_json};

/// Columns of a line that no terminal limits.
const DEFAULT_COLUMNS: usize = 100;
/// Columns below which a terminal is taken for one that does not know its width.
const MIN_TERMINAL_COLUMNS: usize = 20;

/// How ids look.
pub(crate) const ID: Style = AnsiColor::Cyan.on_default();
/// How what is said about content looks.
pub(crate) const DIM: Style = Style::new().dimmed();
/// How marks look: bookmarks, notes, versions.
pub(crate) const MARK: Style = AnsiColor::Yellow.on_default();
/// How titles and the position look.
pub(crate) const BOLD: Style = Style::new().bold();

/// Standard output.
pub(crate) struct CliOutput {
    stream: BufWriter<AutoStream<StdoutLock<'static>>>,
    /// Whether data is printed as JSON.
    pub(crate) json: bool,
    /// Columns of a line.
    pub(crate) width: usize,
    /// Whether a change was committed: output that fails after it is no failure of the command.
    pub(crate) committed: bool,
    /// Whether a person watches.
    pub(crate) terminal: bool,
}

impl CliOutput {
    /// Takes standard output.
    pub(crate) fn new(color: ColorChoice, json: bool) -> Self {
        let stdout = io::stdout();
        let choice = match color {
            ColorChoice::Auto => AutoStream::choice(&stdout),
            ColorChoice::Always => anstream::ColorChoice::Always,
            ColorChoice::Never => anstream::ColorChoice::Never,
        };
        let terminal = stdout.is_terminal();
        let width = terminal_size::terminal_size_of(&stdout)
            .map(|(width, _)| usize::from(width.0))
            .filter(|width| *width >= MIN_TERMINAL_COLUMNS)
            .unwrap_or(DEFAULT_COLUMNS);
        Self { stream: BufWriter::new(AutoStream::new(stdout.lock(), choice)), json, width, terminal, committed: false }
    }

    /// Prints a value on a line of its own.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let json = serde_json::to_string(value)?;
        writeln!(self, "{}", escape_json(&json))
    }

    /// The columns at which words are wrapped: those of the terminal, if a person watches.
    pub(crate) fn wrap(&self) -> Option<usize> {
        self.terminal.then_some(self.width)
    }

    /// Standard output without a filter, for data that must arrive as it is.
    pub(crate) fn raw(&mut self) -> io::Result<StdoutLock<'static>> {
        self.flush()?;
        Ok(io::stdout().lock())
    }
}

impl Write for CliOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// `text` in a style; where there are no colours the codes are taken out again.
pub(crate) fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}
