//! The holder of the database's write lock. The lock is looked at, not taken, so no writer waits for it.

use std::{fs::File, os::fd::AsFd as _, path::Path, thread, time::Duration};

use rustix::process::{Flock, FlockOffsetType, FlockType, fcntl_getlk};

/// Byte of the write lock in the shared-memory file of SQLite's write-ahead log (`WAL_WRITE_LOCK`).
const WRITE_LOCK_BYTE: u64 = 120;

/// Time between two looks: a commit holds the lock for less.
const LOOK_INTERVAL: Duration = Duration::from_millis(300);

/// Returns the id of the process that holds the write lock longer than a commit does. `None` if there is none, or if the
/// file is not in use.
pub(super) fn holder(shared_memory: &Path) -> Option<i32> {
    let first = look(shared_memory)?;
    thread::sleep(LOOK_INTERVAL);
    look(shared_memory).filter(|second| *second == first)
}

fn look(shared_memory: &Path) -> Option<i32> {
    let file = File::open(shared_memory).ok()?;
    let wanted = Flock {
        start: WRITE_LOCK_BYTE,
        length: 1,
        pid: None,
        typ: FlockType::WriteLock,
        offset_type: FlockOffsetType::Set,
    };
    Some(fcntl_getlk(file.as_fd(), &wanted).ok()??.pid?.as_raw_nonzero().get())
}
