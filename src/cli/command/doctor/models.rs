//! Checks of the models that this machine can use.

use std::path::PathBuf;

use loomtree::provider::{ProviderStatus, Target, Weights, resolve, survey};

use super::finding::Finding;
use crate::cli::{
    command::models::{DOWNLOAD_FOLDER_PREFIX, known_weights, weights_state},
    config::Config,
    env,
    error::Result,
    model_choice::find_model,
    paths, process_setup,
};

const AREA: &str = "Models";

pub(super) fn check(config: &Config) -> Result<Vec<Finding>> {
    process_setup::runtime()?.block_on(async {
        let providers = survey(&env::env).await;
        let mut findings = vec![in_use(config).await];
        findings.extend(config.models.keys().map(|name| configured(name, config)));
        findings.extend(providers.iter().map(provider));
        findings.extend(weights());
        findings.extend(interrupted_downloads());
        Ok(findings)
    })
}

/// Checks the default model.
async fn in_use(config: &Config) -> Finding {
    match find_model(config.model.as_deref(), config).await {
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

/// Checks for folders of downloads whose process has ended.
fn interrupted_downloads() -> Vec<Finding> {
    let Ok(folder) = paths::models_dir() else { return Vec::new() };
    let is_interrupted = |name: &str| {
        let pid = name.strip_prefix(DOWNLOAD_FOLDER_PREFIX).and_then(|pid| pid.parse().ok());
        pid.is_some_and(|pid| !is_running(pid))
    };
    let found = super::database::files(&folder, is_interrupted);
    let finding = |folder: &PathBuf| {
        let message = format!("{} was left by an interrupted download", folder.display());
        Finding::note(AREA, message, format!("remove it: rm -r '{}'", folder.display()))
    };
    found.iter().map(finding).collect()
}

#[cfg(unix)]
fn is_running(pid: i32) -> bool {
    // A process of another user exists but may not be signalled.
    let signalled = |pid| rustix::process::test_kill_process(pid);
    rustix::process::Pid::from_raw(pid).is_some_and(|pid| signalled(pid) != Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn is_running(_: i32) -> bool {
    true
}
