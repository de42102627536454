//! A person's yes or no, at the terminal: what is about to be done is shown whole, sanitised, and nothing that was typed
//! before the question counts as its answer.

use std::{
    collections::HashSet,
    io::{self, IsTerminal as _, Write as _},
    sync::{Arc, Mutex, PoisonError, Weak},
};

use loomtree::session::{Approval, ApprovalRequest, Decision, Promise};

use super::{
    output::{BOLD, DIM, MARK, count, paint},
    sanitize::{one_line, sanitize},
    terminal_lock::TerminalLock,
};

/// Lines that are shown before somebody asks for all.
const LINES: usize = 60;

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
    fn ask<'a>(&'a self, asking: &'a ApprovalRequest) -> Promise<'a, Decision> {
        Box::pin(async move {
            if self.alone {
                let why = "nobody is there to be asked, and it is not allowed beforehand";
                return Decision::No(Some(why.to_owned()));
            }
            let _turn = self.floor.question().await;
            let key = (asking.tool.clone(), asking.subject.clone());
            if self.always.lock().unwrap_or_else(PoisonError::into_inner).contains(&key) {
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
    let detail = sanitize(&asking.detail);
    let lines: Vec<&str> = detail.trim_end_matches('\n').lines().collect();
    let mut shown = LINES;
    loop {
        let mut text = format!("\n{}  {}\n", paint(MARK, one_line(&asking.tool)), paint(BOLD, one_line(&asking.what)));
        for line in lines.iter().take(shown) {
            text.push_str(&format!("    {line}\n"));
        }
        let hidden = lines.len().saturating_sub(shown);
        if hidden > 0 {
            let note = format!("… {} more; s shows them", count(hidden as u64, "line"));
            text.push_str(&format!("    {}\n", paint(DIM, note)));
        }
        text.push_str("Allow it? y(es), n(o), a(lways in this conversation), or say why not: ");
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
            "" => {}
            "s" | "show" => shown = usize::MAX,
            answer => return Ok(read(answer)),
        }
    }
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
