//! When to send a request again, and how long to wait before.
//!
//! The wait doubles with each attempt and is drawn from the upper half of that, so that many clients that
//! failed together do not come back together. What the server asks for in `Retry-After` is the least; if it asks for
//! more than [`Retry::longest_wait`], the error goes to the caller at once with that time in it, rather than
//! after attempts that are known to fail.

use std::time::Duration;

use super::ProviderError;

/// How often and how patiently a request is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Attempts in all, the first included; 4.
    pub attempts: u32,
    /// The wait before the second attempt; 0.5 s. It doubles from there.
    pub first_wait: Duration,
    /// The longest wait before any attempt; 60 s.
    pub longest_wait: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Retry { attempts: 4, first_wait: Duration::from_millis(500), longest_wait: Duration::from_secs(60) }
    }
}

impl Retry {
    /// Returns how long to wait before trying again after attempt number `attempt` (from 1) ended with
    /// `error`; `None` if it should not be tried again. `draw` is a random number from 0 to 1.
    pub(crate) fn wait(&self, attempt: u32, error: &ProviderError, draw: f64) -> Option<Duration> {
        if attempt >= self.attempts || !error.transient() {
            return None;
        }
        let doubled = self.first_wait.saturating_mul(2_u32.saturating_pow(attempt - 1)).min(self.longest_wait);
        let jittered = doubled.mul_f64(0.5 + draw.clamp(0.0, 1.0) / 2.0);
        match error {
            ProviderError::Http { retry_after: Some(asked), .. } if *asked > self.longest_wait => None,
            ProviderError::Http { retry_after: Some(asked), .. } => Some(jittered.max(*asked)),
            _ => Some(jittered),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(retry_after: Option<u64>) -> ProviderError {
        let retry_after = retry_after.map(Duration::from_secs);
        ProviderError::Http { status: 429, code: None, message: String::new(), retry_after }
    }

    #[test]
    fn waits_double_with_jitter_and_end() {
        let retry = Retry::default();
        let waits = |draw| [1, 2, 3, 4].map(|attempt| retry.wait(attempt, &busy(None), draw).map(|w| w.as_millis()));
        assert_eq!(waits(1.0), [Some(500), Some(1000), Some(2000), None]);
        assert_eq!(waits(0.0), [Some(250), Some(500), Some(1000), None]);
        let patient = Retry { attempts: 100, ..retry };
        assert_eq!(patient.wait(90, &busy(None), 1.0), Some(patient.longest_wait));
    }

    #[test]
    fn the_server_is_given_the_time_it_asks_for_or_left_alone() {
        let retry = Retry::default();
        assert_eq!(retry.wait(1, &busy(Some(7)), 0.5), Some(Duration::from_secs(7)));
        assert_eq!(retry.wait(1, &busy(Some(0)), 1.0), Some(Duration::from_millis(500)));
        assert_eq!(retry.wait(1, &busy(Some(61)), 0.5), None);
    }
}
