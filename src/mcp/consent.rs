//! Consent of the user to a call that needs a permission which the client's model does not have. Delegations need it always,
//! unless the command line or the configuration allows them.
//!
//! Newer clients get the question as the result of the call and repeat the call with the answer. Older clients get it as a
//! request while the call waits. The consent holds for one call. A client without questions gets the refusal of the
//! executor, which names the permission.

use std::collections::BTreeMap;

use rmcp::{
    RoleServer,
    model::{
        ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, InputRequest,
        InputRequiredResult, InputResponses, ProtocolVersion,
    },
    service::RequestContext,
};

use crate::{
    exec::{ExecRequest, ExecRights},
    tools::{ErrorCode, ToolError},
    types::{Permission, Permissions, literal_line},
};

/// Key of the question in the answers of a repeated call.
const CONSENT_KEY: &str = "consent";

/// Maximum characters of the commands in a question. What is allowed is shown whole, so longer calls are refused.
const MAX_QUESTION_CHARS: usize = 4_000;

/// State of the user's consent to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Consent {
    /// The client cannot ask the user.
    Unavailable,
    /// The user was not asked yet.
    NotAsked,
    /// The user allowed the call.
    Given,
    /// The user refused.
    Refused,
}

/// A question to the user.
#[derive(Debug)]
pub(super) struct ConsentQuestion {
    missing: Permissions,
    /// Commands that need the permissions, one a line.
    commands: String,
}

impl ConsentQuestion {
    /// Returns the question about the permissions that requests need and that `rights` lack; `None` if nothing is
    /// missing.
    ///
    /// # Errors
    /// `LIMIT_EXCEEDED` if the commands are too long to be shown.
    pub(super) fn of(requests: &[ExecRequest], rights: ExecRights) -> Result<Option<Self>, ToolError> {
        let Some(held) = rights.permissions else { return Ok(None) };
        let lacking = |request: &&ExecRequest| missing_of(request, held).next().is_some();
        let commands: Vec<String> = requests
            .iter()
            .filter(lacking)
            .map(|request| format!("→ {}", literal_line(&request.to_string())))
            .collect();
        if commands.is_empty() {
            return Ok(None);
        }
        let commands = commands.join("\n");
        if commands.chars().count() > MAX_QUESTION_CHARS {
            let message = "these commands are too long to be shown to the user, who must allow them";
            return Err(
                ToolError::new(ErrorCode::LimitExceeded, message).hint("write fewer or shorter commands in a call")
            );
        }
        Ok(Some(Self { missing: missing(requests, held), commands }))
    }

    fn params(&self, client: &str) -> Option<ElicitRequestParams> {
        let names: Vec<&str> = self.missing.iter().map(|permission| permission.as_str()).collect();
        let client = if client.is_empty() { "the client" } else { client };
        let message = format!("May {client} use {} for this call?\n\n{}", names.join(" and "), self.commands);
        let requested_schema = ElicitationSchema::builder().optional_bool("allow", true).build().ok()?;
        Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
    }

    /// Returns the question as the result of the call; `None` if it cannot be expressed.
    pub(super) fn into_result(self, client: &str) -> Option<InputRequiredResult> {
        let request = InputRequest::Elicitation(ElicitRequest::new(self.params(client)?));
        Some(InputRequiredResult::from_input_requests(BTreeMap::from([(CONSENT_KEY.to_owned(), request)])))
    }

    /// Asks the user by a request to the client.
    pub(super) async fn ask(self, client: &str, context: &RequestContext<RoleServer>) -> Consent {
        let Some(params) = self.params(client) else { return Consent::Refused };
        tokio::select! {
            answer = context.peer.create_elicitation(params) => match answer {
                Ok(answer) => decision(&answer),
                Err(error) => {
                    tracing::warn!(%error, "the client could not ask for consent");
                    Consent::Refused
                }
            },
            () = context.ct.cancelled() => Consent::Refused,
        }
    }
}

/// Returns the permissions that requests need and `held` lacks.
pub(super) fn missing(requests: &[ExecRequest], held: Permissions) -> Permissions {
    requests.iter().flat_map(|request| missing_of(request, held)).collect()
}

fn missing_of(request: &ExecRequest, held: Permissions) -> impl Iterator<Item = Permission> + use<> {
    let required = match request {
        ExecRequest::Command(command) => command.required_permissions(),
        ExecRequest::HostTool { .. } | ExecRequest::Refused(_) => Permissions::default(),
    };
    required.iter().filter(move |permission| !held.has(*permission))
}

/// True if the client's revision has questions as results instead of requests to the client.
pub(super) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    let newest = ProtocolVersion::V_2026_07_28;
    context.protocol_version().is_some_and(|version| version.as_str() >= newest.as_str())
}

/// Returns the state of the consent when a call arrives: the answer that it carries, or the abilities of the client.
pub(super) fn on_arrival(context: &RequestContext<RoleServer>, answers: Option<&InputResponses>) -> Consent {
    if let Some(answer) = answers.and_then(|answers| answers.get(CONSENT_KEY)) {
        return serde_json::from_value(answer.clone()).map_or(Consent::Refused, |answer| decision(&answer));
    }
    let ability = context.client_capabilities().and_then(|client| client.elicitation);
    // A client that names no mode has forms.
    match ability.is_some_and(|modes| modes.form.is_some() || modes.url.is_none()) {
        true => Consent::NotAsked,
        false => Consent::Unavailable,
    }
}

fn decision(answer: &ElicitResult) -> Consent {
    let unchecked = answer.content.as_ref().is_some_and(|content| content["allow"] == false);
    if answer.action == ElicitationAction::Accept && !unchecked { Consent::Given } else { Consent::Refused }
}
