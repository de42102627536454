//! Verification of a result, by the exit status of a command or by a model that did not do the work. Either verdict is
//! saved as a node.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{DelegationEvent, OrchestratorConfig, Subtask, prompts, verdict};
use crate::{
    id::{NodeId, SessionId},
    ops::{Actor, Loom, NodeDraft, OpsError},
    provider::Model,
    session::SideConversation,
    store::Mutation,
    tools::ErrorCode,
    types::{AuthorType, EdgeKind, Node, Op, Parent, ToolCallFields},
};

/// Maximum nodes of the worker's session that the judge's prompt covers, the newest.
const MAX_SESSION_NODES: u32 = 400;
/// Maximum characters of check output in its node.
const MAX_CHECK_OUTPUT_CHARS: usize = 20_000;

/// Lines of a change's result that the judge sees; the command has what was written.
const CONFIRMATION_LINES: usize = 2;

/// Notes for the judge on a check that does not decide.
const PASSED_BEFORE: &str = "It passed before the work began and after it, so it does not show that the work was done.";
const REFUSED: &str = "The user did not allow this command, so it did not run. It shows neither success nor failure.";

/// Pending verification of one result.
pub(super) struct Verification {
    pub(super) config: Arc<OrchestratorConfig>,
    /// Actor of the delegation, in the session that verifies.
    pub(super) actor: Actor,
    pub(super) task: prompts::DelegationGoal,
    pub(super) at: usize,
    pub(super) subtask: Subtask,
    /// Node with the result.
    pub(super) node: NodeId,
    /// Session and name of the worker.
    pub(super) session: SessionId,
    pub(super) worker_name: String,
    /// Model of the worker.
    pub(super) worker: Arc<dyn Model>,
    /// True if the check passed before the work began. Then a model judges too.
    pub(super) passed_before: bool,
    pub(super) cancel: CancellationToken,
}

/// Event of the verification and its reason.
pub(super) struct VerificationOutcome {
    pub(super) event: DelegationEvent,
    pub(super) why: String,
}

impl Verification {
    /// Runs the verification; `None` if it was cancelled.
    pub(super) async fn run(self) -> Option<VerificationOutcome> {
        let outcome = match self.subtask.check.clone().filter(|_| self.config.worker_tools.checks()) {
            Some(command) => match self.check(&command).await {
                Ok(None) => self.judge(Some(REFUSED)).await,
                Ok(Some(VerificationOutcome { event: DelegationEvent::Verified { passed: true, .. }, .. }))
                    if self.passed_before =>
                {
                    self.judge(Some(PASSED_BEFORE)).await
                }
                Ok(Some(checked)) => Ok(checked),
                Err(why) => Err(why),
            },
            None => self.judge(None).await,
        };
        if outcome.is_err() && self.cancel.is_cancelled() {
            return None;
        }
        let task = self.at;
        Some(outcome.unwrap_or_else(|why| VerificationOutcome {
            event: DelegationEvent::VerifyFailed { task, why: why.clone() },
            why,
        }))
    }

    /// Runs the check; `None` if the user refused it.
    async fn check(&self, command: &str) -> Result<Option<VerificationOutcome>, String> {
        let ran = match self.config.worker_tools.check(command, self.cancel.clone()).await {
            Err(failure) if failure.code == ErrorCode::Cancelled && !self.cancel.is_cancelled() => return Ok(None),
            ran => ran.map_err(|failure| failure.to_string())?,
        };
        let output: String = ran.output.chars().take(MAX_CHECK_OUTPUT_CHARS).collect();
        let (passed, why) = (ran.passed, format!("{command}\n{output}"));
        let draft = NodeDraft {
            kind: Some(EdgeKind::Tool),
            author_type: Some(AuthorType::Tool),
            tool: ToolCallFields { name: Some("check".to_owned()), ..ToolCallFields::default() },
            ..NodeDraft::text(why.clone())
        };
        let node = self.actor.draft(Parent::Node(self.node), draft);
        let id = node.id;
        let metadata = self.actor.submit(Op::Delegate, vec![Mutation::Append(Box::new(node))]).await;
        metadata.map_err(|error| error.to_string())?;
        Ok(Some(VerificationOutcome { event: DelegationEvent::Verified { task: self.at, node: id, passed }, why }))
    }

    /// Asks the judge; `about_check` states why the check does not decide.
    async fn judge(&self, about_check: Option<&str>) -> Result<VerificationOutcome, String> {
        let loom = self.actor.loom();
        let result = loom.node(self.node).map_err(|error| error.to_string())?;
        let tools = self.config.worker_tools.tools(&self.worker_name);
        let confirms = |name: &str| tools.iter().any(|(tool, _)| tool.name == name && tool.only_confirms);
        let mut steps = command_results(loom, self.session, &confirms).map_err(|error| error.to_string())?;
        if let Some((check, note)) = self.subtask.check.as_ref().zip(about_check) {
            steps.push((format!("check: {check}"), note.to_owned()));
        }
        let files = self.config.worker_tools.changed(std::slice::from_ref(&self.worker_name));
        let output = prompts::WorkerOutput { steps, files, result: result.content };
        let asked = prompts::judge_question(&self.task, &self.subtask, &output);
        let judge = (self.config.judge.agent.clone(), self.config.judge_for(&*self.worker));
        let prices = self.config.prices.clone();
        let mut conversation = SideConversation::new(self.actor.clone(), judge, prices, self.node, prompts::JUDGE);
        let mut answer = self.ask(&mut conversation, &asked).await?;
        let verdict = match verdict::read(&answer.content) {
            Some(verdict) => verdict,
            None => {
                answer = self.ask(&mut conversation, prompts::VERDICT_FORMAT_REMINDER).await?;
                verdict::read(&answer.content).ok_or("the answer of the judge is not a verdict")?
            }
        };
        let event = DelegationEvent::Verified { task: self.at, node: answer.id, passed: verdict.passed };
        Ok(VerificationOutcome { event, why: verdict.why })
    }

    async fn ask(&self, conversation: &mut SideConversation, words: &str) -> Result<Node, String> {
        conversation.ask(words, &self.cancel).await.map_err(|error| error.to_string())
    }
}

/// Returns the newest commands of a session with their results, in order. `confirms`: the tools whose results only confirm
/// a change.
fn command_results(
    loom: &Loom,
    session: SessionId,
    confirms: &dyn Fn(&str) -> bool,
) -> Result<Vec<(String, String)>, OpsError> {
    let worker = loom.session(session)?;
    let before = worker.turns.saturating_sub(worker.since + u64::from(MAX_SESSION_NODES));
    let nodes = loom.turns(session, before, MAX_SESSION_NODES)?;
    let answers = nodes.into_iter().filter(|node| node.kind == EdgeKind::Tool);
    let results = answers.map(|node| {
        let metadata =
            node.metadata.as_ref().map(|metadata| serde_json::from_str::<serde_json::Value>(metadata.as_str()));
        let line = metadata.and_then(Result::ok).and_then(|metadata| metadata["command"].as_str().map(str::to_owned));
        let confirms = node.content.starts_with('✓') && node.tool.name.as_deref().is_some_and(confirms);
        let answer = match confirms {
            true => node.content.lines().take(CONFIRMATION_LINES).collect::<Vec<_>>().join("\n"),
            false => node.content,
        };
        (line.or(node.tool.name).unwrap_or_default(), answer)
    });
    Ok(results.collect())
}

/// Returns the reason in a verdict's node, or its whole text.
pub(super) fn verdict_reason(node: &Node) -> String {
    match verdict::read(&node.content).filter(|_| node.author_type == AuthorType::Model) {
        Some(verdict) if !verdict.why.is_empty() => verdict.why,
        _ => node.content.clone(),
    }
}
