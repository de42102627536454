//! HTTP transport of the model clients: authorization without leaking the key, time-outs, and errors from statuses.
//!
//! Redirects are not followed, because the server would choose who gets the key. A client for plain `http` has an empty
//! certificate store, so that local models work on systems without certificates. A client for loopback ignores proxies;
//! for other hosts, the proxy variables apply as the HTTP library reads them.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, Url};
use tokio::time::{Instant, timeout_at};

use super::error::clean;
use super::protocol::{self, DecodedReply};
use super::tls::{self, Certificates};
use super::{Endpoint, Protocol, ProviderError, RequestPhase, Secret, StreamError, Timeouts};

/// Size limit of the body of an error response.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;

/// Time limit for the body of an error response; without it, the status is reported alone.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// HTTP client for one server, with its key.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    client: Client,
    base: Url,
    key: Option<Secret>,
    pub(crate) protocol: Protocol,
    pub(crate) timeouts: Timeouts,
}

impl Http {
    pub(crate) fn new(endpoint: &Endpoint) -> Result<Http, ProviderError> {
        let Endpoint { key, timeouts, protocol, .. } = endpoint.clone();
        let base = parse_base(&endpoint.base_url)?;
        let certificates = if base.scheme() == "http" { Certificates::None } else { Certificates::System };
        let mut builder = tls::builder(certificates)?.connect_timeout(timeouts.connect).tcp_nodelay(true);
        if is_loopback(&base) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| {
            ProviderError::configuration(format!("cannot set up HTTP: {}", clean(&error_chain(&error), key.as_ref())))
        })?;
        Ok(Http { client, base, key, protocol, timeouts })
    }

    pub(crate) fn get(&self, path: &str) -> Result<RequestBuilder, ProviderError> {
        self.authorize(self.client.get(self.url(path)))
    }

    pub(crate) fn post(&self, path: &str, body: Vec<u8>) -> Result<RequestBuilder, ProviderError> {
        let request = self.client.post(self.url(path)).header(header::CONTENT_TYPE, "application/json").body(body);
        self.authorize(request)
    }

    fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.base.as_str().trim_end_matches('/'))
    }

    fn authorize(&self, request: RequestBuilder) -> Result<RequestBuilder, ProviderError> {
        let (name, before, request) = match &self.protocol {
            Protocol::OpenAi => (header::AUTHORIZATION, "Bearer ", request),
            Protocol::Anthropic { version } => {
                let version = HeaderValue::from_str(version).map_err(|_| {
                    ProviderError::configuration("the API version contains characters that are not allowed in a header")
                })?;
                (HeaderName::from_static("x-api-key"), "", request.header("anthropic-version", version))
            }
        };
        let Some(key) = &self.key else {
            return Ok(request);
        };
        let mut value = HeaderValue::from_str(&format!("{before}{}", key.expose())).map_err(|_| {
            ProviderError::configuration("the key contains characters that are not allowed in a header; copy it again")
        })?;
        value.set_sensitive(true);
        Ok(request.header(name, value))
    }

    /// Decodes the data of an event, or a whole response, in the server's protocol.
    pub(crate) fn decode(&self, json: &[u8]) -> Result<DecodedReply, String> {
        protocol::decode(&self.protocol, json)
    }

    /// Sends a request and waits for the head of a successful response.
    pub(crate) async fn send(&self, request: RequestBuilder, deadline: Instant) -> Result<Response, ProviderError> {
        let response = match timeout_at(deadline, request.send()).await {
            Err(_) => return Err(self.first_byte_timeout()),
            Ok(Err(error)) => return Err(self.send_error(&error)),
            Ok(Ok(response)) => response,
        };
        if response.status().is_success() { Ok(response) } else { Err(self.status_error(response).await) }
    }

    pub(crate) fn first_byte_timeout(&self) -> ProviderError {
        ProviderError::Timeout { phase: RequestPhase::FirstByte, after: self.timeouts.first_byte }
    }

    fn send_error(&self, error: &reqwest::Error) -> ProviderError {
        if error.is_connect() && error.is_timeout() {
            return ProviderError::Timeout { phase: RequestPhase::Connect, after: self.timeouts.connect };
        }
        let detail = self.detail(error);
        if error.is_connect() {
            let detail = if is_refused(error) {
                "connection refused; no program listens on the port".to_owned()
            } else {
                detail
            };
            return ProviderError::Connect { host: self.host(), detail };
        }
        ProviderError::Broken { cause: StreamError::Connection(detail) }
    }

    /// Returns host and port, the part of an address that cannot contain a key.
    pub(crate) fn host(&self) -> String {
        let host = self.base.host_str().unwrap_or_default();
        match self.base.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// Returns the HTTP library's chain of causes, without the key.
    pub(crate) fn detail(&self, error: &reqwest::Error) -> String {
        self.clean(&error_chain(error))
    }

    pub(crate) fn clean(&self, text: &str) -> String {
        clean(text, self.key.as_ref())
    }

    /// Returns whether the scheme is plain `http`, which only self-hosted servers use.
    pub(crate) fn is_plain(&self) -> bool {
        self.base.scheme() == "http"
    }

    pub(crate) fn is_openai(&self) -> bool {
        self.base.host_str() == Some("api.openai.com")
    }

    /// Makes an error from a response with an error status or a redirect.
    async fn status_error(&self, response: Response) -> ProviderError {
        let status = response.status();
        if status.is_redirection() {
            let to = response.headers().get(header::LOCATION).and_then(|to| to.to_str().ok());
            let to = to.unwrap_or("an unknown address");
            let message = self.clean(&format!("{} redirects to {to}; set the right address", self.host()));
            return ProviderError::Http { status: status.as_u16(), code: None, message, retry_after: None };
        }
        let retry_after = retry_after(response.headers(), Timestamp::now());
        let body = read_limited(response, MAX_ERROR_BODY_BYTES, Instant::now() + ERROR_BODY_TIMEOUT).await;
        let parsed = protocol::parse_error_body(&body).unwrap_or_default();
        let message = match parsed.message {
            Some(message) => message,
            None => String::from_utf8_lossy(&body).into_owned(),
        };
        let message = match self.clean(&message) {
            empty if empty.is_empty() => status.canonical_reason().unwrap_or("no reason given").to_owned(),
            message => message,
        };
        let code = parsed.code.map(|code| self.clean(&code));
        self.error(status.as_u16(), code, message, retry_after)
    }

    /// Makes an error from a server's report; the caller has cleaned all text.
    pub(crate) fn error(
        &self,
        status: u16,
        code: Option<String>,
        message: String,
        retry_after: Option<Duration>,
    ) -> ProviderError {
        match code.as_deref() {
            Some("content_filter" | "content_policy_violation") => ProviderError::Refused { status, message },
            _ => ProviderError::Http { status, code, message, retry_after },
        }
    }
}

/// Reads up to `limit` bytes until `deadline`; returns what arrived before an error or the deadline.
pub(crate) async fn read_limited(mut response: Response, limit: usize, deadline: Instant) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Ok(Some(chunk))) = timeout_at(deadline, response.chunk()).await {
        let room = limit - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if body.len() == limit {
            break;
        }
    }
    body
}

/// Parses and completes a base URL: a host without a path gets `/v1`.
///
/// Errors do not contain the address, because it may hold a key.
pub(crate) fn parse_base(base_url: &str) -> Result<Url, ProviderError> {
    let mut base = Url::parse(base_url.trim())
        .map_err(|error| ProviderError::configuration(format!("the address of the model is not a URL: {error}")))?;
    if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
        return Err(ProviderError::configuration("the address of a model starts with http:// or https://"));
    }
    if !base.username().is_empty() || base.password().is_some() || base.query().is_some() {
        return Err(ProviderError::configuration(
            "the address of a model holds no user, password or query; name the key with key_env or key_file",
        ));
    }
    base.set_fragment(None);
    if base.path() == "/" {
        base.set_path("/v1");
    }
    Ok(base)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Returns whether the host refused the connection, because no program listens on the port.
fn is_refused(error: &reqwest::Error) -> bool {
    let first: Option<&(dyn std::error::Error + 'static)> = std::error::Error::source(error);
    let mut causes = std::iter::successors(first, |cause| cause.source());
    causes.any(|cause| {
        let io = cause.downcast_ref::<std::io::Error>();
        io.is_some_and(|io| io.kind() == std::io::ErrorKind::ConnectionRefused)
    })
}

fn error_chain(error: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut next: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text = if text.is_empty() { cause_text } else { format!("{text}: {cause_text}") };
        }
        next = cause.source();
    }
    if text.is_empty() { "the request failed".to_owned() } else { text }
}

/// Parses `Retry-After`: seconds, or a date. A date in the past gives zero.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let value = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(value).ok()?;
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now: Timestamp = "2015-10-21T07:27:30Z".parse().unwrap();
        let read = |value: &'static str| {
            let headers = HeaderMap::from_iter([(header::RETRY_AFTER, HeaderValue::from_static(value))]);
            retry_after(&headers, now)
        };
        assert_eq!(read("7"), Some(Duration::from_secs(7)));
        assert_eq!(read("0.5"), Some(Duration::from_millis(500)));
        assert_eq!(read("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::from_secs(30)));
        assert_eq!(read("Wed, 21 Oct 2015 07:27:00 GMT"), Some(Duration::ZERO));
        for nonsense in ["", "soon", "-1", "1e400", "NaN"] {
            assert_eq!(read(nonsense), None, "{nonsense}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }

    #[test]
    fn base_urls_are_completed_and_refused_with_a_secret() {
        assert_eq!(parse_base("http://127.0.0.1:8080").unwrap().as_str(), "http://127.0.0.1:8080/v1");
        assert_eq!(parse_base("https://x.org/api/v1/").unwrap().as_str(), "https://x.org/api/v1/");
        for bad in ["ftp://x", "x", "http://", "http://sk-1@h/v1", "http://u:sk-1@h/v1", "https://h/v1?key=sk-1"] {
            let error = parse_base(bad).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("sk-1"), "{bad}");
        }
        for (url, loopback) in [
            ("http://127.0.0.1:1", true),
            ("http://127.9.9.9", true),
            ("http://[::1]:1", true),
            ("http://localhost", true),
            ("http://10.0.0.1", false),
            ("http://localhost.example.org", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), loopback, "{url}");
        }
    }
}
