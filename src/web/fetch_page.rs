//! Fetches the pages of search results as text, from the public web only.
//!
//! The authors of result pages choose their URLs. So an address of this machine or of a private network is refused, also
//! behind a host name or a redirect. The HTTP client connects only to addresses that [`PublicResolver`] has checked, which
//! defeats DNS rebinding. Pages are fetched without a proxy, because a proxy would resolve names itself. The server of the
//! configured service is exempt: the user trusts it.

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

/// Limit of the bytes read from a page; the rest is dropped.
const MAX_PAGE_BYTES: usize = 2 << 20;
/// Time limit of one request for a page.
const PAGE_TIMEOUT: Duration = Duration::from_secs(12);
const MAX_REDIRECTS: usize = 5;

/// HTTP client for pages of the public web.
pub(super) struct PageFetcher {
    client: Client,
    /// Origin that may have a private address: the configured service.
    service_url: Url,
}

impl PageFetcher {
    pub(super) fn new(service_url: Url) -> Result<Self, ProviderError> {
        let client = tls::builder(Certificates::System)?
            .no_proxy()
            .dns_resolver(std::sync::Arc::new(PublicResolver))
            .connect_timeout(Duration::from_secs(5))
            .timeout(PAGE_TIMEOUT)
            .build()
            .map_err(|error| ProviderError::configuration(error.to_string()))?;
        Ok(Self { client, service_url })
    }

    /// Fetches a page and returns its text, or the reason for the failure.
    pub(super) async fn read(&self, url: &str) -> Result<String, String> {
        let mut url = Url::parse(url).map_err(|error| error.to_string())?;
        for _ in 0..=MAX_REDIRECTS {
            self.check(&url)?;
            let response = self.client.get(url.clone()).send().await.map_err(|error| root_cause(&error))?;
            if !response.status().is_redirection() {
                return read_text(response).await;
            }
            let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            let to = to.ok_or_else(|| "redirect without an address".to_owned())?;
            url = url.join(to).map_err(|_| "redirect to an invalid address".to_owned())?;
        }
        Err("too many redirects".to_owned())
    }

    /// Refuses URLs outside the public web. Host names are checked later, by [`PublicResolver`].
    fn check(&self, url: &Url) -> Result<(), String> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("the scheme {}: is not supported", url.scheme()));
        }
        if url.origin() == self.service_url.origin() {
            return Ok(());
        }
        let host = url.host_str().unwrap_or_default();
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        match address {
            Ok(address) if !is_public(address) => Err(format!("{address} is not on the public web")),
            _ => Ok(()),
        }
    }
}

/// DNS resolver that returns only public addresses, and an error if a name has none.
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
        || a == 100 && (64..128).contains(&b) // carrier-grade NAT
        || a == 192 && b == 0 && c == 0
        || a == 192 && b == 88 && c == 99
        || a == 198 && (18..20).contains(&b); // benchmarks
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    if let Some(inside) = address.to_ipv4_mapped() {
        return is_public_v4(inside);
    }
    // IPv4 addresses inside: NAT64 (64:ff9b::/96) and 6to4.
    let last = || Ipv4Addr::from((u32::from(parts[6]) << 16) | u32::from(parts[7]));
    match parts[0] {
        0x64 if parts[1] == 0xff9b && parts[2..6] == [0; 4] => is_public_v4(last()),
        0x2002 => is_public_v4(Ipv4Addr::from((u32::from(parts[1]) << 16) | u32::from(parts[2]))),
        // Excludes Teredo, benchmarks, ORCHID and documentation.
        0x2001 => parts[1] >= 0x200 && parts[1] != 0xdb8,
        // All other global unicast addresses are in 2000::/3.
        first => first & 0xe000 == 0x2000,
    }
}

/// Returns the text of a response: main text of HTML, all of a plain text.
async fn read_text(mut response: Response) -> Result<String, String> {
    if !response.status().is_success() {
        return Err(format!("HTTP {}", response.status()));
    }
    let header = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = header.unwrap_or("text/html").to_ascii_lowercase();
    let is_html = kind.starts_with("text/html") || kind.starts_with("application/xhtml+xml");
    if !is_html && !kind.starts_with("text/") {
        return Err(format!("not a text ({})", kind.split(';').next().unwrap_or_default()));
    }
    let mut body = Vec::new();
    // A partial page is better than none, so errors end the loop.
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = MAX_PAGE_BYTES - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if body.len() == MAX_PAGE_BYTES {
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
    if text.is_empty() { Err("the page has no text".to_owned()) } else { Ok(text) }
}

/// Returns the innermost cause of an HTTP error.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    if error.is_timeout() { "timed out".to_owned() } else { cause.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_and_special_addresses_are_not_public() {
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
    fn every_notation_of_a_private_address_is_refused() {
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
