//! TLS for all HTTP clients of the crate: cryptography of `ring`, certificates of the system.
//!
//! Each client gets its own configuration. The process-wide crypto provider of rustls is neither used nor set; it belongs
//! to the host program. Only HTTP/1.1 is offered, because `reqwest` is built without HTTP/2.

use std::sync::Arc;

use reqwest::{Client, ClientBuilder};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt as _;

use super::ProviderError;

/// Returns a client builder with this TLS setup, no redirects, and the crate's name as user agent.
pub(crate) fn builder(certificates: Certificates) -> Result<ClientBuilder, ProviderError> {
    let config =
        config(certificates).map_err(|error| ProviderError::configuration(format!("cannot set up TLS: {error}")))?;
    Ok(Client::builder()
        .tls_backend_preconfigured(config)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("loomtree/", env!("CARGO_PKG_VERSION"))))
}

/// Root certificates that a client trusts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Certificates {
    /// The system's certificates; building the client fails if there are none.
    System,
    /// No certificates: for a client of plain `http`, which then works on a system without any.
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
    fn a_client_neither_needs_nor_sets_the_process_wide_crypto_provider() {
        builder(Certificates::None).unwrap().build().unwrap();
        assert!(rustls::crypto::CryptoProvider::get_default().is_none());
    }
}
