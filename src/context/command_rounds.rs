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
const LINE: usize = 160;
/// Token overhead of a call or result.
const CALL: u32 = 8;
/// Limits results to half of the budget.
const SHARE: u32 = 2;

/// Call through the provider's tool-call API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
    exchanges: &[CommandRound],
    view: &NodeRenderer,
    budget: u32,
) -> Vec<(NodeId, Vec<PromptPiece>)> {
    let mut left = budget / SHARE;
    let mut worded: Vec<(NodeId, Vec<PromptPiece>)> = exchanges
        .iter()
        .rev()
        .map(|exchange| {
            let mut answers: Vec<String> =
                exchange.results.iter().rev().map(|o| fitting(&o.answer, view, &mut left)).collect();
            answers.reverse();
            (exchange.after, pieces(exchange, answers, view))
        })
        .collect();
    worded.reverse();
    worded
}

/// Returns the result if it fits the rest of the budget, or else a note.
fn fitting(answer: &str, view: &NodeRenderer, left: &mut u32) -> String {
    let tokens = view.estimate_tokens(answer);
    if tokens <= *left {
        *left -= tokens;
        return answer.to_owned();
    }
    format!("[about {tokens} tokens, shown in an earlier round and not any more]")
}

fn pieces(exchange: &CommandRound, answers: Vec<String>, view: &NodeRenderer) -> Vec<PromptPiece> {
    let (mut calls, mut native, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    for (outcome, text) in exchange.results.iter().zip(answers) {
        match &outcome.call {
            Some(call) => {
                native.push(RoundAnswer { call: call.id.clone(), text, failed: outcome.failed });
                calls.push(call.clone());
            }
            None => lines.push(format!("{}\n{text}", first_words(&one_line(&outcome.line), LINE))),
        }
    }
    let mut pieces = Vec::new();
    let piece = |voice, text: String, calls: Vec<RoundCall>, answers: Vec<RoundAnswer>| {
        let of_calls: u32 = calls.iter().map(|call| CALL + view.estimate_tokens(&call.arguments)).sum();
        let of_answers: u32 = answers.iter().map(|answer| CALL + view.estimate_tokens(&answer.text)).sum();
        let tokens = view.estimate_tokens(&text) + of_calls + of_answers;
        PromptPiece { calls, answers, ..PromptPiece::new(ContextSection::Results, voice, text, tokens, view.keeps()) }
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
