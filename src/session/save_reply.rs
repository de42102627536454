//! Saving a model's reply as a node.

use std::sync::Arc;

use super::{
    GenerateError, generation_metadata::GenerationMetadata, partial_reply_files::PartialReplyHeader,
    stored_calls::stored_calls,
};
use crate::{
    id::NodeId,
    ops::{Actor, NodeDraft, OpsError},
    provider::{FinishReason, Model, Prices, Sampling},
    store::Mutation,
    tools::HostTool,
    turn::RoundOutput,
    types::{AuthorType, EdgeKind, Json, Node, Op, Parent, SessionPatch, ToolCallFields},
};

/// Destination and metadata of a reply.
pub(super) struct SaveOptions<'a> {
    /// Node whose lease the same commit releases.
    pub(super) release: Option<NodeId>,
    /// Estimated tokens of the prompt.
    pub(super) estimated: u32,
    pub(super) header: &'a PartialReplyHeader,
    pub(super) prices: &'a Prices,
    /// Settings of the request.
    pub(super) sampling: Sampling,
    /// True if the session's position does not move to the reply.
    pub(super) keep_position: bool,
    /// True for a round of an agent turn: that agent's `undo` skips such commits.
    pub(super) is_turn: bool,
    /// Metadata of the node.
    pub(super) metadata: Option<&'a Json>,
    /// Host tools that lines of the reply can call.
    pub(super) tools: &'a [HostTool],
}

/// Stores the model reference on the session if it changed. Does nothing for a request with several models.
pub(super) async fn record_session_model(actor: &Actor, models: &[Arc<dyn Model>]) -> Result<(), GenerateError> {
    let (Some(id), [model]) = (actor.session(), models) else { return Ok(()) };
    let reference = model.reference();
    if actor.loom().session(id)?.model.as_deref() != Some(reference) {
        let patch = SessionPatch { model: Some(reference.to_owned()), ..SessionPatch::default() };
        let change = vec![Mutation::UpdateSession { session: id, patch }];
        actor.submit(Op::Turn, change).await.map_err(OpsError::from)?;
    }
    Ok(())
}

/// Stores the system prompt with the session if it changed.
pub(super) async fn record_system_prompt(actor: &Actor, content: String) -> Result<(), GenerateError> {
    let Some(session) = actor.session().filter(|_| !content.is_empty()) else { return Ok(()) };
    let stored = actor.loom().snapshot()?.system_prompt(session).map_err(OpsError::from)?;
    if stored.as_ref() != Some(&content) {
        let change = vec![Mutation::RecordSystemPrompt { session, content }];
        actor.submit(Op::Turn, change).await.map_err(OpsError::from)?;
    }
    Ok(())
}

/// Appends the reply and returns its node after the commit.
pub(super) async fn save(actor: &Actor, output: RoundOutput, options: &SaveOptions<'_>) -> Result<Node, GenerateError> {
    let SaveOptions { header, prices, .. } = options;
    let finish = output.finish.as_ref();
    let interrupted = output.interrupted || finish.is_some_and(|f| f.reason == FinishReason::Interrupted);
    let usage = finish.and_then(|f| f.usage);
    let reference = &header.reference;
    let metadata = finish
        .map_or_else(|| GenerationMetadata::interrupted(reference), |f| GenerationMetadata::of(reference, f, prices))
        .sampling(&options.sampling);
    let calls = stored_calls(header.node, &output.requests, options.tools);
    let draft = NodeDraft {
        kind: Some(EdgeKind::Continuation),
        author_type: Some(AuthorType::Model),
        // Servers often report no usage for interrupted replies. With commands, the usage covers more than the saved
        // text.
        tokens: usage.and_then(|u| u32::try_from(u.output).ok()).filter(|n| *n > 0 && output.raw.is_none()),
        raw: output.raw,
        tool: ToolCallFields { calls, ..ToolCallFields::default() },
        interrupted,
        provenance: metadata
            .json()
            .inspect_err(|error| tracing::warn!(%error, "the generation metadata could not be serialized"))
            .ok(),
        metadata: options.metadata.cloned(),
        keep_position: options.keep_position,
        ..NodeDraft::text(output.text)
    };
    let mut new = actor.draft(Parent::Node(header.parent), draft);
    (new.id, new.author) = (header.node, header.author);
    let op = if options.is_turn { Op::Turn } else { Op::Generate };
    let mut mutations = vec![Mutation::Append(Box::new(new))];
    mutations.extend(options.release.map(|node| Mutation::Release { node, agent: header.author }));
    mutations.extend(usage.map(|usage| Mutation::RecordTokenUsage {
        model: reference.clone(),
        estimated: options.estimated.into(),
        reported: usage.prompt,
    }));
    let receipt = actor.submit(op, mutations).await.map_err(OpsError::from)?;
    let id = receipt.nodes.first().map(|n| n.id).ok_or_else(|| OpsError::missing("node", "new"))?;
    Ok(actor.loom().node(id)?)
}
