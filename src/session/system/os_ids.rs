//! Random ids, seeded by the operating system.

use std::{io, sync::Arc};

use rand::{TryRng as _, rngs::SysRng};

use crate::id::RandomIds;

/// Returns an id source that is seeded by the operating system.
///
/// # Errors
/// If the operating system provides no random numbers.
pub fn os_ids() -> io::Result<Arc<RandomIds>> {
    let mut seed = [0; 32];
    SysRng.try_fill_bytes(&mut seed).map_err(io::Error::other)?;
    Ok(Arc::new(RandomIds::from_entropy(seed)))
}
