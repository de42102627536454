//! Limits of each token: requests a second, and open streams.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use axum::http::StatusCode;

use super::{
    caller::Caller,
    error::{ApiError, Result},
};

/// Limits of each token: a bucket of requests that refills over time, and a number of open streams.
pub(super) struct RateLimiter {
    per_second: f64,
    streams: usize,
    tokens: Mutex<HashMap<String, TokenUse>>,
}

struct TokenUse {
    left: f64,
    at: Instant,
    streams: Arc<AtomicUsize>,
}

impl RateLimiter {
    pub(super) fn new(per_second: u32, streams: usize) -> Self {
        Self { per_second: f64::from(per_second), streams, tokens: Mutex::default() }
    }

    /// Takes one request from a token's bucket, which holds two seconds' worth.
    pub(super) fn take(&self, token: &str) -> Result<()> {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let used = tokens.entry(token.to_owned()).or_insert_with(|| self.unused());
        let now = Instant::now();
        let full = self.per_second * 2.0;
        used.left = (used.left + now.duration_since(used.at).as_secs_f64() * self.per_second).min(full);
        used.at = now;
        if used.left < 1.0 {
            let message = "too many requests with this token";
            return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", message).retry_after(1));
        }
        used.left -= 1.0;
        Ok(())
    }

    /// Counts an open stream until the guard is dropped.
    pub(super) fn open_stream(&self, caller: &Caller) -> Result<StreamGuard> {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let used = tokens.entry(caller.token.clone()).or_insert_with(|| self.unused());
        if used.streams.load(Ordering::Relaxed) >= self.streams {
            let message = "too many open streams with this token";
            return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", message).retry_after(5));
        }
        used.streams.fetch_add(1, Ordering::Relaxed);
        Ok(StreamGuard(Arc::clone(&used.streams)))
    }

    fn unused(&self) -> TokenUse {
        TokenUse { left: self.per_second * 2.0, at: Instant::now(), streams: Arc::default() }
    }
}

/// Counts one open stream while it lives.
pub(super) struct StreamGuard(Arc<AtomicUsize>);

impl Drop for StreamGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_refuses_what_is_above_the_rate() {
        let rates = RateLimiter::new(2, 1);
        let taken = (0..10).filter(|_| rates.take("a").is_ok()).count();
        assert_eq!(taken, 4);
        assert!(rates.take("b").is_ok());
    }
}
