//! Command results of the current turn, as the next round's prompt shows them.
//!
//! Each batch follows the node that requested it. The prompt of a round therefore starts with the prompt of the round
//! before. Results get at most half of the budget; older results beyond that are omitted.

use serde::Serialize;

use super::{ContextSection, MessageRole, message::PromptPiece, node::NodeRenderer};
use crate::{
    id::NodeId,
    types::{first_words, one_line},
};

/// Maximum characters of a command that are shown above its result.
const MAX_LINE_CHARS: usize = 160;
/// Token overhead of a call or result.
const CALL_OVERHEAD_TOKENS: u32 = 8;
/// Limits results to half of the budget.
const ROUNDS_BUDGET_DIVISOR: u32 = 2;

/// Call through the provider's tool-call API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RoundCall {
    /// Id that the result refers to.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments as the model wrote them, usually a JSON object.
    pub arguments: String,
}

/// Result of a [`RoundCall`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RoundAnswer {
    /// Id of the call.
    pub call: String,
    /// Text of the result.
    pub text: String,
    /// True if the call failed.
    pub failed: bool,
}

/// Command with its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandResult {
    /// Call through the provider's API; `None` for an arrow line.
    pub call: Option<RoundCall>,
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
    let (mut calls, mut native, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    for (result, text) in round.results.iter().zip(answers) {
        match &result.call {
            Some(call) => {
                native.push(RoundAnswer { call: call.id.clone(), text, failed: result.failed });
                calls.push(call.clone());
            }
            None => lines.push(format!("{}\n{text}", first_words(&one_line(&result.line), MAX_LINE_CHARS))),
        }
    }
    let mut pieces = Vec::new();
    let piece = |role, text: String, calls: Vec<RoundCall>, answers: Vec<RoundAnswer>| {
        let of_calls: u32 = calls.iter().map(|call| CALL_OVERHEAD_TOKENS + view.estimate_tokens(&call.arguments)).sum();
        let of_answers: u32 =
            answers.iter().map(|answer| CALL_OVERHEAD_TOKENS + view.estimate_tokens(&answer.text)).sum();
        let tokens = view.estimate_tokens(&text) + of_calls + of_answers;
        PromptPiece { calls, answers, ..PromptPiece::new(ContextSection::Results, role, text, tokens, view.keeps()) }
    };
    if !calls.is_empty() {
        pieces.push(piece(MessageRole::Assistant, String::new(), calls, Vec::new()));
        pieces.push(piece(MessageRole::User, String::new(), Vec::new(), native));
    }
    if !lines.is_empty() {
        let text = format!("=== Results ===\n{}\n===", lines.join("\n\n"));
        pieces.push(piece(MessageRole::User, text, Vec::new(), Vec::new()));
    }
    pieces
}
