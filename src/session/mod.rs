//! Sessions at work: the async rim, where models stream and what they say is saved.

mod generate;

pub use generate::{GenerateError, Plan, Progress, generate};
