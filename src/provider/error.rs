//! Errors of model clients, with a class that says who can fix them.
//!
//! Errors hold text instead of the HTTP library's errors, because those contain addresses and headers, and an error must
//! not contain the key. All text from outside has passed through [`clean`].

use std::time::Duration;

use super::{Finish, Secret};

/// Length limit of a server's message, in characters.
pub(crate) const MAX_MESSAGE_CHARS: usize = 300;

/// Class of an error, by the party that can fix it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorClass {
    /// A later retry may succeed. The client has already retried if no text was emitted.
    Retryable,
    /// The user must change a key, a name, an address or the request.
    Configuration,
    /// The provider declines this content.
    Refused,
    /// The caller cancelled the request.
    Cancelled,
}

/// Phase in which a request timed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestPhase {
    /// While connecting to the server.
    Connect,
    /// While waiting for the first byte of the reply.
    FirstByte,
}

/// Cause of an incomplete stream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The connection failed, with the innermost cause.
    #[error("the connection failed: {0}")]
    Connection(String),
    /// The server sent no part of a reply for this time; keep-alives are none.
    #[error("the server sent no part of a reply for {0:?}")]
    Stalled(Duration),
    /// The server closed the stream before a finish reason.
    #[error("the server closed the stream before the reply was complete")]
    ClosedEarly,
    /// The end mark came without a finish reason. Some servers do this when a second request replaces the first.
    #[error("the server ended the stream without a finish reason")]
    NoFinishReason,
    /// The server sent data that is not part of a reply.
    #[error("the server sent malformed data: {0}")]
    Malformed(String),
    /// An event or the whole response exceeded this limit in bytes.
    #[error("the server sent more than {0} bytes")]
    TooLong(usize),
    /// The server reported an error within the stream.
    #[error("the server reported: {0}")]
    Server(String),
    /// The client of the model panicked.
    #[error("the client of the model panicked")]
    Panicked,
}

/// An error of a model client.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// The configuration or the request is invalid; mostly no request was sent.
    #[error("{message}")]
    Configuration {
        /// The mistake and its remedy.
        message: String,
    },
    /// The server could not be reached.
    #[error("cannot connect to {host}: {detail}")]
    Connect {
        /// Host and port.
        host: String,
        /// The cause.
        detail: String,
    },
    /// The server took too long.
    #[error("no {} within {after:?}", match phase { RequestPhase::Connect => "connection", RequestPhase::FirstByte => "answer" })]
    Timeout {
        /// Phase of the request.
        phase: RequestPhase,
        /// Time limit that was exceeded.
        after: Duration,
    },
    /// The server answered with an error.
    #[error("HTTP {status}: {message}")]
    Http {
        /// HTTP status, or the status inside the body.
        status: u16,
        /// Error code of the provider, such as `insufficient_quota`.
        code: Option<String>,
        /// Message of the provider, at most 300 characters.
        message: String,
        /// Delay that the server requested in `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// The provider declines the prompt.
    #[error("the provider refused: {message}")]
    Refused {
        /// HTTP status of the response.
        status: u16,
        /// Message of the provider, at most 300 characters.
        message: String,
    },
    /// The reply failed before any text was emitted.
    #[error("no reply: {cause}")]
    Broken {
        /// Cause of the failure.
        cause: StreamError,
    },
    /// The reply failed after some text was emitted; never retried.
    #[error("interrupted: {cause}")]
    Interrupted {
        /// Cause of the failure.
        cause: StreamError,
        /// State of the reply so far; its reason is [`Interrupted`](super::FinishReason::Interrupted).
        so_far: Box<Finish>,
    },
    /// The caller cancelled the request or dropped the generation.
    #[error("cancelled")]
    Cancelled,
}

impl ProviderError {
    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        ProviderError::Configuration { message: message.into() }
    }

    /// True if a model may have read the prompt: the server neither refused the request nor was out of reach.
    pub(crate) const fn reached_model(&self) -> bool {
        !matches!(
            self,
            Self::Configuration { .. }
                | Self::Connect { .. }
                | Self::Timeout { phase: RequestPhase::Connect, .. }
                | Self::Http { status: 400..=407 | 409..=499, .. }
                | Self::Refused { .. }
        )
    }

    /// Returns the class of the error, from which a front end derives its advice.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            ProviderError::Configuration { .. } => ErrorClass::Configuration,
            ProviderError::Connect { .. } | ProviderError::Timeout { .. } | ProviderError::Interrupted { .. } => {
                ErrorClass::Retryable
            }
            ProviderError::Http { .. } if self.is_out_of_credit() => ErrorClass::Configuration,
            // 200 is an error inside the body of a successful response.
            ProviderError::Http { status: 200 | 408 | 425 | 429 | 500.., .. } => ErrorClass::Retryable,
            ProviderError::Http { .. } => ErrorClass::Configuration,
            ProviderError::Refused { .. } => ErrorClass::Refused,
            ProviderError::Broken { cause: StreamError::Malformed(_) | StreamError::TooLong(_) } => {
                ErrorClass::Configuration
            }
            ProviderError::Broken { .. } => ErrorClass::Retryable,
            ProviderError::Cancelled => ErrorClass::Cancelled,
        }
    }

    /// Returns whether the client retries the request by itself.
    ///
    /// A time-out for the first byte is excluded although its class is [`ErrorClass::Retryable`]: a slow local server would
    /// only start over.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            ProviderError::Connect { .. } | ProviderError::Timeout { phase: RequestPhase::Connect, .. } => true,
            ProviderError::Http { status, .. } => *status != 200 && self.class() == ErrorClass::Retryable,
            ProviderError::Broken { cause } => {
                matches!(cause, StreamError::Connection(_) | StreamError::ClosedEarly | StreamError::NoFinishReason)
            }
            _ => false,
        }
    }

    /// Returns the server's own message if there is one, else the text of the error.
    pub(crate) fn server_message(&self) -> String {
        match self {
            ProviderError::Http { message, .. } | ProviderError::Refused { message, .. } => message.clone(),
            other => other.to_string(),
        }
    }

    /// OpenAI uses status 429 for rate limits and for an account without credit.
    fn is_out_of_credit(&self) -> bool {
        matches!(self, ProviderError::Http { code: Some(code), .. } if code == "insufficient_quota")
    }
}

/// Makes text from outside safe to display: one line, no control characters, no key, at most [`MAX_MESSAGE_CHARS`].
///
/// The steps run in this order, so that a key with control characters inside or at the length limit is found too.
pub(crate) fn clean(text: &str, key: Option<&Secret>) -> String {
    let line: String =
        text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(|c| !c.is_control()).collect();
    let line = match key {
        Some(key) => key.redact(&line),
        None => line,
    };
    let line = line.trim();
    match line.char_indices().nth(MAX_MESSAGE_CHARS) {
        None => line.to_owned(),
        Some(_) => line.chars().take(MAX_MESSAGE_CHARS - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clean_text_is_one_short_line_without_the_key() {
        let key = Secret::new("sk-12345").unwrap();
        assert_eq!(clean("a\u{1b}[31m\r\nb\u{9b}c", None), "a[31m  bc");
        assert_eq!(clean("bad key sk-12345!", Some(&key)), "bad key ***!");
        assert_eq!(clean("s\u{0}k-12\u{7}345", Some(&key)), "***");
        let edge = format!("{}sk-12345", "x".repeat(MAX_MESSAGE_CHARS - 4));
        assert!(!clean(&edge, Some(&key)).contains("sk-"));
        assert_eq!(clean(&"ä".repeat(1000), None).chars().count(), MAX_MESSAGE_CHARS);
        assert_eq!(clean(&"ä".repeat(300), None), "ä".repeat(300));
    }

    #[test]
    fn each_status_has_an_error_class() {
        let http = |status, code: Option<&str>| ProviderError::Http {
            status,
            code: code.map(str::to_owned),
            message: String::new(),
            retry_after: None,
        };
        for status in [408, 429, 500, 502, 503, 529] {
            assert_eq!(http(status, None).class(), ErrorClass::Retryable, "{status}");
            assert!(http(status, None).is_transient(), "{status}");
        }
        for status in [301, 400, 401, 402, 403, 404, 422] {
            assert_eq!(http(status, None).class(), ErrorClass::Configuration, "{status}");
            assert!(!http(status, None).is_transient(), "{status}");
        }
        assert!(!http(429, Some("insufficient_quota")).is_transient());
        assert_eq!(http(429, Some("insufficient_quota")).class(), ErrorClass::Configuration);
    }
}
