//! Request of `/v1/chat/completions`: its body, and the messages and tools for a model.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    item::{message_text, text_of_part},
    open_model,
};
use crate::{
    provider::{Message, MessagePart, Prompt, Request, Role, Sampling, ToolCall, ToolDefinition},
    serve::{
        api::any_json,
        error::{ApiError, Result},
    },
};

/// A request for a completion. Other fields are ignored.
#[derive(Deserialize, ToSchema)]
pub(super) struct CompletionBody {
    /// Name of an agent, or reference of a model.
    pub(super) model: Option<String>,
    /// The whole conversation.
    #[schema(value_type = Vec<Object>)]
    pub(super) messages: Vec<Value>,
    /// Number of replies [default: 1; at most 10].
    pub(super) n: Option<usize>,
    /// True to stream chunks.
    #[serde(default)]
    pub(super) stream: bool,
    /// `{"include_usage": true}` adds a last chunk with the tokens.
    #[serde(default)]
    #[schema(schema_with = any_json)]
    pub(super) stream_options: Value,
    /// False to store nothing [default: true].
    pub(super) store: Option<bool>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    temperature: Option<f32>,
    seed: Option<u64>,
    /// Functions that the model may call.
    #[serde(default)]
    #[schema(value_type = Vec<Object>)]
    pub(super) tools: Vec<Value>,
    /// `auto` or `none`; other choices are refused.
    #[serde(default)]
    #[schema(schema_with = any_json)]
    tool_choice: Value,
    /// `{"type": "text"}`; other formats are refused.
    #[serde(default)]
    #[schema(schema_with = any_json)]
    response_format: Value,
    #[serde(default)]
    #[schema(schema_with = any_json)]
    stop: Value,
}

impl CompletionBody {
    /// Returns the request to the model.
    ///
    /// # Errors
    /// If the body asks for what models are not sent, such as images.
    pub(super) fn request(&self) -> Result<Request> {
        let messages = self.messages.iter().map(message).collect::<Result<Vec<_>>>()?;
        if messages.is_empty() {
            return Err(ApiError::invalid("messages is empty"));
        }
        let stop = match &self.stop {
            Value::String(stop) => vec![stop.clone()],
            Value::Array(stops) => stops.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        let sampling = Sampling {
            temperature: self.temperature,
            max_tokens: self.max_completion_tokens.or(self.max_tokens),
            seed: self.seed,
            stop,
            ..Sampling::default()
        };
        let definition = |tool: &Value| ToolDefinition {
            name: tool["function"]["name"].as_str().unwrap_or_default().to_owned(),
            description: tool["function"]["description"].as_str().unwrap_or_default().to_owned(),
            parameters: tool["function"]["parameters"].clone(),
        };
        let offers_tools = open_model::check_supported(&self.tool_choice, &self.response_format)?;
        let functions = self.tools.iter().filter(|tool| offers_tools && tool["type"] == "function");
        let tools = functions.map(definition).collect();
        Ok(Request { tools, sampling, ..Request::new(Prompt::Chat(messages)) })
    }
}

/// Returns the text of a message for a model.
///
/// # Errors
/// If a part is no text, such as an image: no model would be sent it.
fn text_for_model(content: &Value) -> Result<String> {
    match content {
        Value::Null | Value::String(_) => {}
        Value::Array(parts) => {
            if let Some(other) = parts.iter().find(|part| text_of_part(part).is_none()) {
                let kind = other["type"].as_str().unwrap_or("unknown");
                return Err(ApiError::invalid(format!("content of the type {kind:?} is not supported, only text")));
            }
        }
        _ => return Err(ApiError::invalid("content must be a text or a list of parts")),
    }
    Ok(message_text(content))
}

fn message(message: &Value) -> Result<Message> {
    let text = text_for_model(&message["content"])?;
    let role = match message["role"].as_str() {
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool") => {
            let call = message["tool_call_id"].as_str().unwrap_or_default().to_owned();
            return Ok(Message {
                role: Role::User,
                parts: vec![MessagePart::Result { call, text, failed: false }],
                cache: false,
            });
        }
        _ => return Err(ApiError::invalid("a message's role is none of: system, developer, user, assistant, tool")),
    };
    let mut message_parts = vec![MessagePart::Text(text)];
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (id, function) = (text(&call["id"]), &call["function"]);
        let call = ToolCall { id, name: text(&function["name"]), arguments: text(&function["arguments"]) };
        message_parts.push(MessagePart::Call(call));
    }
    Ok(Message { role, parts: message_parts, cache: false })
}
