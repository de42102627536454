//! How a model's own count of tokens compares with the estimate.

use serde::Serialize;

/// What one estimated token comes to by a model's own count, in thousandths: 1,000 unless something else is known.
///
/// By reports between a half and twice the estimate: what a provider reports beyond that is not the same text. In steps
/// of twenty, so that a prompt's window does not move with every report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct TokenCalibration(u16);

impl TokenCalibration {
    /// The estimate stands as it is.
    pub const NONE: Self = Self(1_000);
    /// The least and the most.
    const BOUNDS: (u64, u64) = (500, 2_000);
    const STEP: u64 = 20;
    /// Estimated tokens below which nothing is known.
    const ENOUGH: u64 = 2_000;

    /// What these sums say; `None` as long as they are too small to say anything.
    #[must_use]
    pub fn of(estimated: u64, reported: u64) -> Option<Self> {
        if estimated < Self::ENOUGH || reported == 0 {
            return None;
        }
        let (least, most) = Self::BOUNDS;
        let permille = (reported.saturating_mul(1_000) / estimated).clamp(least, most);
        let rounded = (permille + Self::STEP / 2) / Self::STEP * Self::STEP;
        u16::try_from(rounded).ok().map(Self)
    }

    /// What a count of the very text says, however short that is: rounded up.
    #[must_use]
    pub fn from_counts(estimated: u64, counted: u64) -> Self {
        let (least, most) = (Self::BOUNDS.0, u64::from(u16::MAX));
        let permille = counted.saturating_mul(1_000).div_ceil(estimated.max(1)).clamp(least, most);
        Self(u16::try_from(permille).unwrap_or(u16::MAX))
    }

    /// In thousandths.
    #[must_use]
    pub const fn permille(self) -> u32 {
        self.0 as u32
    }

    /// Whether the estimate stands as it is.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// What the model counts as so many tokens, by the estimate: rounded up.
    #[must_use]
    pub fn estimate_of(self, counted: u32) -> u32 {
        u32::try_from((u64::from(counted) * 1_000).div_ceil(u64::from(self.0))).unwrap_or(u32::MAX)
    }

    /// The most that may be estimated where the model may count so many tokens: rounded down.
    #[must_use]
    pub fn usable_budget(self, counted: u32) -> u32 {
        u32::try_from(u64::from(counted) * 1_000 / u64::from(self.0)).unwrap_or(u32::MAX)
    }
}

impl Default for TokenCalibration {
    fn default() -> Self {
        Self::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_correction_is_bounded_stepped_and_slow_to_come() {
        let of = |estimated, reported| TokenCalibration::of(estimated, reported).map(TokenCalibration::permille);
        assert_eq!(of(1_999, 3_000), None);
        assert_eq!(of(2_000, 0), None);
        assert_eq!(of(2_000, 2_000), Some(1_000));
        assert_eq!(of(10_000, 11_234), Some(1_120));
        assert_eq!(of(10_000, 11_300), Some(1_140));
        assert_eq!(of(2_000, 1), Some(500));
        assert_eq!(of(2_000, u64::MAX), Some(2_000));
        assert_eq!(TokenCalibration::default().estimate_of(u32::MAX), u32::MAX);
        let quarter = TokenCalibration::of(10_000, 12_500).unwrap();
        assert_eq!((quarter.estimate_of(1_250), quarter.usable_budget(1_250)), (993, 992), "1,260 thousandths");
        assert_eq!(TokenCalibration::of(2_000, 1_000).unwrap().estimate_of(u32::MAX), u32::MAX);
        let counted = |estimated, counted| TokenCalibration::from_counts(estimated, counted).permille();
        assert_eq!((counted(3, 7), counted(0, 7), counted(7, 0)), (2_334, 7_000, 500));
    }
}
