//! Which service is asked: as the configuration says, else the first one that the environment has a key or an address for.

use std::{path::PathBuf, time::Duration};

use reqwest::Url;
use serde::Deserialize;

use super::{Service, TIME, Web, brave::Brave, page::PageFetcher, searxng::Searxng, tavily::Tavily};
use crate::provider::{
    Env, InlineKeyError, ProviderError, Secret,
    tls::{self, Certificates},
};

/// A service that is known.
struct SearchService {
    name: &'static str,
    /// Where it is, unless somebody says otherwise; `None`: every one is somebody's own.
    base: Option<&'static str>,
    /// The variables that may hold its key, or its address where it needs no key.
    variables: &'static [&'static str],
    service: fn() -> Box<dyn Service>,
}

/// The services, in the order in which they are looked for.
const KNOWN: [SearchService; 3] = [
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

/// The service as it stands in the configuration.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchConfig {
    /// `tavily`, `brave` or `searxng`.
    pub service: Option<String>,
    /// Where it is; needed for SearXNG.
    pub base_url: Option<String>,
    /// The environment variable that holds the key.
    pub key_env: Option<String>,
    /// The file that holds the key, with rights for its owner only.
    pub key_file: Option<PathBuf>,
    /// How long it may take, in seconds; 20.
    pub timeout: Option<f64>,
    /// Refuses a key.
    #[serde(alias = "key", alias = "apikey", alias = "token")]
    pub api_key: InlineKeyError,
}

impl std::fmt::Debug for Web {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Web").field("service", &self.service.name()).field("base", &self.base.as_str()).finish()
    }
}

/// Sets up the service that the configuration names, or one that the environment has what it needs for. Nothing is sent.
/// `None` if there is neither.
///
/// # Errors
/// If the configuration is wrong, or a key that it names is not there.
pub fn open(config: &SearchConfig, env: &Env<'_>) -> Result<Option<Web>, ProviderError> {
    let set = |known: &SearchService| {
        known.variables.iter().find_map(|name| env(name).filter(|value| !value.trim().is_empty()))
    };
    let known = match &config.service {
        Some(name) => KNOWN.iter().find(|known| known.name == name).ok_or_else(|| wrong(&unknown(name)))?,
        None if config != &SearchConfig::default() => return Err(wrong("`service` is missing")),
        None => match KNOWN.iter().find(|known| set(known).is_some()) {
            Some(known) => known,
            None => return Ok(None),
        },
    };
    let own = set(known);
    let base = match (&config.base_url, known.base) {
        (Some(base), _) => base.clone(),
        (None, Some(base)) => base.to_owned(),
        (None, None) => own.clone().ok_or_else(|| wrong("searxng needs a base_url, or SEARXNG_URL"))?,
    };
    let key = match (&config.key_env, &config.key_file) {
        (Some(_), Some(_)) => return Err(wrong("key_env and key_file are both set; one is enough")),
        (Some(name), None) => Some(Secret::from_env(name, env).ok_or_else(|| wrong(&format!("{name} is not set")))?),
        (None, Some(path)) => Some(Secret::from_file(path)?),
        (None, None) if known.base.is_some() => {
            let key = own.as_deref().and_then(Secret::new);
            Some(key.ok_or_else(|| wrong(&format!("{} needs a key: set {}", known.name, known.variables[0])))?)
        }
        (None, None) => None,
    };
    let base = address(&base)?;
    let time = config.timeout.map_or(Ok(TIME), Duration::try_from_secs_f64).ok().filter(|time| !time.is_zero());
    let time = time.ok_or_else(|| wrong("timeout is a number of seconds above 0"))?;
    let failed = |error: reqwest::Error| wrong(&error.to_string());
    let mut client = tls::builder(Certificates::System)?.connect_timeout(time);
    if known.base.is_none() {
        // A server of one's own is asked directly.
        client = client.no_proxy();
    }
    let (client, pages) = (client.build().map_err(failed)?, PageFetcher::new(base.clone())?);
    Ok(Some(Web { service: (known.service)(), base, key, client, pages, time }))
}

/// A service's address. It is not in the errors, for a key may stand in it.
fn address(written: &str) -> Result<Url, ProviderError> {
    let url = Url::parse(written.trim()).map_err(|error| wrong(&format!("its address is no URL: {error}")))?;
    let plain = matches!(url.scheme(), "http" | "https") && url.host_str().is_some();
    if !plain || !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(wrong("its address is http:// or https:// and a host, without user, password or query"));
    }
    Ok(url)
}

fn unknown(name: &str) -> String {
    format!("no service {:?}; there are tavily, brave and searxng", crate::types::first_words(name, 40))
}

fn wrong(what: &str) -> ProviderError {
    ProviderError::configuration(format!("`search` in the configuration: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(yaml: &str, variables: &[(&str, &str)]) -> Result<String, String> {
        let config: SearchConfig = serde_yaml::from_str(yaml).map_err(|error| error.to_string())?;
        let env = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        match open(&config, &env).map_err(|error| error.to_string())? {
            None => Ok("none".to_owned()),
            Some(web) => Ok(format!("{} {} {}", web.service.name(), web.base, web.key.is_some())),
        }
    }

    #[test]
    fn a_service_is_configured_or_found() {
        let said = |yaml: &str, variables: &[(&str, &str)]| opened(yaml, variables).unwrap();
        assert_eq!(said("{}", &[]), "none");
        assert_eq!(said("{}", &[("TAVILY_API_KEY", " ")]), "none");
        assert_eq!(
            said("{}", &[("BRAVE_API_KEY", "k"), ("SEARXNG_URL", "http://s")]),
            "brave https://api.search.brave.com/ true"
        );
        assert_eq!(said("{}", &[("SEARXNG_URL", "http://127.0.0.1:8888")]), "searxng http://127.0.0.1:8888/ false");
        let own = "{service: tavily, base_url: 'http://h/x', key_env: K}";
        assert_eq!(said(own, &[("K", "k")]), "tavily http://h/x true");
    }

    #[test]
    fn what_is_wrong_is_said_and_no_key_is() {
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
            let error = opened(yaml, variables).unwrap_err();
            assert!(error.contains(why) && !error.contains("sk-1"), "{yaml}: {error}");
        }
    }
}
