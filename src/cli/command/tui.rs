//! `loom` alone in a terminal: opens the screen on the newest tree of this folder. The only place where one face starts
//! another. A person who has no tree yet gets the sample tree, and a tour.

use std::sync::Arc;

use loomtree::{
    provider::MODEL_VARIABLE,
    session::ToolAccess,
    store::TreeFilter,
    tui::{self, ApprovalQueue, KeyMap, Palette, ScreenSetup, TerminalError},
    types::Tree,
};

use super::demo;
#[cfg(feature = "workspace")]
use crate::cli::turn_args;
use crate::cli::{
    args::{ColorChoice, Globals},
    command_context::{CommandContext, CommandPosition},
    config, delegation, env,
    error::{CliError, Result},
    models,
    output::CliOutput,
};

/// Where keys are changed: beside the configuration.
const KEYS: &str = "keys.yaml";

/// Shows the screen until the person leaves.
pub(super) fn run(globals: &Globals, out: &mut CliOutput) -> Result<()> {
    let palette = palette(globals, &config::load(globals)?)?;
    let keys = keys(globals)?;
    let mut desk = CommandContext::open(globals, out, true)?;
    let (here, tour) = begin(&mut desk)?;
    let consent = ApprovalQueue::default();
    let mut commands: ToolAccess = models::commands(&desk.config);
    commands.orchestrator = delegation::usual(&desk, Arc::new(consent.clone()), None);
    let tools = tools(&desk, &consent, &commands)?;
    let setup = ScreenSetup {
        loom: desk.loom.clone(),
        agent: desk.agent.clone(),
        workspace: desk.workspace.clone(),
        tree: here.tree.id,
        position: here.position.id,
        session: here.session.as_ref().map(|session| session.id),
        versions: here.versions().to_vec(),
        commands,
        model: desk.config.model.clone().or_else(|| env::env(MODEL_VARIABLE)),
        tools,
        consent,
        models: desk.config.models.keys().cloned().collect(),
        context: desk.config.context(None),
        drafts: Some(desk.drafts.clone()),
        prices: desk.config.prices.clone(),
        count: desk.config.continuations(),
        palette,
        keys,
        editor: env::env("VISUAL").or_else(|| env::env("EDITOR")).unwrap_or_else(|| "vi".to_owned()),
        tour,
    };
    tui::run(setup).map_err(|error| match error {
        TerminalError::Signal => CliError::Cancelled,
        TerminalError::Io(source) => CliError::io("the terminal", source),
        error => CliError::failed(error.to_string()),
    })
}

/// What is done with the tools for the folder, which ask on the screen; nothing in a build without them.
#[cfg(feature = "workspace")]
fn tools(desk: &CommandContext<'_>, consent: &ApprovalQueue, usual: &ToolAccess) -> Result<Option<ToolAccess>> {
    let folder = turn_args::workspace(desk, Arc::new(consent.clone()), &[], &[])?;
    let tools = Arc::new(folder.host_tools(tui::COLLABORATOR).map_err(CliError::failed)?);
    let orchestrator = delegation::usual(desk, Arc::new(consent.clone()), Some(Arc::new(folder)));
    Ok(Some(ToolAccess { tools, max_inline_tokens: turn_args::ANSWER, orchestrator, ..usual.clone() }))
}

/// A build without them has none.
#[cfg(not(feature = "workspace"))]
fn tools(_: &CommandContext<'_>, _: &ApprovalQueue, _: &ToolAccess) -> Result<Option<ToolAccess>> {
    Ok(None)
}

/// The tree to begin with, and whether it is somebody's first.
fn begin(desk: &mut CommandContext<'_>) -> Result<(CommandPosition, bool)> {
    if let Some(here) = desk.find_here()? {
        return Ok((here, false));
    }
    let newest = desk.loom.snapshot()?.trees(TreeFilter { archived: false, limit: 1 })?.pop();
    let (tree, tour): (Tree, bool) = match newest {
        Some(tree) => (tree, false),
        None => (demo::sample(desk)?.0, true),
    };
    let root = tree.root.ok_or_else(|| CliError::failed("this tree has no root"))?;
    let position = desk.loom.node(root)?;
    Ok((CommandPosition { tree, session: None, position }, tour))
}

/// Colours as the person wants them: what was asked for, what the configuration says, what the terminal says of its ground.
fn palette(globals: &Globals, config: &config::Config) -> Result<Palette> {
    let none =
        globals.color == ColorChoice::Never || globals.color == ColorChoice::Auto && env::env("NO_COLOR").is_some();
    if none {
        return Ok(Palette::Plain);
    }
    if let Some(theme) = &config.theme {
        return Palette::named(theme)
            .ok_or_else(|| CliError::Config(format!("theme is dark, light or none, not {theme:?}")));
    }
    // Terminals that tell their colours give the ground last: 7 and what is above 8 is light.
    let ground = env::env("COLORFGBG").and_then(|value| value.rsplit(';').next()?.parse::<u8>().ok());
    Ok(if ground.is_some_and(|ground| ground == 7 || ground > 8) { Palette::Light } else { Palette::Dark })
}

/// The person's keys; the usual ones where there is no file.
pub(super) fn keys(globals: &Globals) -> Result<KeyMap> {
    let Ok(path) = config::path(globals).map(|path| path.with_file_name(KEYS)) else { return Ok(KeyMap::default()) };
    match env::read_settings(&path) {
        Ok(text) => KeyMap::read(&text).map_err(|what| CliError::Config(format!("{}: {what}", path.display()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(KeyMap::default()),
        Err(error) => Err(CliError::Config(format!("{} cannot be read: {error}", path.display()))),
    }
}
