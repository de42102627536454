//! A node as a model is shown it: a header, what there is to say about it, its words.

use std::borrow::Cow;

use crate::{
    arrow::run::escape,
    id::AgentId,
    types::{AuthorType, EdgeKind, Mode, Node, Timestamp, TokenCalibration, TokenizerFamily},
};

use super::{InclusionReason, MessageRole, Rendering};

/// Who is shown the nodes, and how.
pub(super) struct NodeRenderer {
    /// Who.
    pub(super) agent: AgentId,
    /// Whether that agent sees the tree.
    pub(super) aware: bool,
    pub(super) mode: Mode,
    pub(super) rendering: Rendering,
    pub(super) now: Timestamp,
    pub(super) tokenizer: TokenizerFamily,
    pub(super) calibration: TokenCalibration,
}

impl NodeRenderer {
    /// Whether what was shown stays shown as it was.
    pub(super) fn keeps(&self) -> bool {
        self.rendering == Rendering::Stable
    }

    /// Why a node is not shown, whatever room there is.
    pub(super) fn omission_reason(&self, node: &Node) -> Option<InclusionReason> {
        if node.state.pruned_by.is_some() {
            Some(InclusionReason::Pruned)
        } else if node.state.excluded {
            Some(InclusionReason::Excluded)
        } else if node.kind == EdgeKind::Annotation {
            Some(InclusionReason::Annotation)
        } else if node.kind == EdgeKind::Thought && !(self.aware && node.author == self.agent) {
            Some(InclusionReason::Thought)
        } else if node.purged_at.is_some() {
            Some(InclusionReason::Purged)
        } else if node.content.is_empty() {
            Some(InclusionReason::Empty)
        } else {
            None
        }
    }

    /// In whose voice a node is given. In a buffer tree there are no turns: the text is what the agent works on.
    pub(super) fn role(&self, node: &Node) -> MessageRole {
        match node.role() {
            _ if self.mode == Mode::Buffer => MessageRole::User,
            AuthorType::System => MessageRole::System,
            AuthorType::Human | AuthorType::Tool => MessageRole::User,
            AuthorType::Model => MessageRole::Assistant,
        }
    }

    /// What stands above a node's words; `before` is the node before it, if that is shown too.
    pub(super) fn header(&self, node: &Node, before: Option<&Node>) -> String {
        if !self.aware {
            return String::new();
        }
        match self.rendering {
            Rendering::Live => {
                let (header, facts) = (escape::header(node, self.now), escape::facts(node));
                let gap = if facts.is_empty() { "" } else { "\n" };
                format!("{header}{gap}{facts}\n---\n")
            }
            Rendering::Stable => {
                let same_day = before.is_some_and(|before| day(before.created_at) == day(node.created_at));
                let at = if same_day { clock(node.created_at) } else { date(node.created_at) };
                format!("[{}] {} · {at}\n---\n", node.local, node.speaker())
            }
        }
    }

    /// A node's words as they may stand in the prompt.
    pub(super) fn content<'n>(&self, node: &'n Node) -> Cow<'n, str> {
        if !self.aware {
            return Cow::Borrowed(&node.content);
        }
        escape_headers(node.content.trim_end_matches('\n'))
    }

    /// Tokens of what else is shown.
    pub(super) fn estimate_tokens(&self, text: &str) -> u32 {
        self.tokenizer.tokens(text)
    }

    /// Tokens of a node's words, as they were counted or as they are estimated. All else is estimated, so a count is
    /// brought to what the estimate would be.
    pub(super) fn tokens(&self, node: &Node) -> u32 {
        let counted = node.tokens.map(|counted| self.calibration.estimate_of(counted));
        counted.unwrap_or_else(|| self.estimate_tokens(&node.content))
    }
}

/// `text` with what could forge the frame escaped. Most texts hold nothing that could begin it, and are told by a look
/// at their bytes.
pub(super) fn escape_headers(text: &str) -> Cow<'_, str> {
    if looks_like_frame(text.as_bytes()) { escape::escape(text) } else { Cow::Borrowed(text) }
}

/// Whether a text holds any of what a line of the frame begins with or is told by: `[`, `=`, `hint:`, `->`, or a
/// character of the blocks with arrows and marks, which in UTF-8 begins with `E2` and is no typographic mark (`E2 80`).
fn looks_like_frame(bytes: &[u8]) -> bool {
    memchr::memchr3_iter(b'[', b'=', 0xe2, bytes).any(|at| bytes[at] != 0xe2 || bytes.get(at + 1) != Some(&0x80))
        || memchr::memchr_iter(b'>', bytes).any(|at| at > 0 && bytes[at - 1] == b'-')
        || memchr::memmem::find(bytes, b"hint:").is_some()
}

/// `2023-11-14 22:13`, in UTC: the assembler knows no time zone.
pub(super) fn date(at: Timestamp) -> String {
    civil(at).strftime("%Y-%m-%d %H:%M").to_string()
}

/// `22:13`.
fn clock(at: Timestamp) -> String {
    let minutes = at.as_millis().div_euclid(60_000).rem_euclid(24 * 60);
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

fn day(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(86_400_000)
}

/// Times that no calendar holds (a broken clock's) are shown as its end.
fn civil(at: Timestamp) -> jiff::civil::DateTime {
    let at = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or(jiff::Timestamp::MAX);
    jiff::tz::TimeZone::UTC.to_datetime(at)
}
