//! SearXNG: a server of one's own that asks many engines. It needs no key, and its format `json` must be on.

use reqwest::{Client, RequestBuilder, Url};
use serde::Deserialize;

use super::{Service, with_sites};
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

    fn request(&self, client: &Client, base: &Url, asked: &WebSearch<'_>, _: u32) -> RequestBuilder {
        let mut url = base.clone();
        url.set_path(&format!("{}/search", base.path().trim_end_matches('/')));
        url.query_pairs_mut().extend_pairs([
            ("q", with_sites(asked).as_str()),
            ("format", "json"),
            ("categories", if asked.news { "news" } else { "general" }),
        ]);
        client.get(url)
    }

    fn authorized(&self, request: RequestBuilder, key: &str) -> RequestBuilder {
        request.bearer_auth(key)
    }

    fn read(&self, answer: &[u8]) -> Result<Vec<WebHit>, serde_json::Error> {
        let answer: SearxngResponse = serde_json::from_slice(answer)?;
        let hit = |one: SearxngResult| WebHit {
            title: one.title,
            url: one.url,
            excerpt: one.content.unwrap_or_default(),
            published: one.published_date,
            text: None,
        };
        Ok(answer.results.into_iter().map(hit).collect())
    }
}
