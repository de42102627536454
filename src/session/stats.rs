//! Usage totals of generations: tokens, cost, and the number of replies that were continued.
//!
//! Totals are computed from the metadata of each generation and are not stored. Reading one takes microseconds,
//! generating one takes seconds. A stored total would have to stay correct through every write, purge and import; that
//! pays off only for trees with millions of generations. [`Snapshot::generations`] documents the cost of a scan.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::generation_metadata::BilledUsage;
use crate::{
    id::{AgentId, NodeId},
    provider::Money,
    store::{GenerationFilter, Result, Snapshot},
    types::AuthorType,
};

/// Totals over a set of generations. Token counts lack generations whose usage is unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct UsageTotals {
    /// Number of generations.
    pub generations: u64,
    /// Number of generations that have at least one continuation.
    pub taken_up: u64,
    /// Number of generations without any known token count; the token totals lack them.
    pub uncounted: u64,
    /// Prompt tokens, including cached ones.
    pub prompt: u64,
    /// Prompt tokens read from a provider's cache.
    pub cached: u64,
    /// Prompt tokens written to a provider's cache, if the provider charges for that.
    pub cache_write: u64,
    /// Reply tokens.
    pub output: u64,
    /// Number of generations with a known cost.
    pub priced: u64,
    /// Cost by currency, in billionths of its unit.
    #[serde(skip)]
    cost: BTreeMap<String, i128>,
}

impl UsageTotals {
    /// Returns the cost, one amount per currency.
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

/// Totals of one agent with one model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UsageByKey {
    /// The agent that wrote the replies.
    pub agent: AgentId,
    /// Reference of the model, or the name reported by the server. `None` if the metadata has neither.
    pub model: Option<String>,
    /// The totals of this agent and model.
    pub sums: UsageTotals,
}

/// Usage totals, overall and by agent and model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Totals by agent and model, in descending order of output tokens.
    pub shares: Vec<UsageByKey>,
    /// Totals over all agents and models.
    pub all: UsageTotals,
}

/// Totals during summation. The inner list is searched linearly because an agent uses few models.
#[derive(Default)]
struct Ledger(HashMap<AgentId, Vec<(Option<String>, UsageTotals)>>);

impl Ledger {
    fn take(&mut self, author: AgentId, envelope: Option<&str>, tokens: Option<u32>, continued: bool) {
        let billed = envelope.map(BilledUsage::read).unwrap_or_default();
        let name = billed.model_name();
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

/// Sums the generations that match a filter. Pruned generations count because they were paid for.
///
/// ```
/// use loomtree::{prelude::*, store::GenerationFilter};
///
/// # let folder = tempfile::tempdir()?;
/// # let loom = session::open(folder.path().join("trees.db"))?;
/// # let owner = loom.actor(&loom.agent("owner")?);
/// # let (tree, root) = owner.create_tree(TreeDraft::new("Where could it begin?"))?;
/// let spent = session::stats(&*loom.snapshot()?, &GenerationFilter::default().tree(tree.id))?;
/// assert_eq!(spent.all.generations, 0);
/// # Ok::<(), loomtree::Error>(())
/// ```
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

/// Sums the generations on the path from the root to a node; other branches do not count.
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
