//! Anthropic's Messages protocol: requests for `/messages`, and their events.
//!
//! The API requires alternating roles, the user's first, and no empty text. This module merges and filters messages, so
//! that callers need not. Options without an equivalent (seed, log probabilities, several replies) are omitted. A raw
//! prompt is an error, because a chat cannot replace a text completion.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Capabilities, DecodedReply, PartialUsage, StreamPiece, ToolCallPiece, error_body::error_report};
use crate::provider::{
    Message, MessagePart, Prompt, ProviderError, Request, Role, ToolDefinition, tool_call_pairs::pair_tool_results,
};

/// Output limit in tokens if the request sets none; the API requires one.
const DEFAULT_MAX_TOKENS: u32 = 8_192;

/// Limit of cache breakpoints per request, set by the API.
const MAX_CACHE_BREAKPOINTS: usize = 4;

/// User message inserted before a leading assistant message, and after a final one if the model refuses prefills.
const CONTINUE_PROMPT: &str = "(Go on.)";

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

/// Returns the path and the body of a request.
pub(super) fn request_body(
    model: Option<&str>,
    request: &Request,
    capabilities: Capabilities,
) -> Result<Written, ProviderError> {
    let Prompt::Chat(messages) = &request.prompt else {
        return Err(ProviderError::configuration(
            "Anthropic's models accept chats only, not plain text; use a base model for a buffer tree",
        ));
    };
    let (system, mut turns) = turns(pair_tool_results(messages), capabilities);
    limit_breakpoints(&system, &mut turns);
    let body = MessagesRequest {
        model,
        max_tokens: request.sampling.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS),
        tools: request.tools.iter().map(tool_definition).collect(),
        system,
        messages: turns,
        stream: true,
        temperature: request.sampling.temperature,
        stop_sequences: &request.sampling.stop,
    };
    Ok(("messages", serde_json::to_vec(&body)))
}

fn tool_definition(tool: &ToolDefinition) -> MessagesTool<'_> {
    MessagesTool { name: &tool.name, description: &tool.description, input_schema: &tool.parameters }
}

/// Returns the system prompt (all leading system messages) and alternating turns. Later system messages become user
/// messages, because the API has no other place for them.
fn turns(messages: Vec<Message>, capabilities: Capabilities) -> (Vec<MessagesBlock>, Vec<MessagesTurn>) {
    let mut system = Vec::new();
    let mut turns: Vec<MessagesTurn> = Vec::new();
    for message in messages {
        let is_system_prompt = message.role == Role::System && turns.is_empty();
        let mut blocks: Vec<MessagesBlock> = message.parts.into_iter().filter_map(block).collect();
        if let (true, Some(last)) = (message.cache, blocks.last_mut()) {
            last.cache_control = Some(CacheControl { r#type: "ephemeral" });
        }
        let role = if message.role == Role::Assistant { Role::Assistant } else { Role::User };
        match turns.last_mut() {
            _ if is_system_prompt => system.extend(blocks),
            _ if blocks.is_empty() => {}
            Some(last) if last.role == role => last.content.extend(blocks),
            last => {
                if last.is_none() && role == Role::Assistant {
                    turns.push(continue_turn());
                }
                turns.push(MessagesTurn { role, content: blocks });
            }
        }
    }
    match turns.last_mut() {
        None => turns.push(continue_turn()),
        Some(last) if last.role == Role::Assistant && capabilities.prefill => {
            // The API refuses a prefill with trailing white space.
            if let Some(MessagesBlock { content: BlockContent::Text { text }, .. }) = last.content.last_mut() {
                text.truncate(text.trim_end().len());
            }
        }
        Some(last) if last.role == Role::Assistant => turns.push(continue_turn()),
        Some(_) => {}
    }
    (system, turns)
}

fn continue_turn() -> MessagesTurn {
    let content = BlockContent::Text { text: CONTINUE_PROMPT.to_owned() };
    MessagesTurn { role: Role::User, content: vec![MessagesBlock { content, cache_control: None }] }
}

/// Converts a part to a block; `None` for blank text, which the API refuses.
fn block(part: MessagePart) -> Option<MessagesBlock> {
    let content = match part {
        MessagePart::Call(call) => {
            let input = match serde_json::from_str(&call.arguments) {
                Ok(Value::Object(input)) => Value::Object(input),
                // The API accepts objects only. This way the model sees its mistake.
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

/// Removes the earliest breakpoints of the conversation above the limit; those of the system prompt stay.
fn limit_breakpoints(system: &[MessagesBlock], turns: &mut [MessagesTurn]) {
    let in_system = system.iter().filter(|block| block.cache_control.is_some()).count();
    let marked = turns.iter_mut().flat_map(|turn| &mut turn.content).filter(|block| block.cache_control.is_some());
    let marked: Vec<&mut MessagesBlock> = marked.collect();
    let spare = (marked.len() + in_system).saturating_sub(MAX_CACHE_BREAKPOINTS);
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
    /// A whole response, not streamed.
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
    /// Unused events such as `content_block_stop`, and future ones: the API may add events.
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

/// Decodes an event or a whole response; `Err` holds the reason for a failure.
pub(super) fn decode(json: &[u8]) -> Result<DecodedReply, String> {
    let raw: MessagesEvent = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    let single = |piece: StreamPiece| DecodedReply { pieces: vec![piece], ..DecodedReply::default() };
    Ok(match raw {
        MessagesEvent::MessageStart { message } => {
            let mut decoded = decode_message(message);
            // The first event counts only the output so far; the last event has the total.
            decoded.usage.output = None;
            decoded
        }
        MessagesEvent::Message(message) => decode_message(message),
        MessagesEvent::ContentBlockStart { index, content_block } => single(block_start(index, content_block)),
        MessagesEvent::ContentBlockDelta { delta: EventDelta::TextDelta { text }, .. } => {
            single(StreamPiece { text, ..StreamPiece::default() })
        }
        MessagesEvent::ContentBlockDelta { index, delta: EventDelta::InputJsonDelta { partial_json } } => {
            let call = ToolCallPiece { index: Some(index), arguments: partial_json, ..ToolCallPiece::default() };
            single(StreamPiece { calls: vec![call], ..StreamPiece::default() })
        }
        MessagesEvent::MessageDelta { delta, usage } => {
            let usage = usage.map(PartialUsage::from).unwrap_or_default();
            DecodedReply { usage, ..single(StreamPiece { finish: delta.stop_reason, ..StreamPiece::default() }) }
        }
        MessagesEvent::MessageStop => DecodedReply { done: true, ..DecodedReply::default() },
        MessagesEvent::Ping => DecodedReply { idle: true, ..DecodedReply::default() },
        MessagesEvent::Error { error } => DecodedReply { error: Some(error_report(&error)), ..DecodedReply::default() },
        MessagesEvent::ContentBlockDelta { .. } | MessagesEvent::Other => DecodedReply::default(),
    })
}

fn decode_message(message: EventMessage) -> DecodedReply {
    let mut piece = StreamPiece { finish: message.stop_reason, ..StreamPiece::default() };
    for (index, block) in (0..).zip(message.content) {
        let started = block_start(index, block);
        piece.text.push_str(&started.text);
        piece.calls.extend(started.calls);
    }
    let usage = message.usage.map(PartialUsage::from).unwrap_or_default();
    DecodedReply { id: message.id, model: message.model, pieces: vec![piece], usage, ..DecodedReply::default() }
}

/// Decodes the start of a block. The input of a call mostly follows in deltas; some servers send it here.
fn block_start(index: u64, block: EventBlock) -> StreamPiece {
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
