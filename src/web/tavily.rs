//! Tavily: a search API for language models. A deep search gets the pages' text from the service itself.

use reqwest::{Client, RequestBuilder, Url};
use serde::Deserialize;
use serde_json::json;

use super::{search_protocol::Service, site_filter::normalize_host};
use crate::tools::{WebHit, WebSearch};

pub(super) struct Tavily;

#[derive(Deserialize)]
struct TavilyResponse {
    results: Vec<TavilyResult>,
}

#[derive(Deserialize)]
struct TavilyResult {
    #[serde(default)]
    title: String,
    url: String,
    content: Option<String>,
    raw_content: Option<String>,
    published_date: Option<String>,
}

impl Service for Tavily {
    fn name(&self) -> &'static str {
        "tavily"
    }

    fn request(&self, client: &Client, base: &Url, search: &WebSearch<'_>, max: u32) -> RequestBuilder {
        let sites = |all: &[String]| all.iter().map(|written| normalize_host(written)).collect::<Vec<_>>();
        client.post(format!("{}/search", base.as_str().trim_end_matches('/'))).json(&json!({
            "query": search.query,
            "search_depth": if search.deep { "advanced" } else { "basic" },
            "topic": if search.news { "news" } else { "general" },
            "max_results": max,
            "include_raw_content": if search.deep { json!("text") } else { json!(false) },
            "include_domains": sites(search.include),
            "exclude_domains": sites(search.exclude),
        }))
    }

    fn authorized(&self, request: RequestBuilder, key: &str) -> RequestBuilder {
        request.bearer_auth(key)
    }

    fn parse(&self, response: &[u8]) -> Result<Vec<WebHit>, serde_json::Error> {
        let response: TavilyResponse = serde_json::from_slice(response)?;
        let hit = |result: TavilyResult| WebHit {
            title: result.title,
            url: result.url,
            excerpt: result.content.unwrap_or_default(),
            published: result.published_date,
            text: result.raw_content.filter(|text| !text.trim().is_empty()).map(Ok),
        };
        Ok(response.results.into_iter().map(hit).collect())
    }
}
