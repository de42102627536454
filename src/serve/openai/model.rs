//! Opening the model that a request names.

use std::sync::Arc;

use crate::{
    provider::Model,
    serve::{access::Caller, error::Result, state::AppState},
    types::Agent,
};

/// Opens a model by the name of an agent or a reference. Returns it with the agent that writes: the named one, or the
/// subject.
pub(super) async fn open(state: &AppState, caller: &Caller, name: Option<&str>) -> Result<(Arc<dyn Model>, Agent)> {
    let (caller, name) = (caller.clone(), name.map(str::to_owned));
    let agent = state
        .run(move |state| {
            let named = name.as_deref().and_then(|name| state.agent(&caller, Some(name)).ok());
            if let Some(agent) = named {
                return Ok(agent);
            }
            let mut agent = state.agent(&caller, Some("subject"))?;
            agent.profile.model = name.or(agent.profile.model);
            Ok(agent)
        })
        .await?;
    Ok((state.settings.tool_access.models.open(&agent).await?, agent))
}
