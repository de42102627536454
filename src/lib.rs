//! The engine under conversations that branch.

pub mod provider;
