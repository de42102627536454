//! The web page at `/`: a script and a style, joined from the files of the folder `page`, which are compiled into the program.
//! Neither contains content of the database, so they need no token; the page reads everything through `/api/v1`.
//!
//! Their addresses contain a hash of both, so browsers keep them until the program changes.

use std::{io::Write as _, sync::Arc};

use axum::{
    Router,
    extract::Path,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use flate2::{Compression, write::GzEncoder};

use super::{error::ApiError, state::AppState};
use crate::web_page_files;

const INDEX: &str = include_str!("page/index.html");

/// The page runs its own scripts only, connects to its own server only, and cannot turn text into markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

/// File as it is sent.
struct SentFile {
    path: &'static str,
    media: &'static str,
    text: String,
    packed: Vec<u8>,
}

impl SentFile {
    fn new(path: &'static str, media: &'static str, text: String) -> Self {
        let packed = pack(text.as_bytes());
        Self { path, media, text, packed }
    }
}

fn files() -> [SentFile; 2] {
    [
        SentFile::new("main.js", "text/javascript; charset=utf-8", web_page_files::script("main.js")),
        SentFile::new("style.css", "text/css; charset=utf-8", web_page_files::styles()),
    ]
}

/// Returns the routes of the page.
pub(super) fn routes() -> Router<AppState> {
    let files = Arc::new(files());
    let version = version(&files[..]);
    let index = INDEX.replace("VERSION", &version);
    let tag = format!("\"{}\"", &blake3::hash(index.as_bytes()).to_hex()[..16]);
    Router::new()
        .route("/", get(async move |headers: HeaderMap| send_index(&headers, &index, &tag)))
        .route("/favicon.ico", get(async || StatusCode::NO_CONTENT))
        .route(
            "/page/{version}/{*path}",
            get(async move |Path((asked, path)): Path<(String, String)>, headers: HeaderMap| {
                let found = files.iter().find(|file| asked == version && file.path == path);
                found
                    .map_or_else(|| ApiError::not_found("file", path).into_response(), |file| send_file(file, &headers))
            }),
        )
}

/// Returns a hash of all files.
fn version(files: &[SentFile]) -> String {
    let mut hasher = blake3::Hasher::new();
    for file in files {
        hasher.update(file.path.as_bytes()).update(file.text.as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

fn send_index(headers: &HeaderMap, index: &str, tag: &str) -> Response {
    let cached = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = match cached {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => index.to_owned().into_response(),
    };
    let more = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(tag) {
        more.insert(header::ETAG, tag);
    }
    more.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    more.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    secure(more);
    response
}

/// Compresses a file.
fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory does not fail; an empty result is sent plain.
    encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default()
}

fn send_file(file: &SentFile, asked: &HeaderMap) -> Response {
    let accepts = asked.get(header::ACCEPT_ENCODING).and_then(|names| names.to_str().ok()).unwrap_or_default();
    let is_packed = accepts.contains("gzip") && !file.packed.is_empty();
    let mut response = if is_packed { file.packed.clone().into_response() } else { file.text.clone().into_response() };
    let headers = response.headers_mut();
    if is_packed {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.media));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    secure(headers);
    response
}

fn secure(headers: &mut HeaderMap) {
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("permissions-policy"), "camera=(), microphone=(), geolocation=()"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_names_existing_files_and_contains_no_code() {
        let files = files();
        let index = INDEX.replace("VERSION", "v1");
        for address in index.split("\"/page/v1/").skip(1) {
            let path = address.split('"').next().unwrap();
            assert!(files.iter().any(|file| file.path == path), "{path}");
        }
        assert_eq!(index.matches("/page/v1/").count(), files.len());
        assert!(!index.contains("<style") && !index.contains("style=") && !index.contains("onload"));
        assert!(index.matches("<script").count() == 1 && index.contains("></script>"));
    }
}
