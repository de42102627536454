//! Checks of the terminal: size, colours and characters.

use std::io::{self, IsTerminal as _};

use super::finding::Finding;
use crate::cli::{env, output::CliOutput};

const AREA: &str = "Terminal";

/// The smallest terminal in which the screen shows text next to the outline, in columns and lines.
const MIN_SCREEN_SIZE: (u16, u16) = (60, 15);

pub(super) fn check(out: &CliOutput) -> Vec<Finding> {
    if !out.terminal {
        let streams = [("input", io::stdin().is_terminal()), ("error", io::stderr().is_terminal())];
        let terminals: Vec<&str> = streams.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect();
        let others =
            if terminals.is_empty() { "none".to_owned() } else { format!("standard {}", terminals.join(", ")) };
        return vec![Finding::ok(AREA, format!("standard output is no terminal; other terminals: {others}")), kind()];
    }
    vec![size(), kind(), colour(), characters()]
}

fn size() -> Finding {
    let Some((width, height)) = terminal_size::terminal_size().map(|(width, height)| (width.0, height.0)) else {
        return Finding::note(AREA, "the terminal does not report its size", "use another terminal for the screen");
    };
    let size = format!("{width} columns, {height} lines");
    if width < MIN_SCREEN_SIZE.0 || height < MIN_SCREEN_SIZE.1 {
        let (width, height) = MIN_SCREEN_SIZE;
        return Finding::note(AREA, size, format!("make the window at least {width} columns and {height} lines"));
    }
    Finding::ok(AREA, size)
}

fn kind() -> Finding {
    match env::env("TERM").as_deref() {
        Some("dumb") => {
            Finding::note(AREA, "TERM is dumb: no screen and no colours", "set TERM, for example xterm-256color")
        }
        Some(term) => Finding::ok(AREA, format!("TERM is {term}")),
        None if cfg!(windows) => Finding::ok(AREA, "TERM is not set"),
        None => Finding::note(AREA, "TERM is not set", "set it for colours, for example to xterm-256color"),
    }
}

fn colour() -> Finding {
    let depth = env::env("COLORTERM").map_or_else(String::new, |depth| format!(", COLORTERM is {depth}"));
    let colour = match anstream::AutoStream::choice(&io::stdout()) {
        anstream::ColorChoice::Never => "no colours",
        _ => "colours",
    };
    let off = if env::env("NO_COLOR").is_some() { ", NO_COLOR is set" } else { "" };
    Finding::ok(AREA, format!("{colour}{depth}{off}"))
}

fn characters() -> Finding {
    if cfg!(windows) {
        return Finding::ok(AREA, "Unicode");
    }
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| env::env(name).map(|value| (name, value)));
    match locale {
        Some((name, value)) if value.to_lowercase().replace('-', "").contains("utf8") => {
            Finding::ok(AREA, format!("Unicode ({name} is {value})"))
        }
        Some((name, value)) => Finding::note(
            AREA,
            format!("{name} is {value}, which is not UTF-8"),
            "if lines or letters look wrong, set LANG to a UTF-8 locale, for example C.UTF-8",
        ),
        None => Finding::note(
            AREA,
            "no locale is set",
            "if lines or letters look wrong, set LANG to a UTF-8 locale, for example C.UTF-8",
        ),
    }
}
