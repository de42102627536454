//! Access control: host and origin of a request, token, scope.

use std::net::{IpAddr, SocketAddr};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{
    browser_login::{self, BrowserLogin},
    caller::Caller,
    error::{ApiError, Result},
    server::ServeError,
    settings::ServerSettings,
    state::AppState,
    token::{TokenRecord, TokenScope},
};

/// Header with the token, for clients whose `Authorization` header holds another key.
const TOKEN_HEADER: &str = "x-loom-token";

/// Header that names the acting agent.
const AGENT_HEADER: &str = "x-loom-agent";

/// Returns an error for an address that other machines reach, unless there is a token.
pub(super) fn require_token(address: SocketAddr, settings: &ServerSettings) -> Result<(), ServeError> {
    if !address.ip().is_loopback() && settings.tokens.is_empty() {
        return Err(ServeError::NoToken(address));
    }
    Ok(())
}

/// Middleware that rejects requests of foreign hosts and origins, without a valid token, of a wrong scope, or above the
/// rate, and passes on the [`Caller`].
pub(super) async fn check(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let is_named = request.headers().contains_key(AGENT_HEADER);
    let known = match caller(&state, &request) {
        Ok(caller) if is_named && !caller.bound => {
            // The agent must exist.
            state.read(move |state| state.agent(&caller, None).map(|_| caller)).await
        }
        Ok(caller) => Ok(caller),
        Err(error) => Err(error),
    };
    match known {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(error) => error.into_response(),
    }
}

/// Middleware of the MCP server, which has no projects. It passes on the agent of the token, or the agent that the request
/// names; without either, the MCP server has a default.
pub(super) async fn pass_agent(caller: Caller, mut request: Request, next: Next) -> Response {
    if let Err(error) = caller.require_whole_file() {
        return error.into_response();
    }
    if request.headers().contains_key(AGENT_HEADER) || caller.bound {
        match HeaderValue::from_str(&caller.agent) {
            Ok(agent) => _ = request.headers_mut().insert(AGENT_HEADER, agent),
            Err(_) => return ApiError::invalid("the name of the agent cannot be a header").into_response(),
        }
    }
    next.run(request).await
}

/// Middleware that rejects requests of foreign hosts and origins.
pub(super) async fn check_own_host(State(state): State<AppState>, request: Request, next: Next) -> Response {
    match check_host(request.headers(), &request, &state.settings.hosts) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

fn caller(state: &AppState, request: &Request) -> Result<Caller> {
    let headers = request.headers();
    check_host(headers, request, &state.settings.hosts)?;
    let caller = authenticate(state, headers)?;
    // A recall has its question in a body, and changes nothing.
    let recalls = request.method() == Method::POST && request.uri().path() == "/api/v1/recall";
    let reads = recalls || matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    caller.require(if reads { TokenScope::Read } else { TokenScope::Write })?;
    state.rates.take(&caller.token)?;
    Ok(caller)
}

/// Checks `Host` against DNS rebinding, and `Origin` against requests of foreign pages.
fn check_host(headers: &HeaderMap, request: &Request, hosts: &[String]) -> Result<()> {
    let foreign = |what: &str| {
        Err(ApiError::new(
            StatusCode::MISDIRECTED_REQUEST,
            "host",
            format!("the server does not answer for this {what}"),
        )
        .hint("`loom serve --host NAME` adds a host name"))
    };
    let mut named = headers.get_all(header::HOST).iter();
    let host = named.next().and_then(|host| host.to_str().ok()).or(request.uri().host());
    // Readers of one request must not differ on its host.
    if named.next().is_some() || request.uri().host().is_some_and(|target| !is_own_host(target, hosts)) {
        return foreign("host");
    }
    let Some(host) = host.filter(|host| is_own_host(host, hosts)) else { return foreign("host") };
    match headers.get(header::ORIGIN).map(|origin| origin.to_str()) {
        None => Ok(()),
        Some(Ok(origin)) if origin.split_once("://").is_some_and(|(_, authority)| authority == host) => Ok(()),
        Some(_) => foreign("origin"),
    }
}

/// True for an IP address, `localhost` and the configured names. A rebinding attack needs another name.
fn is_own_host(authority: &str, hosts: &[String]) -> bool {
    let name = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.rsplit_once(':').map_or(authority, |(name, _)| name),
    };
    name.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Returns the token of an `Authorization` header. The name of the scheme has no case.
pub(super) fn bearer_token(value: &str) -> Option<&str> {
    value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim())
}

fn authenticate(state: &AppState, headers: &HeaderMap) -> Result<Caller> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let agent = text(AGENT_HEADER);
    let bearer = text("authorization").and_then(bearer_token);
    let cookie = browser_login::cookie(headers);
    let (tokens, browsers) = (&state.settings.tokens, &state.settings.browsers);
    let login = cookie.and_then(|cookie| browsers.of_cookie(cookie));
    let record = match (text(TOKEN_HEADER).or(bearer), &login) {
        (Some(token), _) => tokens.find(token),
        (None, Some(BrowserLogin::Token(hash))) => tokens.of_hash(hash),
        _ => None,
    };
    if let Some(record) = record {
        // A token for one agent cannot act as another.
        let bound = record.agent.is_some();
        let agent = record.agent.as_deref().or(agent).unwrap_or("owner").to_owned();
        let TokenRecord { name, hash, scope, project, .. } = record;
        return Ok(Caller { token: name, token_hash: hash, scope, project, agent, bound });
    }
    if login == Some(BrowserLogin::Link) || !tokens.is_required() && !browsers.is_required() {
        let agent = agent.unwrap_or("owner").to_owned();
        let (token, token_hash) = Default::default();
        return Ok(Caller { token, token_hash, scope: TokenScope::Admin, project: None, agent, bound: false });
    }
    Err(ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "a valid token is required")
        .hint("send `Authorization: Bearer TOKEN`; `loom serve token new NAME` creates a token"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_localhost_and_configured_names_are_own_hosts() {
        let hosts = ["loom.example".to_owned()];
        for own in ["127.0.0.1:8420", "[::1]:8420", "[::1]", "localhost", "LOCALHOST:1", "loom.example:443", "10.0.0.7"]
        {
            assert!(is_own_host(own, &hosts), "{own}");
        }
        for foreign in ["evil.example", "127.0.0.1.evil.example:80", "", "localhost.evil", "loom.example.evil:1"] {
            assert!(!is_own_host(foreign, &hosts), "{foreign}");
        }
    }
}
