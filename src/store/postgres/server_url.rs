//! Address of a server, and how connections to it are encrypted: the URL as libpq reads it.

use std::{fs, sync::Arc};

use percent_encoding::percent_decode_str;
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject as _},
};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio_postgres::Config;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Address of a server with the settings of its connections.
#[derive(Clone)]
pub(super) struct PgServer {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
}

impl std::fmt::Debug for PgServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PgServer").field("config", &self.config).finish_non_exhaustive()
    }
}

impl PgServer {
    /// Reads a URL. `sslmode` is `disable`, `prefer` (encrypted if the server can, the default), `require` (encrypted, the
    /// certificate is not checked) or `verify-full` (encrypted, certificate and host name are checked). `verify-ca` checks
    /// both, too. `sslrootcert` names a file of certificates in PEM that are trusted instead of those of the system.
    pub(super) fn of(url: &str) -> Result<Self, String> {
        // The scheme has no case.
        let url = url
            .split_once("://")
            .map_or(url.to_owned(), |(scheme, rest)| format!("{}://{rest}", scheme.to_lowercase()));
        let (base, query) = url.split_once('?').unwrap_or((&url, ""));
        let (mut is_verified, mut roots) = (false, None);
        let mut params = Vec::new();
        for param in query.split('&').filter(|param| !param.is_empty()) {
            match param.split_once('=') {
                Some(("sslmode", "verify-full" | "verify-ca")) => {
                    is_verified = true;
                    params.push("sslmode=require");
                }
                Some(("sslrootcert", "system")) => roots = None,
                Some(("sslrootcert", file)) => roots = Some(percent_decode_str(file).decode_utf8_lossy().into_owned()),
                _ => params.push(param),
            }
        }
        let url = format!("{base}?{}", params.join("&"));
        let config: Config = url.parse().map_err(|error: tokio_postgres::Error| error.to_string())?;
        let tls = client_config(is_verified, roots.as_deref())?;
        Ok(Self { config, tls: MakeRustlsConnect::new(tls) })
    }
}

fn client_config(is_verified: bool, roots: Option<&str>) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match (is_verified, roots) {
        (false, _) => builder.dangerous().with_custom_certificate_verifier(Arc::new(Unverified(provider))),
        (true, None) => builder.with_platform_verifier().map_err(|error| error.to_string())?,
        (true, Some(file)) => builder.with_root_certificates(read_roots(file)?),
    };
    Ok(builder.with_no_client_auth())
}

fn read_roots(file: &str) -> Result<RootCertStore, String> {
    let text = fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|error| format!("{file}: {error}"))?;
        roots.add(certificate).map_err(|error| format!("{file}: {error}"))?;
    }
    if roots.is_empty() { Err(format!("{file} has no certificate")) } else { Ok(roots) }
}

/// Accepts every certificate: `sslmode` asks for encryption alone.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use tokio_postgres::config::SslMode;

    use super::*;

    #[test]
    fn the_url_selects_the_encryption() {
        let mode = |url: &str| PgServer::of(url).map(|server| server.config.get_ssl_mode());
        assert_eq!(mode("postgres://ann@db/loom"), Ok(SslMode::Prefer));
        assert_eq!(mode("postgres://ann@db/loom?sslmode=disable"), Ok(SslMode::Disable));
        assert_eq!(mode("postgres://ann@db/loom?sslmode=require&application_name=x"), Ok(SslMode::Require));
        assert!(mode("postgres://ann@db/loom?sslmode=perhaps").is_err());
        let missing = mode("postgres://ann@db/loom?sslmode=verify-full&sslrootcert=/no%20such/file");
        assert!(missing.is_err_and(|error| error.starts_with("/no such/file: ")));
    }
}
