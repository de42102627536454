//! Resources: trees, nodes and documents as text, under addresses that clients fill in from templates.
//!
//! Texts have the form of the executor's replies, so content cannot pass for a header. A path is cut at its beginning.

use rmcp::model::{Resource, ResourceContents, ResourceTemplate};

use super::{backend::McpBackend, subscription::WatchedSubject};
use crate::{
    exec::{ExecRights, node_format},
    id::NodeId,
    store::TreeFilter,
    tools::{ErrorCode, ToolError, missing_permission},
    types::{Node, Permission, Permissions, Tree, truncate_bytes},
};

/// Trees of a page of the list.
const PAGE_TREES: usize = 50;

/// Maximum size of a resource, in bytes.
const MAX_BYTES: usize = 40_000;

/// Maximum number of nodes of a path.
const MAX_PATH_NODES: u32 = 400;

/// Maximum number of completions, by the protocol.
const MAX_COMPLETIONS: usize = 100;

const TREE: &str = "loom://tree/";
const NODE: &str = "loom://node/";
const DOCUMENT: &str = "loom://doc/";

/// Returns the address of a node.
pub(super) fn node_address(node: &Node) -> String {
    format!("{NODE}{}", node.id)
}

/// Returns the templates of addresses.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |prefix: &str, argument: &str, name: &str, help: &str| {
        ResourceTemplate::new(format!("{prefix}{{{argument}}}"), name)
            .with_description(help)
            .with_mime_type("text/plain")
    };
    vec![
        template(TREE, "tree", "tree", "The newest path of a tree, by its title or id."),
        template(NODE, "node", "node", "A node by its full id."),
        template(DOCUMENT, "name", "document", "A document by its name."),
    ]
}

/// Returns the trees after the first `offset`, most recently changed first, and the offset of the next page if there is
/// one.
pub(super) fn list(
    backend: &McpBackend,
    rights: ExecRights,
    offset: usize,
) -> Result<(Vec<Resource>, Option<usize>), ToolError> {
    check_permission(rights, Permission::CrossTree)?;
    let trees = visible_trees(backend)?;
    let page = trees.iter().skip(offset).take(PAGE_TREES);
    let resources =
        page.map(|tree| Resource::new(format!("{TREE}{}", tree.id), &*tree.title).with_mime_type("text/plain"));
    let next = (trees.len() > offset + PAGE_TREES).then_some(offset + PAGE_TREES);
    Ok((resources.collect(), next))
}

/// Returns the content of an address.
pub(super) fn read(backend: &McpBackend, rights: ExecRights, uri: &str) -> Result<ResourceContents, ToolError> {
    check_address(rights, uri)?;
    let text = if let Some(tree) = uri.strip_prefix(TREE) {
        tree_text(backend, &decode(tree))?
    } else if let Some(node) = uri.strip_prefix(NODE) {
        let node = find_node(backend, node)?;
        cut_end(&node_text(backend, &node)).to_owned()
    } else if let Some(name) = uri.strip_prefix(DOCUMENT) {
        document_text(backend, &decode(name))?
    } else {
        return Err(unknown(uri));
    };
    Ok(ResourceContents::text(text, uri))
}

/// Returns the error of a missing permission for an address.
pub(super) fn check_address(rights: ExecRights, uri: &str) -> Result<(), ToolError> {
    let required = if uri.starts_with(DOCUMENT) { Permission::DocRead } else { Permission::CrossTree };
    check_permission(rights, required)
}

/// Returns the subject of an address.
pub(super) fn subject(backend: &McpBackend, uri: &str) -> Result<WatchedSubject, ToolError> {
    if let Some(tree) = uri.strip_prefix(TREE) {
        let tree = backend.loom.find_tree_among(&decode(tree), |tree| tree.item.is_none())?;
        return Ok(WatchedSubject::Tree(tree.id));
    }
    if let Some(node) = uri.strip_prefix(NODE) {
        return Ok(WatchedSubject::Tree(find_node(backend, node)?.tree));
    }
    let name = uri.strip_prefix(DOCUMENT).ok_or_else(|| unknown(uri))?;
    Ok(WatchedSubject::Document(backend.loom.document(&decode(name))?.name))
}

fn unknown(uri: &str) -> ToolError {
    ToolError::new(ErrorCode::NotFound, format!("no resource {uri:?}"))
}

/// Returns the values of a template's argument that contain `typed`, and their total number.
pub(super) fn complete(
    backend: &McpBackend,
    rights: ExecRights,
    argument: &str,
    typed: &str,
) -> Result<(Vec<String>, usize), ToolError> {
    let typed = typed.to_lowercase();
    let fits = |text: &str| text.to_lowercase().contains(&typed);
    let mut values: Vec<String> = match argument {
        "tree" => {
            check_permission(rights, Permission::CrossTree)?;
            let trees = visible_trees(backend)?;
            let repeated = |tree: &Tree| trees.iter().filter(|other| other.title == tree.title).count() > 1;
            let fitting = trees.iter().filter(|tree| fits(&tree.title) || fits(&tree.id.to_string()));
            // A title that names several trees names none.
            fitting.map(|tree| if repeated(tree) { tree.id.to_string() } else { tree.title.clone() }).collect()
        }
        "name" => {
            check_permission(rights, Permission::DocRead)?;
            let documents = backend.loom.snapshot()?.documents()?;
            documents.into_iter().filter(|document| !document.removed && fits(&document.name)).map(|d| d.name).collect()
        }
        _ => Vec::new(),
    };
    let total = values.len();
    values.truncate(MAX_COMPLETIONS);
    Ok((values, total))
}

/// Returns the error of a missing permission.
pub(super) fn check_permission(rights: ExecRights, required: Permission) -> Result<(), ToolError> {
    match missing_permission(required, rights.permissions.unwrap_or_else(Permissions::all)) {
        None => Ok(()),
        Some(missing) => {
            Err(ToolError::new(ErrorCode::PermissionDenied, format!("this needs the permission {missing}")))
        }
    }
}

/// Returns the node with a full id. Nodes of work items and thoughts of other agents do not exist for the client.
pub(super) fn find_node(backend: &McpBackend, id: &str) -> Result<Node, ToolError> {
    let missing = || ToolError::new(ErrorCode::NotFound, format!("no node {id:?}")).hint("write the full id");
    let snapshot = backend.loom.snapshot()?;
    let id = id.trim().parse::<NodeId>().map_err(|_| missing())?;
    let node = snapshot.node(id)?.ok_or_else(missing)?;
    let tree = snapshot.tree(node.tree)?;
    let visible = tree.is_some_and(|tree| tree.item.is_none()) && node.is_readable_by(backend.agent.id());
    if visible { Ok(node) } else { Err(missing()) }
}

/// Returns the trees of no work item, most recently changed first.
pub(super) fn visible_trees(backend: &McpBackend) -> Result<Vec<Tree>, ToolError> {
    let mut trees = backend.loom.snapshot()?.trees(TreeFilter::default())?;
    trees.retain(|tree| tree.item.is_none());
    Ok(trees)
}

fn tree_text(backend: &McpBackend, name: &str) -> Result<String, ToolError> {
    let tree = backend.loom.find_tree_among(name, |tree| tree.item.is_none())?;
    let end = backend.loom.position(&tree, None)?;
    let path = backend.loom.snapshot()?.path_back(end.id, &[], MAX_PATH_NODES)?;
    let mut texts: Vec<String> = Vec::new();
    let mut bytes = 0;
    for node in path.iter().rev() {
        let text = node_text(backend, node);
        bytes += text.len();
        if bytes > MAX_BYTES && !texts.is_empty() {
            break;
        }
        texts.push(cut_end(&text).to_owned());
    }
    let earlier = path.first().is_some_and(|first| !first.begins_path()) || texts.len() < path.len();
    let begin = if earlier { "[Note: the beginning of the path is left out.]\n\n" } else { "" };
    texts.reverse();
    Ok(format!("{begin}{}", texts.join("\n\n")))
}

fn node_text(backend: &McpBackend, node: &Node) -> String {
    format!("{}\n{}", node_format::header(node, &node.speaker(), backend.loom.now()), node_format::content(node))
}

fn document_text(backend: &McpBackend, name: &str) -> Result<String, ToolError> {
    let document = backend.loom.document(name)?;
    let version = backend.loom.snapshot()?.document_version(document.id, 0)?;
    let version = version.ok_or_else(|| ToolError::new(ErrorCode::NotFound, "this document has no text"))?;
    Ok(cut_end(&version.content).to_owned())
}

/// Cuts a text at the maximum size, at the end of a character.
fn cut_end(text: &str) -> &str {
    truncate_bytes(text, MAX_BYTES)
}

/// Decodes `%20` and the like. Invalid escapes stay as they are.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = text.get(at + 1..at + 3).filter(|digits| bytes[at] == b'%' && !digits.starts_with('+'));
        match escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_decoded() {
        for (encoded, decoded) in
            [("a%20b", "a b"), ("%C3%A9t%C3%A9", "été"), ("50%", "50%"), ("%zz", "%zz"), ("é%2", "é%2")]
        {
            assert_eq!(decode(encoded), decoded);
        }
    }

    #[test]
    fn a_text_is_cut_at_a_character() {
        let text = "é".repeat(MAX_BYTES);
        assert_eq!(cut_end(&text).len(), MAX_BYTES);
        assert_eq!(cut_end(&format!("a{text}")).len(), MAX_BYTES - 1);
    }
}
