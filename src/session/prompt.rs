//! What a model is asked when it continues a node: the assembled context, in the provider's words.

use super::{GenerateError, Plan};
use crate::{
    context::{self, Voice},
    id::NodeId,
    model::Agent,
    ops::{Actor, OpsError},
    provider::{Message, Prompt, Role},
    store::SessionFilter,
};

/// What a model is asked.
pub(super) fn prompt(actor: &Actor, plan: &Plan) -> Result<Prompt, GenerateError> {
    let assembled = context_of(actor, &plan.author, plan.from, &plan.versions, plan.shown())?;
    Ok(match assembled.prompt {
        context::Prompt::Text(text) => Prompt::Raw(text),
        context::Prompt::Messages(messages) => Prompt::Chat(messages.into_iter().map(message).collect()),
    })
}

fn message(message: context::Message) -> Message {
    let role = match message.voice {
        Voice::System => Role::System,
        Voice::User => Role::User,
        Voice::Assistant => Role::Assistant,
    };
    Message::new(role, message.content)
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
    let loom = actor.loom();
    let session = match actor.session().filter(|_| actor.agent() == author.id()) {
        Some(session) => Some(loom.session(session)?),
        None => {
            let (agent, tree) = (Some(author.id()), Some(loom.node(from)?.tree));
            let filter = SessionFilter { agent, tree, active: true, limit: 1, ..SessionFilter::default() };
            loom.snapshot()?.sessions(&filter).map_err(OpsError::from)?.pop()
        }
    };
    let (session, now, results) = (session.as_ref(), loom.now(), &[][..]);
    let ask = context::Ask { agent: author, to: from, versions, session, results, options, now };
    Ok(context::assemble(&*loom.snapshot()?, &ask)?)
}
