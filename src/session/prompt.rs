//! Prompt of a model request: the assembled context, converted to the provider's message types.

use std::borrow::Cow;

use super::{GenerateError, GenerateRequest};
use crate::{
    context::{self, CommandRound},
    id::NodeId,
    ops::{Actor, OpsError},
    provider::{Model, Prompt},
    store::SessionFilter,
    tokens::TokenCalibration,
    types::{Agent, Permission, TodoScope},
};

/// Progress of the current turn.
#[derive(Default)]
pub(super) struct TurnProgress<'a> {
    /// Finished command rounds of this turn.
    pub(super) rounds: &'a [CommandRound],
    /// Owner of the todos that the turn's commands edit.
    pub(super) scope: Option<TodoScope>,
}

/// Builds the prompt at the author's position.
pub(super) fn prompt(
    actor: &Actor,
    request: &GenerateRequest,
    model: &dyn Model,
    (from, versions): (NodeId, &[NodeId]),
    progress: &TurnProgress<'_>,
) -> Result<context::AssembledPrompt, GenerateError> {
    let position = PromptPosition {
        from,
        versions,
        progress,
        context_start: request.context_start,
        instruction: request.instruction.as_deref(),
        input: request.commands.as_ref().map(|_| request.from),
        host_tools: request.commands.as_ref().map_or(&[], |commands| commands.tools.tools()),
    };
    let options = request
        .context_options()
        .calibrated_for(model.reference(), &*actor.loom().snapshot()?)
        .map_err(OpsError::from)?;
    let author = offered_author(request);
    let mut assembled = assemble_context(actor, &author, &position, options)?;
    // The context is assembled again only if it exceeds the budget, so that a window that fits stays unchanged.
    if let Some(counted) =
        count_tokens(model, &assembled.prompt).filter(|counted| *counted > u64::from(options.budget()))
    {
        let calibration = TokenCalibration::from_counts(assembled.report.total.into(), counted);
        assembled = assemble_context(actor, &author, &position, context::ContextOptions { calibration, ..options })?;
    }
    Ok(assembled)
}

/// Returns the author with the permissions that its prompt and native tools show: a turn without an orchestrator offers no
/// delegation.
pub(super) fn offered_author(request: &GenerateRequest) -> Cow<'_, Agent> {
    let mut author = Cow::Borrowed(&request.author);
    let cannot_delegate = request.commands.as_ref().is_some_and(|commands| commands.orchestrator.is_none());
    if cannot_delegate && author.profile.permissions.has(Permission::Delegate) {
        let profile = &mut author.to_mut().profile;
        profile.permissions = profile.permissions.iter().filter(|held| *held != Permission::Delegate).collect();
    }
    author
}

/// Counts the tokens of a prompt with the model's own tokenizer, without its message separators. `None` if it has none.
fn count_tokens(model: &dyn Model, prompt: &Prompt) -> Option<u64> {
    let count = |text: &str| model.count(text).map(|tokens| tokens as u64);
    match prompt {
        Prompt::Raw(text) => count(text),
        Prompt::Chat(messages) => messages.iter().map(|message| count(&message.text())).sum(),
    }
}

/// Position of an author and the progress of its turn.
struct PromptPosition<'a> {
    from: NodeId,
    versions: &'a [NodeId],
    progress: &'a TurnProgress<'a>,
    context_start: Option<NodeId>,
    instruction: Option<&'a str>,
    input: Option<NodeId>,
    host_tools: &'a [crate::tools::HostTool],
}

/// Assembles the context that `author` would see if `actor` let it continue node `from`. The session state comes from
/// the actor's session if `author` is the actor's agent. Otherwise it comes from the author's newest active session in
/// that tree.
///
/// ```
/// use loomtree::{context::ContextOptions, prelude::*};
///
/// # let folder = tempfile::tempdir()?;
/// # let loom = session::open(folder.path().join("trees.db"))?;
/// # let owner = loom.actor(&loom.agent("owner")?);
/// # let (tree, root) = owner.create_tree(TreeDraft::new("Where could it begin?"))?;
/// let subject = loom.agent("subject")?;
/// let prompt = session::context_of(&owner, &subject, root.id, &[], ContextOptions::default())?;
/// assert!(prompt.report.total > 0);
/// # Ok::<(), loomtree::Error>(())
/// ```
///
/// # Errors
/// If the node does not exist, the context does not fit the window, or the store fails.
pub fn context_of(
    actor: &Actor,
    author: &Agent,
    from: NodeId,
    versions: &[NodeId],
    options: context::ContextOptions,
) -> Result<context::AssembledPrompt, GenerateError> {
    let position = PromptPosition {
        from,
        versions,
        progress: &TurnProgress::default(),
        context_start: None,
        instruction: None,
        input: None,
        host_tools: &[],
    };
    assemble_context(actor, author, &position, options)
}

fn assemble_context(
    actor: &Actor,
    author: &Agent,
    position: &PromptPosition<'_>,
    options: context::ContextOptions,
) -> Result<context::AssembledPrompt, GenerateError> {
    let loom = actor.loom();
    let session = match actor.session().filter(|_| actor.agent() == author.id()) {
        Some(session) => Some(loom.session(session)?),
        None => {
            let (agent, tree) = (Some(author.id()), Some(loom.node(position.from)?.tree));
            let filter = SessionFilter { agent, tree, active: true, limit: 1, ..SessionFilter::default() };
            loom.snapshot()?.sessions(&filter).map_err(OpsError::from)?.pop()
        }
    };
    let request = context::ContextRequest {
        agent: author,
        leaf: position.from,
        versions: position.versions,
        context_start: position.context_start,
        session: session.as_ref(),
        rounds: position.progress.rounds,
        scope: position.progress.scope,
        input: position.input,
        instruction: position.instruction,
        host_tools: position.host_tools,
        options,
        now: loom.now(),
    };
    Ok(context::assemble(&*loom.snapshot()?, &request)?)
}
