//! What a command began and what then left its process group (`setsid`, a daemon that forks twice): found by a mark in its
//! environment, which children inherit whoever their parent is by then, and killed.
//!
//! Parents tell nothing here, for an orphan has another one, and a process that is to get orphans would be so for the whole
//! program around this library. Looked for in `/proc`, so on Linux alone. Left out: a process that empties its environment
//! as well (`env -i setsid …`), or one of another user; that is somebody's intent, and the business of containers.

use std::{fs, io, time::Duration};

use rustix::process::{Pid, PidfdFlags, Signal, getpgid, pidfd_open, pidfd_send_signal};

use super::process::MARKER_VARIABLE;

/// How often is looked at the most, as something may fork while it is looked for, and how long is waited in between.
const LOOKS: usize = 100;
const PAUSE: Duration = Duration::from_millis(1);

/// Kills what has this mark and is not in the group any more; whether there was something.
pub(super) fn stop(mark: &str, group: Pid) -> bool {
    let wanted = format!("{MARKER_VARIABLE}={mark}");
    let mut stopped = false;
    for _ in 0..LOOKS {
        let seen = look(&wanted, group);
        if seen == (ProcessEntry { stopped: false, missed: false }) {
            break;
        }
        stopped |= seen.stopped;
        std::thread::sleep(PAUSE);
    }
    stopped
}

#[derive(Debug, Default, PartialEq, Eq)]
struct ProcessEntry {
    stopped: bool,
    /// Something ended before it was looked at; it may have begun something first.
    missed: bool,
}

/// Looks at every process, the newest first: what forks and ends at once is caught while it is there.
fn look(wanted: &str, group: Pid) -> ProcessEntry {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids: Vec<i32> = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable_by(|one, other| other.cmp(one));
    let mut seen = ProcessEntry::default();
    for pid in pids.into_iter().filter_map(Pid::from_raw) {
        match is_marked(pid, wanted) {
            Ok(true) if getpgid(Some(pid)).is_ok_and(|of| of != group) => {
                seen.stopped = true;
                // What ended by itself meanwhile needs no end.
                let _ = kill(pid, wanted);
            }
            Err(error) => seen.missed |= error.kind() != io::ErrorKind::PermissionDenied,
            Ok(_) => {}
        }
    }
    seen
}

/// What has ended has no environment; other users' processes are not readable.
fn is_marked(pid: Pid, wanted: &str) -> io::Result<bool> {
    let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_pid()))?;
    Ok(environment.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes()))
}

fn kill(pid: Pid, wanted: &str) -> io::Result<()> {
    // Held fast before the last look: the number may be another one's by now.
    let held = pidfd_open(pid, PidfdFlags::empty())?;
    if is_marked(pid, wanted)? {
        pidfd_send_signal(held, Signal::KILL)?;
    }
    Ok(())
}
