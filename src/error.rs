//! The error of the whole library, for applications that call several parts of it.

use std::io;

use crate::{
    context::ContextError,
    delegate::PlanError,
    experiment::ExperimentError,
    id::ParseIdError,
    interchange::InterchangeError,
    ops::OpsError,
    provider::ProviderError,
    recall::{EmbedError, ParseTimeError},
    session::GenerateError,
    store::StoreError,
    tools::ToolError,
    types::SectionError,
};

/// An error of any call of the library. `?` converts the errors of all modules.
///
/// Each failure has one place: a store's error is [`Error::Store`], also if an operation or a generation returned it.
///
/// ```
/// use loomtree::{Error, prelude::*, store::StoreError};
///
/// fn first_words(path: &std::path::Path) -> loomtree::Result<String> {
///     let loom = session::open(path)?; // a StoreError
///     let tree = loom.find_tree("letters")?; // an OpsError
///     Ok(loom.snapshot()?.trees(Default::default())?.first().map_or(tree.title, |tree| tree.title.clone()))
/// }
///
/// let folder = tempfile::tempdir()?;
/// let error = first_words(&folder.path().join("trees.db")).unwrap_err();
/// assert!(matches!(error, Error::Ops(_)), "there is no such tree");
/// assert!(matches!(first_words(folder.path()).unwrap_err(), Error::Store(StoreError::CannotOpen { .. })));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store failed: the file cannot be opened, read or written, or it refuses a change.
    #[error(transparent)]
    Store(StoreError),
    /// An operation was refused.
    #[error(transparent)]
    Ops(OpsError),
    /// A generation produced no reply.
    #[error(transparent)]
    Generate(GenerateError),
    /// A model client failed.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// No prompt could be assembled.
    #[error(transparent)]
    Context(ContextError),
    /// An import or export stopped.
    #[error(transparent)]
    Archive(InterchangeError),
    /// An experiment was refused.
    #[error(transparent)]
    Experiment(ExperimentError),
    /// No embedding could be computed.
    #[error(transparent)]
    Embed(EmbedError),
    /// A tool failed.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The plan of a delegation is invalid.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A text is no id.
    #[error(transparent)]
    ParseId(#[from] ParseIdError),
    /// A text is no time.
    #[error(transparent)]
    ParseTime(#[from] ParseTimeError),
    /// A file could not be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The result of a call of the library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<OpsError> for Error {
    fn from(error: OpsError) -> Self {
        match error {
            OpsError::Store(error) => error.into(),
            error => Self::Ops(error),
        }
    }
}

impl From<SectionError> for Error {
    fn from(error: SectionError) -> Self {
        Self::Ops(error.into())
    }
}

impl From<ContextError> for Error {
    fn from(error: ContextError) -> Self {
        match error {
            ContextError::Store(error) => error.into(),
            error => Self::Context(error),
        }
    }
}

impl From<GenerateError> for Error {
    fn from(error: GenerateError) -> Self {
        match error {
            GenerateError::Ops(error) => error.into(),
            GenerateError::Context(error) => error.into(),
            GenerateError::Provider(error) => error.into(),
            error => Self::Generate(error),
        }
    }
}

impl From<InterchangeError> for Error {
    fn from(error: InterchangeError) -> Self {
        match error {
            InterchangeError::Io(error) => error.into(),
            InterchangeError::Ops(error) => error.into(),
            error => Self::Archive(error),
        }
    }
}

impl From<EmbedError> for Error {
    fn from(error: EmbedError) -> Self {
        match error {
            EmbedError::Ops(error) => error.into(),
            error => Self::Embed(error),
        }
    }
}

impl From<ExperimentError> for Error {
    fn from(error: ExperimentError) -> Self {
        match error {
            ExperimentError::Ops(error) => error.into(),
            ExperimentError::Generate(error) => error.into(),
            ExperimentError::Archive(error) => error.into(),
            error => Self::Experiment(error),
        }
    }
}
