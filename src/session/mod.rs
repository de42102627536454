//! Sessions at work: the async rim, where models stream and what they say is saved; and what a host brings along.

mod drafts;
mod generate;
pub mod host;

pub use drafts::recover;
pub use generate::{GenerateError, Plan, Progress, context_of, generate};
pub use host::open;
