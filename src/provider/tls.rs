//! TLS for every HTTP client of the crate: ring's cryptography, the certificates of the system.
//!
//! Each client gets a configuration of its own. The process-wide provider of rustls is left to the program that uses
//! the crate.

use std::sync::Arc;

use reqwest::{Client, ClientBuilder};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt as _;

use super::ProviderError;

/// Starts a client that follows no redirects and names this crate.
pub(crate) fn builder(certificates: Certificates) -> Result<ClientBuilder, ProviderError> {
    let config =
        config(certificates).map_err(|error| ProviderError::configuration(format!("cannot set up TLS: {error}")))?;
    Ok(Client::builder()
        .tls_backend_preconfigured(config)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("loomtree/", env!("CARGO_PKG_VERSION"))))
}

/// The certificates that a client trusts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Certificates {
    /// Those of the system; an error where it has none.
    System,
    /// None: the client speaks plain `http`, also on a system without certificates.
    None,
}

fn config(certificates: Certificates) -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?;
    let builder = match certificates {
        Certificates::System => builder.with_platform_verifier()?,
        Certificates::None => builder.with_root_certificates(RootCertStore::empty()),
    };
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_needs_no_provider_of_the_process_and_sets_none() {
        builder(Certificates::None).unwrap().build().unwrap();
        assert!(rustls::crypto::CryptoProvider::get_default().is_none());
    }
}
