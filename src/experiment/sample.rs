//! Run of a sample: streams the missing replies, as many side by side as each model accepts.
//!
//! A reply is saved when it ends, with its label, in one commit. A sample compares complete replies: a reply that breaks
//! off is saved as interrupted, and the next run requests another one in its place. A cancelled run drops the replies that
//! stream. After three failures in a row a model is asked no more.

use std::{collections::VecDeque, sync::Arc};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use serde::Serialize;

use super::{
    ExperimentError, SampleLabel, SampleRequest, Spending,
    budget::Budget,
    missing_replies::{SampleJob, SampleReplies},
};
use crate::{
    id::NodeId,
    ops::{Actor, NodeDraft},
    provider::{Sampling, Usage},
    session::{BoxFuture, GenerateError, GenerateRequest, Progress, generate},
    types::{AuthorType, Node},
};

/// Failures in a row after which a model is asked no more.
const MAX_FAILURES: u32 = 3;

/// Progress event of a sample.
#[derive(Debug)]
#[non_exhaustive]
pub enum SampleProgress {
    /// A reply was saved.
    Saved {
        /// Node of the reply.
        node: Box<Node>,
        /// Label of the reply.
        label: SampleLabel,
    },
    /// A reply failed.
    Failed {
        /// Label that the reply would have.
        label: SampleLabel,
        /// Cause of the failure.
        error: GenerateError,
    },
}

/// Reason for which replies are missing after a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The next request would have exceeded a limit.
    Limit,
    /// The caller cancelled the run.
    Cancelled,
    /// Requests failed.
    Failed,
}

/// Result of a sample.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SampleReport {
    /// Id of the sample.
    pub sample: String,
    /// Replies that existed before.
    pub present: u64,
    /// Replies that this run added.
    pub added: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests, tokens and cost of this run.
    pub spent: Spending,
    /// Reason for which replies are missing; `None` if the sample is complete.
    pub stopped: Option<StopReason>,
    /// First error of each model's requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A request that ended.
struct FinishedJob {
    job: SampleJob,
    label: SampleLabel,
    place: NodeId,
    bound: Spending,
    reply: Result<Node, GenerateError>,
    usage: Option<Usage>,
}

type RunningJobs = FuturesUnordered<BoxFuture<'static, FinishedJob>>;

/// Generates the missing replies of a sample, and passes each event to `on_progress`.
///
/// ```
/// use std::sync::Arc;
///
/// use loomtree::{experiment::{SampleRequest, sample}, prelude::*};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> loomtree::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # let loom = session::open(folder.path().join("trees.db"))?;
/// # let owner = loom.actor(&loom.agent("owner")?);
/// # let (tree, root) = owner.create_tree(TreeDraft::new("Where could it begin?"))?;
/// let model = Arc::new(Scripted::named("words")?);
/// let request = SampleRequest::new(root.id, loom.agent("subject")?, vec![model], 2, 2);
/// assert_eq!(sample(&owner, &request, |_| {}).await?.added, 6); // two replies, and two to each
/// assert_eq!(sample(&owner, &request, |_| {}).await?.added, 0); // all of them exist
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If the request is invalid or the store fails. A failure of a model is in the report.
pub async fn sample(
    actor: &Actor,
    request: &SampleRequest,
    on_progress: impl FnMut(SampleProgress),
) -> Result<SampleReport, ExperimentError> {
    request.check()?;
    let SampleReplies { present, jobs } = request.replies(&*actor.loom().snapshot()?)?;
    let mut run = SampleRun {
        actor,
        request,
        id: request.id(),
        base: request.base_tokens(actor)?,
        failures: vec![0; jobs.len()],
        busy: vec![Vec::new(); jobs.len()],
        queues: jobs,
        running: FuturesUnordered::new(),
        budget: Budget::new(request.limits),
        on_progress,
        added: 0,
        failed: 0,
        errors: Vec::new(),
    };
    let stopped = run.run().await?;
    Ok(SampleReport {
        sample: run.id,
        present,
        added: run.added,
        failed: run.failed,
        spent: run.budget.spent,
        stopped,
        error: (!run.errors.is_empty()).then(|| {
            let errors = run.errors.iter().map(|(model, error)| format!("{model}: {error}"));
            errors.collect::<Vec<_>>().join("; ")
        }),
    })
}

struct SampleRun<'a, F> {
    actor: &'a Actor,
    request: &'a SampleRequest,
    id: String,
    /// Estimated prompt tokens at the start.
    base: u64,
    /// Failures in a row, by model.
    failures: Vec<u32>,
    /// Nodes that each model is replying to.
    busy: Vec<Vec<NodeId>>,
    queues: Vec<VecDeque<SampleJob>>,
    running: RunningJobs,
    budget: Budget,
    on_progress: F,
    added: u64,
    failed: u64,
    /// First error of each model.
    errors: Vec<(String, String)>,
}

impl<F: FnMut(SampleProgress)> SampleRun<'_, F> {
    async fn run(&mut self) -> Result<Option<StopReason>, ExperimentError> {
        loop {
            if self.request.cancel.is_cancelled() {
                return self.cancel().await;
            }
            let is_limited = self.start_jobs().await?;
            let next = tokio::select! {
                next = self.running.next() => next,
                () = self.request.cancel.cancelled() => return self.cancel().await,
            };
            match next {
                Some(finished) => self.finish(finished),
                // A running request may have left more of the budget than was reserved for it.
                None if is_limited => return Ok(Some(StopReason::Limit)),
                None if self.failed > 0 => return Ok(Some(StopReason::Failed)),
                None => return Ok(None),
            }
        }
    }

    /// Drops the running requests and releases their positions.
    async fn cancel(&mut self) -> Result<Option<StopReason>, ExperimentError> {
        self.running.clear();
        self.budget.spend_reserved();
        for place in self.busy.iter().flatten() {
            self.actor.release(*place, self.request.author.id()).await?;
        }
        Ok(Some(StopReason::Cancelled))
    }

    /// Starts requests up to the limit of each model. Returns true if the budget refused one.
    async fn start_jobs(&mut self) -> Result<bool, ExperimentError> {
        for model in 0..self.queues.len() {
            let opened = &self.request.models[model];
            let parallel = opened.parallel().max(1);
            while self.busy[model].len() < parallel {
                let Some(job) = self.queues[model].front().copied() else { break };
                let bound = self.request.bound(self.base, job.level, &**opened);
                if !self.budget.reserve(&bound) {
                    return Ok(true);
                }
                self.queues[model].pop_front();
                let place = self.place(job).await?;
                self.busy[model].push(place);
                self.running.push(self.job(job, place, bound));
            }
        }
        Ok(false)
    }

    /// Returns the node that a job continues. Appends the follow-up message if it is missing.
    async fn place(&self, job: SampleJob) -> Result<NodeId, ExperimentError> {
        let Some(follow_up) = self.request.follow_up.as_deref().filter(|_| job.level > 1) else {
            return Ok(job.after);
        };
        if let Some(place) = self.request.follow_up_after(&*self.actor.loom().snapshot()?, job.after)? {
            return Ok(place.id);
        }
        let metadata = self.label(SampleJob { level: job.level - 1, ..job }).metadata();
        let draft =
            NodeDraft::text(follow_up).author_type(Some(AuthorType::Human)).keep_position(true).metadata(metadata);
        let receipt = self.actor.append(job.after, draft)?;
        Ok(receipt.nodes.first().map_or(job.after, |node| node.id))
    }

    fn label(&self, job: SampleJob) -> SampleLabel {
        let model = &*self.request.models[job.model];
        SampleLabel {
            id: self.id.clone(),
            name: self.request.name.clone(),
            model: model.reference().to_owned(),
            level: job.level,
            index: job.index,
            temperature: self.request.temperature(model),
            seed: self.request.sampling.seed.map(|seed| seed.wrapping_add(job.index.into())),
        }
    }

    fn job(&self, job: SampleJob, place: NodeId, bound: Spending) -> BoxFuture<'static, FinishedJob> {
        let label = self.label(job);
        let sampling =
            Sampling { seed: label.seed, max_tokens: Some(self.request.max_tokens), ..self.request.sampling.clone() };
        let model = Arc::clone(&self.request.models[job.model]);
        let request = GenerateRequest::new(place, self.request.author.clone(), model, 1)
            .sampling(sampling)
            .context(self.request.context)
            .prices(self.request.prices.clone())
            .keep_position(true)
            .metadata(label.clone().metadata());
        let actor = self.actor.clone();
        Box::pin(async move {
            let (mut usage, mut failure) = (None, None);
            let on_progress = |progress: Progress| match progress {
                Progress::Saved { usage: reported, .. } => usage = reported,
                Progress::Failed { error, .. } => failure = Some(error),
                _ => {}
            };
            let reply = generate(&actor, request, on_progress).await;
            let reply = reply.and_then(|nodes| match nodes.into_iter().next() {
                Some(node) if !node.interrupted => Ok(node),
                _ => Err(failure.unwrap_or(GenerateError::Empty)),
            });
            FinishedJob { job, label, place, bound, reply, usage }
        })
    }

    fn finish(&mut self, finished: FinishedJob) {
        let FinishedJob { job, label, place, bound, reply, usage } = finished;
        let model = job.model;
        if let Some(at) = self.busy[model].iter().position(|busy| *busy == place) {
            self.busy[model].swap_remove(at);
        }
        // Without a report, the bound counts, unless the request reached no model.
        let spent = match (&usage, &reply) {
            (Some(usage), _) => Spending::of(&*self.request.models[model], &self.request.prices, *usage),
            (None, Err(GenerateError::Provider(error))) if !error.reached_model() => Spending::default(),
            (None, _) => bound.clone(),
        };
        self.budget.settle(&bound, &spent);
        match reply {
            Ok(node) => {
                self.added += 1;
                self.failures[model] = 0;
                if job.level < self.request.depth {
                    let after = node.id;
                    let replies =
                        (0..self.request.n).map(|index| SampleJob { after, level: job.level + 1, index, model });
                    self.queues[model].extend(replies);
                }
                (self.on_progress)(SampleProgress::Saved { node: Box::new(node), label });
            }
            Err(error) => {
                self.failed += 1;
                self.failures[model] += 1;
                if self.failures[model] >= MAX_FAILURES {
                    self.queues[model].clear();
                }
                if self.errors.iter().all(|(model, _)| *model != label.model) {
                    self.errors.push((label.model.clone(), error.to_string()));
                }
                (self.on_progress)(SampleProgress::Failed { label, error });
            }
        }
    }
}
