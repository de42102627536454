//! Web search for `→ search`: one of three search services, and the pages of their results.
//!
//! A `Service` builds the request and parses the response. Limits, time-outs, the key and errors are shared by all
//! services. A deep search adds the text of each page: the service returns it, or `fetch_page.rs` fetches the page and `html.rs`
//! extracts its main text.
//!
//! All results are untrusted content; the layer that displays them escapes them.

mod brave;
mod fetch_page;
mod html;
mod result_limits;
mod search_protocol;
mod searxng;
mod service_choice;
mod service_error;
mod site_filter;
mod tavily;
mod web_search;

pub use self::{
    service_choice::{SearchConfig, open},
    web_search::Web,
};
