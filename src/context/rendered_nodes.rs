//! Rendered nodes of a window, and their report.

use crate::{
    id::NodeId,
    types::{Mode, Node, Role},
};

use super::{
    ContextSection, Inclusion, NodeReport, OmissionReason,
    cut_middle::truncate_node,
    node_renderer::NodeRenderer,
    past_commands::{HostResult, PastCommands},
    past_host_results::results_tokens,
    prompt_piece::{MESSAGE_OVERHEAD_TOKENS, PromptPiece},
    window::{Window, WindowCandidate, omitted_note},
};

/// Rendered nodes, oldest first.
pub(super) struct RenderedNodes<'w> {
    nodes: Vec<RenderedText<'w>>,
    /// Note on omitted nodes, and the index of the node that it precedes.
    note: Option<(usize, String)>,
    /// Command rounds, each with the index of the node that they precede.
    rounds: Vec<(usize, Vec<PromptPiece>)>,
}

/// Rendered node.
struct RenderedText<'w> {
    node: &'w Node,
    text: String,
    tokens: u32,
    cut: bool,
    /// True if the node continues the text of the node before it.
    continues: bool,
    /// Commands and thoughts of an own reply, or imported calls.
    past_commands: Option<&'w PastCommands>,
    /// Results of host tools after the node, with their tokens, which `tokens` includes.
    results: Option<(&'w str, u32)>,
}

impl<'w> RenderedNodes<'w> {
    /// Renders the nodes of a window.
    pub(super) fn new(renderer: &NodeRenderer, window: &'w Window, rounds: Vec<(NodeId, Vec<PromptPiece>)>) -> Self {
        let shown = |candidate: &&'w WindowCandidate| candidate.excluded_by.is_none();
        let head: Vec<&WindowCandidate> = window.head.iter().filter(shown).collect();
        let tail: Vec<&WindowCandidate> = window.candidates[window.start..].iter().filter(shown).collect();
        let gone = window.omitted_above(tail.first().copied());
        let note = (window.full && renderer.aware && gone > 0).then(|| (head.len(), omitted_note(gone)));
        let mut nodes: Vec<RenderedText<'w>> = Vec::with_capacity(head.len() + tail.len());
        for (at, candidate) in head.iter().chain(&tail).enumerate() {
            // After an omission the preceding rendered node is not the node's predecessor.
            let before = nodes.last().filter(|_| note.as_ref().is_none_or(|(gap, _)| *gap != at)).map(|last| last.node);
            nodes.push(render_node(renderer, candidate, before));
        }
        let rounds = rounds.into_iter().map(|(after, pieces)| (index_after(&nodes, window, after), pieces)).collect();
        Self { nodes, note, rounds }
    }

    /// Returns the nodes, newest first.
    pub(super) fn newest_first(&self) -> impl Iterator<Item = &'w Node> {
        self.nodes.iter().rev().map(|rendered| rendered.node)
    }

    /// Returns what the agent did with its replies, and the results of host tools, as they are shown.
    pub(super) fn command_and_result_texts(&self) -> impl Iterator<Item = &str> {
        let texts = |shown: &RenderedText<'w>| {
            [shown.past_commands.map(|commands| &*commands.text), shown.results.map(|(text, _)| text)]
        };
        self.nodes.iter().flat_map(texts).flatten()
    }

    /// Returns the files whose text a result shows, with the node before the result and the turn of the result, newest node
    /// first.
    pub(super) fn read_files(&self) -> impl Iterator<Item = (&'w Node, &'w str, u64)> {
        self.nodes.iter().rev().filter_map(|shown| Some((shown.node, shown.past_commands?, shown.results?.0))).flat_map(
            |(node, commands, shown)| {
                let whole = commands.results.iter().rev().filter(move |result| !shown.contains(&result.stub));
                whole.filter_map(move |result| result.read.as_ref().map(|(path, turn)| (node, &**path, *turn)))
            },
        )
    }

    /// Returns the results of host tools, also those that are reduced to a line.
    pub(super) fn host_results(&self) -> impl Iterator<Item = &'w HostResult> {
        self.nodes.iter().filter_map(|shown| shown.past_commands).flat_map(|commands| &commands.results)
    }

    /// Returns true if what the agent did with a reply is rendered.
    pub(super) fn shows_commands(&self, reply: NodeId) -> bool {
        self.nodes.iter().any(|rendered| rendered.node.id == reply && rendered.past_commands.is_some())
    }

    /// Returns true if a node is rendered.
    pub(super) fn contains(&self, id: NodeId) -> bool {
        self.nodes.iter().any(|rendered| rendered.node.id == id)
    }

    /// Removes the newest node if the model must answer it: it moves to the end of the prompt. Within a turn it stays
    /// before the turn's results.
    pub(super) fn take_input(&mut self, renderer: &NodeRenderer) -> Option<PromptPiece> {
        let answers = renderer.aware && renderer.mode == Mode::Dialogue && self.rounds.is_empty();
        let input = self.nodes.pop_if(|last| answers && renderer.role(last.node) == Role::User)?;
        Some(PromptPiece::new(ContextSection::Input, Role::User, input.text, input.tokens, false))
    }

    /// Returns the pieces of the conversation.
    pub(super) fn pieces(self, renderer: &NodeRenderer) -> Vec<PromptPiece> {
        let kept = renderer.is_stable();
        let mut pieces: Vec<PromptPiece> = Vec::with_capacity(self.nodes.len() + 1);
        let (mut rounds, mut note) = (self.rounds.into_iter().peekable(), self.note);
        for (at, shown) in self.nodes.into_iter().enumerate() {
            while let Some((_, answers)) = rounds.next_if(|(before, _)| *before <= at) {
                pieces.extend(answers);
            }
            if let Some((_, text)) = note.take_if(|(before, _)| *before == at) {
                let tokens = renderer.estimate_tokens(&text);
                pieces.push(PromptPiece::new(ContextSection::Conversation, Role::User, text, tokens, kept));
            }
            let own = shown.tokens - shown.results.map_or(0, |(_, tokens)| tokens);
            let piece =
                PromptPiece::new(ContextSection::Conversation, renderer.role(shown.node), shown.text, own, kept);
            pieces.push(PromptPiece { continues: shown.continues, ..piece });
            if let Some((text, tokens)) = shown.results {
                let piece = PromptPiece::new(ContextSection::Conversation, Role::User, text.to_owned(), tokens, kept);
                pieces.push(piece);
            }
        }
        pieces.extend(rounds.flat_map(|(_, answers)| answers));
        pieces
    }

    /// Returns a report entry for each node of the window, oldest first.
    pub(super) fn report(&self, window: &Window) -> Vec<NodeReport> {
        let mut rendered = self.nodes.iter().peekable();
        let looked = window.head.iter().chain(&window.candidates);
        looked
            .map(|candidate| {
                let shown = rendered.next_if(|rendered| rendered.node.id == candidate.node.id);
                let inclusion = match (candidate.excluded_by, shown) {
                    (Some(reason), _) => Inclusion::Omitted(reason),
                    (None, Some(shown)) if shown.cut => Inclusion::Truncated(OmissionReason::Budget),
                    (None, Some(_)) => Inclusion::Full,
                    (None, None) => Inclusion::Omitted(OmissionReason::Budget),
                };
                let node = &candidate.node;
                NodeReport {
                    id: node.id,
                    local: node.local.clone(),
                    author_type: node.author_type,
                    role: node.role(),
                    depth: node.depth,
                    tokens: shown.map_or(0, |shown| shown.tokens),
                    inclusion,
                }
            })
            .collect()
    }
}

/// Returns the index of the rendered node that follows a node of the window; the end if the node is not in it.
fn index_after(nodes: &[RenderedText<'_>], window: &Window, after: NodeId) -> usize {
    let tail = &window.candidates[window.start..];
    let Some(at) = tail.iter().position(|candidate| candidate.node.id == after) else { return nodes.len() };
    let later = tail[at + 1..].iter().filter(|candidate| candidate.excluded_by.is_none()).count();
    nodes.len() - later
}

fn render_node<'w>(renderer: &NodeRenderer, candidate: &'w WindowCandidate, before: Option<&Node>) -> RenderedText<'w> {
    let node = &candidate.node;
    let mut text = renderer.header(node, before);
    let mut tokens = renderer.estimate_tokens(&text);
    let command_tokens =
        candidate.past_commands.as_ref().map_or(0, |commands| renderer.estimate_tokens(&commands.text) + 1);
    let others = tokens + MESSAGE_OVERHEAD_TOKENS + command_tokens + results_tokens(&candidate.results, renderer);
    let room = candidate.tokens.saturating_sub(others);
    if candidate.truncated && renderer.tokens(node) > room {
        let words = truncate_node(renderer, node, room);
        tokens += renderer.estimate_tokens(&words);
        text.push_str(&words);
    } else {
        tokens += renderer.tokens(node);
        text.push_str(&renderer.content(node));
    }
    if let Some(commands) = &candidate.past_commands {
        let gap = if node.content.trim().is_empty() { "" } else { "\n\n" };
        tokens += renderer.estimate_tokens(&commands.text) + 1;
        text = format!("{}{gap}{}", text.trim_end_matches('\n'), commands.text);
        if gap.is_empty() {
            text = text.replacen("---[", "---\n[", 1);
        }
    }
    let results = (!candidate.results.is_empty()).then(|| {
        let own = renderer.estimate_tokens(&candidate.results);
        tokens += own;
        (candidate.results.as_str(), own)
    });
    // For an aware agent each half has its own header.
    let continues = !renderer.aware && before.is_some_and(|before| node.is_second_half_of(before));
    RenderedText {
        node,
        text,
        tokens,
        cut: candidate.truncated,
        continues,
        past_commands: candidate.past_commands.as_ref(),
        results,
    }
}
