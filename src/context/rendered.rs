//! The nodes that are shown, worded, and what the report says of them and of the others.

use crate::{
    id::NodeId,
    types::{Mode, Node},
};

use super::{
    ContextSection, Inclusion, InclusionReason, MessageRole, NodeReport,
    message::{MESSAGE_OVERHEAD_TOKENS, PromptPiece},
    node::NodeRenderer,
    window::{Window, WindowCandidate, truncate_node},
};

/// The nodes that are shown, the oldest first.
pub(super) struct RenderedNodes<'w> {
    nodes: Vec<RenderedText<'w>>,
    /// The note on what is not shown, and before which node it stands.
    note: Option<(usize, String)>,
    /// What commands were answered, and before which node it stands.
    answered: Vec<(usize, Vec<PromptPiece>)>,
}

/// A node as it is shown.
struct RenderedText<'w> {
    node: &'w Node,
    text: String,
    tokens: u32,
    cut: bool,
    /// Whether it continues the node before it in the middle of a text.
    continues: bool,
}

impl<'w> RenderedNodes<'w> {
    /// Words the nodes of a window.
    pub(super) fn new(view: &NodeRenderer, window: &'w Window, exchanges: Vec<(NodeId, Vec<PromptPiece>)>) -> Self {
        let shown = |seen: &&'w WindowCandidate| seen.excluded_by.is_none();
        let head: Vec<&WindowCandidate> = window.head.iter().filter(shown).collect();
        let tail: Vec<&WindowCandidate> = window.candidates[window.start..].iter().filter(shown).collect();
        let gone = tail.first().map_or(0, |first| first.node.depth);
        let gone = gone.saturating_sub(u32::try_from(window.head.len()).unwrap_or(u32::MAX));
        let note = (window.full && view.aware && gone > 0).then(|| (head.len(), note(gone)));
        let mut nodes: Vec<RenderedText<'w>> = Vec::with_capacity(head.len() + tail.len());
        for (at, seen) in head.iter().chain(&tail).enumerate() {
            // What stands before a gap is not what stands before the node.
            let before = nodes.last().filter(|_| note.as_ref().is_none_or(|(gap, _)| *gap != at)).map(|last| last.node);
            nodes.push(worded(view, seen, before));
        }
        let answered = exchanges.into_iter().map(|(after, pieces)| (slot(&nodes, window, after), pieces)).collect();
        Self { nodes, note, answered }
    }

    /// The nodes, the newest first.
    pub(super) fn newest_first(&self) -> impl Iterator<Item = &'w Node> {
        self.nodes.iter().rev().map(|worded| worded.node)
    }

    /// Whether a node is shown.
    pub(super) fn contains(&self, id: NodeId) -> bool {
        self.nodes.iter().any(|worded| worded.node.id == id)
    }

    /// Takes the newest node out if it is what the model is to answer: it stands last. Within a turn it stays where it
    /// is, before what was done about it.
    pub(super) fn take_input(&mut self, view: &NodeRenderer) -> Option<PromptPiece> {
        let answers = view.aware && view.mode == Mode::Dialogue && self.answered.is_empty();
        let input = self.nodes.pop_if(|last| answers && view.role(last.node) == MessageRole::User)?;
        Some(PromptPiece::new(ContextSection::Input, MessageRole::User, input.text, input.tokens, false))
    }

    /// The conversation.
    pub(super) fn pieces(self, view: &NodeRenderer) -> Vec<PromptPiece> {
        let kept = view.keeps();
        let mut pieces: Vec<PromptPiece> = Vec::with_capacity(self.nodes.len() + 1);
        let (mut answered, mut note) = (self.answered.into_iter().peekable(), self.note);
        for (at, shown) in self.nodes.into_iter().enumerate() {
            while let Some((_, answers)) = answered.next_if(|(before, _)| *before <= at) {
                pieces.extend(answers);
            }
            if let Some((_, text)) = note.take_if(|(before, _)| *before == at) {
                let tokens = view.estimate_tokens(&text);
                pieces.push(PromptPiece::new(ContextSection::Conversation, MessageRole::User, text, tokens, kept));
            }
            let piece =
                PromptPiece::new(ContextSection::Conversation, view.role(shown.node), shown.text, shown.tokens, kept);
            pieces.push(PromptPiece { continues: shown.continues, ..piece });
        }
        pieces.extend(answered.flat_map(|(_, answers)| answers));
        pieces
    }

    /// What became of each node that was looked at, the oldest first.
    pub(super) fn report(&self, window: &Window) -> Vec<NodeReport> {
        let mut worded = self.nodes.iter().peekable();
        let looked = window.head.iter().chain(&window.candidates);
        looked
            .map(|seen| {
                let shown = worded.next_if(|worded| worded.node.id == seen.node.id);
                let fate = match (seen.excluded_by, shown) {
                    (Some(reason), _) => Inclusion::Omitted(reason),
                    (None, Some(shown)) if shown.cut => Inclusion::Truncated(InclusionReason::Budget),
                    (None, Some(_)) => Inclusion::Full,
                    (None, None) => Inclusion::Omitted(InclusionReason::Budget),
                };
                let node = &seen.node;
                NodeReport {
                    id: node.id,
                    local: node.local.clone(),
                    author_type: node.author_type,
                    role: node.role(),
                    depth: node.depth,
                    tokens: shown.map_or(0, |shown| shown.tokens),
                    inclusion: fate,
                }
            })
            .collect()
    }
}

/// Before which shown node that stands which comes after a node of the window; at the end where that is not in it.
fn slot(nodes: &[RenderedText<'_>], window: &Window, after: NodeId) -> usize {
    let tail = &window.candidates[window.start..];
    let Some(at) = tail.iter().position(|seen| seen.node.id == after) else { return nodes.len() };
    let later = tail[at + 1..].iter().filter(|seen| seen.excluded_by.is_none()).count();
    nodes.len() - later
}

fn worded<'w>(view: &NodeRenderer, seen: &'w WindowCandidate, before: Option<&Node>) -> RenderedText<'w> {
    let node = &seen.node;
    let mut text = view.header(node, before);
    let mut tokens = view.estimate_tokens(&text);
    if seen.truncated {
        let words = truncate_node(view, node, seen.tokens.saturating_sub(tokens + MESSAGE_OVERHEAD_TOKENS));
        tokens += view.estimate_tokens(&words);
        text.push_str(&words);
    } else {
        tokens += view.tokens(node);
        text.push_str(&view.content(node));
    }
    // An agent that sees the tree is shown a header for each half.
    let continues = !view.aware && before.is_some_and(|before| node.is_second_half_of(before));
    RenderedText { node, text, tokens, cut: seen.truncated, continues }
}

fn note(earlier: u32) -> String {
    let messages = if earlier == 1 { "1 earlier message is" } else { &format!("{earlier} earlier messages are") };
    let them = if earlier == 1 { "it" } else { "them" };
    format!("[Note: {messages} in the archive, not shown. → recall search \"…\" finds {them}.]")
}
