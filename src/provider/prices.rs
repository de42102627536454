//! Prices of models, and the cost of replies.
//!
//! Prices come only from the configuration: they change, and an outdated price is worse than none.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Deserializer, Serialize};

use super::Usage;

/// An amount of money in one currency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Money {
    /// Amount, rounded to a billionth.
    pub amount: f64,
    /// Currency, as in the configuration.
    pub currency: String,
}

impl fmt::Display for Money {
    /// Writes the amount with at least two decimals and two significant digits: `12.35 USD`, `0.0012 USD`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_zero = self.amount == 0.0;
        let digits = (2..9).find(|digits| is_zero || self.amount * 10_f64.powi(*digits) >= 10.0).unwrap_or(9);
        write!(f, "{:.1$} {2}", self.amount, usize::try_from(digits).unwrap_or(2), self.currency)
    }
}

/// Prices of a model per million tokens.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Price {
    /// Price of prompt tokens.
    #[serde(deserialize_with = "price")]
    pub input: f64,
    /// Price of prompt tokens read from the provider's cache. Default: `input`.
    #[serde(default, deserialize_with = "optional_price")]
    pub cached: Option<f64>,
    /// Price of prompt tokens written to the provider's cache. Default: `input`.
    #[serde(default, deserialize_with = "optional_price")]
    pub cache_write: Option<f64>,
    /// Price of reply tokens.
    #[serde(deserialize_with = "price")]
    pub output: f64,
    /// Currency, any text. Default: `USD`.
    #[serde(default = "default_currency")]
    pub currency: String,
}

fn default_currency() -> String {
    "USD".to_owned()
}

fn price<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let price = f64::deserialize(deserializer)?;
    if price.is_finite() && price >= 0.0 {
        Ok(price)
    } else {
        Err(serde::de::Error::custom("a price must be a number per million tokens, 0 or more"))
    }
}

fn optional_price<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    price(deserializer).map(Some)
}

impl Price {
    /// Returns the cost of a reply.
    #[must_use]
    pub fn cost(&self, usage: Usage) -> Money {
        let fresh = usage.prompt.saturating_sub(usage.cached).saturating_sub(usage.cache_write);
        let sum: f64 = [
            (fresh, self.input),
            (usage.cached, self.cached.unwrap_or(self.input)),
            (usage.cache_write, self.cache_write.unwrap_or(self.input)),
            (usage.output, self.output),
        ]
        .into_iter()
        .map(|(tokens, price)| {
            #[allow(clippy::cast_precision_loss)] // tokens of one reply are far below 2^52
            let tokens = tokens as f64;
            tokens * price
        })
        .sum();
        // The sum is in millionths; it is rounded to a billionth.
        Money { amount: (sum * 1e3).round() / 1e9, currency: self.currency.clone() }
    }
}

/// Prices by model name; a trailing `*` matches every name with that prefix.
///
/// ```
/// use loomtree::provider::{Prices, Usage};
/// let prices: Prices = serde_json::from_str(
///     r#"{"small*": {"input": 1, "output": 2}, "small-2": {"input": 10, "output": 20, "currency": "EUR"}}"#,
/// )?;
/// let usage = Usage { prompt: 1000, output: 100, ..Usage::default() };
/// assert_eq!(prices.cost("openai:small-1", None, usage).map(|money| money.amount), Some(0.0012));
/// assert_eq!(prices.cost("openai:small-2", None, usage).map(|money| money.currency), Some("EUR".into()));
/// assert_eq!(prices.cost("openai:large", None, usage), None);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Prices(BTreeMap<String, Price>);

impl Prices {
    /// Finds the price of a model by its reference (`openai:gpt-4o`), its id without the provider, or the server's name.
    ///
    /// They are tried in this order. A full name takes precedence over a prefix, a longer prefix over a shorter one.
    #[must_use]
    pub fn find(&self, reference: &str, model: Option<&str>) -> Option<&Price> {
        let bare = reference.split_once(':').map(|(_, model)| model);
        let names = || [Some(reference), bare, model].into_iter().flatten();
        let exact = names().find_map(|name| self.0.get(name));
        exact.or_else(|| {
            let prefixes = self.0.iter().filter_map(|(key, price)| Some((key.strip_suffix('*')?, price)));
            let matching = prefixes.filter(|(key, _)| names().any(|name| name.starts_with(key)));
            matching.max_by_key(|(key, _)| key.len()).map(|(_, price)| price)
        })
    }

    /// Returns the cost of a reply; `None` if the model has no price.
    #[must_use]
    pub fn cost(&self, reference: &str, model: Option<&str>, usage: Usage) -> Option<Money> {
        self.find(reference, model).map(|price| price.cost(usage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_has_two_significant_digits() {
        let written = |amount| Money { amount, currency: "USD".into() }.to_string();
        assert_eq!(written(0.0), "0.00 USD");
        assert_eq!(written(12.3456), "12.35 USD");
        assert_eq!(written(0.001_234), "0.0012 USD");
        assert_eq!(written(0.000_000_001), "0.000000001 USD");
    }

    #[test]
    fn cost_sums_every_kind_of_token() {
        let price: Price =
            serde_json::from_str(r#"{"input": 3, "cached": 0.3, "cache_write": 3.75, "output": 15}"#).unwrap();
        let usage = Usage { prompt: 10_000, cached: 6_000, cache_write: 3_000, output: 200, share: false };
        // 1,000 × 3 + 6,000 × 0.3 + 3,000 × 3.75 + 200 × 15, in millionths.
        assert_eq!(price.cost(usage), Money { amount: 0.01905, currency: "USD".into() });
        let plain: Price = serde_json::from_str(r#"{"input": 1, "output": 1, "currency": "tokens"}"#).unwrap();
        assert_eq!(plain.cost(usage), Money { amount: 0.0102, currency: "tokens".into() });
        // Some servers report more cached tokens than prompt tokens.
        let odd = Usage { prompt: 5, cached: 10, ..Usage::default() };
        assert_eq!(price.cost(odd).amount, 0.000_003);
    }

    #[test]
    fn exact_names_and_long_prefixes_take_precedence() {
        let price = |input: u32| format!(r#"{{"input": {input}, "output": 0}}"#);
        let table = [("gpt*", 1), ("gpt-4o*", 2), ("gpt-4o", 3), ("openai:gpt-4o", 4), ("fast", 5)];
        let table: Vec<String> = table.iter().map(|(name, n)| format!("{name:?}: {}", price(*n))).collect();
        let prices: Prices = serde_json::from_str(&format!("{{{}}}", table.join(","))).unwrap();
        let input = |reference: &str, model: Option<&str>| prices.find(reference, model).map(|price| price.input);
        assert_eq!(input("openai:gpt-4o", Some("gpt-4o-2024")), Some(4.0));
        assert_eq!(input("other:gpt-4o", None), Some(3.0));
        assert_eq!(input("openai:gpt-4o-mini", None), Some(2.0));
        assert_eq!(input("home", Some("gpt-3")), Some(1.0));
        assert_eq!(input("fast", Some("gpt-4o-mini")), Some(5.0));
        assert_eq!(input("home", None), None);
    }

    #[test]
    fn a_price_must_be_a_non_negative_number() {
        for wrong in [r#"{"input": -1, "output": 0}"#, r#"{"input": "1", "output": 0}"#, r#"{"input": 1}"#] {
            assert!(serde_json::from_str::<Price>(wrong).is_err(), "{wrong}");
        }
        assert!(serde_json::from_str::<Price>(r#"{"input": 1, "output": 0, "outptu": 1}"#).is_err());
    }
}
