//! Calibration of the token estimate by a model's own counts.

use serde::Serialize;

/// Ratio of a model's token count to the estimate, in thousandths. Without data it is 1,000.
///
/// Reported ratios are clamped to 500–2,000, because a larger difference means that the texts differ. They are rounded
/// to steps of 20, so that not every report moves the window of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct TokenCalibration(u16);

impl TokenCalibration {
    /// Ratio of 1,000: the estimate is used unchanged.
    pub const NONE: Self = Self(1_000);
    /// Minimum and maximum ratio.
    const PERMILLE_BOUNDS: (u64, u64) = (500, 2_000);
    const PERMILLE_STEP: u64 = 20;
    /// Minimum number of estimated tokens for a calibration.
    const MIN_ESTIMATED_TOKENS: u64 = 2_000;

    /// Computes the ratio of two sums. `None` if they are too small.
    #[must_use]
    pub fn of(estimated: u64, reported: u64) -> Option<Self> {
        if estimated < Self::MIN_ESTIMATED_TOKENS || reported == 0 {
            return None;
        }
        let (least, most) = Self::PERMILLE_BOUNDS;
        let permille = (reported.saturating_mul(1_000) / estimated).clamp(least, most);
        let rounded = (permille + Self::PERMILLE_STEP / 2) / Self::PERMILLE_STEP * Self::PERMILLE_STEP;
        u16::try_from(rounded).ok().map(Self)
    }

    /// Computes the ratio for a text that was counted exactly, rounded up. It has no minimum size.
    #[must_use]
    pub fn from_counts(estimated: u64, counted: u64) -> Self {
        let (least, most) = (Self::PERMILLE_BOUNDS.0, u64::from(u16::MAX));
        let permille = counted.saturating_mul(1_000).div_ceil(estimated.max(1)).clamp(least, most);
        Self(u16::try_from(permille).unwrap_or(u16::MAX))
    }

    /// The ratio in thousandths.
    #[must_use]
    pub const fn permille(self) -> u32 {
        self.0 as u32
    }

    /// True if the ratio is 1,000.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// Converts a model's token count to estimated tokens, rounded up.
    #[must_use]
    pub fn estimate_of(self, counted: u32) -> u32 {
        u32::try_from((u64::from(counted) * 1_000).div_ceil(u64::from(self.0))).unwrap_or(u32::MAX)
    }

    /// Converts a budget in the model's tokens to estimated tokens, rounded down.
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
    fn a_calibration_is_bounded_stepped_and_needs_enough_tokens() {
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
