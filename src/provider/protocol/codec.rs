//! Encoding of requests and decoding of responses, by the protocol of the server.

use super::{anthropic, decoded_reply::DecodedReply, openai, refused_features::Capabilities};
use crate::provider::{Protocol, ProviderError, Request};

/// Returns the path and the body of a request for `n` replies.
pub(crate) fn request_body(
    protocol: &Protocol,
    model: Option<&str>,
    request: &Request,
    n: usize,
    capabilities: Capabilities,
) -> Result<(&'static str, Vec<u8>), ProviderError> {
    let (path, body) = match protocol {
        Protocol::OpenAi => openai::request_body(model, request, n, capabilities),
        Protocol::Anthropic { .. } => anthropic::request_body(model, request, capabilities)?,
    };
    let body = body.map_err(|error| ProviderError::configuration(format!("cannot write the request: {error}")))?;
    Ok((path, body))
}

/// Decodes the data of an event, or a whole response; `Err` holds the reason for a failure.
pub(crate) fn decode(protocol: &Protocol, json: &[u8]) -> Result<DecodedReply, String> {
    match protocol {
        Protocol::OpenAi => openai::decode(json),
        Protocol::Anthropic { .. } => anthropic::decode(json),
    }
}
