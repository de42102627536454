//! Checks of the configuration, the search service and the workspace tools.

use loomtree::{provider::MODELS_VARIABLE, web};

use super::finding::Finding;
use crate::cli::{
    args::GlobalArgs,
    config::{self, Config},
    env,
    error::CliError,
    output::count,
    paths,
};

const CONFIGURATION: &str = "Configuration";
const SEARCH: &str = "Search";
const WORKSPACE: &str = "Workspace";

/// Environment variables that configure the program.
const VARIABLES: [&str; 6] = ["LOOM_DB", "LOOM_AGENT", "LOOM_WORKSPACE", "LOOM_CONFIG", "LOOM_MODEL", MODELS_VARIABLE];

pub(super) fn configuration(globals: &GlobalArgs, error: Option<&CliError>) -> Vec<Finding> {
    let mut findings = vec![file(globals, error)];
    #[cfg(feature = "tui")]
    findings.push(match crate::cli::command::tui::keys(globals) {
        Ok(_) => Finding::ok(CONFIGURATION, "the keys of the screen are valid"),
        Err(error) => Finding::problem(CONFIGURATION, error.message(), "correct keys.yaml, or remove it"),
    });
    let set: Vec<&str> = VARIABLES.into_iter().filter(|name| std::env::var_os(name).is_some()).collect();
    if !set.is_empty() {
        findings.push(Finding::ok(CONFIGURATION, format!("variables that are set: {}", set.join(", "))));
    }
    findings
}

fn file(globals: &GlobalArgs, error: Option<&CliError>) -> Finding {
    if let Some(error) = error {
        let advice = "correct the file, or name another one with --config; until then the defaults apply";
        return Finding::problem(CONFIGURATION, error.message(), advice);
    }
    match config::path(globals) {
        Ok(path) if path.exists() => Finding::ok(CONFIGURATION, format!("{} is valid", path.display())),
        Ok(path) => Finding::ok(CONFIGURATION, format!("no file at {}; the defaults apply", path.display())),
        Err(error) => Finding::problem(CONFIGURATION, error.message(), "set HOME, or name the files"),
    }
}

pub(super) fn services(config: &Config) -> Vec<Finding> {
    vec![match web::open(&config.search, &env::env) {
        Ok(Some(web)) => Finding::ok(SEARCH, format!("{} is set up", web.service())),
        Ok(None) => Finding::ok(SEARCH, "no search service is set up; agents cannot search the web"),
        Err(error) => Finding::problem(SEARCH, error.to_string(), "correct `search` in the configuration"),
    }]
}

pub(super) fn workspace(globals: &GlobalArgs, config: &Config) -> Vec<Finding> {
    let folder = match paths::workspace(globals.workspace.as_deref()) {
        Ok(folder) => Finding::ok(WORKSPACE, folder),
        Err(error) => Finding::problem(WORKSPACE, error.message(), "name an existing folder with --workspace"),
    };
    let rules = &config.workspace;
    let tools = if cfg!(feature = "workspace") {
        let commands = count(rules.allow.len() as u64, "command pattern");
        let files = count(rules.write.len() as u64, "file pattern");
        format!("tools for files and commands are built in; allowed without a question: {commands}, {files}")
    } else {
        "tools for files and commands are not in this build (feature `workspace`)".to_owned()
    };
    vec![folder, Finding::ok(WORKSPACE, tools)]
}
