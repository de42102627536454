//! What the test files share. Each is a file of its own; a test that needs another one includes it by `#[path]`.

pub(crate) mod store;
