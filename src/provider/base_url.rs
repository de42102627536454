//! Completion of the base URLs that users set in the variables of providers.

/// Completes `OLLAMA_HOST`, which configures Ollama's server: scheme and port are optional, the host may be `0.0.0.0`.
pub(super) fn ollama_base(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    if host.starts_with("https://") {
        return host.to_owned();
    }
    let host = host.trim_start_matches("http://");
    let host = host.replacen("0.0.0.0", "127.0.0.1", 1).replacen("[::]", "[::1]", 1);
    let host = if host.starts_with(':') { format!("127.0.0.1{host}") } else { host };
    let bracketed = host.rfind(']').unwrap_or(0);
    let port = if host[bracketed..].contains([':', '/']) { "" } else { ":11434" };
    format!("http://{host}{port}")
}

/// Completes `ANTHROPIC_BASE_URL`: Anthropic's own libraries append `/v1`.
pub(super) fn anthropic_base(base_url: &str) -> String {
    let base_url = base_url.trim().trim_end_matches('/');
    if base_url.ends_with("/v1") { base_url.to_owned() } else { format!("{base_url}/v1") }
}
