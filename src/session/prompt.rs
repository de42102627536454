//! What a model is asked when it continues a node: the assembled context, in the provider's words.

use super::{GenerateError, Plan};
use crate::{
    context::{self, Exchange, Voice},
    id::NodeId,
    model::{Agent, Correction, TodoScope},
    ops::{Actor, OpsError},
    provider::{Message, Model, Part, Prompt, Role, ToolCall},
    store::SessionFilter,
};

/// What happened in a turn so far.
#[derive(Default)]
pub(super) struct SoFar<'a> {
    /// What its commands were answered.
    pub(super) exchanges: &'a [Exchange],
    /// Whose plan they work on.
    pub(super) scope: Option<TodoScope>,
}

/// What a model is asked where its author stands, and how many tokens that is by the estimate.
pub(super) fn prompt(
    actor: &Actor,
    plan: &Plan,
    model: &dyn Model,
    (from, versions): (NodeId, &[NodeId]),
    so_far: &SoFar<'_>,
) -> Result<(Prompt, u32), GenerateError> {
    let place = Place {
        from,
        versions,
        so_far,
        since: plan.since,
        input: plan.commands.as_ref().map(|_| plan.from),
        extras: plan.commands.as_ref().map_or(&[], |commands| commands.tools.tools()),
    };
    let options = plan.shown().counted_by(model.reference(), &*actor.loom().snapshot()?).map_err(OpsError::from)?;
    let mut assembled = assembled(actor, &plan.author, &place, options)?;
    // Only what is too long is chosen anew, so that a window that fits stays as it is.
    if let Some(counted) = counted(model, &assembled.prompt).filter(|counted| *counted > u64::from(options.budget())) {
        let correction = Correction::counted(assembled.report.total.into(), counted);
        assembled = self::assembled(actor, &plan.author, &place, context::Options { correction, ..options })?;
    }
    let prompt = match assembled.prompt {
        context::Prompt::Text(text) => Prompt::Raw(text),
        context::Prompt::Messages(messages) => Prompt::Chat(messages.into_iter().map(message).collect()),
    };
    Ok((prompt, assembled.report.total))
}

/// How many tokens a prompt is by the model's own count, if it counts; what it puts between messages not counted.
fn counted(model: &dyn Model, prompt: &context::Prompt) -> Option<u64> {
    let texts: Vec<&str> = match prompt {
        context::Prompt::Text(text) => vec![text],
        context::Prompt::Messages(messages) => messages.iter().map(|message| message.content.as_str()).collect(),
    };
    texts.into_iter().map(|text| model.count(text).map(|tokens| tokens as u64)).sum()
}

fn message(message: context::Message) -> Message {
    let role = match message.voice {
        Voice::System => Role::System,
        Voice::User => Role::User,
        Voice::Assistant => Role::Assistant,
    };
    let results = message.answers.into_iter().map(|answer| Part::Result {
        call: answer.call,
        text: answer.text,
        failed: answer.failed,
    });
    let calls = message
        .calls
        .into_iter()
        .map(|call| Part::Call(ToolCall { id: call.id, name: call.name, arguments: call.arguments }));
    let text = (!message.content.is_empty()).then_some(Part::Text(message.content));
    Message { role, parts: results.chain(text).chain(calls).collect(), cache: message.kept }
}

/// Where an author stands, and what happened in its turn so far.
struct Place<'a> {
    from: NodeId,
    versions: &'a [NodeId],
    so_far: &'a SoFar<'a>,
    since: Option<NodeId>,
    input: Option<NodeId>,
    extras: &'a [crate::arrow::run::Extra],
}

/// What `author` is shown when `actor` has it continue a node. The session whose state it sees is the actor's own if they
/// are the same, else the author's newest in that tree.
///
/// # Errors
/// If there is no such node, what is shown does not fit, or the store fails.
pub fn context_of(
    actor: &Actor,
    author: &Agent,
    from: NodeId,
    versions: &[NodeId],
    options: context::Options,
) -> Result<context::Assembled, GenerateError> {
    let place = Place { from, versions, so_far: &SoFar::default(), since: None, input: None, extras: &[] };
    assembled(actor, author, &place, options)
}

fn assembled(
    actor: &Actor,
    author: &Agent,
    place: &Place<'_>,
    options: context::Options,
) -> Result<context::Assembled, GenerateError> {
    let loom = actor.loom();
    let session = match actor.session().filter(|_| actor.agent() == author.id()) {
        Some(session) => Some(loom.session(session)?),
        None => {
            let (agent, tree) = (Some(author.id()), Some(loom.node(place.from)?.tree));
            let filter = SessionFilter { agent, tree, active: true, limit: 1, ..SessionFilter::default() };
            loom.snapshot()?.sessions(&filter).map_err(OpsError::from)?.pop()
        }
    };
    let ask = context::Ask {
        agent: author,
        to: place.from,
        versions: place.versions,
        since: place.since,
        session: session.as_ref(),
        exchanges: place.so_far.exchanges,
        scope: place.so_far.scope,
        input: place.input,
        extras: place.extras,
        options,
        now: loom.now(),
    };
    Ok(context::assemble(&*loom.snapshot()?, &ask)?)
}
