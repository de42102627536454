//! Sessions at work: the async rim, where models stream and what they say is saved; and what a host brings along.

mod approval;
mod ask;
mod background;
mod commands;
mod drafts;
mod embedding;
mod envelope;
mod generate;
pub mod host;
mod plan;
mod prompt;
mod resume;
mod running;
mod save;
mod stats;
mod stream;

pub use approval::{Approval, Asking, Verdict};
pub(crate) use ask::Interview;
pub use background::{Background, keep_report};
pub use commands::{Hear, Hosting, of_provider, seat, seat_in};
pub use drafts::recover;
pub use embedding::Embedding;
pub use envelope::Envelope;
pub use generate::generate;
pub use host::open;
pub use plan::{Commands, GenerateError, Handler, Models, Plan, Progress, Promise, Searcher, Toolbox};
pub use prompt::context_of;
pub use resume::{Cut, Resumed, opening, resume};
pub use running::{Running, start};
pub use stats::{Share, Stats, Sums, path_stats, stats};
