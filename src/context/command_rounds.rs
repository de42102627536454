//! Command results of the current turn, as the next round's prompt shows them.
//!
//! Each batch follows the node that requested it. The prompt of a round therefore starts with the prompt of the round
//! before. Results get at most half of the budget, those of the newest round two thirds of a large one. Older results have at
//! least a sixteenth, and those beyond that are omitted.

use super::{ContextSection, node_renderer::NodeRenderer, prompt_piece::PromptPiece};
use crate::{
    exec::counts::count,
    id::{LocalId, NodeId},
    types::{MessagePart, Role, ToolCall},
};

/// Maximum characters of a text that a command above its result shows.
const MAX_TEXT_CHARS: usize = 60;
/// Token overhead of a call or result.
const CALL_OVERHEAD_TOKENS: u32 = 8;
/// Limits results to half of the budget.
const ROUNDS_BUDGET_DIVISOR: u32 = 2;
/// Reserves a sixteenth of the budget for results of older rounds, so that small ones stay beside a large new one.
const OLDER_BUDGET_DIVISOR: u32 = 16;
/// Budget from which the newest round may use two thirds. A smaller one is needed for the rest of the prompt.
const LARGE_BUDGET: u32 = 10_000;

/// Command with its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandResult {
    /// Call through the provider's API; `None` for an arrow line.
    pub call: Option<ToolCall>,
    /// Command as an arrow line.
    pub line: String,
    /// Result as text.
    pub answer: String,
    /// True if the command failed.
    pub failed: bool,
    /// Nodes that the command made, or the first ones that a search found; `None` for other commands.
    pub nodes: Option<Vec<LocalId>>,
}

/// Batch of commands with their results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRound {
    /// Node that requested the batch.
    pub after: NodeId,
    /// Results, in the order of the commands.
    pub results: Vec<CommandResult>,
}

/// Renders rounds as pieces, each with the node that they follow. Their tokens stay within their share of the budget.
pub(super) fn render_rounds(
    rounds: &[CommandRound],
    renderer: &NodeRenderer,
    budget: u32,
) -> Vec<(NodeId, Vec<PromptPiece>)> {
    let half = budget / ROUNDS_BUDGET_DIVISOR;
    let most = if budget < LARGE_BUDGET { half } else { budget / 3 * 2 };
    let mut rest = most;
    let Some((newest, older)) = rounds.split_last() else { return Vec::new() };
    let answers = newest.results.iter().map(|result| fit_result(&result.answer, renderer, &mut rest, false)).collect();
    let mut rendered = vec![(newest.after, pieces(newest, answers, renderer))];
    let mut left = half.saturating_sub(most - rest).max(budget / OLDER_BUDGET_DIVISOR);
    for round in older.iter().rev() {
        let results = round.results.iter().rev();
        let mut answers: Vec<String> =
            results.map(|result| fit_result(&result.answer, renderer, &mut left, true)).collect();
        answers.reverse();
        rendered.push((round.after, pieces(round, answers, renderer)));
    }
    rendered.reverse();
    rendered
}

/// Returns the result if it fits the rest of the budget, or else a note. `was_shown` is true for one of an older round.
fn fit_result(answer: &str, renderer: &NodeRenderer, left: &mut u32, was_shown: bool) -> String {
    let tokens = renderer.estimate_tokens(answer);
    if tokens <= *left {
        *left -= tokens;
        return answer.to_owned();
    }
    match was_shown {
        true => format!(
            "[about {tokens} tokens, shown in an earlier round and not any more; the same command shows them again]"
        ),
        false => {
            format!("[about {tokens} tokens, which do not fit beside the results above; the command alone shows them]")
        }
    }
}

fn pieces(round: &CommandRound, answers: Vec<String>, renderer: &NodeRenderer) -> Vec<PromptPiece> {
    let (mut calls, mut native, mut lines, mut result_tokens) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for (result, text) in round.results.iter().zip(answers) {
        match &result.call {
            Some(call) => {
                result_tokens += CALL_OVERHEAD_TOKENS + renderer.estimate_tokens(&text);
                native.push(MessagePart::Result { call: call.id.clone(), text, failed: result.failed });
                calls.push(call.clone());
            }
            None => lines.push(format!("{}\n{text}", without_long_texts(&result.line))),
        }
    }
    let mut pieces = Vec::new();
    let piece = |role, text: String, tokens| {
        PromptPiece::new(ContextSection::Results, role, text, tokens, renderer.is_stable())
    };
    if !calls.is_empty() {
        let tokens = calls.iter().map(|call| CALL_OVERHEAD_TOKENS + renderer.estimate_tokens(&call.arguments)).sum();
        pieces.push(PromptPiece { calls, ..piece(Role::Assistant, String::new(), tokens) });
        pieces.push(PromptPiece { answers: native, ..piece(Role::User, String::new(), result_tokens) });
    }
    if !lines.is_empty() {
        let text = format!("=== Results ===\n{}\n===", lines.join("\n\n"));
        let tokens = renderer.estimate_tokens(&text);
        pieces.push(piece(Role::User, text, tokens));
    }
    pieces
}

/// Returns a command in which the size of each long text stands for it: a shortened text would differ from what was
/// written. `→ edit_file path:"a.rs" old:(35 characters) new:(12 lines)`
pub(super) fn without_long_texts(line: &str) -> String {
    let is_short = |text: &str| lines(text) == 1 && text.chars().count() <= MAX_TEXT_CHARS;
    let short = replace_texts(line, &mut |text| (!is_short(text)).then(|| format!("({})", size(text))));
    // What follows is a block.
    match short.split_once('\n') {
        Some((first, _)) => format!("{first} …"),
        None => short,
    }
}

/// Replaces each quoted text of a command, with its quotes, by what `replacement` returns for it; `None` keeps it.
pub(super) fn replace_texts(line: &str, replacement: &mut dyn FnMut(&str) -> Option<String>) -> String {
    let (mut replaced, mut rest) = (String::new(), line);
    while let Some(open) = rest.find('"') {
        let text = &rest[open + 1..];
        let mut escaped = false;
        let end = text.char_indices().find(|(_, c)| {
            let closes = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            closes
        });
        let Some((end, _)) = end else { break };
        let after = open + 1 + end + 1;
        replaced.push_str(&rest[..open]);
        match replacement(&text[..end]) {
            Some(instead) => replaced.push_str(&instead),
            None => replaced.push_str(&rest[open..after]),
        }
        rest = &rest[after..];
    }
    replaced.push_str(rest);
    replaced
}

/// Returns the size of a text as written in a command: `12 lines`, or `99 characters` if it is one line.
pub(super) fn size(text: &str) -> String {
    // A break at the end ends the last line and begins none.
    let inner = text.strip_suffix('\n').or_else(|| text.strip_suffix("\\n")).unwrap_or(text);
    match lines(inner) {
        1 => count(inner.chars().count() as u64, "character"),
        several => count(several, "line"),
    }
}

/// Number of lines of a text as written in a command; a break is a line feed or `\n`.
fn lines(text: &str) -> u64 {
    1 + (text.replace("\\\\", "").matches("\\n").count() + text.matches('\n').count()) as u64
}

#[cfg(test)]
mod tests {
    use super::without_long_texts;

    #[test]
    fn a_long_text_is_named_by_its_size() {
        let long = "She waits. ".repeat(9);
        for (line, short) in [
            ("→ view a7x2kq full", "→ view a7x2kq full".to_owned()),
            ("→ edit_file path:\"a  b.rs\" old:\"  x\"", "→ edit_file path:\"a  b.rs\" old:\"  x\"".to_owned()),
            ("→ respond \"a \\\"b\\\" c\" as:context", "→ respond \"a \\\"b\\\" c\" as:context".to_owned()),
            ("→ edit_file new:\"a\\nb\\nc\" old:\"a\nb\"", "→ edit_file new:(3 lines) old:(2 lines)".to_owned()),
            ("→ edit_file new:\"a\nb\n\" old:\"a\\nb\\n\"", "→ edit_file new:(2 lines) old:(2 lines)".to_owned()),
            (
                "→ edit_file new:\"  a = b\n\" old:\"  a\\n\"",
                "→ edit_file new:(7 characters) old:(3 characters)".to_owned(),
            ),
            ("→ edit_file new:\"a\\\\nb\nc\"", "→ edit_file new:(2 lines)".to_owned()),
            ("→ write doc:\"x\" <<<\n# One\n>>>", "→ write doc:\"x\" <<< …".to_owned()),
            ("→ annotate \"open", "→ annotate \"open".to_owned()),
        ] {
            assert_eq!(without_long_texts(line), short, "{line}");
        }
        assert_eq!(without_long_texts(&format!("→ respond a7 \"{long}\"")), "→ respond a7 (99 characters)");
    }
}
