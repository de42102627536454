//! What a chat is made of: messages of parts, in three voices.
//!
//! A message is a list of parts rather than one text, because both protocols that are spoken here take calls and their
//! results as things beside the text, each in its own place; this form turns into either without loss. A tool's result
//! is a part of what the user says, as in Anthropic's protocol; OpenAI's gives it a voice of its own.
//!
//! Left out: the bytes of images. An image is named where it stood, so that a model knows that there was one.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who speaks in a chat message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The frame: instructions, not part of the conversation.
    System,
    /// The other side of the model, tools included.
    User,
    /// The model.
    Assistant,
}

/// A tool call of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// What the result is to refer to.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// The arguments as the model wrote them: mostly a JSON object, but nothing checks that.
    pub arguments: String,
}

/// A tool that a model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// What it is called; providers take letters, digits, `_` and `-`.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON schema of its arguments, an object.
    pub parameters: Value,
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessagePart {
    /// Text; empty ones are not sent.
    Text(String),
    /// A call, in what the assistant says.
    Call(ToolCall),
    /// What a call gave, in what the user says.
    Result {
        /// The id of the call.
        call: String,
        /// What it gave.
        text: String,
        /// Whether it failed.
        failed: bool,
    },
    /// An image that is not sent: a placeholder with its name or description.
    Image(String),
}

/// One message of a chat prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub parts: Vec<MessagePart>,
    /// Whether the prompt up to the end of this message will come again. Providers with explicit cache marks are given
    /// one here; the others ignore it.
    pub cache: bool,
}

impl Message {
    /// A message of one text.
    #[must_use]
    pub fn new(role: Role, text: impl Into<String>) -> Message {
        Message { role, parts: vec![MessagePart::Text(text.into())], cache: false }
    }

    /// Instructions.
    #[must_use]
    pub fn system(text: impl Into<String>) -> Message {
        Message::new(Role::System, text)
    }

    /// What the other side says.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Message {
        Message::new(Role::User, text)
    }

    /// What the model said.
    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Message {
        Message::new(Role::Assistant, text)
    }

    /// The same with more at its end.
    #[must_use]
    pub fn with(mut self, part: MessagePart) -> Message {
        self.parts.push(part);
        self
    }

    /// The same with a cache mark at its end.
    #[must_use]
    pub fn cached(self) -> Message {
        Message { cache: true, ..self }
    }

    /// The text of the message, a blank line between parts; calls and results are not in it.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<String> = self.parts.iter().filter_map(MessagePart::text).collect();
        texts.join("\n\n")
    }
}

impl MessagePart {
    /// A part that is text for every provider; `None` for calls, results and what is empty.
    pub(crate) fn text(&self) -> Option<String> {
        match self {
            MessagePart::Text(text) if text.is_empty() => None,
            MessagePart::Text(text) => Some(text.clone()),
            MessagePart::Image(name) => Some(format!("[image: {name}]")),
            MessagePart::Call(_) | MessagePart::Result { .. } => None,
        }
    }
}

/// Messages in which every call is answered by the message after it and every result answers a call, as providers
/// require and a window cut out of a history need not be. A call without a result gets one that says so; a result
/// without its call becomes text.
pub(crate) fn settled(messages: &[Message]) -> Vec<Message> {
    let mut settled: Vec<Message> = Vec::with_capacity(messages.len());
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        let mut message = message.clone();
        let mut answers = Vec::new();
        message.parts = std::mem::take(&mut message.parts)
            .into_iter()
            .filter_map(|part| match part {
                MessagePart::Result { call, text, failed } if message.role == Role::User => {
                    match open.iter().position(|id| *id == call) {
                        Some(at) => {
                            open.remove(at);
                            answers.push(MessagePart::Result { call, text, failed });
                            None
                        }
                        None => Some(MessagePart::Text(format!("[result of an earlier call]\n{text}"))),
                    }
                }
                MessagePart::Result { text, .. } => Some(MessagePart::Text(text)),
                MessagePart::Call(call) if message.role != Role::Assistant => {
                    Some(MessagePart::Text(format!("[call of {}] {}", call.name, call.arguments)))
                }
                part => Some(part),
            })
            .collect();
        // Results may come in several messages, as long as nobody else speaks in between.
        if !open.is_empty() && (message.role != Role::User || !message.parts.is_empty()) {
            answers.extend(unanswered(&mut open));
        }
        let calls = message.parts.iter().filter_map(|part| match part {
            MessagePart::Call(call) => Some(call.id.clone()),
            _ => None,
        });
        let calls: Vec<String> = calls.collect();
        if message.role == Role::User {
            message.parts.splice(0..0, answers);
        } else if !answers.is_empty() {
            settled.push(Message { role: Role::User, parts: answers, cache: false });
        }
        open.extend(calls);
        settled.push(message);
    }
    if !open.is_empty() {
        settled.push(Message { role: Role::User, parts: unanswered(&mut open).collect(), cache: false });
    }
    settled
}

fn unanswered(open: &mut Vec<String>) -> impl Iterator<Item = MessagePart> + '_ {
    open.drain(..).map(|call| MessagePart::Result { call, text: "(no result is known)".to_owned(), failed: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> MessagePart {
        MessagePart::Call(ToolCall { id: id.into(), name: "look".into(), arguments: "{}".into() })
    }

    fn result(id: &str) -> MessagePart {
        MessagePart::Result { call: id.into(), text: "seen".into(), failed: false }
    }

    fn user(parts: Vec<MessagePart>) -> Message {
        Message { role: Role::User, parts, cache: false }
    }

    #[test]
    fn what_is_whole_stays_as_it_is() {
        let asked = Message::assistant("let me see").with(call("a")).with(call("b"));
        for whole in [
            vec![
                Message::user("go"),
                asked.clone(),
                user(vec![result("b"), result("a"), MessagePart::Text("and?".into())]),
            ],
            vec![Message::user("go"), asked.clone(), user(vec![result("a")]), user(vec![result("b")]), asked.clone()],
        ] {
            let mut expected = whole.clone();
            if expected.len() == 5 {
                let missing = |id: &str| MessagePart::Result {
                    call: id.into(),
                    text: "(no result is known)".into(),
                    failed: true,
                };
                expected.push(user(vec![missing("a"), missing("b")]));
            }
            assert_eq!(settled(&whole), expected);
        }
    }

    #[test]
    fn a_window_cut_between_a_call_and_its_result_is_mended() {
        let mended =
            settled(&[user(vec![result("gone")]), Message::assistant("").with(call("a")), Message::user("so")]);
        assert_eq!(mended[0].text(), "[result of an earlier call]\nseen");
        let MessagePart::Result { call: of, failed: true, .. } = &mended[2].parts[0] else { panic!("{mended:?}") };
        assert_eq!((of.as_str(), mended[2].text().as_str(), mended.len()), ("a", "so", 3));
        let mended = settled(&[Message::assistant("").with(call("a")), Message::assistant("on")]);
        assert_eq!((mended.len(), mended[1].role), (3, Role::User));
    }
}
