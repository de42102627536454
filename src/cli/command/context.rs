//! `loom context`: prints the prompt that a model would get at a node, or a report of its contents.

use std::io::Write as _;

use clap::ValueEnum;
use loomtree::{
    context::{AssembledPrompt, ContextOptions, ContextReport, Inclusion, OmissionReason, Rendering, Strategy},
    ops::OpsError,
    ops::require_visible,
    provider::{MODEL_VARIABLE, resolve},
    session::context_of,
    types::{Agent, PinTarget, Prompt},
};

use crate::cli::{
    command_context::CommandContext,
    env,
    error::Result,
    model_choice::named_model,
    output::{BOLD, DIM, ID, count, paint},
    sanitize::{cut, sanitize},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The node to continue from [default: your position]
    id: Option<String>,
    /// The agent that would continue
    #[arg(long, value_name = "AGENT", default_value = "subject")]
    agent: String,
    /// The model's context window, in tokens [default: the configured window or 128000, at most the model's own]
    #[arg(long, value_name = "TOKENS")]
    window: Option<u32>,
    /// The strategy for a full context window [default: rolling_window, or the configured strategy]
    #[arg(long, value_enum)]
    strategy: Option<StrategyArg>,
    /// The rendering of the prompt [default: stable, or the configured rendering]
    #[arg(long, value_enum)]
    rendering: Option<RenderingArg>,
    /// Print a report of what is included and omitted, with tokens, instead of the prompt
    #[arg(long)]
    report: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum StrategyArg {
    /// Keep the newest nodes that fit
    RollingWindow,
    /// Keep the first nodes and the newest
    Middle,
    /// Fail if the nodes do not fit
    Stop,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum RenderingArg {
    /// Show the present state
    Live,
    /// Repeat what was sent before byte for byte, for providers' caches
    Stable,
}

/// Prints the prompt or the report.
pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let current = cx.position()?;
    let from = cx.node_or_here(&current, args.id.as_deref())?;
    require_visible(&from)?;
    let author = cx.loom.agent(&args.agent)?;
    let defaults = cx.config.context(args.window);
    let options = ContextOptions {
        strategy: args.strategy.map_or(defaults.strategy, |strategy| match strategy {
            StrategyArg::RollingWindow => Strategy::RollingWindow,
            StrategyArg::Middle => Strategy::Middle,
            StrategyArg::Stop => Strategy::Stop,
        }),
        rendering: args.rendering.map_or(defaults.rendering, |rendering| match rendering {
            RenderingArg::Live => Rendering::Live,
            RenderingArg::Stable => Rendering::Stable,
        }),
        ..defaults
    };
    let options = for_model(options, &author, cx)?;
    let actor = match &current.session {
        Some(session) => cx.actor().in_session(session.id),
        None => cx.actor(),
    };
    let assembled = context_of(&actor, &author, from.id, current.versions(), options)?;
    match (cx.out.json, args.report) {
        (true, true) => Ok(cx.out.json(&assembled.report)?),
        (true, false) => Ok(cx.out.json(&assembled)?),
        (false, true) => report(&assembled.report, cx),
        (false, false) => prompt(&assembled, cx),
    }
}

/// Adapts options to the author's model, if one is named: its token counts and its window. Connects to no server.
fn for_model(options: ContextOptions, author: &Agent, cx: &CommandContext<'_>) -> Result<ContextOptions> {
    let named = named_model(None, Some(author), &cx.config).map(str::to_owned);
    let Some(named) = named.or_else(|| env::env(MODEL_VARIABLE)) else { return Ok(options) };
    let (reference, window) = match resolve(&named, &cx.config.models, &env::env) {
        Ok(target) => (target.reference(), target.window()),
        Err(_) => (named, None),
    };
    let options = options.calibrated_for(&reference, &*cx.loom.snapshot()?).map_err(OpsError::from)?;
    Ok(options.limit_window(window))
}

fn prompt(assembled: &AssembledPrompt, cx: &mut CommandContext<'_>) -> Result<()> {
    match &assembled.prompt {
        Prompt::Raw(text) => writeln!(cx.out, "{}", sanitize(text))?,
        Prompt::Chat(messages) => {
            for (at, message) in messages.iter().enumerate() {
                let gap = if at == 0 { "" } else { "\n" };
                let role = serde_json::to_value(message.role).unwrap_or_default();
                writeln!(cx.out, "{gap}{}", paint(DIM, format!("── {} ──", role.as_str().unwrap_or("?"))))?;
                writeln!(cx.out, "{}", sanitize(&message.text()))?;
            }
        }
    }
    Ok(())
}

fn report(report: &ContextReport, cx: &mut CommandContext<'_>) -> Result<()> {
    for (part, tokens) in &report.sections {
        writeln!(cx.out, "{tokens:>9}  {}", part.as_str())?;
    }
    let free = report.budget.saturating_sub(report.total);
    writeln!(cx.out, "{}  total", paint(BOLD, format!("{:>9}", report.total)))?;
    writeln!(cx.out, "{free:>9}  free of {}, in a window of {} tokens", report.budget, report.window)?;
    if !report.calibration.is_none() {
        let by = f64::from(report.calibration.permille()) / 1_000.0;
        writeln!(cx.out, "{by:>9.2}  tokens of this model for each estimated token")?;
    }
    writeln!(cx.out)?;
    if report.earlier > 0 {
        let above = format!("⋮ {} above, omitted: the window is full", count(report.earlier, "node"));
        writeln!(cx.out, "{}", paint(DIM, above))?;
    }
    for node in &report.path {
        let id = paint(ID, &node.local);
        let edited =
            if node.role == node.author_type { String::new() } else { format!(", edited by {}", node.author_type) };
        writeln!(cx.out, "{:>9}  {id}  {:<6}  {}{edited}", node.tokens, node.role.as_str(), inclusion(node.inclusion))?;
    }
    for pin in &report.pins {
        let kind = if matches!(pin.target, PinTarget::Node(_)) { "pin" } else { "document pin" };
        let name = cut(&pin.name, cx.out.width.saturating_sub(40));
        writeln!(cx.out, "{:>9}  {kind}  {name}  {}", pin.tokens, inclusion(pin.inclusion))?;
    }
    Ok(())
}

fn inclusion(inclusion: Inclusion) -> String {
    let said = |what: &str, why: OmissionReason| format!("{what}: {}", why.as_str());
    match inclusion {
        Inclusion::Full => "in".to_owned(),
        Inclusion::Truncated(why) => said("cut", why),
        Inclusion::Omitted(why) => said("out", why),
    }
}
