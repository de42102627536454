//! `loom config`: shows the effective configuration, its path, or writes a first file.

use std::{io::Write as _, path::PathBuf};

use clap::Subcommand;
use serde::Serialize;

use crate::cli::{
    args::GlobalArgs,
    command_context,
    config::{self, CONFIG_TEMPLATE},
    error::{CliError, Result},
    output::{CliOutput, DIM, paint},
    paths,
    sanitize::one_line,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<ConfigCommand>,
}

/// Other actions on the configuration.
#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Print the path of the configuration file, whether or not it exists
    Path,
    /// Write a first configuration file with every field commented out
    Init,
}

#[derive(Serialize)]
struct EffectiveConfig {
    config: PathBuf,
    exists: bool,
    db: String,
    workspace: String,
    agent: String,
    model: Option<String>,
    models: Vec<String>,
    continuations: usize,
    temperature: Option<f32>,
    max_tokens: Option<u32>,
    wait_seconds: u32,
}

/// Shows, locates or creates the configuration.
pub(crate) fn run(args: Args, globals: &GlobalArgs, out: &mut CliOutput) -> Result<()> {
    let path = config::path(globals)?;
    match args.command {
        None => show(path, globals, out),
        Some(ConfigCommand::Path) if out.json => Ok(out.json(&path)?),
        Some(ConfigCommand::Path) => Ok(writeln!(out, "{}", path.display())?),
        Some(ConfigCommand::Init) => init(path, out),
    }
}

fn show(path: PathBuf, globals: &GlobalArgs, out: &mut CliOutput) -> Result<()> {
    let config = config::load(globals)?;
    let effective = EffectiveConfig {
        exists: path.exists(),
        config: path,
        db: command_context::location(globals)?.to_string(),
        workspace: paths::workspace(globals.workspace.as_deref())?,
        agent: globals.agent.clone().unwrap_or_else(|| "owner".to_owned()),
        continuations: config.continuations(),
        wait_seconds: config.wait_seconds(),
        model: config.model,
        models: config.models.into_keys().collect(),
        temperature: config.temperature,
        max_tokens: config.max_tokens,
    };
    if out.json {
        return Ok(out.json(&effective)?);
    }
    let e = &effective;
    let unset = || paint(DIM, "not set");
    let there = if e.exists { "" } else { "  (does not exist; `loom config init` creates it)" };
    let number = |value: Option<String>| value.unwrap_or_else(unset);
    let lines = [
        ("config", format!("{}{}", one_line(&e.config.display().to_string()), paint(DIM, there))),
        ("db", one_line(&e.db)),
        ("workspace", one_line(&e.workspace)),
        ("agent", one_line(&e.agent)),
        ("model", e.model.as_deref().map_or_else(|| paint(DIM, "not set; discovered"), one_line)),
        ("models", if e.models.is_empty() { unset() } else { one_line(&e.models.join(", ")) }),
        ("continuations", e.continuations.to_string()),
        ("temperature", number(e.temperature.map(|t| t.to_string()))),
        ("max_tokens", number(e.max_tokens.map(|t| t.to_string()))),
        ("wait_seconds", e.wait_seconds.to_string()),
    ];
    for (name, value) in lines {
        writeln!(out, "{}  {value}", paint(DIM, format!("{name:>13}")))?;
    }
    Ok(())
}

fn init(path: PathBuf, out: &mut CliOutput) -> Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        paths::create_private_dir(folder)?;
    }
    let file = std::fs::File::options().write(true).create_new(true).open(&path);
    let mut file = file.map_err(|e| match e.kind() {
        std::io::ErrorKind::AlreadyExists => {
            CliError::failed(format!("{} already exists; nothing was written", path.display()))
        }
        _ => CliError::io(format!("writing {}", path.display()), e),
    })?;
    file.write_all(CONFIG_TEMPLATE.as_bytes()).map_err(|e| CliError::io(format!("writing {}", path.display()), e))?;
    if out.json {
        out.json(&path)?
    } else {
        writeln!(out, "{}", path.display())?
    }
    Ok(())
}
