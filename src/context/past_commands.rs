//! Commands of an agent's own replies, as later prompts show them.
//!
//! Within its turn a reply is shown as it was written. Afterwards its command lines are replaced by one line on what was
//! done. Results of host tools stay, and older ones are reduced to the command that shows them again. Own thoughts stay.

use crate::{
    arrow::{Event, ends_turn, scan},
    store::{ChildFilter, Result, Snapshot},
    tools::Tool,
    types::{AuthorType, EdgeKind, Node, first_words, first_words_of_command, one_line},
};

use super::{
    command_rounds::without_long_texts,
    node::{NodeRenderer, escape_headers},
};

/// Maximum characters of a command, and of all commands of a reply.
const MAX_COMMAND_CHARS: usize = 200;
const MAX_COMMANDS_CHARS: usize = 600;
/// Minimum characters of a command among many.
const MIN_COMMAND_CHARS: usize = 24;
/// Maximum characters of a thought.
const MAX_THOUGHT_CHARS: usize = 800;

/// Commands, results and thoughts of an own reply of an earlier turn.
#[derive(Debug, Default)]
pub(super) struct PastCommands {
    /// Line on the commands, and the thoughts; empty if there are none.
    pub(super) text: String,
    /// Results of host tools, in the order of the commands.
    pub(super) results: Vec<HostResult>,
}

/// Result of a host tool.
#[derive(Debug)]
pub(super) struct HostResult {
    /// Command and result.
    pub(super) text: String,
    /// Line that names the command which shows the result again.
    pub(super) stub: String,
}

/// Returns the part of a reply that was executed and answered. What the model wrote after its commands is not part of it.
pub(super) fn answered_part(node: &Node) -> &str {
    let Some(raw) = &node.raw else { return &node.content };
    let mut end = 0;
    for event in scan(raw) {
        match event {
            Event::Call(call) => end = end.max(call.span.end),
            Event::Thought(thought) => end = end.max(thought.span.end),
            Event::BatchEnd => return raw[..end.min(raw.len())].trim_end(),
            Event::Prose(_) => {}
        }
    }
    raw.trim_end()
}

/// Reads what the agent did with a reply; `None` if the reply is not its own or holds no commands and thoughts.
pub(super) fn read(snapshot: &dyn Snapshot, view: &NodeRenderer, node: &Node) -> Result<Option<PastCommands>> {
    let acts = node.raw.is_some() || node.tool.calls.is_some();
    if !view.aware || node.author != view.agent || node.author_type != AuthorType::Model || !acts {
        return Ok(None);
    }
    let of_kind = |kind| snapshot.children(node.id, &ChildFilter { kind: Some(kind), pruned: false, limit: 64 });
    let results = of_kind(EdgeKind::Tool)?;
    let mut acts = PastCommands::default();
    for thought in of_kind(EdgeKind::Thought)?.iter().filter(|thought| thought.author == view.agent) {
        let words = first_words(&one_line(&thought.content), MAX_THOUGHT_CHARS);
        push_line(&mut acts.text, &format!("[thought: {words}]"));
    }
    let (reports, results): (Vec<Node>, Vec<Node>) = results.into_iter().partition(is_late_report);
    if !results.is_empty() {
        push_line(&mut acts.text, &did_line(node, &results));
    }
    let shown = results.iter().filter(|result| is_host_tool(result)).chain(&reports);
    acts.results = shown.map(host_result).collect();
    Ok((!acts.text.is_empty()).then_some(acts))
}

fn push_line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

/// True for the result of a tool that the host program provides.
fn is_host_tool(result: &Node) -> bool {
    let name = result.tool.name.as_deref();
    name.is_some_and(|name| Tool::ALL.iter().all(|tool| tool.name() != name))
}

/// True for the report of a delegation that ended after the turn that began it.
fn is_late_report(result: &Node) -> bool {
    result.tool.name.as_deref() == Some(Tool::Delegate.name()) && command(result).is_none()
}

/// Formats the line on the commands of a reply: `[did: view a7x2kq ✓ · respond "No." ✓ b3k9ze · write doc:"plot" ✗
/// NOT_FOUND]`. Each command has a share of the line. The nodes that it made or found follow it.
fn did_line(node: &Node, results: &[Node]) -> String {
    let lines = node.raw.as_deref().map(written_lines).filter(|lines| lines.len() == results.len());
    let share = (MAX_COMMANDS_CHARS / results.len().max(1)).clamp(MIN_COMMAND_CHARS, MAX_COMMAND_CHARS);
    let said = results.iter().enumerate().map(|(at, result)| {
        let line = lines.as_ref().and_then(|lines| lines.get(at).cloned());
        let line = line.or_else(|| command(result)).or_else(|| result.tool.name.clone()).unwrap_or_default();
        // On one line, a text of several lines would differ from what was written.
        let line = if line.contains('\n') { without_long_texts(&line) } else { line };
        let line = first_words_of_command(line.trim_start_matches(['→', ' ']), share);
        let delegates = result.tool.name.as_deref() == Some(Tool::Delegate.name());
        match result.content.strip_prefix("✗ ") {
            // The report of a task that was stopped or that failed; an error has a code.
            Some(report) if delegates && report.starts_with(char::is_lowercase) => {
                format!("{line} ✗ → view {} full", result.local)
            }
            Some(error) => format!("{line} ✗ {}", error.split([':', ' ', '\n']).next().unwrap_or_default()),
            // A report leaves the prompt with its turn.
            None if delegates => {
                format!("{line} ✓ → view {} full", result.local)
            }
            None => format!("{line} ✓{}", named_nodes(result)),
        }
    });
    format!("[did: {}]", said.collect::<Vec<_>>().join(" · "))
}

/// Returns the command lines of a reply as they were written.
fn written_lines(raw: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for event in scan(raw) {
        match event {
            Event::Call(call) if !ends_turn(call.text) => lines.push(call.text.to_owned()),
            Event::BatchEnd => break,
            Event::Call(_) | Event::Prose(_) | Event::Thought(_) => {}
        }
    }
    lines
}

/// Names the nodes that a command made or found, after a space; empty for a command that does neither.
fn named_nodes(result: &Node) -> String {
    let metadata = metadata(result);
    match metadata.as_ref().and_then(|metadata| metadata["nodes"].as_array()) {
        None => String::new(),
        Some(nodes) if nodes.is_empty() => " nothing".to_owned(),
        Some(nodes) => {
            let ids: Vec<String> = nodes.iter().filter_map(|node| node.as_str()).map(one_line).collect();
            format!(" {}", ids.join(", "))
        }
    }
}

/// Returns the canonical command of a result.
fn command(result: &Node) -> Option<String> {
    metadata(result)?["command"].as_str().map(str::to_owned)
}

fn metadata(result: &Node) -> Option<serde_json::Value> {
    serde_json::from_str(result.metadata.as_ref()?.as_str()).ok()
}

fn host_result(result: &Node) -> HostResult {
    let line = command(result).unwrap_or_default();
    let name = result.tool.name.as_deref().unwrap_or("tool");
    // On one line, a text of several lines would differ from what was written, down to its spaces.
    let line = without_long_texts(&line);
    let short = first_words_of_command(line.trim_start_matches(['→', ' ']), MAX_COMMAND_CHARS);
    let short = if short.is_empty() { one_line(name) } else { short };
    let lines = crate::exec::counts::count(result.content.lines().count() as u64, "line");
    let again = match result.turn {
        Some(turn) => format!("→ recall turns:{turn}-{turn}"),
        None => format!("→ view {} full", result.local),
    };
    // The mark of the result itself is no imitation of one.
    let mark = if result.content.starts_with(['✓', '✗']) { '✓'.len_utf8() } else { 0 };
    let (mark, rest) = result.content.split_at(mark);
    let text = format!("→ {short}\n{mark}{}", escape_headers(rest));
    HostResult { text, stub: format!("[{short} · {lines} · {again}]") }
}
