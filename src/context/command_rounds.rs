//! What an agent's commands were answered in this turn, as it is shown to it in the next round.
//!
//! Each batch stands after the node that asked for it, so that a turn reads in its order and a prompt begins like the one
//! of the round before. Together they may have half of the budget; beyond that only the newest keep their words.

use serde::Serialize;

use super::{ContextSection, MessageRole, message::PromptPiece, node::NodeRenderer};
use crate::{
    id::NodeId,
    types::{first_words, one_line},
};

/// Characters of a command that are shown above its answer.
const LINE: usize = 160;
/// Tokens that a call or an answer costs beside its words.
const CALL: u32 = 8;
/// The part of the budget that answers may have: half.
const SHARE: u32 = 2;

/// A tool called in the provider's way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoundCall {
    /// What the answer refers to.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// The arguments as the model wrote them, mostly a JSON object.
    pub arguments: String,
}

/// What such a call gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoundAnswer {
    /// The id of the call.
    pub call: String,
    /// What it gave.
    pub text: String,
    /// Whether it failed.
    pub failed: bool,
}

/// A command and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandResult {
    /// The call, if it was one of the provider's; else an arrow line asked for it.
    pub call: Option<RoundCall>,
    /// The command as a line.
    pub line: String,
    /// The answer, as the engine words it.
    pub answer: String,
    /// Whether it was not done.
    pub failed: bool,
}

/// A batch of commands and its answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRound {
    /// The node whose words asked.
    pub after: NodeId,
    /// Its commands, in order.
    pub results: Vec<CommandResult>,
}

/// Exchanges as they are shown, each with the node that it comes after; within the share of a budget that they have.
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

/// An answer, if there is room for it.
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
