//! Web search for `→ search`: one of three search services, and the pages of their results.
//!
//! A `Service` builds the request and parses the response. Limits, time-outs, the key and errors are shared by all
//! services. A deep search adds the text of each page: the service returns it, or `page.rs` fetches the page and `html.rs`
//! extracts its main text.
//!
//! All results are untrusted content; the layer that displays them escapes them.

mod brave;
mod config;
mod html;
mod page;
mod searxng;
mod site_filter;
mod tavily;

use std::time::Duration;

use futures_util::{StreamExt as _, future::BoxFuture, stream};
use reqwest::{Client, RequestBuilder, Response, Url};
use tokio::time::{Instant, timeout, timeout_at};

pub use self::config::{SearchConfig, open};
use self::{page::PageFetcher, site_filter::matches_sites};
use crate::{
    provider::Secret,
    session::Searcher,
    tools::{ErrorCode, ToolError, WebHit, WebSearch},
    types::first_words,
};

/// Size limit of a service's response.
const MAX_RESPONSE_BYTES: usize = 4 << 20;
/// Time limit of one request to a service, unless the configuration sets `timeout`.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(20);
/// Time limit of a deep search for all its pages together.
const PAGES_TIMEOUT: Duration = Duration::from_secs(25);
/// Limit of pages fetched at the same time.
const MAX_CONCURRENT_PAGES: usize = 5;
/// Number of results if the search sets no `max`.
const DEFAULT_RESULTS: u32 = 5;
const MAX_TITLE_CHARS: usize = 200;
const MAX_EXCERPT_CHARS: usize = 600;
/// Limit of a page's text in a deep search.
const MAX_TEXT_CHARS: usize = 4_000;

/// The protocol of one search service.
trait Service: Send + Sync {
    /// Returns the name that the configuration and error messages use.
    fn name(&self) -> &'static str;

    /// Builds the request for at most `max` results, without the key.
    fn request(&self, client: &Client, base: &Url, search: &WebSearch<'_>, max: u32) -> RequestBuilder;

    /// Adds the key to a request.
    fn authorized(&self, request: RequestBuilder, key: &str) -> RequestBuilder;

    /// Parses the results of a response body.
    ///
    /// # Errors
    /// Returns an error if the body does not have the service's format.
    fn parse(&self, response: &[u8]) -> Result<Vec<WebHit>, serde_json::Error>;
}

/// A configured search service with its HTTP clients.
pub struct Web {
    service: Box<dyn Service>,
    base: Url,
    key: Option<Secret>,
    client: Client,
    pages: PageFetcher,
    /// Time limit of one request to the service.
    timeout: Duration,
}

impl Web {
    /// Returns the name of the service: `tavily`, `brave` or `searxng`.
    #[must_use]
    pub fn service(&self) -> &'static str {
        self.service.name()
    }

    async fn search(&self, search: &WebSearch<'_>) -> Result<Vec<WebHit>, ToolError> {
        let max = search.max.unwrap_or(DEFAULT_RESULTS);
        let mut request = self.service.request(&self.client, &self.base, search, max);
        if let Some(key) = &self.key {
            request = self.service.authorized(request, key.expose());
        }
        let deadline = Instant::now() + self.timeout;
        let timed_out = |_| self.error(&format!("no complete response within {:?}", self.timeout));
        let response = timeout_at(deadline, request.send()).await.map_err(timed_out)?;
        let response = response.map_err(|error| self.error(&error.without_url().to_string()))?;
        let response = self.check_status(response).await?;
        let body = timeout_at(deadline, read_body(response)).await.map_err(timed_out)?;
        let body = body.map_err(|reason| self.error(&reason))?;
        let hits = self.service.parse(&body);
        let hits = hits.map_err(|error| self.error(&format!("the response has an unexpected format: {error}")))?;
        let matching = hits.into_iter().filter(|hit| is_web_url(&hit.url) && matches_sites(&hit.url, search));
        let mut hits: Vec<WebHit> = matching.take(usize::try_from(max).unwrap_or(usize::MAX)).map(shorten).collect();
        if search.deep {
            self.read_pages(&mut hits).await;
        }
        Ok(hits)
    }

    /// Fetches the pages of those results that came without a text.
    async fn read_pages(&self, hits: &mut [WebHit]) {
        let deadline = Instant::now() + PAGES_TIMEOUT;
        let missing = hits.iter_mut().filter(|hit| hit.text.is_none());
        let fetches = stream::iter(missing).for_each_concurrent(MAX_CONCURRENT_PAGES, |hit| async move {
            let page = timeout_at(deadline, self.pages.read(&hit.url)).await;
            hit.text = Some(page.unwrap_or_else(|_| Err("timed out".to_owned())).map(truncate_text));
        });
        fetches.await;
    }

    /// Returns a successful response; makes an error of any other status, with the first words of the body.
    async fn check_status(&self, response: Response) -> Result<Response, ToolError> {
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
    fn error(&self, reason: &str) -> ToolError {
        let reason = self.key.as_ref().map_or_else(|| reason.to_owned(), |key| key.redact(reason));
        ToolError::new(ErrorCode::ModelError, format!("{}: {}", self.service.name(), first_words(&reason, 400)))
    }
}

impl Searcher for Web {
    fn search<'a>(&'a self, search: &'a WebSearch<'a>) -> BoxFuture<'a, Result<Vec<WebHit>, ToolError>> {
        Box::pin(self.search(search))
    }
}

/// Reads a response body of at most [`MAX_RESPONSE_BYTES`].
async fn read_body(mut response: Response) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| error.without_url().to_string())? {
        if body.len() + chunk.len() > MAX_RESPONSE_BYTES {
            return Err(format!("the response has more than {} MiB", MAX_RESPONSE_BYTES >> 20));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn is_web_url(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some())
}

fn shorten(hit: WebHit) -> WebHit {
    WebHit {
        title: match first_words(&html::strip_tags(&hit.title), MAX_TITLE_CHARS) {
            title if title.is_empty() => "(no title)".to_owned(),
            title => title,
        },
        excerpt: first_words(&html::strip_tags(&hit.excerpt), MAX_EXCERPT_CHARS),
        text: hit.text.map(|text| text.map(truncate_text)),
        ..hit
    }
}

/// Cuts a text to [`MAX_TEXT_CHARS`], at white space if there is any in its second half.
fn truncate_text(text: String) -> String {
    match text.char_indices().nth(MAX_TEXT_CHARS) {
        None => text,
        Some((at, _)) => {
            let head = &text[..at];
            let end = head.rfind(['\n', ' ']).filter(|end| *end > at / 2).unwrap_or(at);
            format!("{}…", head[..end].trim_end())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_urls_are_results() {
        for url in ["javascript:alert(1)", "file:///etc/passwd", "ftp://a.org", "", "a.org", "data:text/html,x"] {
            assert!(!is_web_url(url), "{url}");
        }
        assert!(is_web_url("https://a.org/x?y#z"));
        assert_eq!(truncate_text("word ".repeat(2_000)).chars().count(), MAX_TEXT_CHARS);
    }
}
