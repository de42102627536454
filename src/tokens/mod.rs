//! Token counts without a tokenizer: an estimate for any text, and its calibration by a model's own counts.
//!
//! Exact counts need a model's vocabulary, which takes megabytes and is not published for every model. The context is
//! fitted by the estimate; [`crate::provider`] counts exactly where a vocabulary is known.

mod calibration;
mod estimate;

pub use calibration::TokenCalibration;
pub use estimate::{TokenizerFamily, estimated_tokens};
