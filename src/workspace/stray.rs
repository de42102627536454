//! What a command began and what then left its process group (`setsid`, a daemon that forks twice): found by a mark in its
//! environment, which children inherit whoever their parent is by then, and killed.
//!
//! Parents tell nothing here, for an orphan has another one, and a process that is to get orphans would be so for the whole
//! program around this library. Looked for in `/proc`, so on Linux alone. Left out: a process that empties its environment
//! as well (`env -i setsid …`), or one of another user; that is somebody's intent, and the business of containers.

use std::{fs, io, time::Duration};

use rustix::process::{Pid, PidfdFlags, Signal, getpgid, pidfd_open, pidfd_send_signal};

use super::process::MARK;

/// How often is looked for more, as something may fork while it is looked for, and how long is waited in between.
const LOOKS: usize = 50;
const PAUSE: Duration = Duration::from_millis(2);

/// Kills what has this mark and is not in the group any more; whether there was something.
pub(super) fn stop(mark: &str, group: Pid) -> bool {
    let wanted = format!("{MARK}={mark}");
    let mut stopped = false;
    for _ in 0..LOOKS {
        let found = strays(&wanted, group);
        if found.is_empty() {
            break;
        }
        stopped = true;
        // What ended by itself meanwhile needs no end.
        found.into_iter().for_each(|pid| _ = kill(pid, &wanted));
        std::thread::sleep(PAUSE);
    }
    stopped
}

fn strays(wanted: &str, group: Pid) -> Vec<Pid> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw));
    pids.filter(|pid| is_marked(*pid, wanted) && getpgid(Some(*pid)).is_ok_and(|of| of != group)).collect()
}

/// Other users' processes are not readable, and what has ended has no environment.
fn is_marked(pid: Pid, wanted: &str) -> bool {
    let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_pid()));
    environment.is_ok_and(|all| all.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes()))
}

fn kill(pid: Pid, wanted: &str) -> io::Result<()> {
    // Held fast before the last look: the number may be another one's by now.
    let held = pidfd_open(pid, PidfdFlags::empty())?;
    if is_marked(pid, wanted) {
        pidfd_send_signal(held, Signal::KILL)?;
    }
    Ok(())
}
