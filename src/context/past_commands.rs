//! Commands of an agent's own replies and imported calls, as later prompts show them.
//!
//! Within its turn a reply is shown as it was written. Afterwards its command lines are replaced by one line on what was
//! done. Results of host tools stay, and older ones are reduced to the command that shows them again. Own thoughts stay.
//! Imported calls of tools have such a line too, for every agent, because their results are not on the path.

use crate::{
    arrow::{Event, ends_turn, scan},
    exec::counts::count,
    id::NodeId,
    recall::{calls_with_ids, cut_at, end_of, failed_exit, is_failure},
    store::{ChildFilter, Result, Snapshot},
    tools::Tool,
    types::{AuthorType, EdgeKind, Node, first_words, first_words_of_command, one_line},
};

use super::{
    command_rounds::{replace_texts, size, without_long_texts},
    node_renderer::{NodeRenderer, escape_headers},
};

/// Maximum characters of a command, and of all commands of a reply.
const MAX_COMMAND_CHARS: usize = 200;
const MAX_COMMANDS_CHARS: usize = 600;
/// Minimum characters of a command among many.
const MIN_COMMAND_CHARS: usize = 24;
/// Bytes of the size of a text.
const MAX_SIZE_BYTES: usize = 20;
/// Maximum characters of the arguments of an imported call.
const MAX_IMPORTED_CALL_CHARS: usize = 80;
/// Maximum bytes of a result that the line quotes instead of its size.
const MAX_QUOTED_RESULT_BYTES: usize = 48;
/// Maximum characters of the operations that an undo took back.
const MAX_REVERTED_CHARS: usize = 120;
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
    /// Turn of the call; `None` for the report of a delegation, which shows no change of a file.
    pub(super) turn: Option<u64>,
    /// File that the command read, and the turn.
    pub(super) read: Option<(String, u64)>,
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

/// Reads what was done with a reply; `None` if there is nothing to show. Of other agents' replies, only imported calls are
/// shown.
pub(super) fn read(snapshot: &dyn Snapshot, renderer: &NodeRenderer, node: &Node) -> Result<Option<PastCommands>> {
    let has_commands = node.raw.is_some() || node.tool.calls.is_some();
    if !renderer.aware || node.author_type != AuthorType::Model || !has_commands {
        return Ok(None);
    }
    let of_kind = |kind| snapshot.children(node.id, &ChildFilter { kind: Some(kind), pruned: false, limit: 64 });
    let (mut reports, mut results): (Vec<Node>, Vec<Node>) =
        of_kind(EdgeKind::Tool)?.into_iter().partition(is_late_report);
    let mut past = PastCommands::default();
    if node.author == renderer.agent {
        for thought in of_kind(EdgeKind::Thought)?.iter().filter(|thought| thought.author == renderer.agent) {
            let words = first_words(&one_line(&thought.content), MAX_THOUGHT_CHARS);
            push_line(&mut past.text, &format!("[thought: {words}]"));
        }
    } else {
        results.retain(|result| command(result).is_none());
        reports.clear();
    }
    if !results.is_empty() {
        push_line(&mut past.text, &did_line(node, &results));
    }
    if node.author == renderer.agent {
        let shown = results.iter().filter(|result| is_host_tool(result)).chain(&reports);
        past.results = shown.map(host_result).collect();
    }
    Ok((!past.text.is_empty()).then_some(past))
}

/// Reads the results of host tools of replies, without what else was done.
pub(super) fn host_results(snapshot: &dyn Snapshot, replies: &[NodeId]) -> Result<Vec<HostResult>> {
    let filter = ChildFilter { kind: Some(EdgeKind::Tool), pruned: false, limit: 0 };
    let mut results = Vec::new();
    for reply in replies {
        results
            .extend(snapshot.children(*reply, &filter)?.iter().filter(|result| is_host_tool(result)).map(host_result));
    }
    Ok(results)
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

/// Formats the line on the commands of a reply: `[did: view a7x2kq ✓ saw 12 lines · respond "No." ✓ b3k9ze · write
/// doc:"plot" ✗ NOT_FOUND]`. Each command has a share of the line. The nodes that it made follow it, or what the agent saw.
fn did_line(node: &Node, results: &[Node]) -> String {
    let lines = node.raw.as_deref().map(written_lines).filter(|lines| lines.len() == results.len());
    let share = (MAX_COMMANDS_CHARS / results.len().max(1)).clamp(MIN_COMMAND_CHARS, MAX_COMMAND_CHARS);
    let said = results.iter().enumerate().map(|(at, result)| {
        let written = lines.as_ref().and_then(|lines| lines.get(at).cloned());
        // Results of host tools have the canonical command above them.
        let line = if is_host_tool(result) { command(result).or(written) } else { written.or_else(|| command(result)) };
        let Some(line) = line else { return imported_call(node, result, share) };
        let line = shorten_command(line.trim_start_matches(['→', ' ']), share, is_host_tool(result));
        if let Some(status) = failed_exit(&result.content).filter(|_| is_host_tool(result)) {
            return format!("{line} ✗ exit {status}");
        }
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
            None => format!("{line} ✓{}", outcome(result)),
        }
    });
    format!("[did: {}]", said.collect::<Vec<_>>().join(" · "))
}

/// Formats an imported call of a reply with the mark of its result: `read(path="src/auth.py") ✓`.
fn imported_call(node: &Node, result: &Node, share: usize) -> String {
    let calls = calls_with_ids(node, share.min(MAX_IMPORTED_CALL_CHARS));
    let call = calls.into_iter().find(|(id, _)| id.is_some() && *id == result.tool.call_id).map(|(_, call)| call);
    let call = call.or_else(|| result.tool.name.as_deref().map(one_line)).unwrap_or_else(|| "a tool".to_owned());
    format!("{call} {}", if is_failure(result) { '✗' } else { '✓' })
}

/// Shortens a command to about `most` bytes. Of a text that does not fit, the beginning and the end stay, with its size.
/// Texts for tools of the host program are replaced by their size, because results show what became of them.
fn shorten_command(command: &str, most: usize, is_host_tool: bool) -> String {
    if is_host_tool || !command.contains('\n') && command.len() <= most {
        // On one line, a text of several lines would differ from what was written. A canonical command has `\n` for a break.
        let has_lines = is_host_tool && (command.contains('\n') || command.contains("\\n"));
        let line = if has_lines { without_long_texts(command) } else { command.to_owned() };
        return first_words_of_command(&line, most);
    }
    let (command, block) = match command.split_once("<<<\n") {
        Some((command, block)) => (command, Some(block.trim_end().trim_end_matches(">>>").trim_end())),
        None => (command, None),
    };
    // A name is no text.
    let (mut texts, mut quoted) = (usize::from(block.is_some()), 0);
    replace_texts(command, &mut |text| {
        if text.len() > MIN_COMMAND_CHARS {
            (texts, quoted) = (texts + 1, quoted + text.len());
        }
        None
    });
    let room = most.saturating_sub(command.len() - quoted + texts * MAX_SIZE_BYTES) / texts.max(1);
    let room = room.max(MIN_COMMAND_CHARS);
    let line = replace_texts(command, &mut |text| (text.contains('\n') || text.len() > room).then(|| ends(text, room)));
    let block = block.map(|text| format!(" {}", ends(text, room))).unwrap_or_default();
    format!("{}{block}", first_words_of_command(&line, most * 2))
}

/// Formats the beginning and the end of a text, with its size: `"She waits … by the window." (250 characters)`.
fn ends(text: &str, most: usize) -> String {
    let trimmed = text.trim();
    if trimmed.len() <= most && !trimmed.contains('\n') {
        return format!("\"{trimmed}\"");
    }
    let first = trimmed.lines().next().unwrap_or_default();
    let last = trimmed.lines().next_back().unwrap_or_default();
    let begin = cut_at(first, most / 3 * 2).trim_end_matches(['\\', ' ']);
    format!("\"{begin} … {}\" ({})", end_of(last, most / 3).trim_start(), size(text))
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

/// Names what a command made or what the agent saw, after a space; empty for a change without a node and for tools of the
/// host program. Only the result of such a tool is still shown.
fn outcome(result: &Node) -> String {
    let is_look = !result.content.starts_with('✓') && !is_host_tool(result);
    let saw = if is_look { " saw" } else { "" };
    let metadata = metadata(result);
    match metadata.as_ref().and_then(|metadata| metadata["nodes"].as_array()) {
        Some(nodes) if nodes.is_empty() => " nothing".to_owned(),
        Some(nodes) => {
            let ids: Vec<String> = nodes.iter().filter_map(|node| node.as_str()).map(one_line).collect();
            format!("{saw} {}", ids.join(", "))
        }
        None if is_look => match (result.content.trim_end().lines().count(), proposal_cut(&result.content)) {
            (1, text) if text.len() <= MAX_QUOTED_RESULT_BYTES => format!("{saw} \"{}\"", one_line(text)),
            (lines, _) => format!("{saw} {}", count(lines as u64, "line")),
        },
        None => reverted_operations(result).map(|what| format!(" {what}")).unwrap_or_default(),
    }
}

/// Names the operations that an undo took back or a redo made again.
fn reverted_operations(result: &Node) -> Option<String> {
    let name = result.tool.name.as_deref()?;
    let is_reverting = [Tool::Undo, Tool::Redo].iter().any(|tool| tool.name() == name);
    let operations = result.content.lines().skip(1).filter_map(|line| line.split_once("done: "));
    let named: Vec<&str> = operations.map(|(_, operation)| operation).collect();
    (is_reverting && !named.is_empty()).then(|| {
        let operations = named.join(", ").replace(['[', ']'], "");
        first_words(&one_line(&operations), MAX_REVERTED_CHARS)
    })
}

/// Returns a result without the command that it proposes at its end.
fn proposal_cut(text: &str) -> &str {
    text.split_once(" (→ ").map_or(text, |(text, _)| text)
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
    let path = metadata(result).and_then(|metadata| Some(metadata["arguments"]["path"].as_str()?.to_owned()));
    let read = path.filter(|_| name.contains("read") && result.content.starts_with('✓')).zip(result.turn);
    // On one line, a text of several lines would differ from what was written, down to its spaces.
    let line = without_long_texts(&line);
    let short = first_words_of_command(line.trim_start_matches(['→', ' ']), MAX_COMMAND_CHARS);
    let short = if short.is_empty() { one_line(name) } else { short };
    let lines = count(result.content.lines().count() as u64, "line");
    let again = match result.turn {
        Some(turn) => format!("→ recall turns:{turn}-{turn}"),
        None => format!("→ view {} full", result.local),
    };
    // The mark of the result itself is no imitation of one.
    let mark = if result.content.starts_with(['✓', '✗']) { '✓'.len_utf8() } else { 0 };
    let (mark, rest) = result.content.split_at(mark);
    let text = format!("→ {short}\n{mark}{}", escape_headers(rest));
    HostResult {
        text,
        stub: format!("[{short} · {lines} · {again}]"),
        turn: result.turn.filter(|_| is_host_tool(result)),
        read,
    }
}
