//! Request for a sample, and an upper bound of what it still needs.

use std::{collections::BTreeSet, sync::Arc};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{ExperimentError, RunLimits, Spending};
use crate::{
    context::ContextOptions,
    id::NodeId,
    ops::{Actor, TreeDraft},
    provider::{Model, Prices, Sampling, Usage},
    session::context_of,
    store::Mutation,
    tokens::estimated_tokens,
    types::{Agent, Json, Node, Op, Parent, Tree, setters},
};

/// Maximum replies of one sample; a typing error should not ask for millions.
const MAX_REPLIES: u64 = 1_000_000;
/// Characters of a sample's id: 48 bits.
const ID_CHARS: usize = 12;

/// Request for a sample: below a node each model grows branches of its own, `n` at each node, to a depth.
#[non_exhaustive]
pub struct SampleRequest {
    /// Node that the branches continue.
    pub start: NodeId,
    /// Agent that is the author of the replies.
    pub author: Agent,
    /// Models; each grows its own branches.
    pub models: Vec<Arc<dyn Model>>,
    /// Replies of a model to each node.
    pub n: u32,
    /// Replies of a branch, one after the other.
    pub depth: u32,
    /// Message of a person between two replies of a branch; `None`: a reply continues the one before.
    pub follow_up: Option<String>,
    /// Name that separates samples with equal settings.
    pub name: String,
    /// Sampling settings. With a seed, the reply with index `i` gets `seed + i`.
    pub sampling: Sampling,
    /// Maximum tokens of a reply.
    pub max_tokens: u32,
    /// Context options.
    pub context: ContextOptions,
    /// Token prices.
    pub prices: Prices,
    /// Limits of the run.
    pub limits: RunLimits,
    /// Cancels the run; replies that stream are dropped.
    pub cancel: CancellationToken,
}

setters!(SampleRequest {
    /// Sets the message between two replies.
    follow_up(option String);
    /// Sets the name that separates samples with equal settings.
    name(into String);
    /// Sets the sampling settings.
    sampling(Sampling);
    /// Sets the maximum tokens of a reply.
    max_tokens(u32);
    /// Sets the context options.
    context(ContextOptions);
    /// Sets the token prices.
    prices(Prices);
    /// Sets the limits of the run.
    limits(RunLimits);
    /// Sets the token that cancels the run.
    cancel(CancellationToken);
});

/// Label of a node of a sample, stored as its metadata.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SampleLabel {
    /// Id of the sample.
    pub id: String,
    /// Name that separates samples with equal settings.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Reference of the model.
    pub model: String,
    /// Number of replies on the branch up to this one, from 1.
    pub level: u32,
    /// Number among the replies of the model to the same node, from 0.
    pub index: u32,
    /// Sampling temperature of the request, the author or the model's configuration; `None`: the server's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// Seed of the request, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// Metadata of a node with the label of a sample.
#[derive(Serialize, Deserialize)]
struct SampleMetadata {
    sample: SampleLabel,
}

impl SampleLabel {
    /// Returns the label of a node; `None` if it belongs to no sample.
    #[must_use]
    pub fn of(node: &Node) -> Option<Self> {
        let metadata: SampleMetadata = serde_json::from_str(node.metadata.as_ref()?.as_str()).ok()?;
        Some(metadata.sample)
    }

    pub(super) fn metadata(self) -> Option<Json> {
        // Through text: a value would hold a temperature of 0.2 as 0.20000000298023224.
        Json::parse(serde_json::to_string(&SampleMetadata { sample: self }).ok()?).ok()
    }
}

/// Upper bound of what a sample still needs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SampleEstimate {
    /// Id of the sample.
    pub sample: String,
    /// Replies that exist.
    pub present: u64,
    /// Replies that are missing.
    pub missing: u64,
    /// Requests, tokens and cost of the missing replies, if each uses all its tokens.
    pub bound: Spending,
}

impl SampleRequest {
    /// Creates a request with default options and replies of at most 256 tokens.
    #[must_use]
    pub fn new(start: NodeId, author: Agent, models: Vec<Arc<dyn Model>>, n: u32, depth: u32) -> Self {
        Self {
            start,
            author,
            models,
            n,
            depth,
            follow_up: None,
            name: String::new(),
            sampling: Sampling::default(),
            max_tokens: 256,
            context: ContextOptions::default(),
            prices: Prices::default(),
            limits: RunLimits::default(),
            cancel: CancellationToken::new(),
        }
    }

    /// Returns the id of the sample. It depends on what shapes a reply, not on `n`, `depth` and the models, so a request
    /// for more replies extends the sample. The temperature of a model's configuration belongs to the model.
    #[must_use]
    pub fn id(&self) -> String {
        let Sampling { temperature, stop, seed, .. } = &self.sampling;
        let start = self.start.to_string();
        let author = self.author.id().to_string();
        let shape = (&start, &author, &self.name, &self.follow_up, temperature, stop, seed, self.max_tokens);
        let shape = serde_json::json!(shape).to_string();
        let profile = &self.author.profile;
        // What the request sets replaces the author's own.
        let own = (
            &profile.system_prompt,
            profile.temperature.filter(|_| temperature.is_none()),
            profile.stop.iter().filter(|_| stop.is_empty()).collect::<Vec<_>>(),
        );
        let is_default = own.0.is_none() && own.1.is_none() && own.2.is_empty();
        digest(&if is_default { shape } else { format!("{shape}{}", serde_json::json!(own)) })
    }

    /// Returns the temperature of a model's replies: that of the request, else the author's, else the model's own.
    pub(super) fn temperature(&self, model: &dyn Model) -> Option<f32> {
        #[allow(clippy::cast_possible_truncation)] // a temperature has one or two digits
        let of_author = self.author.profile.temperature.map(|temperature| temperature as f32);
        self.sampling.temperature.or(of_author).or_else(|| model.sampling().temperature)
    }

    pub(super) fn check(&self) -> Result<(), ExperimentError> {
        let invalid = |reason: String| Err(ExperimentError::Invalid(reason));
        if self.models.is_empty() || self.n == 0 || self.depth == 0 {
            return invalid("a sample needs a model, a number of replies and a depth".to_owned());
        }
        let references: BTreeSet<&str> = self.models.iter().map(|model| model.reference()).collect();
        if references.len() < self.models.len() {
            return invalid("a model is named twice".to_owned());
        }
        let models = self.models.len() as u64;
        let mut replies = 0_u64;
        for level in 1..=self.depth {
            let wide = u64::from(self.n).checked_pow(level).and_then(|wide| wide.checked_mul(models));
            replies = wide.and_then(|wide| replies.checked_add(wide)).unwrap_or(u64::MAX);
            if replies > MAX_REPLIES {
                return invalid(format!("the sample has more than {MAX_REPLIES} replies"));
            }
        }
        self.limits.check_prices(&self.prices, self.models.iter().map(|model| &**model))
    }

    /// Returns an upper bound of the tokens of the prompt at the start.
    pub(super) fn base_tokens(&self, actor: &Actor) -> Result<u64, ExperimentError> {
        let estimated: u64 = context_of(actor, &self.author, self.start, &[], self.context)?.report.total.into();
        // The tokenizer of a model may count more than the estimate.
        Ok(estimated + estimated / 2 + MESSAGE_TOKENS)
    }

    /// Returns an upper bound of one reply at a level.
    pub(super) fn bound(&self, base: u64, level: u32, model: &dyn Model) -> Spending {
        let output = u64::from(self.max_tokens);
        let follow_up = self.follow_up.as_deref().map_or(0, prompt_bound);
        let prompt = base + u64::from(level - 1) * (output + follow_up + MESSAGE_TOKENS);
        Spending::of(model, &self.prices, Usage { prompt, output, ..Usage::default() })
    }
}

/// Returns an upper bound of what a sample still needs.
///
/// # Errors
/// If the request is invalid, the context at the start does not fit, or the store fails.
pub fn estimate_sample(actor: &Actor, request: &SampleRequest) -> Result<SampleEstimate, ExperimentError> {
    request.check()?;
    let replies = request.replies(&*actor.loom().snapshot()?)?;
    let base = request.base_tokens(actor)?;
    let mut estimate =
        SampleEstimate { sample: request.id(), present: replies.present, missing: 0, bound: Spending::default() };
    for (model, jobs) in request.models.iter().zip(&replies.jobs) {
        let mut missing = 0;
        for level in 1..=request.depth {
            // Each missing reply of the level above lacks all its replies.
            let open = jobs.iter().filter(|job| job.level == level).count() as u64;
            missing = missing * u64::from(request.n) + open;
            estimate.missing += missing;
            estimate.bound.add(&request.bound(base, level, &**model), missing);
        }
    }
    Ok(estimate)
}

/// Returns the tree and root of a prompt, and true if they were created now. Equal prompts with equal settings and name
/// have one tree, so a repeated request finds it.
///
/// # Errors
/// If the prompt was purged, or the store fails.
pub fn prompt_root(actor: &Actor, draft: TreeDraft, name: &str) -> Result<(Tree, Node, bool), ExperimentError> {
    let loom = actor.loom();
    let shape = (&draft.root.content, draft.mode, &draft.system_context, name);
    let source = format!("sample:{}", digest(&serde_json::json!(shape).to_string()));
    let known = loom.snapshot()?.source(&source)?;
    if let Some(root) = known.map(|id| loom.node(id)).transpose()? {
        if root.purged_at.is_some() {
            return Err(ExperimentError::Invalid("the prompt was purged; another name starts a new tree".to_owned()));
        }
        return Ok((loom.tree(root.tree)?, root, false));
    }
    let id = loom.tree_id();
    let (tree, root) = draft.into_parts(id, loom.now());
    let mut root = actor.draft(Parent::Root(id), root);
    root.source = Some(source);
    let root_id = root.id;
    actor.commit(Op::CreateTree, vec![Mutation::CreateTree(tree), Mutation::Append(Box::new(root))])?;
    Ok((loom.tree(id)?, loom.node(root_id)?, true))
}

/// Tokens that a chat template may put around a message.
const MESSAGE_TOKENS: u64 = 16;

/// Returns an upper bound of a text's tokens: an estimate and half of it, since models count differently.
pub(super) fn prompt_bound(text: &str) -> u64 {
    let estimated = u64::from(estimated_tokens(text));
    estimated + estimated / 2 + MESSAGE_TOKENS
}

/// Returns a short digest of a text.
pub(super) fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().chars().take(ID_CHARS).collect()
}
