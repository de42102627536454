//! Retries of failed requests: the loop that sends a request again, and its policy, exponential backoff with jitter.
//!
//! A reply is not retried after its first text was emitted, because the reader would see a second beginning. If a server
//! returns fewer replies than requested, the missing ones are requested again.
//!
//! The delay doubles with each attempt. Jitter takes a random point of its upper half, so that clients that failed together
//! do not retry together. `Retry-After` is a lower bound. If it exceeds [`Retry::longest_wait`], the error is returned at
//! once, because earlier attempts would fail.

use std::time::Duration;

use tokio::time::Instant;

use super::{ProviderError, Request, Sink, client::ClientInner};

/// Number of attempts and delays between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Total number of attempts, including the first. Default: 4.
    pub attempts: u32,
    /// Delay before the second attempt; it doubles from there. Default: 0.5 s.
    pub first_wait: Duration,
    /// Upper bound of a delay. Default: 60 s.
    pub longest_wait: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Retry { attempts: 4, first_wait: Duration::from_millis(500), longest_wait: Duration::from_secs(60) }
    }
}

impl Retry {
    /// Returns the delay before the next attempt, or `None` if there is none.
    ///
    /// `attempt` is the number of the failed attempt, from 1. `random` is a number from 0 to 1 for the jitter.
    pub(crate) fn delay(&self, attempt: u32, error: &ProviderError, random: f64) -> Option<Duration> {
        if attempt >= self.attempts || !error.is_transient() {
            return None;
        }
        let doubled = self.first_wait.saturating_mul(2_u32.saturating_pow(attempt - 1)).min(self.longest_wait);
        let jittered = doubled.mul_f64(0.5 + random.clamp(0.0, 1.0) / 2.0);
        match error {
            ProviderError::Http { retry_after: Some(requested), .. } if *requested > self.longest_wait => None,
            ProviderError::Http { retry_after: Some(requested), .. } => Some(jittered.max(*requested)),
            _ => Some(jittered),
        }
    }
}

impl ClientInner {
    /// Sends requests until every reply has its terminal item.
    pub(super) async fn send_until_complete(
        &self,
        request: &Request,
        mut pending: Vec<Sink>,
        retry: Retry,
        started: Instant,
    ) {
        let mut attempt = 1;
        loop {
            let capabilities = self.capabilities();
            let ends = match self.attempt(request, capabilities, &mut pending, started).await {
                Ok(ends) => ends,
                Err(error) => vec![Err(error); pending.len()],
            };
            let requested = pending.len();
            let mut failed = Vec::new();
            let mut failure = None;
            for (mut sink, last) in std::mem::take(&mut pending).into_iter().zip(ends) {
                match last {
                    // No text was emitted, so the reply can be requested again.
                    Err(error) if !sink.has_emitted() && error != ProviderError::Cancelled => {
                        failure.get_or_insert(error);
                        failed.push(sink);
                    }
                    last => sink.end(last).await,
                }
            }
            pending = failed;
            let Some(error) = failure else { return };
            // Some replies are complete: the server returns fewer than requested. The rest is requested at once.
            if pending.len() < requested || self.learn(capabilities, &error) {
                continue;
            }
            let Some(delay) = retry.delay(attempt, &error, rand::random()) else {
                for sink in &mut pending {
                    sink.end(Err(error.clone())).await;
                }
                return;
            };
            tracing::info!(host = self.host(), attempt, ?delay, %error, "retrying");
            tokio::time::sleep(delay).await;
            attempt += 1;
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
    fn delays_double_with_jitter_up_to_the_last_attempt() {
        let retry = Retry::default();
        let delays = |draw| [1, 2, 3, 4].map(|attempt| retry.delay(attempt, &busy(None), draw).map(|w| w.as_millis()));
        assert_eq!(delays(1.0), [Some(500), Some(1000), Some(2000), None]);
        assert_eq!(delays(0.0), [Some(250), Some(500), Some(1000), None]);
        let patient = Retry { attempts: 100, ..retry };
        assert_eq!(patient.delay(90, &busy(None), 1.0), Some(patient.longest_wait));
    }

    #[test]
    fn retry_after_is_a_lower_bound_up_to_the_longest_wait() {
        let retry = Retry::default();
        assert_eq!(retry.delay(1, &busy(Some(7)), 0.5), Some(Duration::from_secs(7)));
        assert_eq!(retry.delay(1, &busy(Some(0)), 1.0), Some(Duration::from_millis(500)));
        assert_eq!(retry.delay(1, &busy(Some(61)), 0.5), None);
    }
}
