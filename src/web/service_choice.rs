//! Choice of the search service: the configured one, or the first for which the environment has a key or an address.

use std::{path::PathBuf, time::Duration};

use reqwest::Url;
use serde::Deserialize;

use super::{
    brave::Brave,
    fetch_page::PageFetcher,
    search_protocol::Service,
    searxng::Searxng,
    tavily::Tavily,
    web_search::{DEFAULT_TIMEOUT, Web},
};
use crate::provider::{
    Env, InlineKeyError, ProviderError, Secret,
    tls::{self, Certificates},
};

/// One supported search service.
struct SearchService {
    name: &'static str,
    /// Default base URL; `None` for a service that is always self-hosted.
    base: Option<&'static str>,
    /// Environment variables with the key, or with the address for a service without a key. The first one set counts.
    variables: &'static [&'static str],
    service: fn() -> Box<dyn Service>,
}

/// The supported services, in the order in which the environment is searched.
const SEARCH_SERVICES: [SearchService; 3] = [
    SearchService {
        name: "tavily",
        base: Some("https://api.tavily.com"),
        variables: &["TAVILY_API_KEY"],
        service: || Box::new(Tavily),
    },
    SearchService {
        name: "brave",
        base: Some("https://api.search.brave.com"),
        variables: &["BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"],
        service: || Box::new(Brave),
    },
    SearchService { name: "searxng", base: None, variables: &["SEARXNG_URL"], service: || Box::new(Searxng) },
];

/// The section `search` of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SearchConfig {
    /// Name of the service: `tavily`, `brave` or `searxng`.
    pub service: Option<String>,
    /// Base URL; required for SearXNG, unless `SEARXNG_URL` is set.
    pub base_url: Option<String>,
    /// Environment variable with the key.
    pub key_env: Option<String>,
    /// File with the key; only its owner may have access.
    pub key_file: Option<PathBuf>,
    /// Time limit of one request, in seconds. Default: 20.
    pub timeout: Option<f64>,
    /// Rejects an inline key: reading any value into it fails.
    #[serde(alias = "key", alias = "apikey", alias = "token")]
    pub api_key: InlineKeyError,
}

impl std::fmt::Debug for Web {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Web").field("service", &self.service.name()).field("base", &self.base.as_str()).finish()
    }
}

/// Creates the client of the configured search service, or of the first one that the environment has variables for.
///
/// Sends nothing. Returns `None` if no service is configured and no variable is set.
///
/// # Errors
/// Returns an error if the configuration is invalid or the key it names is missing.
pub fn open(config: &SearchConfig, env: &Env<'_>) -> Result<Option<Web>, ProviderError> {
    let variable = |known: &SearchService| {
        known.variables.iter().find_map(|name| env(name).filter(|value| !value.trim().is_empty()))
    };
    let known = match &config.service {
        Some(name) => SEARCH_SERVICES
            .iter()
            .find(|known| known.name == name)
            .ok_or_else(|| config_error(&unknown_service(name)))?,
        None if config != &SearchConfig::default() => return Err(config_error("`service` is missing")),
        None => match SEARCH_SERVICES.iter().find(|known| variable(known).is_some()) {
            Some(known) => known,
            None => return Ok(None),
        },
    };
    let from_env = variable(known);
    let base = match (&config.base_url, known.base) {
        (Some(base), _) => base.clone(),
        (None, Some(base)) => base.to_owned(),
        (None, None) => from_env.clone().ok_or_else(|| config_error("searxng needs a base_url, or SEARXNG_URL"))?,
    };
    let key = match (&config.key_env, &config.key_file) {
        (Some(_), Some(_)) => return Err(config_error("key_env and key_file are both set; one is enough")),
        (Some(name), None) => {
            Some(Secret::from_env(name, env).ok_or_else(|| config_error(&format!("{name} is not set")))?)
        }
        (None, Some(path)) => Some(Secret::from_file(path)?),
        (None, None) if known.base.is_some() => {
            let key = from_env.as_deref().and_then(Secret::new);
            Some(key.ok_or_else(|| config_error(&format!("{} needs a key: set {}", known.name, known.variables[0])))?)
        }
        (None, None) => None,
    };
    let base = parse_address(&base)?;
    let timeout = config
        .timeout
        .map_or(Ok(DEFAULT_TIMEOUT), Duration::try_from_secs_f64)
        .ok()
        .filter(|timeout| !timeout.is_zero());
    let timeout = timeout.ok_or_else(|| config_error("timeout is a number of seconds above 0"))?;
    let failed = |error: reqwest::Error| config_error(&error.to_string());
    let mut client = tls::builder(Certificates::System)?.connect_timeout(timeout);
    if known.base.is_none() {
        // A self-hosted server is reached directly.
        client = client.no_proxy();
    }
    let (client, pages) = (client.build().map_err(failed)?, PageFetcher::new(base.clone())?);
    Ok(Some(Web { service: (known.service)(), base, key, client, pages, timeout }))
}

/// Parses a base URL. Errors do not contain it, because it may hold a key.
fn parse_address(written: &str) -> Result<Url, ProviderError> {
    let url =
        Url::parse(written.trim()).map_err(|error| config_error(&format!("the address is not a URL: {error}")))?;
    let plain = matches!(url.scheme(), "http" | "https") && url.host_str().is_some();
    if !plain || !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(config_error(
            "the address must be http:// or https:// and a host, without user, password or query",
        ));
    }
    Ok(url)
}

fn unknown_service(name: &str) -> String {
    format!("no service {:?}; there are tavily, brave and searxng", crate::types::first_words(name, 40))
}

fn config_error(what: &str) -> ProviderError {
    ProviderError::configuration(format!("`search` in the configuration: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_service(yaml: &str, variables: &[(&str, &str)]) -> Result<String, String> {
        let config: SearchConfig = serde_yaml::from_str(yaml).map_err(|error| error.to_string())?;
        let env = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        match open(&config, &env).map_err(|error| error.to_string())? {
            None => Ok("none".to_owned()),
            Some(web) => Ok(format!("{} {} {}", web.service.name(), web.base, web.key.is_some())),
        }
    }

    #[test]
    fn a_service_comes_from_the_configuration_or_the_environment() {
        let service = |yaml: &str, variables: &[(&str, &str)]| open_service(yaml, variables).unwrap();
        assert_eq!(service("{}", &[]), "none");
        assert_eq!(service("{}", &[("TAVILY_API_KEY", " ")]), "none");
        assert_eq!(
            service("{}", &[("BRAVE_API_KEY", "k"), ("SEARXNG_URL", "http://s")]),
            "brave https://api.search.brave.com/ true"
        );
        assert_eq!(service("{}", &[("SEARXNG_URL", "http://127.0.0.1:8888")]), "searxng http://127.0.0.1:8888/ false");
        let own = "{service: tavily, base_url: 'http://h/x', key_env: K}";
        assert_eq!(service(own, &[("K", "k")]), "tavily http://h/x true");
    }

    #[test]
    fn errors_name_the_mistake_and_never_the_key() {
        for (yaml, variables, why) in [
            ("{service: google}", &[][..], "there are tavily, brave and searxng"),
            ("{base_url: 'http://h'}", &[], "`service` is missing"),
            ("{service: tavily}", &[], "set TAVILY_API_KEY"),
            ("{service: searxng}", &[], "SEARXNG_URL"),
            ("{service: searxng, base_url: 'http://h', timeout: 0}", &[], "above 0"),
            ("{service: searxng, base_url: 'http://h', timeout: -1}", &[], "above 0"),
            ("{service: tavily, key_env: K}", &[], "K is not set"),
            ("{service: tavily, key_env: K, key_file: /x}", &[], "both set"),
            ("{service: searxng, base_url: 'http://h/?key=sk-1'}", &[], "without user, password or query"),
            ("{service: searxng, base_url: 'ftp://h'}", &[], "http://"),
            ("{service: tavily, api_key: sk-1}", &[], "key_env"),
        ] {
            let error = open_service(yaml, variables).unwrap_err();
            assert!(error.contains(why) && !error.contains("sk-1"), "{yaml}: {error}");
        }
    }
}
