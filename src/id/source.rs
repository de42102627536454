//! Generation of ids.
//!
//! Each ULID gets new random bits, also within a millisecond. Local ids are cut from these bits, so counting upwards
//! (as "monotonic" ULIDs do) would make local ids start alike. The order within a tree is the insertion sequence; ids
//! are never compared.

use std::sync::{Mutex, PoisonError};

use rand::{Rng, SeedableRng, rngs::StdRng};
use ulid::Ulid;

use crate::types::Timestamp;

/// A generator of ULIDs, used from several threads.
pub trait IdSource: Send + Sync {
    /// Generates a ULID with this time and 80 new random bits.
    fn ulid(&self, at: Timestamp) -> Ulid;
}

/// An [`IdSource`] based on a cryptographic generator, seeded by the host or by a test.
#[derive(Debug)]
pub struct RandomIds(Mutex<StdRng>);

impl RandomIds {
    /// Creates a generator seeded with 32 bytes of entropy.
    #[must_use]
    pub fn from_entropy(seed: [u8; 32]) -> Self {
        Self(Mutex::new(StdRng::from_seed(seed)))
    }

    /// Creates a deterministic generator for tests.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(Mutex::new(StdRng::seed_from_u64(seed)))
    }
}

impl IdSource for RandomIds {
    fn ulid(&self, at: Timestamp) -> Ulid {
        let mut rng = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let random = (u128::from(rng.next_u64()) << 64) | u128::from(rng.next_u64());
        Ulid::from_parts(at.as_millis_clamped(), random)
    }
}
