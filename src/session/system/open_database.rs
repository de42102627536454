//! Opening of a database with the clock and the ids of the operating system.

use std::{path::Path, sync::Arc};

use super::{SystemClock, os_ids};
use crate::{
    ops::Loom,
    store::{Location, OpenOptions, StoreError},
};

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
