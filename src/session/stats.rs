//! What generations took, summed: tokens, money, and whose branches were taken up.
//!
//! The sums are taken from the envelopes each time rather than kept: a generation costs seconds and its envelope
//! microseconds to read, so a sum that must be kept right at every write, purge and import is not worth having until
//! trees hold millions of generations. What a sum costs is said at [`Snapshot::generations`].

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::generation_metadata::BilledUsage;
use crate::{
    id::{AgentId, NodeId},
    provider::Money,
    store::{GenerationFilter, Result, Snapshot},
    types::AuthorType,
};

/// Sums over generations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct UsageTotals {
    /// How many.
    pub generations: u64,
    /// Of these, how many were continued by somebody.
    pub taken_up: u64,
    /// Of these, of how many no tokens are known; the sums lack those.
    pub uncounted: u64,
    /// Tokens of their prompts, cached ones included.
    pub prompt: u64,
    /// Of these, how many came from a provider's cache.
    pub cached: u64,
    /// Of these, how many were put into one, where that was charged for.
    pub cache_write: u64,
    /// Tokens of the replies.
    pub output: u64,
    /// Of how many the cost is known.
    pub priced: u64,
    /// Billionths of each currency.
    #[serde(skip)]
    cost: BTreeMap<String, i128>,
}

impl UsageTotals {
    /// The money, one amount a currency.
    #[must_use]
    pub fn cost(&self) -> Vec<Money> {
        #[allow(clippy::cast_precision_loss)] // sums of money are far below 2^52 billionths
        let amount = |billionths: i128| billionths as f64 / 1e9;
        self.cost.iter().map(|(currency, n)| Money { amount: amount(*n), currency: currency.clone() }).collect()
    }

    fn take(&mut self, billed: &BilledUsage<'_>, tokens: Option<u32>, continued: bool) {
        self.generations += 1;
        self.taken_up += u64::from(continued);
        match (billed.usage, tokens) {
            (Some(usage), _) => {
                self.prompt += usage.prompt;
                self.cached += usage.cached;
                self.cache_write += usage.cache_write;
                self.output += usage.output;
            }
            (None, Some(tokens)) => self.output += u64::from(tokens),
            (None, None) => self.uncounted += 1,
        }
        if let Some(Money { amount, currency }) = &billed.cost {
            self.priced += 1;
            #[allow(clippy::cast_possible_truncation)] // saturates
            let billionths = (amount * 1e9).round() as i128;
            match self.cost.get_mut(currency) {
                Some(sum) => *sum += billionths,
                None => _ = self.cost.insert(currency.clone(), billionths),
            }
        }
    }

    fn add(&mut self, other: &UsageTotals) {
        self.generations += other.generations;
        self.taken_up += other.taken_up;
        self.uncounted += other.uncounted;
        self.prompt += other.prompt;
        self.cached += other.cached;
        self.cache_write += other.cache_write;
        self.output += other.output;
        self.priced += other.priced;
        for (currency, billionths) in &other.cost {
            *self.cost.entry(currency.clone()).or_default() += billionths;
        }
    }
}

/// Sums of one agent by one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageByKey {
    /// Who wrote.
    pub agent: AgentId,
    /// The model by its reference, else as its server named it; `None` if no envelope says.
    pub model: Option<String>,
    /// The sums.
    pub sums: UsageTotals,
}

/// Sums by agent and model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// By agent and model, those with the most output first.
    pub shares: Vec<UsageByKey>,
    /// Of all.
    pub all: UsageTotals,
}

/// Shares while they are summed; an agent writes by few models, so a list of those is looked through.
#[derive(Default)]
struct Ledger(HashMap<AgentId, Vec<(Option<String>, UsageTotals)>>);

impl Ledger {
    fn take(&mut self, author: AgentId, envelope: Option<&str>, tokens: Option<u32>, continued: bool) {
        let billed = envelope.map(BilledUsage::read).unwrap_or_default();
        let name = billed.reference.as_deref().or(billed.model.as_deref());
        let of_author = self.0.entry(author).or_default();
        let at = of_author.iter().position(|(known, _)| known.as_deref() == name);
        let at = at.unwrap_or_else(|| {
            of_author.push((name.map(str::to_owned), UsageTotals::default()));
            of_author.len() - 1
        });
        of_author[at].1.take(&billed, tokens, continued);
    }

    fn stats(self) -> Stats {
        let of_agent = |(agent, models): (AgentId, Vec<(Option<String>, UsageTotals)>)| {
            models.into_iter().map(move |(model, sums)| UsageByKey { agent, model, sums })
        };
        let mut shares: Vec<UsageByKey> = self.0.into_iter().flat_map(of_agent).collect();
        shares.sort_by(|a, b| {
            let order = b.sums.output.cmp(&a.sums.output);
            order.then_with(|| a.model.cmp(&b.model)).then_with(|| a.agent.cmp(&b.agent))
        });
        let mut all = UsageTotals::default();
        for share in &shares {
            all.add(&share.sums);
        }
        Stats { shares, all }
    }
}

/// Sums the generations that a filter takes, pruned ones too: they were paid for.
///
/// # Errors
/// If the store cannot be read.
pub fn stats(snapshot: &dyn Snapshot, filter: &GenerationFilter) -> Result<Stats> {
    let mut ledger = Ledger::default();
    snapshot.generations(filter, &mut |generation| {
        ledger.take(generation.author, generation.envelope, generation.tokens, generation.continued);
    })?;
    Ok(ledger.stats())
}

/// Sums the generations on the path to a node: what it took to get there, without what was tried beside it.
///
/// # Errors
/// If the store cannot be read.
pub fn path_stats(snapshot: &dyn Snapshot, to: NodeId, versions: &[NodeId]) -> Result<Stats> {
    let mut ledger = Ledger::default();
    for node in snapshot.path_back(to, versions, 0)? {
        if node.author_type == AuthorType::Model {
            let envelope = snapshot.provenance(node.id)?;
            let envelope = envelope.as_ref().map(crate::types::Json::as_str);
            ledger.take(node.author, envelope, node.tokens, node.state.continuations > 0);
        }
    }
    Ok(ledger.stats())
}
