//! The program's host of agents' commands, a [`SessionHost`] made from the configuration, and delegated work that runs in
//! the background.

use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::Arc,
};

use loomtree::{
    delegate,
    id::AgentId,
    ops::Actor,
    session::{BackgroundDelegations, SessionHost},
};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::{
    cancel_on_ctrl_c::CtrlC,
    command_context::CommandContext,
    delegation,
    error::{CliError, Result},
    models::tool_access,
};

/// Returns the host that runs an agent's arrow lines; `model` as in [`ConfigModels::new`].
pub(crate) fn session_host(
    cx: &CommandContext<'_>,
    agent: AgentId,
    model: Option<&str>,
    runtime: &Runtime,
    cancel: CancellationToken,
) -> SessionHost {
    let mut commands = tool_access(&cx.config, model);
    commands.orchestrator = delegation::default_orchestrator(cx, Arc::clone(&cx.approval), None);
    SessionHost {
        runtime: runtime.handle().clone(),
        agent,
        tool_access: commands,
        context: cx.config.context(None),
        partials_dir: Some(cx.partials_dir.clone()),
        prices: cx.config.prices.clone(),
        cancel,
        on_delegation: update_printer(cx),
        on_progress: Arc::new(|_| {}),
    }
}

/// Returns a sink that prints updates of delegated work to a terminal.
fn update_printer(cx: &CommandContext<'_>) -> delegate::UpdateSink {
    let (width, shown) = (cx.out.width, !cx.out.json && io::stderr().is_terminal());
    Arc::new(move |update| {
        if let Some(line) = delegation::update_line(&update, width).filter(|_| shown) {
            // A closed standard error is ignored: the report has the same facts.
            let _ = writeln!(anstream::stderr(), "{}", line.trim_end());
        }
    })
}

/// Moves `follower` to the position of `agent`, if both are in the same tree.
pub(crate) fn follow_agent(follower: &Actor, agent: &Actor) -> Result<()> {
    let (Some(own), Some(theirs)) = (follower.session(), agent.session()) else { return Ok(()) };
    let (session, theirs) = (follower.loom().session(own)?, follower.loom().session(theirs)?);
    if theirs.tree == session.tree
        && let Some(position) = theirs.position
        && Some(position) != session.position
    {
        follower.set_position(&session, &follower.loom().node(position)?)?;
    }
    Ok(())
}

/// Waits for delegations that run in the background. Ctrl-C stops them; they can be resumed later.
pub(crate) fn wait_for_background(background: &BackgroundDelegations, runtime: &Runtime, ctrl_c: &CtrlC) -> Result<()> {
    let running = background.running();
    if running == 0 {
        return Ok(());
    }
    let notice =
        format!("waiting for delegated work ({running} running); Ctrl-C stops it, loom delegate --resume continues it");
    writeln!(io::stderr(), "{notice}").map_err(|e| CliError::io("writing", e))?;
    let cancel = ctrl_c.arm();
    runtime.block_on(async {
        tokio::select! {
            () = background.idle() => {}
            () = cancel.cancelled() => {
                background.stop();
                background.idle().await;
            }
        }
    });
    ctrl_c.disarm();
    Ok(())
}
