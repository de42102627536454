//! Where ids come from.
//!
//! The random part of each ULID is drawn afresh, also for many nodes in one millisecond: local ids are cut from
//! it, so counting upwards within a millisecond (as "monotonic" ULIDs do) would make them all begin alike. Order
//! within a tree comes from the insertion sequence, never from comparing ids.

use std::sync::{Mutex, PoisonError};

use rand::{Rng, SeedableRng, rngs::StdRng};
use ulid::Ulid;

use crate::types::Timestamp;

/// Makes ULIDs. Implementations must be safe to call from several threads.
pub trait IdSource: Send + Sync {
    /// A new ULID stamped `at`, with 80 fresh random bits.
    fn ulid(&self, at: Timestamp) -> Ulid;
}

/// An [`IdSource`] on a cryptographic generator: seeded by the host from the system, or by a test with a number.
#[derive(Debug)]
pub struct RandomIds(Mutex<StdRng>);

impl RandomIds {
    /// Ids that start from 32 bytes of entropy.
    #[must_use]
    pub fn from_entropy(seed: [u8; 32]) -> Self {
        Self(Mutex::new(StdRng::from_seed(seed)))
    }

    /// Ids that are the same in every run with the same number: for tests.
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
