//! Sampling options of a request.

use crate::types::setters;

/// Sampling options; a field that is `None` or empty is left to the server.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Sampling {
    /// Temperature: 0 is greedy; most servers accept up to 2.
    pub temperature: Option<f32>,
    /// Limit of the output, in tokens.
    pub max_tokens: Option<u32>,
    /// Stop texts: each ends the output and is not part of it. Many servers accept at most four.
    pub stop: Vec<String>,
    /// Seed for repeatable output, if the server supports it.
    pub seed: Option<u64>,
    /// Requests the log probability of each token and of so many alternatives (OpenAI: 0 to 20).
    pub logprobs: Option<u8>,
}

setters!(Sampling {
    /// Sets the temperature.
    temperature(some f32);
    /// Sets the limit of the output, in tokens.
    max_tokens(some u32);
    /// Sets the stop texts.
    stop(Vec<String>);
    /// Sets the seed.
    seed(some u64);
    /// Sets the number of alternatives whose log probabilities are requested.
    logprobs(some u8);
});

impl Sampling {
    /// Fills unset fields from `defaults`.
    #[must_use]
    pub fn or(self, defaults: &Sampling) -> Sampling {
        Sampling {
            temperature: self.temperature.or(defaults.temperature),
            max_tokens: self.max_tokens.or(defaults.max_tokens),
            stop: if self.stop.is_empty() { defaults.stop.clone() } else { self.stop },
            seed: self.seed.or(defaults.seed),
            logprobs: self.logprobs.or(defaults.logprobs),
        }
    }
}
