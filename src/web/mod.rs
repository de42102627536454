//! Searching the web for `→ search`: one of three services, asked over one trait, and the pages that it names.
//!
//! A `Service` says what is sent to a service and what its answer means; all else is one way for all of them: limits,
//! time-outs, the key, errors. A deep search also has the texts of the pages, from the service where that gives them, else
//! fetched here (`page.rs`) and freed from what is around them (`html.rs`).
//!
//! Everything that comes back is content. What is shown of it is decided where it is shown.

mod brave;
mod config;
mod html;
mod page;
mod searxng;
mod tavily;

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use reqwest::{Client, RequestBuilder, Response, Url};
use tokio::time::{Instant, timeout, timeout_at};

pub use self::config::{SearchConfig, open};
use self::page::PageFetcher;
use crate::{
    arrow::run::{ErrorCode, ToolError, WebHit, WebSearch},
    provider::Secret,
    session::{BoxFuture, Searcher},
    types::first_words,
};

/// Bytes of a service's answer.
const ANSWER: usize = 4 << 20;
/// How long a service may take, unless the configuration says otherwise.
const TIME: Duration = Duration::from_secs(20);
/// How long all pages of a deep search may take together.
const PAGES: Duration = Duration::from_secs(25);
/// Pages at once.
const AT_ONCE: usize = 5;
/// Results where nobody says how many.
const USUAL: u32 = 5;
/// Characters of a title, and of an excerpt.
const TITLE: usize = 200;
const EXCERPT: usize = 600;
/// Characters of a page's text.
const TEXT: usize = 4_000;

/// What one service is sent, and what its answer means.
trait Service: Send + Sync {
    /// Its name, for people.
    fn name(&self) -> &'static str;

    /// The request, without its key.
    fn request(&self, client: &Client, base: &Url, asked: &WebSearch<'_>, max: u32) -> RequestBuilder;

    /// The request with the key.
    fn authorized(&self, request: RequestBuilder, key: &str) -> RequestBuilder;

    /// The results of an answer.
    ///
    /// # Errors
    /// If it is no such answer.
    fn read(&self, answer: &[u8]) -> Result<Vec<WebHit>, serde_json::Error>;
}

/// A service that is set up.
pub struct Web {
    service: Box<dyn Service>,
    base: Url,
    key: Option<Secret>,
    client: Client,
    pages: PageFetcher,
    /// How long the service may take.
    time: Duration,
}

impl Web {
    /// Returns the name of the service that is asked.
    #[must_use]
    pub fn service(&self) -> &'static str {
        self.service.name()
    }

    async fn search(&self, asked: &WebSearch<'_>) -> Result<Vec<WebHit>, ToolError> {
        let max = asked.max.unwrap_or(USUAL);
        let mut request = self.service.request(&self.client, &self.base, asked, max);
        if let Some(key) = &self.key {
            request = self.service.authorized(request, key.expose());
        }
        let until = Instant::now() + self.time;
        let late = |_| self.failed(&format!("no whole answer within {:?}", self.time));
        let response = timeout_at(until, request.send()).await.map_err(late)?;
        let response = response.map_err(|error| self.failed(&error.without_url().to_string()))?;
        let response = self.good(response).await?;
        let answer = timeout_at(until, whole(response)).await.map_err(late)?.map_err(|why| self.failed(&why))?;
        let hits = self.service.read(&answer);
        let hits = hits.map_err(|error| self.failed(&format!("its answer is not as expected: {error}")))?;
        let kept = hits.into_iter().filter(|hit| is_address(&hit.url) && wanted(&hit.url, asked));
        let mut hits: Vec<WebHit> = kept.take(usize::try_from(max).unwrap_or(usize::MAX)).map(short).collect();
        if asked.deep {
            self.read_pages(&mut hits).await;
        }
        Ok(hits)
    }

    /// Gets the texts that the service did not give.
    async fn read_pages(&self, hits: &mut [WebHit]) {
        let until = Instant::now() + PAGES;
        let missing = hits.iter_mut().filter(|hit| hit.text.is_none());
        let reading = stream::iter(missing).for_each_concurrent(AT_ONCE, |hit| async move {
            let read = timeout_at(until, self.pages.read(&hit.url)).await;
            hit.text = Some(read.unwrap_or_else(|_| Err("it took too long".to_owned())).map(cut));
        });
        reading.await;
    }

    /// An answer that is one; else what the service says.
    async fn good(&self, response: Response) -> Result<Response, ToolError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status.is_redirection() {
            let to = response.headers().get(reqwest::header::LOCATION).and_then(|to| to.to_str().ok());
            return Err(
                self.failed(&format!("it redirects to {}; set the address it should be", to.unwrap_or("nowhere")))
            );
        }
        let said = timeout(Duration::from_secs(5), whole(response)).await;
        let said = said.ok().and_then(Result::ok).unwrap_or_default();
        let said = first_words(&String::from_utf8_lossy(&said), 200);
        let failure = self.failed(&format!("{status}{}{said}", if said.is_empty() { "" } else { ": " }));
        Err(match status.as_u16() {
            401 | 403 => failure.hint("the key may be wrong; a SearXNG server must have the format json on"),
            429 => failure.hint("the service takes no more questions now; ask later"),
            _ => failure,
        })
    }

    fn failed(&self, why: &str) -> ToolError {
        let why = self.key.as_ref().map_or_else(|| why.to_owned(), |key| key.redact(why));
        ToolError::new(ErrorCode::ModelError, format!("{}: {}", self.service.name(), first_words(&why, 400)))
    }
}

impl Searcher for Web {
    fn search<'a>(&'a self, asked: &'a WebSearch<'a>) -> BoxFuture<'a, Result<Vec<WebHit>, ToolError>> {
        Box::pin(self.search(asked))
    }
}

/// An answer's body.
async fn whole(mut response: Response) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| error.without_url().to_string())? {
        if body.len() + chunk.len() > ANSWER {
            return Err(format!("its answer has more than {} MiB", ANSWER >> 20));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn is_address(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some())
}

/// Whether a result is of the sites that were asked for. Services are told, and some go beyond it.
fn wanted(url: &str, asked: &WebSearch<'_>) -> bool {
    let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_lowercase)).unwrap_or_default();
    let of = |sites: &[String]| sites.iter().any(|site| is_of(&host, site));
    (asked.include.is_empty() || of(asked.include)) && !of(asked.exclude)
}

/// Whether a host is a site, or a part of it.
fn is_of(host: &str, site: &str) -> bool {
    let site = self::site(site);
    !site.is_empty() && host.strip_suffix(&site).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

/// A site as people write it (`https://www.a.org/x`, `*.a.org`) as a host.
fn site(written: &str) -> String {
    let host = written.trim().split_once("://").map_or(written.trim(), |(_, rest)| rest);
    let host = host.split(['/', ':', '?', '#']).next().unwrap_or_default().trim_start_matches("*.");
    host.strip_prefix("www.").unwrap_or(host).to_lowercase()
}

/// A question with sites in it, as most search engines read them.
fn with_sites(asked: &WebSearch<'_>) -> String {
    let of: Vec<String> = asked.include.iter().map(|written| format!("site:{}", site(written))).collect();
    let not = asked.exclude.iter().map(|written| format!(" -site:{}", site(written)));
    let of = if of.is_empty() { String::new() } else { format!(" {}", of.join(" OR ")) };
    format!("{}{of}{}", asked.query, not.collect::<String>())
}

fn short(hit: WebHit) -> WebHit {
    WebHit {
        title: match first_words(&html::plain(&hit.title), TITLE) {
            title if title.is_empty() => "(no title)".to_owned(),
            title => title,
        },
        excerpt: first_words(&html::plain(&hit.excerpt), EXCERPT),
        text: hit.text.map(|text| text.map(cut)),
        ..hit
    }
}

/// A text as far as it is shown.
fn cut(text: String) -> String {
    match text.char_indices().nth(TEXT) {
        None => text,
        Some((at, _)) => {
            let kept = &text[..at];
            let end = kept.rfind(['\n', ' ']).filter(|end| *end > at / 2).unwrap_or(at);
            format!("{}…", kept[..end].trim_end())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_hosts_and_their_parts() {
        let sites = ["https://www.A.org/path".to_owned(), "*.b.com".to_owned()];
        let asked = |include: bool| {
            let (include, exclude): (&[String], &[String]) = if include { (&sites, &[]) } else { (&[], &sites) };
            WebSearch { query: "x", deep: false, news: false, max: None, include, exclude }
        };
        for (url, is_one) in [
            ("https://a.org", true),
            ("https://www.a.org/y", true),
            ("http://docs.B.com:8080/", true),
            ("https://aa.org", false),
            ("https://a.org.evil.net", false),
        ] {
            assert_eq!((wanted(url, &asked(true)), wanted(url, &asked(false))), (is_one, !is_one), "{url}");
        }
        assert_eq!(with_sites(&asked(true)), "x site:a.org OR site:b.com");
        assert_eq!(with_sites(&asked(false)), "x -site:a.org -site:b.com");
    }

    #[test]
    fn only_addresses_of_the_web_are_results() {
        for url in ["javascript:alert(1)", "file:///etc/passwd", "ftp://a.org", "", "a.org", "data:text/html,x"] {
            assert!(!is_address(url), "{url}");
        }
        assert!(is_address("https://a.org/x?y#z"));
        assert_eq!(cut("word ".repeat(2_000)).chars().count(), TEXT);
    }
}
