//! Tavily: made for models; gives the texts of pages itself.

use reqwest::{Client, RequestBuilder, Url};
use serde::Deserialize;
use serde_json::json;

use super::{Service, site};
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

    fn request(&self, client: &Client, base: &Url, asked: &WebSearch<'_>, max: u32) -> RequestBuilder {
        let sites = |all: &[String]| all.iter().map(|written| site(written)).collect::<Vec<_>>();
        client.post(format!("{}/search", base.as_str().trim_end_matches('/'))).json(&json!({
            "query": asked.query,
            "search_depth": if asked.deep { "advanced" } else { "basic" },
            "topic": if asked.news { "news" } else { "general" },
            "max_results": max,
            "include_raw_content": if asked.deep { json!("text") } else { json!(false) },
            "include_domains": sites(asked.include),
            "exclude_domains": sites(asked.exclude),
        }))
    }

    fn authorized(&self, request: RequestBuilder, key: &str) -> RequestBuilder {
        request.bearer_auth(key)
    }

    fn read(&self, answer: &[u8]) -> Result<Vec<WebHit>, serde_json::Error> {
        let answer: TavilyResponse = serde_json::from_slice(answer)?;
        let hit = |one: TavilyResult| WebHit {
            title: one.title,
            url: one.url,
            excerpt: one.content.unwrap_or_default(),
            published: one.published_date,
            text: one.raw_content.filter(|text| !text.trim().is_empty()).map(Ok),
        };
        Ok(answer.results.into_iter().map(hit).collect())
    }
}
