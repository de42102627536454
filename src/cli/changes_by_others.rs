//! Notice of what other agents changed since the user's own last change, before the output of a command.

use std::io::{self, IsTerminal as _, Write as _};

use loomtree::{
    exec::escape::quoted,
    ops::{changes_by_others, describe_entry},
    types::AgentKind,
};

use super::{
    command_context::CommandContext,
    error::{CliError, Result},
    output::count,
    sanitize::{one_line, sanitize},
};

/// Prints the notice to standard error, if that is a terminal and the acting agent is a human.
pub(crate) fn notify(cx: &mut CommandContext<'_>) -> Result<()> {
    if cx.out.json || cx.agent.profile.kind != AgentKind::Human || !io::stderr().is_terminal() {
        return Ok(());
    }
    let Ok(Some(current)) = cx.try_position() else { return Ok(()) };
    let snapshot = cx.loom.snapshot()?;
    let entries = changes_by_others(&*snapshot, current.tree.id, cx.agent.id(), None)?.entries;
    let Some(last) = entries.first() else { return Ok(()) };
    let name = one_line(cx.name(last.agent));
    let change = describe_entry(&*snapshot, last)?.words(&|id| id.to_string(), &|name| quoted(&sanitize(name)));
    let more = match entries.len() - 1 {
        0 => String::new(),
        more => format!(", after {} of other agents", count(more as u64, "more change")),
    };
    let advice = format!("`loom log` lists the changes, `loom undo --agent '{name}'` reverts the last of {name}");
    writeln!(io::stderr(), "{name} {change}{more}; {advice}").map_err(|e| CliError::io("writing", e))
}
