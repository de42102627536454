//! Rendered prompt: messages with alternating roles.

use serde::Serialize;

use super::{ContextSection, RoundAnswer, RoundCall};

/// Role of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum MessageRole {
    /// Instructions for the model.
    System,
    /// User messages and tool results.
    User,
    /// Messages of the model.
    Assistant,
}

/// Message of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PromptMessage {
    /// Role of the author.
    pub role: MessageRole,
    /// Text of the message.
    pub content: String,
    /// Tool calls of the model, after the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<RoundCall>,
    /// Results of tool calls, before the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<RoundAnswer>,
    /// True if the next prompt repeats the prompt up to the end of this message. Providers with explicit cache marks
    /// need one here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
}

/// Prompt for a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RenderedPrompt {
    /// Chat messages.
    Messages(Vec<PromptMessage>),
    /// Text to continue: a buffer tree, for an agent without the `loom_aware` permission.
    Text(String),
}

/// Part of a chat, before parts of one role are merged into a message.
pub(super) struct PromptPiece {
    pub(super) part: ContextSection,
    pub(super) role: MessageRole,
    pub(super) text: String,
    pub(super) tokens: u32,
    /// True if the next prompt has the same piece at the same place.
    pub(super) kept: bool,
    pub(super) calls: Vec<RoundCall>,
    pub(super) answers: Vec<RoundAnswer>,
    /// True if the piece continues the text of the one before it, as the second half of a split.
    pub(super) continues: bool,
}

impl PromptPiece {
    /// Creates a piece of text.
    pub(super) const fn new(part: ContextSection, role: MessageRole, text: String, tokens: u32, kept: bool) -> Self {
        Self { part, role, text, tokens, kept, calls: Vec::new(), answers: Vec::new(), continues: false }
    }
}

/// Token overhead of a message.
pub(super) const MESSAGE_OVERHEAD_TOKENS: u32 = 4;

/// Merges consecutive pieces of one role into messages, with a blank line between them, because many providers require
/// alternating roles. The first message gets a cache mark, and so does the last one whose pieces are all stable.
pub(super) fn merge_pieces(pieces: Vec<PromptPiece>) -> Vec<PromptMessage> {
    let mut messages: Vec<PromptMessage> = Vec::new();
    for piece in pieces {
        match messages.last_mut() {
            // Tool results start a message, so earlier text goes into a separate one.
            Some(last) if last.role == piece.role && (piece.answers.is_empty() || last.content.is_empty()) => {
                if !last.content.is_empty() && !piece.text.is_empty() && !piece.continues {
                    last.content.push_str("\n\n");
                }
                last.content.push_str(&piece.text);
                last.calls.extend(piece.calls);
                last.answers.extend(piece.answers);
                last.kept &= piece.kept;
            }
            _ => messages.push(PromptMessage {
                role: piece.role,
                content: piece.text,
                calls: piece.calls,
                answers: piece.answers,
                kept: piece.kept,
            }),
        }
    }
    let kept = messages.iter().take_while(|message| message.kept).count();
    for (at, message) in messages.iter_mut().enumerate() {
        message.kept = at < kept && (at + 1 == kept || at == 0 && message.role == MessageRole::System);
    }
    messages
}
