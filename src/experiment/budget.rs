//! Spending of a run, estimated in advance and counted afterwards, and the limits that bound it.
//!
//! A request starts only if its upper bound fits what is left, so a run exceeds a limit only by the error of an
//! estimate: prompts are estimated, replies are bounded by their token limit.

use std::collections::BTreeMap;

use serde::Serialize;

use super::ExperimentError;
use crate::{
    provider::{Model, Money, Prices, Usage},
    types::setters,
};

/// Requests, tokens and cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Spending {
    /// Number of requests.
    pub requests: u64,
    /// Tokens of prompts, those from a cache included.
    pub prompt_tokens: u64,
    /// Tokens of replies.
    pub output_tokens: u64,
    /// Cost by currency.
    pub cost: BTreeMap<String, f64>,
    /// Requests to models without a price; `cost` lacks them.
    pub unpriced_requests: u64,
}

impl Spending {
    /// Returns the spending of one request to a model.
    pub(super) fn of(model: &dyn Model, prices: &Prices, usage: Usage) -> Self {
        let cost = prices.cost(model.reference(), model.server_model(), usage);
        Self {
            requests: 1,
            prompt_tokens: usage.prompt,
            output_tokens: usage.output,
            unpriced_requests: u64::from(cost.is_none()),
            cost: cost.into_iter().map(|Money { amount, currency }| (currency, amount)).collect(),
        }
    }

    /// Adds `times` times `other`.
    pub(super) fn add(&mut self, other: &Self, times: u64) {
        self.requests += other.requests * times;
        self.prompt_tokens += other.prompt_tokens * times;
        self.output_tokens += other.output_tokens * times;
        self.unpriced_requests += other.unpriced_requests * times;
        #[allow(clippy::cast_precision_loss)] // requests are far below 2^52
        let factor = times as f64;
        for (currency, amount) in &other.cost {
            *self.cost.entry(currency.clone()).or_default() += amount * factor;
        }
    }

    /// Subtracts `other`, down to zero.
    fn subtract(&mut self, other: &Self) {
        self.requests = self.requests.saturating_sub(other.requests);
        self.prompt_tokens = self.prompt_tokens.saturating_sub(other.prompt_tokens);
        self.output_tokens = self.output_tokens.saturating_sub(other.output_tokens);
        self.unpriced_requests = self.unpriced_requests.saturating_sub(other.unpriced_requests);
        for (currency, amount) in &other.cost {
            if let Some(sum) = self.cost.get_mut(currency) {
                *sum = (*sum - amount).max(0.0);
            }
        }
    }

    fn tokens(&self) -> u64 {
        self.prompt_tokens + self.output_tokens
    }

    /// Sum of the cost; [`check_prices`] admits one currency only where it counts.
    fn amount(&self) -> f64 {
        self.cost.values().sum()
    }
}

/// Upper limits of one run; `None`: no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct RunLimits {
    /// Maximum cost, in the currency of the prices.
    pub cost: Option<f64>,
    /// Maximum tokens of prompts and replies.
    pub tokens: Option<u64>,
}

setters!(RunLimits {
    /// Sets the maximum cost.
    cost(option f64);
    /// Sets the maximum tokens of prompts and replies.
    tokens(option u64);
});

impl RunLimits {
    /// Returns an error if a cost limit cannot be kept, because a model has no price or the currencies differ.
    pub(super) fn check_prices<'a>(
        &self,
        prices: &Prices,
        models: impl Iterator<Item = &'a dyn Model>,
    ) -> Result<(), ExperimentError> {
        if self.cost.is_none() {
            return Ok(());
        }
        let mut currency: Option<&str> = None;
        for model in models {
            let reference = model.reference();
            let price = prices.find(reference, model.server_model()).ok_or_else(|| {
                let message = format!("a limit of the cost needs a price of {reference} in the configuration");
                ExperimentError::Invalid(message)
            })?;
            if *currency.get_or_insert(&price.currency) != price.currency {
                return Err(ExperimentError::Invalid("a limit of the cost needs prices in one currency".to_owned()));
            }
        }
        Ok(())
    }
}

/// Limits with what was spent and what running requests may spend.
pub(super) struct Budget {
    limits: RunLimits,
    pub(super) spent: Spending,
    reserved: Spending,
}

impl Budget {
    pub(super) fn new(limits: RunLimits) -> Self {
        Self { limits, spent: Spending::default(), reserved: Spending::default() }
    }

    /// Reserves an upper bound; false if it does not fit.
    pub(super) fn reserve(&mut self, bound: &Spending) -> bool {
        let tokens = self.spent.tokens() + self.reserved.tokens() + bound.tokens();
        let cost = self.spent.amount() + self.reserved.amount() + bound.amount();
        let fits = self.limits.tokens.is_none_or(|limit| tokens <= limit)
            && self.limits.cost.is_none_or(|limit| cost <= limit);
        if fits {
            self.reserved.add(bound, 1);
        }
        fits
    }

    /// Replaces a reserved bound by what was spent.
    pub(super) fn settle(&mut self, bound: &Spending, spent: &Spending) {
        self.reserved.subtract(bound);
        self.spent.add(spent, 1);
    }

    /// Counts the bounds of running requests as spent: a cancelled run drops them, and servers bill what was sent.
    pub(super) fn spend_reserved(&mut self) {
        self.spent.add(&std::mem::take(&mut self.reserved), 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Scripted;

    #[test]
    fn a_request_starts_only_if_its_bound_fits() {
        let prices: Prices = serde_json::from_str(r#"{"m": {"input": 1000000, "output": 0}}"#).unwrap();
        let model = |reference| Scripted::new([]).with_reference(reference);
        let (priced, other) = (model("m"), model("other"));
        let request = |prompt| Spending::of(&priced, &prices, Usage { prompt, output: 5, ..Usage::default() });
        let mut budget = Budget::new(RunLimits::default().cost(Some(10.0)).tokens(Some(100)));
        assert!(budget.reserve(&request(6)) && !budget.reserve(&request(5)), "the cost is reserved");
        budget.settle(&request(6), &request(2));
        assert!(budget.reserve(&request(8)), "less was spent than reserved");
        budget.spend_reserved();
        let spent = (budget.spent.requests, budget.spent.prompt_tokens, budget.spent.cost["USD"]);
        assert_eq!(spent, (2, 10, 10.0), "a dropped request counts with its bound");
        let mut tokens = Budget::new(RunLimits::default().tokens(Some(20)));
        assert!(tokens.reserve(&request(15)) && !tokens.reserve(&request(0)));
        let limits = RunLimits::default().cost(Some(1.0));
        let check = |models: &[&Scripted]| {
            limits.check_prices(&prices, models.iter().map(|model| *model as &dyn Model)).is_ok()
        };
        assert!(check(&[&priced]) && !check(&[&priced, &other]));
    }
}
