//! The model that a command uses: that of an option, else the agent's, else the configured one, else the first that is found in
//! the environment (`LOOM_MODEL`, keys, servers on this machine).

use std::sync::Arc;

use loomtree::{
    provider::{Model, ProviderError, Sampling, Target, discover, resolve},
    types::Agent,
};

use super::{
    config::Config,
    env,
    error::{CliError, Result},
};

/// The model that an option, an agent or the configuration names; `None` if none of them does.
pub(crate) fn named_model<'a>(
    option: Option<&'a str>,
    agent: Option<&'a Agent>,
    config: &'a Config,
) -> Option<&'a str> {
    option.or(agent.and_then(|agent| agent.profile.model.as_deref())).or(config.model.as_deref())
}

/// Finds the model with this name or, without one, the first of the environment; `None` if it has none.
pub(crate) async fn find_model(
    reference: Option<&str>,
    config: &Config,
) -> std::result::Result<Option<Target>, ProviderError> {
    match reference {
        Some(reference) => resolve(reference, &config.models, &env::env).map(Some),
        None => discover::discover(&config.models, &env::env).await,
    }
}

/// Opens the model that `reference` names, or the first model that is found.
pub(crate) async fn open(reference: Option<&str>, config: &Config) -> Result<Arc<dyn Model>> {
    let mut target = find_model(reference, config).await?.ok_or(CliError::NoModel)?;
    target.default_sampling(&Sampling {
        temperature: config.temperature,
        max_tokens: config.max_tokens,
        ..Sampling::default()
    });
    Ok(target.connect().await?)
}

/// Opens the named models; without any, the one that [`named_model`] returns or that is found.
pub(crate) async fn open_all(references: &[String], agent: &Agent, config: &Config) -> Result<Vec<Arc<dyn Model>>> {
    if references.is_empty() {
        return Ok(vec![open(named_model(None, Some(agent), config), config).await?]);
    }
    let mut models = Vec::with_capacity(references.len());
    for reference in references {
        models.push(open(Some(reference), config).await?);
    }
    Ok(models)
}
