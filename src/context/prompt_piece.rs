//! Rendered prompt: messages with alternating roles.

use super::ContextSection;
use crate::types::{Message, MessagePart, Role, ToolCall};

/// Part of a chat, before parts of one role are merged into a message.
pub(super) struct PromptPiece {
    pub(super) part: ContextSection,
    pub(super) role: Role,
    pub(super) text: String,
    pub(super) tokens: u32,
    /// True if the next prompt has the same piece at the same place.
    pub(super) kept: bool,
    pub(super) calls: Vec<ToolCall>,
    pub(super) answers: Vec<MessagePart>,
    /// True if the piece continues the text of the one before it (`Node::is_second_half_of`).
    pub(super) continues: bool,
}

impl PromptPiece {
    /// Creates a piece of text.
    pub(super) const fn new(part: ContextSection, role: Role, text: String, tokens: u32, kept: bool) -> Self {
        Self { part, role, text, tokens, kept, calls: Vec::new(), answers: Vec::new(), continues: false }
    }
}

/// Token overhead of a message.
pub(super) const MESSAGE_OVERHEAD_TOKENS: u32 = 4;

/// Merges consecutive pieces of one role into messages, with a blank line between them, because many providers require
/// alternating roles. The first message gets a cache mark, and so does the last one whose pieces are all stable.
pub(super) fn merge_pieces(pieces: Vec<PromptPiece>) -> Vec<Message> {
    let mut merged: Vec<PromptPiece> = Vec::new();
    for piece in pieces {
        match merged.last_mut() {
            // Tool results start a message, so earlier text goes into a separate one.
            Some(last) if last.role == piece.role && (piece.answers.is_empty() || last.text.is_empty()) => {
                if !last.text.is_empty() && !piece.text.is_empty() && !piece.continues {
                    last.text.push_str("\n\n");
                }
                last.text.push_str(&piece.text);
                last.calls.extend(piece.calls);
                last.answers.extend(piece.answers);
                last.kept &= piece.kept;
            }
            _ => merged.push(piece),
        }
    }
    let kept = merged.iter().take_while(|piece| piece.kept).count();
    let message = |(at, piece): (usize, PromptPiece)| {
        let text = (!piece.text.is_empty()).then_some(MessagePart::Text(piece.text));
        let calls = piece.calls.into_iter().map(MessagePart::Call);
        Message {
            role: piece.role,
            parts: piece.answers.into_iter().chain(text).chain(calls).collect(),
            cache: at < kept && (at + 1 == kept || at == 0 && piece.role == Role::System),
        }
    };
    merged.into_iter().enumerate().map(message).collect()
}
