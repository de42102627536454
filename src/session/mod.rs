//! Sessions at work: the async rim, where models stream and what they say is saved; and what a host brings along.

mod drafts;
mod envelope;
mod generate;
pub mod host;
mod prompt;
mod stats;

pub use drafts::recover;
pub use envelope::Envelope;
pub use generate::{GenerateError, Plan, Progress, generate};
pub use host::open;
pub use prompt::context_of;
pub use stats::{Share, Stats, Sums, path_stats, stats};
