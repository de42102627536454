//! Token usage of replies.

use serde::{Deserialize, Deserializer, Serialize};

/// Token counts of one reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens of the prompt, including those read from or written to a cache.
    pub prompt: u64,
    /// Prompt tokens read from the server's cache.
    pub cached: u64,
    /// Prompt tokens written to the server's cache; 0 if the server does not report them.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write: u64,
    /// Tokens of the reply.
    pub output: u64,
    /// True if this is a share of a request for several replies, whose usage the server reported in one sum.
    ///
    /// The prompt is divided evenly and the output by length, so that the shares add up to the sum.
    #[serde(skip_serializing_if = "is_false")]
    pub share: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
fn is_false(flag: &bool) -> bool {
    !flag
}

/// Token counts as servers report them in whole replies.
#[derive(Deserialize)]
struct ServerUsage {
    #[serde(alias = "input_tokens")]
    prompt_tokens: Option<u64>,
    #[serde(alias = "output_tokens")]
    completion_tokens: Option<u64>,
    #[serde(alias = "input_tokens_details")]
    prompt_tokens_details: Option<ServerUsageDetails>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct ServerUsageDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

/// Deserializes token counts from the format that this program stores, or from those of OpenAI and Anthropic. Without any
/// count the usage is unknown.
pub(crate) fn deserialize_any<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Usage>, D::Error> {
    let Some(value) = Option::<serde_json::Value>::deserialize(input)? else { return Ok(None) };
    let own = ["prompt", "output"].iter().any(|field| value.get(field).is_some());
    if own {
        return Ok(serde_json::from_value(value).ok());
    }
    let reported: ServerUsage = match serde_json::from_value(value) {
        Ok(reported) => reported,
        Err(_) => return Ok(None),
    };
    if reported.prompt_tokens.is_none() && reported.completion_tokens.is_none() {
        return Ok(None);
    }
    let details = reported.prompt_tokens_details;
    let of_details = |count: fn(&ServerUsageDetails) -> Option<u64>| details.as_ref().and_then(count);
    // Anthropic counts the tokens of its cache beside those of the prompt.
    let beside =
        [reported.cache_read_input_tokens, reported.cache_creation_input_tokens].map(Option::unwrap_or_default);
    Ok(Some(Usage {
        prompt: reported.prompt_tokens.unwrap_or(0).saturating_add(beside[0]).saturating_add(beside[1]),
        cached: of_details(|details| details.cached_tokens).unwrap_or(beside[0]),
        cache_write: of_details(|details| details.cache_write_tokens).unwrap_or(beside[1]),
        output: reported.completion_tokens.unwrap_or(0),
        share: false,
    }))
}

impl Usage {
    /// Splits the usage of a request among its replies; `lengths` are the lengths of their texts in bytes.
    pub(crate) fn split(self, lengths: &[u64]) -> Vec<Usage> {
        if lengths.len() < 2 {
            return vec![self; lengths.len()];
        }
        let even = vec![1; lengths.len()];
        let weighted = if lengths.iter().all(|length| *length == 0) { &even[..] } else { lengths };
        let [prompt, cached, cache_write] = [self.prompt, self.cached, self.cache_write].map(|n| divide(n, &even));
        let output = divide(self.output, weighted);
        (0..lengths.len())
            .map(|i| Usage {
                prompt: prompt[i],
                cached: cached[i],
                cache_write: cache_write[i],
                output: output[i],
                share: true,
            })
            .collect()
    }
}

/// Divides a number in proportion to weights into integers that add up to it.
fn divide(number: u64, weights: &[u64]) -> Vec<u64> {
    let all: u128 = weights.iter().copied().map(u128::from).sum::<u128>().max(1);
    let up_to = |weight: u128| u64::try_from(u128::from(number) * weight / all).unwrap_or(number);
    let mut cumulative = 0;
    weights
        .iter()
        .map(|weight| {
            let before = up_to(cumulative);
            cumulative += u128::from(*weight);
            up_to(cumulative) - before
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_usage_adds_up() {
        let usage = Usage { prompt: 10, cached: 7, cache_write: 1, output: 100, share: false };
        assert_eq!(usage.split(&[5]), [usage]);
        for lengths in [vec![1, 2, 3], vec![0, 0, 0, 0], vec![7, 0], vec![u64::MAX, u64::MAX, 1]] {
            let shares = usage.split(&lengths);
            let sum = |of: fn(&Usage) -> u64| shares.iter().map(of).sum::<u64>();
            assert_eq!(
                [sum(|u| u.prompt), sum(|u| u.cached), sum(|u| u.cache_write), sum(|u| u.output)],
                [10, 7, 1, 100]
            );
            assert!(shares.iter().all(|share| share.share));
        }
        assert_eq!(usage.split(&[1, 3])[1].output, 75);
    }
}
