//! The envelope of a generation: what the provider said beside the words, kept with the node.
//!
//! It is written and read here and nowhere else. What sums read stands first and is small; probabilities, which can be
//! as long as a book, stand last. Envelopes of imports may hold anything, so reading takes what it finds.

use std::{borrow::Cow, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    provider::{Finish, FinishReason, Logprob, Money, Prices, Usage},
    types::Json,
};

/// What is kept of a generation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GenerationMetadata<'a> {
    /// What the model is called in this program.
    pub reference: &'a str,
    /// Why it ended, as a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<&'a str>,
    /// The model as the server names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<&'a str>,
    /// Tokens, where the server says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What they cost, where the price was known at that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// The server's name for the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<&'a str>,
    /// Milliseconds to the first text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<u64>,
    /// Milliseconds to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_ms: Option<u64>,
    /// How probable each token was, where that was asked for.
    #[serde(skip_serializing_if = "<[Logprob]>::is_empty")]
    pub logprobs: &'a [Logprob],
}

impl<'a> GenerationMetadata<'a> {
    /// Of a generation of which nothing is known but who made it and that it was cut off.
    #[must_use]
    pub fn interrupted(reference: &'a str) -> Self {
        Self {
            reference,
            finish: Some(FinishReason::Interrupted.word()),
            model: None,
            usage: None,
            cost: None,
            request_id: None,
            first_token_ms: None,
            total_ms: None,
            logprobs: &[],
        }
    }

    /// Of a generation that ended, with what it costs.
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
            request_id: finish.request_id.as_deref(),
            first_token_ms: finish.first_token.map(millis),
            total_ms: Some(millis(finish.total)),
            logprobs: &finish.logprobs,
        }
    }

    /// The envelope as it is kept.
    ///
    /// # Errors
    /// None that is known: everything in it is plain; the JSON library does not promise that.
    pub fn json(&self) -> Result<Json, serde_json::Error> {
        Json::parse(serde_json::to_string(self)?)
    }
}

/// What sums need of an envelope.
#[derive(Debug, Default, Deserialize)]
pub(super) struct BilledUsage<'a> {
    #[serde(borrow, default)]
    pub(super) reference: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) model: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(super) usage: Option<Usage>,
    #[serde(default)]
    pub(super) cost: Option<Money>,
}

impl<'a> BilledUsage<'a> {
    /// Reads an envelope; one of another make holds nothing that is understood.
    pub(super) fn read(envelope: &'a str) -> Self {
        serde_json::from_str(envelope).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_came_and_what_it_costs() {
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
