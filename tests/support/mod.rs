//! Helpers that test files share. A test includes the files it needs by `#[path]`.

pub(crate) mod store;
