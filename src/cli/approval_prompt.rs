//! A person's yes or no, at the terminal: what is about to be done is shown literally, page by page, and a yes counts only
//! once its end was shown. Nothing that was typed before the question counts as its answer.

use std::{
    collections::HashSet,
    io::{self, IsTerminal as _, Write as _},
    sync::{Arc, Mutex, PoisonError, Weak},
};

use loomtree::{
    session::{Approval, ApprovalRequest, BoxFuture, Decision},
    types::{literal, literal_line},
};
use unicode_width::UnicodeWidthChar as _;

use super::{
    output::{BOLD, DIM, MARK, count, paint},
    terminal_lock::TerminalLock,
};

/// Asks at the terminal.
pub(crate) struct TerminalApproval {
    /// Whether nobody can be asked: what is printed is data, or what is read is no terminal.
    alone: bool,
    /// What was allowed for good: the tool, and what it is about.
    always: Arc<Mutex<HashSet<(String, String)>>>,
    /// One question at a time, and none while somebody writes.
    floor: Arc<TerminalLock>,
}

impl TerminalApproval {
    pub(crate) fn new(json: bool, floor: Arc<TerminalLock>) -> Self {
        let alone = json || !io::stdin().is_terminal() || !io::stderr().is_terminal();
        Self { alone, always: Arc::default(), floor }
    }
}

impl Approval for TerminalApproval {
    fn ask<'a>(&'a self, asking: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            if self.alone {
                let option = match asking.tool.as_str() {
                    "delegate" => "--yes",
                    "run_command" => "--allow",
                    _ => "--allow-write",
                };
                let why = format!("nobody is there to be asked, and it is not allowed beforehand ({option} would)");
                return Decision::No(Some(why));
            }
            let _turn = self.floor.question().await;
            let key = (asking.tool.clone(), asking.subject.clone());
            if !key.1.is_empty() && self.always.lock().unwrap_or_else(PoisonError::into_inner).contains(&key) {
                return Decision::Yes;
            }
            let (asking, waiting) = (asking.clone(), Arc::new(()));
            let watch = Arc::downgrade(&waiting);
            let asked = tokio::task::spawn_blocking(move || ask(&asking, &watch)).await;
            match asked {
                Ok(Ok(ApprovalAnswer::Always)) => {
                    self.always.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
                    Decision::Yes
                }
                Ok(Ok(ApprovalAnswer::Yes)) => Decision::Yes,
                Ok(Ok(ApprovalAnswer::No(why))) => Decision::No(why),
                // Who cannot be asked has not agreed.
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

/// Asks until there is an answer, or nobody waits for one any more.
fn ask(asking: &ApprovalRequest, waiting: &Weak<()>) -> io::Result<ApprovalAnswer> {
    let size = terminal_size::terminal_size_of(io::stderr());
    let (columns, height) = size.map_or((80, 24), |(width, height)| (usize::from(width.0), usize::from(height.0)));
    let page = height.saturating_sub(6).max(4);
    let rows = rows(asking, columns.saturating_sub(1).max(20));
    let mut shown = page.min(rows.len());
    let mut text = format!("\n{}\n{}\n", paint(MARK, literal_line(&asking.tool)), rows[..shown].join("\n"));
    loop {
        let hidden = rows.len() - shown;
        let may = if hidden > 0 {
            let note = format!("… {} more, which have to be shown before a yes counts", count(hidden as u64, "line"));
            text.push_str(&format!("    {}\n", paint(DIM, note)));
            "s(hows the next), n(o)".to_owned()
        } else if asking.subject.is_empty() {
            "y(es), n(o)".to_owned()
        } else {
            format!("y(es), n(o), a(lways {} in this conversation)", always(asking))
        };
        text.push_str(&format!("Allow it? {may}, or say why not: "));
        forget_what_was_typed();
        let mut out = anstream::stderr().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        drop(out);
        let Some(line) = line(waiting)? else {
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
            answer => match read(answer) {
                ApprovalAnswer::Yes | ApprovalAnswer::Always if hidden > 0 => text.clear(),
                ApprovalAnswer::Always if asking.subject.is_empty() => text.clear(),
                answer => return Ok(answer),
            },
        }
    }
}

/// What a yes for good covers: the very same, or the same tool for the file.
fn always(asking: &ApprovalRequest) -> String {
    if asking.subject == asking.summary || asking.subject == asking.details {
        return format!("{} of exactly this", literal_line(&asking.tool));
    }
    format!("{} for {}", literal_line(&asking.tool), literal_line(&asking.subject))
}

/// What a question covers as rows of a screen: all of it literally, with a bar where a line begins and a broken one where it
/// only goes on.
fn rows(asking: &ApprovalRequest, columns: usize) -> Vec<String> {
    let mut rows: Vec<String> = wrapped(&literal_line(&asking.summary), columns).map(|row| paint(BOLD, row)).collect();
    let detail = literal(&asking.details);
    for line in detail.trim_end_matches('\n').lines() {
        let expanded = line.replace('\t', "    ");
        rows.extend(wrapped(&expanded, columns - 4).enumerate().map(|(at, row)| {
            let bar = if at == 0 { "│" } else { "┊" };
            format!("  {bar} {row}")
        }));
    }
    rows
}

/// A line in pieces of so many columns; one that is empty is one piece.
fn wrapped(line: &str, columns: usize) -> impl Iterator<Item = String> {
    let (mut pieces, mut used) = (vec![String::new()], 0);
    for c in line.chars() {
        let wide = c.width().unwrap_or(1);
        if used + wide > columns {
            pieces.push(String::new());
            used = 0;
        }
        used += wide;
        if let Some(piece) = pieces.last_mut() {
            piece.push(c);
        }
    }
    pieces.into_iter()
}

fn read(answer: &str) -> ApprovalAnswer {
    match answer.to_lowercase().as_str() {
        "y" | "yes" => ApprovalAnswer::Yes,
        "a" | "always" => ApprovalAnswer::Always,
        "n" | "no" => ApprovalAnswer::No(None),
        _ => ApprovalAnswer::No(Some(answer.to_owned())),
    }
}

/// A line from the terminal; `None` at its end, or when nobody waits for it any more.
fn line(waiting: &Weak<()>) -> io::Result<Option<String>> {
    #[cfg(unix)]
    loop {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        if waiting.strong_count() == 0 {
            return Ok(None);
        }
        // Reading would wait on after the question is withdrawn, and take the next line for its answer.
        let stdin = io::stdin();
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut ready, Some(&Timespec { tv_sec: 0, tv_nsec: 50_000_000 })) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            // The question may have been withdrawn meanwhile; what was typed is then not for it.
            Ok(_) if waiting.strong_count() > 0 => break,
            Ok(_) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    #[cfg(not(unix))]
    let _ = waiting;
    let mut line = String::new();
    Ok((io::stdin().read_line(&mut line)? > 0).then_some(line))
}

/// Keys that were pressed before the question was there.
fn forget_what_was_typed() {
    // What is no terminal has nothing to forget.
    #[cfg(unix)]
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_shows_all_that_it_covers_literally() {
        let asking = |what: &str, detail: &str| ApprovalRequest {
            tool: "run_command".to_owned(),
            subject: String::new(),
            summary: what.to_owned(),
            details: detail.to_owned(),
        };
        let shown = rows(&asking("a\nb\u{202e}", "one\u{200b}\r\n\u{1b}[2Jtwo"), 60).join("\n");
        assert!(shown.contains("a\\nb\\u{202e}"), "{shown}");
        assert!(shown.contains("  │ one\\u{200b}\\u{d}\n  │ \\u{1b}[2Jtwo"), "{shown}");
        let long = rows(&asking("w", &format!("{};touch PWN", " ".repeat(1000))), 60);
        assert!(long.len() > 17 && long.last().is_some_and(|row| row.starts_with("  ┊") && row.ends_with("touch PWN")));
    }

    #[test]
    fn an_answer_is_yes_only_if_it_says_so() {
        for (answer, read_as) in [
            ("y", ApprovalAnswer::Yes),
            ("YES", ApprovalAnswer::Yes),
            ("a", ApprovalAnswer::Always),
            ("No", ApprovalAnswer::No(None)),
        ] {
            assert_eq!(read(answer), read_as);
        }
        assert_eq!(read("yes, but later"), ApprovalAnswer::No(Some("yes, but later".to_owned())));
    }
}
