//! Defaults from the operating system: clock and random ids.
//!
//! The engine never reads these itself. A program takes them from here or calls [`open`]. A test with a fixed clock and
//! seeded ids uses [`OpenOptions`] and [`Loom::new`].

use std::{
    io,
    path::Path,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use rand::{TryRng as _, rngs::SysRng};

use crate::{
    id::RandomIds,
    ops::Loom,
    store::{Location, OpenOptions, StoreError},
    types::{Clock, Timestamp},
};

/// The operating system's wall clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A clock before 1970 is wrong in any case and reads as 0.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// Returns an id source that is seeded by the operating system.
///
/// # Errors
/// If the operating system provides no random numbers.
pub fn os_ids() -> io::Result<Arc<RandomIds>> {
    let mut seed = [0; 32];
    SysRng.try_fill_bytes(&mut seed).map_err(io::Error::other)?;
    Ok(Arc::new(RandomIds::from_entropy(seed)))
}

/// Opens a database with the system's clock and random ids, and creates a file if missing. A path that is the URL of a
/// PostgreSQL database opens that: see [`Location::of`].
///
/// Blocks for some milliseconds, and up to 10 s while another process locks the file.
///
/// # Errors
/// If the file is not a loomtree database, has a newer format than this build, cannot be written, or stays locked.
pub fn open(path: impl AsRef<Path>) -> Result<Loom, StoreError> {
    let ids = os_ids().map_err(|error| StoreError::Backend(Box::new(error)))?;
    let clock = Arc::new(SystemClock);
    let store = OpenOptions::new(clock.clone(), ids.clone()).connect(&Location::of(path.as_ref()))?;
    Ok(Loom::new(store, clock, ids))
}
