//! Tools for work in a folder: an agent reads, writes, edits, lists and searches files and runs commands.
//!
//! They are host tools ([`crate::session::HostTools`]), declared in one table. Each is available as an arrow line (`→
//! read_file path:"src/main.rs"`) and through the provider's tool-call API.
//!
//! - **Confined.** Tools reach only files below the folder, whatever their paths contain (`sandbox_dir.rs`).
//! - **Approved.** The user approves each change ([`Approval`](crate::session::Approval)) unless a pattern of
//!   [`Allowlist`] covers it. Reading needs no approval.
//! - **Separate per agent.** Each concurrent agent has its own [`Workspace::tools`]. An agent cannot overwrite a file
//!   that another agent changed since it read the file; the error names the other agent.
//! - **Atomic.** A write replaces the whole file or leaves it unchanged.
//! - **Bounded.** Long answers are truncated, with a line that explains how to read the rest.
//!
//! Commands are not confined: they have the rights of the user. They run in the folder, without secrets, with a time
//! limit, and after approval. Stronger isolation needs a container.

mod allowlist;
mod child_process;
mod edit;
mod environment;
mod known_files;
mod list;
#[cfg(target_os = "linux")]
mod orphan_processes;
mod read;
mod run_command;
mod sandbox_dir;
mod search;
mod tools;
mod walk;
mod worker_tools;
mod write;

pub(crate) use self::child_process::{kill_group, shell};
pub use self::{
    allowlist::Allowlist,
    environment::Environment,
    known_files::FileModified,
    run_command::ProcessResult,
    tools::{Workspace, WorkspaceSettings},
};
