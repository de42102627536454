//! The tools `search` and `fetch`, whose arguments and results are fixed by clients that use a server as a source of
//! knowledge: one text that contains JSON.

use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde_json::{Value, json};

use super::{backend::McpBackend, resource};
use crate::{
    exec::ExecRights,
    id::SessionId,
    recall::{self, Filter, Query, Scope},
    tools::{ErrorCode, ToolError},
    types::{Node, Permission, first_words},
};

/// Number of results of a search.
const MAX_HITS: usize = 10;

/// Maximum characters of a result's title.
const MAX_TITLE_CHARS: usize = 100;

/// Searches all trees.
pub(super) fn search(
    backend: &McpBackend,
    session: SessionId,
    rights: ExecRights,
    arguments: &JsonObject,
) -> Result<CallToolResult, ToolError> {
    resource::check_permission(rights, Permission::CrossTree)?;
    let query = text(arguments, "query")?;
    let snapshot = backend.loom.snapshot()?;
    // Content of work items and thoughts of other agents stay theirs.
    let only = Filter { seen_by: Some(session), ..Filter::default() };
    let query = Query { only, limit: MAX_HITS, ..Query::new(query, Scope::Everything) };
    let found = recall::search(&*snapshot, &query)?;
    let result = |node: &Node| {
        Ok::<_, ToolError>(
            json!({ "id": node.id.to_string(), "title": title(backend, node)?, "url": resource::node_address(node) }),
        )
    };
    let hits = found.hits.iter().chain(&found.near).take(MAX_HITS);
    let results = hits.map(|hit| result(&hit.node)).collect::<Result<Vec<Value>, _>>()?;
    Ok(json_result(&json!({ "results": results })))
}

/// Returns one node.
pub(super) fn fetch(
    backend: &McpBackend,
    rights: ExecRights,
    arguments: &JsonObject,
) -> Result<CallToolResult, ToolError> {
    resource::check_permission(rights, Permission::CrossTree)?;
    let node = resource::find_node(backend, text(arguments, "id")?)?;
    let agents = backend.loom.snapshot()?.agents()?;
    let author = agents.iter().find(|agent| agent.id() == node.author).map_or("unknown", |agent| agent.name());
    let metadata = json!({ "author": author, "created_at": node.created_at });
    Ok(json_result(&json!({
        "id": node.id.to_string(), "title": title(backend, &node)?, "text": node.content, "url": resource::node_address(&node),
        "metadata": metadata,
    })))
}

fn text<'a>(arguments: &'a JsonObject, name: &str) -> Result<&'a str, ToolError> {
    let given = arguments.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    given.ok_or_else(|| ToolError::new(ErrorCode::InvalidSyntax, format!("{name} is missing")))
}

fn title(backend: &McpBackend, node: &Node) -> Result<String, ToolError> {
    let tree = backend.loom.tree(node.tree)?;
    Ok(first_words(&format!("{}: {}", tree.title, node.content), MAX_TITLE_CHARS))
}

fn json_result(value: &Value) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(value.to_string())])
}
