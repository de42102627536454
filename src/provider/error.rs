//! What can go wrong with a model, and who can do something about it.
//!
//! Errors hold text instead of the HTTP library's own errors: those carry addresses and headers, and
//! the key must not be in anything that can be printed. Everything here that came from outside went
//! through [`clean`].

use std::time::Duration;

use super::{Finish, Secret};

/// The most characters kept of what a server says.
pub(crate) const MESSAGE_LIMIT: usize = 300;

/// Who can do something about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// Trying again later may help. The client has already done so where nothing had been shown.
    Retryable,
    /// The person must change something: a key, a name, an address, a request.
    Configuration,
    /// The provider declines this content.
    Refused,
    /// The caller stopped it.
    Cancelled,
}

/// What a client waited for when its time ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestPhase {
    /// The connection.
    Connect,
    /// The first byte of the reply.
    FirstByte,
}

/// How a stream broke off.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The connection failed.
    #[error("the connection broke: {0}")]
    Connection(String),
    /// Nothing came for this long.
    #[error("nothing came for {0:?}")]
    Stalled(Duration),
    /// The server closed the stream without saying that the reply is complete.
    #[error("the server closed the stream before the reply was complete")]
    Ended,
    /// `[DONE]` came without a finish reason, as when a server gives one request up for another.
    #[error("the server ended the stream without a finish reason")]
    Unfinished,
    /// Something came that is not a part of a reply.
    #[error("the server sent something unreadable: {0}")]
    Garbage(String),
    /// A line or an answer was longer than this many bytes.
    #[error("the server sent more than {0} bytes at once")]
    TooLong(usize),
    /// The server reported an error within the stream.
    #[error("the server reported: {0}")]
    Server(String),
}

/// An error of a model client.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// Something is set up wrongly; no request was made.
    #[error("{message}")]
    Configuration {
        /// What is wrong and what to do.
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
        /// What was waited for.
        phase: RequestPhase,
        /// How long.
        after: Duration,
    },
    /// The server answered with an error.
    #[error("HTTP {status}: {message}")]
    Http {
        /// The HTTP status, or the status the server gave within the body.
        status: u16,
        /// The provider's code, such as `insufficient_quota`.
        code: Option<String>,
        /// The provider's message, at most 300 characters.
        message: String,
        /// How long the server asked to wait.
        retry_after: Option<Duration>,
    },
    /// The provider declines the prompt.
    #[error("the provider refused: {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The provider's message, at most 300 characters.
        message: String,
    },
    /// The reply broke off before any of it had been shown.
    #[error("no reply: {cause}")]
    Broken {
        /// How.
        cause: StreamError,
    },
    /// The reply broke off after some of it had been shown; never retried.
    #[error("cut off: {cause}")]
    Cut {
        /// How.
        cause: StreamError,
        /// What is known of the request so far; its reason is [`Interrupted`](super::FinishReason::Interrupted).
        so_far: Box<Finish>,
    },
    /// The caller stopped the request.
    #[error("cancelled")]
    Cancelled,
}

impl ProviderError {
    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        ProviderError::Configuration { message: message.into() }
    }

    /// Returns who can do something about it; what a face tells its person to do follows from this alone.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            ProviderError::Configuration { .. } => ErrorClass::Configuration,
            ProviderError::Connect { .. } | ProviderError::Timeout { .. } | ProviderError::Cut { .. } => {
                ErrorClass::Retryable
            }
            ProviderError::Http { .. } if self.out_of_credit() => ErrorClass::Configuration,
            // 200 is an error reported in the body of an answer that began well.
            ProviderError::Http { status: 200 | 408 | 425 | 429 | 500.., .. } => ErrorClass::Retryable,
            ProviderError::Http { .. } => ErrorClass::Configuration,
            ProviderError::Refused { .. } => ErrorClass::Refused,
            ProviderError::Broken { cause: StreamError::Garbage(_) | StreamError::TooLong(_) } => {
                ErrorClass::Configuration
            }
            ProviderError::Broken { .. } => ErrorClass::Retryable,
            ProviderError::Cancelled => ErrorClass::Cancelled,
        }
    }

    /// Returns whether the same request, sent again now, may well succeed and cost nobody anything.
    ///
    /// Time-outs of a working server are retryable for a person, but not here: a slow local server would
    /// only start over.
    pub(crate) fn transient(&self) -> bool {
        match self {
            ProviderError::Connect { .. } | ProviderError::Timeout { phase: RequestPhase::Connect, .. } => true,
            ProviderError::Http { status, .. } => *status != 200 && self.class() == ErrorClass::Retryable,
            ProviderError::Broken { cause } => {
                matches!(cause, StreamError::Connection(_) | StreamError::Ended | StreamError::Unfinished)
            }
            _ => false,
        }
    }

    /// What the server said, without what is said around it here.
    pub(crate) fn said(&self) -> String {
        match self {
            ProviderError::Http { message, .. } | ProviderError::Refused { message, .. } => message.clone(),
            other => other.to_string(),
        }
    }

    /// OpenAI says 429 both for "slower, please" and for an empty account.
    fn out_of_credit(&self) -> bool {
        matches!(self, ProviderError::Http { code: Some(code), .. } if code == "insufficient_quota")
    }
}

/// Makes text from outside fit to show: on one line, without control characters, without the key, and short.
///
/// In this order: a key with control characters strewn in, or at the edge of the limit, is found too.
pub(crate) fn clean(text: &str, key: Option<&Secret>) -> String {
    let line: String =
        text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(|c| !c.is_control()).collect();
    let line = match key {
        Some(key) => key.redact(&line),
        None => line,
    };
    let line = line.trim();
    match line.char_indices().nth(MESSAGE_LIMIT) {
        None => line.to_owned(),
        Some(_) => line.chars().take(MESSAGE_LIMIT - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_is_one_short_line_without_the_key() {
        let key = Secret::new("sk-12345").unwrap();
        assert_eq!(clean("a\u{1b}[31m\r\nb\u{9b}c", None), "a[31m  bc");
        assert_eq!(clean("bad key sk-12345!", Some(&key)), "bad key ***!");
        assert_eq!(clean("s\u{0}k-12\u{7}345", Some(&key)), "***");
        let edge = format!("{}sk-12345", "x".repeat(MESSAGE_LIMIT - 4));
        assert!(!clean(&edge, Some(&key)).contains("sk-"));
        assert_eq!(clean(&"ä".repeat(1000), None).chars().count(), MESSAGE_LIMIT);
        assert_eq!(clean(&"ä".repeat(300), None), "ä".repeat(300));
    }

    #[test]
    fn statuses_fall_into_classes() {
        let http = |status, code: Option<&str>| ProviderError::Http {
            status,
            code: code.map(str::to_owned),
            message: String::new(),
            retry_after: None,
        };
        for status in [408, 429, 500, 502, 503, 529] {
            assert_eq!(http(status, None).class(), ErrorClass::Retryable, "{status}");
            assert!(http(status, None).transient(), "{status}");
        }
        for status in [301, 400, 401, 402, 403, 404, 422] {
            assert_eq!(http(status, None).class(), ErrorClass::Configuration, "{status}");
            assert!(!http(status, None).transient(), "{status}");
        }
        assert!(!http(429, Some("insufficient_quota")).transient());
        assert_eq!(http(429, Some("insufficient_quota")).class(), ErrorClass::Configuration);
    }
}
