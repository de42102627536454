//! The program's HTTP server in a temporary home, and a client for it.

use std::{
    io::{BufRead as _, BufReader},
    marker::PhantomData,
    process::{Child, Stdio},
};

use reqwest::{Client, Method, RequestBuilder};
use serde_json::Value;

use super::cli::Home;

/// A running server. It is killed when dropped, before its home is removed.
pub(crate) struct HttpServer<'h> {
    _home: PhantomData<&'h Home>,
    child: Child,
    pub(crate) url: String,
    pub(crate) client: Client,
}

impl Drop for HttpServer<'_> {
    fn drop(&mut self) {
        self.kill();
    }
}

impl<'h> HttpServer<'h> {
    /// Starts `loom serve` on a free port and waits until it listens.
    pub(crate) fn start(home: &'h Home, args: &[&str]) -> Self {
        // An error means that another test has set it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let all = [&["--json", "serve", "--listen", "127.0.0.1:0"], args].concat();
        let mut child = home.command(&all).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let started: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no address: {line:?}"));
        let url = started["address"].as_str().unwrap().to_owned();
        Self { _home: PhantomData, child, url, client: Client::builder().no_proxy().build().unwrap() }
    }

    /// Kills the server without warning.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks the server to stop, and waits for its end.
    #[cfg(unix)]
    pub(crate) fn terminate(&mut self) -> std::process::ExitStatus {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.child.wait().unwrap()
    }

    /// Builds a request for a path.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    /// Reads a path. Returns the status and the body.
    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        answer(self.request(Method::GET, path)).await
    }

    /// Sends JSON to a path. Returns the status and the body.
    pub(crate) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        answer(self.request(Method::POST, path).json(&body)).await
    }

    /// Sends JSON to a path, which must succeed. Returns the body.
    #[track_caller]
    pub(crate) fn ok(&self, path: &str, body: Value) -> impl Future<Output = Value> {
        let caller = std::panic::Location::caller();
        let request = self.request(Method::POST, path).json(&body);
        let path = path.to_owned();
        async move {
            let (status, body) = answer(request).await;
            assert!((200..300).contains(&status), "{caller}: {path}: {status} {body}");
            body
        }
    }
}

/// Sends a request. Returns the status and the body, null if it is not JSON.
pub(crate) async fn answer(request: RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap_or(Value::Null))
}

/// Reads a stream of events until `count` of them have arrived, or its end. Each is its kind, id and data.
pub(crate) async fn events(response: reqwest::Response, count: usize) -> Vec<(String, String, Value)> {
    let (mut response, mut text, mut found) = (response, String::new(), Vec::new());
    while found.len() < count {
        let Some(bytes) = response.chunk().await.unwrap() else { break };
        text.push_str(std::str::from_utf8(&bytes).unwrap());
        while let Some((event, rest)) = text.split_once("\n\n") {
            let field = |name: &str| {
                let found = event.lines().find_map(|line| line.strip_prefix(name));
                found.unwrap_or_default().trim().to_owned()
            };
            let data = serde_json::from_str(&field("data:")).unwrap_or(Value::Null);
            if !event.starts_with(':') {
                found.push((field("event:"), field("id:"), data));
            }
            text = rest.to_owned();
        }
    }
    found
}
