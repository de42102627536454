//! `loom open`: serves the web page on this machine and opens it in the browser.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use super::serve::{self, BrowserLogins};
use crate::cli::{
    command_context::CommandContext,
    error::{CliError, Result},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The node to show [default: your position]
    node: Option<String>,
    /// Print the link without opening it
    #[arg(long)]
    no_browser: bool,
    /// Let the workers of delegations read and change files of the current folder and run commands there; the page asks
    /// before each change and command
    #[arg(long)]
    tools: bool,
}

/// Serves until Ctrl-C. Only a browser that has the link gets in, and the link works once.
pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let node = match (&args.node, cx.try_position()?) {
        (Some(text), Some(current)) => Some(cx.node(&current, text)?.id),
        (Some(_), None) => return Err(CliError::failed("there is no tree yet")),
        (None, current) => current.map(|current| current.position.id),
    };
    let (browsers, code) = BrowserLogins::with_code().map_err(|error| CliError::io("random numbers", error))?;
    let place = node.map_or(String::new(), |node| format!("/{node}"));
    serve::serve(serve::Args::local(args.tools), browsers, cx, |address, cx| {
        let link = format!("http://{address}/#{place}?code={code}");
        let value = serde_json::json!({ "address": format!("http://{address}"), "link": link });
        cx.print_value(&value, || format!("open {link}\nThe link works once. Ctrl-C stops the server."))?;
        if !args.no_browser && !show(&link) {
            writeln!(std::io::stderr(), "no browser was found; open the link yourself")?;
        }
        Ok(())
    })
}

/// Opens a link in the user's browser. Returns whether a program for it was started.
fn show(link: &str) -> bool {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    Command::new(program).arg(link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().is_ok()
}
