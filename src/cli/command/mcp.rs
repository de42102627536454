//! `loom mcp`: the MCP server over standard input and output, for coding agents and desktop clients.

use std::{io::Write as _, sync::Arc};

use clap::ValueEnum;
use loomtree::{
    mcp::{McpBackend, McpServer, McpSettings},
    session::Decision,
    store::Location,
};
use serde_json::{Value, json};

use super::agents::permissions;
use crate::cli::{
    args::GlobalArgs,
    command_context::CommandContext,
    delegation,
    error::{CliError, Result},
    models,
    output::CliOutput,
    paths, process_setup,
    sanitize::escape_json,
};

/// Agent that acts for a client's model if the command line names none.
const DEFAULT_AGENT: &str = "collaborator";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The permissions of the client's model, separated by commas, or `all` or `none` [default: those of the agent, and
    /// cross_tree]
    #[arg(long, value_name = "LIST")]
    permissions: Option<String>,
    /// Refuse every change of trees, documents, plans and memory
    #[arg(long)]
    read_only: bool,
    /// Offer the tools search and fetch too, which some clients require of a source of knowledge
    #[arg(long)]
    search_fetch: bool,
    /// Print the settings that a client needs to start this server with the same options
    #[arg(long, value_name = "CLIENT", value_enum)]
    print_config: Option<McpClient>,
}

/// A client with a known form of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum McpClient {
    /// Claude Code and Claude Desktop.
    Claude,
    /// Cursor, the editor.
    Cursor,
    /// Zed, the editor.
    Zed,
    /// VS Code, the editor.
    Vscode,
    /// Codex, the agent.
    Codex,
}

pub(crate) fn run(args: &Args, globals: &GlobalArgs) -> Result<()> {
    if let Some(client) = args.print_config {
        return print_config(client, args, globals);
    }
    let mut globals = globals.clone();
    globals.agent.get_or_insert_with(|| DEFAULT_AGENT.to_owned());
    let create = !args.read_only;
    let settings = McpSettings {
        permissions: args.permissions.as_deref().map(permissions).transpose()?,
        read_only: args.read_only,
        search_fetch: args.search_fetch,
        workspace: paths::workspace(globals.workspace.as_deref())?,
        open: Box::new(move || open(&globals, create).map_err(|error| error.to_tool_error())),
    };
    let served = process_setup::small_runtime()?.block_on(McpServer::new(settings).serve_stdio());
    served.map_err(|error| CliError::io("serving MCP", error))
}

/// Returns the server over an open database as a router for `loom serve`.
#[cfg(feature = "serve")]
pub(super) fn router(
    cx: &CommandContext<'_>,
    shutdown: tokio_util::sync::CancellationToken,
    max_body: usize,
) -> axum::Router {
    let backend = backend(cx);
    let settings = McpSettings {
        permissions: None,
        read_only: false,
        search_fetch: false,
        workspace: cx.workspace.clone(),
        open: Box::new(move || Ok(McpBackend { agent: backend.loom.agent(DEFAULT_AGENT)?, ..backend.clone() })),
    };
    McpServer::new(settings).router(shutdown, max_body)
}

/// Opens the database and the services for commands. A client may be configured before the first use of the program, so a
/// missing database is created, unless the server only reads.
fn open(globals: &GlobalArgs, create: bool) -> Result<McpBackend, CliError> {
    let mut out = CliOutput::discarding();
    Ok(backend(&CommandContext::open(globals, &mut out, create)?))
}

fn backend(cx: &CommandContext<'_>) -> McpBackend {
    let mut tool_access = models::tool_access(&cx.config, None);
    // The user consented to the call that delegates, and its workers have no tools of the machine.
    tool_access.orchestrator = delegation::default_orchestrator(cx, Arc::new(Decision::Yes), None);
    McpBackend {
        tool_access,
        context: cx.config.context(None),
        partials_dir: Some(cx.partials_dir.clone()),
        prices: cx.config.prices.clone(),
        allow_delegate: cx.config.delegate.allow,
        loom: cx.loom.clone(),
        agent: cx.agent.clone(),
    }
}

/// Prints the settings of a client to standard output, and their place to standard error.
fn print_config(client: McpClient, args: &Args, globals: &GlobalArgs) -> Result<()> {
    if let Some(list) = &args.permissions {
        permissions(list)?;
    }
    let program = std::env::current_exe().map_err(|error| CliError::io("finding this program", error))?;
    let program = program.to_string_lossy().into_owned();
    let options = options(client, args, globals)?;
    let (place, text) = match client {
        McpClient::Claude => (
            ".mcp.json in the project's folder (Claude Code), or claude_desktop_config.json (Claude Desktop)",
            pretty(&json!({ "mcpServers": { "loomtree": { "command": program, "args": options } } })),
        ),
        McpClient::Cursor => (
            "~/.cursor/mcp.json, or .cursor/mcp.json in the project's folder",
            pretty(&json!({ "mcpServers": { "loomtree": { "command": program, "args": options } } })),
        ),
        McpClient::Zed => (
            "Zed's settings.json",
            pretty(&json!({ "context_servers": { "loomtree": { "command": program, "args": options, "env": {} } } })),
        ),
        McpClient::Vscode => (
            ".vscode/mcp.json in the project's folder",
            pretty(&json!({ "servers": { "loomtree": { "type": "stdio", "command": program, "args": options } } })),
        ),
        McpClient::Codex => {
            let values: Vec<String> = options.iter().map(|option| toml(option)).collect();
            let block = format!("[mcp_servers.loomtree]\ncommand = {}\nargs = [{}]", toml(&program), values.join(", "));
            ("~/.codex/config.toml", block)
        }
    };
    let failed = |error| CliError::io("writing output", error);
    writeln!(std::io::stderr(), "paste this into {place}:").map_err(failed)?;
    if globals.db.as_deref().is_some_and(|db| Location::of(db).without_password().is_some()) {
        let note = "a password is left out; the client's environment gives it as PGPASSWORD";
        writeln!(std::io::stderr(), "{note}").map_err(failed)?;
    }
    writeln!(std::io::stdout(), "{text}").map_err(failed)
}

/// Returns the arguments by which a client starts the server with the options of this command.
fn options(client: McpClient, args: &Args, globals: &GlobalArgs) -> Result<Vec<String>> {
    let mut options = vec!["mcp".to_owned()];
    let mut add = |name: &str, value: Option<String>| {
        options.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
    };
    let absolute = |path: &std::path::Path| {
        let path = std::path::absolute(path).map_err(|error| CliError::io(path.display().to_string(), error))?;
        Ok::<_, CliError>(path.to_string_lossy().into_owned())
    };
    // A configuration is a file that others may read: the password stays out of it.
    let database = |db: &std::path::Path| match Location::of(db) {
        Location::File(path) => absolute(&path),
        location => Ok(location.without_password().unwrap_or(location).to_string()),
    };
    add("--db", globals.db.as_deref().map(database).transpose()?);
    add("--config", globals.config.as_deref().map(absolute).transpose()?);
    add("--as", globals.agent.clone());
    // Editors start servers in a folder of their own.
    let project = matches!(client, McpClient::Vscode | McpClient::Cursor).then(|| "${workspaceFolder}".to_owned());
    let workspace = globals.workspace.as_deref().map(absolute).transpose()?;
    add("--workspace", workspace.or(project));
    add("--permissions", args.permissions.clone());
    options.extend(args.read_only.then(|| "--read-only".to_owned()));
    options.extend(args.search_fetch.then(|| "--search-fetch".to_owned()));
    Ok(options)
}

fn pretty(value: &Value) -> String {
    escape_json(&format!("{value:#}")).into_owned()
}

/// Returns a basic string of TOML, whose escapes are those of JSON.
fn toml(text: &str) -> String {
    escape_json(&Value::from(text).to_string()).into_owned()
}
