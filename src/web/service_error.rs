//! Errors of a search service: its status, the first words of its answer, and advice.

use std::time::Duration;

use reqwest::Response;
use tokio::time::timeout;

use super::{Web, web_search::read_body};
use crate::{
    tools::{ErrorCode, ToolError},
    types::first_words,
};

impl Web {
    /// Returns a successful response; makes an error of any other status, with the first words of the body.
    pub(super) async fn check_status(&self, response: Response) -> Result<Response, ToolError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status.is_redirection() {
            let to = response.headers().get(reqwest::header::LOCATION).and_then(|to| to.to_str().ok());
            let target = to.unwrap_or("an unknown address");
            return Err(self.error(&format!("the service redirects to {target}; set base_url to the right address")));
        }
        let body = timeout(Duration::from_secs(5), read_body(response)).await;
        let body = body.ok().and_then(Result::ok).unwrap_or_default();
        let body = first_words(&String::from_utf8_lossy(&body), 200);
        let error = self.error(&format!("{status}{}{body}", if body.is_empty() { "" } else { ": " }));
        Err(match status.as_u16() {
            401 | 403 => error.hint("check the key; a SearXNG server must have the format json enabled"),
            429 => error.hint("the service's rate limit is reached; retry later"),
            _ => error,
        })
    }

    /// Makes an error of at most 400 characters, without the key.
    pub(super) fn error(&self, reason: &str) -> ToolError {
        let reason = self.key.as_ref().map_or_else(|| reason.to_owned(), |key| key.redact(reason));
        ToolError::new(ErrorCode::ModelError, format!("{}: {}", self.service.name(), first_words(&reason, 400)))
    }
}
