//! What a host gives the engine: the system's clock and ids from the system's random numbers.
//!
//! The engine never looks for these itself; a program that wants the usual ones takes them here, or calls [`open`].
//! A program that wants others (a test: a fixed clock, seeded ids) calls [`OpenOptions`] and [`Loom::new`].

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
    store::{OpenOptions, StoreError},
    types::{Clock, Timestamp},
};

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A clock before 1970 is wrong anyway; 0 is said of it.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// Ids seeded by the system.
///
/// # Errors
/// If the system gives no random numbers.
pub fn os_ids() -> io::Result<Arc<RandomIds>> {
    let mut seed = [0; 32];
    SysRng.try_fill_bytes(&mut seed).map_err(io::Error::other)?;
    Ok(Arc::new(RandomIds::from_entropy(seed)))
}

/// Opens the trees in a file, with the system's clock and ids; makes the file if it is not there.
///
/// Opening blocks for some milliseconds, and as long as another process keeps the file locked (at most 10 s).
///
/// # Errors
/// Where the file is no loomtree database, is newer than this build, cannot be written, or stays locked.
pub fn open(path: impl AsRef<Path>) -> Result<Loom, StoreError> {
    let ids = os_ids().map_err(|error| StoreError::Backend(Box::new(error)))?;
    let clock = Arc::new(SystemClock);
    let store = OpenOptions::new(clock.clone(), ids.clone()).open(path)?;
    Ok(Loom::new(Arc::new(store), clock, ids))
}
