//! Drawing the next token.
//!
//! Small models need a firm hand: what is far less probable than the most probable token is never drawn, and what was just
//! said is made less probable, or they say one sentence for ever. At temperature 0 neither plays a part.

use rand::{Rng as _, SeedableRng, rngs::StdRng};

use crate::provider::Sampling;

/// The temperature where none is asked for.
pub(super) const TEMPERATURE: f32 = 0.8;
/// The most tokens of a reply where nothing is asked for.
pub(super) const MAX_TOKENS: u32 = 400;

/// A token is drawn only if it is at least so probable, measured by the most probable one.
const LEAST_SHARE: f32 = 0.05;
/// What the weight of a token is divided by that was said a short while ago.
const REPEATED: f32 = 1.1;
/// How many tokens that is.
const REMEMBERED: usize = 64;

/// Draws the tokens of one reply.
pub(super) struct Sampler {
    temperature: f32,
    random: StdRng,
    said: Vec<u32>,
}

impl Sampler {
    /// A sampler for the reply `index` of several. Each draws by a seed of its own: a reply that is asked for alone, with
    /// the seed of the request and its index added, is the same.
    pub(super) fn new(sampling: &Sampling, index: usize) -> Sampler {
        let seed = sampling.seed.map_or_else(rand::random, |seed| seed.wrapping_add(index as u64));
        let temperature = sampling.temperature.unwrap_or(TEMPERATURE);
        Sampler { temperature, random: StdRng::seed_from_u64(seed), said: Vec::new() }
    }

    /// What was drawn so far.
    pub(super) fn said(&self) -> &[u32] {
        &self.said
    }

    /// Draws a token by the weights of all.
    pub(super) fn draw(&mut self, weights: &[f32]) -> u32 {
        let token = if self.temperature > 0.0 { self.sample_index(weights.to_vec()) } else { best(weights) };
        self.said.push(token);
        token
    }

    fn sample_index(&mut self, mut weights: Vec<f32>) -> u32 {
        let mut repeated = self.said[self.said.len().saturating_sub(REMEMBERED)..].to_vec();
        repeated.sort_unstable();
        repeated.dedup();
        for token in repeated {
            if let Some(weight) = weights.get_mut(token as usize) {
                *weight = if *weight > 0.0 { *weight / REPEATED } else { *weight * REPEATED };
            }
        }
        let most = weights.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let share = |weight: f32| ((weight - most) / self.temperature).exp();
        let likely = (0u32..).zip(&weights).map(|(token, weight)| (token, share(*weight)));
        let likely: Vec<(u32, f32)> = likely.filter(|(_, share)| *share >= LEAST_SHARE).collect();
        let sum: f32 = likely.iter().map(|(_, share)| share).sum();
        // 24 bits, as many as an f32 is exact in.
        #[allow(clippy::cast_precision_loss)]
        let mut left = (self.random.next_u32() >> 8) as f32 / (1u32 << 24) as f32 * sum;
        for (token, share) in &likely {
            left -= share;
            if left < 0.0 {
                return *token;
            }
        }
        // Rounding, or weights that are no numbers.
        likely.last().map_or_else(|| best(&weights), |(token, _)| *token)
    }
}

fn best(weights: &[f32]) -> u32 {
    let all = (0u32..).zip(weights);
    all.fold((0, f32::NEG_INFINITY), |best, (token, weight)| if *weight > best.1 { (token, *weight) } else { best }).0
}

/// How probable `token` is by these weights, and the `others` most probable ones, as natural logarithms.
pub(super) fn probabilities(weights: &[f32], token: u32, others: u8) -> (f64, Vec<(u32, f64)>) {
    let most = weights.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = weights.iter().map(|weight| f64::from(weight - most).exp()).sum();
    let of = |weight: f32| f64::from(weight - most) - sum.ln();
    let mut all: Vec<(u32, f32)> = (0u32..).zip(weights.iter().copied()).collect();
    let others = usize::from(others).min(all.len());
    if others > 0 {
        all.select_nth_unstable_by(others - 1, |a, b| b.1.total_cmp(&a.1));
    }
    all.truncate(others);
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    let own = weights.get(token as usize).map_or(f64::NEG_INFINITY, |weight| of(*weight));
    (own, all.into_iter().map(|(token, weight)| (token, of(weight))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(temperature: f32, seed: u64, weights: &[f32]) -> Vec<u32> {
        let sampling = Sampling { temperature: Some(temperature), seed: Some(seed), ..Sampling::default() };
        let mut sampler = Sampler::new(&sampling, 0);
        (0..200).map(|_| sampler.draw(weights)).collect()
    }

    #[test]
    fn a_seed_repeats_and_another_does_not() {
        let weights = [1.0, 1.2, 0.9, -30.0];
        assert_eq!(drawn(1.0, 7, &weights), drawn(1.0, 7, &weights));
        assert_ne!(drawn(1.0, 7, &weights), drawn(1.0, 8, &weights));
        let tokens = drawn(1.0, 7, &weights);
        assert!((0..3).all(|token| tokens.contains(&token)), "{tokens:?}");
        assert!(!tokens.contains(&3), "what is far less probable is never drawn");
    }

    #[test]
    fn without_temperature_the_best_is_drawn() {
        assert_eq!(drawn(0.0, 7, &[0.1, 0.3, 0.2]), [1; 200]);
        // Weights that are no numbers come from damaged files; they must not end the program.
        assert_eq!(drawn(1.0, 7, &[f32::NAN; 3]), [0; 200]);
    }

    #[test]
    fn probabilities_are_of_the_weights_as_they_are() {
        let (own, others) = probabilities(&[0.0, 2f32.ln(), f32::NEG_INFINITY], 0, 2);
        assert!((own - (1.0 / 3.0f64).ln()).abs() < 1e-6);
        assert_eq!(others.iter().map(|(token, _)| *token).collect::<Vec<_>>(), [1, 0]);
        assert!((others[0].1 - (2.0 / 3.0f64).ln()).abs() < 1e-6);
        assert_eq!(probabilities(&[0.0], 0, 0).1, []);
    }
}
