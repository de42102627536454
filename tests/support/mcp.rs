//! The program's MCP server over standard input and output, and a client that writes messages by hand.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, Stdio},
    sync::mpsc::{self, Receiver},
    time::Duration,
};

use serde_json::{Value, json};

use super::cli::Home;

/// Maximum time for an answer on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server. It is killed when dropped.
pub(crate) struct McpProcess {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<String>,
    last_id: u64,
    /// Revision whose metadata each request carries; `None` after `initialize`.
    pub(crate) revision: Option<&'static str>,
    /// Capabilities that each request carries.
    pub(crate) capabilities: Value,
    /// Messages that were no answers, in the order of arrival.
    pub(crate) other: Vec<Value>,
}

impl Drop for McpProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl McpProcess {
    /// Starts `loom mcp` in a home. Requests carry the metadata of the newest revision.
    pub(crate) fn start(home: &Home, args: &[&str]) -> Self {
        let mut command = home.command(&[&["mcp"], args].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (lines, output) = mpsc::channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).for_each(|line| _ = lines.send(line)));
        let input = child.stdin.take();
        let (revision, capabilities) = (Some("2026-07-28"), json!({}));
        Self { child, input, output, last_id: 0, revision, capabilities, other: Vec::new() }
    }

    /// Starts a server and initializes the connection by the handshake of an older revision.
    pub(crate) fn initialized(home: &Home, args: &[&str], revision: &str) -> Self {
        let mut process = Self::start(home, args);
        let answer = process.initialize(revision);
        assert_eq!(answer["result"]["protocolVersion"], revision, "{answer}");
        process
    }

    /// Sends `initialize` and `notifications/initialized`. Returns the answer.
    pub(crate) fn initialize(&mut self, revision: &str) -> Value {
        self.revision = None;
        let client = json!({ "name": "test", "version": "1" });
        let params =
            json!({ "protocolVersion": revision, "capabilities": self.capabilities.clone(), "clientInfo": client });
        let answer = self.request("initialize", params);
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        answer
    }

    /// Writes a line.
    pub(crate) fn send(&mut self, line: &str) {
        self.input.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Returns the next message. Every line of the output must be one.
    pub(crate) fn message(&mut self) -> Value {
        let line = self.output.recv_timeout(PATIENCE).expect("a message");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    /// Sends a request and returns its id.
    pub(crate) fn send_request(&mut self, method: &str, mut params: Value) -> u64 {
        self.last_id += 1;
        if let Some(revision) = self.revision {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = revision.into();
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
            params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({ "name": "test", "version": "1" });
        }
        self.send(&json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params }).to_string());
        self.last_id
    }

    /// Sends a request and returns the whole answer.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send_request(method, params);
        loop {
            let message = self.message();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.other.push(message);
        }
    }

    /// Sends a request, which must succeed, and returns its result.
    #[track_caller]
    pub(crate) fn ok(&mut self, method: &str, params: Value) -> Value {
        let answer = self.request(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Calls a tool and returns the result, which may be an error of the tool.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ok("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Calls a tool, which must fail, and returns the text for the model.
    #[track_caller]
    pub(crate) fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        text(&result).to_owned()
    }

    /// Closes the server's input and returns its exit code.
    pub(crate) fn close(mut self) -> Option<i32> {
        drop(self.input.take());
        self.child.wait().unwrap().code()
    }
}

/// Returns the text of a tool's result.
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}
