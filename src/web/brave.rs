//! Brave: an index of its own. News have an address and a shape of their own.

use reqwest::{Client, RequestBuilder, Url};
use serde::Deserialize;

use super::{Service, with_sites};
use crate::tools::{WebHit, WebSearch};

pub(super) struct Brave;

/// Results of the web stand under `web`, those of news by themselves; a question without any has neither.
#[derive(Deserialize)]
struct BraveResponse {
    web: Option<BraveResults>,
    results: Option<Vec<BraveResult>>,
    // Every answer says what it is; what does not is none.
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

    fn request(&self, client: &Client, base: &Url, asked: &WebSearch<'_>, max: u32) -> RequestBuilder {
        let kind = if asked.news { "news" } else { "web" };
        let mut url = base.clone();
        url.set_path(&format!("{}/res/v1/{kind}/search", base.path().trim_end_matches('/')));
        let count = max.to_string();
        url.query_pairs_mut().extend_pairs([
            ("q", with_sites(asked).as_str()),
            ("count", &count),
            ("text_decorations", "false"),
        ]);
        client.get(url).header("accept", "application/json")
    }

    fn authorized(&self, request: RequestBuilder, key: &str) -> RequestBuilder {
        request.header("x-subscription-token", key)
    }

    fn read(&self, answer: &[u8]) -> Result<Vec<WebHit>, serde_json::Error> {
        let answer: BraveResponse = serde_json::from_slice(answer)?;
        let found = answer.web.map(|found| found.results).or(answer.results).unwrap_or_default();
        let hit = |one: BraveResult| WebHit {
            title: one.title,
            url: one.url,
            excerpt: one.description.unwrap_or_default(),
            published: one.age,
            text: None,
        };
        Ok(found.into_iter().map(hit).collect())
    }
}
