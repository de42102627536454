//! `loom` without a command in a terminal: opens the screen on the current tree. This is the only place where one front
//! end starts another. A user without a tree gets the sample tree and a tour.

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
    args::{ColorChoice, GlobalArgs},
    command_context::{CommandContext, CommandPosition},
    config::{self, fields::Theme},
    delegation, embedding_models, env,
    error::{CliError, Result},
    models,
    output::CliOutput,
    paths,
};

/// The file of key bindings, in the folder of the configuration.
const KEYS_FILE: &str = "keys.yaml";

/// Runs the screen until the user quits.
pub(super) fn run(globals: &GlobalArgs, out: &mut CliOutput) -> Result<()> {
    let palette = palette(globals, &config::load(globals)?);
    let keys = keys(globals)?;
    let mut cx = CommandContext::open(globals, out, true)?;
    let (current, tour) = starting_position(&mut cx)?;
    let approvals = ApprovalQueue::default();
    let model = cx.config.model.clone().or_else(|| env::env(MODEL_VARIABLE));
    let mut commands: ToolAccess = models::tool_access(&cx.config, model.as_deref());
    commands.orchestrator = delegation::default_orchestrator(&cx, Arc::new(approvals.clone()), None);
    let tools = tools(&cx, &approvals, &commands)?;
    let setup = ScreenSetup {
        loom: cx.loom.clone(),
        agent: cx.agent.clone(),
        workspace: cx.workspace.clone(),
        tree: current.tree.id,
        position: current.position.id,
        session: current.session.as_ref().map(|session| session.id),
        versions: current.versions().to_vec(),
        commands,
        model,
        tools,
        consent: approvals,
        models: cx.config.models.keys().cloned().collect(),
        context: cx.config.context(None),
        drafts: Some(cx.partials_dir.clone()),
        prices: cx.config.prices.clone(),
        count: cx.config.continuations(),
        palette,
        keys,
        editor: env::env("VISUAL").or_else(|| env::env("EDITOR")).unwrap_or_else(|| "vi".to_owned()),
        tour,
    };
    let _indexer = embedding_models::start_embedding(&cx);
    tui::run(setup).map_err(|error| match error {
        TerminalError::Signal => CliError::Cancelled,
        TerminalError::Io(source) => CliError::io("the terminal", source),
        error => CliError::failed(error.to_string()),
    })
}

/// Returns the services with workspace tools, which ask for approval on the screen; `None` in a build without them.
#[cfg(feature = "workspace")]
fn tools(cx: &CommandContext<'_>, approvals: &ApprovalQueue, defaults: &ToolAccess) -> Result<Option<ToolAccess>> {
    let folder = turn_args::workspace(cx, Arc::new(approvals.clone()), &[], &[])?;
    let tools = Arc::new(folder.host_tools(tui::COLLABORATOR)?);
    let orchestrator = delegation::default_orchestrator(cx, Arc::new(approvals.clone()), Some(Arc::new(folder)));
    Ok(Some(ToolAccess {
        tools,
        max_inline_tokens: delegation::MAX_INLINE_ANSWER_TOKENS,
        orchestrator,
        ..defaults.clone()
    }))
}

/// Returns `None`: this build has no workspace tools.
#[cfg(not(feature = "workspace"))]
fn tools(_: &CommandContext<'_>, _: &ApprovalQueue, _: &ToolAccess) -> Result<Option<ToolAccess>> {
    Ok(None)
}

/// Returns the start position, and whether the user gets the tour.
fn starting_position(cx: &mut CommandContext<'_>) -> Result<(CommandPosition, bool)> {
    if let Some(current) = cx.try_position()? {
        return Ok((current, false));
    }
    let newest = cx.loom.snapshot()?.trees(TreeFilter { archived: false, limit: 1 })?.pop();
    let (tree, tour): (Tree, bool) = match newest {
        Some(tree) => (tree, false),
        None => (demo::import_sample(cx)?.0, true),
    };
    // The tour leads from the root.
    let root = tree.root.filter(|_| tour).map(|root| cx.loom.node(root)).transpose()?;
    let position = root.map_or_else(|| cx.loom.position(&tree, None), Ok)?;
    Ok((CommandPosition { tree, session: None, position }, tour))
}

/// Returns the palette: from the options, else the configuration, else the terminal's background.
fn palette(globals: &GlobalArgs, config: &config::Config) -> Palette {
    let none =
        globals.color == ColorChoice::Never || globals.color == ColorChoice::Auto && env::env("NO_COLOR").is_some();
    if none {
        return Palette::Plain;
    }
    match config.theme {
        Some(Theme::Dark) => Palette::Dark,
        Some(Theme::Light) => Palette::Light,
        Some(Theme::None) => Palette::Plain,
        None => Palette::for_background(env::env("COLORFGBG").as_deref()),
    }
}

/// Returns the user's key bindings, or the defaults if there is no file.
pub(super) fn keys(globals: &GlobalArgs) -> Result<KeyMap> {
    let Ok(path) = config::path(globals).map(|path| path.with_file_name(KEYS_FILE)) else {
        return Ok(KeyMap::default());
    };
    match paths::read_settings(&path) {
        Ok(text) => KeyMap::read(&text).map_err(|what| CliError::Config(format!("{}: {what}", path.display()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(KeyMap::default()),
        Err(error) => Err(CliError::Config(format!("{} cannot be read: {error}", path.display()))),
    }
}
