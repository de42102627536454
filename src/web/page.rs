//! Pages that a service named, fetched for their texts. Who wrote them chose the addresses, so they lead to the public web
//! or nowhere: an address of this machine or of a private network is refused, also behind a name and behind a redirect.
//!
//! Names are resolved here, and a connection goes to the very addresses that were looked at; so a name that means
//! something else a moment later gains nothing. No proxy is used for pages, since it would resolve names for itself. The
//! one exception is the server of the configured service, which the person trusts anyway.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use reqwest::{
    Client, Response, Url,
    dns::{Addrs, Name, Resolve, Resolving},
    header::{CONTENT_TYPE, LOCATION},
};

use super::html;
use crate::provider::{
    ProviderError,
    tls::{self, Certificates},
};

/// Bytes of a page that are read.
const PAGE: usize = 2 << 20;
/// How long a page may take.
const TIME: Duration = Duration::from_secs(12);
/// Redirects that are followed.
const REDIRECTS: usize = 5;

/// Fetches pages.
pub(super) struct PageFetcher {
    client: Client,
    /// The configured service, wherever it is.
    own: Url,
}

impl PageFetcher {
    pub(super) fn new(own: Url) -> Result<Self, ProviderError> {
        let client = tls::builder(Certificates::System)?
            .no_proxy()
            .dns_resolver(std::sync::Arc::new(PublicResolver))
            .connect_timeout(Duration::from_secs(5))
            .timeout(TIME)
            .build()
            .map_err(|error| ProviderError::configuration(error.to_string()))?;
        Ok(Self { client, own })
    }

    /// A page's text, or why there is none.
    pub(super) async fn read(&self, url: &str) -> Result<String, String> {
        let mut url = Url::parse(url).map_err(|error| error.to_string())?;
        for _ in 0..=REDIRECTS {
            self.check(&url)?;
            let response = self.client.get(url.clone()).send().await.map_err(|error| cause(&error))?;
            if !response.status().is_redirection() {
                return text(response).await;
            }
            let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            let to = to.ok_or_else(|| "it redirects to nowhere".to_owned())?;
            url = url.join(to).map_err(|_| "it redirects to what is no address".to_owned())?;
        }
        Err("it redirects too often".to_owned())
    }

    /// Refuses what is not on the public web. Addresses behind names are looked at when they are resolved.
    fn check(&self, url: &Url) -> Result<(), String> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("it leads to {}:, not to the web", url.scheme()));
        }
        if url.origin() == self.own.origin() {
            return Ok(());
        }
        let host = url.host_str().unwrap_or_default();
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        match address {
            Ok(address) if !is_public(address) => Err(format!("it leads to {address}, which is not on the public web")),
            _ => Ok(()),
        }
    }
}

/// Names as addresses of the public web, and no others.
struct PublicResolver;

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let public: Vec<SocketAddr> = found.into_iter().filter(|address| is_public(address.ip())).collect();
            if public.is_empty() {
                let why = format!("{} is not on the public web", name.as_str());
                return Err(Box::new(io::Error::new(io::ErrorKind::PermissionDenied, why)).into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0
        || a >= 240
        || a == 100 && (64..128).contains(&b) // providers' own networks
        || a == 192 && b == 0 && c == 0
        || a == 192 && b == 88 && c == 99
        || a == 198 && (18..20).contains(&b); // measurements
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    if let Some(inside) = address.to_ipv4_mapped() {
        return is_public_v4(inside);
    }
    // Addresses of the other kind inside: translated (64:ff9b::/96, and its local brother), and 6to4.
    let last = || Ipv4Addr::from((u32::from(parts[6]) << 16) | u32::from(parts[7]));
    match parts[0] {
        0x64 if parts[1] == 0xff9b && parts[2..6] == [0; 4] => is_public_v4(last()),
        0x2002 => is_public_v4(Ipv4Addr::from((u32::from(parts[1]) << 16) | u32::from(parts[2]))),
        // Teredo, benchmarks, ORCHID; documentation.
        0x2001 => parts[1] >= 0x200 && parts[1] != 0xdb8,
        // All else that is public is in 2000::/3.
        first => first & 0xe000 == 0x2000,
    }
}

/// The text of an answer.
async fn text(mut response: Response) -> Result<String, String> {
    if !response.status().is_success() {
        return Err(format!("it answers {}", response.status()));
    }
    let header = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = header.unwrap_or("text/html").to_ascii_lowercase();
    let is_html = kind.starts_with("text/html") || kind.starts_with("application/xhtml+xml");
    if !is_html && !kind.starts_with("text/") {
        return Err(format!("it is no text ({})", kind.split(';').next().unwrap_or_default()));
    }
    let mut body = Vec::new();
    // What came of a page that breaks off is better than nothing.
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = PAGE - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if body.len() == PAGE {
            break;
        }
    }
    let latin =
        ["charset=iso-8859-1", "charset=\"iso-8859-1", "charset=windows-1252"].iter().any(|set| kind.contains(set));
    let body = match String::from_utf8(body) {
        Ok(body) => body,
        Err(error) if latin => error.as_bytes().iter().copied().map(char::from).collect(),
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    let text = if is_html { html::main_text(&body) } else { body.trim().to_owned() };
    if text.is_empty() { Err("it has no text".to_owned()) } else { Ok(text) }
}

/// The innermost reason why a page did not come.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    if error.is_timeout() { "it took too long".to_owned() } else { cause.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_public_web_are_public() {
        for address in [
            "127.0.0.1",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "192.0.2.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "::7f00:1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in ["1.1.1.1", "93.184.216.34", "172.32.0.1", "2606:4700::1111", "2a00:1450::1", "2002:0101:0101::"]
        {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn other_ways_to_write_an_address_are_the_address() {
        let pages = PageFetcher::new(Url::parse("http://127.0.0.1:8888/").unwrap()).unwrap();
        for url in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f.0.0.1/",
            "http://[::1]/",
            "http://0/",
            "http://[::ffff:127.0.0.1]/",
            "http://169.254.169.254/latest/meta-data",
            "http://user@10.0.0.1/",
            "ftp://a.org/",
            "file:///etc/passwd",
            "http://127.0.0.1:8889/",
            "https://127.0.0.1:8888/",
        ] {
            assert!(pages.check(&Url::parse(url).unwrap()).is_err(), "{url}");
        }
        for url in ["https://a.org/", "http://127.0.0.1:8888/page", "http://1.1.1.1/"] {
            assert!(pages.check(&Url::parse(url).unwrap()).is_ok(), "{url}");
        }
    }
}
