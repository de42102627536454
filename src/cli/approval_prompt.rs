//! Approval prompts at the terminal. A prompt shows the request literally, in pages. A yes counts only after the last
//! page was shown, and input typed before the prompt is discarded.

use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::{Arc, Weak},
    time::Duration,
};

use loomtree::{
    session::{Approval, ApprovalRequest, BoxFuture, Decision, PermanentApprovals},
    types::{literal, literal_line},
};
use unicode_width::UnicodeWidthChar as _;

use super::{
    output::{BOLD, DIM, MARK, count, paint},
    terminal_lock::TerminalLock,
};

/// Time in which the results of earlier commands are printed before a question is shown.
const OUTPUT_TIME: Duration = Duration::from_millis(50);

/// An [`Approval`] that prompts at the terminal.
pub(crate) struct TerminalApproval {
    /// True if no prompt is possible: output is JSON, or standard input or standard error is not a terminal.
    non_interactive: bool,
    /// Requests answered with `always`.
    always: PermanentApprovals,
    /// Serializes prompts, and keeps them from interrupting the line editor.
    terminal_lock: Arc<TerminalLock>,
}

impl TerminalApproval {
    pub(crate) fn new(json: bool, terminal_lock: Arc<TerminalLock>) -> Self {
        let non_interactive = json || !io::stdin().is_terminal() || !io::stderr().is_terminal();
        Self { non_interactive, always: PermanentApprovals::default(), terminal_lock }
    }
}

impl Approval for TerminalApproval {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            if self.non_interactive {
                let option = match request.tool.as_str() {
                    "delegate" => "--allow-delegate",
                    "run_command" => "--allow",
                    _ => "--allow-write",
                };
                let why = format!("no terminal to ask at, and it was not allowed in advance ({option} allows it)");
                return Decision::No(Some(why));
            }
            let _turn = self.terminal_lock.lock_question().await;
            if self.always.covers(request) {
                return Decision::Yes;
            }
            tokio::time::sleep(OUTPUT_TIME).await;
            let (asked, pending) = (request.clone(), Arc::new(()));
            let pending_ref = Arc::downgrade(&pending);
            let _open = self.terminal_lock.open_question();
            let answer = tokio::task::spawn_blocking(move || ask(&asked, &pending_ref)).await;
            match answer {
                Ok(Ok(ApprovalAnswer::Always)) => {
                    self.always.add(request);
                    Decision::Yes
                }
                Ok(Ok(ApprovalAnswer::Yes)) => Decision::Yes,
                Ok(Ok(ApprovalAnswer::No(why))) => Decision::No(why),
                // A failed prompt counts as a refusal.
                Ok(Err(_)) | Err(_) => Decision::No(None),
            }
        })
    }
}

#[derive(Debug, PartialEq, Eq)]
enum ApprovalAnswer {
    Yes,
    Always,
    No(Option<String>),
}

/// Prompts until the user answers or the request is withdrawn. `pending` is dropped when it is.
fn ask(request: &ApprovalRequest, pending: &Weak<()>) -> io::Result<ApprovalAnswer> {
    let size = terminal_size::terminal_size_of(io::stderr());
    let (columns, height) = size.map_or((80, 24), |(width, height)| (usize::from(width.0), usize::from(height.0)));
    let page = height.saturating_sub(6).max(4);
    let rows = rows(request, columns.saturating_sub(1).max(20));
    let mut shown = page.min(rows.len());
    let by =
        request.agent.as_deref().map(|agent| paint(DIM, format!(" · {}", literal_line(agent)))).unwrap_or_default();
    let mut text = format!("\n{}{by}\n{}\n", paint(MARK, literal_line(&request.tool)), rows[..shown].join("\n"));
    loop {
        let hidden = rows.len() - shown;
        let choices = if hidden > 0 {
            let note = format!("… {} more; all must be shown before a yes counts", count(hidden as u64, "line"));
            text.push_str(&format!("    {}\n", paint(DIM, note)));
            "s(hows the next), n(o)".to_owned()
        } else if let Some(scope) = request.permanent_scope() {
            format!("y(es), n(o), a(lways {scope} in this conversation, workers and checks included)")
        } else {
            "y(es), n(o)".to_owned()
        };
        text.push_str(&format!("Allow it? {choices}, or say why not: "));
        discard_typed_input();
        let mut out = anstream::stderr().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        drop(out);
        let Some(line) = read_line(pending)? else {
            anstream::stderr().lock().write_all(b"\n")?;
            return Ok(ApprovalAnswer::No(None));
        };
        match line.trim() {
            "s" | "show" if hidden > 0 => {
                let next = (shown + page).min(rows.len());
                text = format!("{}\n", rows[shown..next].join("\n"));
                shown = next;
            }
            "" | "s" | "show" => text.clear(),
            answer => match parse_answer(answer) {
                ApprovalAnswer::Yes | ApprovalAnswer::Always if hidden > 0 => text.clear(),
                ApprovalAnswer::Always if request.subject.is_empty() => text.clear(),
                answer => return Ok(answer),
            },
        }
    }
}

/// Returns the request as rows of a terminal. `│` marks the first row of a line, `┊` a row that continues it.
fn rows(request: &ApprovalRequest, columns: usize) -> Vec<String> {
    let mut rows: Vec<String> =
        split_columns(&literal_line(&request.summary), columns).map(|row| paint(BOLD, row)).collect();
    let detail = literal(&request.details);
    for line in detail.trim_end_matches('\n').lines() {
        let expanded = line.replace('\t', "    ");
        rows.extend(split_columns(&expanded, columns - 4).enumerate().map(|(at, row)| {
            let bar = if at == 0 { "│" } else { "┊" };
            format!("  {bar} {row}")
        }));
    }
    rows
}

/// Splits a line into segments of at most `columns` columns, after a space if one fits. An empty line gives one empty
/// segment.
fn split_columns(line: &str, columns: usize) -> impl Iterator<Item = String> {
    let (mut segments, mut segment, mut used) = (Vec::new(), String::new(), 0);
    for c in line.chars() {
        let wide = c.width().unwrap_or(1);
        if used + wide > columns {
            let end = segment.trim_end_matches(|c| c != ' ').len();
            let rest = segment.split_off(if end > segment.len() / 2 { end } else { segment.len() });
            segments.push(std::mem::replace(&mut segment, rest));
            used = segment.chars().map(|c| c.width().unwrap_or(1)).sum();
        }
        used += wide;
        segment.push(c);
    }
    segments.push(segment);
    segments.into_iter()
}

fn parse_answer(answer: &str) -> ApprovalAnswer {
    match answer.to_lowercase().as_str() {
        "y" | "yes" => ApprovalAnswer::Yes,
        "a" | "always" => ApprovalAnswer::Always,
        "n" | "no" => ApprovalAnswer::No(None),
        _ => ApprovalAnswer::No(Some(answer.to_owned())),
    }
}

/// Reads a line from the terminal. Returns `None` at end of input, or when the request is withdrawn.
fn read_line(pending: &Weak<()>) -> io::Result<Option<String>> {
    #[cfg(unix)]
    loop {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        if pending.strong_count() == 0 {
            return Ok(None);
        }
        // A blocking read would outlive a withdrawn request and consume the next line.
        let stdin = io::stdin();
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut ready, Some(&Timespec { tv_sec: 0, tv_nsec: 50_000_000 })) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            // If the request was withdrawn meanwhile, the input is not its answer.
            Ok(_) if pending.strong_count() > 0 => break,
            Ok(_) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    #[cfg(not(unix))]
    let _ = pending;
    let mut line = String::new();
    Ok((io::stdin().read_line(&mut line)? > 0).then_some(line))
}

/// Discards keys pressed before the prompt was shown.
fn discard_typed_input() {
    // Fails if standard input is not a terminal, which has nothing to discard.
    #[cfg(unix)]
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_shows_the_request_literally() {
        let request = |what: &str, detail: &str| ApprovalRequest {
            tool: "run_command".to_owned(),
            subject: String::new(),
            summary: what.to_owned(),
            details: detail.to_owned(),
            agent: None,
            node: None,
        };
        let shown = rows(&request("a\nb\u{202e}", "one\u{200b}\r\n\u{1b}[2Jtwo"), 60).join("\n");
        assert!(shown.contains("a\\nb\\u{202e}"), "{shown}");
        assert!(shown.contains("  │ one\\u{200b}\\u{d}\n  │ \\u{1b}[2Jtwo"), "{shown}");
        let long = rows(&request("w", &format!("{};touch PWN", " ".repeat(17 * 56))), 60);
        assert!(long.len() > 17 && long.last().is_some_and(|row| row.starts_with("  ┊") && row.ends_with("touch PWN")));
    }

    #[test]
    fn long_lines_break_after_a_space_that_fits() {
        let rows: Vec<String> = split_columns("Collect what was said about the lighthouse", 20).collect();
        assert_eq!(rows, ["Collect what was ", "said about the ", "lighthouse"]);
        // A long word is divided, and nothing is lost.
        let line = "a bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb c";
        let rows: Vec<String> = split_columns(line, 10).collect();
        assert!(rows.iter().all(|row| row.len() <= 10) && rows.concat() == line, "{rows:?}");
    }

    #[test]
    fn only_an_explicit_yes_is_consent() {
        for (answer, read_as) in [
            ("y", ApprovalAnswer::Yes),
            ("YES", ApprovalAnswer::Yes),
            ("a", ApprovalAnswer::Always),
            ("No", ApprovalAnswer::No(None)),
        ] {
            assert_eq!(parse_answer(answer), read_as);
        }
        assert_eq!(parse_answer("yes, but later"), ApprovalAnswer::No(Some("yes, but later".to_owned())));
    }
}
