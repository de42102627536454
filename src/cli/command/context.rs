//! `loom context`: what a model would be sent from here, and what of the path is in it.

use std::io::Write as _;

use clap::ValueEnum;
use loomtree::{
    context::{
        AssembledPrompt, ContextOptions, ContextReport, Inclusion, InclusionReason, RenderedPrompt, Rendering, Strategy,
    },
    ops::OpsError,
    provider::{Target, resolve},
    session::context_of,
    types::{Agent, PinTarget},
};

use crate::cli::{
    command_context::CommandContext,
    env,
    error::Result,
    output::{BOLD, DIM, ID, count, paint},
    sanitize::{cut, sanitize},
};

/// What `context` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The node to go on from [default: where you are]
    id: Option<String>,
    /// Who would write
    #[arg(long, value_name = "AGENT", default_value = "subject")]
    agent: String,
    /// The model's context window, in tokens [default: 128000, or what the configuration says]
    #[arg(long, value_name = "TOKENS")]
    window: Option<u32>,
    /// What is done when not everything fits [default: rolling_window, or what the configuration says]
    #[arg(long, value_enum)]
    strategy: Option<ContextFormat>,
    /// Everything as it is now, or what was shown as it was shown [default: stable, or what the configuration says]
    #[arg(long, value_enum)]
    rendering: Option<AsOf>,
    /// What is in it and what is not, with tokens, instead of the words
    #[arg(long)]
    report: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum ContextFormat {
    /// The newest nodes that fit
    RollingWindow,
    /// The first nodes and the newest
    Middle,
    /// An error
    Stop,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AsOf {
    /// Everything as it is now
    Live,
    /// What was shown stays as it was shown
    Stable,
}

/// Prints the prompt or the report.
pub(crate) fn run(args: &Args, desk: &mut CommandContext<'_>) -> Result<()> {
    let here = desk.here()?;
    let from = desk.node_or_here(&here, args.id.as_deref())?;
    let author = desk.loom.agent(&args.agent)?;
    let usual = desk.config.context(args.window);
    let options = ContextOptions {
        strategy: args.strategy.map_or(usual.strategy, |how| match how {
            ContextFormat::RollingWindow => Strategy::RollingWindow,
            ContextFormat::Middle => Strategy::Middle,
            ContextFormat::Stop => Strategy::Stop,
        }),
        rendering: args.rendering.map_or(usual.rendering, |when| match when {
            AsOf::Live => Rendering::Live,
            AsOf::Stable => Rendering::Stable,
        }),
        ..usual
    };
    let options = match reference(&author, desk) {
        Some(reference) => options.calibrated_for(&reference, &*desk.loom.snapshot()?).map_err(OpsError::from)?,
        None => options,
    };
    let actor = match &here.session {
        Some(session) => desk.actor().in_session(session.id),
        None => desk.actor(),
    };
    let assembled = context_of(&actor, &author, from.id, here.versions(), options)?;
    match (desk.out.json, args.report) {
        (true, true) => Ok(desk.out.json(&assembled.report)?),
        (true, false) => Ok(desk.out.json(&assembled)?),
        (false, true) => report(&assembled.report, desk),
        (false, false) => prompt(&assembled, desk),
    }
}

/// The model that the author would use, if one is named; none is asked.
fn reference(author: &Agent, desk: &CommandContext<'_>) -> Option<String> {
    let written = author.profile.model.as_deref().or(desk.config.model.as_deref())?;
    Some(match resolve(written, &desk.config.models, &env::env) {
        Ok(Target::Endpoint(endpoint)) => endpoint.reference,
        _ => written.to_owned(),
    })
}

fn prompt(assembled: &AssembledPrompt, desk: &mut CommandContext<'_>) -> Result<()> {
    match &assembled.prompt {
        RenderedPrompt::Text(text) => writeln!(desk.out, "{}", sanitize(text))?,
        RenderedPrompt::Messages(messages) => {
            for (at, message) in messages.iter().enumerate() {
                let gap = if at == 0 { "" } else { "\n" };
                let role = serde_json::to_value(message.role).unwrap_or_default();
                writeln!(desk.out, "{gap}{}", paint(DIM, format!("── {} ──", role.as_str().unwrap_or("?"))))?;
                writeln!(desk.out, "{}", sanitize(&message.content))?;
            }
        }
    }
    Ok(())
}

fn report(report: &ContextReport, desk: &mut CommandContext<'_>) -> Result<()> {
    for (part, tokens) in &report.sections {
        writeln!(desk.out, "{tokens:>9}  {}", part.as_str())?;
    }
    let free = report.budget.saturating_sub(report.total);
    writeln!(desk.out, "{}  in all", paint(BOLD, format!("{:>9}", report.total)))?;
    writeln!(desk.out, "{free:>9}  free of {}, in a window of {}", report.budget, report.window)?;
    if !report.calibration.is_none() {
        let by = f64::from(report.calibration.permille()) / 1_000.0;
        writeln!(desk.out, "{by:>9.2}  of its own tokens this model counts for one of these, which are estimated")?;
    }
    writeln!(desk.out)?;
    if report.earlier > 0 {
        let above = format!("⋮ {} above, not looked at: no room", count(report.earlier, "node"));
        writeln!(desk.out, "{}", paint(DIM, above))?;
    }
    for node in &report.path {
        let id = paint(ID, &node.local);
        let edited =
            if node.role == node.author_type { String::new() } else { format!(", edited by {}", node.author_type) };
        writeln!(desk.out, "{:>9}  {id}  {:<6}  {}{edited}", node.tokens, node.role.as_str(), fate(node.inclusion))?;
    }
    for pin in &report.pins {
        let kind = if matches!(pin.target, PinTarget::Node(_)) { "pin" } else { "pin of a document" };
        let name = cut(&pin.name, desk.out.width.saturating_sub(40));
        writeln!(desk.out, "{:>9}  {kind}  {name}  {}", pin.tokens, fate(pin.inclusion))?;
    }
    Ok(())
}

fn fate(fate: Inclusion) -> String {
    let said = |what: &str, why: InclusionReason| format!("{what}: {}", why.as_str());
    match fate {
        Inclusion::Full => "in".to_owned(),
        Inclusion::Truncated(why) => said("cut", why),
        Inclusion::Omitted(why) => said("out", why),
    }
}
