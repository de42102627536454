//! Times of a filter: absolute, or relative to the current time, because a model sees ages and a user thinks in days.
//! Days are UTC days.

use std::{
    fmt::{self, Display, Formatter},
    str::FromStr,
};

use jiff::{civil, tz::TimeZone};
use serde::{Deserialize, Serialize, de::Error as _};

use crate::types::Timestamp;

/// Milliseconds per day.
const DAY_MS: i64 = 86_400_000;
/// Units of an age as written by [`Timestamp::age`], with their milliseconds.
const AGE_UNITS_MS: [(&str, i64); 7] = [
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", DAY_MS),
    ("w", 7 * DAY_MS),
    ("mo", 30 * DAY_MS),
    ("y", 365 * DAY_MS),
];

/// A time in a filter: a day (`2026-11-22`, `today`, `yesterday`), a moment (`2026-11-22T14:00`, UTC by default) or an
/// age (`30s`, `5m`, `2h`, `3d`, `1w`, `11mo`, `2y`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeSpec {
    /// A calendar day, in UTC.
    Day(civil::Date),
    /// A number of days before today: 0 is `today`, 1 is `yesterday`.
    DayBefore(u8),
    /// A moment, independent of the current time.
    Moment(Timestamp),
    /// An age: number and unit.
    Ago(u32, &'static str),
}

/// Error for a text that is not a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a time: use a day (2026-11-22, today, yesterday), a moment (2026-11-22T14:00) or an age (2h, 3d)"
)]
pub struct ParseTimeError(pub String);

impl TimeSpec {
    /// First instant of the specified time, relative to `now`.
    #[must_use]
    pub fn start(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Day(day) => start_of_day(day).unwrap_or(Timestamp::from_millis(i64::MAX)),
            Self::DayBefore(days) => {
                let today = now.as_millis().div_euclid(DAY_MS) * DAY_MS;
                Timestamp::from_millis(today.saturating_sub(i64::from(days) * DAY_MS))
            }
            Self::Moment(at) => at,
            Self::Ago(count, unit) => {
                let millis = AGE_UNITS_MS.iter().find(|(name, _)| *name == unit).map_or(0, |(_, millis)| *millis);
                Timestamp::from_millis(now.as_millis().saturating_sub(i64::from(count).saturating_mul(millis)))
            }
        }
    }

    /// Last instant of the specified time, relative to `now`.
    #[must_use]
    pub fn end(self, now: Timestamp) -> Timestamp {
        let first = self.start(now);
        match self {
            Self::Day(_) | Self::DayBefore(_) => Timestamp::from_millis(first.as_millis().saturating_add(DAY_MS - 1)),
            Self::Moment(_) | Self::Ago(..) => first,
        }
    }
}

fn start_of_day(day: civil::Date) -> Option<Timestamp> {
    moment(day.to_datetime(civil::Time::midnight()))
}

fn moment(at: civil::DateTime) -> Option<Timestamp> {
    let at = TimeZone::UTC.to_timestamp(at).ok()?;
    Some(Timestamp::from_millis(at.as_millisecond()))
}

/// Parses `2h` or `2h ago`.
fn parse_age(text: &str) -> Option<TimeSpec> {
    let text = text.strip_suffix("ago").unwrap_or(text).trim_end();
    let (count, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let (unit, _) = AGE_UNITS_MS.iter().find(|(name, _)| *name == unit.trim_start())?;
    Some(TimeSpec::Ago(count.parse().ok()?, unit))
}

impl FromStr for TimeSpec {
    type Err = ParseTimeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let said = text.trim().to_lowercase();
        match said.as_str() {
            "today" => return Ok(Self::DayBefore(0)),
            "yesterday" => return Ok(Self::DayBefore(1)),
            _ => {}
        }
        let upper = said.to_uppercase();
        // A text with a time of day would also parse as its day.
        let day = if said.len() == "2026-11-22".len() { upper.parse().ok().map(Self::Day) } else { None };
        let found = parse_age(&said).or(day).or_else(|| {
            let zoned = upper.parse::<jiff::Timestamp>().ok().map(|at| Timestamp::from_millis(at.as_millisecond()));
            zoned.or_else(|| moment(upper.parse().ok()?)).filter(|_| upper.contains(':')).map(Self::Moment)
        });
        found.ok_or_else(|| ParseTimeError(text.to_owned()))
    }
}

impl Display for TimeSpec {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Day(day) => day.fmt(f),
            Self::DayBefore(0) => f.write_str("today"),
            Self::DayBefore(_) => f.write_str("yesterday"),
            Self::Moment(at) => jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or_default().fmt(f),
            Self::Ago(count, unit) => write!(f, "{count}{unit}"),
        }
    }
}

impl Serialize for TimeSpec {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TimeSpec {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-22T12:00:00Z.
    const NOON: i64 = 1_795_348_800_000;

    #[test]
    fn days_moments_and_ages_are_spans() {
        let now = Timestamp::from_millis(NOON);
        let midnight = NOON - DAY_MS / 2;
        for (text, first, last) in [
            ("2026-11-22", midnight, midnight + DAY_MS - 1),
            ("today", midnight, midnight + DAY_MS - 1),
            ("Yesterday", midnight - DAY_MS, midnight - 1),
            ("2026-11-22T12:00", NOON, NOON),
            ("2026-11-22 12:00:00", NOON, NOON),
            ("2026-11-22t13:00:00+01:00", NOON, NOON),
            ("2h", NOON - 7_200_000, NOON - 7_200_000),
            ("2h ago", NOON - 7_200_000, NOON - 7_200_000),
            ("1w", NOON - 7 * DAY_MS, NOON - 7 * DAY_MS),
            ("11mo ago", NOON - 330 * DAY_MS, NOON - 330 * DAY_MS),
            ("2y", NOON - 730 * DAY_MS, NOON - 730 * DAY_MS),
        ] {
            let when: TimeSpec = text.parse().unwrap();
            assert_eq!((when.start(now).as_millis(), when.end(now).as_millis()), (first, last), "{text}");
            assert_eq!(when.to_string().parse(), Ok(when), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_told() {
        for text in
            ["", "h", "-2h", "2", "2yo", "soon", "2026-13-01", "2026-02-30", "20261122", "12:00", "🦀", "4294967296d"]
        {
            assert_eq!(text.parse::<TimeSpec>(), Err(ParseTimeError(text.to_owned())));
        }
        // The largest age must not overflow.
        let old = "4294967295w".parse::<TimeSpec>().unwrap();
        assert!(old.start(Timestamp::from_millis(i64::MIN)).as_millis() == i64::MIN);
        assert!("9999-12-31".parse::<TimeSpec>().unwrap().end(Timestamp::from_millis(0)).as_millis() > NOON);
    }
}
