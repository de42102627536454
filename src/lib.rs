//! The engine under conversations that branch.

