//! Experiments with models: samples of branches, scores of branches by judges, and tables of the results.
//!
//! Each result is a node with a label in its metadata, so an experiment has no state beside the tree. A run reads the
//! tree, and does what is missing; a run after a kill therefore continues where the killed one stopped, and nothing is
//! added twice.
//!
//! Left out: statistics. A table goes to the tools that researchers have for them.

mod budget;
#[cfg(feature = "workspace")]
mod command_judge;
mod csv;
mod leaves;
mod missing_replies;
mod model_judge;
mod parquet;
mod sample;
mod sample_request;
mod score;
mod table;

pub use budget::{RunLimits, Spending};
#[cfg(feature = "workspace")]
pub use command_judge::CommandJudge;
pub use model_judge::ModelJudge;
pub use sample::{SampleProgress, SampleReport, StopReason, sample};
pub use sample_request::{SampleEstimate, SampleLabel, SampleRequest, estimate_sample, prompt_root};
pub use score::{
    Judge, JudgeError, Judgement, ScoreEstimate, ScoreLabel, ScoreProgress, ScoreReport, ScoreRequest, estimate_scores,
    score,
};
pub use table::{TableFormat, TableReport, write_table};

use crate::{interchange::InterchangeError, ops::OpsError, session::GenerateError, store::StoreError};

/// Error of an experiment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// Reading or saving failed.
    #[error(transparent)]
    Ops(#[from] OpsError),
    /// A prompt could not be assembled.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// The table could not be written.
    #[error(transparent)]
    Archive(#[from] InterchangeError),
    /// The request contradicts itself or the configuration.
    #[error("{0}")]
    Invalid(String),
}

impl From<StoreError> for ExperimentError {
    fn from(error: StoreError) -> Self {
        Self::Ops(error.into())
    }
}

impl From<std::io::Error> for ExperimentError {
    fn from(error: std::io::Error) -> Self {
        Self::Archive(error.into())
    }
}
