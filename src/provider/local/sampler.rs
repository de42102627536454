//! Sampler for the next token.
//!
//! Small models need two corrections. Tokens that are far less probable than the best one are never drawn. Tokens drawn
//! recently get a penalty, or the model repeats one sentence. Neither applies at temperature 0.

use rand::{Rng as _, SeedableRng, rngs::StdRng};

use crate::provider::Sampling;

/// Temperature if the request sets none.
pub(super) const DEFAULT_TEMPERATURE: f32 = 0.8;
/// Output limit in tokens if the request sets none.
pub(super) const DEFAULT_MAX_TOKENS: u32 = 400;

/// Minimum probability of a token, relative to the most probable one.
const MIN_RELATIVE_PROBABILITY: f32 = 0.05;
/// Divisor of a positive logit (factor of a negative one) of a token drawn recently.
const REPETITION_PENALTY: f32 = 1.1;
/// Number of last tokens that get the penalty.
const REPETITION_WINDOW_TOKENS: usize = 64;

/// Sampler of one reply.
pub(super) struct Sampler {
    temperature: f32,
    random: StdRng,
    drawn: Vec<u32>,
}

impl Sampler {
    /// Creates the sampler of the reply `index`, with its own seed: the seed of the request plus `index`.
    ///
    /// A single request with that seed gives the same reply.
    pub(super) fn new(sampling: &Sampling, index: usize) -> Sampler {
        let seed = sampling.seed.map_or_else(rand::random, |seed| seed.wrapping_add(index as u64));
        let temperature = sampling.temperature.unwrap_or(DEFAULT_TEMPERATURE);
        Sampler { temperature, random: StdRng::seed_from_u64(seed), drawn: Vec::new() }
    }

    /// Returns the tokens drawn so far.
    pub(super) fn drawn(&self) -> &[u32] {
        &self.drawn
    }

    /// Draws a token by the logits of all tokens.
    pub(super) fn draw(&mut self, logits: &[f32]) -> u32 {
        let token = if self.temperature > 0.0 { self.sample_index(logits.to_vec()) } else { argmax(logits) };
        self.drawn.push(token);
        token
    }

    fn sample_index(&mut self, mut logits: Vec<f32>) -> u32 {
        let mut repeated = self.drawn[self.drawn.len().saturating_sub(REPETITION_WINDOW_TOKENS)..].to_vec();
        repeated.sort_unstable();
        repeated.dedup();
        for token in repeated {
            if let Some(logit) = logits.get_mut(token as usize) {
                *logit = if *logit > 0.0 { *logit / REPETITION_PENALTY } else { *logit * REPETITION_PENALTY };
            }
        }
        let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let share = |logit: f32| ((logit - most) / self.temperature).exp();
        let likely = (0u32..).zip(&logits).map(|(token, logit)| (token, share(*logit)));
        let likely: Vec<(u32, f32)> = likely.filter(|(_, share)| *share >= MIN_RELATIVE_PROBABILITY).collect();
        let sum: f32 = likely.iter().map(|(_, share)| share).sum();
        // 24 bits, the precision of an f32.
        #[allow(clippy::cast_precision_loss)]
        let mut left = (self.random.next_u32() >> 8) as f32 / (1u32 << 24) as f32 * sum;
        for (token, share) in &likely {
            left -= share;
            if left < 0.0 {
                return *token;
            }
        }
        // Rounding errors or NaN logits.
        likely.last().map_or_else(|| argmax(&logits), |(token, _)| *token)
    }
}

fn argmax(logits: &[f32]) -> u32 {
    let all = (0u32..).zip(logits);
    all.fold((0, f32::NEG_INFINITY), |best, (token, logit)| if *logit > best.1 { (token, *logit) } else { best }).0
}

/// Returns the log probability of `token`, and the `others` most probable tokens with theirs.
pub(super) fn logprobs(logits: &[f32], token: u32, others: u8) -> (f64, Vec<(u32, f64)>) {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|logit| f64::from(logit - most).exp()).sum();
    let logprob = |logit: f32| f64::from(logit - most) - sum.ln();
    let mut all: Vec<(u32, f32)> = (0u32..).zip(logits.iter().copied()).collect();
    let others = usize::from(others).min(all.len());
    if others > 0 {
        all.select_nth_unstable_by(others - 1, |a, b| b.1.total_cmp(&a.1));
    }
    all.truncate(others);
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    let own = logits.get(token as usize).map_or(f64::NEG_INFINITY, |logit| logprob(*logit));
    (own, all.into_iter().map(|(token, logit)| (token, logprob(logit))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw_tokens(temperature: f32, seed: u64, logits: &[f32]) -> Vec<u32> {
        let sampling = Sampling { temperature: Some(temperature), seed: Some(seed), ..Sampling::default() };
        let mut sampler = Sampler::new(&sampling, 0);
        (0..200).map(|_| sampler.draw(logits)).collect()
    }

    #[test]
    fn a_seed_makes_draws_reproducible() {
        let logits = [1.0, 1.2, 0.9, -30.0];
        assert_eq!(draw_tokens(1.0, 7, &logits), draw_tokens(1.0, 7, &logits));
        assert_ne!(draw_tokens(1.0, 7, &logits), draw_tokens(1.0, 8, &logits));
        let tokens = draw_tokens(1.0, 7, &logits);
        assert!((0..3).all(|token| tokens.contains(&token)), "{tokens:?}");
        assert!(!tokens.contains(&3), "a far less probable token is never drawn");
    }

    #[test]
    fn temperature_zero_is_greedy() {
        assert_eq!(draw_tokens(0.0, 7, &[0.1, 0.3, 0.2]), [1; 200]);
        // NaN logits come from damaged files; they must not panic.
        assert_eq!(draw_tokens(1.0, 7, &[f32::NAN; 3]), [0; 200]);
    }

    #[test]
    fn logprobs_ignore_temperature_and_penalty() {
        let (own, others) = logprobs(&[0.0, 2f32.ln(), f32::NEG_INFINITY], 0, 2);
        assert!((own - (1.0 / 3.0f64).ln()).abs() < 1e-6);
        assert_eq!(others.iter().map(|(token, _)| *token).collect::<Vec<_>>(), [1, 0]);
        assert!((others[0].1 - (2.0 / 3.0f64).ln()).abs() < 1e-6);
        assert_eq!(logprobs(&[0.0], 0, 0).1, []);
    }
}
