//! Results of host tools in the turns after the one that requested them. The newest are whole; each older one is a line with
//! the command that shows it again.

use super::{
    cut_middle::{cut_middle, is_worth_cutting},
    node_renderer::NodeRenderer,
    past_commands::HostResult,
    prompt_piece::MESSAGE_OVERHEAD_TOKENS,
    window::WindowCandidate,
};

/// Shows results whole up to a quarter of the conversation, counted from the newest. Those of one reply have as much.
const HOST_RESULTS_DIVISOR: u32 = 4;
/// Nodes whose results are reduced together, so that a stable prompt seldom changes.
const RESULT_GROUP_NODES: u32 = 8;

/// Tokens of the results of host tools, counted from the newest node.
#[derive(Debug)]
pub(super) struct HostResultTokens {
    /// Maximum tokens of whole results.
    most: u32,
    /// Group of the node before: its depth, divided.
    group: Option<u32>,
    /// Tokens of newer groups, and of this one.
    newer: u32,
    own: u32,
}

impl HostResultTokens {
    /// Begins at the newest node of a conversation that may have these tokens.
    pub(super) fn new(conversation: u32) -> Self {
        Self { most: conversation / HOST_RESULTS_DIVISOR, group: None, newer: 0, own: 0 }
    }

    /// Sets the results of the next node, each of up to `longest` tokens.
    pub(super) fn set_results(&mut self, next: &mut WindowCandidate, longest: u32, renderer: &NodeRenderer) {
        let group = next.node.depth / RESULT_GROUP_NODES;
        if self.group.replace(group) != Some(group) {
            self.newer += std::mem::take(&mut self.own);
        }
        let room = if self.newer <= self.most { self.most } else { 0 };
        self.own += next.set_results(room, longest, renderer);
    }
}

impl WindowCandidate {
    /// Limits the tokens of the node. If its results take more than half of them, each becomes a line.
    pub(super) fn shorten(&mut self, limit: u32, renderer: &NodeRenderer) {
        if results_tokens(&self.results, renderer) > limit / 2 {
            self.set_results(0, 0, renderer);
        }
        if self.tokens > limit {
            (self.tokens, self.truncated) = (limit, true);
        }
    }

    /// Sets the results and returns their tokens. The last results are whole as far as `room` reaches, in tokens.
    fn set_results(&mut self, room: u32, longest: u32, renderer: &NodeRenderer) -> u32 {
        let results = self.past_commands.as_ref().map_or(&[][..], |commands| &commands.results);
        if results.is_empty() {
            return 0;
        }
        let mut left = room;
        let text = |result: &HostResult| {
            let tokens = renderer.estimate_tokens(&result.text);
            let is_cut = is_worth_cutting(tokens, longest);
            let shown = if is_cut { longest } else { tokens }.max(1);
            if shown > left {
                return result.stub.clone();
            }
            left -= shown;
            if is_cut { shorten_result(result, longest, renderer) } else { result.text.clone() }
        };
        let mut texts: Vec<String> = results.iter().rev().map(text).collect();
        texts.reverse();
        let before = results_tokens(&self.results, renderer);
        self.results = format!("=== Results ===\n{}\n===", texts.join("\n\n"));
        let tokens = results_tokens(&self.results, renderer);
        self.tokens = self.tokens.saturating_sub(before) + tokens;
        tokens
    }
}

/// Shortens a result to about `longest` tokens: without the frames of backtraces in the standard library, and without its
/// middle if it is still too long.
fn shorten_result(result: &HostResult, longest: u32, renderer: &NodeRenderer) -> String {
    let text = without_library_frames(&result.text);
    let tokens = renderer.estimate_tokens(&text);
    if is_worth_cutting(tokens, longest) {
        return cut_middle(renderer, (&text, tokens), longest, &result.stub);
    }
    format!("{text}\n[frames in /rustc are not shown here · {}]", result.stub.trim_matches(['[', ']']))
}

/// Removes the frames of Rust backtraces in the standard library: a line with the function, and one with the place.
fn without_library_frames(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("at /rustc/") {
            lines.pop();
        } else {
            lines.push(line);
        }
    }
    lines.join("\n")
}

/// Returns the tokens of a node's results with those of their message.
pub(super) fn results_tokens(results: &str, renderer: &NodeRenderer) -> u32 {
    if results.is_empty() { 0 } else { renderer.estimate_tokens(results) + MESSAGE_OVERHEAD_TOKENS }
}
