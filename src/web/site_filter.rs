//! The sites that a search includes and excludes.

use reqwest::Url;

use crate::tools::WebSearch;

/// Returns whether a URL matches the search's site filters. Services get the filters too, but some ignore them.
pub(super) fn matches_sites(url: &str, search: &WebSearch<'_>) -> bool {
    let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_lowercase)).unwrap_or_default();
    let listed = |sites: &[String]| sites.iter().any(|site| is_on_site(&host, site));
    (search.include.is_empty() || listed(search.include)) && !listed(search.exclude)
}

/// Returns whether a host is a site or one of its subdomains.
fn is_on_site(host: &str, site: &str) -> bool {
    let site = normalize_host(site);
    !site.is_empty() && host.strip_suffix(&site).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

/// Returns the lower-case host of a site in any notation (`https://www.a.org/x`, `*.a.org`), without `www.`.
pub(super) fn normalize_host(written: &str) -> String {
    let host = written.trim().split_once("://").map_or(written.trim(), |(_, rest)| rest);
    let host = host.split(['/', ':', '?', '#']).next().unwrap_or_default().trim_start_matches("*.");
    host.strip_prefix("www.").unwrap_or(host).to_lowercase()
}

/// Returns the query with the site filters as `site:` operators.
pub(super) fn query_with_sites(search: &WebSearch<'_>) -> String {
    let include: Vec<String> =
        search.include.iter().map(|written| format!("site:{}", normalize_host(written))).collect();
    let exclude = search.exclude.iter().map(|written| format!(" -site:{}", normalize_host(written)));
    let include = if include.is_empty() { String::new() } else { format!(" {}", include.join(" OR ")) };
    format!("{}{include}{}", search.query, exclude.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn site_filters_match_hosts_and_subdomains() {
        let sites = ["https://www.A.org/path".to_owned(), "*.b.com".to_owned()];
        let search = |include: bool| {
            let (include, exclude): (&[String], &[String]) = if include { (&sites, &[]) } else { (&[], &sites) };
            WebSearch { query: "x", deep: false, news: false, max: None, include, exclude }
        };
        for (url, matches) in [
            ("https://a.org", true),
            ("https://www.a.org/y", true),
            ("http://docs.B.com:8080/", true),
            ("https://aa.org", false),
            ("https://a.org.evil.net", false),
        ] {
            assert_eq!(
                (matches_sites(url, &search(true)), matches_sites(url, &search(false))),
                (matches, !matches),
                "{url}"
            );
        }
        assert_eq!(query_with_sites(&search(true)), "x site:a.org OR site:b.com");
        assert_eq!(query_with_sites(&search(false)), "x -site:a.org -site:b.com");
    }
}
