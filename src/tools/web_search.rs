//! The request and the results of a web search, shared by the executor and the search services.

/// The parameters of a web search.
#[derive(Debug, Clone, Copy)]
pub struct WebSearch<'a> {
    /// The words to search for.
    pub query: &'a str,
    /// True if the texts of the pages are requested, beside titles and excerpts.
    pub deep: bool,
    /// True if only news are searched.
    pub news: bool,
    /// The maximum number of results; `None` leaves it to the service.
    pub max: Option<u32>,
    /// Domains to search. Empty means all.
    pub include: &'a [String],
    /// Domains to leave out.
    pub exclude: &'a [String],
}

/// One result of a web search. Every field is untrusted content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebHit {
    /// The page's title.
    pub title: String,
    /// The page's URL.
    pub url: String,
    /// The excerpt that the service returned.
    pub excerpt: String,
    /// The date of publication, in the service's format.
    pub published: Option<String>,
    /// The page's text, or the reason for its absence; `None` if it was not requested.
    pub text: Option<Result<String, String>>,
}
