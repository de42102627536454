//! Protocol of a search service, which each service implements in a file of its own.

use reqwest::{Client, RequestBuilder, Url};

use crate::tools::{WebHit, WebSearch};

/// The protocol of one search service.
pub(super) trait Service: Send + Sync {
    /// Returns the name that the configuration and error messages use.
    fn name(&self) -> &'static str;

    /// Builds the request for at most `max` results, without the key.
    fn request(&self, client: &Client, base: &Url, search: &WebSearch<'_>, max: u32) -> RequestBuilder;

    /// Adds the key to a request.
    fn authorized(&self, request: RequestBuilder, key: &str) -> RequestBuilder;

    /// Parses the results of a response body.
    ///
    /// # Errors
    /// Returns an error if the body does not have the service's format.
    fn parse(&self, response: &[u8]) -> Result<Vec<WebHit>, serde_json::Error>;
}
