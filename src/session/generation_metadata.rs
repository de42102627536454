//! Metadata of a generation (provider, usage, cost, timing), stored as JSON with its node.
//!
//! Only this module writes and reads the format. The fields that totals need come first. Log probabilities can be long
//! and come last. Imported metadata may have any shape; unknown or missing fields are accepted.

use std::{borrow::Cow, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    provider::{Finish, FinishReason, Logprob, Money, Prices, Sampling, Usage, deserialize_any},
    types::Json,
};

/// Metadata of a generation, as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct GenerationMetadata<'a> {
    /// Model reference used by this program, such as `openai:gpt-5`.
    pub reference: &'a str,
    /// Finish reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<&'a str>,
    /// Model name reported by the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<&'a str>,
    /// Token usage reported by the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Cost, if the price was known when the reply was saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// Sampling temperature, if one was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// Limit of the reply in tokens, if one was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Seed, if one was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Request id assigned by the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<&'a str>,
    /// Milliseconds from the request to the first text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<u64>,
    /// Milliseconds from the request to the end of the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_ms: Option<u64>,
    /// Log probability of each token, if requested.
    #[serde(skip_serializing_if = "<[Logprob]>::is_empty")]
    pub logprobs: &'a [Logprob],
}

impl<'a> GenerationMetadata<'a> {
    /// Creates the metadata of an interrupted reply, of which only the model is known.
    #[must_use]
    pub fn interrupted(reference: &'a str) -> Self {
        Self {
            reference,
            finish: Some(FinishReason::Interrupted.word()),
            model: None,
            usage: None,
            cost: None,
            temperature: None,
            max_tokens: None,
            seed: None,
            request_id: None,
            first_token_ms: None,
            total_ms: None,
            logprobs: &[],
        }
    }

    /// Creates the metadata of a finished reply, with its cost at the given prices.
    #[must_use]
    pub fn of(reference: &'a str, finish: &'a Finish, prices: &Prices) -> Self {
        let millis = |d: Duration| u64::try_from(d.as_millis()).unwrap_or(u64::MAX);
        let model = finish.model.as_deref();
        Self {
            reference,
            finish: Some(finish.reason.word()),
            model,
            usage: finish.usage,
            cost: finish.usage.and_then(|usage| prices.cost(reference, model, usage)),
            temperature: None,
            max_tokens: None,
            seed: None,
            request_id: finish.request_id.as_deref(),
            first_token_ms: finish.first_token.map(millis),
            total_ms: Some(millis(finish.total)),
            logprobs: &finish.logprobs,
        }
    }

    /// Adds the settings of the request.
    #[must_use]
    pub fn sampling(self, sampling: &Sampling) -> Self {
        Self { temperature: sampling.temperature, max_tokens: sampling.max_tokens, seed: sampling.seed, ..self }
    }

    /// Returns the metadata as JSON.
    ///
    /// # Errors
    /// If serialization fails; no known value causes that.
    pub fn json(&self) -> Result<Json, serde_json::Error> {
        Json::parse(serde_json::to_string(self)?)
    }
}

/// Fields of the metadata that usage totals need.
#[derive(Debug, Default, Deserialize)]
pub(super) struct BilledUsage<'a> {
    #[serde(borrow, default)]
    pub(super) reference: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) model: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "deserialize_any")]
    pub(super) usage: Option<Usage>,
    #[serde(default)]
    pub(super) cost: Option<Money>,
}

impl<'a> BilledUsage<'a> {
    /// Reads stored metadata. Metadata of an unknown format yields the default, with no usage.
    pub(super) fn read(envelope: &'a str) -> Self {
        serde_json::from_str(envelope).unwrap_or_default()
    }

    /// Returns the model: its reference, else the name that the server reported.
    pub(super) fn model_name(&self) -> Option<&str> {
        self.reference.as_deref().or(self.model.as_deref())
    }
}

/// Returns the model of stored metadata: its reference, else the name that the server reported.
#[cfg(feature = "serve")]
pub(crate) fn model_name(envelope: &str) -> Option<String> {
    BilledUsage::read(envelope).model_name().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_read_as_servers_report_it() {
        let read = |usage: &str| BilledUsage::read(&format!(r#"{{"model":"m","usage":{usage}}}"#)).usage;
        let known = |prompt, cached, cache_write, output| {
            Some(Usage { prompt, cached, cache_write, output, ..Usage::default() })
        };
        for (reported, usage) in [
            (r#"{"prompt":9,"cached":4,"output":2}"#, known(9, 4, 0, 2)),
            (
                r#"{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}"#,
                known(9, 4, 0, 2),
            ),
            (r#"{"input_tokens":9,"output_tokens":2,"input_tokens_details":{"cached_tokens":4}}"#, known(9, 4, 0, 2)),
            (
                r#"{"input_tokens":3,"output_tokens":2,"cache_read_input_tokens":4,"cache_creation_input_tokens":5}"#,
                known(12, 4, 5, 2),
            ),
            (r#"{"total_tokens":9}"#, None),
            (r#"{"prompt_tokens":"nine"}"#, None),
            ("null", None),
        ] {
            assert_eq!(read(reported), usage, "{reported}");
        }
    }

    #[test]
    fn metadata_holds_usage_and_cost() {
        let usage = Usage { prompt: 1_000, output: 10, ..Usage::default() };
        let logprobs = vec![Logprob { token: "a".into(), logprob: -0.5, top: vec![("b".into(), -1.5)] }];
        let finish = Finish { usage: Some(usage), logprobs, ..Finish::new(FinishReason::Stop) };
        let prices: Prices = serde_json::from_str(r#"{"m": {"input": 1, "output": 100}}"#).unwrap();
        let kept = GenerationMetadata::of("x:m", &finish, &prices).json().unwrap();
        assert_eq!(
            kept.as_str(),
            r#"{"reference":"x:m","finish":"stop","usage":{"prompt":1000,"cached":0,"output":10},"cost":{"amount":0.002,"currency":"USD"},"total_ms":0,"logprobs":[{"token":"a","logprob":-0.5,"top":[["b",-1.5]]}]}"#
        );
        let billed = BilledUsage::read(kept.as_str());
        assert_eq!((billed.usage, billed.cost.map(|cost| cost.amount)), (Some(usage), Some(0.002)));
        let cut = GenerationMetadata::interrupted("x:m").json().unwrap();
        assert_eq!(cut.as_str(), r#"{"reference":"x:m","finish":"interrupted"}"#);
    }
}
