//! Anthropic's JSON: requests for `/messages`, and the events that come back.
//!
//! The API wants voices that alternate, the user's first, and no empty text; so messages are merged and filtered here
//! rather than by whoever asks. What it cannot do (a seed, probabilities, several replies, plain text to continue) is
//! left out of the request, but for the last, which is an error: a chat is another thing than a continuation.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Capabilities, DecodedReply, PartialUsage, StreamPiece, ToolCallPiece, said};
use crate::provider::{Message, MessagePart, Prompt, ProviderError, Request, Role, ToolDefinition, message::settled};

/// The limit of the output where none is set; the API needs one.
const DEFAULT_OUTPUT: u32 = 8_192;

/// The most cache marks that the API takes.
const MOST_MARKS: usize = 4;

/// What stands for the user where the model would speak first, or where the model must not speak last.
const GO_ON: &str = "(Go on.)";

#[derive(Serialize)]
struct MessagesRequest<'a> {
    model: Option<&'a str>,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<MessagesTool<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<MessagesBlock>,
    messages: Vec<MessagesTurn>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop_sequences: &'a [String],
}

#[derive(Serialize)]
struct MessagesTool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

#[derive(Serialize)]
struct MessagesTurn {
    role: Role,
    content: Vec<MessagesBlock>,
}

#[derive(Serialize)]
struct MessagesBlock {
    #[serde(flatten)]
    content: BlockContent,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct CacheControl {
    r#type: &'static str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockContent {
    Text {
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    ToolResult {
        tool_use_id: String,
        content: String,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

type Written = (&'static str, serde_json::Result<Vec<u8>>);

/// Returns the path and the body for a request.
pub(super) fn body(model: Option<&str>, request: &Request, dialect: Capabilities) -> Result<Written, ProviderError> {
    let Prompt::Chat(messages) = &request.prompt else {
        return Err(ProviderError::configuration(
            "Anthropic's models chat and do not continue a plain text; for a buffer tree take a base model",
        ));
    };
    let (system, mut turns) = turns(settled(messages), dialect);
    limit_marks(&system, &mut turns);
    let body = MessagesRequest {
        model,
        max_tokens: request.sampling.max_tokens.unwrap_or(DEFAULT_OUTPUT),
        tools: request.tools.iter().map(offered).collect(),
        system,
        messages: turns,
        stream: true,
        temperature: request.sampling.temperature,
        stop_sequences: &request.sampling.stop,
    };
    Ok(("messages", serde_json::to_vec(&body)))
}

fn offered(tool: &ToolDefinition) -> MessagesTool<'_> {
    MessagesTool { name: &tool.name, description: &tool.description, input_schema: &tool.parameters }
}

/// The system prompt, which is what stands before everything else, and turns that alternate. Instructions further down
/// are given as the user's, since the API knows none there.
fn turns(messages: Vec<Message>, dialect: Capabilities) -> (Vec<MessagesBlock>, Vec<MessagesTurn>) {
    let mut system = Vec::new();
    let mut turns: Vec<MessagesTurn> = Vec::new();
    for message in messages {
        let frame = message.role == Role::System && turns.is_empty();
        let mut blocks: Vec<MessagesBlock> = message.parts.into_iter().filter_map(block).collect();
        if let (true, Some(last)) = (message.cache, blocks.last_mut()) {
            last.cache_control = Some(CacheControl { r#type: "ephemeral" });
        }
        let role = if message.role == Role::Assistant { Role::Assistant } else { Role::User };
        match turns.last_mut() {
            _ if frame => system.extend(blocks),
            _ if blocks.is_empty() => {}
            Some(last) if last.role == role => last.content.extend(blocks),
            last => {
                if last.is_none() && role == Role::Assistant {
                    turns.push(go_on());
                }
                turns.push(MessagesTurn { role, content: blocks });
            }
        }
    }
    match turns.last_mut() {
        None => turns.push(go_on()),
        Some(last) if last.role == Role::Assistant && dialect.prefill => {
            // The text to be gone on with must not end in white space, says the API.
            if let Some(MessagesBlock { content: BlockContent::Text { text }, .. }) = last.content.last_mut() {
                text.truncate(text.trim_end().len());
            }
        }
        Some(last) if last.role == Role::Assistant => turns.push(go_on()),
        Some(_) => {}
    }
    (system, turns)
}

fn go_on() -> MessagesTurn {
    let content = BlockContent::Text { text: GO_ON.to_owned() };
    MessagesTurn { role: Role::User, content: vec![MessagesBlock { content, cache_control: None }] }
}

/// Text of nothing but white space is refused by the API.
fn block(part: MessagePart) -> Option<MessagesBlock> {
    let content = match part {
        MessagePart::Call(call) => {
            let input = match serde_json::from_str(&call.arguments) {
                Ok(Value::Object(input)) => Value::Object(input),
                // The API takes objects only; the model sees its own mistake.
                _ => json!({ "invalid": call.arguments }),
            };
            BlockContent::ToolUse { id: call.id, name: call.name, input }
        }
        MessagePart::Result { call, text, failed } => {
            BlockContent::ToolResult { tool_use_id: call, content: text, is_error: failed }
        }
        text => BlockContent::Text { text: text.text().filter(|text| !text.trim().is_empty())? },
    };
    Some(MessagesBlock { content, cache_control: None })
}

/// Takes marks away from the front of the conversation: the system prompt's and the last ones say most.
fn limit_marks(system: &[MessagesBlock], turns: &mut [MessagesTurn]) {
    let in_frame = system.iter().filter(|block| block.cache_control.is_some()).count();
    let marked = turns.iter_mut().flat_map(|turn| &mut turn.content).filter(|block| block.cache_control.is_some());
    let marked: Vec<&mut MessagesBlock> = marked.collect();
    let spare = (marked.len() + in_frame).saturating_sub(MOST_MARKS);
    for block in marked.into_iter().take(spare) {
        block.cache_control = None;
    }
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum MessagesEvent {
    MessageStart {
        message: EventMessage,
    },
    /// A whole answer, not streamed.
    Message(EventMessage),
    ContentBlockStart {
        index: u64,
        content_block: EventBlock,
    },
    ContentBlockDelta {
        index: u64,
        delta: EventDelta,
    },
    MessageDelta {
        delta: EventStop,
        usage: Option<EventUsage>,
    },
    MessageStop,
    Ping,
    Error {
        error: Value,
    },
    /// Others may be added, says the API: `content_block_stop` is one of which nothing follows.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct EventMessage {
    id: Option<String>,
    model: Option<String>,
    #[serde(default)]
    content: Vec<EventBlock>,
    stop_reason: Option<String>,
    usage: Option<EventUsage>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum EventBlock {
    Text {
        text: Option<String>,
    },
    ToolUse {
        id: Option<String>,
        name: Option<String>,
        input: Option<Value>,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum EventDelta {
    TextDelta {
        text: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct EventStop {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct EventUsage {
    input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl From<EventUsage> for PartialUsage {
    fn from(raw: EventUsage) -> PartialUsage {
        PartialUsage {
            prompt: None,
            fresh: raw.input_tokens,
            cached: raw.cache_read_input_tokens,
            cache_write: raw.cache_creation_input_tokens,
            output: raw.output_tokens,
        }
    }
}

/// Reads an event or a whole answer; `Err` says why it is none.
pub(super) fn answer(json: &[u8]) -> Result<DecodedReply, String> {
    let raw: MessagesEvent = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    let one = |piece: StreamPiece| DecodedReply { pieces: vec![piece], ..DecodedReply::default() };
    Ok(match raw {
        MessagesEvent::MessageStart { message } => {
            let mut begun = whole(message);
            // So far: that number is no count of what comes.
            begun.usage.output = None;
            begun
        }
        MessagesEvent::Message(message) => whole(message),
        MessagesEvent::ContentBlockStart { index, content_block } => one(started(index, content_block)),
        MessagesEvent::ContentBlockDelta { delta: EventDelta::TextDelta { text }, .. } => {
            one(StreamPiece { text, ..StreamPiece::default() })
        }
        MessagesEvent::ContentBlockDelta { index, delta: EventDelta::InputJsonDelta { partial_json } } => {
            let call = ToolCallPiece { index: Some(index), arguments: partial_json, ..ToolCallPiece::default() };
            one(StreamPiece { calls: vec![call], ..StreamPiece::default() })
        }
        MessagesEvent::MessageDelta { delta, usage } => {
            let usage = usage.map(PartialUsage::from).unwrap_or_default();
            DecodedReply { usage, ..one(StreamPiece { finish: delta.stop_reason, ..StreamPiece::default() }) }
        }
        MessagesEvent::MessageStop => DecodedReply { done: true, ..DecodedReply::default() },
        MessagesEvent::Ping => DecodedReply { idle: true, ..DecodedReply::default() },
        MessagesEvent::Error { error } => DecodedReply { error: Some(said(&error)), ..DecodedReply::default() },
        MessagesEvent::ContentBlockDelta { .. } | MessagesEvent::Other => DecodedReply::default(),
    })
}

fn whole(message: EventMessage) -> DecodedReply {
    let mut piece = StreamPiece { finish: message.stop_reason, ..StreamPiece::default() };
    for (index, block) in (0..).zip(message.content) {
        let started = started(index, block);
        piece.text.push_str(&started.text);
        piece.calls.extend(started.calls);
    }
    let usage = message.usage.map(PartialUsage::from).unwrap_or_default();
    DecodedReply { id: message.id, model: message.model, pieces: vec![piece], usage, ..DecodedReply::default() }
}

/// What a block begins with; the input of a call comes after it, unless the server sends it at once.
fn started(index: u64, block: EventBlock) -> StreamPiece {
    match block {
        EventBlock::Text { text } => StreamPiece { text: text.unwrap_or_default(), ..StreamPiece::default() },
        EventBlock::ToolUse { id, name, input } => {
            let input = input.filter(|input| input.as_object().is_none_or(|fields| !fields.is_empty()));
            let arguments = input.filter(|input| !input.is_null()).map(|input| input.to_string()).unwrap_or_default();
            let call = ToolCallPiece { index: Some(index), id, name, arguments };
            StreamPiece { calls: vec![call], ..StreamPiece::default() }
        }
        EventBlock::Other => StreamPiece::default(),
    }
}

#[cfg(test)]
mod tests;
