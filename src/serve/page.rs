//! The web page at `/`: files of the folder `page`, compiled into the program. No file contains content of the database, so
//! they need no token; the page reads everything through `/api/v1`.
//!
//! The files' addresses contain a hash of all files, so browsers keep them until the program changes.

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

/// File of the page.
struct PageFile {
    path: &'static str,
    bytes: &'static [u8],
}

macro_rules! page_files {
    ($($path:literal),* $(,)?) => {
        &[$(PageFile { path: $path, bytes: include_bytes!(concat!("page/", $path)) }),*]
    };
}

/// Files of the page besides `index.html`, sorted.
const FILES: &[PageFile] = page_files![
    "actions.js",
    "api.js",
    "approvals.js",
    "code.js",
    "completion.js",
    "composer.js",
    "dialogs.js",
    "diff.js",
    "drag.js",
    "form.js",
    "import.js",
    "keys.js",
    "lists.js",
    "live.js",
    "main.js",
    "map-data.js",
    "map-gestures.js",
    "map-paint.js",
    "map-view.js",
    "map.js",
    "mark.js",
    "markdown.js",
    "menu.js",
    "outline.js",
    "panels.js",
    "picker.js",
    "press.js",
    "prose-text.js",
    "prose.js",
    "reading.js",
    "relate.js",
    "shell.js",
    "signals.js",
    "state.js",
    "streams.js",
    "style/base.css",
    "style/map.css",
    "style/outline.css",
    "style/panels.css",
    "style/reading.css",
    "vendor/htm.js",
    "vendor/preact.js",
    "vendor/signals-core.js",
    "view.js",
    "walk.js",
];

const INDEX: &str = include_str!("page/index.html");

/// The page runs its own scripts only, connects to its own server only, and cannot turn text into markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

/// Returns the routes of the page.
pub(super) fn routes() -> Router<AppState> {
    let version = version();
    let index = index(&version);
    let tag = format!("\"{}\"", &blake3::hash(index.as_bytes()).to_hex()[..16]);
    let packed: Arc<Vec<Vec<u8>>> = Arc::new(FILES.iter().map(|file| pack(file.bytes)).collect());
    Router::new()
        .route("/", get(async move |headers: HeaderMap| send_index(&headers, &index, &tag)))
        .route("/favicon.ico", get(async || StatusCode::NO_CONTENT))
        .route(
            "/page/{version}/{*path}",
            get(async move |Path((asked, path)): Path<(String, String)>, headers: HeaderMap| {
                send_file(asked == version, &path, &headers, &packed)
            }),
        )
}

/// Returns a hash of all files.
fn version() -> String {
    let mut hasher = blake3::Hasher::new();
    for file in FILES {
        hasher.update(file.path.as_bytes()).update(file.bytes);
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// Fills in the addresses of styles and modules. Preloading all modules avoids a round trip for each level of imports.
fn index(version: &str) -> String {
    let mut links = String::new();
    for file in FILES {
        let path = file.path;
        links += &if path.ends_with(".css") {
            format!("<link rel=\"stylesheet\" href=\"/page/{version}/{path}\">\n")
        } else {
            format!("<link rel=\"modulepreload\" href=\"/page/{version}/{path}\">\n")
        };
    }
    INDEX.replace("<!-- links -->\n", &links).replace("VERSION", version)
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

fn send_file(is_current: bool, path: &str, asked: &HeaderMap, packed: &[Vec<u8>]) -> Response {
    let found = FILES.iter().zip(packed).find(|(file, _)| is_current && file.path == path);
    let Some((file, packed)) = found else { return ApiError::not_found("file", path).into_response() };
    let accepts = asked.get(header::ACCEPT_ENCODING).and_then(|names| names.to_str().ok()).unwrap_or_default();
    let is_packed = accepts.contains("gzip") && !packed.is_empty();
    let mut response = if is_packed { packed.clone().into_response() } else { file.bytes.into_response() };
    let headers = response.headers_mut();
    if is_packed {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    let kind = if path.ends_with(".css") { "text/css; charset=utf-8" } else { "text/javascript; charset=utf-8" };
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
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
    use std::{collections::BTreeSet, fs, path::Path as FilePath};

    use super::*;

    fn walk(folder: &FilePath, found: &mut BTreeSet<String>) {
        let root = FilePath::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/serve/page"));
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|end| end == "js" || end == "css") {
                found.insert(path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/"));
            }
        }
    }

    #[test]
    fn every_file_of_the_folder_is_served() {
        let mut found = BTreeSet::new();
        walk(FilePath::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/serve/page")), &mut found);
        let listed: Vec<_> = FILES.iter().map(|file| file.path.to_owned()).collect();
        assert_eq!(listed, found.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn the_index_names_existing_files_and_contains_no_code() {
        let index = index("v1");
        for address in index.split("\"/page/v1/").skip(1) {
            let path = address.split('"').next().unwrap();
            assert!(FILES.iter().any(|file| file.path == path), "{path}");
        }
        assert!(!index.contains("VERSION") && !index.contains("<!-- links -->"));
        assert!(!index.contains("<style") && !index.contains("style=") && !index.contains("onload"));
        assert!(index.matches("<script").count() == 1 && index.contains("></script>"));
    }

    #[test]
    fn modules_are_small_and_never_write_markup() {
        for file in FILES.iter().filter(|file| !file.path.starts_with("vendor/")) {
            let text = std::str::from_utf8(file.bytes).unwrap();
            assert!(text.lines().count() <= 400, "{} is long", file.path);
            for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "dangerouslySet", "document.write", "eval("] {
                assert!(!text.contains(word), "{} contains {word}", file.path);
            }
        }
    }
}
