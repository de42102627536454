//! `loom serve`: the HTTP server, and its access tokens.

use std::{io::Write as _, net::SocketAddr, sync::Arc};

pub(super) use loomtree::serve::BrowserLogins;
use loomtree::serve::{
    PendingApprovals, ServeError, Server, ServerLimits, ServerSettings, TokenFile, TokenScope, Upstreams,
};
use tokio_util::sync::CancellationToken;

use crate::cli::{
    command_context::CommandContext,
    delegation,
    error::{CliError, Result},
    models,
    output::{DIM, ID, paint},
    process_setup,
    sanitize::one_line,
    stop_signal::{end_at_the_latest, stop_signal},
    turn_args::worker_tools,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The address to listen on; port 0 selects a free port. Beyond this machine the server needs a token
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8420")]
    listen: SocketAddr,
    /// A host name by which clients address the server; IP addresses and localhost need none
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// The API to which /proxy/openai passes calls on
    #[arg(long, value_name = "URL", default_value = Upstreams::OPENAI)]
    openai_upstream: String,
    /// The API to which /proxy/anthropic passes calls on
    #[arg(long, value_name = "URL", default_value = Upstreams::ANTHROPIC)]
    anthropic_upstream: String,
    /// The requests per second that a token may send in the long run
    #[arg(long, value_name = "COUNT", default_value_t = ServerLimits::default().requests_per_second)]
    requests_per_second: u32,
    /// The open event streams of a token
    #[arg(long, value_name = "COUNT", default_value_t = ServerLimits::default().streams)]
    streams: usize,
    /// The largest body of a request, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = ServerLimits::default().body_bytes)]
    max_body: usize,
    /// The largest file that a client may import, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = ServerLimits::default().import_bytes)]
    max_import: u64,
    /// Let the workers of delegations read and change files of the current folder and run commands there; each change
    /// and each command waits for an approval
    #[arg(long)]
    tools: bool,
    #[command(subcommand)]
    action: Option<ServeAction>,
}

#[derive(Debug, clap::Subcommand)]
enum ServeAction {
    /// Create, list and revoke access tokens
    #[command(subcommand)]
    Token(TokenAction),
    /// Print the OpenAPI document
    Openapi,
}

#[derive(Debug, clap::Subcommand)]
enum TokenAction {
    /// Create a token, and print it once
    New {
        /// The name of the token
        name: String,
        /// The rights of the token: read, write (change and generate), or admin (agents, approvals, purge)
        #[arg(long, default_value = "write")]
        scope: TokenScope,
        /// Limit the token to the trees of a project
        #[arg(long)]
        project: Option<String>,
        /// The agent that acts for the token's requests [default: owner]
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
    },
    /// List the tokens by name
    List,
    /// Revoke a token
    Revoke {
        /// The name of the token
        name: String,
    },
}

impl Args {
    /// Returns the arguments of a server on a free port of this machine. `tools` gives workers tools for the folder.
    pub(super) fn local(tools: bool) -> Self {
        let defaults = ServerLimits::default();
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            hosts: Vec::new(),
            openai_upstream: Upstreams::OPENAI.to_owned(),
            anthropic_upstream: Upstreams::ANTHROPIC.to_owned(),
            requests_per_second: defaults.requests_per_second,
            streams: defaults.streams,
            max_body: defaults.body_bytes,
            max_import: defaults.import_bytes,
            tools,
            action: None,
        }
    }
}

pub(crate) fn run(mut args: Args, cx: &mut CommandContext<'_>) -> Result<()> {
    match args.action.take() {
        None => serve(args, BrowserLogins::default(), cx, |address, cx| {
            let text = format!("serving {} on http://{address}; Ctrl-C stops", one_line(&cx.location.to_string()));
            cx.print_value(&serde_json::json!({ "address": format!("http://{address}") }), || text)
        }),
        Some(ServeAction::Openapi) => Ok(writeln!(cx.out, "{}", loomtree::serve::openapi())?),
        Some(ServeAction::Token(action)) => token(action, cx),
    }
}

fn token(action: TokenAction, cx: &mut CommandContext<'_>) -> Result<()> {
    let file = TokenFile::of(&cx.db);
    let failed = |error| CliError::io("the token file", error);
    match action {
        TokenAction::New { name, scope, project, agent } => {
            if let Some(agent) = &agent {
                cx.loom.agent(agent)?;
            }
            let token = file.create(&name, scope, project, agent, cx.now()).map_err(failed)?;
            cx.print_value(&serde_json::json!({ "name": name, "token": token }), || token.clone())
        }
        TokenAction::List => {
            for token in file.list().map_err(failed)? {
                let scope = format!("{:?}", token.scope).to_lowercase();
                let limits = [("project", &token.project), ("agent", &token.agent)];
                let limits =
                    limits.iter().filter_map(|(what, name)| Some(format!("  {what} {}", one_line(name.as_ref()?))));
                let limits: String = limits.collect();
                let line = format!("{}  {scope}{}", paint(ID, one_line(&token.name)), paint(DIM, &limits));
                cx.print_value(&token, || line)?;
            }
            Ok(())
        }
        TokenAction::Revoke { name } => match file.revoke(&name).map_err(failed)? {
            true => {
                let is_last = file.list().map_err(failed)?.is_empty();
                let note = "; requests need a token; to open the server, remove the file of tokens and restart it";
                let text = format!("revoked {}{}", one_line(&name), if is_last { note } else { "" });
                cx.print_saved(&serde_json::json!({ "revoked": name }), || text)
            }
            false => Err(CliError::failed(format!("no token {name:?}"))),
        },
    }
}

/// Serves until Ctrl-C. `started` is called with the address of the server before it answers requests.
pub(super) fn serve(
    args: Args,
    browsers: BrowserLogins,
    cx: &mut CommandContext<'_>,
    started: impl FnOnce(SocketAddr, &mut CommandContext<'_>) -> Result<()>,
) -> Result<()> {
    let approvals = Arc::new(PendingApprovals::default());
    let mut tool_access = models::tool_access(&cx.config, None);
    let worker_tools = args.tools.then(|| worker_tools(cx, approvals.clone(), &[], &[])).transpose()?;
    tool_access.orchestrator = delegation::default_orchestrator(cx, approvals.clone(), worker_tools);
    let shutdown = CancellationToken::new();
    let settings = ServerSettings {
        loom: cx.loom.clone(),
        tool_access,
        context: cx.config.context(None),
        conversation: cx.config.conversation.clone(),
        partials_dir: Some(cx.partials_dir.clone()),
        prices: cx.config.prices.clone(),
        tokens: TokenFile::of(&cx.db),
        browsers,
        limits: ServerLimits {
            body_bytes: args.max_body,
            import_bytes: args.max_import,
            requests_per_second: args.requests_per_second,
            streams: args.streams,
            ..ServerLimits::default()
        },
        hosts: args.hosts,
        approvals,
        upstreams: Upstreams { openai: args.openai_upstream.clone(), anthropic: args.anthropic_upstream.clone() },
        models: cx.config.models.keys().cloned().collect(),
        mcp: mcp_router(cx, &shutdown, args.max_body),
    };
    process_setup::runtime()?.block_on(async {
        let server = Server::bind(args.listen, settings).await.map_err(serve_error)?;
        let address = server.address().map_err(|error| CliError::io("the server's address", error))?;
        started(address, cx)?;
        cx.out.flush()?;
        let stop = shutdown.clone();
        tokio::spawn(async move {
            stop_signal().await;
            stop.cancel();
            end_at_the_latest();
        });
        server.run(shutdown).await.map_err(serve_error)
    })
}

/// Returns the MCP server over the open database.
#[cfg(feature = "mcp")]
fn mcp_router(cx: &CommandContext<'_>, shutdown: &CancellationToken, max_body: usize) -> Option<axum::Router> {
    Some(super::mcp::router(cx, shutdown.clone(), max_body))
}

/// Returns `None`: this build has no MCP server.
#[cfg(not(feature = "mcp"))]
fn mcp_router(_: &CommandContext<'_>, _: &CancellationToken, _: usize) -> Option<axum::Router> {
    None
}

fn serve_error(error: ServeError) -> CliError {
    match error {
        ServeError::NoToken(_) => CliError::Failed {
            message: error.to_string(),
            hint: Some("`loom serve token new NAME` creates a token".to_owned()),
        },
        ServeError::Bind { address, source } => CliError::io(format!("listening on {address}"), source),
        ServeError::Store(error) => error.into(),
        other => CliError::failed(other.to_string()),
    }
}
