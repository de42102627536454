//! The bodies of errors, as different servers write them.

use serde_json::Value;

/// Error report of a server.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ErrorBody {
    pub(crate) message: Option<String>,
    pub(crate) code: Option<String>,
    /// HTTP status inside the body (from gateways), or the status that belongs to the error code.
    pub(crate) status: Option<u16>,
}

/// Parses the body of an error response; `None` if it is not JSON.
pub(crate) fn parse_error_body(body: &[u8]) -> Option<ErrorBody> {
    let value: Value = serde_json::from_slice(body).ok()?;
    Some(error_report(value.get("error").unwrap_or(&value)))
}

/// Extracts the report from `{"message", "code", "type"}`, a plain string, or FastAPI's `{"detail"}`.
pub(super) fn error_report(error: &Value) -> ErrorBody {
    let text = |name: &str| match error.get(name) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        Some(Value::Null) | None => None,
        Some(other) => Some(other.to_string()),
    };
    let code = text("code").or_else(|| text("type"));
    let status = match code.as_deref() {
        Some("invalid_request_error") => Some(400),
        Some("authentication_error") => Some(401),
        Some("permission_error") => Some(403),
        Some("not_found_error") => Some(404),
        Some("request_too_large") => Some(413),
        Some("rate_limit_error") => Some(429),
        Some("api_error") => Some(500),
        Some("overloaded_error") => Some(529),
        Some(code) => code.parse().ok().filter(|status| (400..600).contains(status)),
        None => None,
    };
    let message = error.as_str().map(str::to_owned).or_else(|| text("message")).or_else(|| text("detail"));
    ErrorBody { message, code, status }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_different_servers_are_read() {
        let read = |json: &str| parse_error_body(json.as_bytes()).unwrap();
        let openai = read(r#"{"error":{"message":"m","type":"t","code":"c"}}"#);
        assert_eq!((openai.message.as_deref(), openai.code.as_deref()), (Some("m"), Some("c")));
        assert_eq!(read(r#"{"error":{"message":"m","code":429}}"#).status, Some(429));
        assert_eq!(read(r#"{"error":"m"}"#).message.as_deref(), Some("m"));
        assert_eq!(read(r#"{"detail":"m"}"#).message.as_deref(), Some("m"));
        let anthropic = read(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#);
        assert_eq!((anthropic.message.as_deref(), anthropic.status), (Some("Overloaded"), Some(529)));
        assert_eq!(parse_error_body(b"<html>"), None);
    }
}
