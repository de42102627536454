//! The table of tools: every operation a model or a person can ask for by an arrow line, declared once.

mod table;
mod tool;

pub use table::{Spec, TABLE, Weight};
pub use tool::Tool;
