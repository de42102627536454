//! Model discovery without a reference.
//!
//! Explicit settings take precedence over running servers. The order is: the variable `LOOM_MODEL`, keys in the
//! environment, servers on their default ports of this machine, weights on disk (feature `local`). Providers are tried in
//! the order of their table. A server counts only if it lists a model, because any program may listen on the port.

#[cfg(feature = "net")]
mod probe;

use std::sync::Arc;

use super::error::clean;
use super::weights;
use super::{Env, Model, Names, ProviderError, Target, resolve};

#[cfg(feature = "net")]
pub(super) use probe::probe;

/// Environment variable with the reference of the model to use.
pub const MODEL_VARIABLE: &str = "LOOM_MODEL";

/// Finds a model without a reference; `None` if there is none.
///
/// # Errors
/// Returns a configuration error if a variable such as `LOOM_MODEL` is set and invalid. A port without a server is not an
/// error.
pub async fn discover(names: &Names, env: &Env<'_>) -> Result<Option<Target>, ProviderError> {
    if let Some(reference) = env(MODEL_VARIABLE).filter(|reference| !reference.trim().is_empty()) {
        return resolve(&reference, names, env).map(Some).map_err(|error| match error {
            ProviderError::Configuration { message } => {
                ProviderError::configuration(clean(&format!("{MODEL_VARIABLE}: {message}"), None))
            }
            error => error,
        });
    }
    #[cfg(feature = "net")]
    if let Some(endpoint) = probe::find_endpoint(env).await? {
        return Ok(Some(Target::Endpoint(endpoint)));
    }
    Ok(weights::find_installed(env).map(Target::Local))
}

/// Creates the client for a reference, or for the discovered model if there is no reference.
///
/// ```
/// use loomtree::provider::{self, Names};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> loomtree::Result<()> {
/// let model = provider::open(Some("scripted:words"), &Names::new(), &|name| std::env::var(name).ok()).await?;
/// assert_eq!(model.reference(), "scripted:words");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Returns the errors of [`resolve`], [`discover`] and [`Target::connect`], and a configuration error if no model is found.
pub async fn open(reference: Option<&str>, names: &Names, env: &Env<'_>) -> Result<Arc<dyn Model>, ProviderError> {
    let target = match reference {
        Some(reference) => Some(resolve(reference, names, env)?),
        None => discover(names, env).await?,
    };
    let Some(target) = target else {
        return Err(ProviderError::configuration(format!(
            "no model found: set OPENAI_API_KEY, ANTHROPIC_API_KEY or OPENROUTER_API_KEY, start Ollama, llama.cpp or \
             LM Studio on its default port, or name one in {MODEL_VARIABLE}"
        )));
    };
    target.connect().await
}
