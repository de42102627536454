//! Opening the model that a request names.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    provider::Model,
    serve::{
        caller::Caller,
        error::{ApiError, Result},
        state::AppState,
    },
    tools::Tool,
    types::Agent,
};

/// Opens a model by the name of an agent or a reference. Returns it with the agent that writes: the named one, or the
/// subject. Fails if the caller's agent may not generate or, unless nothing `is_stored`, not write.
pub(super) async fn open(
    state: &AppState,
    caller: &Caller,
    name: Option<&str>,
    is_stored: bool,
) -> Result<(Arc<dyn Model>, Agent)> {
    let (caller, name) = (caller.clone(), name.map(str::to_owned));
    let agent = state
        .run(move |state| {
            state.actor_for(&caller, Tool::Continue)?;
            if is_stored {
                state.actor_for(&caller, Tool::Respond)?;
            }
            let named = name.as_deref().and_then(|name| state.agent(&caller, Some(name)).ok());
            if let Some(agent) = named {
                return Ok(agent);
            }
            name.as_deref().map_or(Ok(()), |name| caller.require_model(name))?;
            let mut agent = state.agent(&caller, Some("subject"))?;
            agent.profile.model = name.or(agent.profile.model);
            Ok(agent)
        })
        .await?;
    Ok((state.settings.tool_access.models.open(&agent).await?, agent))
}

/// Fails for a choice of tools or a format of the reply that the engine cannot ask a model for. Returns whether the model
/// is offered tools.
pub(super) fn check_supported(tool_choice: &Value, format: &Value) -> Result<bool> {
    let offers_tools = match tool_choice {
        Value::Null => true,
        Value::String(choice) if choice == "auto" => true,
        Value::String(choice) if choice == "none" => false,
        other => {
            return Err(ApiError::invalid(format!("tool_choice is none of: auto, none; {other} is not supported")));
        }
    };
    if !format.is_null() && format["type"] != "text" {
        return Err(ApiError::invalid(format!(
            "only replies as text are supported, not the format {}",
            format["type"]
        )));
    }
    Ok(offers_tools)
}
