//! Access to environment variables. The clock and the id source are in `loomtree::session::system`.

use loomtree::provider::MODELS_VARIABLE;

use super::paths;

/// Returns an environment variable; `None` if it is empty or not UTF-8. The folder of model weights always has a value,
/// because the library does not look up a home directory.
pub(crate) fn env(name: &str) -> Option<String> {
    let set = std::env::var(name).ok().filter(|value| !value.is_empty());
    if name != MODELS_VARIABLE {
        return set;
    }
    set.or_else(|| paths::folders().ok()?.data_dir().join("models").into_os_string().into_string().ok())
}

/// Returns all environment variables.
#[cfg(feature = "workspace")]
pub(crate) fn variables() -> impl Iterator<Item = (std::ffi::OsString, std::ffi::OsString)> {
    std::env::vars_os()
}
