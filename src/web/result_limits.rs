//! Limits of the results of a search: web addresses only, and short titles, excerpts and texts.

use reqwest::Url;

use super::html;
use crate::{tools::WebHit, types::first_words};

const MAX_TITLE_CHARS: usize = 200;
const MAX_EXCERPT_CHARS: usize = 600;
/// Limit of a page's text in a deep search.
const MAX_TEXT_CHARS: usize = 4_000;

pub(super) fn is_web_url(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some())
}

pub(super) fn shorten(hit: WebHit) -> WebHit {
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
pub(super) fn truncate_text(text: String) -> String {
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
