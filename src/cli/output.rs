//! Standard output: locked once, buffered, without colours unless a terminal reads it.
//!
//! Writing to a closed pipe is an error that [`super::main`] treats as the end of the program.

use std::{
    io::{self, BufWriter, IsTerminal as _, StdoutLock, Write},
    sync::Arc,
};

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
pub(crate) use loomtree::exec::counts::count;
use serde::Serialize;

use super::{args::ColorChoice, sanitize::escape_json, terminal_lock::TerminalLock};

/// Line width without a terminal, in columns.
const DEFAULT_COLUMNS: usize = 100;
/// Bytes of output that wait while a question is open.
const BUFFER_BYTES: usize = 64 * 1024;
/// Minimum plausible width of a terminal, in columns. Smaller values mean that it does not know its width.
const MIN_TERMINAL_COLUMNS: usize = 20;

/// The style of ids.
pub(crate) const ID: Style = AnsiColor::Cyan.on_default();
/// The style of secondary text.
pub(crate) const DIM: Style = Style::new().dimmed();
/// The style of marks: bookmarks, notes, versions.
pub(crate) const MARK: Style = AnsiColor::Yellow.on_default();
/// The style of titles and of the position.
pub(crate) const BOLD: Style = Style::new().bold();

/// The locked, buffered standard output.
pub(crate) struct CliOutput {
    stream: BufWriter<AutoStream<Box<dyn Write>>>,
    /// Keeps output from the line of an open question.
    pub(crate) terminal_lock: Arc<TerminalLock>,
    /// True if data is printed as JSON.
    pub(crate) json: bool,
    /// The line width, in columns.
    pub(crate) width: usize,
    /// True once a change was committed. A later output error then does not fail the command.
    pub(crate) committed: bool,
    /// True if standard output is a terminal.
    pub(crate) terminal: bool,
}

impl CliOutput {
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
        Self::over(Box::new(stdout.lock()), choice, json, (width, terminal))
    }

    /// Creates an output that drops everything and leaves standard output unlocked, for programs that own it.
    #[cfg(feature = "mcp")]
    pub(crate) fn discarding() -> Self {
        Self::over(Box::new(io::sink()), anstream::ColorChoice::Never, true, (DEFAULT_COLUMNS, false))
    }

    fn over(out: Box<dyn Write>, choice: anstream::ColorChoice, json: bool, (width, terminal): (usize, bool)) -> Self {
        let stream = BufWriter::with_capacity(BUFFER_BYTES, AutoStream::new(out, choice));
        Self { stream, terminal_lock: Arc::default(), json, width, terminal, committed: false }
    }

    /// Prints a value as one line of JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let json = serde_json::to_string(value)?;
        writeln!(self, "{}", escape_json(&json))
    }

    /// Returns the wrap width in columns, or `None` if output is not a terminal.
    pub(crate) fn wrap(&self) -> Option<usize> {
        self.terminal.then_some(self.width)
    }

    /// Returns the unfiltered standard output, for data that must not be changed.
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
        self.terminal_lock.unless_asking(|| self.stream.flush())
    }
}

/// Returns `text` in a style. The output stream removes the codes when colours are off.
pub(crate) fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}
