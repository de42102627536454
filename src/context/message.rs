//! The prompt as a provider takes it: messages whose voices alternate.

use serde::Serialize;

use super::{ContextSection, RoundAnswer, RoundCall};

/// In whose voice a part of a conversation is given to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageRole {
    /// What the model is told beforehand.
    System,
    /// Whom it talks with, tools included.
    User,
    /// The model itself.
    Assistant,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PromptMessage {
    /// Who speaks.
    pub role: MessageRole,
    /// What is said.
    pub content: String,
    /// Tools that the model called after that, in the provider's way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<RoundCall>,
    /// What such calls gave; these come before the words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<RoundAnswer>,
    /// Whether the prompt up to the end of this message will come again: where a provider has explicit cache marks, one
    /// belongs here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
}

/// What a model is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RenderedPrompt {
    /// A chat.
    Messages(Vec<PromptMessage>),
    /// One text that is continued without any frame around it: a buffer tree, for an agent that does not see the tree.
    Text(String),
}

/// A piece of a chat, before pieces of one voice are put together.
pub(super) struct PromptPiece {
    pub(super) part: ContextSection,
    pub(super) role: MessageRole,
    pub(super) text: String,
    pub(super) tokens: u32,
    /// Whether it will stand at the same place in the next prompt.
    pub(super) kept: bool,
    pub(super) calls: Vec<RoundCall>,
    pub(super) answers: Vec<RoundAnswer>,
    /// Whether it continues the text of the piece before it: the second half of a split.
    pub(super) continues: bool,
}

impl PromptPiece {
    /// A piece of words.
    pub(super) const fn new(part: ContextSection, voice: MessageRole, text: String, tokens: u32, kept: bool) -> Self {
        Self { part, role: voice, text, tokens, kept, calls: Vec::new(), answers: Vec::new(), continues: false }
    }
}

/// Tokens that a message costs beside its words.
pub(super) const MESSAGE_OVERHEAD_TOKENS: u32 = 4;

/// Pieces as messages: consecutive pieces of one voice become one message (many providers require that voices
/// alternate), with a blank line between them. Cache marks go to the first message and to the last that is wholly kept.
pub(super) fn merge_pieces(pieces: Vec<PromptPiece>) -> Vec<PromptMessage> {
    let mut messages: Vec<PromptMessage> = Vec::new();
    for piece in pieces {
        match messages.last_mut() {
            // What calls gave begins a message: words before it belong to one of their own.
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
