//! Brave Search. News searches have their own path and their own response format.

use reqwest::{Client, RequestBuilder, Url};
use serde::Deserialize;

use super::{search_protocol::Service, site_filter::query_with_sites};
use crate::tools::{WebHit, WebSearch};

pub(super) struct Brave;

/// Web results are in `web`, news results at the top level. A response without results has neither.
#[derive(Deserialize)]
struct BraveResponse {
    web: Option<BraveResults>,
    results: Option<Vec<BraveResult>>,
    // Required, so that JSON without it is refused: every response has it.
    #[allow(dead_code)]
    r#type: String,
}

#[derive(Deserialize)]
struct BraveResults {
    results: Vec<BraveResult>,
}

#[derive(Deserialize)]
struct BraveResult {
    #[serde(default)]
    title: String,
    url: String,
    description: Option<String>,
    age: Option<String>,
}

impl Service for Brave {
    fn name(&self) -> &'static str {
        "brave"
    }

    fn request(&self, client: &Client, base: &Url, search: &WebSearch<'_>, max: u32) -> RequestBuilder {
        let kind = if search.news { "news" } else { "web" };
        let mut url = base.clone();
        url.set_path(&format!("{}/res/v1/{kind}/search", base.path().trim_end_matches('/')));
        let count = max.to_string();
        url.query_pairs_mut().extend_pairs([
            ("q", query_with_sites(search).as_str()),
            ("count", &count),
            ("text_decorations", "false"),
        ]);
        client.get(url).header("accept", "application/json")
    }

    fn authorized(&self, request: RequestBuilder, key: &str) -> RequestBuilder {
        request.header("x-subscription-token", key)
    }

    fn parse(&self, response: &[u8]) -> Result<Vec<WebHit>, serde_json::Error> {
        let response: BraveResponse = serde_json::from_slice(response)?;
        let found = response.web.map(|found| found.results).or(response.results).unwrap_or_default();
        let hit = |result: BraveResult| WebHit {
            title: result.title,
            url: result.url,
            excerpt: result.description.unwrap_or_default(),
            published: result.age,
            text: None,
        };
        Ok(found.into_iter().map(hit).collect())
    }
}
