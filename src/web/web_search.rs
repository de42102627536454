//! A search with the configured service: sends the request, checks the response, fetches the pages of a deep search.

use std::time::Duration;

use futures_util::{StreamExt as _, future::BoxFuture, stream};
use reqwest::{Client, Response, Url};
use tokio::time::{Instant, timeout_at};

use super::{
    fetch_page::PageFetcher,
    result_limits::{is_web_url, shorten, truncate_text},
    search_protocol::Service,
    site_filter::matches_sites,
};
use crate::{
    provider::Secret,
    session::Searcher,
    tools::{ToolError, WebHit, WebSearch},
};

/// Size limit of a service's response.
const MAX_RESPONSE_BYTES: usize = 4 << 20;
/// Time limit of one request to a service, unless the configuration sets `timeout`.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(20);
/// Time limit of a deep search for all its pages together.
const PAGES_TIMEOUT: Duration = Duration::from_secs(25);
/// Limit of pages fetched at the same time.
const MAX_CONCURRENT_PAGES: usize = 5;
/// Number of results if the search sets no `max`.
const DEFAULT_RESULTS: u32 = 5;

/// A configured search service with its HTTP clients.
pub struct Web {
    pub(super) service: Box<dyn Service>,
    pub(super) base: Url,
    pub(super) key: Option<Secret>,
    pub(super) client: Client,
    pub(super) pages: PageFetcher,
    /// Time limit of one request to the service.
    pub(super) timeout: Duration,
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
}

impl Searcher for Web {
    fn search<'a>(&'a self, search: &'a WebSearch<'a>) -> BoxFuture<'a, Result<Vec<WebHit>, ToolError>> {
        Box::pin(self.search(search))
    }
}

/// Reads a response body of at most [`MAX_RESPONSE_BYTES`].
pub(super) async fn read_body(mut response: Response) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| error.without_url().to_string())? {
        if body.len() + chunk.len() > MAX_RESPONSE_BYTES {
            return Err(format!("the response has more than {} MiB", MAX_RESPONSE_BYTES >> 20));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
