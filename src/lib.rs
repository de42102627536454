//! The engine under conversations that branch.

pub mod id;
pub mod model;
pub mod ops;
pub mod provider;
pub mod store;
