//! Progress bars on standard error; invisible unless that is a terminal.

use std::{
    io::{self, Write as _},
    time::Duration,
};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// Returns a bar with `total` steps, in bytes or items.
pub(crate) fn bar(what: &'static str, total: u64, bytes: bool) -> ProgressBar {
    let shape = if bytes {
        "{msg} {wide_bar:.dim} {bytes}/{total_bytes} {bytes_per_sec} {eta}"
    } else {
        "{msg} {wide_bar:.dim} {human_pos}/{human_len} {eta}"
    };
    styled(ProgressBar::new(total), shape, what)
}

/// Returns a spinner with a count, for work of unknown length.
pub(crate) fn line(what: &'static str) -> ProgressBar {
    let line = styled(ProgressBar::no_length(), "{spinner:.dim} {msg} {human_pos}", what);
    line.enable_steady_tick(Duration::from_millis(120));
    line
}

/// Returns a line that shows the end of a streaming text after `name`, which is padded to a number of columns.
pub(crate) fn streaming(area: &MultiProgress, name: String, columns: usize) -> ProgressBar {
    let line = area.add(ProgressBar::no_length());
    let style = ProgressStyle::with_template(&format!("{{spinner:.dim}} {{prefix:{columns}.dim}} {{msg}}"));
    line.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    line.set_prefix(name);
    line.tick();
    line
}

/// Moves the cursor to the start of the last line. At its end, the terminal's echo of Ctrl-C would wrap, and the first line
/// would remain when the lines are cleared.
pub(crate) fn return_cursor(area: &MultiProgress) {
    if !area.is_hidden() {
        // Without standard error there is no line.
        let _ = io::stderr().write_all(b"\r");
    }
}

fn styled(bar: ProgressBar, shape: &str, what: &'static str) -> ProgressBar {
    // The templates are constants; an invalid one falls back to the default style.
    let style = ProgressStyle::with_template(shape).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style);
    bar.set_message(what);
    bar
}
