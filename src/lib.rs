//! The engine under conversations that branch.

pub mod archive;
pub mod context;
pub mod id;
pub mod model;
pub mod ops;
pub mod provider;
pub mod session;
pub mod store;
