//! Rendering of a node for a model: header, annotations and content.

use std::borrow::Cow;

use crate::{
    exec::{AuthorNames, escape, node_format},
    id::{AgentId, NodeId},
    tokens::{TokenCalibration, TokenizerFamily},
    types::{AuthorType, EdgeKind, Mode, Node, Role, Timestamp},
};

use super::{OmissionReason, Rendering, past_commands::answered_part};

/// Reader of the nodes and rendering options.
pub(super) struct NodeRenderer {
    /// Agent that reads the prompt.
    pub(super) agent: AgentId,
    /// True if the agent has the `loom_aware` permission.
    pub(super) aware: bool,
    /// Own replies of the current turn, which are shown as written.
    pub(super) current: Vec<NodeId>,
    /// Names of authors for the headers.
    pub(super) names: AuthorNames,
    pub(super) mode: Mode,
    pub(super) rendering: Rendering,
    pub(super) now: Timestamp,
    pub(super) tokenizer: TokenizerFamily,
    pub(super) calibration: TokenCalibration,
}

impl NodeRenderer {
    /// True if headers must stay unchanged between prompts.
    pub(super) fn is_stable(&self) -> bool {
        self.rendering == Rendering::Stable
    }

    /// Returns the reason to omit a node regardless of the budget.
    pub(super) fn omission_reason(&self, node: &Node) -> Option<OmissionReason> {
        if node.state.hidden_by.is_some() {
            Some(OmissionReason::Pruned)
        } else if node.state.excluded {
            Some(OmissionReason::Excluded)
        } else if node.kind == EdgeKind::Annotation {
            Some(OmissionReason::Annotation)
        } else if node.kind == EdgeKind::Thought && !(self.aware && node.author == self.agent) {
            Some(OmissionReason::Thought)
        } else if node.purged_at.is_some() {
            Some(OmissionReason::Purged)
        } else if self.words(node).is_empty() {
            Some(OmissionReason::Empty)
        } else {
            None
        }
    }

    /// Returns the role of a node's message. In a buffer tree all text has the user role, because the agent edits it
    /// and there are no turns.
    pub(super) fn role(&self, node: &Node) -> Role {
        match node.role() {
            _ if self.mode == Mode::Buffer => Role::User,
            AuthorType::System => Role::System,
            AuthorType::Human | AuthorType::Tool => Role::User,
            AuthorType::Model => Role::Assistant,
        }
    }

    /// Returns the header line of a node; `before` is the preceding node if it is rendered too.
    pub(super) fn header(&self, node: &Node, before: Option<&Node>) -> String {
        if !self.aware {
            return String::new();
        }
        match self.rendering {
            Rendering::Live => {
                let (header, facts) =
                    (node_format::header(node, &self.names.short(node), self.now), node_format::facts(node));
                let gap = if facts.is_empty() { "" } else { "\n" };
                format!("{header}{gap}{facts}\n---\n")
            }
            Rendering::Stable => {
                let same_day = before.is_some_and(|before| day(before.created_at) == day(node.created_at));
                let at = if same_day { clock(node.created_at) } else { node.created_at.date_time() };
                format!("[{}] {} · {at}\n---\n", node.local, self.names.short(node))
            }
        }
    }

    /// True if a node is an own reply of the current turn.
    pub(super) fn is_current(&self, node: &Node) -> bool {
        self.current.contains(&node.id)
    }

    /// Returns the text of a node: its content, or the whole reply within its turn.
    pub(super) fn words<'n>(&self, node: &'n Node) -> &'n str {
        if self.is_current(node) { answered_part(node) } else { &node.content }
    }

    /// Returns a node's content, escaped for the prompt.
    pub(super) fn content<'n>(&self, node: &'n Node) -> Cow<'n, str> {
        if !self.aware {
            return Cow::Borrowed(&node.content);
        }
        if self.is_current(node) {
            return Cow::Borrowed(answered_part(node));
        }
        escape_headers(node.content.trim_end_matches('\n'))
    }

    /// Estimates the tokens of a text other than a node.
    pub(super) fn estimate_tokens(&self, text: &str) -> u32 {
        self.tokenizer.tokens(text)
    }

    /// Returns the tokens of a node's content, from the provider's count if there is one. A count is converted to the
    /// scale of the estimates, because all other tokens are estimated.
    pub(super) fn tokens(&self, node: &Node) -> u32 {
        let counted = node.tokens.filter(|_| !self.is_current(node));
        let counted = counted.map(|counted| self.calibration.estimate_of(counted));
        counted.unwrap_or_else(|| self.estimate_tokens(self.words(node)))
    }
}

/// Escapes lines that imitate headers, blocks, commands or results. A byte scan skips the common text without any.
pub(super) fn escape_headers(text: &str) -> Cow<'_, str> {
    if looks_like_frame(text.as_bytes()) { escape::escape(text) } else { Cow::Borrowed(text) }
}

/// True if a text contains a byte sequence that can start a frame line: `[`, `=`, `hint:`, `->`, or a UTF-8 character
/// that starts with `E2` except typographic marks (`E2 80`).
fn looks_like_frame(bytes: &[u8]) -> bool {
    memchr::memchr3_iter(b'[', b'=', 0xe2, bytes).any(|at| bytes[at] != 0xe2 || bytes.get(at + 1) != Some(&0x80))
        || memchr::memchr_iter(b'>', bytes).any(|at| at > 0 && bytes[at - 1] == b'-')
        || memchr::memmem::find(bytes, b"hint:").is_some()
}

/// Formats a time of day as `22:13`.
fn clock(at: Timestamp) -> String {
    let minutes = at.as_millis().div_euclid(60_000).rem_euclid(24 * 60);
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

fn day(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(86_400_000)
}
