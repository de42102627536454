//! Checks of the models that this machine can use.

use loomtree::provider::{ProviderStatus, Target, Weights, discover, resolve, survey};

use super::finding::Finding;
use crate::cli::{
    command::models::{known_weights, weights_state},
    config::Config,
    env,
    error::Result,
};

const AREA: &str = "Models";

pub(super) fn check(config: &Config) -> Result<Vec<Finding>> {
    env::runtime()?.block_on(async {
        let providers = survey(&env::env).await;
        let mut findings = vec![in_use(config).await];
        findings.extend(config.models.keys().map(|name| configured(name, config)));
        findings.extend(providers.iter().map(provider));
        findings.extend(weights());
        Ok(findings)
    })
}

/// Checks the default model.
async fn in_use(config: &Config) -> Finding {
    let found = match &config.model {
        Some(model) => resolve(model, &config.models, &env::env).map(Some),
        None => discover::discover(&config.models, &env::env).await,
    };
    match found {
        Ok(Some(target)) => Finding::ok(AREA, format!("{} is used unless another is named", target.reference())),
        Ok(None) => Finding::note(
            AREA,
            "no model is found; `scripted:words` writes placeholder text",
            "set a key, start a server on this machine, or run `loom models` for all ways",
        ),
        Err(error) => Finding::problem(AREA, error.to_string(), "correct `model` in the configuration or LOOM_MODEL"),
    }
}

fn configured(name: &str, config: &Config) -> Finding {
    match resolve(name, &config.models, &env::env) {
        Ok(Target::Endpoint(endpoint)) => {
            let key = if endpoint.key.is_some() { "its key is set" } else { "without a key" };
            Finding::ok(AREA, format!("{name} in the configuration: {key}"))
        }
        Ok(_) => Finding::ok(AREA, format!("{name} in the configuration")),
        Err(error) => {
            Finding::problem(AREA, format!("{name} in the configuration: {error}"), "correct it, or set its key")
        }
    }
}

fn provider(status: &ProviderStatus) -> Finding {
    let ProviderStatus { name, key_variable, reference, error, .. } = status;
    match (error, key_variable, reference) {
        (Some(error), ..) => Finding::problem(AREA, format!("{name}: {error}"), "correct or unset its variable"),
        (None, Some(variable), Some(_)) => Finding::ok(AREA, format!("{name}: {variable} is set")),
        (None, Some(variable), None) => Finding::ok(AREA, format!("{name}: {variable} is not set")),
        (None, None, Some(reference)) => Finding::ok(AREA, format!("{name}: a server answers with {reference}")),
        (None, None, None) => Finding::ok(AREA, format!("{name}: no server answers with a model")),
    }
}

fn weights() -> Vec<Finding> {
    if !cfg!(feature = "local") {
        return vec![Finding::ok(AREA, "models inside the program are not in this build (feature `local`)")];
    }
    let finding = |(weights, is_present): (&Weights, bool)| {
        Finding::ok(AREA, format!("local:{}: {}", weights.name, weights_state(weights, is_present)))
    };
    known_weights().into_iter().map(finding).collect()
}
