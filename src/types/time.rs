//! Time in milliseconds since 1970, read from a clock that the host passes in.

use std::sync::atomic::{AtomicI64, Ordering};

use serde::{Deserialize, Serialize};

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// A point in time: milliseconds since 1970-01-01T00:00:00Z, negative before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct Timestamp(i64);

impl Timestamp {
    /// Creates a timestamp from milliseconds since 1970.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970; negative before it.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Milliseconds since 1970, clamped to the 48 bits of a ULID; 0 before 1970.
    #[must_use]
    pub fn as_millis_clamped(self) -> u64 {
        u64::try_from(self.0).unwrap_or(0).min((1 << 48) - 1)
    }

    /// Formats the time as `2023-11-14 22:13` in UTC, because the library knows no time zone. A time outside the calendar
    /// becomes its last one.
    #[must_use]
    pub fn date_time(self) -> String {
        let at = jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::MAX);
        jiff::tz::TimeZone::UTC.to_datetime(at).strftime("%Y-%m-%d %H:%M").to_string()
    }

    /// Formats the age at `now` if it is under a day, else the date and the time of day in UTC.
    #[must_use]
    pub fn age_or_date(self, now: Self) -> String {
        if now.0.saturating_sub(self.0) < DAY_MS { self.age(now) } else { self.date_time() }
    }

    /// Duration from an earlier time to this one; zero if that time is later.
    #[must_use]
    pub fn elapsed_since(self, earlier: Self) -> std::time::Duration {
        std::time::Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Formats the age at `now`: `just now` under 10 s, then `12s ago`, `3m ago`, `5h ago`, `2d ago`, `3w ago`, `4mo
    /// ago`, `2y ago`. A time in the future (a clock was set back) is `just now`.
    #[must_use]
    pub fn age(self, now: Self) -> String {
        let seconds = now.0.saturating_sub(self.0) / 1_000;
        let days = seconds / 86_400;
        match seconds {
            ..10 => "just now".to_owned(),
            10..60 => format!("{seconds}s ago"),
            60..3_600 => format!("{}m ago", seconds / 60),
            3_600..86_400 => format!("{}h ago", seconds / 3_600),
            _ if days < 14 => format!("{days}d ago"),
            _ if days < 60 => format!("{}w ago", days / 7),
            _ if days < 730 => format!("{}mo ago", days / 30),
            _ => format!("{}y ago", days / 365),
        }
    }
}

/// Source of the current time. The host passes one in; the library does not read the system clock.
pub trait Clock: Send + Sync {
    /// Returns the current time. It may go backwards, so sequence numbers define the order.
    fn now(&self) -> Timestamp;
}

/// A clock that changes only by [`FixedClock::set`], for tests.
#[derive(Debug, Default)]
pub struct FixedClock(AtomicI64);

impl FixedClock {
    /// Creates a clock that returns `at`.
    #[must_use]
    pub fn at(at: Timestamp) -> Self {
        Self(AtomicI64::new(at.0))
    }

    /// Sets the time, earlier or later.
    pub fn set(&self, at: Timestamp) {
        self.0.store(at.0, Ordering::SeqCst);
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_another_day_is_said_by_its_date() {
        // 2025-11-21T01:29:42Z.
        let at = Timestamp::from_millis(1_763_688_582_000);
        let after = |millis| at.age_or_date(Timestamp::from_millis(at.0 + millis));
        assert_eq!([after(0), after(DAY_MS - 1)], ["just now", "23h ago"]);
        assert_eq!([after(DAY_MS), after(370 * DAY_MS)], ["2025-11-21 01:29"; 2]);
    }

    #[test]
    fn ages_are_said_in_one_unit() {
        let age = |seconds: i64| Timestamp::from_millis(0).age(Timestamp::from_millis(seconds * 1_000));
        let said: Vec<_> =
            [-50, 0, 9, 10, 59, 60, 3_599, 3_600, 86_399, 86_400, 14 * 86_400, 60 * 86_400, 800 * 86_400]
                .into_iter()
                .map(age)
                .collect();
        assert_eq!(
            said,
            [
                "just now", "just now", "just now", "10s ago", "59s ago", "1m ago", "59m ago", "1h ago", "23h ago",
                "1d ago", "2w ago", "2mo ago", "2y ago"
            ]
        );
    }
}
