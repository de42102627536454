//! Defaults from the operating system: clock and random ids.
//!
//! The engine never reads these itself. A program takes them from here or calls [`open`]. A test with a fixed clock and
//! seeded ids uses [`OpenOptions`](crate::store::OpenOptions) and [`Loom::new`](crate::ops::Loom::new).

mod open_database;
mod os_ids;
mod system_clock;

pub use self::{open_database::open, os_ids::os_ids, system_clock::SystemClock};
