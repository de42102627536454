//! Cleanup of processes that left a command's process group (`setsid`, a daemon that forks twice). They are found by a
//! marker in their environment, which children inherit, and are killed.
//!
//! Parent ids do not help, because an orphan gets a new parent. A subreaper would affect the whole host program. The
//! search reads `/proc`, so it exists on Linux only. Not found: processes that also clear their environment (`env -i
//! setsid …`) and processes of other users. Those need a container.

use std::{fs, io, time::Duration};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, getpgid, pidfd_open, pidfd_send_signal};

use super::child_process::MARKER_VARIABLE;

/// Maximum scans of the process list, and the pause between two. A process may fork during a scan.
const MAX_SCANS: usize = 100;
/// Scans in a row without a marked process after which none is left. One could have listed a process before its fork, and
/// inspected it after its end.
const CLEAN_SCANS: usize = 2;
const SCAN_PAUSE: Duration = Duration::from_millis(1);

/// Kills all marked processes outside the group. Returns true if there was one.
pub(super) fn stop(mark: &str, group: Pid) -> bool {
    let wanted = format!("{MARKER_VARIABLE}={mark}");
    let (mut stopped, mut clean) = (false, 0);
    for _ in 0..MAX_SCANS {
        let found = scan(&wanted, group);
        clean = if found == ProcessEntry::default() { clean + 1 } else { 0 };
        if clean == CLEAN_SCANS {
            break;
        }
        stopped |= found.stopped;
        std::thread::sleep(SCAN_PAUSE);
    }
    stopped
}

#[derive(Debug, Default, PartialEq, Eq)]
struct ProcessEntry {
    stopped: bool,
    /// A process ended before it was inspected; it may have started another one.
    missed: bool,
}

/// Scans all processes, newest first, to catch processes that fork and exit at once.
fn scan(wanted: &str, group: Pid) -> ProcessEntry {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids: Vec<i32> = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable_by(|one, other| other.cmp(one));
    let mut found = ProcessEntry::default();
    for pid in pids.into_iter().filter_map(Pid::from_raw) {
        match is_marked(pid, wanted) {
            Ok(true) if getpgid(Some(pid)).is_ok_and(|of| of != group) => {
                found.stopped = true;
                // A process that has ended needs no kill.
                let _ = kill(pid, wanted);
            }
            // Newer kernels answer so for an ended process and a thread of their own.
            Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => {}
            Err(error) => found.missed |= error.kind() != io::ErrorKind::PermissionDenied,
            Ok(_) => {}
        }
    }
    found
}

/// An ended process has no environment, and those of other users are not readable.
fn is_marked(pid: Pid, wanted: &str) -> io::Result<bool> {
    let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_pid()))?;
    Ok(environment.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes()))
}

fn kill(pid: Pid, wanted: &str) -> io::Result<()> {
    // The pidfd is opened before the second check because the process id may have been reused.
    let held = pidfd_open(pid, PidfdFlags::empty())?;
    if is_marked(pid, wanted)? {
        pidfd_send_signal(held, Signal::KILL)?;
    }
    Ok(())
}
