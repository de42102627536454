//! Scores of leaves by a judge. A score is a note at the leaf, immutable like every node, with a label in its metadata:
//! the words of a note can claim any score, its metadata cannot.

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{ExperimentError, RunLimits, Spending, StopReason, budget::Budget, leaves::Leaves};
use crate::{
    id::{NodeId, TreeId},
    ops::{Actor, NodeDraft},
    session::BoxFuture,
    store::Mutation,
    types::{AuthorType, EdgeKind, Json, Mode, Node, Op, Parent},
};

/// Characters of a reason that are stored.
const MAX_REASON_CHARS: usize = 500;
/// Failures in a row after which a judge is asked no more.
const MAX_FAILURES: u32 = 3;

/// A judge of branches.
pub trait Judge: Send + Sync {
    /// Returns the name under which scores are stored.
    fn name(&self) -> &str;

    /// Returns a digest of what shapes the scores, such as the rubric. A branch that has a score of this name and digest is
    /// not judged again.
    fn digest(&self) -> &str;

    /// Returns what is asked of the judge: a rubric or a command. It is stored with each score.
    fn rubric(&self) -> &str;

    /// Returns the kind of author of the scores.
    fn author_type(&self) -> AuthorType;

    /// Returns the maximum number of branches that are judged at the same time, at least 1.
    fn parallel(&self) -> usize;

    /// Returns an upper bound of what a judgement of this path costs.
    fn bound(&self, path: &[Node], mode: Mode) -> Spending;

    /// Judges the path to a leaf.
    fn judge<'a>(&'a self, path: &'a [Node], mode: Mode) -> BoxFuture<'a, Result<Judgement, JudgeError>>;
}

/// Judgement of one path.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Score; a finite number.
    pub value: f64,
    /// Reason, if the judge gave one.
    pub why: Option<String>,
    /// Requests, tokens and cost.
    pub spent: Spending,
    /// Metadata of the judge's generation.
    pub provenance: Option<Json>,
}

/// Failure of a judge, with what it cost.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct JudgeError {
    /// Reason of the failure.
    pub message: String,
    /// Requests, tokens and cost.
    pub spent: Spending,
}

/// Label of a score, stored as the metadata of its note.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScoreLabel {
    /// Name of the judge.
    pub judge: String,
    /// Digest of what shaped the score.
    pub digest: String,
    /// Score.
    pub value: f64,
    /// Rubric or command of the judge; empty in scores of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rubric: String,
}

/// Metadata of a note with a score.
#[derive(Serialize, Deserialize)]
struct ScoreMetadata {
    score: ScoreLabel,
}

impl ScoreLabel {
    /// Returns the score that a note holds; `None` for any other note.
    #[must_use]
    pub fn of(note: &Node) -> Option<Self> {
        let metadata: ScoreMetadata = serde_json::from_str(note.metadata.as_ref()?.as_str()).ok()?;
        Some(metadata.score)
    }
}

/// Request for scores of the leaves of a tree.
#[non_exhaustive]
pub struct ScoreRequest<'a> {
    /// Tree of the leaves.
    pub tree: TreeId,
    /// Node above the leaves; `None`: all leaves of the tree.
    pub below: Option<NodeId>,
    /// Judge of the leaves.
    pub judge: &'a dyn Judge,
    /// Limits of the run.
    pub limits: RunLimits,
    /// Cancels the run.
    pub cancel: CancellationToken,
}

impl<'a> ScoreRequest<'a> {
    /// Creates a request for scores of all leaves of a tree, without limits.
    #[must_use]
    pub fn new(tree: TreeId, judge: &'a dyn Judge) -> Self {
        Self { tree, below: None, judge, limits: RunLimits::default(), cancel: CancellationToken::new() }
    }

    /// Sets the node above the leaves.
    #[must_use]
    pub fn below(mut self, below: impl Into<Option<NodeId>>) -> Self {
        self.below = below.into();
        self
    }

    /// Sets the limits of the run.
    #[must_use]
    pub fn limits(mut self, limits: RunLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the token that cancels the run.
    #[must_use]
    pub fn cancel(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }
}

/// Upper bound of what the missing scores cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ScoreEstimate {
    /// Complete leaves with a score of this judge.
    pub present: u64,
    /// Complete leaves without one.
    pub missing: u64,
    /// Requests, tokens and cost of the missing scores.
    pub bound: Spending,
}

/// Progress event of a scoring.
#[derive(Debug)]
#[non_exhaustive]
pub enum ScoreProgress {
    /// A score was saved.
    Saved {
        /// Node that was judged.
        leaf: Box<Node>,
        /// Score.
        value: f64,
        /// Reason, if the judge gave one.
        why: Option<String>,
    },
    /// A judgement failed.
    Failed {
        /// Node that was judged.
        leaf: Box<Node>,
        /// Cause of the failure.
        error: JudgeError,
    },
}

/// Result of a scoring.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ScoreReport {
    /// Name of the judge.
    pub judge: String,
    /// Leaves that had a score.
    pub present: u64,
    /// Scores that this run added.
    pub added: u64,
    /// Judgements that failed.
    pub failed: u64,
    /// Mean of the added scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// Requests, tokens and cost of this run.
    pub spent: Spending,
    /// Reason for which scores are missing.
    pub stopped: Option<StopReason>,
    /// First error of a judgement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Complete leaves without a score, and the number of those with one. An interrupted reply is not judged: its score would
/// be of the cut.
fn missing(actor: &Actor, request: &ScoreRequest<'_>) -> Result<(u64, Vec<NodeId>), ExperimentError> {
    let leaves = Leaves::read(&*actor.loom().snapshot()?, request.tree, request.below)?;
    let (name, digest) = (request.judge.name(), request.judge.digest());
    let has_score = |leaf: &NodeId| {
        let scores = leaves.scores.get(leaf).map_or(&[][..], Vec::as_slice);
        scores.iter().any(|score| score.judge == name && score.digest == digest)
    };
    let complete = leaves.nodes.iter().filter(|leaf| !leaves.interrupted.contains(leaf));
    let (present, missing): (Vec<NodeId>, Vec<NodeId>) = complete.partition(|leaf| has_score(leaf));
    Ok((present.len() as u64, missing))
}

/// Returns an upper bound of what the missing scores cost.
///
/// # Errors
/// If the store fails.
pub fn estimate_scores(actor: &Actor, request: &ScoreRequest<'_>) -> Result<ScoreEstimate, ExperimentError> {
    let (present, missing) = missing(actor, request)?;
    let mut estimate = ScoreEstimate { present, missing: missing.len() as u64, bound: Spending::default() };
    let mode = actor.loom().tree(request.tree)?.mode;
    for leaf in missing {
        estimate.bound.add(&request.judge.bound(&actor.loom().path(leaf)?, mode), 1);
    }
    Ok(estimate)
}

/// A judgement that ended.
type FinishedScore = (Vec<Node>, Spending, Result<Judgement, JudgeError>);

/// Judges the complete leaves that have no score of this judge, and passes each event to `on_progress`. Each score is saved when
/// it is known.
///
/// # Errors
/// If the store fails. A failure of the judge is in the report.
pub async fn score(
    actor: &Actor,
    request: &ScoreRequest<'_>,
    mut on_progress: impl FnMut(ScoreProgress),
) -> Result<ScoreReport, ExperimentError> {
    let (present, missing) = missing(actor, request)?;
    let mode = actor.loom().tree(request.tree)?.mode;
    let judge = request.judge;
    let mut budget = Budget::new(request.limits);
    let mut report = ScoreReport {
        judge: judge.name().to_owned(),
        present,
        added: 0,
        failed: 0,
        mean: None,
        spent: Spending::default(),
        stopped: None,
        error: None,
    };
    let mut waiting = missing.into_iter().peekable();
    let mut running: FuturesUnordered<BoxFuture<'_, FinishedScore>> = FuturesUnordered::new();
    let (mut sum, mut failures) = (0.0, 0);
    loop {
        let mut is_limited = false;
        while running.len() < judge.parallel().max(1) && failures < MAX_FAILURES {
            let Some(leaf) = waiting.peek() else { break };
            let path = actor.loom().path(*leaf)?;
            let bound = judge.bound(&path, mode);
            is_limited = !budget.reserve(&bound);
            if is_limited {
                break;
            }
            waiting.next();
            running.push(Box::pin(async move {
                let judged = judge.judge(&path, mode).await;
                (path, bound, judged)
            }));
        }
        let next = tokio::select! {
            next = running.next() => next,
            () = request.cancel.cancelled() => {
                budget.spend_reserved();
                report.stopped = Some(StopReason::Cancelled);
                break;
            }
        };
        let Some((mut path, bound, judged)) = next else {
            report.stopped = match report.failed {
                _ if is_limited => Some(StopReason::Limit),
                0 => None,
                _ => Some(StopReason::Failed),
            };
            break;
        };
        let spent = judged.as_ref().map_or_else(|error| &error.spent, |judged| &judged.spent);
        budget.settle(&bound, spent);
        let Some(leaf) = path.pop().map(Box::new) else { continue };
        match judged {
            Ok(judged) => {
                save(actor, judge, &leaf, &judged).await?;
                (report.added, sum, failures) = (report.added + 1, sum + judged.value, 0);
                on_progress(ScoreProgress::Saved { leaf, value: judged.value, why: judged.why });
            }
            Err(error) => {
                (report.failed, failures) = (report.failed + 1, failures + 1);
                report.error.get_or_insert_with(|| error.message.clone());
                on_progress(ScoreProgress::Failed { leaf, error });
            }
        }
    }
    drop(running);
    #[allow(clippy::cast_precision_loss)] // leaves are far below 2^52
    let added = report.added as f64;
    report.mean = (report.added > 0).then(|| sum / added);
    report.spent = budget.spent;
    Ok(report)
}

/// Saves a score as a note at its leaf.
async fn save(actor: &Actor, judge: &dyn Judge, leaf: &Node, judged: &Judgement) -> Result<(), ExperimentError> {
    let label = ScoreLabel {
        judge: judge.name().to_owned(),
        digest: judge.digest().to_owned(),
        value: judged.value,
        rubric: judge.rubric().to_owned(),
    };
    let why = judged.why.as_deref().map(|why| format!(": {}", first_chars(why))).unwrap_or_default();
    let text = format!("score {} by {}{why}", judged.value, judge.name());
    let draft = NodeDraft::text(text)
        .kind(EdgeKind::Annotation)
        .author_type(judge.author_type())
        .metadata(serde_json::to_value(ScoreMetadata { score: label }).ok().map(Json::from))
        .provenance(judged.provenance.clone());
    let note = actor.draft(Parent::Node(leaf.id), draft);
    actor.submit(Op::Annotate, vec![Mutation::Append(Box::new(note))]).await?;
    Ok(())
}

fn first_chars(text: &str) -> String {
    text.trim().chars().take(MAX_REASON_CHARS).collect()
}
