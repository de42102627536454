//! Browsers: a code or a token is exchanged for a cookie that scripts cannot read and that other sites cannot send.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use rand::{TryRng as _, rngs::SysRng};
use serde::Deserialize;

use super::{
    error::{ApiError, Result},
    extractors::Body,
    state::AppState,
};

/// Beginning of the cookie's name. The port follows, because the cookies of an address are shared by its ports.
const COOKIE: &str = "loom_session_";

/// Header in which browsers name the relation between the page that sends a request and the server.
const FETCH_SITE: &str = "sec-fetch-site";

/// Logins of browsers, by a link that works once or by a token. The default has no link.
#[derive(Debug, Default)]
pub struct BrowserLogins {
    /// Hash of the link's code, until it is used.
    code: Mutex<Option<blake3::Hash>>,
    /// Logins by the hash of their cookie.
    logins: Mutex<HashMap<blake3::Hash, BrowserLogin>>,
    is_required: bool,
}

/// Login of a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BrowserLogin {
    /// By the link of `loom open`.
    Link,
    /// With the token that has this hash.
    Token(String),
}

impl BrowserLogins {
    /// Creates the logins of a server that answers requests only after a login or with a token. Also returns the code,
    /// which works once.
    ///
    /// # Errors
    /// If the operating system has no random numbers.
    pub fn with_code() -> std::io::Result<(Self, String)> {
        let code = secret()?;
        let logins =
            Self { code: Mutex::new(Some(blake3::hash(code.as_bytes()))), logins: Mutex::default(), is_required: true };
        Ok((logins, code))
    }

    /// True if a request without a token needs a login.
    pub(super) fn is_required(&self) -> bool {
        self.is_required
    }

    /// Returns the login that a cookie belongs to.
    pub(super) fn of_cookie(&self, cookie: &str) -> Option<BrowserLogin> {
        self.lock().get(&blake3::hash(cookie.as_bytes())).cloned()
    }

    /// Exchanges the code for a cookie.
    fn exchange(&self, code: &str) -> Result<Option<String>> {
        let mut expected = self.code.lock().unwrap_or_else(PoisonError::into_inner);
        if *expected != Some(blake3::hash(code.as_bytes())) {
            return Ok(None);
        }
        let cookie = self.begin(BrowserLogin::Link)?;
        *expected = None;
        Ok(Some(cookie))
    }

    /// Returns a cookie for a new login. It is no token: other programs on ports of this host receive it too.
    fn begin(&self, login: BrowserLogin) -> Result<String> {
        let cookie = secret().map_err(ApiError::internal)?;
        self.lock().insert(blake3::hash(cookie.as_bytes()), login);
        Ok(cookie)
    }

    fn end(&self, cookie: &str) {
        self.lock().remove(&blake3::hash(cookie.as_bytes()));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<blake3::Hash, BrowserLogin>> {
        self.logins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns 32 random bytes as text.
fn secret() -> std::io::Result<String> {
    let mut bytes = [0; 32];
    SysRng.try_fill_bytes(&mut bytes).map_err(std::io::Error::other)?;
    Ok(blake3::Hash::from(bytes).to_hex().to_string())
}

fn cookie_name(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let port = host.rsplit_once(':').map(|(_, port)| port).filter(|port| port.bytes().all(|b| b.is_ascii_digit()));
    format!("{COOKIE}{}", port.unwrap_or("80"))
}

/// Returns the cookie of a request, if a page of this server sent it.
pub(super) fn cookie(headers: &HeaderMap) -> Option<&str> {
    let site = headers.get(FETCH_SITE).and_then(|site| site.to_str().ok());
    if !matches!(site, None | Some("same-origin" | "none")) {
        return None;
    }
    let name = cookie_name(headers);
    let lists = headers.get_all(header::COOKIE).iter().filter_map(|list| list.to_str().ok());
    let mut pairs = lists.flat_map(|list| list.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// Removes the cookies of this server from a request that goes to another one.
pub(super) fn remove_own_cookies(headers: &mut HeaderMap) {
    let lists: Vec<HeaderValue> = headers.get_all(header::COOKIE).iter().cloned().collect();
    headers.remove(header::COOKIE);
    for list in lists {
        let is_foreign = |pair: &&[u8]| !pair.is_empty() && !pair.starts_with(COOKIE.as_bytes());
        let pairs: Vec<&[u8]> = list.as_bytes().split(|byte| *byte == b';').map(<[u8]>::trim_ascii).collect();
        let foreign: Vec<&[u8]> = pairs.into_iter().filter(is_foreign).collect();
        if let Some(value) = HeaderValue::from_bytes(&foreign.join(&b"; "[..])).ok().filter(|value| !value.is_empty()) {
            headers.append(header::COOKIE, value);
        }
    }
}

/// Returns the routes for login and logout, which need no token.
pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/login", post(log_in).delete(log_out))
}

/// Credentials of a login: the code of a link, or a token.
#[derive(Deserialize)]
struct LoginBody {
    code: Option<String>,
    token: Option<String>,
}

async fn log_in(State(state): State<AppState>, headers: HeaderMap, Body(body): Body<LoginBody>) -> Result<Response> {
    let value = match (body.code, body.token) {
        (Some(code), None) => state.settings.browsers.exchange(&code)?,
        (None, Some(token)) => {
            let record = state.settings.tokens.find(&token);
            record.map(|record| state.settings.browsers.begin(BrowserLogin::Token(record.hash))).transpose()?
        }
        _ => return Err(ApiError::invalid("send a code or a token")),
    };
    let value = value.ok_or_else(|| {
        ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "the link was used before, or the token is not valid")
            .hint("`loom open` prints a new link; `loom serve token new NAME` creates a token")
    })?;
    with_cookie(&headers, &value, "")
}

async fn log_out(State(state): State<AppState>, headers: HeaderMap) -> Result<Response> {
    if let Some(cookie) = cookie(&headers) {
        state.settings.browsers.end(cookie);
    }
    with_cookie(&headers, "", "; Max-Age=0")
}

fn with_cookie(headers: &HeaderMap, value: &str, more: &str) -> Result<Response> {
    let cookie = format!("{}={value}; Path=/; HttpOnly; SameSite=Strict{more}", cookie_name(headers));
    let mut response = StatusCode::NO_CONTENT.into_response();
    let cookie =
        HeaderValue::from_str(&cookie).map_err(|_| ApiError::invalid("the host cannot be a part of a cookie"))?;
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn a_code_works_once() {
        let (logins, code) = BrowserLogins::with_code().unwrap();
        assert!(logins.exchange("guess").unwrap().is_none());
        let cookie = logins.exchange(&code).unwrap().unwrap();
        assert!(logins.of_cookie(&cookie) == Some(BrowserLogin::Link) && logins.of_cookie(&code).is_none());
        assert!(logins.is_required());
        logins.end(&cookie);
        assert!(logins.of_cookie(&cookie).is_none());
        assert!(logins.exchange(&code).unwrap().is_none());
        assert!(BrowserLogins::default().exchange("").unwrap().is_none());
    }

    #[test]
    fn only_foreign_cookies_stay() {
        for (list, rest) in [
            ("loom_session_8420=x", None),
            ("a=1; loom_session_8420=x;loom_session_1=y; b=2", Some("a=1; b=2")),
            ("b=loom_session_8420", Some("b=loom_session_8420")),
            (";", None),
        ] {
            let mut all = headers(&[("cookie", list), ("accept", "*/*")]);
            remove_own_cookies(&mut all);
            assert_eq!(all.get("cookie").map(|value| value.to_str().unwrap()), rest, "{list}");
            assert!(all.contains_key("accept"));
        }
    }

    #[test]
    fn a_cookie_belongs_to_its_port_and_to_own_pages() {
        let own = [("host", "127.0.0.1:8420"), ("cookie", "a=1; loom_session_8420=x; loom_session_1=y")];
        assert_eq!(cookie(&headers(&own)), Some("x"));
        for site in ["same-site", "cross-site"] {
            assert_eq!(cookie(&headers(&[own[0], own[1], (FETCH_SITE, site)])), None);
        }
        assert_eq!(cookie(&headers(&[own[0], own[1], (FETCH_SITE, "same-origin")])), Some("x"));
        assert_eq!(cookie(&headers(&[("host", "127.0.0.1:9"), own[1]])), None);
    }
}
