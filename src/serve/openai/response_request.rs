//! The body of a request for a response.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{item::ItemId, open_model};
use crate::{
    id::SessionId,
    provider::{Sampling, ToolDefinition},
    serve::{
        api::any_json,
        error::{ApiError, Result},
    },
};

/// A request for a response. Fields that the engine does not use are repeated in the response.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct CreateResponse {
    /// Name of an agent, or reference of a model.
    pub(super) model: Option<String>,
    /// A text or a list of items.
    #[schema(schema_with = any_json)]
    pub(super) input: Value,
    /// System prompt of this response only.
    pub(super) instructions: Option<String>,
    /// Response that this one continues.
    pub(super) previous_response_id: Option<String>,
    /// Conversation that this response continues: its id, or an object with its id.
    #[schema(schema_with = any_json)]
    pub(super) conversation: Value,
    /// True to stream events.
    pub(super) stream: Option<bool>,
    /// False to store nothing [default: true].
    pub(super) store: Option<bool>,
    /// True to answer at once, while the response runs.
    pub(super) background: Option<bool>,
    /// Tools that the model may call.
    #[schema(value_type = Vec<Object>)]
    tools: Vec<Value>,
    #[schema(schema_with = any_json)]
    tool_choice: Value,
    parallel_tool_calls: Option<bool>,
    /// Maximum tokens of the output.
    max_output_tokens: Option<u32>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    presence_penalty: Option<f64>,
    frequency_penalty: Option<f64>,
    top_logprobs: Option<u32>,
    max_tool_calls: Option<u32>,
    service_tier: Option<String>,
    safety_identifier: Option<String>,
    prompt_cache_key: Option<String>,
    /// Up to 16 pairs of texts.
    pub(super) metadata: Option<BTreeMap<String, String>>,
    #[schema(schema_with = any_json)]
    text: Value,
    truncation: Option<String>,
    #[schema(schema_with = any_json)]
    reasoning: Value,
}

impl CreateResponse {
    /// Returns the fields that the response repeats.
    pub(super) fn echo(&self, model: &str) -> Value {
        let or = |value: &Value, default: Value| if value.is_null() { default } else { value.clone() };
        json!({
            "model": model,
            "instructions": self.instructions,
            "tools": self.tools.iter().map(echoed_tool).collect::<Vec<_>>(),
            "tool_choice": or(&self.tool_choice, json!("auto")),
            "parallel_tool_calls": self.parallel_tool_calls.unwrap_or(true),
            "max_output_tokens": self.max_output_tokens,
            "temperature": self.temperature.unwrap_or(1.0),
            "top_p": self.top_p.unwrap_or(1.0),
            "presence_penalty": self.presence_penalty.unwrap_or(0.0),
            "frequency_penalty": self.frequency_penalty.unwrap_or(0.0),
            "top_logprobs": self.top_logprobs.unwrap_or(0),
            "max_tool_calls": self.max_tool_calls,
            "service_tier": self.service_tier.as_deref().unwrap_or("default"),
            "safety_identifier": self.safety_identifier,
            "prompt_cache_key": self.prompt_cache_key,
            "metadata": self.metadata.clone().unwrap_or_default(),
            "text": or(&self.text, json!({ "format": { "type": "text" } })),
            "truncation": self.truncation.as_deref().unwrap_or("disabled"),
            "reasoning": or(&self.reasoning, json!({ "effort": null, "summary": null })),
            "background": self.background.unwrap_or(false),
            "store": self.store.unwrap_or(true),
        })
    }

    pub(super) fn tools(&self) -> Result<Vec<ToolDefinition>> {
        let offers_tools = open_model::check_supported(&self.tool_choice, &self.text["format"])?;
        let functions = self.tools.iter().filter(|tool| offers_tools && tool["type"] == "function");
        let definition = |tool: &Value| {
            let name = tool["name"].as_str().ok_or_else(|| ApiError::invalid("a function needs a name"))?;
            Ok(ToolDefinition {
                name: name.to_owned(),
                description: tool["description"].as_str().unwrap_or_default().to_owned(),
                parameters: tool["parameters"].clone(),
            })
        };
        functions.map(definition).collect()
    }

    pub(super) fn conversation_id(&self) -> Result<Option<SessionId>> {
        let text = match &self.conversation {
            Value::Null => return Ok(None),
            Value::String(id) => id.as_str(),
            other => other["id"].as_str().ok_or_else(|| ApiError::invalid("conversation must be an id"))?,
        };
        ItemId::parse("conversation", text).map(Some)
    }

    pub(super) fn sampling(&self) -> Sampling {
        #[allow(clippy::cast_possible_truncation)] // providers take few digits
        let temperature = self.temperature.map(|temperature| temperature as f32);
        Sampling { temperature, max_tokens: self.max_output_tokens, ..Sampling::default() }
    }
}

/// Returns a tool as a response repeats it: a function has all its fields.
fn echoed_tool(tool: &Value) -> Value {
    let mut tool = tool.clone();
    if let Some(fields) = tool.as_object_mut().filter(|fields| fields.get("type") == Some(&json!("function"))) {
        for field in ["description", "parameters", "strict"] {
            fields.entry(field).or_insert(Value::Null);
        }
    }
    tool
}
