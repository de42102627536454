//! Prompts: chat messages, each a role and a list of parts, or a text to continue.
//!
//! A message is a list of parts, not one text, because both protocols separate tool calls and results from text, in
//! different places. This form converts to either without loss. A tool result is a part of a user message, as in
//! Anthropic's protocol; OpenAI's protocol has a separate role for it.
//!
//! The JSON form has the text as `content`, and `calls`, `answers` and `kept` where there are any.
//!
//! Left out: the bytes of images. A placeholder with the image's name takes their place.

use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};

/// The input that a model continues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Prompt {
    /// Messages for a chat model, oldest first.
    #[serde(rename = "messages")]
    Chat(Vec<Message>),
    /// Text for a base model, continued without a chat template (`/completions`).
    #[serde(rename = "text")]
    Raw(String),
}

/// Author of a chat message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions, which are not part of the conversation.
    System,
    /// The user; also carries tool results.
    User,
    /// The model; carries tool calls.
    Assistant,
}

/// A tool call of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Id that the result refers to.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments as the model wrote them: usually a JSON object, but unchecked.
    pub arguments: String,
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessagePart {
    /// Text; an empty one is not sent.
    Text(String),
    /// A tool call, in a message of the assistant.
    Call(ToolCall),
    /// The result of a tool call, in a message of the user.
    Result {
        /// Id of the call.
        call: String,
        /// Output of the tool.
        text: String,
        /// True if the call failed.
        failed: bool,
    },
    /// An image that is not sent: a placeholder with its name or description.
    Image(String),
}

/// One message of a chat prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Author of the message.
    pub role: Role,
    /// Content of the message, in order.
    pub parts: Vec<MessagePart>,
    /// True if later requests repeat the prompt up to the end of this message.
    ///
    /// Protocols with explicit cache breakpoints get one here; others ignore it.
    pub cache: bool,
}

impl Message {
    /// Creates a message with one text part.
    #[must_use]
    pub fn new(role: Role, text: impl Into<String>) -> Message {
        Message { role, parts: vec![MessagePart::Text(text.into())], cache: false }
    }

    /// Creates a system message with one text part.
    #[must_use]
    pub fn system(text: impl Into<String>) -> Message {
        Message::new(Role::System, text)
    }

    /// Creates a user message with one text part.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Message {
        Message::new(Role::User, text)
    }

    /// Creates an assistant message with one text part.
    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Message {
        Message::new(Role::Assistant, text)
    }

    /// Appends a part to the message.
    #[must_use]
    pub fn with(mut self, part: MessagePart) -> Message {
        self.parts.push(part);
        self
    }

    /// Sets a cache breakpoint at the end of the message.
    #[must_use]
    pub fn cached(self) -> Message {
        Message { cache: true, ..self }
    }

    /// Returns the text parts, separated by blank lines; without calls and results.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<String> = self.parts.iter().filter_map(MessagePart::text).collect();
        texts.join("\n\n")
    }
}

impl MessagePart {
    /// Returns the part as text; `None` for calls, results and empty text.
    pub(crate) fn text(&self) -> Option<String> {
        match self {
            MessagePart::Text(text) if text.is_empty() => None,
            MessagePart::Text(text) => Some(text.clone()),
            MessagePart::Image(name) => Some(format!("[image: {name}]")),
            MessagePart::Call(_) | MessagePart::Result { .. } => None,
        }
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct AnswerJson<'a> {
            call: &'a str,
            text: &'a str,
            failed: bool,
        }
        let calls =
            self.parts.iter().filter_map(|part| if let MessagePart::Call(call) = part { Some(call) } else { None });
        let answers = self.parts.iter().filter_map(|part| match part {
            MessagePart::Result { call, text, failed } => Some(AnswerJson { call, text, failed: *failed }),
            _ => None,
        });
        let (calls, answers): (Vec<&ToolCall>, Vec<AnswerJson<'_>>) = (calls.collect(), answers.collect());
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("role", &self.role)?;
        map.serialize_entry("content", &self.text())?;
        if !calls.is_empty() {
            map.serialize_entry("calls", &calls)?;
        }
        if !answers.is_empty() {
            map.serialize_entry("answers", &answers)?;
        }
        if self.cache {
            map.serialize_entry("kept", &true)?;
        }
        map.end()
    }
}
