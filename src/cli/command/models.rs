//! `loom models`: what is configured, what a server has, and what would be used.

use std::io::Write as _;

use loomtree::provider::{Target, discover, known_providers, list_models, resolve};
use serde::Serialize;

use crate::cli::{
    args::Globals,
    config::{self, Config},
    error::{CliError, Result},
    host,
    out::{BOLD, DIM, Out, paint},
    sanitize::one_line,
};

/// What `models` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// List what this server has: a provider, a URL, or a name of the configuration
    server: Option<String>,
}

/// Lists a server's models, or what is configured and what would be used.
pub(crate) fn run(args: Args, globals: &Globals, out: &mut Out) -> Result<()> {
    let config = config::load(globals)?;
    let runtime = host::runtime()?;
    match args.server {
        Some(server) => runtime.block_on(of_server(&server, &config, out)),
        None => runtime.block_on(overview(&config, out)),
    }
}

async fn of_server(server: &str, config: &Config, out: &mut Out) -> Result<()> {
    let endpoint = match resolve(server, &config.models, &host::env)? {
        Target::Endpoint(endpoint) => endpoint,
        Target::Local(_) | Target::Scripted(_) => return Err(CliError::failed("it is a model, and no server")),
    };
    let models = list_models(&endpoint).await?;
    if models.is_empty() && !out.json {
        writeln!(out, "it lists no models")?;
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
struct Overview<'a> {
    would_use: Option<String>,
    configured: Vec<&'a String>,
    providers: Vec<&'static str>,
}

async fn overview(config: &Config, out: &mut Out) -> Result<()> {
    let found = match &config.model {
        Some(model) => Some(resolve(model, &config.models, &host::env)?),
        None => discover::discover(&config.models, &host::env).await?,
    };
    let would_use = found.map(|target| target.reference());
    let overview =
        Overview { would_use, configured: config.models.keys().collect(), providers: known_providers().collect() };
    if out.json {
        return Ok(out.json(&overview)?);
    }
    match &overview.would_use {
        Some(model) => writeln!(out, "{}  {}", paint(BOLD, one_line(model)), paint(DIM, "would be used"))?,
        None => return Err(CliError::NoModel),
    }
    for name in overview.configured {
        writeln!(out, "{}  {}", one_line(name), paint(DIM, "configured"))?;
    }
    let providers = overview.providers.join(", ");
    writeln!(out, "{}", paint(DIM, format!("providers: {providers}; `loom models PROVIDER` lists what it has")))?;
    Ok(())
}
