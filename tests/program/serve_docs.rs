//! The page `docs/http.md`: its list of routes, and its commands.

#![allow(clippy::unwrap_used)] // a failure here fails the test

use std::process::Command;

use serde_json::Value;

use crate::support::{
    cli::{Home, Ran},
    loom_server::HttpServer,
    skip,
};

/// Returns the first sentence of a description.
fn first_sentence(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.split_once(". ").map_or(text.trim_end_matches('.').to_owned(), |(first, _)| first.to_owned())
}

/// `docs/http.md` lists the routes of the OpenAPI document; `UPDATE_DOCS=1` writes them.
#[test]
fn the_reference_lists_every_route() {
    let (begin, end) = ("<!-- routes -->\n", "<!-- end of routes -->");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/http.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (before, rest) = text.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    let document: Value = serde_json::from_str(&loomtree::serve::openapi()).unwrap();
    let mut table = String::from("\n| route | what it does |\n| --- | --- |\n");
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let summary = first_sentence(operation["summary"].as_str().unwrap());
            table.push_str(&format!("| `{} {path}` | {} |\n", method.to_uppercase(), summary.replace('|', "\\|")));
        }
    }
    let made = format!("{before}{begin}{table}\n{end}{after}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, made).unwrap();
    } else {
        assert!(made == text, "the routes in docs/http.md are not those of the server: UPDATE_DOCS=1");
    }
}

/// The commands of a section work, with the server of the test in place of the one on the usual port.
#[test]
fn the_commands_with_curl_work() {
    if !skip::has("curl") {
        return skip::missing("curl");
    }
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/http.md")).unwrap();
    let section = text.split_once("## With curl\n").unwrap().1.split("\n## ").next().unwrap();
    let blocks: Vec<&str> = section.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap()).collect();
    let home = Home::new();
    let server = HttpServer::start(&home, &[]);
    let script = blocks.concat().replace("http://127.0.0.1:8420", &server.url);
    let ran = Ran::of(Command::new("/bin/sh").args(["-euc", &script]));
    assert_eq!((ran.code, blocks.len()), (0, 3), "{}{}", ran.out, ran.err);
    for part in ["A green light blinked.", "event: saved", "\"reverted\"", "\"op\":\"bookmark\""] {
        assert!(ran.out.contains(part), "{part} is not in {}", ran.out);
    }
    let results = ran.out.matches("\"ok\":true").count();
    assert_eq!(results, 2, "both arrow lines: {}", ran.out);
}
