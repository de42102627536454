//! Command results of the current turn, as the next round's prompt shows them.
//!
//! Each batch follows the node that requested it. The prompt of a round therefore starts with the prompt of the round
//! before. Results get at most half of the budget; older results beyond that are omitted.

use super::{ContextSection, message::PromptPiece, node::NodeRenderer};
use crate::{
    id::NodeId,
    types::{MessagePart, Role, ToolCall, first_words, one_line},
};

/// Maximum characters of a command that are shown above its result.
const MAX_LINE_CHARS: usize = 160;
/// Token overhead of a call or result.
const CALL_OVERHEAD_TOKENS: u32 = 8;
/// Limits results to half of the budget.
const ROUNDS_BUDGET_DIVISOR: u32 = 2;

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
    view: &NodeRenderer,
    budget: u32,
) -> Vec<(NodeId, Vec<PromptPiece>)> {
    let mut left = budget / ROUNDS_BUDGET_DIVISOR;
    let mut rendered: Vec<(NodeId, Vec<PromptPiece>)> = rounds
        .iter()
        .rev()
        .map(|round| {
            let mut answers: Vec<String> =
                round.results.iter().rev().map(|o| fit_result(&o.answer, view, &mut left)).collect();
            answers.reverse();
            (round.after, pieces(round, answers, view))
        })
        .collect();
    rendered.reverse();
    rendered
}

/// Returns the result if it fits the rest of the budget, or else a note.
fn fit_result(answer: &str, view: &NodeRenderer, left: &mut u32) -> String {
    let tokens = view.estimate_tokens(answer);
    if tokens <= *left {
        *left -= tokens;
        return answer.to_owned();
    }
    format!("[about {tokens} tokens, shown in an earlier round and not any more]")
}

fn pieces(round: &CommandRound, answers: Vec<String>, view: &NodeRenderer) -> Vec<PromptPiece> {
    let (mut calls, mut native, mut lines, mut result_tokens) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for (result, text) in round.results.iter().zip(answers) {
        match &result.call {
            Some(call) => {
                result_tokens += CALL_OVERHEAD_TOKENS + view.estimate_tokens(&text);
                native.push(MessagePart::Result { call: call.id.clone(), text, failed: result.failed });
                calls.push(call.clone());
            }
            None => lines.push(format!("{}\n{text}", first_words(&one_line(&result.line), MAX_LINE_CHARS))),
        }
    }
    let mut pieces = Vec::new();
    let piece =
        |role, text: String, tokens| PromptPiece::new(ContextSection::Results, role, text, tokens, view.keeps());
    if !calls.is_empty() {
        let tokens = calls.iter().map(|call| CALL_OVERHEAD_TOKENS + view.estimate_tokens(&call.arguments)).sum();
        pieces.push(PromptPiece { calls, ..piece(Role::Assistant, String::new(), tokens) });
        pieces.push(PromptPiece { answers: native, ..piece(Role::User, String::new(), result_tokens) });
    }
    if !lines.is_empty() {
        let text = format!("=== Results ===\n{}\n===", lines.join("\n\n"));
        let tokens = view.estimate_tokens(&text);
        pieces.push(piece(Role::User, text, tokens));
    }
    pieces
}
