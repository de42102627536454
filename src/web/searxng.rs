//! SearXNG: a self-hosted metasearch server. It needs no key; its format `json` must be enabled.

use reqwest::{Client, RequestBuilder, Url};
use serde::Deserialize;

use super::{search_protocol::Service, site_filter::query_with_sites};
use crate::tools::{WebHit, WebSearch};

pub(super) struct Searxng;

#[derive(Deserialize)]
struct SearxngResponse {
    results: Vec<SearxngResult>,
}

#[derive(Deserialize)]
struct SearxngResult {
    #[serde(default)]
    title: String,
    url: String,
    content: Option<String>,
    #[serde(rename = "publishedDate")]
    published_date: Option<String>,
}

impl Service for Searxng {
    fn name(&self) -> &'static str {
        "searxng"
    }

    fn request(&self, client: &Client, base: &Url, search: &WebSearch<'_>, _: u32) -> RequestBuilder {
        let mut url = base.clone();
        url.set_path(&format!("{}/search", base.path().trim_end_matches('/')));
        url.query_pairs_mut().extend_pairs([
            ("q", query_with_sites(search).as_str()),
            ("format", "json"),
            ("categories", if search.news { "news" } else { "general" }),
        ]);
        client.get(url)
    }

    fn authorized(&self, request: RequestBuilder, key: &str) -> RequestBuilder {
        request.bearer_auth(key)
    }

    fn parse(&self, response: &[u8]) -> Result<Vec<WebHit>, serde_json::Error> {
        let response: SearxngResponse = serde_json::from_slice(response)?;
        let hit = |result: SearxngResult| WebHit {
            title: result.title,
            url: result.url,
            excerpt: result.content.unwrap_or_default(),
            published: result.published_date,
            text: None,
        };
        Ok(response.results.into_iter().map(hit).collect())
    }
}
